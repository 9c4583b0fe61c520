"""Functions of the Gram matrix, compared with explicit features."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcourse import (
    Bilinear,
    Gaussian,
    Linear,
    Polynomial,
    Spectrum,
    alignment,
    center,
    is_psd,
    is_valid_kernel,
    normalize,
    squared_feature_distances,
    target_alignment,
)

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(8, 2)), rng.normal(size=(3, 2))
k = Polynomial(2)
Phi, Psi = k.features(X), k.features(Z)


def test_centring_takes_off_the_mean_feature():
    mean = Phi.mean(axis=0)
    np.testing.assert_allclose(center(k(X)), (Phi - mean) @ (Phi - mean).T, atol=1e-12)
    np.testing.assert_allclose(center(k(Z, X), k(X)), (Psi - mean) @ (Phi - mean).T, atol=1e-12)


def test_normalising_gives_unit_features():
    U = Phi / np.linalg.norm(Phi, axis=1, keepdims=True)
    np.testing.assert_allclose(normalize(k(X)), U @ U.T)
    np.testing.assert_array_equal(normalize([[0.0, 0.0], [0.0, 4.0]]), [[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="negative"):
        normalize([[-1.0]])


def test_distances_in_feature_space():
    gaps = np.linalg.norm(Phi[:, None] - Phi[None], axis=2)
    np.testing.assert_allclose(squared_feature_distances(k(X)), gaps**2, atol=1e-10)


def test_is_psd_on_matrices_with_known_eigenvalues(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    for smallest, answer in [(0.0, True), (1e-3, True), (-1e-3, False), (-1e-13, True)]:
        assert is_psd(Q @ np.diag([smallest, 1, 2, 3, 4]) @ Q.T) is answer
    assert is_psd([[1.0, 2.0], [0.0, 1.0]]) is False
    assert is_psd(np.diag([1.0, -0.05]), tol=0.1) is True
    assert is_psd([[0.0]]) is True
    with pytest.raises(ValueError, match="square"):
        is_psd(np.ones((2, 3)))


def difference(X, Z):
    return Gaussian(1.0)(X, Z) - 0.5 * Linear()(X, Z)


@pytest.mark.parametrize(
    "no_kernel",
    [
        lambda x, z: np.linalg.norm(x - z),
        lambda x, z: np.tanh(x @ z - 1),
        lambda X, Z: np.tanh(X @ Z.T - 1),
        difference,
        lambda x, z: -1.0,
        lambda x, z: np.cos(np.linalg.norm(x - z)) if len(x) > 1 else float(np.exp(-((x - z) ** 2).sum())),
        lambda x, z: np.exp(-(np.sum(np.abs(x - z)) ** 3)),
    ],
)
def test_the_hunt_finds_a_counterexample_and_proves_it(no_kernel):
    verdict = is_valid_kernel(no_kernel, rng=0)
    assert not verdict and verdict.tried <= 22  # it was found early, and the search then stopped soon
    K = verdict.K
    assert verdict.a @ K @ verdict.a == pytest.approx(verdict.value)
    assert verdict.value < 0
    for i in range(len(K)):  # minimal: if any one point is removed, the proof fails
        rest = [j for j in range(len(K)) if j != i]
        assert not rest or np.linalg.eigvalsh(K[np.ix_(rest, rest)])[0] >= -1e-9 * np.abs(K).max()
    assert "not a kernel" in repr(verdict)


def test_three_points_can_be_asked_for():
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    verdict = is_valid_kernel(lambda x, z: np.linalg.norm(x - z), triangle, rng=0)
    assert not verdict
    assert all(p in triangle.tolist() for p in verdict.points.tolist())


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(3), Gaussian(1.0) * Linear() + 1], ids=repr)
def test_the_hunt_never_accuses_a_kernel(kernel):
    verdict = is_valid_kernel(kernel, rng=0)
    assert verdict and verdict.points is None
    assert "no counterexample" in repr(verdict)


def test_the_hunt_takes_objects_samplers_and_asymmetry():
    assert is_valid_kernel(Spectrum(2), ["abab", "baba", "aaaa", "bb"], rng=0)
    assert not is_valid_kernel(lambda s, u: float(len(s) - len(u)), ["a", "ab", "abc"], rng=0)
    verdict = is_valid_kernel(lambda x, z: float(x[0] + 2 * z[0]), lambda n, rng: rng.uniform(size=(n, 1)), rng=0)
    assert not verdict and "not symmetric" in verdict.reason and len(verdict.points) == 2
    with pytest.raises(ValueError, match="one number"):
        is_valid_kernel(lambda x, z: np.ones(3), rng=0)
    with pytest.raises(ValueError, match="NaN"):
        is_valid_kernel(lambda x, z: np.nan, rng=0)


@given(st.integers(0, 10**6))
def test_alignment_is_a_cosine(seed):
    r = np.random.default_rng(seed)
    A, t = r.normal(size=(5, 3)), r.normal(size=5)
    K = A @ A.T
    assert alignment(K, K) == pytest.approx(1)
    assert alignment(3 * K, K) == pytest.approx(1)
    assert -1e-12 <= target_alignment(K, t) <= 1 + 1e-12


def test_alignment_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="zero"):
        alignment(np.zeros((2, 2)), np.eye(2))
    with pytest.raises(ValueError, match="entries"):
        alignment(np.eye(2), np.eye(3))


def test_centring_needs_matching_sizes():
    with pytest.raises(ValueError, match="K must have 2 columns"):
        center(np.ones((2, 3)), np.eye(2))
    with pytest.raises(ValueError, match="symmetric"):
        center([[1.0, 2.0], [0.0, 1.0]])


def test_a_verdict_on_objects_of_different_lengths_can_be_printed():
    sample = [(1, 2), (1, 2, 3), (4,), (2, 4)]
    verdict = is_valid_kernel(lambda s, u: 1.0 if len(s) != len(u) else 0.0, sample=sample, rng=0)
    assert not verdict and all(repr(point) in repr(verdict) for point in verdict.points)


def test_one_point_is_a_sample_and_none_is_not():
    assert is_valid_kernel(Linear(), [[2.0]], rng=0)
    verdict = is_valid_kernel(lambda s, u: -1.0, ["a"], rng=0)
    assert not verdict and list(verdict.points) == ["a"]
    with pytest.raises(ValueError, match="sample must hold at least one point, got none"):
        is_valid_kernel(Linear(), [], rng=0)


def test_a_verdict_counts_the_samples_that_the_kernel_accepted():
    assert repr(is_valid_kernel(Linear(), rng=0, trials=7)).startswith("no counterexample in 7 samples")
    assert is_valid_kernel(Bilinear(np.eye(2)), rng=0, trials=7).tried == 3  # every second sample is in the plane


def test_a_matrix_may_hold_decimal_numbers():
    def exact(X, Z):
        return np.array([[Decimal(float(x[0])) * Decimal(float(z[0])) for z in Z] for x in X])

    sizes = []
    verdict = is_valid_kernel(lambda X, Z: sizes.append(X.shape) or exact(X, Z), [[1.0], [2.0]], rng=0, trials=2)
    assert verdict and sizes == [(2, 1), (1, 1)] * 2


def test_a_counterexample_is_of_the_kind_that_was_tried():
    words = is_valid_kernel(lambda s, u: abs(len(s) - len(u)), sample=["a", "bb", "cccc"], rng=0)
    assert isinstance(words.points, list) and set(words.points) <= {"a", "bb", "cccc"}
    assert isinstance(is_valid_kernel(lambda x, z: np.linalg.norm(x - z), rng=0).points, np.ndarray)


def test_the_hunt_goes_from_two_points_to_twelve_on_the_line_and_in_the_plane():
    shapes = []

    def watched(X, Z):
        shapes.append(X.shape)
        return np.exp(-np.square(X[:, None] - Z).sum(axis=2))

    assert is_valid_kernel(watched, rng=0, trials=40)
    whole = [shape for shape in shapes if shape[0] > 1]  # not counting the pairs that show what kind of function it is
    assert [n for n, _ in whole] == [min(2 + trial // 3, 12) for trial in range(40)]
    assert [d for _, d in whole] == [1 + trial % 2 for trial in range(40)]
