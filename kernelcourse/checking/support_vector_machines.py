"""Assignment 06, support vector machines: its pieces and their usual mistakes (lecture K; K7)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithms import svm
from ..kernels import Linear
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece


def _problems(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Features with labels; both classes occur unless the label of the case says otherwise."""

    def labels(n: int) -> np.ndarray:
        return rng.permutation(np.where(np.arange(n) % 2 == 0, 1, -1))

    yield "one point, one feature", rng.uniform(0.5, 2, size=(1, 1)), np.array([-1])
    yield "one point", rng.normal(size=(1, 3)), np.array([1])
    yield "one feature", rng.uniform(0.5, 2, size=(3, 1)), labels(3)
    yield "whole numbers", rng.permutation([[1, 2], [-1, 1], [2, 0]]), labels(3)
    yield "repeated points with different labels", rng.normal(size=(2, 2))[[0, 1, 0, 1]], np.array([1, 1, -1, 1])
    yield "one class only", rng.normal(size=(3, 2)), np.array([-1, -1, -1])
    yield "", rng.normal(size=(6, 3)), labels(6)


def _lam(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.02, 0.5))


def _in_the_box(rng: np.random.Generator, n: int, lam: float) -> np.ndarray:
    """Coefficients of every kind: at 0, at C and in between."""
    return svm.C_from_lam(lam, n=n) * np.clip(rng.uniform(-0.5, 1.5, size=n), 0, 1)


def _off_the_kinks(rng: np.random.Generator, K: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Coefficients with no y_i f(x_i) close to 1, where the hinge has no derivative."""
    while True:
        alpha = rng.uniform(0, 1, size=len(y))
        if np.abs(1 - y * (K @ (y * alpha))).min() > 1e-3:
            return alpha


def _value_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.array([2]), np.array([1])), "one whole number")
    yield Case((np.array([1, 0, -1, -3]), np.array([1, 1, 1, -1])), "whole numbers")
    for n in (1, 3, 6):
        yield Case((2 * rng.normal(size=n), rng.choice([-1, 1], size=n)))


def _objective_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi, y in _problems(rng):
        yield Case((rng.uniform(0, 1, size=len(y)), Phi @ Phi.T, y, _lam(rng)), label)


def _subgradient_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi, y in _problems(rng):
        K = Phi @ Phi.T
        yield Case((_off_the_kinks(rng, K, y), K, y, _lam(rng)), label)


def _gap_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi, y in _problems(rng):
        lam = _lam(rng)
        yield Case((_in_the_box(rng, len(y), lam), Phi @ Phi.T, y, lam), label)


def _test_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, Phi, y) in enumerate(_problems(rng), start=1):
        Z = rng.integers(-2, 3, size=(m, 2)) if label == "whole numbers" else rng.normal(size=(m, Phi.shape[1]))
        yield Case((Z @ Phi.T, rng.uniform(0, 1, size=len(y)), y), label)
    yield Case((np.zeros((2, 3)), rng.uniform(0, 1, size=3), np.array([1, -1, -1])), "far from all training points")
    alpha = rng.uniform(0.1, 0.2, size=3)  # small, so that anything added to the coefficients outweighs them
    yield Case((np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]), alpha, np.array([1, -1, -1])), "small coefficients")


def _step_cases(rng: np.random.Generator) -> Iterator[Case]:
    scale = float(rng.uniform(1, 1.2))
    eye = np.eye(2, dtype=int)
    yield Case((np.zeros(1), np.array([[0.1 * scale]]), np.array([-1]), 0.5, 0), "one point, with a small k(x, x)")
    yield Case((np.zeros(2), 0.1 * scale * eye, np.array([1, -1]), 0.5, 1), "a step that hits the upper end of the box")
    yield Case(
        (np.array([0.3, 1.0]), scale * np.array([[1, 2], [2, 5]]), np.array([1, 1]), 0.25, 0),
        "a step that hits the lower end of the box",
    )
    yield Case((np.array([0.25, 0.25]), 2 * eye, np.array([1, -1]), 0.05, 1), "whole numbers, a step that ends inside")
    for label, Phi, y in _problems(rng):
        lam, n = _lam(rng), len(y)
        yield Case((_in_the_box(rng, n, lam), Phi @ Phi.T, y, lam, int(rng.integers(n))), label)


def _training_cases(rng: np.random.Generator) -> Iterator[Case]:
    close = np.array([[2, 1], [1, 2]])  # the second step depends on the first, and both end well inside the box
    yield Case((close, np.array([1, 1]), float(rng.uniform(0.02, 0.05)), 1), "two points close to each other")
    for epochs, (label, Phi, y) in enumerate(_problems(rng), start=1):
        yield Case((Phi @ Phi.T, y, _lam(rng), epochs), label)
    steep = float(rng.uniform(1, 1.2)) * np.array([[1, 2], [2, 5]])  # the second step goes below 0
    yield Case((steep, np.array([1, 1]), float(rng.uniform(0.1, 0.2)), 1), "a step that hits the lower end of the box")


# Piece 1: the hinge loss and the objective


def _hinge_losses(f: Any, y: Any) -> Any:
    return svm.hinge_losses(f, y)


def perceptron_losses(f, y):
    return np.maximum(0, -y * f)


def reward_beyond_the_margin(f, y):
    return 1 - y * f


def _objective(alpha: Any, K: Any, y: Any, lam: float) -> float:
    return svm.svm_objective(alpha, K, y, lam=lam)


def sum_of_losses(alpha, K, y, lam):
    c = y * alpha
    return float(np.sum(np.maximum(0, 1 - y * (K @ c))) + lam * c @ K @ c)


def penalty_without_labels(alpha, K, y, lam):
    c = y * alpha
    return float(np.mean(np.maximum(0, 1 - y * (K @ c))) + lam * alpha @ K @ alpha)


# Piece 2: prediction


def _classify(K_test: Any, alpha: Any, y: Any) -> Any:
    return np.where(svm.decision_values(K_test, alpha, y) >= 0, 1, -1)


def votes_without_labels(K_test, alpha, y):
    return np.where(K_test @ alpha >= 0, 1, -1)


def undecided(K_test, alpha, y):
    return np.sign(K_test @ (alpha * y))


# Piece 3: the subgradient


def _subgradient(alpha: Any, K: Any, y: Any, lam: float) -> Any:
    return svm.svm_subgradient(alpha, K, y, lam=lam)


def wrong_side_of_the_margin(alpha, K, y, lam):
    Q = y[:, None] * K * y
    return Q @ (2 * lam * alpha - (Q @ alpha > 1) / len(y))


def two_forgotten(alpha, K, y, lam):
    Q = y[:, None] * K * y
    return Q @ (lam * alpha - (Q @ alpha < 1) / len(y))


# Piece 4: ascent on the dual, one coordinate at a time


def _coordinate_step(alpha: Any, K: Any, y: Any, lam: float, i: int) -> Any:
    C, new = svm.C_from_lam(lam, n=len(y)), alpha.copy()
    new[i] = np.clip(alpha[i] + (1 - y[i] * (K[i] @ (y * alpha))) / K[i, i], 0, C)
    return new


def box_ignored(alpha, K, y, lam, i):
    new = alpha.copy()
    new[i] = alpha[i] + (1 - y[i] * (K[i] @ (y * alpha))) / K[i, i]
    return new


def box_without_n(alpha, K, y, lam, i):
    new = alpha.copy()
    new[i] = np.clip(alpha[i] + (1 - y[i] * (K[i] @ (y * alpha))) / K[i, i], 0, 1 / (2 * lam))
    return new


def old_value_forgotten(alpha, K, y, lam, i):
    new = alpha.copy()
    new[i] = np.clip((1 - y[i] * (K[i] @ (y * alpha))) / K[i, i], 0, 1 / (2 * len(y) * lam))
    return new


def _train(K: Any, y: Any, lam: float, epochs: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library warns that so few epochs do not reach the optimum
        return svm.kernel_svm_by_the_book(K, y, lam=lam, gap=1e-300, max_epochs=epochs).alpha


def all_at_once(K, y, lam, epochs):
    alpha = np.zeros(len(y))
    for _ in range(epochs):
        margins = y * (K @ (y * alpha))
        alpha = np.clip(alpha + (1 - margins) / np.diag(K), 0, 1 / (2 * len(y) * lam))
    return alpha


# Piece 5: the duality gap


def _gap(alpha: Any, K: Any, y: Any, lam: float) -> float:
    return svm.svm_objective(alpha, K, y, lam=lam) - svm.svm_dual_objective(alpha, K, y, lam=lam)


def dual_on_another_scale(alpha, K, y, lam):
    c = y * alpha
    primal = np.mean(np.maximum(0, 1 - y * (K @ c))) + lam * c @ K @ c
    return float(primal - (np.sum(alpha) - c @ K @ c / 2))


# Piece 6: the claim that all support vectors lie on the margin

_WRONG_FORM = (
    "Return three things: X, 2 to 100 points as the rows of an (n, d) array with entries between −10 and 10; y, a "
    "label −1 or +1 for each; and lam, a number from 0.0001 to 100."
)
_ONE_CLASS = "All your labels are equal. Take points of both classes, so that there is something to separate."
_NONE_INSIDE = (
    "Every support vector of your example lies on the margin (to within 0.01), as the claim says. Add a point that "
    "stands in the way: one that is closer to the boundary than the others, or on the wrong side of it. A larger λ "
    "also widens the margin."
)
_NONE_ON_IT = (
    "There is a support vector inside the margin, but no point lies on it, with y f(x) = 1. Change λ, or move a "
    "point, until one does; if y f(x) < 1 at every point, lower λ."
)


def _inside_the_margin() -> tuple[np.ndarray, np.ndarray, float]:
    return np.array([[1.0], [0.5], [-2.0]]), np.array([1, 1, -1]), 0.1


def _verify_inside_the_margin(answer: Any) -> str:
    try:
        X, y, lam = answer
        X, y, lam = np.asarray(X, dtype=float), np.asarray(y, dtype=float), float(lam)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if X.ndim != 2 or not 2 <= len(X) <= 100 or X.shape[1] == 0 or not (np.abs(X) <= 10).all():
        return _WRONG_FORM
    if y.shape != (len(X),) or not np.isin(y, [-1, 1]).all() or not 1e-4 <= lam <= 100:
        return _WRONG_FORM
    if (y == y[0]).all():
        return _ONE_CLASS
    K = Linear()(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alpha = svm.kernel_svm(K, y, lam=lam, gap=1e-10).alpha
    margins = y * svm.decision_values(K, alpha, y)
    if margins.min() > 0.99:
        return _NONE_INSIDE
    return "" if (np.abs(margins - 1) < 1e-3).any() else _NONE_ON_IT


def far_apart():
    return np.array([[2.0, 0.0], [0.0, -2.0]]), np.array([1, -1]), 0.01


def flat_function():
    return np.array([[1.0], [0.5], [-2.0]]), np.array([1, 1, -1]), 100.0


def same_label():
    return np.array([[1.0], [0.5]]), np.array([1, 1]), 0.25


PIECES = (
    Piece(
        "hinge_losses",
        1,
        _hinge_losses,
        _value_cases,
        [
            Mistake(
                perceptron_losses,
                "This matches the perceptron's loss max(0, −y f). The hinge loss demands more than the right sign: a "
                "margin of 1, max(0, 1 − y f); see eq. (2).",
            ),
            Mistake(
                reward_beyond_the_margin,
                "This matches 1 − y f, which is negative beyond the margin. The hinge loss of eq. (2) stays at 0 "
                "there: max(0, 1 − y f).",
            ),
        ],
    ),
    Piece(
        "objective",
        2,
        _objective,
        _objective_cases,
        [
            Mistake(
                sum_of_losses,
                "This matches the sum of the losses. Lecture K's objective, eq. (2), has their mean: 1/n is missing.",
            ),
            Mistake(
                penalty_without_labels,
                "This matches the penalty λ αᵀKα. The coefficients of f are α_j y_j, so ‖f‖² = αᵀD_yKD_yα: the labels "
                "belong in the penalty too; see eq. (2).",
            ),
        ],
    ),
    Piece(
        "classify",
        2,
        _classify,
        _test_cases,
        [
            Mistake(
                votes_without_labels,
                "This matches the sign of Σ α_i k(x_i, x), as if every label were +1. In eq. (1) a point's vote "
                "carries its label, α_i y_i k(x_i, x).",
            ),
            Mistake(
                undecided,
                "This returns 0 where f(x) = 0, as np.sign does, but 0 is not a label. A tie counts as +1 here: test "
                "whether f(x) ≥ 0.",
            ),
        ],
    ),
    Piece(
        "subgradient",
        2,
        _subgradient,
        _subgradient_cases,
        [
            Mistake(
                wrong_side_of_the_margin,
                "This lets the points beyond the margin, y_i f(x_i) > 1, contribute. There the hinge is flat; its "
                "slope is −1 where y_i f(x_i) < 1, see eq. (2).",
            ),
            Mistake(
                two_forgotten,
                "This matches λ D_yKD_yα as the derivative of the penalty. The penalty is quadratic, λ αᵀD_yKD_yα in "
                "eq. (2), so its derivative has a factor 2.",
            ),
        ],
    ),
    Piece(
        "coordinate_step",
        2,
        _coordinate_step,
        _step_cases,
        [
            Mistake(
                box_ignored,
                "This leaves the box: α_i may become negative or exceed C. After the step of eq. (4), move α_i back to "
                "the nearer end of [0, C]; np.clip does it.",
            ),
            Mistake(
                box_without_n,
                "This matches a box with C = 1/(2λ). Lecture K averages the losses, so a single point has only "
                "1/n of that weight: C = 1/(2nλ); see eq. (3).",
            ),
            Mistake(
                old_value_forgotten,
                "This replaces α_i by (1 − y_i f(x_i))/k(x_i, x_i). Eq. (4) adds it to the old α_i, which is "
                "part of f already.",
            ),
        ],
    ),
    Piece(
        "train",
        2,
        _train,
        _training_cases,
        [
            Mistake(
                all_at_once,
                "This computes all y_i f(x_i) once for a pass and then changes all α_i together. They should change "
                "one after another: each step of eq. (4) uses the f that the earlier steps have produced. (Together "
                "they can overshoot.)",
            ),
        ],
        tolerance_reason="a step never increases an error in f, so rounding errors of 1e-16 do not grow along the way",
    ),
    Piece(
        "gap",
        2,
        _gap,
        _gap_cases,
        [
            Mistake(
                dual_on_another_scale,
                "This subtracts Σα_i − ½ αᵀD_yKD_yα. That is the dual on the textbooks' scale; the bound on lecture "
                "K's objective is 2λ times it, see eq. (3).",
            ),
        ],
    ),
    Claim(
        "inside_the_margin",
        2,
        _inside_the_margin,
        _verify_inside_the_margin,
        [
            Mistake(far_apart, _NONE_INSIDE),
            Mistake(flat_function, _NONE_ON_IT),
            Mistake(same_label, _ONE_CLASS),
        ],
    ),
)

checks = seeded(PIECES)
