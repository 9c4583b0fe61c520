"""Correct answers computed in other ways pass the checks of assignment 05."""

import numpy as np
import pytest

from kernelcourse import logistic_sgd
from kernelcourse.checking import CheckFailed, Passed, kernel_logistic_regression


def logistic_plain(z):
    return 1 / (1 + np.exp(-z))


def logistic_by_loop(z):
    return [1 / (1 + np.exp(-v)) if v > 0 else np.exp(v) / (1 + np.exp(v)) for v in z]


def objective_with_logarithms(a, K, y, lam):
    p = 1 / (1 + np.exp(-K @ a))
    return -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p)) + lam / 2 * a @ K @ a


def objective_with_signs(a, K, y, lam):
    return sum(np.log1p(np.exp(-(2 * y_i - 1) * k @ a)) for y_i, k in zip(y, K, strict=True)) + lam / 2 * a @ K @ a


def primal_by_gradient(w, Phi, y, step, lam):
    gradient = sum((1 / (1 + np.exp(-phi @ w)) - y_i) * phi for y_i, phi in zip(y, Phi, strict=True)) + lam * w
    return w - step * gradient


def dual_by_loop(a, K, y, step, lam):
    return [a_i + step * (y_i - 1 / (1 + np.exp(-k @ a)) - lam * a_i) for a_i, y_i, k in zip(a, y, K, strict=True)]


def train_in_place(K, y, step, lam, iterations):
    a = np.zeros(len(K))
    for _ in range(iterations):
        p = (1 + np.tanh(K @ a / 2)) / 2
        a *= 1 - step * lam
        a += step * (y - p)
    return a


def probabilities_by_loop(K_test, a):
    return [1 / (1 + np.exp(-sum(k * a))) for k in K_test]


def sgd_from_scratch(K, y, order, step, lam):
    a = np.zeros(len(y))
    for i in order:
        a[i] += step * (y[i] - 1 / (1 + np.exp(-(K @ a)[i])) - lam * a[i])
    return a, K @ a


def alternating_by_solving():
    x = np.linspace(-3, 3, 6)
    y = np.arange(6) % 2
    return list(x), list(y), np.linalg.solve(np.exp(-((x[:, None] - x) ** 2) / 2), 2 * y - 1)


ROUTES = {
    logistic_plain: "logistic",
    logistic_by_loop: "logistic",
    objective_with_logarithms: "objective",
    objective_with_signs: "objective",
    primal_by_gradient: "primal_step",
    dual_by_loop: "dual_step",
    train_in_place: "train",
    probabilities_by_loop: "probabilities",
    sgd_from_scratch: "sgd",
    alternating_by_solving: "never_converges",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(kernel_logistic_regression.checks(seed)(**{piece: route}), Passed)


def test_the_reference_of_sgd_takes_the_steps_of_the_library():
    rng = np.random.default_rng(0)
    Phi, y = rng.normal(size=(7, 3)), np.arange(7) % 2
    sgd = next(piece.reference for piece in kernel_logistic_regression.PIECES if piece.name == "sgd")
    a, q = sgd(Phi @ Phi.T, y, np.random.default_rng(5).integers(7, size=30), 0.3, 0.2)
    assert np.allclose(a, logistic_sgd(Phi @ Phi.T, y, step=0.3, steps=30, rng=5, ridge=0.2))
    assert np.allclose(q, Phi @ Phi.T @ a)


ALTERNATING = ([0, 3, 6, 9], [0, 1, 0, 1], [-1, 1, -1, 1])


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "xya",
        (),
        (1, 2, 3),
        ([0, 3, 3, 9], *ALTERNATING[1:]),
        ([0, 3, 6, np.nan], *ALTERNATING[1:]),
        (ALTERNATING[0], [-1, 1, -1, 1], ALTERNATING[2]),
        (*ALTERNATING[:2], [-1, 1, -1, np.inf]),
        (*ALTERNATING[:2], [0, 0, 0, 0]),
        ([[0, 3, 6, 9]], [[0, 1, 0, 1]], [[-1, 1, -1, 1]]),
    ],
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed):
        kernel_logistic_regression.checks(1)(never_converges=lambda: junk)


def test_three_points_are_too_few_for_the_claim():
    answer = [0.0, 3.0, 6.0], [0, 1, 0], [-1.0, 1.0, -1.0]
    assert kernel_logistic_regression._verify_never_converges(answer) == kernel_logistic_regression._WRONG_FORM
