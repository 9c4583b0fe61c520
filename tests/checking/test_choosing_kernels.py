"""Correct answers computed in other ways pass the checks of assignment 09."""

import numpy as np
import pytest

from kernelcourse.checking import CheckFailed, Passed, choosing_kernels
from kernelcourse.kernels import Gaussian, Linear
from kernelcourse.selection import k_fold, leave_one_out_by_the_book


def folds_by_boundaries(order, k):
    n = len(order)
    sizes = [n // k + (j < n % k) for j in range(k)]
    fold = [0] * n
    for point, number in zip(order, np.repeat(np.arange(k), sizes), strict=True):
        fold[point] = int(number)
    return fold


def folds_by_inverse_permutation(order, k):
    sizes = [len(piece) for piece in np.array_split(order, k)]
    return np.repeat(np.arange(k), sizes)[np.argsort(order)]


def validation_by_deleting(K, t, fold, lams):
    errors = np.zeros((len(lams), fold.max() + 1))
    for j in range(fold.max() + 1):
        held_out = np.flatnonzero(fold == j)
        K_rest = np.delete(np.delete(K, held_out, axis=0), held_out, axis=1).astype(float)
        values, Q = np.linalg.eigh(K_rest)
        rest = np.delete(t, held_out)
        for row, lam in enumerate(lams):
            a = Q @ (Q.T @ rest / (values + lam))
            errors[row, j] = np.mean((t[held_out] - np.delete(K[held_out], held_out, axis=1) @ a) ** 2)
    return errors.mean(axis=1)


def residuals_by_n_fits(K, t, lam):
    residuals = []
    for i in range(len(t)):
        rest = [j for j in range(len(t)) if j != i]
        a = np.linalg.inv(K[np.ix_(rest, rest)] + lam * np.eye(len(rest))) @ t[rest]
        residuals.append(t[i] - K[i, rest] @ a)
    return residuals


def residuals_by_the_hat_matrix(K, t, lam):
    hat = K @ np.linalg.inv(K + lam * np.eye(len(t)))
    return (t - hat @ t) / (1 - np.diag(hat))


def choice_by_loop(errors, sigmas, ridges):
    best = None
    for i in range(len(sigmas)):
        for j in range(len(ridges)):
            total = errors[:, i, j].sum()
            if best is None or total <= best[0]:
                best = (total, sigmas[i], ridges[j])
    return list(best[1:])


def parts_by_loops(X, Z, a, h, c1, c2):
    f = [sum(a_i * c1 * np.exp(-((x - z) @ (x - z)) / h**2) for a_i, x in zip(a, X, strict=True)) for z in Z]
    return f, sum(c2 * a_i * x for a_i, x in zip(a, X, strict=True))


def pairs_by_loop(S, T):
    return [[sum(p == q for p, q in zip(s, t, strict=True)) ** 2 for t in T] for s in S]


def pairs_by_features(S, T):
    def one_hot(sequences):
        return np.array([[float(p == parent) for p in s for parent in "123"] for s in sequences])

    return (one_hot(S) @ one_hot(T).T) ** 2


def alignments_by_centred_vectors(Ks, t):
    c = t - np.mean(t)
    Ks = Ks - Ks.mean(axis=1, keepdims=True) - Ks.mean(axis=2, keepdims=True) + Ks.mean(axis=(1, 2), keepdims=True)
    return np.einsum("i,mij,j->m", c, Ks, c) / np.sqrt(np.sum(Ks**2, axis=(1, 2))) / (c @ c)


def a_noisy_line():
    return list(range(-5, 6)), [0.3 * x + (0.2 if x % 2 else -0.2) for x in range(-5, 6)]


ROUTES = {
    folds_by_boundaries: "folds",
    folds_by_inverse_permutation: "folds",
    validation_by_deleting: "cross_validation",
    residuals_by_n_fits: "leave_one_out",
    residuals_by_the_hat_matrix: "leave_one_out",
    choice_by_loop: "choose",
    parts_by_loops: "parts",
    pairs_by_loop: "pair_kernel",
    pairs_by_features: "pair_kernel",
    alignments_by_centred_vectors: "alignments",
    a_noisy_line: "misled",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(choosing_kernels.checks(seed)(**{piece: route}), Passed)


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "ab",
        (),
        ([1], [2]),
        ([1, 2], [3, 4]),
        (np.zeros((5, 1)), np.ones(5)),
        (np.zeros(31), np.ones(31)),
        (np.zeros(5), np.ones(4)),
        (np.zeros(5), np.zeros(5)),
        ([0, 1, np.nan], [1, 2, 3]),
        ([0, 1, 2], [1, 2, np.inf]),
        ([0, 1, 11], [1, 2, 3]),
        ([0, 1, 2], [1, 2, 10**400]),
        ([0, 1, 2], [1, 2, 3j]),
    ],
    ids=repr,
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed):
        choosing_kernels.checks(1)(misled=lambda: junk)


def reference(name):
    return next(piece.reference for piece in choosing_kernels.PIECES if piece.name == name)


def test_the_folds_are_the_librarys():
    fold = reference("folds")(np.random.default_rng(5).permutation(11), 3)
    for number, (_, held_out) in enumerate(k_fold(11, 3, rng=5)):
        assert set(np.flatnonzero(fold == number)) == set(held_out)


def test_with_a_fold_for_each_point_cross_validation_is_leave_one_out():
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(8, 2)), rng.normal(size=8)
    K = Gaussian(1.0)(X)
    residuals = leave_one_out_by_the_book(K, t, ridge=0.3)
    assert np.allclose(reference("leave_one_out")(K, t, 0.3), residuals)
    assert np.allclose(reference("cross_validation")(K, t, np.arange(8), np.array([0.3])), np.mean(residuals**2))


def test_the_two_parts_add_up_to_the_prediction_of_the_sum_of_kernels():
    rng = np.random.default_rng(0)
    X, Z, a = rng.normal(size=(6, 2)), rng.normal(size=(4, 2)), rng.normal(size=6)
    nonparametric, w = reference("parts")(X, Z, a, 0.7, 2.0, 0.5)
    assert np.allclose(nonparametric + Z @ w, (2.0 * Gaussian.from_h(0.7) + 0.5 * Linear())(Z, X) @ a)
