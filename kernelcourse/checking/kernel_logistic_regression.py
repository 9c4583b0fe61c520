"""Assignment 05, kernel logistic regression: its pieces and their usual mistakes (lecture S; S6, S7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithms import logistic
from ..kernels import Gaussian
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece

_DESCENT_REASON = (
    "the steps are below 1/L, so gradient descent contracts and rounding errors of 1e-16 do not grow along the way"
)


def _problems(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Design matrices with labels; both classes occur if there are two points."""

    def labels(n: int) -> np.ndarray:
        return rng.permutation(np.arange(1, n + 1) % 2)

    yield "one point, one feature", rng.normal(size=(1, 1)), labels(1)
    yield "one point", rng.normal(size=(1, 3)), labels(1)
    yield "one feature", rng.normal(size=(4, 1)), labels(4)
    yield "whole numbers", rng.permutation([[1, 2], [-1, 1], [2, 0]]), labels(3)
    yield "repeated points with different labels", rng.normal(size=(2, 2))[[0, 1, 0, 1]], np.array([0, 1, 1, 0])
    yield "more features than points", rng.normal(size=(2, 4)), labels(2)
    yield "no ridge, as in lecture S", rng.normal(size=(4, 2)), labels(4)
    yield "", rng.normal(size=(6, 3)), labels(6)


def _lam(rng: np.random.Generator, label: str) -> float:
    return 0.0 if label.startswith("no ridge") else float(rng.uniform(0.1, 2))


def _step(rng: np.random.Generator, K: np.ndarray, lam: float) -> float:
    """A step that goes downhill: below 1/L, with the bound L = lam + (largest eigenvalue)/4 on the curvature."""
    return float(rng.uniform(0.5, 1) / (lam + np.linalg.eigvalsh(K)[-1] / 4))


def _weights(rng: np.random.Generator, A: np.ndarray) -> np.ndarray:
    """Weights with |f| at most 6 at every point, so that log(1 - s) is accurate however it is computed."""
    weights = rng.normal(size=(A.shape[1],))
    weights *= 6 / max(6.0, float(np.abs(A @ weights).max()))
    return weights


def _number_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.array([0]),), "one whole number")
    yield Case((np.array([-1000.0, 1000.0]),), "very far out")
    yield Case((rng.integers(-3, 4, size=4),), "whole numbers")
    yield Case((rng.normal(size=3),))
    yield Case((2 * rng.normal(size=6),))


def _dual_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi, y in _problems(rng):
        K = Phi @ Phi.T
        yield Case((_weights(rng, K), K, y, _lam(rng, label)), label)


def _primal_step_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi, y in _problems(rng):
        lam = _lam(rng, label)
        yield Case((_weights(rng, Phi), Phi, y, _step(rng, Phi @ Phi.T, lam), lam), label)


def _dual_step_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi, y in _problems(rng):
        K, lam = Phi @ Phi.T, _lam(rng, label)
        yield Case((_weights(rng, K), K, y, _step(rng, K, lam), lam), label)


def _training_cases(rng: np.random.Generator) -> Iterator[Case]:
    for iterations, (label, Phi, y) in enumerate(_problems(rng), start=1):
        K, lam = Phi @ Phi.T, _lam(rng, label)
        yield Case((K, y, _step(rng, K, lam), lam, iterations), label)


def _test_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, Phi, _) in enumerate(_problems(rng), start=1):
        Z = rng.integers(-2, 3, size=(m, 2)) if label == "whole numbers" else rng.normal(size=(m, Phi.shape[1]))
        yield Case((Z @ Phi.T, rng.normal(size=len(Phi))), label)


def _sgd_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi, y in _problems(rng):
        K, lam, n = Phi @ Phi.T, _lam(rng, label), len(y)
        order = np.concatenate([[0, 0], rng.permutation(n), rng.integers(n, size=2)])  # a point occurs twice in a row
        yield Case((K, y, order, _step(rng, K, lam), lam), label)


# Piece 1: the logistic function and the cost


def _logistic(z: Any) -> Any:
    return logistic.logistic(z)


def sign_of_the_exponent(z):
    return 1 / (1 + np.exp(z))


def _objective(a: Any, K: Any, y: Any, lam: float) -> float:
    return logistic.logistic_objective(a, K, y, ridge=lam)


def mean_of_losses(a, K, y, lam):
    f = K @ a
    return float(np.mean(np.logaddexp(0, f) - y * f) + lam / 2 * a @ f)


def penalty_on_the_weights(a, K, y, lam):
    f = K @ a
    return float(np.sum(np.logaddexp(0, f) - y * f) + lam / 2 * a @ a)


def labels_swapped(a, K, y, lam):
    f = K @ a
    return float(np.sum(np.logaddexp(0, f) - (1 - y) * f) + lam / 2 * a @ f)


# Piece 2: one step, primal and dual


def _primal_step(w: Any, Phi: Any, y: Any, step: float, lam: float) -> Any:
    return w + step * (Phi.T @ (y - logistic.logistic(Phi @ w)) - lam * w)


def uphill(w, Phi, y, step, lam):
    return w + step * (Phi.T @ (1 / (1 + np.exp(-Phi @ w)) - y) + lam * w)


def _dual_step(a: Any, K: Any, y: Any, step: float, lam: float) -> Any:
    return a - step * logistic.logistic_functional_gradient(a, K, y, ridge=lam)


def gradient_in_a(a, K, y, step, lam):
    return a + step * K @ (y - 1 / (1 + np.exp(-K @ a)) - lam * a)


def penalty_of_the_values(a, K, y, step, lam):
    return a + step * (y - 1 / (1 + np.exp(-K @ a)) - lam * K @ a)


# Piece 3: batch gradient descent, from the start to the probabilities


def _train(K: Any, y: Any, step: float, lam: float, iterations: int) -> Any:
    return logistic.logistic_gradient_descent(K, y, step=step, iterations=iterations, ridge=lam)


def point_after_point(K, y, step, lam, iterations):
    a = np.zeros(len(y))
    for _ in range(iterations):
        for i in range(len(y)):
            a[i] = a[i] + step * (y[i] - 1 / (1 + np.exp(-K[i] @ a)) - lam * a[i])
    return a


def predictions_never_renewed(K, y, step, lam, iterations):
    a = np.zeros(len(y))
    p = 1 / (1 + np.exp(-K @ a))
    for _ in range(iterations):
        a = a + step * (y - p - lam * a)
    return a


def _probabilities(K_test: Any, a: Any) -> Any:
    return logistic.logistic(K_test @ a)


def bare_sum(K_test, a):
    return K_test @ a


# Piece 4: stochastic gradient descent with q = Ka


def _sgd(K: Any, y: Any, order: Any, step: float, lam: float) -> tuple[Any, Any]:
    a = np.zeros(len(y))
    for i in order:
        a[i] += step * (y[i] - logistic.logistic(K[i] @ a) - lam * a[i])
    return a, K @ a


def only_its_own_entry(K, y, order, step, lam):
    a, q = np.zeros(len(y)), np.zeros(len(y))
    for i in order:
        delta = step * (y[i] - 1 / (1 + np.exp(-q[i])) - lam * a[i])
        a[i] += delta
        q[i] += delta * K[i, i]
    return a, q


def change_computed_twice(K, y, order, step, lam):
    a, q = np.zeros(len(y)), np.zeros(len(y))
    for i in order:
        a[i] += step * (y[i] - 1 / (1 + np.exp(-q[i])) - lam * a[i])
        q += step * (y[i] - 1 / (1 + np.exp(-q[i])) - lam * a[i]) * K[:, i]
    return a, q


def all_weights_shrunk(K, y, order, step, lam):
    a, q = np.zeros(len(y)), np.zeros(len(y))
    for i in order:
        error = y[i] - 1 / (1 + np.exp(-q[i]))
        a, q = (1 - step * lam) * a, (1 - step * lam) * q
        a[i] += step * error
        q += step * error * K[:, i]
    return a, q


# Piece 5: the claim that the weights converge unless a threshold separates the classes

_WRONG_FORM = (
    "Return three vectors of the same length: x, at least four different numbers between −10 and 10; y, labels 0 and "
    "1; and a, a finite weight for each point."
)
_ONE_THRESHOLD = (
    "Sorted by x, your labels change fewer than three times: that is too easy. The claim is about classes "
    "that alternate along the line, as 0, 1, 0, 1 do."
)
_WRONG_SIDE = (
    "Your f = Ka does not have the right sign at every point: it must be positive where y = 1 and negative where y = "
    "0. At a point on the wrong side, the cross-entropy grows as a is scaled up; at f = 0 it stays log 2. Some "
    "weights have to be negative; one way to find them is to solve K a = 2y − 1."
)


def _never_converges() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array([0.0, 3.0, 6.0, 9.0]), np.array([0, 1, 0, 1]), np.array([-1.0, 1.0, -1.0, 1.0])


def _verify_never_converges(answer: Any) -> str:
    try:
        x, y, a = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if x.ndim != 1 or not 4 <= len(x) <= 1000 or y.shape != x.shape or a.shape != x.shape:
        return _WRONG_FORM
    if not (np.abs(x) <= 10).all() or len(np.unique(x)) < len(x) or not np.isin(y, [0, 1]).all():
        return _WRONG_FORM
    if not np.isfinite(a).all():
        return _WRONG_FORM
    if np.count_nonzero(np.diff(y[np.argsort(x)])) < 3:
        return _ONE_THRESHOLD
    a = a / max(np.abs(a).max(), np.finfo(float).tiny)
    margins = (2 * y - 1) * (Gaussian(sigma=1.0)(x[:, None]) @ a)
    return "" if margins.min() > 1e-12 else _WRONG_SIDE


def labels_as_weights():
    return np.array([0.0, 3.0, 6.0, 9.0]), np.array([0, 1, 0, 1]), np.array([0.0, 1.0, 0.0, 1.0])


def two_heaps():
    return np.array([0.0, 1.0, 8.0, 9.0]), np.array([0, 0, 1, 1]), np.array([-1.0, -1.0, 1.0, 1.0])


def weights_left_out():
    return np.array([0.0, 3.0, 6.0, 9.0]), np.array([0, 1, 0, 1])


PIECES = (
    Piece(
        "logistic",
        1,
        _logistic,
        _number_cases,
        [
            Mistake(
                sign_of_the_exponent,
                "This matches 1/(1 + e^z), the probability of the other class: s(z) = 1/(1 + e^(−z)) rises from "
                "0 to 1; see eq. (1).",
            ),
        ],
    ),
    Piece(
        "objective",
        2,
        _objective,
        _dual_cases,
        [
            Mistake(
                mean_of_losses,
                "This matches the mean of the losses. Eq. (2) sums them; with a mean, λ would mean something else.",
            ),
            Mistake(
                penalty_on_the_weights,
                "This matches a penalty λ/2 · aᵀa. The penalty of eq. (2) is on ‖w‖², and with w = Φᵀa that is aᵀKa.",
            ),
            Mistake(
                labels_swapped,
                "This matches the cost of the swapped labels 1 − y. In eq. (2) a point with y = 1 pays −log s(f), and "
                "one with y = 0 pays −log(1 − s(f)).",
            ),
        ],
        tolerance=1e-8,
        tolerance_reason="|f| is at most 6, where 1 − s(f) has lost 3 of its 16 digits before the logarithm is taken",
    ),
    Piece(
        "primal_step",
        1,
        _primal_step,
        _primal_step_cases,
        [
            Mistake(
                uphill,
                "This walks uphill: it adds the gradient Φᵀ(s(Φw) − y) + λw. Eq. (3) subtracts it, which turns the "
                "error into y − s(Φw).",
            ),
        ],
    ),
    Piece(
        "dual_step",
        2,
        _dual_step,
        _dual_step_cases,
        [
            Mistake(
                gradient_in_a,
                "This matches a step along the gradient with respect to a, which has one more factor K. The step that "
                "has the effect of eq. (3) on w = Φᵀa does not have this factor: multiply your bracket by Φᵀ and "
                "compare.",
            ),
            Mistake(
                penalty_of_the_values,
                "This matches λKa in the bracket. The penalty's part of eq. (3) is λw = Φᵀ(λa), so the bracket has λa.",
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
                point_after_point,
                "This updates the weights one after another, each with the new values of the earlier ones. That is "
                "another method. Batch gradient descent computes s(Ka) once for all points and then changes all of a: "
                "that is one dual step.",
            ),
            Mistake(
                predictions_never_renewed,
                "This computes s(Ka) once, before the loop. The predictions change with a: compute them anew "
                "in every dual step.",
            ),
        ],
        tolerance_reason=_DESCENT_REASON,
    ),
    Piece(
        "probabilities",
        1,
        _probabilities,
        _test_cases,
        [
            Mistake(
                bare_sum,
                "These are the sums f(z) = Σ a_i k(x_i, z), which can be any real number. The probability is s(f(z)); "
                "see eq. (1).",
            ),
        ],
    ),
    Piece(
        "sgd",
        3,
        _sgd,
        _sgd_cases,
        [
            Mistake(
                only_its_own_entry,
                "This updates the entry q_i alone. When a_i grows by δ, all of q = Ka changes: by δ times column i of "
                "K; see eq. (4).",
            ),
            Mistake(
                change_computed_twice,
                "This computes the change again for q, after a_i has moved: with λ > 0 it is then a different number, "
                "and q drifts away from Ka. Compute δ of eq. (4) once and use it for both.",
            ),
            Mistake(
                all_weights_shrunk,
                "This multiplies all weights by 1 − ελ in every step. Entry i of the dual step's bracket is "
                "y_i − s(q_i) − λa_i: a step touches a_i and no other weight; see eq. (4).",
            ),
        ],
        tolerance_reason=_DESCENT_REASON,
    ),
    Claim(
        "never_converges",
        2,
        _never_converges,
        _verify_never_converges,
        [
            Mistake(labels_as_weights, _WRONG_SIDE),
            Mistake(two_heaps, _ONE_THRESHOLD),
            Mistake(weights_left_out, _WRONG_FORM),
        ],
    ),
)

checks = seeded(PIECES)
