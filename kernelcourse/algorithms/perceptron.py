r"""The perceptron, in feature space and on the Gram matrix, and the loss that it descends.

A point counts as a mistake when $y_i f(x_i) \le 0$, so a score of exactly 0 is wrong for either label. The versions
below sum the same terms in different orders: where a score is 0 up to rounding they may disagree about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..seam import definition
from ..validation import Array, generator, points, real, signs, square, vector, whole

__all__ = [
    "PerceptronFit", "PerceptronList", "PrimalPerceptronFit", "kernel_perceptron", "kernel_perceptron_by_the_book",
    "kernel_perceptron_list", "minimise_perceptron_loss", "novikoff_bound", "perceptron", "perceptron_loss",
    "perceptron_loss_subgradient",
]  # fmt: skip


class PerceptronFit(NamedTuple):
    """How often each point was misclassified, and how the training went."""

    alpha: NDArray[np.int_]  # (n,), the counts; f(x) = sum_i alpha_i y_i k(x_i, x)
    mistakes: int  # all updates, the sum of alpha
    epochs: int  # passes over the data, the last one included
    separated: bool  # whether the last pass made no mistake


class PerceptronList(NamedTuple):
    """The list L of mistakes, and how the training went."""

    mistakes_list: list[int]  # indices in the order of the mistakes, repetitions kept
    coefficients: Array  # (n,), signed: f(x) = sum_i coefficients_i k(x_i, x)
    epochs: int
    separated: bool


class PrimalPerceptronFit(NamedTuple):
    """The weight vector in feature space, and how the training went."""

    w: Array  # (M,)
    mistakes: int
    epochs: int
    separated: bool


def _orders(n: int, epochs: int, *, shuffle: bool, rng: Any, name: str = "max_epochs") -> Iterator[NDArray[np.int_]]:
    """The order of the points in each epoch: always the given one, or a fresh one every time."""
    epochs, rng = whole(epochs, name, at_least=1), generator(rng)
    return (rng.permutation(n) if shuffle else np.arange(n) for _ in range(epochs))


def kernel_perceptron_by_the_book(
    K: ArrayLike, y: ArrayLike, *, max_epochs: int = 1000, rng: Any = None, shuffle: bool = False
) -> PerceptronFit:
    r"""Lecture I, algorithm 1, line by line: $\alpha_i \leftarrow \alpha_i + 1$ whenever
    $y_i \sum_j \alpha_j y_j\, k(x_j, x_i) \le 0$, until a pass makes no mistake or `max_epochs` are over. A check
    costs O(n); `kernel_perceptron` gives the same answer faster.

    >>> kernel_perceptron_by_the_book([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    PerceptronFit(alpha=array([1, 1]), mistakes=2, epochs=2, separated=True)
    """
    K = square(K)
    y = signs(y, length=len(K))
    alpha, mistakes = np.zeros(len(K), dtype=int), 0
    for epochs, order in enumerate(_orders(len(K), max_epochs, shuffle=shuffle, rng=rng), start=1):
        before = mistakes
        for i in order.tolist():
            if y[i] * np.sum(alpha * y * K[:, i]) <= 0:
                alpha[i] += 1
                mistakes += 1
        if mistakes == before:
            return PerceptronFit(alpha, mistakes, epochs, True)
    return PerceptronFit(alpha, mistakes, epochs, False)


def kernel_perceptron(
    K: ArrayLike, y: ArrayLike, *, max_epochs: int = 1000, rng: Any = None, shuffle: bool = False
) -> PerceptronFit:
    r"""The kernel perceptron (lecture I, algorithm 1) with the scores $f = K(\alpha \circ y)$ kept up to date.

    A check costs O(1) and a mistake O(n). The points come in the given order, or with `shuffle=True` in a fresh
    order from `rng` every epoch.

    >>> kernel_perceptron([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    PerceptronFit(alpha=array([1, 1]), mistakes=2, epochs=2, separated=True)
    """
    K = square(K)
    y = signs(y, length=len(K))
    return count_mistakes(K, y, _orders(len(K), max_epochs, shuffle=shuffle, rng=rng))


@definition
def count_mistakes(K: Array, y: Array, orders: Iterable[NDArray[np.int_]]) -> PerceptronFit:
    """Pass over the points in these orders, until a pass makes no mistake."""
    alpha, f, mistakes = np.zeros(len(K), dtype=int), np.zeros(len(K)), 0
    for epochs, order in enumerate(orders, start=1):
        before = mistakes
        for i in order.tolist():
            if y[i] * f[i] <= 0:
                alpha[i] += 1
                f += y[i] * K[i]  # K is symmetric: its row i is its column i
                mistakes += 1
        if mistakes == before:
            return PerceptronFit(alpha, mistakes, epochs, True)
    return PerceptronFit(alpha, mistakes, epochs, False)


def kernel_perceptron_list(
    K: ArrayLike, y: ArrayLike, *, max_epochs: int = 1000, rng: Any = None, shuffle: bool = False
) -> PerceptronList:
    r"""The kernel perceptron with a list L of its mistakes (lecture H): $f(x) = \sum_{j \in L} y_j\, k(x_j, x)$.

    A check sums $|L|$ kernel values, so an epoch takes $O(n|L|)$ of them, more after every mistake. Prediction needs
    only the points on L.

    >>> kernel_perceptron_list([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    PerceptronList(mistakes_list=[0, 1], coefficients=array([ 1., -1.]), epochs=2, separated=True)
    """
    K = square(K)
    y = signs(y, length=len(K))
    L: list[int] = []
    for epochs, order in enumerate(_orders(len(K), max_epochs, shuffle=shuffle, rng=rng), start=1):
        before = len(L)
        for i in order.tolist():
            if y[i] * np.sum(y[L] * K[L, i]) <= 0:
                L.append(i)
        if len(L) == before:
            return PerceptronList(L, np.bincount(L, minlength=len(K)) * y, epochs, True)
    return PerceptronList(L, np.bincount(L, minlength=len(K)) * y, epochs, False)


def perceptron(
    Phi: ArrayLike, y: ArrayLike, *, max_epochs: int = 1000, rng: Any = None, shuffle: bool = False
) -> PrimalPerceptronFit:
    r"""The perceptron in feature space (lecture H): $w \leftarrow w + y_i\, \phi(x_i)$ at every mistake.

    The kernel perceptron makes the same mistakes in the same order, and $w = \Phi^\top (\alpha \circ y)$.

    >>> perceptron([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    PrimalPerceptronFit(w=array([ 1., -1.]), mistakes=2, epochs=2, separated=True)
    """
    Phi = points(Phi, "Phi")
    y = signs(y, length=len(Phi))
    w, mistakes = np.zeros(Phi.shape[1]), 0
    for epochs, order in enumerate(_orders(len(Phi), max_epochs, shuffle=shuffle, rng=rng), start=1):
        before = mistakes
        for i in order.tolist():
            if y[i] * (Phi[i] @ w) <= 0:
                w += y[i] * Phi[i]
                mistakes += 1
        if mistakes == before:
            return PrimalPerceptronFit(w, mistakes, epochs, True)
    return PrimalPerceptronFit(w, mistakes, epochs, False)


def _fitting(c: ArrayLike, K: ArrayLike, y: ArrayLike) -> tuple[Array, Array, Array]:
    K = square(K)
    return vector(c, "c", length=len(K)), K, signs(y, length=len(K))


def perceptron_loss(c: ArrayLike, K: ArrayLike, y: ArrayLike) -> float:
    r"""The loss that the perceptron descends (lecture K), for $f = \sum_j c_j\, k(x_j, \cdot)$ with signed $c_j$:

    $$\frac1n \sum_{i=1}^n \max\{0,\ -y_i (Kc)_i\}.$$

    Even c = 0 reaches its minimum, 0; the perceptron moves on because it counts a score of 0 as a mistake.

    >>> perceptron_loss([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], [1, -1])
    0.5
    """
    c, K, y = _fitting(c, K, y)
    return float(np.mean(np.maximum(0.0, -y * (K @ c))))


def perceptron_loss_subgradient(c: ArrayLike, K: ArrayLike, y: ArrayLike) -> Array:
    r"""A subgradient of `perceptron_loss` in c (lecture K), $-\frac1n \sum_{i\,:\,y_i (Kc)_i \le 0} y_i K_{\ast i}$.

    At a score of 0 the loss has a kink, and any fraction of $-y_i K_{\ast i}$ would do; the perceptron takes all of it,
    so it does not stop at c = 0. The result is K times the coefficients of the subgradient in function space.

    >>> perceptron_loss_subgradient([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], [1, -1])
    array([0. , 0.5])
    """
    c, K, y = _fitting(c, K, y)
    mistaken = y * (K @ c) <= 0
    return -K[:, mistaken] @ y[mistaken] / len(K)


def minimise_perceptron_loss(K: ArrayLike, y: ArrayLike, *, step: float, epochs: int, rng: Any = None) -> Array:
    r"""Stochastic subgradient descent on `perceptron_loss` in function space (lecture K), one point at a time.

    The term of point i has the subgradient $-y_i\, k(x_i, \cdot)$ where $y_i f(x_i) \le 0$ and 0 elsewhere, so a step
    is $c_i \leftarrow c_i + \text{step} \cdot y_i$ at a mistake: the perceptron with coefficients multiplied by `step`.
    Without a regulariser the step only sets the scale. Every epoch visits the points in a fresh order from `rng`.

    >>> minimise_perceptron_loss([[1.0, 0.0], [0.0, 1.0]], [1, -1], step=0.5, epochs=3)
    array([ 0.5, -0.5])
    """
    K, step = square(K), real(step, "step", above=0)
    y = signs(y, length=len(K))
    c, f = np.zeros(len(K)), np.zeros(len(K))
    for order in _orders(len(K), epochs, shuffle=True, rng=rng, name="epochs"):
        for i in order.tolist():
            if y[i] * f[i] <= 0:
                c[i] += step * y[i]
                f += step * y[i] * K[:, i]
    return c


def novikoff_bound(K: ArrayLike, y: ArrayLike, c: ArrayLike) -> float:
    r"""The most mistakes that a perceptron can make when $f = \sum_j c_j\, k(x_j, \cdot)$ separates the classes:

    $$\Bigl(\frac{R}{\text{margin}}\Bigr)^2, \qquad R^2 = \max_i K_{ii}, \qquad
      \text{margin} = \min_i \frac{y_i (Kc)_i}{\sqrt{c^\top K c}}$$

    (Novikoff's theorem, which shows that algorithm 1 of lecture I ends). It holds for every separating c; the widest
    margin gives the best bound.

    >>> novikoff_bound([[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, -1.0])
    2.0
    """
    c, K, y = _fitting(c, K, y)
    f = K @ c
    worst = int(np.argmin(y * f))
    if y[worst] * f[worst] <= 0:
        raise ValueError(f"c must separate the classes, but point {worst}, label {y[worst]:+g}, scores {f[worst]:g}")
    c, f = c / abs(f[worst]), f / abs(f[worst])  # now the smallest y_i f(x_i) is 1 and the margin 1 / sqrt(c' K c)
    return float(np.diag(K).max() * (c @ f))
