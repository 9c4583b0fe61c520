"""Searches whose fits share work: one Gram matrix per kernel, sliced for each fold, and one solve for a whole path.

A path runs over the parameter that K does not depend on: the ridge of `KernelRidge`, the lam of `KernelSVM`.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .. import selection
from ..algorithms import svm
from ..estimators.base import side_by_side
from ..estimators.classifiers import KernelSVM
from ..estimators.regressors import KernelRidge
from ..linalg import EPS, largest_row_sum, solve_ridge
from ..seam import accelerates
from ..selection import Metric, Split, fresh
from ..validation import OFFSETS, Array, offset_word, real, same_length
from .svm import MANY, among, rows_on_demand
from .threads import compiled, in_rows, workers
from .threads import side_by_side as at_the_same_time


def _for_ridges(model: KernelRidge, K: Array, y: Any, K_test: Array, ridges: list[Any]) -> list[Array]:
    values = np.array([real(ridge, "ridge", at_least=0) for ridge in ridges])
    return list((K_test @ solve_ridges(K, model._numbers(y, len(K)), values, overwrite=True)).T)


def solve_ridges(K: Array, t: Array, ridges: Array, *, overwrite: bool = False) -> Array:
    r"""Solve $(K + \text{ridge}\, I)\, a = t$ for every ridge, one column for each, from one $K = Q T Q^\top$.

    T is tridiagonal. The reduction takes about a third of the time of the eigendecomposition, and then
    $(T + \text{ridge}\, I)^{-1} Q^\top t$ takes O(n). Ridges close to the rounding error of K are solved one by one.
    """
    n, solved, diagonal = len(K), [], np.diag(K).copy()
    if n > 1 and np.min(ridges) > 1e3 * n * EPS * largest_row_sum(K):
        room = int(lapack.dsytrd_lwork(n, lower=1)[0])
        H, d, e, tau, _ = lapack.dsytrd(K.T, lower=1, lwork=room, overwrite_a=overwrite)
        # Q does not change the first entry. On the others it is a product of reflections, kept in H below its diagonal:
        # read from its second entry on, H holds them as columns (with one more row, which is not used).
        Q = partial(_reflected, H.ravel(order="K")[1 : 1 + n * (n - 1)].reshape(n, n - 1, order="F"), tau)
        s = Q(t[:, None], "T")[:, 0]
        solved = [lapack.dptsv(d + ridge, e, s) for ridge in ridges]
    if not solved or any(failed for *_, failed in solved):
        K = np.tril(K, -1) + np.tril(K, -1).T + np.diag(diagonal)  # the rest may be overwritten
        return np.column_stack([solve_ridge(K, t, float(ridge)) for ridge in ridges])
    return Q(np.column_stack([x for _, _, x, _ in solved]), "N")


def _reflected(reflections: Array, tau: Array, B: Array, trans: str) -> Array:
    below = np.asfortranarray(B[1:])
    room = int(lapack.dormqr("L", trans, reflections, tau, below, -1)[1][0])
    return np.vstack([B[:1], lapack.dormqr("L", trans, reflections, tau, below, room)[0]])


def solved_path(K: Array, y: Array, lams: Array, **options: Any) -> list[svm.SVMFit]:
    """The SVM for many `lams`, in the order given, solved from the largest down.

    Coefficients at the old C start at the new C, the others where they were. Most of those at a bound stay
    there, so a solution costs less than one from scratch.
    """
    fits: dict[int, svm.SVMFit] = {}
    alpha = None
    for before, i in pairwise([-1, *np.argsort(-lams)]):
        if alpha is not None:
            alpha = np.where(alpha >= (1 - 1e-8) * alpha.max(), alpha * (lams[before] / lams[i]), alpha)
        fits[i] = svm.solved(K, y, lams[i], alpha0=alpha, **options)
        alpha = fits[i].alpha
    return [fits[i] for i in range(len(lams))]


def _for_lams(model: KernelSVM, K: Array, y: Any, K_test: Array, lams: list[Any]) -> list[Any]:
    values = np.array([real(lam, "lam", above=0) for lam in lams])
    offset, problems = offset_word(model.offset, OFFSETS, true="free"), model._svm_problems(model._encode(y, len(K)))
    if offset == "penalised":
        K, K_test, offset = K + 1.0, K_test + 1.0, "none"
    columns = []
    for rows, signs in problems:
        part, lams_ = K if len(rows) == len(K) else among(K, rows), values * (len(K) / len(rows))
        fits = solved_path(part, signs, lams_, offset=offset == "free", gap=model.gap)
        alpha, b = np.array([f.alpha for f in fits]), np.array([f.b for f in fits])
        columns.append((alpha * signs) @ K_test[:, rows].T + b[:, None])  # (lams, test points)
    return [model._decide(model._scored(side_by_side(list(scores)))) for scores in zip(*columns, strict=True)]


PATHS: dict[Any, tuple[str, Any]] = {  # exactly these classes: a subclass may fit differently
    KernelRidge: ("ridge", _for_ridges),
    KernelSVM: ("lam", _for_lams),  # many short products with the GIL released, so in threads
}


@accelerates(selection.mean_scores, rtol=1e-8, atol=1e-8)
def mean_scores(
    estimator: Any, X: Any, y: Any, settings: list[dict[str, Any]], folds: list[Split], metric: Metric | None
) -> Array:
    """Settings that differ only in the path's parameter form a group; a few groups are fitted at a time."""
    parameter, path = PATHS.get(type(estimator), ("", None))
    if parameter not in settings[0] or "offset" in settings[0] or (path is _for_ridges and estimator.offset != "none"):
        return NotImplemented
    models = [fresh(estimator, **setting) for setting in settings]
    if path is _for_lams and len(X) >= MANY and compiled(len(X) ** 2) and all(rows_on_demand(m.kernel) for m in models):
        # Each fit needs few rows of K: to keep K, and its part for every fold, would take several times the memory.
        fits = [partial(selection.cross_validate, m, X, y, [fold], metric) for m in models for fold in folds]
        return np.reshape(at_the_same_time(fits), (len(settings), len(folds))).mean(axis=1)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, setting in enumerate(settings):
        groups.setdefault(tuple(id(value) for name, value in setting.items() if name != parameter), []).append(i)
    scores = np.empty((len(settings), len(folds)))
    # That many Gram matrices exist at once: with one kernel's folds alone, threads would idle during the last fold.
    kernels, at_once = list(groups.values()), workers() if path is _for_lams else 1
    for batch in (kernels[i : i + at_once] for i in range(0, len(kernels), at_once)):
        jobs: list[Callable[[], list[Any]]] = []
        for members in batch:
            model = models[members[0]]
            points = model._training_points(X)
            same_length(y, "y", len(points))
            K = in_rows(model.kernel_(points))
            values = [settings[i][parameter] for i in members]
            jobs += [partial(_predicted, path, fresh(model), K, y, fold, values) for fold in folds]
        found = at_the_same_time(jobs) if path is _for_lams else [job() for job in jobs]
        judge = estimator._agreement if metric is None else metric
        places = [(members, fold) for members in batch for fold in range(len(folds))]
        for (members, fold), predictions in zip(places, found, strict=True):
            held_out = y[folds[fold][1]]
            scores[members, fold] = [judge(held_out, prediction) for prediction in predictions]
    return scores.mean(axis=1)


def _predicted(path: Callable[..., list[Any]], model: Any, K: Any, y: Any, fold: Split, values: list[Any]) -> list[Any]:
    train, test = fold
    return path(model, among(K, train), y[train], K[test].take(train, axis=1), values)
