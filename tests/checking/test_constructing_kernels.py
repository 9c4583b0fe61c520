"""Correct answers computed in other ways pass the checks of assignment 02."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from kernelcourse.checking import CheckFailed, Passed, constructing_kernels


def powers_by_broadcasting(x, M):
    return np.asarray(x)[:, None] ** np.arange(M + 1)


def powers_by_loop(x, M):
    return [[float(x_n) ** i for i in range(M + 1)] for x_n in x]


def squares_by_loop(X):
    return [(x1 * x1, 2**0.5 * x1 * x2, x2 * x2) for x1, x2 in X]


def squares_in_another_order(X):
    return np.stack([X[:, 1] ** 2, -np.sqrt(2) * X[:, 0] * X[:, 1], X[:, 0] ** 2], axis=1)  # the same inner products


def gaussian_by_loop(X, Z, h):
    return [[np.exp(-np.dot(x - z, x - z) / h**2) for z in Z] for x in X]


def gaussian_by_expanding(X, Z, h):
    squared = np.sum(X**2, axis=1)[:, None] - 2 * X @ Z.T + np.sum(Z**2, axis=1)
    return np.exp(-squared / h**2)


def laplacian_by_norm(X, Z, h):
    return np.exp(-np.linalg.norm(X[:, None] - Z[None], ord=1, axis=2) / h)


def laplacian_as_a_product(X, Z, h):
    return np.prod([np.exp(-np.abs(x[:, None] - z[None]) / h) for x, z in zip(X.T, Z.T, strict=True)], axis=0)


def psd_by_the_general_eigenvalues(K):
    return np.array_equal(K, K.T) and np.linalg.eigvals(K).real.min() > -1e-9


def psd_by_cholesky(K):
    if not np.allclose(K, K.T):
        return False
    try:
        np.linalg.cholesky(K + 1e-8 * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return False
    return True


def psd_by_all_principal_minors(K):
    subsets = [list(s) for size in range(1, len(K) + 1) for s in combinations(range(len(K)), size)]
    return bool(np.allclose(K, K.T) and all(np.linalg.det(K[np.ix_(s, s)]) > -1e-9 for s in subsets))


def weighted_by_diagonal_matrices(K, f):
    return np.diag(f) @ K @ np.diag(f)


def weighted_by_outer_product(K, f):
    return K * np.outer(f, f)


def polynomial_by_horner(K, q):
    result = np.zeros(K.shape)
    for q_i in q[::-1]:
        result = result * K + q_i
    return result


def polynomial_by_polyval(K, q):
    return np.polyval(q[::-1], K)


def products_by_kron(Phi1, Phi2):
    return np.array([np.kron(phi1, phi2) for phi1, phi2 in zip(Phi1, Phi2, strict=True)])


def products_by_columns(Phi1, Phi2):
    return np.stack([i * j for i in Phi1.T for j in Phi2.T], axis=1)


def assembled_with_distances(X, sigma):
    K = X @ X.T
    squared = np.diag(K)[:, None] - 2 * K + np.diag(K)
    return [K / sigma**2, np.exp(K / sigma**2), np.exp(-squared / (2 * sigma**2))]


def assembled_by_normalising(X, sigma):
    E = np.exp(X @ X.T / sigma**2)
    return X @ X.T / sigma**2, E, E / np.sqrt(np.outer(np.diag(E), np.diag(E)))


def season_by_the_sine(days, sigma):
    return np.exp(-2 * np.sin(np.pi * (days[:, None] - days) / 365) ** 2 / sigma**2)


def season_by_the_cosine(days, sigma):
    return np.exp((np.cos(2 * np.pi * np.subtract.outer(days, days) / 365) - 1) / sigma**2)


def plants_by_loop(K_season, X, A):
    n = len(X)
    return np.array([[K_season[i, j] * (1 + X[i] @ A @ X[j]) for j in range(n)] for i in range(n)])


def plants_by_einsum(K_season, X, A):
    return K_season + K_season * np.einsum("ni,ij,mj->nm", X, A, X)


def subsets_by_products(A, universe):
    phi = np.ones(1)
    for u in universe:
        phi = np.concatenate([phi, phi * (u in A)])
    return phi


def spectrum_by_counter(s, t, p):
    in_s, in_t = (Counter(r[i : i + p] for i in range(len(r) - p + 1)) for r in (s, t))
    return sum(count * in_t[u] for u, count in in_s.items())


def spectrum_by_pairs(s, t, p):
    pairs = [(i, j) for i in range(len(s) - p + 1) for j in range(len(t) - p + 1)]
    return np.sum([s[i : i + p] == t[j : j + p] for i, j in pairs], dtype=float)


def four_points_in_the_plane():
    return [[7, 0], [8, 4], [-7, 0], [-8, -4]], [1, 1, -1, -1]


def on_the_rim():
    return np.array([[10.0], [-10.0]]), np.array([3.0, -3.0])


ROUTES = {
    powers_by_broadcasting: "polynomial_features",
    powers_by_loop: "polynomial_features",
    squares_by_loop: "square_features",
    squares_in_another_order: "square_features",
    gaussian_by_loop: "gaussian",
    gaussian_by_expanding: "gaussian",
    laplacian_by_norm: "laplacian",
    laplacian_as_a_product: "laplacian",
    psd_by_the_general_eigenvalues: "is_psd",
    psd_by_cholesky: "is_psd",
    psd_by_all_principal_minors: "is_psd",
    weighted_by_diagonal_matrices: "weighted",
    weighted_by_outer_product: "weighted",
    polynomial_by_horner: "polynomial_of",
    polynomial_by_polyval: "polynomial_of",
    products_by_kron: "product_features",
    products_by_columns: "product_features",
    assembled_with_distances: "gaussian_by_rules",
    assembled_by_normalising: "gaussian_by_rules",
    season_by_the_sine: "season_kernel",
    season_by_the_cosine: "season_kernel",
    plants_by_loop: "plant_kernel",
    plants_by_einsum: "plant_kernel",
    subsets_by_products: "subset_features",
    spectrum_by_counter: "spectrum",
    spectrum_by_pairs: "spectrum",
    four_points_in_the_plane: "negative_constant",
    on_the_rim: "negative_constant",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(constructing_kernels.checks(seed)(**{piece: route}), Passed)


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "ab",
        (),
        ([1], [2]),
        (np.zeros((0, 2)), []),
        (np.zeros((3, 2)), [1, 2]),
        (np.zeros((3, 2)), [0, 0, 0]),
        ([[np.nan]] * 2, [1, -1]),
        ([[np.inf], [0.0]], [1, -1]),
        ([[1e200], [0.0]], [1, -1]),
        ([[10**400]], [1]),
        ([[1j]], [1]),
    ],
    ids=repr,
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed):
        constructing_kernels.checks(1)(negative_constant=lambda: junk)


def test_a_difference_that_is_negative_by_rounding_only_does_not_break_the_claim():
    with pytest.raises(CheckFailed):
        constructing_kernels.checks(1)(negative_constant=lambda: ([[0.0], [1e-9]], [1.0, -1.0]))
