"""Kernels on vectors: each consists of its parameters and one formula."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial, sqrt
from typing import Any, NamedTuple

import numpy as np

from .. import features as maps
from ..seam import definition
from ..validation import Array, points, real, whole
from .kernel import InvalidKernel, NoFiniteFeatureMap, VectorKernel, _set
from .rules import Constant, Exp, Normalized, On, Power, Product, Scaled, Sum, horner, inverse, number

__all__ = [
    "Bilinear", "Cosine", "DotProduct", "Gaussian", "Laplacian", "Linear", "Matern", "Periodic",
    "Polynomial", "Radial", "RationalQuadratic",
]  # fmt: skip


class DotProduct(VectorKernel):
    r"""A kernel that depends only on $s = x^\top x'$; a subclass defines `profile(s)`.

    Not every profile makes a kernel: power series with non-negative coefficients do (rule 6.15).

    >>> class Exponentiated(DotProduct):
    ...     def profile(self, s):
    ...         return np.exp(s)
    >>> Exponentiated()([[0.0], [1.0]]).round(3)
    array([[1.   , 1.   ],
           [1.   , 2.718]])
    """

    def profile(self, s: Array) -> Array:
        """k as a function of the inner product, for an array of inner products, which it may overwrite."""
        raise NotImplementedError

    def formula(self, X: Array, Z: Array) -> Array:
        return self.profile(X @ Z.T)

    def diagonal(self, X: Array) -> Array:
        return self.profile(squared_norms(X))


def squared_norms(X: Array) -> Array:
    r"""All $\lVert x_i\rVert^2$."""
    return np.einsum("ij,ij->i", X, X)


@dataclass(frozen=True)
class Linear(VectorKernel):
    r"""$k(x, x') = x^\top x'$: the features are the inputs (lecture B, eq. 15).

    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    tex = "{x_T} {z}"

    def formula(self, X: Array, Z: Array) -> Array:
        return X @ Z.T

    def diagonal(self, X: Array) -> Array:
        return squared_norms(X)

    def feature_rows(self, X: Array) -> Array:
        return X.copy()


@dataclass(frozen=True, repr=False)
class Bilinear(VectorKernel):
    r"""$k(x, x') = x^\top A\, x'$ with A symmetric positive semidefinite (Bishop 6.20); features $A^{1/2} x$, rotated.

    >>> Bilinear([[2.0, 0.0], [0.0, 1.0]])([[1.0, 1.0]])
    array([[3.]])
    """

    A: Any
    tex = r"{x_T} A\, {z}"

    def __post_init__(self) -> None:
        A = points(self.A, "A")
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"A must be square, got shape {A.shape}")
        scale = max(float(np.abs(A).max()), np.finfo(float).tiny)
        if not np.allclose(A, A.T, rtol=0, atol=1e-12 * scale):
            raise InvalidKernel("x'Ax needs a symmetric A (rule 6.20), but A differs from its transpose")
        if (low := float(np.linalg.eigvalsh(A)[0])) < -1e-12 * scale * len(A):
            raise InvalidKernel(f"x'Ax needs a positive semidefinite A (rule 6.20), but A has the eigenvalue {low:g}")
        _set(self, A=tuple(map(tuple, A.tolist())))  # hashable and comparable

    def prepare(self, X: Any, name: str = "X") -> Array:
        return points(X, name, columns=len(self.A))

    def formula(self, X: Array, Z: Array) -> Array:
        K = X @ np.array(self.A) @ Z.T
        return (K + K.T) / 2 if Z is X else K  # rounding would leave the Gram matrix a little asymmetric

    def diagonal(self, X: Array) -> Array:
        A = np.array(self.A)
        norms, terms = (np.einsum("ij,ij->i", Y @ B, Y) for Y, B in ((X, A), (np.abs(X), np.abs(A))))
        lost = norms <= 16 * np.finfo(float).eps * terms  # lost in the rounding errors of the terms in these sums
        return np.where(lost & np.isfinite(terms), 0.0, norms)

    def feature_rows(self, X: Array) -> Array:
        values, Q = np.linalg.eigh(np.array(self.A))
        return X @ (Q * np.sqrt(np.clip(values, 0, None)))

    def __repr__(self) -> str:
        return f"Bilinear(A={[list(row) for row in self.A]!r})"


@dataclass(frozen=True)
class Polynomial(VectorKernel):
    r"""$k(x, x') = (x^\top x' + \text{offset})^p$ (lecture S; offset 0 gives lecture B's $(x^\top x')^p$).

    Its features are all monomials of degree up to p (of degree exactly p if the offset is 0), each with the weight that
    `monomials` gives it.

    >>> Polynomial(2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int
    offset: float = 1.0

    def __post_init__(self) -> None:
        offset = real(self.offset, "offset")
        if offset < 0:
            raise InvalidKernel(f"(x'z + offset)^p needs offset >= 0 (rule 6.15), got offset = {offset:g}")
        _set(self, degree=whole(self.degree, "degree", at_least=1), offset=offset)

    @definition
    def formula(self, X: Array, Z: Array) -> Array:
        return (X @ Z.T + self.offset) ** self.degree

    def diagonal(self, X: Array) -> Array:
        return (squared_norms(X) + self.offset) ** self.degree

    def feature_rows(self, X: Array) -> Array:
        return maps.monomials(X, self.degree, offset=self.offset)

    def latex(self, x: str = "x", z: str = "x'") -> str:
        plus = f" + {number(self.offset)}" if self.offset else ""
        return rf"\left({Linear().latex(x, z)}{plus}\right)^{{{self.degree}}}"


@dataclass(frozen=True)
class Cosine(VectorKernel):
    r"""$k(x, x') = x^\top x' / (\lVert x\rVert\, \lVert x'\rVert)$: the normalised linear kernel; 0 at the origin.

    >>> Cosine()([[1.0, 0.0]], [[3.0, 3.0]]).round(4)
    array([[0.7071]])
    """

    tex = r"\frac{{{x_T} {z}}}{{\lVert {x} \rVert\, \lVert {z} \rVert}}"

    def formula(self, X: Array, Z: Array) -> Array:
        U = self.feature_rows(X)
        return U @ (U if Z is X else self.feature_rows(Z)).T

    def diagonal(self, X: Array) -> Array:
        return np.einsum("ij,ij->i", U := self.feature_rows(X), U)

    def feature_rows(self, X: Array) -> Array:
        X = X / np.abs(X).max(axis=1, keepdims=True, initial=1e-300)  # squares of tiny entries would vanish
        return inverse(np.linalg.norm(X, axis=1))[:, None] * X


class Radial(VectorKernel):
    r"""A kernel that depends only on $r = \lVert x - x' \rVert$, with $k(x, x) = 1$; a subclass defines `profile(r)`.

    >>> class Triangle(Radial):  # a kernel on the line
    ...     def profile(self, r):
    ...         return np.maximum(0, 1 - r)
    >>> Triangle()([[0.0], [0.25], [3.0]])
    array([[1.  , 0.75, 0.  ],
           [0.75, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    stationary = radial = True

    def profile(self, r: Array) -> Array:
        """k as a function of the distance, for an array of distances, which it may overwrite."""
        raise NotImplementedError

    @definition
    def formula(self, X: Array, Z: Array) -> Array:
        return self.profile(np.sqrt(squared_distances(X, Z)))

    def diagonal(self, X: Array) -> Array:
        return np.ones(len(X))


def squared_distances(X: Array, Z: Array) -> Array:
    r"""All $\lVert x_i - z_j\rVert^2$, column by column: nothing cancels, and no array is larger than the result.

    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  1.]])
    """
    return sum((x_i[:, None] - z_j[None, :]) ** 2 for x_i, z_j in zip(X.T, Z.T, strict=True))


def absolute_distances(X: Array, Z: Array) -> Array:
    r"""All $\lVert x_i - z_j\rVert_1$, column by column."""
    return sum(np.abs(x_i[:, None] - z_j[None, :]) for x_i, z_j in zip(X.T, Z.T, strict=True))


class Stationary(Radial):
    """A stationary kernel, whose parameters are all positive numbers."""

    def __post_init__(self) -> None:
        _set(self, **{name: real(value, name, above=0) for name, value in self._own_parameters().items()})


@dataclass(frozen=True)
class Gaussian(Stationary):
    r"""$k(x, x') = \exp(-\lVert x - x'\rVert^2 / 2\sigma^2)$ (lecture B, eq. 17; lecture S).

    Lecture K writes $\exp(-r^2/h^2)$ and lecture H $\exp(-\gamma r^2)$: $2\sigma^2 = h^2 = 1/\gamma$.

    >>> Gaussian(sigma=1.0)([[0.0]], [[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353]])
    >>> Gaussian.from_gamma(0.5)
    Gaussian(sigma=1.0)
    """

    sigma: float = 1.0
    tex = r"\exp\left(-\frac{{\lVert {x} - {z} \rVert^2}}{{2 \cdot {sigma}^2}}\right)"

    @classmethod
    def from_h(cls, h: float) -> Gaussian:
        r"""The kernel with lecture K's bandwidth h: $\exp(-r^2/h^2)$, so $\sigma = h/\sqrt 2$."""
        return cls(real(h, "h", above=0) / sqrt(2))

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        r"""The kernel with lecture H's parameter: $\exp(-\gamma r^2)$, so $\sigma = 1/\sqrt{2\gamma}$."""
        return cls(1 / sqrt(2 * real(gamma, "gamma", above=0)))

    @property
    def h(self) -> float:
        """This kernel's bandwidth in the notation of lecture K."""
        return sqrt(2) * self.sigma

    @property
    def gamma(self) -> float:
        """This kernel's parameter in the notation of lecture H."""
        return 1 / (2 * self.sigma**2)

    @definition
    def formula(self, X: Array, Z: Array) -> Array:
        sigma = min(max(self.sigma, 1e-150), 1e150)  # so that its square is neither inf nor 0
        return np.exp(-squared_distances(X, Z) / (2 * sigma**2))

    def feature_rows(self, X: Array) -> Array:
        raise NoFiniteFeatureMap(f"{self!r} has no finite feature map, but truncated_gaussian gives its first features")


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    r"""$k(x, x') = (1 + r^2 / (2\alpha\,\text{length}^2))^{-\alpha}$: a mixture of Gaussians of many widths.

    >>> RationalQuadratic(1.0, alpha=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    length: float = 1.0
    alpha: float = 1.0
    tex = r"\left(1 + \frac{{\lVert {x} - {z} \rVert^2}}{{2 \cdot {alpha} \cdot {length}^2}}\right)^{{-{alpha}}}"

    def profile(self, r: Array) -> Array:
        x = (r / self.length) ** 2 / (2 * self.alpha)
        if self.alpha < 100:
            return (1 + x) ** -self.alpha
        return np.exp(-self.alpha * np.log1p(x))  # in (1 + x) ** -alpha, the rounding of 1 + x would grow with alpha


@dataclass(frozen=True)
class Matern(Stationary):
    r"""$k = \frac{2^{1-\nu}}{\Gamma(\nu)} s^\nu K_\nu(s)$ with $s = \sqrt{2\nu}\,r/\text{length}$.

    `nu` sets how often a function in the kernel's space can be differentiated: 1/2 gives $\exp(-r/\text{length})$,
    which has a kink at 0, and as `nu` grows, the kernel tends to `Gaussian(length)`.

    >>> Matern(1.0, nu=1.5)([[0.0]], [[1.0]]).round(4)
    array([[0.4834]])
    """

    length: float = 1.0
    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu > 100:
            raise ValueError(f"nu must be at most 100, got {self.nu:g}: use Gaussian({self.length:g}), its limit")

    def profile(self, r: Array) -> Array:
        s = np.minimum(np.sqrt(2 * self.nu) * (r / self.length), 800.0)  # beyond, exp(-s) is 0 and inf * 0 would be NaN
        if self.nu % 1 == 0.5:
            return horner(self._coefficients, s) * np.exp(-s)
        try:
            from scipy.special import gammaln, kve
        except ImportError as error:
            raise ImportError(f"{self!r} needs scipy; without it nu must be 1/2, 3/2, 5/2, ...") from error
        near = s < (1.0 if self.nu > 20 else 1e-8 if self.nu >= 1 else 1e-300)  # there the formula tends to 0 * inf
        far = np.where(near, 1.0, s)  # kve is K_nu(s) * exp(s)
        log_k = (1 - self.nu) * np.log(2) - gammaln(self.nu) + self.nu * np.log(far) + np.log(kve(self.nu, far)) - far
        return np.where(near, self._near(s), np.exp(np.minimum(log_k, 0)))

    @cached_property
    def _coefficients(self) -> list[float]:
        r"""For $\nu = p + 1/2$, k is $e^{-s}$ times a polynomial of degree p; its coefficients $c_0 = 1, c_1, ...$"""
        p = int(self.nu)
        below, above = factorial(2 * p), factorial(p)
        return [above * factorial(2 * p - j) * 2**j / (below * factorial(p - j) * factorial(j)) for j in range(p + 1)]

    def _near(self, s: Array) -> Array:
        r"""The series at 0, $\sum_j \frac{(-s^2/4)^j}{j!\,(\nu - 1) \cdots (\nu - j)}$: here a few terms suffice."""
        term, k = np.ones_like(s), np.ones_like(s)
        for j in range(1, min(int(self.nu), 10)):
            term = term * np.minimum(s, 1.0) ** 2 / (-4 * j * (self.nu - j))
            k += term
        return k

    def latex(self, x: str = "x", z: str = "x'") -> str:
        s = rf"\tfrac{{\sqrt{{{number(2 * self.nu)}}}}}{{{number(self.length)}}} \lVert {x} - {z} \rVert"
        nu = number(self.nu)
        return rf"\frac{{2^{{1-{nu}}}}}{{\Gamma({nu})}} \left({s}\right)^{{{nu}}} K_{{{nu}}}\left({s}\right)"


@dataclass(frozen=True)
class Laplacian(Stationary):
    r"""$k(x, x') = \exp(-\lVert x - x'\rVert_1 / \text{length})$: stationary, but in the L1 norm, so not radial.

    Lecture K calls the length h.

    >>> Laplacian(length=2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    length: float = 1.0
    radial = False
    tex = r"\exp\left(-\frac{{\lVert {x} - {z} \rVert_1}}{{{length}}}\right)"

    @classmethod
    def from_h(cls, h: float) -> Laplacian:
        """The kernel with lecture K's bandwidth h, which is the length."""
        return cls(real(h, "h", above=0))

    @property
    def h(self) -> float:
        """This kernel's bandwidth in the notation of lecture K."""
        return self.length

    @definition
    def formula(self, X: Array, Z: Array) -> Array:
        return np.exp(-absolute_distances(X, Z) / self.length)


@dataclass(frozen=True)
class Periodic(Stationary):
    r"""$k(x, x') = \exp(-2 \sum_j \sin^2(\pi (x_j - x_j')/\text{period}) / \text{length}^2)$.

    In several dimensions this is a product with one such kernel per coordinate. (With $\lVert x - x'\rVert$ inside the
    sine it would not be positive semidefinite.)

    >>> Periodic(period=1.0)([[0.25]], [[3.25]]).round(4)
    array([[1.]])
    """

    period: float = 1.0
    length: float = 1.0
    radial = False
    tex = r"\exp\left(-\frac{{2 \sum_j \sin^2\left(\pi ({{{x}}}_j - {{{z}}}_j) / {period}\right)}}{{{length}^2}}\right)"

    def formula(self, X: Array, Z: Array) -> Array:
        differences = (x_i[:, None] - z_j[None, :] for x_i, z_j in zip(X.T, Z.T, strict=True))
        with np.errstate(over="ignore", invalid="ignore"):
            D = sum((np.sin(np.pi * difference / self.period) / self.length) ** 2 for difference in differences)
        if np.isnan(D).any():
            raise OverflowError(f"points are too far apart to tell where in a period of {self.period:g} they lie")
        return np.exp(-2 * D)


class Falling(NamedTuple):
    """A distance between inputs; the kernel falls as it grows."""

    metric: str  # "euclidean" or "cityblock"
    parts: tuple[On, ...] = ()  # which columns count, first to last

    def inputs(self, X: Array) -> Array:
        """The columns that count."""
        for part in self.parts:
            X = part.select(X)
        return X


def falling(kernel: Any) -> Falling | None:
    """A distance such that k falls as it grows, if one is known: the nearest points are then nearest in feature space.

    Where kernel values underflow, they no longer tell far points apart, but distances do. Subclasses are not
    recognised, because they may compute anything.
    """
    kind = type(kernel)
    if kind in (Gaussian, RationalQuadratic, Matern):
        return Falling("euclidean")
    if kind is Laplacian:
        return Falling("cityblock")
    if kind is Scaled and kernel.c == 0:
        return None
    if kind in (Scaled, Power, Exp, Normalized):
        return falling(kernel.kernel)
    if kind is On:
        inner = falling(kernel.kernel)
        return inner and inner._replace(parts=(kernel, *inner.parts))
    if kind in (Sum, Product):
        found = [falling(part) for part in kernel.parts if kind is Product or not isinstance(part, Constant)]
        columns = {(f.metric, *(repr(on.columns) for on in f.parts)) if f else None for f in found}
        return found[0] if len(columns) == 1 else None
    return None
