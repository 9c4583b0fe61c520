"""Models on features that fit into memory: computed once for all passes and all classes, and solved in fewer passes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..algorithms import svm
from ..algorithms.logistic import expit
from ..linalg import cholesky, triangular_solve
from ..scaling import estimators
from ..scaling.chunks import is_dask
from ..scaling.models import NewtonFit, feature_logistic, feature_svm
from ..seam import accelerates
from ..validation import Array, warn
from .threads import Loops, compiled, in_rows, one_thread, side_by_side

GAP = 1e-4  # of the support vector machine, relative: below what rounding off the hinge costs the definition
EPOCHS, LOOK = 400, 10  # passes of coordinate descent at most, and between two looks at the gap
TOL, ROUNDS = 1e-10, 100  # those of `feature_logistic`


@dataclass(frozen=True)
class Stored:
    """A feature map whose rows are there already: its prepared points are their features."""

    features: Any

    @property
    def m(self) -> int:
        return self.features.m

    def prepare(self, Phi: Array) -> Array:
        return Phi

    def rows(self, Phi: Array) -> Array:
        return Phi

    def penalty(self) -> Array:
        return self.features.penalty()


@accelerates(estimators.fit_each)
def fit_each(model: Any, features: Any, X: Any, problems: list[Any], options: dict[str, Any]) -> list[Any]:
    """The support vector machine by its dual where the matrix fits as well; several logistic problems at a time."""
    n, room = len(X), options["memory"] // 8
    if is_dask(X) or model.solve not in (feature_logistic, feature_svm) or 3 * n * features.m > room:
        return NotImplemented
    Phi = features(X)
    if model.solve is feature_svm:
        loops = compiled(EPOCHS * n * features.m, n) if n >= 4 * features.m or n * n > room else None
        if loops is not None:
            return _coordinate_descent(loops, features, Phi, problems, options)
        if n * n <= room:
            return _dual_svms(features, Phi, problems, options["lam"])
    if model.solve is feature_logistic and len(problems) > 1:
        return _logistic_columns(features, Phi, problems, options["ridge"])
    return [model.solve(Stored(features), Phi, targets, **options) for targets in problems]


def _whitened(features: Any, Phi: Array) -> tuple[Array, Any]:
    r"""Features $\Psi = \Phi L^{-\top}$ with $P = L L^\top$, whose penalty is the identity, and the way back to w."""
    with one_thread(features.m < 1000):
        L = cholesky(features.penalty())
    return triangular_solve(L, Phi.T).T, partial(triangular_solve, L, transposed=True)


def _dual_svms(features: Any, Phi: Array, problems: list[Any], lam: float) -> list[NewtonFit]:
    r"""From the Gram matrix $\Psi \Psi^\top$, which all problems share."""
    Psi, unwhitened = _whitened(features, Phi)
    rows = np.arange(len(Phi))
    fits = svm.solve_each(Psi @ Psi.T, [(rows, y) for y in problems], lam, offset=False, gap=GAP)
    return [
        NewtonFit(unwhitened(Psi.T @ (fit.alpha * y)), 1, fit.objective) for fit, y in zip(fits, problems, strict=True)
    ]


def _coordinate_descent(
    loops: Loops, features: Any, Phi: Array, problems: list[Any], options: dict[str, Any]
) -> list[NewtonFit]:
    """One coefficient after the other, several problems at the same time; what does not end soon is Newton's."""
    Psi, unwhitened = _whitened(features, Phi)
    Psi = in_rows(Psi)
    squares = np.maximum(np.einsum("ij,ij->i", Psi, Psi), svm.TINY)

    def solve(y: Array) -> NewtonFit:
        n, lam, rng = len(y), options["lam"], np.random.default_rng(0)
        alpha, w, C, active = np.zeros(n), np.zeros(Psi.shape[1]), svm.C_from_lam(lam, n=n), np.arange(n)
        for epoch in range(1, EPOCHS + 1):
            loops.dual_coordinate_descent(Psi, squares, y, C, rng.permutation(active), alpha, w)
            if epoch % LOOK == 0:
                margins = y * (Psi @ w)
                objective = np.maximum(0, 1 - margins).mean() + lam * (w @ w)
                if objective - 2 * lam * (alpha.sum() - w @ w / 2) <= GAP * objective:
                    return NewtonFit(unwhitened(w), epoch, float(objective))
                # Points at a bound that want to stay there are left out until the next look.
                active = np.flatnonzero(((alpha > 0) | (margins < 1)) & ((alpha < C) | (margins > 1)))
        return feature_svm(Stored(features), Phi, y, **options)  # type: ignore[arg-type]

    return side_by_side([partial(solve, np.asarray(y, dtype=float)) for y in problems])


def _logistic_columns(features: Any, Phi: Array, problems: list[Any], ridge: float) -> list[NewtonFit]:
    """Newton's method on all problems, each step by conjugate gradients: products with all columns at once."""
    Psi, unwhitened = _whitened(features, Phi)
    Y = np.column_stack(problems)  # (n, k), of signs
    W, F = np.zeros((Psi.shape[1], Y.shape[1])), np.zeros(Y.shape)

    def objective(W: Array, F: Array) -> Array:
        return np.logaddexp(0, -Y * F).sum(axis=0) + ridge / 2 * np.square(W).sum(axis=0)

    value, open_, passes, share = objective(W, F), np.ones(Y.shape[1], dtype=bool), 1, np.full(Y.shape[1], 0.01)
    while open_.any() and passes < ROUNDS:
        miss = expit(-Y * F)
        D, curvatures = Psi.T @ (Y * miss) - ridge * W, miss * (1 - miss)
        step = _newton_step(Psi, curvatures * open_, D * open_, ridge, share)
        promise, moved, t = np.sum(D * step, axis=0), Psi @ step, open_.astype(float)
        open_ = open_ & (promise > 2 * TOL * value)
        share = np.clip(promise / value, 1e-6, 0.01)  # rough steps far away, exact ones close by
        passes += 1
        while True:
            tried = objective(W + t * step, F + t * moved)
            bad = (t > 1e-6) & (tried > value - 1e-4 * t * promise) & open_
            if not bad.any():
                break
            t[bad] /= 2
        W, F, value = W + t * step, F + t * moved, tried
    if open_.any():
        warn(f"logistic regression on features stopped after {passes} Newton steps; a larger ridge would help")
    return [NewtonFit(w, passes, float(v)) for w, v in zip(unwhitened(W).T, value, strict=True)]


def _newton_step(Psi: Array, curvatures: Array, R: Array, ridge: float, share: Array) -> Array:
    """Columns S with (ridge + Psi' diag(curvature) Psi) S = R, each to a share of the squared residual."""
    S, P, square = np.zeros_like(R), R.copy(), np.square(R).sum(axis=0)
    R, goal = R.copy(), share * square
    for _ in range(4 * len(R)):
        if (square <= goal).all():
            break
        HP = Psi.T @ (curvatures * (Psi @ P)) + ridge * P
        step = square / np.maximum(np.sum(P * HP, axis=0), np.finfo(float).tiny)
        step[square <= goal] = 0.0
        S, R = S + step * P, R - step * HP
        square, before = np.square(R).sum(axis=0), square
        P = R + square / np.maximum(before, np.finfo(float).tiny) * P
    return S
