"""Generated data sets: small, seeded by `rng`, never downloaded.

Every function returns a named tuple. Points are rows of a float array `X`, targets a float vector `t`, labels an
integer vector `y`: -1 and +1 for two classes, 0, 1, 2, ... for more. Class sizes are as equal as n allows, and the
order is random. If the law behind the data is known, the tuple carries it too. In formulas, ε is standard normal.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..validation import Array, generator, points, real, vector, whole
from .files import read_text

__all__ = [
    "checkerboard", "gaussian_mixture", "noisy_polynomial", "noisy_sinc", "rings", "small_graphs", "small_texts",
    "trend_and_wiggle", "two_moons", "xor",
]  # fmt: skip

Labels = NDArray[np.int64]
Seed = np.random.Generator | int | None


class Data(NamedTuple):
    """A sample for regression: points X (n, 1), targets t (n,), and the noiseless function behind them."""

    X: Array
    t: Array
    truth: Callable[[ArrayLike], Array]


class Labelled(NamedTuple):
    """A sample for classification: points X (n, 2) and labels y (n,), -1 or +1."""

    X: Array
    y: Labels


def _line(X: ArrayLike) -> Array:
    """The coordinates (n,) of points (n, 1) on a line."""
    return points(X, columns=1)[:, 0]


def _noisy(truth: Callable[[ArrayLike], Array], X: Array, noise: float, rng: np.random.Generator) -> Data:
    noise = real(noise, "noise", at_least=0)
    return Data(X, truth(X) + noise * rng.standard_normal(len(X)), truth)


def sinc(X: ArrayLike) -> Array:
    r"""$\sin(x) / x$ for points (n, 1) on a line, and 1 at the origin."""
    return np.sinc(_line(X) / np.pi)


def noisy_sinc(n: int, *, noise: float = 0.1, rng: Seed = None) -> Data:
    r"""Draw n points uniformly on [-10, 10], with targets $t = \sin(x)/x + \text{noise} \cdot \varepsilon$.

    >>> X, t, truth = noisy_sinc(50, rng=0)
    >>> X.shape, t.shape, truth(X).shape
    ((50, 1), (50,), (50,))
    """
    rng = generator(rng)
    X = rng.uniform(-10, 10, size=(whole(n, "n", at_least=1), 1))
    return _noisy(sinc, X, noise, rng)


def noisy_polynomial(
    n: int, *, coefficients: ArrayLike = (0.0, -1.0, 0.0, 2.0), noise: float = 0.1, rng: Seed = None
) -> Data:
    r"""Draw n points uniformly on [-1, 1], with targets $t = \sum_p c_p x^p + \text{noise} \cdot \varepsilon$.

    The coefficients are in order of increasing power, c_0 first.

    >>> X, t, truth = noisy_polynomial(20, coefficients=[1, 0, 3], noise=0, rng=0)
    >>> X.shape, bool(np.allclose(t, 1 + 3 * X[:, 0] ** 2))
    ((20, 1), True)
    """
    c = vector(coefficients, "coefficients")
    if len(c) == 0:
        raise ValueError("coefficients is empty, expected at least the constant term")
    rng = generator(rng)
    X = rng.uniform(-1, 1, size=(whole(n, "n", at_least=1), 1))
    return _noisy(lambda Z: np.vander(_line(Z), len(c), increasing=True) @ c, X, noise, rng)


class TrendAndWiggle(NamedTuple):
    """Points X (n, 1) and targets t (n,), the two true parts, and the two intervals that contain no points."""

    X: Array
    t: Array
    trend: Callable[[ArrayLike], Array]
    wiggle: Callable[[ArrayLike], Array]
    gap: tuple[float, float]
    beyond: tuple[float, float]

    def truth(self, X: ArrayLike) -> Array:
        """The sum of the two parts."""
        return self.trend(X) + self.wiggle(X)


def _trend(X: ArrayLike) -> Array:
    return 0.5 * _line(X)


def _wiggle(X: ArrayLike) -> Array:
    x = _line(X)
    return np.sin(3 * x) * np.exp(-(x**2) / 8)


def trend_and_wiggle(n: int, *, noise: float = 0.1, rng: Seed = None) -> TrendAndWiggle:
    r"""Draw n points from a straight line with a local wiggle on it, for semi-parametric regression (K10).

    $$t = \tfrac12 x + \sin(3x)\, e^{-x^2/8} + \text{noise} \cdot \varepsilon$$

    The points lie in [-5, 5] except for a gap within the wiggle; `beyond` is where a fit has to extrapolate.

    >>> data = trend_and_wiggle(40, rng=0)
    >>> data.X.shape, data.gap, data.beyond
    ((40, 1), (1.0, 2.0), (5.0, 9.0))
    """
    gap, beyond = (1.0, 2.0), (5.0, 9.0)
    rng = generator(rng)
    x = rng.uniform(-5, 5 - (gap[1] - gap[0]), size=(whole(n, "n", at_least=1), 1))
    X = np.where(x < gap[0], x, x + gap[1] - gap[0])  # cutting the gap out keeps the draw uniform on what is left
    t = _noisy(lambda Z: _trend(Z) + _wiggle(Z), X, noise, rng).t
    return TrendAndWiggle(X, t, _trend, _wiggle, gap, beyond)


def _balanced(n: int, classes: int, rng: np.random.Generator) -> Labels:
    """Labels 0, ..., classes - 1 in random order, with counts that differ by at most one."""
    return rng.permutation(np.arange(whole(n, "n", at_least=classes)) % classes)


def _balanced_signs(n: int, rng: np.random.Generator) -> Labels:
    return 1 - 2 * _balanced(n, 2, rng)


def _blurred(X: Array, noise: float, rng: np.random.Generator) -> Array:
    return X + real(noise, "noise", at_least=0) * rng.standard_normal(X.shape)


def two_moons(n: int, *, noise: float = 0.1, rng: Seed = None) -> Labelled:
    """Draw two interleaved noisy half circles of radius 1; +1 is the upper one.

    >>> X, y = two_moons(100, rng=0)
    >>> X.shape, np.unique(y, return_counts=True)
    ((100, 2), (array([-1,  1]), array([50, 50])))
    """
    rng = generator(rng)
    y = _balanced_signs(n, rng)
    angle = rng.uniform(0, np.pi, size=n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where(y[:, None] == 1, upper, [1.0, 0.5] - upper)
    return Labelled(_blurred(X, noise, rng), y)


def rings(n: int, *, noise: float = 0.1, rng: Seed = None) -> Labelled:
    """Draw two noisy circles around the origin: +1 is the inner one, of radius 1, -1 the outer one, of radius 2.

    >>> X, y = rings(100, noise=0, rng=0)
    >>> X.shape, bool(np.allclose(np.linalg.norm(X, axis=1), np.where(y == 1, 1, 2)))
    ((100, 2), True)
    """
    rng = generator(rng)
    y = _balanced_signs(n, rng)
    angle, radius = rng.uniform(0, 2 * np.pi, size=n), np.where(y == 1, 1.0, 2.0)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Labelled(_blurred(X, noise, rng), y)


def xor(n: int, *, noise: float = 0.3, rng: Seed = None) -> Labelled:
    r"""Draw four clouds around the corners $(\pm1, \pm1)$: +1 where the two signs differ, as in "exclusive or".

    `noise` is the standard deviation of a cloud; no cloud is empty, so n is at least 4. The Bayes rule is
    $y = -\operatorname{sign}(x_1 x_2)$.

    >>> X, y = xor(4, noise=0, rng=0)
    >>> sorted(zip(X.tolist(), y.tolist()))
    [([-1.0, -1.0], -1), ([-1.0, 1.0], 1), ([1.0, -1.0], 1), ([1.0, 1.0], -1)]
    """
    rng = generator(rng)
    corners = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    corner = _balanced(n, 4, rng)
    return Labelled(_blurred(corners[corner], noise, rng), np.where(corner % 2 == 0, 1, -1))


def checkerboard(n: int, *, cells: int = 4, rng: Seed = None) -> Labelled:
    r"""Draw points on a board of cells x cells unit squares, uniformly in each class: -1 on the square at the origin.

    The labels carry no noise: $y = +1$ exactly where $\lfloor x_1 \rfloor + \lfloor x_2 \rfloor$ is odd.

    >>> X, y = checkerboard(200, rng=0)
    >>> X.shape, bool(np.all((np.floor(X).sum(axis=1) % 2 == 1) == (y == 1)))
    ((200, 2), True)
    """
    cells, rng = whole(cells, "cells", at_least=2), generator(rng)
    y = _balanced_signs(n, rng)
    squares = np.indices((cells, cells)).reshape(2, -1).T  # (cells * cells, 2), their lower left corners
    odd = squares.sum(axis=1) % 2 == 1
    corner = np.where((y == 1)[:, None], rng.choice(squares[odd], size=n), rng.choice(squares[~odd], size=n))
    return Labelled(corner + rng.random((n, 2)), y)


MIXTURE_VARIANCE = 1 / 5


class GaussianMixture(NamedTuple):
    """Points X (n, 2), labels y (n,), and the means (10, 2) of each class, which determine everything else."""

    X: Array
    y: Labels
    means_plus: Array
    means_minus: Array

    def bayes_log_odds(self, X: ArrayLike) -> Array:
        r"""The log odds $\ln p(x \mid +1) - \ln p(x \mid -1)$ of the mixture itself: 0 on the Bayes boundary."""
        Z = points(X, columns=2)

        def log_density(means: Array) -> Array:  # up to a constant that both classes share
            squared = ((Z[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)  # (n, 10)
            return np.logaddexp.reduce(-squared / (2 * MIXTURE_VARIANCE), axis=1)

        return log_density(self.means_plus) - log_density(self.means_minus)

    def bayes_label(self, X: ArrayLike) -> Labels:
        """The label, -1 or +1, that errs least often: the sign of the log odds, +1 on the boundary itself."""
        return np.where(self.bayes_log_odds(X) >= 0, 1, -1)

    def sample(self, n: int, *, rng: Seed = None) -> GaussianMixture:
        """Draw n new points from the same mixture: a test set."""
        rng = generator(rng)
        y = _balanced_signs(n, rng)
        which = rng.integers(len(self.means_plus), size=n)
        means = np.where((y == 1)[:, None], self.means_plus[which], self.means_minus[which])
        return self._replace(X=_blurred(means, MIXTURE_VARIANCE**0.5, rng), y=y)


def gaussian_mixture(n: int, *, rng: Seed = None) -> GaussianMixture:
    r"""Draw two classes, each an even mixture of ten Gaussians, whose Bayes boundary is known (S13).

    As in Hastie, Tibshirani and Friedman, *The Elements of Statistical Learning*, section 2.3.3: ten means
    from $N((1, 0), I)$ for the class +1, ten from $N((0, 1), I)$ for -1, and points from $N(\text{mean}, I/5)$.

    >>> mixture = gaussian_mixture(200, rng=0)
    >>> mixture.X.shape, mixture.means_plus.shape, mixture.bayes_label(mixture.X).shape
    ((200, 2), (10, 2), (200,))
    """
    rng = generator(rng)
    means = [rng.normal(middle, size=(10, 2)) for middle in ([1.0, 0.0], [0.0, 1.0])]
    nothing_yet = GaussianMixture(np.empty((0, 2)), np.empty(0, dtype=np.int64), *means)
    return nothing_yet.sample(n, rng=rng)


class Graph(NamedTuple):
    """An undirected graph: a symmetric 0/1 adjacency array (m, m) and a label for each of its m nodes."""

    adjacency: Labels
    labels: tuple[str, ...]


class Graphs(NamedTuple):
    """Graphs, their classes y (n,), and the names of the classes."""

    graphs: list[Graph]
    y: Labels
    names: tuple[str, ...]


SHAPES: dict[str, Callable[[int, np.random.Generator], list[tuple[int, int]]]] = {  # the edges between m nodes
    "ring": lambda m, rng: [(i, (i + 1) % m) for i in range(m)],
    "tree": lambda m, rng: [(i, int(rng.integers(i))) for i in range(1, m)],
    "clique with a tail": lambda m, rng: [*combinations(range(m // 2 + 1), 2), *pairwise(range(m // 2, m))],
}


def small_graphs(n: int, *, rng: Seed = None) -> Graphs:
    """Draw n connected graphs of 6 to 10 nodes in three classes: a ring, a random tree, a clique with a tail (B16).

    Each node carries the letter C, N or O at random and the nodes come in random order, so that only the shape tells
    the classes apart.

    >>> graphs, y, names = small_graphs(30, rng=0)
    >>> len(graphs), np.bincount(y), names
    (30, array([10, 10, 10]), ('ring', 'tree', 'clique with a tail'))
    """
    rng, names = generator(rng), tuple(SHAPES)
    y = _balanced(n, len(names), rng)
    graphs = []
    for shape in y:
        m = int(rng.integers(6, 11))
        place = rng.permutation(m)
        adjacency = np.zeros((m, m), dtype=np.int64)
        for i, j in SHAPES[names[shape]](m, rng):
            adjacency[place[i], place[j]] = adjacency[place[j], place[i]] = 1
        graphs.append(Graph(adjacency, tuple(rng.choice(list("CNO"), size=m).tolist())))
    return Graphs(graphs, y, names)


class Texts(NamedTuple):
    """Documents, their topics y (n,) as numbers, and the names of the topics."""

    documents: list[str]
    y: Labels
    names: tuple[str, ...]


def small_texts() -> Texts:
    """Forty short documents, ten on each of four topics, written for this course (B16).

    Some words (captain, galley, star) belong to two topics, as in real texts.

    >>> documents, y, names = small_texts()
    >>> len(documents), np.bincount(y), names
    (40, array([10, 10, 10, 10]), ('cooking', 'sailing', 'astronomy', 'football'))
    """
    sections = read_text("small_texts.txt").split("\n## ")[1:]
    topics = [section.strip().splitlines() for section in sections]  # a name, then a document per line
    y = np.repeat(np.arange(len(topics)), [len(documents) for _, *documents in topics])
    return Texts([document for _, *documents in topics for document in documents], y, tuple(t[0] for t in topics))
