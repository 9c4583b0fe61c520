"""Correct answers computed in other ways pass the checks of assignment 06."""

import numpy as np
import pytest

from kernelcourse.checking import CheckFailed, Passed, support_vector_machines


def hinge_by_loop(f, y):
    return [max(0, 1 - y_i * f_i) for f_i, y_i in zip(f, y, strict=True)]


def objective_with_diagonal_matrices(alpha, K, y, lam):
    D = np.diag(y)
    losses = np.clip(1 - D @ K @ D @ alpha, 0, None)
    return np.sum(losses) / len(y) + lam * alpha @ D @ K @ D @ alpha


def objective_from_features(alpha, K, y, lam):
    values, Q = np.linalg.eigh(K.astype(float))
    Phi = Q * np.sqrt(np.clip(values, 0, None))
    w = Phi.T @ (y * alpha)
    return np.mean(np.maximum(0, 1 - y * (Phi @ w))) + lam * w @ w


def classify_by_loop(K_test, alpha, y):
    return [1 if sum(a * t * v for a, t, v in zip(alpha, y, row, strict=True)) >= 0 else -1 for row in K_test]


def subgradient_point_by_point(alpha, K, y, lam):
    f = K @ (y * alpha)
    g = 2 * lam * y * f
    for i in range(len(y)):
        if y[i] * f[i] < 1:
            g = g - y[i] * K[i] * y / len(y)
    return g


def step_by_minimum_and_maximum(alpha, K, y, lam, i):
    rest = sum(alpha[j] * y[j] * K[i, j] for j in range(len(y)) if j != i)
    best = (1 - y[i] * rest) / K[i, i]
    return [min(1 / (2 * len(y) * lam), max(0, best)) if j == i else alpha[j] for j in range(len(y))]


def train_with_margins_kept(K, y, lam, epochs):
    Q = y[:, None] * K * y
    alpha, margins = np.zeros(len(y)), np.zeros(len(y))
    for _ in range(epochs):
        for i in range(len(y)):
            new = min(1 / (2 * len(y) * lam), max(0.0, alpha[i] + (1 - margins[i]) / Q[i, i]))
            margins += (new - alpha[i]) * Q[i]
            alpha[i] = new
    return alpha


def gap_by_complementarity(alpha, K, y, lam):
    room = 1 - y * (K @ (y * alpha))
    C = 1 / (2 * len(y) * lam)
    return 2 * lam * np.sum((C - alpha) * np.maximum(0, room) + alpha * np.maximum(0, -room))


def mislabelled_point():
    return [[2, 1], [1, 2], [-2, -1], [-1, -2], [1, 1]], [1, 1, -1, -1, -1], 0.01


ROUTES = {
    hinge_by_loop: "hinge_losses",
    objective_with_diagonal_matrices: "objective",
    objective_from_features: "objective",
    classify_by_loop: "classify",
    subgradient_point_by_point: "subgradient",
    step_by_minimum_and_maximum: "coordinate_step",
    train_with_margins_kept: "train",
    gap_by_complementarity: "gap",
    mislabelled_point: "inside_the_margin",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(support_vector_machines.checks(seed)(**{piece: route}), Passed)


def test_writing_on_the_argument_is_told():
    def in_place(alpha, K, y, lam, i):
        alpha[i] = np.clip(alpha[i] + (1 - y[i] * (K[i] @ (y * alpha))) / K[i, i], 0, 1 / (2 * len(y) * lam))
        return alpha

    with pytest.raises(CheckFailed, match="copy"):
        support_vector_machines.checks(1)(coordinate_step=in_place)


TWO = ([[1.0], [-1.0]], [1, -1])


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "Xy1",
        (),
        TWO,
        (*TWO, 0),
        (*TWO, -1.0),
        (*TWO, np.nan),
        (*TWO, "0.1x"),
        (*TWO, [0.1, 0.2]),
        ([1.0, -1.0], [1, -1], 0.1),
        ([[1.0], [np.inf]], [1, -1], 0.1),
        ([[1e9], [-1.0]], [1, -1], 0.1),
        ([[1.0], [-1.0]], [1, 0], 0.1),
        ([[0.0], [0.0]], [1, -1], 0.1),
        ([[], []], [1, -1], 0.1),
    ],
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed):
        support_vector_machines.checks(1)(inside_the_margin=lambda: junk)
