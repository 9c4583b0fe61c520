"""Models on features that fit in memory: computed once for all passes and classes, with few passes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..algorithms import svm
from ..algorithms.logistic import expit
from ..algorithms.newton import newton
from ..linalg import cholesky, conjugate_gradients, triangular_solve
from ..scaling import estimators
from ..scaling.blocks import sum_over_blocks
from ..scaling.chunks import is_dask
from ..scaling.maps import FourierFeatures
from ..scaling.models import NewtonFit, feature_logistic, feature_svm
from ..seam import accelerates
from ..validation import Array, slices, warn
from .threads import SPINNING, Loops, compiled, in_threads, one_thread

GAP = 1e-4  # the support vector machine's relative gap, below the error of the definition's rounded hinge
EPOCHS, USUAL = 1000, 5  # most passes of coordinate descent, and how many over all points take as long as usual
TOL, ROUNDS = 1e-10, 100  # as in `feature_logistic`
FEW = 256  # features: numpy inverts a matrix of so many rows sooner than a thread of scipy's BLAS gets a processor
WORTH_A_LIMIT = 2**17  # numbers; for fewer, the first search for the BLAS libraries takes longer than the job
WAVE = 16  # elementary steps that take as long as numpy's sine of one number
NEAR = 1e-6  # promised by a step, as a fraction of the objective, that leaves less than `TOL` to gain


@accelerates(estimators.fit_each)
def fit_each(model: Any, features: Any, X: Any, problems: list[Any], options: dict[str, Any]) -> list[Any]:
    """Fit support vector machines by coordinate descent, and several logistic problems together."""
    entries = len(X) * features.m
    if is_dask(X) or model.solve not in (feature_logistic, feature_svm) or 24 * entries > options["memory"]:
        return NotImplemented
    try:
        if model.solve is feature_logistic:
            return _logistic(features, X, problems, options["ridge"])
        if (loops := compiled(entries)) is None:
            return NotImplemented
        return _coordinate_descent(loops, features, X, problems, options)
    except FloatingPointError:  # a feature is too large for single precision
        return NotImplemented


def _whitened(features: Any, P: Any, kind: Any) -> tuple[Array, Any, Any]:
    r"""Features $\Psi = \Phi L^{-\top}$, whose penalty is the identity; this map, and that of weights back to w."""
    L, whitened, unwhitened, inverse = features.penalty(), np.asarray, np.asarray, None
    if not np.array_equal(L, np.eye(features.m)):  # the identity for random features
        with one_thread(features.m > FEW):  # so that no thread of numpy's library is spinning
            L = cholesky(L)
        whitened, unwhitened = partial(triangular_solve, L), partial(triangular_solve, L, transposed=True)  # type: ignore[assignment]
        if features.m <= FEW:
            inverse = np.linalg.inv(L).T
    Psi = np.empty((len(P), features.m), dtype=kind)
    for rows in slices(len(P), max(64, 2**19 // features.m)):
        with np.errstate(over="raise"):
            Phi = features.rows(P[rows])
            Psi[rows] = whitened(Phi.T).T if inverse is None else Phi @ inverse
    return Psi, whitened, unwhitened


def _coordinate_descent(loops: Loops, features: Any, X: Any, problems: list[Any], options: Any) -> list[NewtonFit]:
    """Coordinate descent, several problems at a time; Newton's method solves those that do not converge quickly."""
    Psi, _, unwhitened = _whitened(features, features.prepare(X), np.float32)  # rounded by far less than the gap
    squares = np.maximum(np.einsum("ij,ij->i", Psi, Psi, dtype=float), svm.TINY)
    n, m, C = *Psi.shape, svm.C_from_lam(options["lam"], n=len(X))
    fits: list[NewtonFit | None] = [None] * len(problems)

    def solve(part: slice) -> None:
        for p in range(part.start, part.stop):
            w = np.zeros(m)
            numbers = np.asarray(problems[p], dtype=float), C, GAP, EPOCHS, np.zeros(n), w
            passes, gap, objective = loops.coordinate_descent(Psi, squares, *numbers)
            if gap <= GAP:
                fits[p] = NewtonFit(unwhitened(w), passes, objective / (C * n))

    # The features come from products, whose threads are still spinning.
    in_threads(solve, slices(len(problems), 1), USUAL * Psi.size * len(problems) - SPINNING)
    return [fit or feature_svm(features, X, y, **options) for fit, y in zip(fits, problems, strict=True)]


def _logistic(features: Any, X: Any, problems: list[Any], ridge: float) -> list[NewtonFit]:
    """Solve all problems together, on an eighth of the points, then on all; in double precision where it matters."""
    P = features.prepare(X)
    Psi, whitened, unwhitened = _whitened(features, P, np.float32)
    Y, W, passes = np.column_stack(problems), np.zeros((features.m, len(problems))), 0
    # Rounding changes a slope by about eps |Psi|, and so what is reached by the square of that, divided by the ridge.
    rounding = (np.finfo(Psi.dtype).eps * np.linalg.norm(Psi)) ** 2 / ridge

    def exact(W: Array) -> tuple[Array, Array]:
        add = partial(_add_terms, W=unwhitened(W))
        values, slopes = sum_over_blocks(add, (W.shape[1:], W.shape), features, P, Y)
        return values, whitened(slopes)

    with one_thread(Y.size * features.m > WORTH_A_LIMIT and Psi.size < 2**20):
        values = np.zeros(len(problems))
        for part, tol, sums in ((8, 1e-2, None), (1, NEAR, None), (1, NEAR, exact)):
            if sums is None or rounding > TOL / 100 * values.min():
                A = Psi if part == 1 else Psi[::part].copy()
                W, values, more = _newton_cg(A, Y[::part], ridge / part, W, tol, sums)
                passes += more
    if passes > ROUNDS:
        warn(f"logistic regression on features stopped after {ROUNDS} Newton steps; a larger ridge would help")
    return [NewtonFit(w, passes, float(value)) for w, value in zip(unwhitened(W).T, values, strict=True)]


def _add_terms(sums: Any, Phi: Array, Y: Array, *, W: Array) -> None:
    """Add the losses of a block of points, and their slopes."""
    (values, slopes), margins = sums, Y * (Phi @ W)
    values += np.logaddexp(0, -margins).sum(axis=0, dtype=float)
    slopes -= ((Y * expit(-margins)).T @ Phi).T  # in this order, BLAS takes two thirds of the time


def _newton_cg(A: Array, Y: Array, ridge: float, W: Array, tol: float, exact: Any) -> tuple[Array, Array, int]:
    """Newton's method on the sum of all problems, each step by conjugate gradients: one product serves all problems.

    The features `A` are enough for a step; `exact` sums may give the slopes. The last step is taken without a check.
    """
    Y, passes, share, last, gain = Y.astype(A.dtype), 0, 0.1, np.zeros_like(W), np.zeros(W.shape[1])  # Y: (n, k)

    def rough(W: Array) -> tuple[Array, Array]:
        sums = np.zeros(W.shape[1]), np.zeros_like(W)
        _add_terms(sums, A, Y, W=W.astype(A.dtype))
        return sums

    def at(W: Array) -> tuple[float, Array, Array]:
        values, slopes = (exact or rough)(W)
        values = values + ridge / 2 * np.square(W).sum(axis=0)
        return float(values.sum()), values, -slopes - ridge * W

    def step(W: Array, here: tuple[Any, ...]) -> tuple[Array, float] | None:
        nonlocal passes, share, last, gain
        objective, _, fall = here
        miss = expit(-Y * (A @ W.astype(A.dtype)))
        curvatures = miss * (1 - miss)

        def times(V: Array) -> Array:
            return ((curvatures * (A @ V.astype(A.dtype))).T @ A).T + ridge * V

        inner = partial(np.einsum, "ij,ij->j")  # problem by problem
        d, _ = conjugate_gradients(times, fall, iterations=4 * len(fall), tol=share, inner=inner)
        promise = float(np.vdot(fall, d))
        share = float(np.clip(np.sqrt(promise / objective), 1e-3, 0.1))  # coarse far from the solution, exact near it
        passes += 1
        if promise > 2 * tol * objective and passes <= ROUNDS:
            return d, promise
        last, gain = d, inner(fall, d) / 2
        return None

    W, (_, values, _), _ = newton(W, at, step, smallest=1e-6)
    return W + last, values - gain, passes


@accelerates(FourierFeatures.rows)
def waves(features: FourierFeatures, P: Array) -> Array:
    """Everything in one array."""
    half = features.frequencies.shape[1]
    waves = np.empty((len(P), 2 * half))
    angles = np.matmul(P, features.frequencies, out=waves[:, :half])  # to be overwritten by the cosines
    if (loops := compiled(WAVE * waves.size)) is not None:
        loops.waves_in_place(waves, half**-0.5)
        return waves
    np.sin(angles, out=waves[:, half:])
    np.cos(angles, out=angles)
    return np.multiply(waves, half**-0.5, out=waves)
