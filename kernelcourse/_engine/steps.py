"""The perceptron and stochastic gradients, one point at a time, and the nearest neighbours in a matrix."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..algorithms import logistic, neighbors, perceptron, svm
from ..seam import accelerates, always
from ..validation import Array
from .threads import CALL, Loops, compiled, in_rows

BLOCK = 64  # entries of a row whose maximum is taken first

Indices = NDArray[np.intp]


def _loops_for(steps: int, n: int) -> Loops:
    return compiled(steps * (n + CALL))


@accelerates(perceptron.count_mistakes)
def count_mistakes(K: Array, y: Array, orders: Iterable[Indices]) -> perceptron.PerceptronFit:
    if (loops := _loops_for(len(y), len(y))) is None:
        return NotImplemented
    K, alpha, f = in_rows(K), np.zeros(len(K), dtype=np.intp), np.zeros(len(K))
    for epochs, order in enumerate(orders, start=1):
        if loops.perceptron_epoch(K, y, order, alpha, f) == 0:
            return perceptron.PerceptronFit(alpha, int(alpha.sum()), epochs, True)
    return perceptron.PerceptronFit(alpha, int(alpha.sum()), epochs, False)


@accelerates(logistic.logistic_steps)
def logistic_steps(K: Array, y: Array, order: Indices, step: float, ridge: float) -> Array:
    if (loops := _loops_for(len(order), len(y))) is None:
        return NotImplemented
    a, q = np.zeros(len(y)), np.zeros(len(y))
    loops.logistic_sgd(in_rows(K), y, order, step, ridge, a, q)
    return a


@accelerates(svm.hits_and_totals)
def hits_and_totals(K: Array, y: Array, order: Indices, lam: float) -> tuple[Array, Array]:
    if (loops := _loops_for(len(order), len(y))) is None:
        return NotImplemented
    hits, total, f = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    loops.svm_sgd(in_rows(K), y, order, lam, hits, total, f)
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
