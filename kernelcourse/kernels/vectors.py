"""Kernels on vectors: each is its parameters and one formula."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from .. import features as maps
from .._engine import gram as tiles
from ..validation import Array, points, real, whole
from .kernel import (
    Exp,
    InvalidKernel,
    Kernel,
    NoFiniteFeatureMap,
    Normalized,
    On,
    Power,
    Product,
    Scaled,
    Sum,
    _number,
    _set,
    beyond_rounding,
)


class VectorKernel(Kernel):
    """A kernel on the rows of an (n, d) array."""

    @property
    def on_vectors(self) -> bool:
        return True

    def inputs(self, X: Any, name: str) -> Array:
        return points(X, name)

    def _pair(self, X: Any, Z: Any) -> tuple[Array, Array]:
        if Z is not None and Z is not X:
            X, Z = points(X, "X"), points(Z, "Z")
            if X.shape[1] != Z.shape[1]:
                raise ValueError(f"X and Z must have the same number of columns, got {X.shape[1]} and {Z.shape[1]}")
        return super()._pair(X, Z)


# --- kernels of the inner product


class DotProduct(VectorKernel):
    r"""A kernel that depends on $s = x^\top x'$ only; a subclass gives `profile(s)`."""

    def profile(self, s: Array) -> Array:
        raise NotImplementedError

    def formula(self, X: Array, Z: Array) -> Array:
        return tiles.of_products(X, Z, self.profile)

    def _diag(self, X: Array) -> Array:
        return self.profile(np.einsum("ij,ij->i", X, X))


@dataclass(frozen=True)
class Constant(Kernel):
    r"""$k(x, x') = c \ge 0$; its one feature is $\sqrt c$.

    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        c = real(self.c, "c")
        if c < 0:
            raise InvalidKernel(f"Constant(c) needs c >= 0 (rule 6.13), got c = {c:g}: its Gram matrix has k(x, x) < 0")
        _set(self, c=c)

    def formula(self, X: Any, Z: Any) -> Array:
        return np.full((len(X), len(Z)), self.c)

    def _diag(self, X: Any) -> Array:
        return np.full(len(X), self.c)

    def _features(self, X: Any) -> Array:
        return np.full((len(X), 1), sqrt(self.c))

    @property
    def is_stationary(self) -> bool:
        return True

    @property
    def is_radial(self) -> bool:
        return True

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return _number(self.c)


@dataclass(frozen=True)
class Linear(DotProduct):
    r"""$k(x, x') = x^\top x'$: the features are the inputs (lecture B, eq. 15).

    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    def profile(self, s: Array) -> Array:
        return s

    def _features(self, X: Array) -> Array:
        return maps.identity_basis(X)

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"{x}^{{\top}} {z}" if "'" not in x else rf"({x})^{{\top}} {z}"


@dataclass(frozen=True, repr=False)
class Bilinear(VectorKernel):
    r"""$k(x, x') = x^\top A\, x'$ with A symmetric positive semidefinite (Bishop 6.20); features $A^{1/2} x$.

    >>> Bilinear([[2.0, 0.0], [0.0, 1.0]])([[1.0, 1.0]])
    array([[3.]])
    """

    A: Any

    def __post_init__(self) -> None:
        A = points(self.A, "A")
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"A must be square, got shape {A.shape}")
        scale = max(float(np.abs(A).max()), np.finfo(float).tiny)
        if not np.allclose(A, A.T, rtol=0, atol=1e-12 * scale):
            raise InvalidKernel("x'Ax needs a symmetric A (rule 6.20), but A differs from its transpose")
        smallest = float(np.linalg.eigvalsh(A)[0])
        if smallest < -1e-12 * scale * len(A):
            raise InvalidKernel(
                f"x'Ax needs a positive semidefinite A (rule 6.20), but A has the eigenvalue {smallest:g}"
            )
        _set(self, A=tuple(map(tuple, A.tolist())))  # hashable and comparable

    def inputs(self, X: Any, name: str) -> Array:
        X = points(X, name)
        if X.shape[1] != len(self.A):
            raise ValueError(f"{name} has {X.shape[1]} columns, but A is {len(self.A)} x {len(self.A)}")
        return X

    def formula(self, X: Array, Z: Array) -> Array:
        K = X @ np.array(self.A) @ Z.T
        return (K + K.T) / 2 if Z is X else K  # rounding would leave the Gram matrix a little asymmetric

    def _diag(self, X: Array) -> Array:
        A = np.array(self.A)
        norms, terms = (np.einsum("ij,ij->i", Y @ B, Y) for Y, B in ((X, A), (np.abs(X), np.abs(A))))
        return beyond_rounding(norms, terms)

    def _features(self, X: Array) -> Array:
        values, Q = np.linalg.eigh(np.array(self.A))
        return X @ (Q * np.sqrt(np.clip(values, 0, None)))

    def __repr__(self) -> str:
        return f"Bilinear(A={[list(row) for row in self.A]!r})"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"{x}^{{\top}} A\, {z}" if "'" not in x else rf"({x})^{{\top}} A\, {z}"


@dataclass(frozen=True)
class Polynomial(DotProduct):
    r"""$k(x, x') = (x^\top x' + \text{offset})^p$ (lecture S; offset 0 gives lecture B's $(x^\top x')^p$).

    Its features are all monomials of degree up to p (of degree exactly p where the offset is 0), each with the square
    root of its multinomial coefficient.

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

    def profile(self, s: Array) -> Array:
        return tiles.integer_power(s + self.offset, self.degree)

    def _features(self, X: Array) -> Array:
        return maps.monomials(X, self.degree, offset=self.offset)

    def latex(self, x: str = "x", z: str = "x'") -> str:
        plus = f" + {_number(self.offset)}" if self.offset else ""
        return rf"\left({Linear().latex(x, z)}{plus}\right)^{{{self.degree}}}"


@dataclass(frozen=True)
class Cosine(VectorKernel):
    r"""$k(x, x') = x^\top x' / (\lVert x\rVert\, \lVert x'\rVert)$: the linear kernel normalised; 0 at the origin.

    >>> Cosine()([[1.0, 0.0]], [[3.0, 3.0]]).round(4)
    array([[0.7071]])
    """

    def formula(self, X: Array, Z: Array) -> Array:
        U = self._features(X)
        return U @ (U if Z is X else self._features(Z)).T

    def _diag(self, X: Array) -> Array:
        return np.einsum("ij,ij->i", U := self._features(X), U)

    def _features(self, X: Array) -> Array:
        X = X / np.abs(X).max(
            axis=1, keepdims=True, initial=np.finfo(float).tiny
        )  # squares of tiny entries would vanish
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        return np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"\frac{{{Linear().latex(x, z)}}}{{\lVert {x} \rVert\, \lVert {z} \rVert}}"


# --- kernels of the distance


class Radial(VectorKernel):
    r"""A kernel of $r = \lVert x - x' \rVert$ with $k(x, x) = 1$; a subclass gives `profile(r)`."""

    def profile(self, r: Array) -> Array:
        raise NotImplementedError

    def formula(self, X: Array, Z: Array) -> Array:
        return tiles.of_distances(X, Z, "euclidean", self.profile)

    def _diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def _features(self, X: Array) -> Array:
        raise NoFiniteFeatureMap(f"{self!r} has infinitely many features: no finite feature map gives it exactly")

    @property
    def is_stationary(self) -> bool:
        return True

    @property
    def is_radial(self) -> bool:
        return True


def _norm(x: str, z: str, power: str = "") -> str:
    return rf"\lVert {x} - {z} \rVert{power}"


@dataclass(frozen=True)
class Gaussian(Radial):
    r"""$k(x, x') = \exp(-\lVert x - x'\rVert^2 / 2\sigma^2)$ (lecture B, eq. 17; lecture S).

    Lecture K writes $\exp(-r^2/h^2)$ and lecture H $\exp(-\gamma r^2)$: $2\sigma^2 = h^2 = 1/\gamma$.

    >>> Gaussian(sigma=1.0)([[0.0]], [[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353]])
    >>> Gaussian.from_gamma(0.5)
    Gaussian(sigma=1.0)
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        _set(self, sigma=real(self.sigma, "sigma", above=0))

    @classmethod
    def from_h(cls, h: float) -> Gaussian:
        r"""Lecture K's bandwidth: $\exp(-r^2/h^2)$, so $\sigma = h/\sqrt 2$."""
        return cls(real(h, "h", above=0) / sqrt(2))

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        r"""Lecture H's parameter: $\exp(-\gamma r^2)$, so $\sigma = 1/\sqrt{2\gamma}$."""
        return cls(1 / sqrt(2 * real(gamma, "gamma", above=0)))

    @property
    def h(self) -> float:
        """Lecture K's bandwidth of this kernel."""
        return sqrt(2) * self.sigma

    @property
    def gamma(self) -> float:
        """Lecture H's parameter of this kernel."""
        return 1 / (2 * self.sigma**2)

    @property
    def _factor(self) -> float:
        return -0.5 / max(self.sigma * self.sigma, np.finfo(float).tiny)  # the square of a tiny sigma may vanish

    def formula(self, X: Array, Z: Array) -> Array:
        return tiles.exp_of_squared_distances(X, Z, self._factor)

    def _into(self, K: Array, X: Array, Z: Array) -> None:
        if type(self).formula is not Gaussian.formula:  # a subclass may compute anything
            return super()._into(K, X, Z)
        tiles.exp_of_squared_distances(X, Z, self._factor, room=K)

    def _times(self, X: Array, Z: Array, a: Array, entries: int) -> Array:
        if type(self).formula is not Gaussian.formula:  # a subclass may compute anything
            return super()._times(X, Z, a, entries)
        return tiles.weighted_exp_of_distances(X, Z, a, self._factor, squared=True)

    def _features(self, X: Array) -> Array:
        raise NoFiniteFeatureMap(
            f"{self!r} has infinitely many features; for the first of them: "
            f"truncated_gaussian(X, sigma={self.sigma!r}, degree=...)"
        )

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"\exp\left(-\frac{{{_norm(x, z, '^2')}}}{{2 \cdot {_number(self.sigma)}^2}}\right)"


@dataclass(frozen=True)
class Exponential(Radial):
    r"""$k(x, x') = \exp(-\lVert x - x'\rVert / \text{length})$: continuous, but with a kink at $x = x'$.

    >>> Exponential(2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3679]])
    """

    length: float = 1.0

    def __post_init__(self) -> None:
        _set(self, length=real(self.length, "length", above=0))

    def profile(self, r: Array) -> Array:
        return np.exp(-r / self.length)

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"\exp\left(-\frac{{{_norm(x, z)}}}{{{_number(self.length)}}}\right)"


@dataclass(frozen=True)
class RationalQuadratic(Radial):
    r"""$k(x, x') = (1 + r^2 / (2\alpha\,\text{length}^2))^{-\alpha}$: a mixture of Gaussians of many widths.

    >>> RationalQuadratic(1.0, alpha=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    length: float = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _set(self, length=real(self.length, "length", above=0), alpha=real(self.alpha, "alpha", above=0))

    def profile(self, r: Array) -> Array:
        x = (r / self.length) ** 2 / (2 * self.alpha)
        if self.alpha < 100:
            return (1 + x) ** -self.alpha
        return np.exp(-self.alpha * np.log1p(x))  # the rounding of 1 + x would grow with alpha

    def latex(self, x: str = "x", z: str = "x'") -> str:
        a = _number(self.alpha)
        return rf"\left(1 + \frac{{{_norm(x, z, '^2')}}}{{2 \cdot {a} \cdot {_number(self.length)}^2}}\right)^{{-{a}}}"


@dataclass(frozen=True)
class Matern(Radial):
    r"""$k = \frac{2^{1-\nu}}{\Gamma(\nu)} s^\nu K_\nu(s)$ with $s = \sqrt{2\nu}\,r/\text{length}$.

    `nu` sets how often a function of the kernel's space can be differentiated: 1/2 is `Exponential`, and as it grows
    the kernel tends to `Gaussian(length)`.

    >>> Matern(1.0, nu=1.5)([[0.0]], [[1.0]]).round(4)
    array([[0.4834]])
    """

    length: float = 1.0
    nu: float = 1.5

    def __post_init__(self) -> None:
        _set(self, length=real(self.length, "length", above=0), nu=real(self.nu, "nu", above=0))
        if self.nu > 100:
            raise ValueError(
                f"nu must be at most 100, got {self.nu:g}: beyond, Gaussian(sigma={self.length:g}) is the same"
            )

    def profile(self, r: Array) -> Array:
        s = np.minimum(np.sqrt(2 * self.nu) * (r / self.length), 800.0)  # beyond, exp(-s) is 0 and inf * 0 would be NaN
        if self.nu == 0.5:
            return np.exp(-s)
        if self.nu == 1.5:
            return (1 + s) * np.exp(-s)
        if self.nu == 2.5:
            return (1 + s + s**2 / 3) * np.exp(-s)
        from scipy.special import gammaln, kve

        near = s < (1.0 if self.nu > 20 else 1e-8)  # there the formula tends to 0 * inf
        far = np.where(near, 1.0, s)  # kve is K_nu(s) * exp(s)
        log_k = (1 - self.nu) * np.log(2) - gammaln(self.nu) + self.nu * np.log(far) + np.log(kve(self.nu, far)) - far
        return np.where(near, self._near(s), np.exp(np.minimum(log_k, 0)))

    def _near(self, s: Array) -> Array:
        r"""The series at 0, $\sum_j \frac{(-s^2/4)^j}{j!\,(\nu - 1) \cdots (\nu - j)}$, exact up to $O(s^{2\nu})$."""
        term, k = np.ones_like(s), np.ones_like(s)
        for j in range(1, min(int(self.nu), 10)):
            term = term * np.minimum(s, 1.0) ** 2 / (-4 * j * (self.nu - j))
            k += term
        return k

    def latex(self, x: str = "x", z: str = "x'") -> str:
        s = rf"\tfrac{{\sqrt{{{_number(2 * self.nu)}}}}}{{{_number(self.length)}}} {_norm(x, z)}"
        nu = _number(self.nu)
        return rf"\frac{{2^{{1-{nu}}}}}{{\Gamma({nu})}} \left({s}\right)^{{{nu}}} K_{{{nu}}}\left({s}\right)"


@dataclass(frozen=True)
class Laplacian(Radial):
    r"""$k(x, x') = \exp(-\lVert x - x'\rVert_1 / h)$ (lecture K): stationary, but in the L1 norm, so not radial.

    >>> Laplacian(h=2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    h: float = 1.0

    def __post_init__(self) -> None:
        _set(self, h=real(self.h, "h", above=0))

    @property
    def _factor(self) -> float:
        return -1 / max(self.h, np.finfo(float).tiny)  # the reciprocal of a smaller one is infinite

    def formula(self, X: Array, Z: Array) -> Array:
        return tiles.exp_of_absolute_distances(X, Z, self._factor)

    def _into(self, K: Array, X: Array, Z: Array) -> None:
        if type(self).formula is not Laplacian.formula:
            return super()._into(K, X, Z)
        tiles.exp_of_absolute_distances(X, Z, self._factor, room=K)

    def _times(self, X: Array, Z: Array, a: Array, entries: int) -> Array:
        if type(self).formula is not Laplacian.formula:
            return super()._times(X, Z, a, entries)
        return tiles.weighted_exp_of_distances(X, Z, a, self._factor, squared=False)

    @property
    def is_radial(self) -> bool:
        return False

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"\exp\left(-\frac{{{_norm(x, z, '_1')}}}{{{_number(self.h)}}}\right)"


@dataclass(frozen=True)
class Periodic(Radial):
    r"""$k(x, x') = \exp(-2 \sum_j \sin^2(\pi (x_j - x_j')/\text{period}) / \text{length}^2)$.

    In several dimensions this is a product of one such kernel a coordinate. (With $\lVert x - x'\rVert$ inside the
    sine it would not be positive semidefinite.)

    >>> Periodic(period=1.0)([[0.25]], [[3.25]]).round(4)
    array([[1.]])
    """

    period: float = 1.0
    length: float = 1.0

    def __post_init__(self) -> None:
        _set(self, period=real(self.period, "period", above=0), length=real(self.length, "length", above=0))

    def formula(self, X: Array, Z: Array) -> Array:
        D = np.zeros((len(X), len(Z)))
        for x_i, z_j in zip(X.T, Z.T, strict=True):  # a column at a time: never an (n, m, d) array
            with np.errstate(over="ignore", invalid="ignore"):
                D += (np.sin(np.pi * (x_i[:, None] - z_j[None, :]) / self.period) / self.length) ** 2
        if np.isnan(D).any():
            raise OverflowError(f"points are too far apart to tell where in a period of {self.period:g} they lie")
        return np.exp(-2 * D)

    @property
    def is_radial(self) -> bool:
        return False

    def latex(self, x: str = "x", z: str = "x'") -> str:
        inner = rf"\sum_j \sin^2\left(\pi ({{{x}}}_j - {{{z}}}_j) / {_number(self.period)}\right)"
        return rf"\exp\left(-\frac{{2 {inner}}}{{{_number(self.length)}^2}}\right)"


class Falling(NamedTuple):
    """A distance of the inputs along which a kernel falls."""

    metric: str  # "euclidean" or "cityblock"
    parts: tuple[On, ...] = ()  # which columns count, first to last

    def inputs(self, X: Array) -> Array:
        """The columns that count."""
        for part in self.parts:
            X = part.inputs(X, "X")
        return X


def falling(kernel: Any) -> Falling | None:
    """The distance along which k falls, if there is one: then neighbours in feature space are those in input space.

    Kernel values do not tell far points apart where they underflow, distances do. Known for exact types only: a
    subclass may compute anything.
    """
    kind = type(kernel)
    if kind in (Gaussian, Exponential, RationalQuadratic, Matern):
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
