r"""Two approximate feature maps with m features: kernel values at landmarks, and random waves.

Both stand for a kernel $\tilde k(x, z) = \phi(x)^\top P^{-1} \phi(z)$, and a function $f = w^\top \phi$ has the squared
norm $w^\top P\, w$. For landmarks $\phi(x) = k_Z(x)$ and $P = K_{ZZ}$; for random waves $P = I$.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..estimators.base import gram, prepared, take
from ..kernels.kernel import Kernel
from ..kernels.vectors import Gaussian, Laplacian, Matern, RationalQuadratic
from ..linalg import cholesky, triangular_solve
from ..seam import definition
from ..validation import Array, choice, generator, owned, points, whole
from . import landmarks as choose
from .chunks import gather, is_dask

__all__ = ["FourierFeatures", "GramError", "LandmarkFeatures", "gram_error", "random_fourier"]

_ENOUGH = 1000
_POOL = 20_000  # k-means++ and leverage scores choose among this many points drawn uniformly, or 10 m if more


class FeatureMap(Protocol):
    """What the methods of this package require of an approximate feature map."""

    @property
    def m(self) -> int:
        """The number of features."""

    def prepare(self, X: Any) -> Any:
        """The points, checked and in the form that `rows` takes; blocks of rows can be cut from them."""

    def rows(self, P: Any) -> Array:
        r"""The rows $\phi(x_i)^\top$ of prepared points."""

    def penalty(self) -> Array:
        r"""The matrix P of the squared norm $w^\top P\, w$."""

    def __call__(self, X: Any) -> Array:
        r"""The rows $\phi(x_i)^\top$."""
        return self.rows(self.prepare(X))


@dataclass(frozen=True, eq=False)
class LandmarkFeatures(FeatureMap):
    r"""$\phi(x) = (k(x, z_1), \dots, k(x, z_m))$: the function lives in the span of m landmarks (the Nyström method).

    With the squared norm $w^\top K_{ZZ}\, w$ it stands for $\tilde K = K_{XZ} K_{ZZ}^{-1} K_{ZX}$ (Williams and Seeger
    2001).

    >>> from kernelcourse.kernels import Linear
    >>> LandmarkFeatures(Linear(), [[1.0], [2.0]])([[3.0]])
    array([[3., 6.]])
    """

    kernel: Kernel
    Z: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "Z", owned(self.Z))  # what the caller does to Z later must not change the features
        object.__setattr__(self, "_landmarks", self.kernel.prepare(self.Z, "Z"))

    @property
    def m(self) -> int:
        return len(self.Z)

    def prepare(self, X: Any) -> Any:
        P = prepared(self.kernel, X)
        if self.kernel.on_vectors and np.shape(X)[1] != np.shape(self.Z)[1]:
            raise ValueError(f"X has {np.shape(X)[1]} columns, but the landmarks have {np.shape(self.Z)[1]}")
        return P

    def rows(self, P: Any) -> Array:
        return self.kernel.formula(P, self._landmarks)  # type: ignore[attr-defined]

    def penalty(self) -> Array:
        """$K_{ZZ}$."""
        return gram(self.kernel, self._landmarks)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class FourierFeatures(FeatureMap):
    r"""$\phi(x) = \sqrt{2/m}\,(\cos \omega_1^\top x, \dots, \sin \omega_1^\top x, \dots)$ with m/2 frequencies.

    If `random_fourier` draws the frequencies, inner products of these features are unbiased estimates of a stationary
    kernel (Rahimi and Recht 2007). `frequencies` has one column per frequency.

    >>> FourierFeatures(np.array([[0.0, np.pi]]))([[1.0]]).round(6) + 0.0
    array([[ 0.707107, -0.707107,  0.      ,  0.      ]])
    """

    frequencies: Array  # (d, m / 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "frequencies", points(self.frequencies, "frequencies").copy())

    @property
    def m(self) -> int:
        return 2 * self.frequencies.shape[1]

    def prepare(self, X: Any) -> Array:
        return points(X, columns=len(self.frequencies))

    @definition
    def rows(self, P: Array) -> Array:
        """The cosines, then the sines."""
        angles = P @ self.frequencies
        return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(self.frequencies.shape[1])

    def penalty(self) -> Array:
        """The identity."""
        return np.eye(self.m)


def random_fourier(kernel: Any, d: int, m: int, *, rng: Any = None) -> FourierFeatures:
    r"""m random Fourier features of a stationary kernel on d inputs (Rahimi and Recht 2007).

    By Bochner's theorem $k(x - z) = \mathrm{E} \cos \omega^\top (x - z)$ for $\omega$ drawn from the kernel's spectral
    density, and $\cos(\alpha - \beta) = \cos\alpha \cos\beta + \sin\alpha \sin\beta$. The estimate is unbiased, and
    its variance falls like 1/m. The density is normal for `Gaussian`, Student's t for `Matern`,
    Cauchy in each coordinate for `Laplacian`, and a mixture of normals for `RationalQuadratic`.

    >>> from kernelcourse.kernels import Gaussian
    >>> phi = random_fourier(Gaussian(1.0), 2, 10_000, rng=0)
    >>> bool(abs(phi([[0.0, 0.0]]) @ phi([[1.0, 1.0]]).T - np.exp(-1)) < 0.02)
    True
    """
    d, m, rng = whole(d, "d", at_least=1), whole(m, "m", at_least=2), generator(rng)
    if m % 2:
        raise ValueError(f"m must be even, a cosine and a sine for each frequency, got {m}")
    half = m // 2
    normal = rng.normal(size=(d, half))
    kind = type(kernel)  # not a subclass, which may compute anything
    if kind is Gaussian:
        return FourierFeatures(normal / kernel.sigma)
    if kind is Matern:
        nu = kernel.nu
        return FourierFeatures(normal / np.sqrt(rng.chisquare(2 * nu, size=half) / (2 * nu)) / kernel.length)
    if kind is RationalQuadratic:
        return FourierFeatures(normal * np.sqrt(rng.gamma(kernel.alpha, 1 / kernel.alpha, size=half)) / kernel.length)
    if kind is Laplacian:
        return FourierFeatures(rng.standard_cauchy(size=(d, half)) / kernel.h)
    raise ValueError(f"no spectral density is known for {kernel!r:.80}: use landmarks, which work with every kernel")


def draw_features(
    kernel: Kernel, X: Any, m: int | None, *, landmarks: str | None, ridge: float, memory: int, rng: Any
) -> FeatureMap:
    """The feature map of an estimator: m points of X, chosen as `landmarks` says, or m random waves if it is None."""
    rng, n = generator(rng), len(X)
    if landmarks is None:
        if not kernel.on_vectors:
            raise ValueError(f"random Fourier features need a stationary kernel on vectors, which {kernel!r} is not")
        return random_fourier(kernel, X.shape[1], _ENOUGH if m is None else m, rng=rng)
    how = choice(landmarks, "landmarks", ("uniform", "kmeans++", "leverage"))
    m = min(n, _ENOUGH) if m is None else whole(m, "m", at_least=1)
    if how == "uniform" or m > n:
        return LandmarkFeatures(kernel, _at(X, choose.uniform_landmarks(n, m, rng=rng)))
    pool = _at(X, choose.uniform_landmarks(n, min(n, max(_POOL, 10 * m)), rng=rng))
    if how == "leverage":
        share = ridge * len(pool) / n  # the pool stands for all points: the same ridge per point
        rows = choose.leverage_landmarks(kernel, pool, m, ridge=share, rng=rng, memory=memory)
    elif kernel.on_vectors:
        rows = choose.kmeans_landmarks(pool, m, rng=rng)
    else:
        raise ValueError(f"landmarks='kmeans++' needs points that are vectors, but {kernel!r} takes other objects")
    return LandmarkFeatures(kernel, take(pool, rows))


def _at(X: Any, rows: np.ndarray) -> Any:
    return gather(X, rows) if is_dask(X) else take(X, rows)


class GramError(NamedTuple):
    """How far an approximate Gram matrix is from the exact one, on a sample of the points."""

    relative: float  # Frobenius norm of the difference over that of K
    largest: float  # largest absolute entry of the difference
    points: int  # how many were sampled


def gram_error(kernel: Kernel, features: FeatureMap, X: Any, *, sample: int = 500, rng: Any = None) -> GramError:
    r"""The error of $\tilde K = \Phi P^{-1} \Phi^\top$ against the exact K, on at most `sample` random points of X.

    >>> from kernelcourse.kernels import Linear
    >>> gram_error(Linear(), LandmarkFeatures(Linear(), [[1.0]]), [[1.0], [2.0], [3.0]]).relative < 1e-12
    True
    """
    size = min(len(X), whole(sample, "sample", at_least=1))
    X = take(X, np.sort(generator(rng).choice(len(X), size=size, replace=False)))
    K, Phi, P = kernel(X), features(X), features.penalty()
    half = triangular_solve(cholesky(P), Phi.T)
    gap = K - half.T @ half
    return GramError(float(np.linalg.norm(gap) / np.linalg.norm(K)), float(np.abs(gap).max()), size)
