"""Correct answers computed in other ways pass the checks of assignment 01."""

import numpy as np
import pytest

from kernelcourse.checking import CheckFailed, Passed, dual_representation


def kernel_by_features(x, z, degree):
    return np.vander([x], degree + 1)[0].astype(float) @ np.vander([z], degree + 1)[0]


def objective_expanded(w, Phi, t, lam):
    return w @ (lam * np.eye(len(w)) + Phi.T @ Phi) @ w / 2 - w @ Phi.T @ t + t @ t / 2


def gradient_expanded(w, Phi, t, lam):
    return (lam * np.eye(len(w)) + Phi.T @ Phi) @ w - Phi.T @ t


def primal_by_inverse(Phi, t, lam):
    return np.linalg.inv(lam * np.eye(Phi.shape[1]) + Phi.T @ Phi) @ Phi.T @ t


def primal_by_augmented_least_squares(Phi, t, lam):
    M = Phi.shape[1]
    A = np.vstack([Phi, np.sqrt(lam) * np.eye(M)])
    return np.linalg.lstsq(A, np.concatenate([t, np.zeros(M)]), rcond=None)[0]


def primal_by_svd(Phi, t, lam):
    U, s, Vt = np.linalg.svd(Phi.astype(float), full_matrices=False)
    return Vt.T @ (s / (s**2 + lam) * (U.T @ t))


def dual_by_loop(w, Phi, t, lam):
    return [-(w @ phi - t_n) / lam for phi, t_n in zip(Phi, t, strict=True)]


def weights_by_loop(a, Phi):
    return sum(a_n * phi for a_n, phi in zip(a, Phi, strict=True))


def dual_objective_from_residual(a, K, t, lam):
    return np.sum((K @ a - t) ** 2) / 2 + lam / 2 * a @ K @ a


def gram_by_loop(Phi):
    return np.array([[np.dot(p, q) for q in Phi] for p in Phi])


def gram_by_einsum(Phi):
    return np.einsum("nm,km->nk", Phi, Phi)


def dual_by_eigendecomposition(K, t, lam):
    values, Q = np.linalg.eigh(K.astype(float))
    return Q @ ((Q.T @ t) / (values + lam))


def dual_by_inverse(K, t, lam):
    return np.linalg.inv(K + lam * np.eye(len(K))) @ t


def predict_by_loop(K_test, a):
    return [np.dot(k, a) for k in K_test]


def pays_by_counting(N, M):
    return N * N * M + N**3 / 3 < N * M * M + M**3 / 3


def counts_as_list(N, M):
    return [N * M * M + M**3 / 3, N * N * M + N**3 / 3]


def regression_by_loops(X, t, Z, sigma, lam):
    def k(x, z):
        return np.exp(-((x - z) @ (x - z)) / (2 * sigma**2))

    K = np.array([[k(x, z) for z in X] for x in X])
    a = np.linalg.lstsq(K + lam * np.eye(len(X)), t, rcond=None)[0]
    return np.array([sum(a_n * k(x, z) for a_n, x in zip(a, X, strict=True)) for z in Z])


def distances_in_the_plane():
    return [[0, 0], [3, 0], [0, 4]], [2, -1, -1]


ROUTES = {
    kernel_by_features: "kernel",
    objective_expanded: "objective",
    gradient_expanded: "gradient",
    primal_by_inverse: "primal_weights",
    primal_by_augmented_least_squares: "primal_weights",
    primal_by_svd: "primal_weights",
    dual_by_loop: "dual_from_primal",
    weights_by_loop: "primal_from_dual",
    dual_objective_from_residual: "dual_objective",
    gram_by_loop: "gram_matrix",
    gram_by_einsum: "gram_matrix",
    dual_by_eigendecomposition: "dual_weights",
    dual_by_inverse: "dual_weights",
    predict_by_loop: "predict",
    pays_by_counting: "dual_pays",
    counts_as_list: "multiplications",
    regression_by_loops: "kernel_regression",
    distances_in_the_plane: "not_a_kernel",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(dual_representation.checks(seed)(**{piece: route}), Passed)


@pytest.mark.parametrize(
    "junk", [None, 3, "x", (), ([1], [2]), (np.zeros((3, 2)), [1, 2]), ([[np.nan]] * 3, [1, 0, -1])]
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed):
        dual_representation.checks(1)(not_a_kernel=lambda: junk)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_witness_against_the_distance_may_have_any_length(scale):
    claim = next(piece for piece in dual_representation.PIECES if piece.name == "not_a_kernel")
    X, y = np.array([[0.0], [1.0], [2.0]]), scale * np.array([1.0, 0.0, -1.0])
    assert claim.verify((X, y)) == claim.verify((scale * X, y)) == ""
    assert claim.verify((X, np.abs(y))) != ""
