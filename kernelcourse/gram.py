"""Functions of the Gram matrix K: centring, normalising, distances, and whether it can come from a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from .kernels.kernel import Kernel
from .validation import Array, generator, numeric, points, real, same_length, square, take, vector, whole

__all__ = [
    "Verdict", "alignment", "center", "centre", "is_psd", "is_valid_kernel", "normalise",
    "normalize", "squared_feature_distances", "target_alignment",
]  # fmt: skip


def center(K: Any, K_train: Any = None) -> Array:
    r"""The Gram matrix of the features minus their mean, $\tilde K = (I - \tfrac1n 11^\top) K (I - \tfrac1n 11^\top)$.

    If `K_train` is given, `K` holds the rows $k(x, x_j)$ of new points against the n training points, and the
    training points' mean is subtracted.

    >>> center([[2.0, 0.0], [0.0, 2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    train = square(K) if K_train is None else square(K_train, "K_train")
    rows = points(K, "K", columns=len(train))
    return rows - (rows.mean(axis=1, keepdims=True) + train.mean(axis=0)) + train.mean()


def normalize(K: Any) -> Array:
    r"""The Gram matrix of the features scaled to length one, $K_{ij}/\sqrt{K_{ii} K_{jj}}$ (0 for 0/0).

    >>> normalize([[4.0, 2.0], [2.0, 4.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    K = square(K)
    diagonal = np.diag(K)
    if (diagonal < 0).any():
        i = int(np.argmin(diagonal))
        raise ValueError(f"K[{i}, {i}] = {diagonal[i]:g} is negative: no kernel gives k(x, x) < 0")
    scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(K)), where=diagonal > 0)
    return scale[:, None] * scale[None, :] * K


def squared_feature_distances(K: Any) -> Array:
    r"""$\lVert\phi(x_i) - \phi(x_j)\rVert^2 = K_{ii} - 2K_{ij} + K_{jj}$ (lecture I, algorithm 2).

    >>> squared_feature_distances([[1.0, 0.0], [0.0, 1.0]])
    array([[0., 2.],
           [2., 0.]])
    """
    K = square(K)
    k_i, k_j = np.diag(K)[:, None], np.diag(K)[None, :]  # (n, 1), (1, n)
    return np.maximum((k_i + k_j) - 2 * K, 0)


def is_psd(K: Any, tol: float = 1e-10) -> bool:
    r"""Is K symmetric, with no eigenvalue below $-\text{tol}\cdot\max_i|\lambda_i|$ (lecture B, 6.2; lectures K1, H1)?

    >>> is_psd([[2.0, 1.0], [1.0, 2.0]]), is_psd([[1.0, 2.0], [2.0, 1.0]])
    (True, False)
    """
    K, tol = points(K, "K"), real(tol, "tol", at_least=0)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be square, got shape {K.shape}")
    scale = float(np.abs(K).max())
    if not np.allclose(K, K.T, rtol=0, atol=max(tol, 1e-12) * scale):
        return False
    values = np.linalg.eigvalsh(K)
    return bool(values[0] >= -tol * max(abs(values[0]), abs(values[-1])))


@dataclass(frozen=True, eq=False)
class Verdict:
    """The result of a search for a counterexample; true if none was found.

    For an asymmetric function, `points` holds two points with k(x, z) != k(z, x). Otherwise, `a` holds coefficients
    with `value` $= a^\\top K a < 0$ on those points, which no kernel allows.
    """

    valid: bool
    tried: int
    points: Any = None
    K: Any = None
    a: Any = None
    value: float | None = None
    reason: str = "no counterexample found"

    def __bool__(self) -> bool:
        return self.valid

    def __repr__(self) -> str:
        if self.valid:
            return f"no counterexample in {self.tried} samples (this does not prove that there is none)"
        try:
            listed = np.array2string(np.asarray(self.points), precision=4) if len(self.points) <= 8 else "..."
        except ValueError:  # objects of different lengths
            listed = repr(self.points)
        coefficients = "" if self.a is None else f"\na = {np.array2string(self.a, precision=4)}"
        return f"not a kernel: {self.reason}\npoints =\n{listed}{coefficients}"


def is_valid_kernel(
    k: Callable[..., Any], sample: Any = None, *, rng: Any = None, trials: int = 200, tol: float = 1e-9
) -> Verdict:
    r"""Look for points that prove that k is not a kernel: their K is not positive semidefinite (lecture B, 6.2).

    `k` is a kernel, a function of two points, or a function `k(X, Z)` that returns the whole matrix. `sample` is a
    list of points to choose from, or a function `sample(n, rng)` that draws n points; without it, points on the line
    and in the plane at several scales are tried. Points that a counterexample does not need are dropped from it.
    A kernel always passes; for any other function, passing is evidence, not a proof.

    >>> verdict = is_valid_kernel(lambda x, z: np.linalg.norm(x - z), rng=0)
    >>> bool(verdict), len(verdict.points), bool(verdict.value < 0)
    (False, 2, True)
    >>> bool(is_valid_kernel(lambda x, z: np.exp(-np.sum((x - z) ** 2)), rng=0))
    True
    """
    if not callable(k):
        raise TypeError(f"k must be a kernel or a function of two points, got {k!r}")
    if sample is not None and not callable(sample):
        sample = _pool(sample)
    rng, tol, trials = generator(rng), real(tol, "tol", at_least=0), whole(trials, "trials", at_least=1)
    best: Verdict | None = None
    size, tried, refused = 2, 0, None
    for trial in range(trials):
        X = _draw(sample, size, trial, rng)
        try:
            K = k(X) if isinstance(k, Kernel) else _matrix(k, X)
        except (OverflowError, ValueError) as error:
            if not isinstance(k, Kernel):
                raise
            refused = error  # this kernel does not accept such points: too large, or of another dimension
            continue
        found = _counterexample(X, K, tol, trial + 1)
        if found is not None and (best is None or len(found.points) < len(best.points)):
            best = found
        if best is not None and (len(best.points) <= 2 or trial > 20):
            return best
        size = min(size + 1, 12) if trial % 3 == 2 else size
        tried += 1
    if best is None and tried == 0:
        raise ValueError(f"k accepted none of the points tried ({refused}): pass a sample of points that it accepts")
    return best or Verdict(valid=True, tried=tried)


def _pool(sample: Any) -> Any:
    """Points to choose from: rows of numbers as an array, other objects as a list."""
    if len(sample) == 0:
        raise ValueError("sample must hold at least one point, got none")
    rows = all(isinstance(row, (list, tuple, np.ndarray)) for row in sample) and len({len(row) for row in sample}) == 1
    array = np.asarray(sample) if rows or hasattr(sample, "shape") else np.empty(0)
    return array if array.ndim > 1 else list(sample)


def _draw(sample: Any, n: int, trial: int, rng: np.random.Generator) -> Any:
    """Draw n points from the user's sampler or pool, or from the plane and the line at scales from 1/4 to 16."""
    if callable(sample):
        return sample(n, rng)
    if sample is not None:
        return take(sample, rng.permutation(len(sample))[:n])
    return rng.normal(size=(n, 1 + trial % 2)) * 2.0 ** rng.integers(-2, 5)


def _matrix(k: Callable[..., Any], X: Any) -> Array:
    """The matrix of all k(x_i, x_j), from a function of two arrays or of two points."""
    n = len(X)
    try:
        K = np.asarray(k(X, X), dtype=float)
        one = np.asarray(k(X[:1], X[-1:]), dtype=float)
        # A function of two points may also return something for arrays; a matrix function gives (1, 1) for one pair.
        whole_matrix = K.shape == (n, n) and one.shape == (1, 1) and np.isclose(one[0, 0], K[0, -1])
    except Exception:  # noqa: BLE001 - a function of two points may fail on arrays in any way
        whole_matrix = False
    if not whole_matrix:
        K = np.array([[np.asarray(k(x, z), dtype=float) for z in X] for x in X])
        if K.shape != (n, n):
            raise ValueError(f"k(x, z) must be one number for two points, got shape {K.shape[2:]}")
    return numeric(K, "the matrix of k(x_i, x_j)")


def _counterexample(X: Any, K: Array, tol: float, tried: int) -> Verdict | None:
    scale = max(float(np.abs(K).max()), np.finfo(float).tiny)
    gap = np.abs(K - K.T)
    if gap.max() > max(tol, 1e-12) * scale:
        i, j = map(int, np.unravel_index(np.argmax(gap), gap.shape))
        reason = f"not symmetric, k(x, z) = {K[i, j]:.4g} but k(z, x) = {K[j, i]:.4g}"
        return Verdict(False, tried, take(X, [i, j]), K[np.ix_([i, j], [i, j])], reason=reason)
    if np.linalg.eigvalsh(K)[0] >= -tol * scale:
        return None
    kept = list(range(len(K)))
    for i in range(len(K)):  # drop every point that the proof does not need
        rest = [j for j in kept if j != i]
        if rest and np.linalg.eigvalsh(K[np.ix_(rest, rest)])[0] < -tol * scale:
            kept = rest
    K = K[np.ix_(kept, kept)]
    a = np.linalg.eigh(K)[1][:, 0]
    value = float(a @ K @ a)
    points = "1 point" if len(kept) == 1 else f"{len(kept)} points"
    return Verdict(False, tried, take(X, kept), K, a, value, f"a'Ka = {value:.4g} < 0 on {points}")


def alignment(K: Any, L: Any) -> float:
    r"""The cosine $\langle K, L\rangle_F / (\lVert K\rVert_F \lVert L\rVert_F)$ between two Gram matrices.

    >>> round(alignment([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]), 4)
    0.7071
    """
    K, L = square(K, "K"), square(L, "L")
    same_length(L, "L", len(K))
    if not K.any() or not L.any():
        raise ValueError("alignment is undefined for a zero matrix")
    K, L = K / np.abs(K).max(), L / np.abs(L).max()  # large or tiny entries must not overflow or vanish when squared
    return float(np.vdot(K, L) / (np.linalg.norm(K) * np.linalg.norm(L)))


def target_alignment(K: Any, t: Any) -> float:
    r"""How well K matches the targets: the alignment of the centred K with $t t^\top$, t centred (lecture K12).

    >>> round(target_alignment([[1.0, -1.0], [-1.0, 1.0]], [1.0, -1.0]), 4)
    1.0
    """
    centered = center(K)
    t = centered_targets(t, length=len(centered))
    if np.abs(centered).max() <= 1e-12 * np.abs(K).max():
        raise ValueError("K is constant: centred, it is zero and has no alignment")
    return alignment(centered, np.outer(t, t))


def centered_targets(t: Any, *, length: int) -> Array:
    """t minus its mean; a constant t, with which nothing can be aligned, is refused."""
    t = vector(t, "t", length=length)
    if np.ptp(t) <= 1e-12 * np.abs(t).max():
        raise ValueError("t is constant: no kernel can be aligned with it")
    return t - t.mean()


def _renamed(old: str, new: Callable[..., Array]) -> Callable[..., Array]:
    """The function under its old name, which works for one more release; a warning gives the new name."""

    @wraps(new)
    def alias(*args: Any, **kwargs: Any) -> Array:
        message = f"{old} is now called {new.__name__}: the old name will be removed"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return new(*args, **kwargs)

    alias.__name__ = alias.__qualname__ = old
    return alias


centre = _renamed("centre", center)
normalise = _renamed("normalise", normalize)
