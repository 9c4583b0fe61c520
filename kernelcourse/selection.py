"""Choosing kernels and parameters: folds, cross-validation, exact leave-one-out, search, learned kernel weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .algorithms.ridge import dual_weights
from .estimators.base import one_column, take
from .gram import center, centered_targets
from .kernels.kernel import Kernel
from .linalg import refuse_negative
from .seam import definition
from .validation import Array, generator, numeric, real, same_kind, same_length, square, vector, warn, whole

__all__ = [
    "accuracy", "alignment_weights", "choose_kernel", "cross_validate", "grid_search", "k_fold", "leave_one_out",
    "leave_one_out_by_the_book", "mean_squared_error", "monte_carlo",
]  # fmt: skip

Split = tuple[Any, Any]  # indices of the training points, indices of the points held out
Metric = Callable[[Any, Any], float]  # takes the targets and the predictions


def k_fold(n: int, k: int, *, rng: Any = None) -> list[Split]:
    """Split n points into k folds of nearly equal size, in random order; each is held out once (lecture K14).

    >>> [sorted(held_out.tolist()) for _, held_out in k_fold(4, 2, rng=0)]
    [[0, 2], [1, 3]]
    """
    n, k = whole(n, "n", at_least=2), whole(k, "k", at_least=2)
    if k > n:
        raise ValueError(f"k must be at most n = {n}, the number of points, got {k}")
    folds = np.array_split(generator(rng).permutation(n), k)
    return [(np.concatenate(folds[:i] + folds[i + 1 :]), folds[i]) for i in range(k)]


def monte_carlo(n: int, repeats: int, *, held_out: float = 0.2, rng: Any = None) -> list[Split]:
    """Hold out a fraction of n points, chosen at random, `repeats` times (lecture K14).

    >>> [len(test) for _, test in monte_carlo(10, 3, held_out=0.3, rng=0)]
    [3, 3, 3]
    """
    n, rng, held_out = whole(n, "n", at_least=2), generator(rng), real(held_out, "held_out", above=0)
    m = round(held_out * n)
    if not 0 < m < n:
        raise ValueError(f"held_out = {held_out:g} of n = {n} points leaves {n - m} to train on and {m} to test on")
    orders = [rng.permutation(n) for _ in range(whole(repeats, "repeats", at_least=1))]
    return [(order[m:], order[:m]) for order in orders]


def mean_squared_error(t: Any, prediction: Any) -> float:
    r"""$\frac1n \sum_i (t_i - f(x_i))^2$.

    >>> mean_squared_error([1.0, 2.0], [1.0, 4.0])
    2.0
    """
    t = vector(t, "t")
    if len(t) == 0:
        raise ValueError("t is empty: there is nothing to average")
    return float(np.mean((t - vector(prediction, "prediction", length=len(t))) ** 2))


def accuracy(y: Any, prediction: Any) -> float:
    """The fraction of labels that agree.

    >>> accuracy(["a", "b"], ["a", "c"])
    0.5
    """
    y, prediction = np.asarray(y), np.asarray(prediction)
    if y.ndim != 1 or prediction.ndim != 1 or len(y) == 0:
        raise ValueError(f"y and prediction must be 1-D and not empty, got shapes {y.shape} and {prediction.shape}")
    same_length(prediction, "prediction", len(y))
    same_kind(y, "y", prediction, "prediction")
    return float(np.mean(y == prediction))


def fresh(estimator: Any, **params: Any) -> Any:
    """An unfitted copy with some parameters changed."""
    return type(estimator)(**deepcopy(estimator.get_params(deep=False))).set_params(**params)


def cross_validate(estimator: Any, X: Any, y: Any, folds: Iterable[Split], metric: Metric | None = None) -> Array:
    """Fit on each split's training points and score the others with `metric(y, prediction)` or, without it, `score`.

    >>> from kernelcourse.estimators import Ridge
    >>> X = np.arange(6.0)[:, None]
    >>> cross_validate(Ridge(ridge=1e-9), X, 2 * X[:, 0], k_fold(6, 3, rng=0)).round(6)
    array([1., 1., 1.])
    """
    X = _indexable(X)
    y = one_column(y)
    same_length(y, "y", len(X))
    scores = []
    for train, test in _splits(folds, len(X)):
        model = fresh(estimator).fit(take(X, train), y[train])
        held_out = take(X, test)
        scores.append(model.score(held_out, y[test]) if metric is None else metric(y[test], model.predict(held_out)))
    return np.array(scores)


def _indexable(X: Any) -> Any:
    """The points as an array or a list, from which rows can be taken."""
    if hasattr(X, "toarray"):
        numeric(X, "X")  # its error says what to do with a sparse matrix
    return list(X) if isinstance(X, (list, tuple)) else np.asarray(X)


def _splits(folds: Iterable[Split], n: int) -> list[Split]:
    splits = [(np.arange(n)[train], np.arange(n)[test]) for train, test in folds]  # indices, even if a mask was given
    if not splits:
        raise ValueError("folds must hold at least one split into training and test points, got none")
    return splits


class Search(NamedTuple):
    """Every setting tried with its mean score, the best setting, and the estimator fitted with it to all points."""

    settings: list[dict[str, Any]]
    scores: Array
    best: dict[str, Any]
    best_score: float
    estimator: Any


def grid_search(
    estimator: Any,
    X: Any,
    y: Any,
    grid: Mapping[str, Iterable[Any]],
    folds: Iterable[Split],
    metric: Metric | None = None,
    *,
    larger_is_better: bool | None = None,
) -> Search:
    """Try every combination of `grid` by cross-validation and keep the one with the best mean (lecture K12).

    Keys name parameters of the estimator, including those of its kernel, such as `kernel__sigma`. The estimator's own
    score and `accuracy` are maximised, `mean_squared_error` minimised; for any other `metric`, set `larger_is_better`.

    >>> from kernelcourse.estimators import KernelRidge
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> grid = {"kernel__sigma": [0.01, 1.0], "ridge": [1e-3]}
    >>> grid_search(KernelRidge(), X, np.sin(X[:, 0]), grid, k_fold(30, 5, rng=0)).best
    {'kernel__sigma': 1.0, 'ridge': 0.001}
    """
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if not settings:
        raise ValueError(f"grid names no setting to try, got {dict(grid)!r}")
    if larger_is_better is None:
        if metric not in (None, accuracy, mean_squared_error):
            raise ValueError(f"larger_is_better must say whether large values of the metric {metric!r} are good")
        larger_is_better = metric is not mean_squared_error
    y = one_column(y)
    folds = _splits(folds, len(_indexable(X)))
    scores = mean_scores(estimator, X, y, settings, folds, metric)
    lost = np.isnan(scores)
    if lost.all():
        raise ValueError("every setting in the grid has a score of NaN, so none is the best")
    if lost.any():
        first = settings[int(lost.argmax())]
        warn(f"{lost.sum()} of {len(scores)} settings have a score of NaN and are left out, the first being {first!r}")
    best = int(np.nanargmax(scores) if larger_is_better else np.nanargmin(scores))
    fitted = fresh(estimator, **settings[best]).fit(X, y)
    return Search(settings, scores, settings[best], float(scores[best]), fitted)


@definition
def mean_scores(
    estimator: Any, X: Any, y: Any, settings: list[dict[str, Any]], folds: list[Split], metric: Metric | None
) -> Array:
    """The mean score of each setting over the folds."""
    return np.array([cross_validate(fresh(estimator, **s), X, y, folds, metric).mean() for s in settings])


class RidgePath(NamedTuple):
    """Leave-one-out for several ridges: residuals $t_i - f_{-i}(x_i)$, one column per ridge, and their mean squares."""

    ridges: Array  # (r,)
    residuals: Array  # (n, r)
    errors: Array  # (r,)
    best: float


def leave_one_out_by_the_book(K: Any, t: Any, *, ridge: float) -> Array:
    """The residuals of n fits, each made without one point and tested on it, by n Cholesky factorisations.

    >>> leave_one_out_by_the_book(np.eye(2), [1.0, 2.0], ridge=1.0)
    array([1., 2.])
    """
    K = square(K)
    t = vector(t, "t", length=len(K))
    residuals = np.empty(len(t))
    for i in range(len(t)):
        rest = np.delete(np.arange(len(t)), i)
        a = dual_weights(K[np.ix_(rest, rest)], t[rest], ridge=ridge)
        residuals[i] = t[i] - K[i, rest] @ a
    return residuals


def leave_one_out(K: Any, t: Any, *, ridges: Any) -> RidgePath:
    r"""Exact leave-one-out for every ridge from one eigendecomposition $K = Q \operatorname{diag}(w)\, Q^\top$.

    With $G = (K + \text{ridge}\, I)^{-1}$ and $a = G t$, the residual of point i when it is left out is $a_i / G_{ii}$.
    For each ridge $a = Q\,\frac{Q^\top t}{w + \text{ridge}}$ and $G_{ii} = \sum_j \frac{Q_{ij}^2}{w_j + \text{ridge}}$.

    >>> leave_one_out(np.eye(2), [1.0, 2.0], ridges=[1.0, 3.0]).residuals
    array([[1., 1.],
           [2., 2.]])
    """
    K = square(K)
    t = vector(t, "t", length=len(K))
    if len(t) < 2:
        raise ValueError("leave-one-out needs at least two points, got 1")
    ridges = vector(ridges, "ridges")
    if ridges.size == 0 or (ridges <= 0).any():
        raise ValueError(f"ridges must be a list of numbers > 0, got {ridges}")
    w, Q = np.linalg.eigh(K)
    refuse_negative(w)
    if ridges.min() < 1e3 * len(t) * np.finfo(float).eps * w[-1]:
        warn(f"ridge={ridges.min():.1e} is close to the rounding error of K, whose largest eigenvalue is {w[-1]:.1e}")
    shrink = 1 / (np.maximum(w, 0)[:, None] + ridges)  # (n, r)
    residuals = (Q @ (shrink * (Q.T @ t)[:, None])) / (Q**2 @ shrink)
    errors = (residuals**2).mean(axis=0)
    return RidgePath(ridges, residuals, errors, float(ridges[errors.argmin()]))


class KernelChoice(NamedTuple):
    """The best kernel and ridge, and the table of leave-one-out errors, one row per kernel, one column per ridge."""

    kernel: Kernel
    ridge: float
    error: float
    errors: Array


def choose_kernel(kernels: Sequence[Kernel], X: Any, t: Any, *, ridges: Any) -> KernelChoice:
    """Search kernels and ridges by exact leave-one-out: one eigendecomposition per kernel (lectures S12, K12).

    >>> from kernelcourse.kernels import Gaussian
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> choose_kernel([Gaussian(0.01), Gaussian(1.0)], X, np.sin(X[:, 0]), ridges=[1e-3]).kernel
    Gaussian(sigma=1.0)
    """
    kernels = list(kernels)
    if not kernels:
        raise ValueError("kernels must hold at least one kernel, got an empty list")
    errors = np.array([leave_one_out(k(X), t, ridges=ridges).errors for k in kernels])
    i, j = np.unravel_index(errors.argmin(), errors.shape)
    return KernelChoice(kernels[int(i)], float(np.asarray(ridges)[j]), float(errors[i, j]), errors)


def alignment_weights(grams: Sequence[Any], t: Any) -> Array:
    r"""Learn weights $\mu_m \ge 0$ of several kernels: those that align $\sum_m \mu_m K_m$ best with $t t^\top$.

    Multiple kernel learning in its simplest form (lecture K12; Cortes, Mohri & Rostamizadeh 2012). On centred
    Gram matrices of norm one, maximising the alignment over $\mu \ge 0$ is a non-negative least squares problem. The
    weights refer to the matrices as given and are scaled to sum to 1.

    >>> t = np.array([1.0, 1.0, -1.0, -1.0])
    >>> alignment_weights([np.outer(t, t), np.eye(4)], t).round(6)
    array([1., 0.])
    """
    try:
        from scipy.optimize import nnls
    except ModuleNotFoundError as error:
        reason = "alignment_weights solves a non-negative least squares problem with scipy: install it"
        raise ModuleNotFoundError(reason) from error

    grams = list(grams)
    if not grams:
        raise ValueError("grams must hold at least one Gram matrix, got an empty list")
    t = centered_targets(t, length=len(square(grams[0], "grams[0]")))
    columns, norms = [], []
    for m, K in enumerate(grams):
        size = np.linalg.norm(square(K, f"grams[{m}]"))
        K = center(K)
        same_length(K, f"grams[{m}]", len(t))
        norms.append(np.linalg.norm(K))
        if norms[-1] <= 1e-12 * size:
            raise ValueError(f"grams[{m}] is constant: centred, it is zero and has no alignment")
        columns.append((K / norms[-1]).ravel())
    weights = nnls(np.column_stack(columns), np.outer(t, t).ravel())[0] / np.array(norms)
    if weights.sum() == 0:
        raise ValueError("no combination of these kernels with weights >= 0 is aligned with t")
    return weights / weights.sum()
