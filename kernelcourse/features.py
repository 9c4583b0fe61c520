r"""Explicit feature maps $\phi$: each takes n points and returns the design matrix with rows $\phi(x_i)^\top$."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial, lgamma, prod
from typing import Any

import numpy as np

from .validation import Array, on_a_line, points, real, vector, whole

__all__ = [
    "gaussian_basis", "identity_basis", "monomial_count", "monomials", "polynomial_basis", "sigmoid_basis",
    "truncated_gaussian",
]  # fmt: skip

_MOST_FEATURES = 10**7  # with this many features, a laptop can still hold the rows of a handful of points


def _finite(Phi: Array, what: str) -> Array:
    if not np.isfinite(Phi).all():
        raise OverflowError(f"{what} is too large for a float: scale the points down or lower the degree")
    return Phi


def _from_centers(x: Any, centers: Any, width: float) -> Array:
    r"""All $(x_i - \mu_j) / \text{width}$."""
    width, x, centers = real(width, "width", above=0), on_a_line(x), vector(centers, "centers")
    if centers.size == 0:
        raise ValueError("centers is empty: expected at least one centre")
    return (x[:, None] - centers[None, :]) / width


def identity_basis(X: Any) -> Array:
    r"""$\phi(x) = x$ (lecture B, the linear kernel's features).

    >>> identity_basis([[1.0, 2.0]])
    array([[1., 2.]])
    """
    return points(X, "X").copy()


def polynomial_basis(x: Any, degree: int) -> Array:
    r"""$\phi(x) = (1, x, x^2, \dots, x^M)$ on the line (lecture B, algorithm summary).

    >>> polynomial_basis([2.0, 3.0], degree=2)
    array([[1., 2., 4.],
           [1., 3., 9.]])
    """
    with np.errstate(over="ignore"):
        return _finite(np.vander(on_a_line(x), whole(degree, "degree") + 1, increasing=True), f"x ** {degree}")


def gaussian_basis(x: Any, centers: Any, width: float) -> Array:
    r"""$\phi_j(x) = \exp(-(x - \mu_j)^2 / 2s^2)$ with the width s (lecture B, approach 1).

    >>> gaussian_basis([0.0], centers=[0.0, 1.0], width=1.0).round(4)
    array([[1.    , 0.6065]])
    """
    return np.exp(-(_from_centers(x, centers, width) ** 2) / 2)


def sigmoid_basis(x: Any, centers: Any, width: float) -> Array:
    r"""$\phi_j(x) = s((x - \mu_j)/\text{width})$ with the logistic function s (lecture B, approach 1).

    >>> sigmoid_basis([0.0], centers=[0.0], width=1.0)
    array([[0.5]])
    """
    a = _from_centers(x, centers, width)
    return np.exp(-np.logaddexp(0, -a))  # 1 / (1 + exp(-a)), in a form that cannot overflow


def monomial_count(d: int, p: int) -> int:
    r"""The number of monomials of degree 0 to p in d variables, $\binom{d+p}{p} = \Theta(d^p)$ for fixed p (lecture S).

    >>> monomial_count(100, 4)
    4598126
    """
    return comb(whole(d, "d", at_least=1) + whole(p, "p"), p)


def exponents(d: int, p: int) -> list[tuple[int, ...]]:
    """The exponents of all monomials of degree 0 to p in d variables, sorted by degree.

    >>> exponents(2, 2)
    [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    """
    if (count := monomial_count(d, p)) > _MOST_FEATURES:
        raise ValueError(
            f"degree={p} in {d} variables has {count:,} monomials, too many to write out: "
            f"Polynomial({p}) computes their inner products in O(d)"
        )
    factors = (f for degree in range(p + 1) for f in combinations_with_replacement(range(d), degree))
    return [tuple(f.count(j) for j in range(d)) for f in factors]


def _monomials(X: Array, powers: list[tuple[int, ...]], scale: Array) -> Array:
    Phi = np.tile(scale, (len(X), 1))
    for x_j, powers_of_j in zip(X.T, zip(*powers, strict=True), strict=True):
        Phi *= np.vander(x_j, max(powers_of_j) + 1, increasing=True)[:, powers_of_j]
    return Phi


def monomials(X: Any, degree: int, *, offset: float = 1.0) -> Array:
    r"""The feature map of $(x^\top z + \text{offset})^p$, for any d and p (lecture S, theorem).

    The multinomial theorem, with the offset as one more variable, gives the monomial $x^m$ of degree $|m| \le p$ the
    weight $\sqrt{\binom{p}{m_1, \dots, m_d, p-|m|}\ \text{offset}^{\,p-|m|}}$. Monomials of weight 0 are left out.

    >>> monomials([[3.0, 5.0]], degree=2, offset=0.0) / [[1, 2**0.5, 1]]
    array([[ 9., 15., 25.]])
    """
    X, degree = points(X, "X"), whole(degree, "degree")
    offset = real(offset, "offset", at_least=0)
    powers = exponents(X.shape[1], degree)
    if offset == 0:
        powers = [m for m in powers if sum(m) == degree]
    try:
        scale = [
            factorial(degree) // (prod(map(factorial, m)) * factorial(degree - sum(m))) * offset ** (degree - sum(m))
            for m in powers
        ]
    except OverflowError as error:
        raise OverflowError(f"degree={degree} has multinomial coefficients too large for a float") from error
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(_monomials(X, powers, np.sqrt(np.array(scale, dtype=float))), f"X to the power {degree}")


def truncated_gaussian(X: Any, *, sigma: float, degree: int) -> Array:
    r"""The first features of the Gaussian kernel: those whose monomial has degree at most `degree`.

    On the line (lecture S) these are $e^{-x^2/2\sigma^2} \left(1, \frac{x}{\sigma\sqrt{1!}}, \frac{x^2}{\sigma^2
    \sqrt{2!}}, \dots\right)$; in d dimensions $e^{-\lVert x\rVert^2/2\sigma^2}\, x^m / (\sigma^{|m|} \sqrt{m!})$.
    Their inner products converge to the kernel as the degree grows.

    >>> Phi = truncated_gaussian([[0.5], [1.0]], sigma=1.0, degree=20)
    >>> (Phi @ Phi.T).round(6)
    array([[1.      , 0.882497],
           [0.882497, 1.      ]])
    """
    X = points(X, "X") / real(sigma, "sigma", above=0)
    powers = exponents(X.shape[1], whole(degree, "degree"))
    scale = np.exp([-sum(lgamma(e + 1) for e in m) / 2 for m in powers])
    with np.errstate(over="ignore", invalid="ignore"):
        Phi = _monomials(X, powers, scale) * np.exp(-np.einsum("ij,ij->i", X, X) / 2)[:, None]
    if not np.isfinite(Phi).all():
        raise OverflowError(f"X/sigma reaches {np.abs(X).max():.3g}: powers up to {degree} are too large for a float")
    return Phi
