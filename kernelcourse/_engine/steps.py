"""The loops of the perceptron and of stochastic gradients, one point at a time, and the nearest neighbours in a matrix.

Large jobs use compiled loops. Small jobs use the same loops in Python, with Python numbers and BLAS, because importing
numba would take longer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import logistic, neighbors, perceptron, svm
from ..seam import accelerates, always
from ..validation import Array
from .linalg import add_multiple
from .threads import compiled, in_rows

BLOCK = 64  # entries of a row whose maximum is taken first

Indices = NDArray[np.intp]


def _loops(work: float, points: int) -> Any:
    return compiled(work, points) or sys.modules[__name__]


@accelerates(perceptron.count_mistakes)
def count_mistakes(K: Array, y: Array, orders: Iterable[Indices]) -> perceptron.PerceptronFit:
    K, alpha, f = in_rows(K), np.zeros(len(K), dtype=int), np.zeros(len(K))
    pass_over, epochs, separated = _loops(K.size, len(K)).perceptron_epoch, 0, False
    for order in orders:
        epochs, separated = epochs + 1, pass_over(K, y, order, alpha, f) == 0
        if separated:
            break
    return perceptron.PerceptronFit(alpha, int(alpha.sum()), epochs, separated)


@accelerates(logistic.logistic_steps)
def logistic_steps(K: Array, y: Array, order: Indices, step: float, ridge: float) -> Array:
    a, q = np.zeros(len(y)), np.zeros(len(y))
    _loops(len(order) * len(y), len(y)).logistic_sgd(in_rows(K), y, order, step, ridge, a, q)
    return a


@accelerates(svm.hits_and_totals)
def hits_and_totals(K: Array, y: Array, order: Indices, lam: float) -> tuple[Array, Array]:
    hits, total, f = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    _loops(len(order) * len(y), len(y)).svm_sgd(in_rows(K), y, order, lam, hits, total, f)
    return hits, total


@accelerates(neighbors.largest)
def largest(K: Array, kappa: int) -> Indices:
    """Without sorting the rest."""
    if K.shape[1] < 4 * kappa * BLOCK and not always():
        return NotImplemented
    i, j = np.nonzero(reached(K, kappa)[:, None] <= K)
    return first_of_rows(i, j, -K[i, j], kappa)


def reached(S: Array, kappa: int) -> Array:
    """For each row a number that at least `kappa` entries reach, and few more: the kappa-th of the blocks' maxima."""
    m, n = S.shape
    if n < 4 * kappa * BLOCK:
        return np.partition(S, n - kappa, axis=1)[:, n - kappa]
    maxima = S[:, : n - n % BLOCK].reshape(m, -1, BLOCK).max(axis=2)
    return np.partition(maxima, -kappa, axis=1)[:, -kappa]


def first_of_rows(i: Indices, j: Indices, keys: Array, kappa: int) -> Indices:
    """In each row the j of the `kappa` smallest keys, the smallest first; the row numbers i are sorted."""
    order = np.lexsort((keys, i))  # a stable sort: equal keys stay in order
    first = np.searchsorted(i, np.arange(i[-1] + 1))
    return j[order][first[:, None] + np.arange(kappa)]


# The same loops in Python as the compiled ones in `loops`.


def perceptron_epoch(K: Array, y: Array, order: Indices, alpha: NDArray[np.int_], f: Array) -> int:
    mistakes, labels = 0, y.tolist()
    for i in order.tolist():
        if labels[i] * f.item(i) <= 0:
            alpha[i] += 1
            add_multiple(f, labels[i], K[i])
            mistakes += 1
    return mistakes


def logistic_sgd(K: Array, y: Array, order: Indices, step: float, ridge: float, a: Array, q: Array) -> None:
    weights, labels = a.tolist(), y.tolist()
    for i in order.tolist():
        e = exp(-abs(q_i := q.item(i)))
        delta = step * (labels[i] - (1.0 if q_i >= 0 else e) / (1 + e) - ridge * weights[i])
        weights[i] += delta
        add_multiple(q, delta, K[i])
    a[:] = weights


def svm_sgd(K: Array, y: Array, order: Indices, lam: float, hits: Array, total: Array, f: Array) -> None:
    labels = y.tolist()
    for t, i in enumerate(order.tolist(), start=1):
        if labels[i] * f.item(i) < 2 * lam * max(t - 1, 1):
            hits[i] += 1
            total[i] += len(order) - t + 1
            add_multiple(f, labels[i], K[i])
