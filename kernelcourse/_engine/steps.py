"""The loops of the perceptron and of stochastic gradients, one point at a time, and the nearest neighbours in a matrix.

Large jobs compile the loops. Small jobs run them in Python, on lists of numbers and with BLAS, because importing numba
would take longer.
"""

from collections.abc import Callable, Iterable
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import logistic, neighbors, perceptron, svm
from ..seam import accelerates, always
from ..validation import Array
from .linalg import add_multiple
from .threads import CALL, compiled, in_rows

BLOCK = 64  # entries of a row whose maximum is taken first

Indices = NDArray[np.intp]


def _on(K: Array, y: Array, loop: Callable[..., Any]) -> Callable[..., Any]:
    """The loop as a function of the order and the rest: compiled for many steps, else on lists of Python numbers."""
    K, labels = in_rows(K), y.tolist()

    def run(order: Indices, *rest: Any) -> Any:
        if (loops := compiled(len(order) * (len(y) + CALL))) is not None:
            return getattr(loops, loop.__name__)(K, y, order, *rest)
        return loop(K, labels, order.tolist(), *rest)

    return run


@accelerates(perceptron.count_mistakes)
def count_mistakes(K: Array, y: Array, orders: Iterable[Indices]) -> perceptron.PerceptronFit:
    alpha, f = np.zeros(len(K), dtype=int), np.zeros(len(K))
    pass_over = _on(K, y, perceptron_epoch)  # after some epochs, the compiled loop
    for epochs, order in enumerate(orders, start=1):
        if pass_over(order, alpha, f) == 0:
            return perceptron.PerceptronFit(alpha, int(alpha.sum()), epochs, True)
    return perceptron.PerceptronFit(alpha, int(alpha.sum()), epochs, False)


@accelerates(logistic.logistic_steps)
def logistic_steps(K: Array, y: Array, order: Indices, step: float, ridge: float) -> Array:
    a, q = np.zeros(len(y)), np.zeros(len(y))
    _on(K, y, logistic_sgd)(order, step, ridge, a, q)
    return a


@accelerates(svm.hits_and_totals)
def hits_and_totals(K: Array, y: Array, order: Indices, lam: float) -> tuple[Array, Array]:
    hits, total, f = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    _on(K, y, svm_sgd)(order, lam, hits, total, f)
    return hits, total


@accelerates(neighbors.largest)
def largest(K: Array, kappa: int) -> Indices:
    """Only the largest entries are sorted."""
    if K.shape[1] < 4 * kappa * BLOCK and not always():
        return NotImplemented
    i, j = np.nonzero(reached(K, kappa)[:, None] <= K)
    return first_of_rows(i, j, -K[i, j], kappa)


def reached(S: Array, kappa: int) -> Array:
    """For each row, a number that at least `kappa` entries reach, and few others: the kappa-th block maximum."""
    m, n = S.shape
    if n < 4 * kappa * BLOCK:
        return np.partition(S, n - kappa, axis=1)[:, n - kappa]
    maxima = S[:, : n - n % BLOCK].reshape(m, BLOCK, -1).max(axis=1)  # over whole rows: numpy's fastest way
    return np.partition(maxima, -kappa, axis=1)[:, -kappa]


def first_of_rows(i: Indices, j: Indices, keys: Array, kappa: int) -> Indices:
    """In each row, the j of the `kappa` smallest keys, smallest first; the row numbers i are sorted."""
    order = np.lexsort((keys, i))  # a stable sort: equal keys stay in order
    first = np.searchsorted(i, np.arange(i[-1] + 1))
    return j[order][first[:, None] + np.arange(kappa)]


# The loops themselves. `loops` compiles them; even uncompiled, they are faster than their definitions.


def perceptron_epoch(K: Any, y: Any, order: Any, alpha: Any, f: Any) -> int:
    """One pass of the kernel perceptron over the points in this order; update alpha and f, return the mistakes."""
    mistakes = 0
    for i in order:
        if y[i] * f[i] <= 0:
            alpha[i] += 1
            mistakes += 1
            add_multiple(f, y[i], K[i])
    return mistakes


def logistic_sgd(K: Any, y: Any, order: Any, step: float, ridge: float, a: Any, q: Any) -> None:
    """Stochastic steps of kernel logistic regression; update a and q = K a."""
    for i in order:
        e = exp(-abs(q[i]))
        delta = step * (y[i] - (1.0 if q[i] >= 0 else e) / (1 + e) - ridge * a[i])
        a[i] += delta
        add_multiple(q, delta, K[i])


def svm_sgd(K: Any, y: Any, order: Any, lam: float, hits: Any, total: Any, f: Any) -> None:
    """Stochastic steps of the SVM; count the hits of each point and the iterates that contain them."""
    for t, i in enumerate(order):
        if y[i] * f[i] < 2 * lam * max(t, 1):
            hits[i] += 1
            total[i] += len(order) - t
            add_multiple(f, y[i], K[i])
