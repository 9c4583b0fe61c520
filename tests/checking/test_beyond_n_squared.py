"""Correct answers computed in other ways pass the checks of assignment 11, and its references are the library's."""

from itertools import product

import numpy as np
import pytest

from kernelcourse import FourierFeatures, Gaussian, LandmarkFeatures, feature_ridge, random_fourier
from kernelcourse.checking import CheckFailed, Passed, beyond_n_squared
from kernelcourse.checking.variants import own_values


def bytes_of_an_array(n):
    return n**2 * np.dtype(float).itemsize


def blocks_by_range(n, m, memory):
    return len(range(0, n, memory // (8 * m)))


def blocks_by_ceiling(n, m, memory):
    return int(np.ceil(n / (memory // (8 * m))))


def weights_by_least_squares(K_ZZ, K_XZ, t, lam):
    root = np.linalg.cholesky(K_ZZ).T
    stacked, targets = np.vstack([K_XZ, np.sqrt(lam) * root]), np.concatenate([t, np.zeros(len(K_ZZ))])
    return np.linalg.lstsq(stacked, targets, rcond=None)[0]


def weights_by_inverse(K_ZZ, K_XZ, t, lam):
    return np.linalg.inv(K_XZ.T.dot(K_XZ) + lam * K_ZZ).dot(K_XZ.T).dot(t)


def weights_by_whitening(K_ZZ, K_XZ, t, lam):
    values, Q = np.linalg.eigh(K_ZZ)
    half = Q / np.sqrt(values)
    Phi = K_XZ @ half
    return half @ np.linalg.solve(Phi.T @ Phi + lam * np.eye(len(values)), Phi.T @ t)


def block_by_rows(A, b, Phi, t):
    A, b = np.array(A, dtype=float), np.array(b, dtype=float)
    for row, target in zip(Phi, t, strict=True):
        A += np.outer(row, row)
        b += target * row
    return A, b


def block_by_einsum(A, b, Phi, t):
    return [A + np.einsum("ij,ik->jk", Phi, Phi), b + np.einsum("i,ij->j", t, Phi)]


def waves_by_exponential(X, W):
    waves = np.exp(1j * (X @ W)) / W.shape[1] ** 0.5
    return np.concatenate([waves.real, waves.imag], axis=1)


def waves_by_loop(X, W):
    q = W.shape[1]
    Phi = np.zeros((len(X), 2 * q))
    for i, x in enumerate(X):
        for j in range(q):
            Phi[i, j], Phi[i, q + j] = np.cos(x @ W[:, j]), np.sin(x @ W[:, j])
    return Phi * np.sqrt(2 / (2 * q))


def variance_in_steps(delta, sigma, m):
    k = np.exp(-(np.linalg.norm(delta) ** 2) / (2 * sigma**2))
    return ((1 + k**4) / 2 - k**2) / (m / 2)


def variance_as_a_square(delta, sigma, m):
    return (1 - np.exp(-np.sum(np.square(delta)) / sigma**2)) ** 2 / m


def steps_along_the_axes(points, landmarks):
    X = [[0] * landmarks for _ in range(points)]
    for i, row in enumerate(X):
        row[i % landmarks] = i // landmarks + 1
    return X, list(range(landmarks))


def a_subspace_of_ten_dimensions(points, landmarks):
    rng = np.random.default_rng(7)
    return rng.normal(size=(points, landmarks)) @ rng.normal(size=(landmarks, 10)), np.arange(points)[-landmarks:]


ROUTES = {
    bytes_of_an_array: "gram_bytes",
    blocks_by_range: "block_count",
    blocks_by_ceiling: "block_count",
    weights_by_least_squares: "nystrom_weights",
    weights_by_inverse: "nystrom_weights",
    weights_by_whitening: "nystrom_weights",
    block_by_rows: "add_block",
    block_by_einsum: "add_block",
    waves_by_exponential: "fourier_features",
    waves_by_loop: "fourier_features",
    variance_in_steps: "estimate_variance",
    variance_as_a_square: "estimate_variance",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(beyond_n_squared.checks(seed)(**{piece: route}), Passed)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("route", [steps_along_the_axes, a_subspace_of_ten_dimensions])
def test_the_claim_is_broken_with_numbers_of_ones_own_and_with_no_others(route, seed):
    check = beyond_n_squared.checks(seed)
    assert isinstance(check(nothing_lost=lambda: route(**check.own)), Passed)
    points, landmarks = check.own["points"], check.own["landmarks"]
    for other in ((points + 1, landmarks), (points, landmarks - 1)):
        with pytest.raises(CheckFailed, match=f"asks for {points} points and {landmarks}"):
            check(nothing_lost=lambda other=other: route(*other))


def test_a_claim_is_about_six_to_ten_points_and_two_to_four_landmarks():
    drawn = {tuple(own_values(beyond_n_squared.PARAMETERS, seed).values()) for seed in range(200)}
    assert drawn == set(product(range(6, 11), range(2, 5)))


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "ab",
        (),
        (np.eye(3), [0], 1),
        (np.zeros((0, 2)), [0]),
        (np.eye(3), []),
        (np.eye(3), [0.0]),
        (np.eye(3), [3]),
        (np.eye(3), [-1]),
        (np.eye(3), [0, 0]),
        (np.eye(3), [[0]]),
        (np.full((3, 1), np.nan), [0]),
        (1e3 * np.arange(3)[:, None], [1]),
        (np.arange(60)[:, None], [1]),
        ([[10**400]], [0]),
        ([[1j], [2]], [0]),
    ],
    ids=lambda junk: repr(junk)[:40],
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed):
        beyond_n_squared.checks(1)(nothing_lost=lambda: junk)


def reference(name):
    return next(piece.reference for piece in beyond_n_squared.PIECES if piece.name == name)


def test_the_references_are_the_librarys():
    rng = np.random.default_rng(0)
    X, t, W = rng.normal(size=(40, 2)), rng.normal(size=40), rng.normal(size=(2, 5))
    features = LandmarkFeatures(Gaussian(0.5), X[:6])
    w = feature_ridge(features, X, t, ridge=0.3)
    np.testing.assert_allclose(reference("nystrom_weights")(features.penalty(), features(X), t, 0.3), w, atol=1e-9)
    np.testing.assert_allclose(reference("fourier_features")(X, W), FourierFeatures(W)(X), atol=1e-14)


def test_the_variance_is_that_of_the_librarys_features():
    delta, rng = np.array([0.7, -0.4]), np.random.default_rng(1)
    maps = [random_fourier(Gaussian(1.2), 2, 6, rng=rng) for _ in range(4000)]
    estimates = [(phi([[0.0, 0.0]]) @ phi(delta[None]).T).item() for phi in maps]
    assert np.var(estimates) == pytest.approx(reference("estimate_variance")(delta, 1.2, 6), rel=0.1)


def test_a_counterexample_has_two_to_fifty_points_with_entries_up_to_a_hundred():
    for n, largest, fits in [(1, 1, False), (2, 100, True), (50, 100, True), (51, 100, False), (50, 100.1, False)]:
        X = np.linspace(1, largest, n)[:, None]  # on a line, where one landmark is enough
        said = beyond_n_squared._verify_nothing_lost((X, [n - 1]), points=n, landmarks=1)
        assert said == ("" if fits else beyond_n_squared._WRONG_FORM)
