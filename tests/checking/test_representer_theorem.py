"""Correct answers computed in other ways pass the checks of assignment 07."""

import numpy as np
import pytest

from kernelcourse.algorithms.ridge import regularization_network
from kernelcourse.checking import CheckFailed, Passed, representer_theorem


def inner_product_by_loops(c, d, K_zu):
    return sum(c[i] * d[j] * K_zu[i, j] for i in range(len(c)) for j in range(len(d)))


def inner_product_by_einsum(c, d, K_zu):
    return np.einsum("i,ij,j->", c, K_zu, d)


def norm_by_eigendecomposition(c, K):
    values, Q = np.linalg.eigh(K.astype(float))
    return np.linalg.norm(np.sqrt(np.clip(values, 0, None)) * (Q.T @ c))


def project_by_inverse(K, K_xz, c):
    return np.linalg.inv(K) @ K_xz @ c


def project_by_least_squares(K, K_xz, c):
    return np.linalg.lstsq(K, K_xz @ c, rcond=None)[0]


def rest_with_all_centres(K, K_xz, K_zz, c):
    e = np.concatenate([c, -np.linalg.solve(K, K_xz @ c)])
    return e @ np.block([[K_zz, K_xz.T], [K_xz, K]]) @ e


def rest_by_schur_complement(K, K_xz, K_zz, c):
    return c @ (K_zz - K_xz.T @ np.linalg.inv(K) @ K_xz) @ c


def offset_by_centring(K, t, lam):
    n = len(t)
    H = np.eye(n) - 1 / n
    a = np.linalg.solve(H @ K @ H + lam * np.eye(n), H @ t)
    return a, np.mean(t - K @ a)


def offset_by_elimination(K, t, lam):
    inverse = np.linalg.inv(K + lam * np.eye(len(t)))
    b = inverse.sum(axis=0) @ t / inverse.sum()
    return inverse @ (t - b), b


def network_by_eigendecomposition(K, y, gamma):
    values, Q = np.linalg.eigh(K.astype(float))
    return Q @ ((Q.T @ y) / (values + len(y) * gamma))


def descend_by_loop(alpha, K, y, gamma, eta):
    n = len(y)
    return [(1 - 2 * eta * gamma) * alpha[i] + 2 * eta / n * (y[i] - K[i] @ alpha) for i in range(n)]


def three_points_of_the_plane():
    X = np.array([[1, 0], [0, 1], [1, 1]])
    y = np.array([1, 2, 3])
    return X.tolist(), y, np.linalg.inv(X @ X.T + 0.3 * np.eye(3)) @ y + [1, 1, -1]


ROUTES = {
    inner_product_by_loops: "inner_product",
    inner_product_by_einsum: "inner_product",
    norm_by_eigendecomposition: "norm",
    project_by_inverse: "project",
    project_by_least_squares: "project",
    rest_with_all_centres: "rest",
    rest_by_schur_complement: "rest",
    offset_by_centring: "fit_with_offset",
    offset_by_elimination: "fit_with_offset",
    network_by_eigendecomposition: "network",
    descend_by_loop: "descend",
    three_points_of_the_plane: "another_solution",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(representer_theorem.checks(seed)(**{piece: route}), Passed)


def test_the_references_of_descent_and_network_agree():
    reference = {piece.name: piece.reference for piece in representer_theorem.PIECES}
    rng = np.random.default_rng(0)
    Phi, y = rng.normal(size=(5, 3)), rng.normal(size=5)
    alpha = reference["network"](Phi @ Phi.T, y, 0.2)
    assert np.allclose(reference["descend"](alpha, Phi @ Phi.T, y, 0.2, 0.7), alpha)


@pytest.mark.parametrize("seed", range(10))
def test_gram_matrices_to_be_inverted_are_well_conditioned(seed):
    pieces = {piece.name: piece for piece in representer_theorem.PIECES}
    for name in ("project", "rest", "fit_with_offset"):
        for case in pieces[name].cases(np.random.default_rng(seed)):
            assert np.linalg.cond(case.args[0]) < 1e4


TWO = ([[1.0], [2.0]], [1.0, 1.0])


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "Xya",
        (),
        TWO,
        (*TWO, 1.0),
        (*TWO, [np.nan, 1.0]),
        (*TWO, [1e9, 0.0]),
        (*TWO, [1.0, 2.0, 3.0]),
        ([1.0, 2.0], [1.0, 1.0], [1.0, 1.0]),
        ([[], []], [1.0, 1.0], [1.0, 1.0]),
        ([[np.inf], [2.0]], [1.0, 1.0], [1.0, 1.0]),
    ],
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed):
        representer_theorem.checks(1)(another_solution=lambda: junk)


@pytest.mark.parametrize(("n", "allowed"), [(100, True), (101, False)])
def test_the_claim_is_broken_by_at_most_100_points(n, allowed):
    X, y = np.arange(1.0, n + 1)[:, None], np.ones(n)
    zero_sum = np.r_[2.0, -1.0, np.zeros(n - 2)]  # of alpha_i x_i, so that the function stays the same
    alpha = regularization_network(X @ X.T, y, gamma=representer_theorem._GAMMA) + zero_sum
    hint = representer_theorem._verify_another_solution((X, y, alpha))
    assert hint == ("" if allowed else representer_theorem._WRONG_FORM)
