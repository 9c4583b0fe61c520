"""Fast twins of the kernels' formulas: matrices filled tile by tile in threads, a Gram matrix by one triangle.

A tile stays in the processor's cache for all operations on it. What is computed above the diagonal is copied below
it, so few entries are computed twice, and the Gram matrix is symmetric to the last digit.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..kernels.counts import CountKernel, ObjectKernel, entries
from ..kernels.kernel import Kernel, Objects, is_ours
from ..kernels.rules import Power
from ..kernels.sets import SetKernel
from ..kernels.strings import gap_weighted
from ..kernels.vectors import Gaussian, Laplacian, Matern, Polynomial, Radial, squared_norms
from ..seam import accelerates, always
from ..validation import Array, slices
from . import threads as fast

ROWS, COLUMNS = 256, 256  # of a tile: 512 kB
TILE = ROWS * COLUMNS
WHOLE = 2**20  # entries: a matrix of up to 8 MB is one product
SLAB_ROWS = 128  # of a larger symmetric one, multiplied together; they stay in the processor's cache
HIGH, WIDE = 512, 512  # rows and columns of any other, multiplied together: 2 MB
ENTRIES = 2**17  # computed by a thread at a time in a compiled loop: 1 MB, which the loop cuts into tiles
MOST_COLUMNS = 32  # with more, one matrix product is faster than the differences of all pairs
WORTH_TILES = 2**12  # entries; with fewer, the formula itself is as fast, unless there are many columns
TINY = np.finfo(float).tiny
CELLS = 2**18  # pairs of places in two strings: 2 MB
SPARSE = 50  # products of numbers in a dense matrix product that take as long as one in a sparse product
FEW_PRODUCTS = 4  # per entry of K, which a sparse product computes in the time that it takes to add up two matrices
EXP_ALONE = np.empty(0)  # the coefficients of no polynomial
EXACT = 2**24  # integers up to here are exact in single precision

Profile = Callable[[Array], Array]  # applied to an array that it may overwrite
Tiles = Callable[[slice, slice], Array]  # a tile's values, given its rows and columns; the caller may change them


def _suit(X: Array, Z: Array, worth: int = WORTH_TILES) -> bool:
    """Whether there are enough points, with the same number of columns in X and Z (the formula refuses others)."""
    return X.shape[1] == Z.shape[1] and (always() or len(X) * len(Z) >= worth)


def _suit_distances(X: Array, Z: Array) -> bool:
    return _suit(X, Z, WORTH_TILES if X.shape[1] <= 4 else 2 * WORTH_TILES // X.shape[1])


def exponent(kernel: Gaussian | Laplacian) -> tuple[float, bool]:
    """The factor of the distances in the exponent, and whether they are squared."""
    if isinstance(kernel, Gaussian):
        return -0.5 / max(kernel.sigma * kernel.sigma, TINY), True
    return -1 / max(kernel.length, TINY), False


@accelerates(Gaussian.formula)
@accelerates(Laplacian.formula)
def exponential(kernel: Gaussian | Laplacian, X: Array, Z: Array) -> Array:
    if not _suit_distances(X, Z):
        return NotImplemented
    factor, squared = exponent(kernel)
    if (loops := loops_for(X, Z)) is None:
        found = _exp_of_products(X, Z, factor) if squared else NotImplemented
        return _filled(X, Z, _exp_of_distances(X, Z, factor, squared)) if found is NotImplemented else found
    K = np.empty((len(X), len(Z)))
    by_rows(loops.exp_of_distances, X, Z, K, Z is X, squared, factor, EXP_ALONE)
    return K


@accelerates(Radial.formula)
def radial(kernel: Radial, X: Array, Z: Array) -> Array:
    if not _suit_distances(X, Z):
        return NotImplemented
    if type(kernel) is Matern and kernel.nu % 1 == 0.5:
        factor, coefficients = (
            -float(np.sqrt(2 * kernel.nu)) / max(kernel.length, 1e-300),
            np.array(kernel._coefficients),
        )
        if (loops := loops_for(X, Z)) is not None:
            K = np.empty((len(X), len(Z)))
            by_rows(loops.exp_of_distances, X, Z, K, Z is X, True, factor, coefficients)
            return K
        if kernel.nu > 1:  # for smaller nu, the rounding of a small squared distance is magnified
            found = _exp_of_products(X, Z, -factor * factor, coefficients=coefficients)
            if found is not NotImplemented:
                return found
    if is_ours(type(kernel).profile):
        tiles, whole = _distances(X, Z, "euclidean", kernel.profile), slice(len(X))
        return tiles(whole, whole) if Z is X and len(X) <= ROWS else _filled(X, Z, tiles)
    return kernel.profile(_filled(X, Z, _distances(X, Z, "euclidean", lambda r: r)))  # called once, in this thread


@accelerates(Polynomial.formula)
def polynomial(kernel: Polynomial, X: Array, Z: Array) -> Array:
    if not _suit(X, Z):
        return NotImplemented
    Z_T = np.ascontiguousarray(Z.T)

    def values(rows: slice, columns: slice) -> Array:
        return integer_power(X[rows] @ Z_T[:, columns] + kernel.offset, kernel.degree)

    return _filled(X, Z, values, products=True)


@accelerates(Power.value)
def power(kernel: Power, k: Array) -> Array:
    return integer_power(k, kernel.power)


@accelerates(ObjectKernel.prepare)
def sets_of_plain_elements(kernel: ObjectKernel, X: Any, name: str = "X") -> Objects:
    """Sets whose elements are all texts and whole numbers, which need no check one by one."""
    if not isinstance(kernel, SetKernel) or type(kernel).counts is not SetKernel.counts or kernel.universe is not None:
        return NotImplemented
    plain = type(X) in (list, tuple) and X and set(map(type, X)) <= {set, frozenset}
    if not plain or not set(map(type, chain.from_iterable(X))) <= {str, int}:
        return NotImplemented
    return Objects(map(dict.fromkeys, X, repeat(1)))


@accelerates(CountKernel.formula)
def count_gram(kernel: CountKernel, X: Sequence[Mapping[Any, float]], Z: Sequence[Mapping[Any, float]]) -> Array:
    """The parts that many objects have by a dense product, the others by a sparse one."""
    lengths, columns, values, shape = entries(X if Z is X else [*X, *Z])
    C: Any = csr_array((values, columns, np.cumsum([0, *lengths], dtype=np.int32)), shape=shape)
    C.sort_indices()  # every sum then runs in the same order, and the Gram matrix is symmetric to the last digit
    K, n, shares = np.zeros((len(X), len(Z))), len(X), np.square(np.bincount(columns, minlength=shape[1]) / shape[0])
    often = SPARSE * shares > 1
    if shares[often].sum() > FEW_PRODUCTS:
        D, C = C[:, often].toarray(), C[:, ~often]
        if (D % 1 == 0).all() and np.einsum("ij,ij->i", D, D).max() < EXACT:  # a bound for all entries
            D = D.astype(np.float32)
        K = (D @ D.T if Z is X else D[:n] @ D[n:].T).astype(float, copy=False)
    if C.nnz > 0:
        A, B = (C, C.T.tocsr()) if Z is X else (C[:n], C[n:].T.tocsr())
        if (loops := fast.compiled(K.size)) is None:
            return K + A @ B

        def work(rows: slice) -> None:
            loops.add_sparse_product(K, rows.start, rows.stop, A, B)

        fast.in_threads(work, fast.slabs(*K.shape), K.size)
    return K


@accelerates(gap_weighted)
def subsequences(s: Array, T: Array, **options: Any) -> Array:
    """Process as many strings at once as the processor's cache can hold."""
    few = slices(T.shape[1], max(1, CELLS // max(1, len(s) * len(T))))
    return np.concatenate([gap_weighted.plain(s, T[:, strings], **options) for strings in few])  # type: ignore[attr-defined]


@accelerates(Kernel.expand)
def expand(kernel: Any, P: Any, Q: Any, a: Array, *, entries: int = 0) -> Array:
    """Sums of exponentials without the matrix, whatever `entries` allows; other kernels use the definition."""
    if type(kernel).formula not in (Gaussian.formula, Laplacian.formula) or not _suit_distances(P, Q):
        return NotImplemented
    factor, squared = exponent(kernel)
    if (loops := loops_for(P, Q)) is None:
        return _exp_of_products(P, Q, factor, a) if squared else NotImplemented
    columns = fast.in_rows(a.reshape(len(Q), -1).T)
    sums = np.zeros((len(P), len(columns)))
    by_rows(loops.weighted_exp_of_distances, P, Q, columns, sums, squared, factor)
    return sums.reshape(len(P), *a.shape[1:])


def integer_power(values: Array, power: int) -> Array:
    """`values ** power` by repeated squaring: a few products, where `**` would compute a logarithm of each entry."""
    if power < 2:
        return values if power == 1 else np.ones_like(values)
    with np.errstate(over="ignore", invalid="ignore"):
        square = values * values
        result = integer_power(square, power // 2)
        if power % 2:
            result *= values
    return result


def _three_terms(X: Array, Z: Array, factor: float) -> tuple[Array, Array, Array, Array] | None:
    r"""A, B, a, b with $\text{factor}\, \lVert x_i - z_j\rVert^2 = -2\,\text{factor}\, A_i^\top B_j + a_i + b_j$.

    None if rounding could reach 1e-10 in the exponent.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        for centred in (False, True) if X.shape[1] > MOST_COLUMNS else (True,):
            # A shift changes no distance, but far from the origin the three terms nearly cancel.
            A = X - X.mean(axis=0) if centred else X
            B = A if Z is X else Z - X.mean(axis=0) if centred else Z
            a, b = squared_norms(A), squared_norms(B)
            if np.finfo(float).eps * (a.max() + b.max()) * -factor < 0.5e-10:
                return A, B, factor * a, factor * b
    return None


def _exp_of_products(
    X: Array, Z: Array, factor: float, weights: Array | None = None, coefficients: Array = EXP_ALONE
) -> Array:
    """The matrix, or its product with weights, from matrix products and a compiled exp.

    It declines few columns, terms that would cancel, and without compiled loops all but the matrix of a Gaussian.
    """
    loops = fast.compiled(len(X) * len(Z))
    if X.shape[1] <= MOST_COLUMNS or (loops is None and (weights is not None or len(coefficients))):
        return NotImplemented
    if (terms := _three_terms(X, Z, factor)) is None:
        return NotImplemented
    (A, B, a, b), n, m, scale = terms, len(X), len(Z), -2 * factor
    if loops is None or n * m <= WHOLE:  # one product: for a symmetric matrix, BLAS computes half of it
        K = A @ B.T
        if loops is None:
            _exp_in_place(K, scale, a, b)
        else:
            loops.exp_of_products(K, scale, a, b, K, 0, False, coefficients)
        if Z is X:
            np.fill_diagonal(K, 1)
        return K if weights is None else K @ weights
    if Z is X and weights is None:
        K = np.empty((n, n))
        for rows in slices(n, SLAB_ROWS):
            loops.exp_of_products(A[rows] @ B[rows.start :].T, scale, a, b, K, rows.start, True, coefficients)
        return K
    K, width = (np.empty((n, m)), m) if weights is None else (np.zeros((n, *weights.shape[1:])), WIDE)
    for rows in slices(n, HIGH):
        for columns in slices(m, width):
            G = np.matmul(A[rows], B[columns].T, out=K[rows] if weights is None else None)
            loops.exp_of_products(G, scale, a[rows], b[columns], G, 0, False, coefficients)
            if weights is not None:
                K[rows] += G @ weights[columns]
    return K


def _exp_in_place(K: Array, scale: float, a: Array, b: Array) -> None:
    def work(rows: slice) -> None:
        K[rows] *= scale
        K[rows] += a[rows, None] + b
        np.exp(np.minimum(K[rows], 0, out=K[rows]), out=K[rows])

    fast.in_threads(work, fast.slabs(len(a), len(b), TILE), K.size)


def _exp_of_distances(X: Array, Z: Array, factor: float, squared: bool) -> Tiles:
    r"""The squares as $\lVert x_i\rVert^2 - 2 x_i^\top z_j + \lVert z_j\rVert^2$, from products of tiles; where
    that rounds too much, each distance is computed separately."""
    if not squared or (terms := _three_terms(X, Z, factor)) is None:
        metric = "sqeuclidean" if squared else "cityblock"
        return _distances(X, Z, metric, lambda D: np.exp(np.multiply(D, factor, out=D), out=D))
    A, B, a, b = terms

    def values(rows: slice, columns: slice) -> Array:
        D = (-2 * factor * A[rows]) @ B[columns].T
        D += b[columns]
        D += a[rows, None]
        np.minimum(D, 0, out=D)
        if Z is X and rows == columns:
            np.fill_diagonal(D, 0)
        return np.exp(D, out=D)

    return values


def _distances(X: Array, Z: Array, metric: str, profile: Profile) -> Tiles:
    """A profile of the distances; a tile on the diagonal computes each pair once."""
    from scipy.spatial.distance import cdist, pdist, squareform

    def values(rows: slice, columns: slice) -> Array:
        with np.errstate(over="ignore"):  # a distance divided by a tiny width
            if Z is not X or rows != columns:
                return profile(cdist(X[rows], Z[columns], metric))
            K = squareform(profile(pdist(X[rows], metric)), checks=False)
        np.fill_diagonal(K, profile(np.zeros(1)))
        return K

    return values


def _filled(X: Array, Z: Array, tiles: Tiles, products: bool = False) -> Array:
    """The matrix, its tiles computed in threads; where Z is X, each tile is also stored transposed."""
    n, m, symmetric = len(X), len(Z), Z is X
    K = np.empty((n, m))

    def work(rows: slice) -> None:
        for part in [rows, *slices(m, COLUMNS, rows.stop)] if symmetric else slices(m, COLUMNS):
            K[rows, part] = values = tiles(rows, part)
            if symmetric and part == rows:
                np.copyto(K[rows, rows], values.T, where=np.tri(len(values), k=-1, dtype=bool))
            elif symmetric:
                K[part, rows] = values.T

    fast.in_threads(work, slices(n, ROWS), n * m * (1 + X.shape[1] // 8), products=products)
    return K


def loops_for(X: Array, Z: Array) -> fast.Loops:
    return fast.compiled(len(X) * len(Z)) if X.shape[1] <= MOST_COLUMNS else None


def by_rows(loop: Callable[..., None], X: Array, Z: Array, *rest: Any) -> None:
    """A compiled loop over slabs of the rows of X, in threads."""
    X_, Z_T = fast.in_rows(X), np.ascontiguousarray(Z.T)

    def work(rows: slice) -> None:
        loop(X_, Z_T, rows.start, rows.stop, *rest)

    fast.in_threads(work, fast.slabs(len(X), len(Z), ENTRIES), len(X) * len(Z))
