r"""Nearest neighbours in feature space, from kernel values alone.

Lecture I's algorithm 2 leaves two things open. Of points at equal distance, the one with the smaller index counts as
the nearer. Of classes with equally many votes (where the lecture's sgn would be 0), the one with the nearest
neighbour wins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..seam import definition
from ..validation import Array, numeric, points, same_length, signs, vector, whole

__all__ = ["kernel_neighbors", "nearest", "soft_neighbors", "squared_distances_to", "vote"]


def squared_distances_to(K_test: ArrayLike, k_test: ArrayLike, k_train: ArrayLike) -> Array:
    r"""Squared distances in feature space, one row per test point (lecture I, algorithm 2, line 4):

    $$\|\phi(x) - \phi(x_j)\|^2 = k(x, x) - 2\, k(x, x_j) + k(x_j, x_j).$$

    `k_test` and `k_train` hold the values $k(x, x)$ and $k(x_j, x_j)$. A value that is negative only by rounding is set
    to 0; a clearly negative one is not a squared distance and raises an error.

    >>> squared_distances_to([[2.0, 6.0]], [4.0], [1.0, 9.0])  # x = 2 and x_j = 1, 3 under the linear kernel
    array([[1., 1.]])
    """
    K_test = points(K_test, "K_test")
    m, n = K_test.shape
    k_i = vector(k_test, "k_test", length=m)[:, None]  # (m, 1)
    k_j = vector(k_train, "k_train", length=n)[None, :]  # (1, n)
    D = k_i - 2 * K_test + k_j
    slack = 1e-6 * max(np.abs(k_i).max(), np.abs(k_j).max())  # tolerance for kernel values in single precision
    if D.min() < -slack:
        i, j = np.unravel_index(np.argmin(D), D.shape)
        raise ValueError(
            f"k_test[{i}] - 2 K_test[{i}, {j}] + k_train[{j}] = {D[i, j]:g} is negative, so these are not values of "
            "one positive semidefinite kernel: check that k_test and k_train belong to the rows and columns of K_test"
        )
    return np.maximum(D, 0.0)


def nearest(D: ArrayLike, kappa: int) -> NDArray[np.intp]:
    r"""The indices of the $\kappa$ smallest entries in each row of D, the nearest first (lecture I, algorithm 2).

    >>> nearest([[4.0, 1.0, 1.0]], 2)
    array([[1, 2]])
    """
    D, kappa = points(D, "D"), whole(kappa, "kappa", at_least=1)
    if kappa > D.shape[1]:
        raise ValueError(f"kappa must be at most {D.shape[1]}, the number of training points, got {kappa}")
    return largest(-D, kappa)


@definition
def largest(K: Array, kappa: int) -> NDArray[np.intp]:
    """The indices of the kappa largest entries in each row of K, the largest first; ties keep their order."""
    return np.argsort(-K, axis=1, kind="stable")[:, :kappa]


def _class_labels(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Labels that are whole numbers, in the type in which they were passed."""
    values = numeric(labels, name)
    if not np.array_equal(values, np.round(values)):
        first = values[values != np.round(values)][0]
        raise ValueError(f"{name} must hold class labels (whole numbers such as 0, 1, 2 or -1, +1), got {first:g}")
    return np.asarray(labels)


def vote(labels: ArrayLike) -> NDArray[Any]:
    r"""The majority label in each row; a row holds the neighbours' labels, the nearest first (lecture I, algorithm 2).

    For labels -1 and +1 this is $\operatorname{sgn}\bigl(\frac1\kappa \sum_i y_i\bigr)$ wherever that is not 0. A tie
    goes to the class of the nearest of the tied neighbours.

    >>> vote([[2, 0, 0], [0, 1, 2], [1, 0, 0]])
    array([0, 0, 0])
    >>> vote([[-1, 1], [1, -1]])  # sgn would be 0 in both rows
    array([-1,  1])
    """
    labels = _class_labels(labels, "labels")
    if labels.ndim != 2 or 0 in labels.shape:
        raise ValueError(f"labels must be 2-D, the neighbours of a test point in each row, got shape {labels.shape}")
    support = np.zeros(labels.shape, dtype=int)  # for each neighbour, how many agree with it
    for label in np.unique(labels):
        agree = labels == label
        support += agree * agree.sum(axis=1, keepdims=True)
    winner = support.argmax(axis=1)  # the first of the largest: the nearest neighbour in a winning class
    return labels[np.arange(len(labels)), winner]


def kernel_neighbors(
    K_test: ArrayLike, k_test: ArrayLike, k_train: ArrayLike, y: ArrayLike, *, kappa: int
) -> NDArray[Any]:
    r"""Kernel $\kappa$-nearest neighbours (lecture I, algorithm 2): the most common label of the $\kappa$ nearest.

    >>> kernel_neighbors([[2.0, 6.0, 8.0]], [4.0], [1.0, 9.0, 16.0], [1, -1, -1], kappa=3)
    array([-1])
    """
    D, y = squared_distances_to(K_test, k_test, k_train), _class_labels(y, "y")
    if y.ndim != 1:
        raise ValueError(f"y must be 1-D, got shape {y.shape}")
    same_length(y, "y", D.shape[1])
    # If all k(x_j, x_j) are equal, the nearest point has the largest k. In D, a tiny k would be lost to rounding.
    return vote(y[nearest(-numeric(K_test, "K_test") if np.ptp(k_train) == 0 else D, kappa)])


def soft_neighbors(K_test: ArrayLike, y: ArrayLike) -> Array:
    r"""The soft vote $\sum_i y_i\, k(x, x_i)$ for labels -1 and +1: all points vote, near ones count more (lecture H).

    It is the kernel perceptron's score with all counts equal to 1. With a narrow Gaussian, the nearest neighbour's term
    outweighs the rest, and the sign is that of 1-NN; if it is so narrow that every term underflows, the score is 0.

    >>> soft_neighbors([[0.9, 0.2, 0.1]], [-1, 1, 1]).round(12)
    array([-0.6])
    """
    K_test = points(K_test, "K_test")
    return K_test @ signs(y, length=K_test.shape[1])
