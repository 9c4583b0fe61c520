"""The compiled inner loops of `loops.c`, called with numpy's arrays; only `threads.compiled` imports this module.

They release the GIL, so that threads can share a job. `hatch_build.py` compiles them when the package is installed;
where it found no compiler, importing this module fails.
"""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy.ctypeslib import ndpointer
from numpy.typing import NDArray

from ..validation import Array

Indices = NDArray[np.intp]


def _library() -> ctypes.CDLL:
    """The library for this processor."""
    plain, wide = (Path(__file__).with_name(name) for name in ("libloops.so", "libloops_avx2.so"))
    try:
        library = ctypes.CDLL(str(plain))
    except OSError as error:
        raise ImportError(f"there are no compiled loops for this machine: {error}") from error
    library.has_avx2.restype = ctypes.c_bool
    return ctypes.CDLL(str(wide)) if wide.exists() and library.has_avx2() else library


def _rows_of(kind: Any) -> Any:
    """An array stored by rows, without gaps; ctypes refuses any other."""
    return ndpointer(kind, flags="C_CONTIGUOUS")


# The arguments of the functions below, a letter for each: an array of (A) doubles, (I)ndices, (S)hort indices
# or (R) numbers of either precision; a (w)hole number, a (d)ouble, a (b)ool; (-) nothing.
LETTERS = {"A": _rows_of(float), "I": _rows_of(np.intp), "S": _rows_of(np.int32)}
LETTERS |= {"w": ctypes.c_ssize_t, "d": ctypes.c_double, "b": ctypes.c_bool, "-": None}
_LIBRARY = _library()


def _c(name: str, takes: str, gives: str = "-", letters: dict[str, Any] = LETTERS) -> Any:
    """The function of this name."""
    function = getattr(_LIBRARY, name)
    function.argtypes, function.restype = [letters[letter] for letter in takes], letters[gives]
    return function


def _of_kind(name: str, takes: str, gives: str = "-") -> dict[Any, Any]:
    """The functions for numbers of double and of single precision."""
    kinds = {np.dtype(kind): LETTERS | {"R": _rows_of(kind)} for kind in ("double", "single")}
    return {kind: _c(f"{name}_{kind.name}", takes, gives, letters) for kind, letters in kinds.items()}


_waves = _c("waves_in_place", "Awwd")
_distances = _c("exp_of_distances", "AAwwwwAbbdAw")
_weighted = _c("weighted_exp_of_distances", "AAwwwwAwAbd")
_products = _c("exp_of_products", "AwwdAAAwwbAw")
_pairs = _c("squares_of_pairs", "AAwIIwA")
_sparse = _c("add_sparse_product", "AwwwSSASSA")
_perceptron = _c("perceptron_epoch", "AwAIwIA", "w")
_logistic = _c("logistic_sgd", "AwAIwddAA")
_svm = _c("svm_sgd", "AwAIwdAAA")
_certificate = _c("gap_and_objective", "wAAdAAAA")
_between = _c("between", "Aww", "d")
_symmetric = _c("rows_are_symmetric", "Awwwd", "b")
_among = _c("among", "AwIwA")
_insert = _of_kind("insert_largest", "RwwAwAIw")
_descend = _of_kind("descend", "RwAAAAAAwdb", "w")
_problems = _of_kind("small_problems", "RwRwwbdIAIwwdbdIAA", "b")
_coordinates = _of_kind("coordinate_descent", "RwwAAddwIAAA", "w")


def waves_in_place(waves: Array, scale: float) -> None:
    _waves(waves, *waves.shape, scale)


def exp_of_distances(
    X: Array, Z_T: Array, first: int, last: int, K: Array, symmetric: bool, squared: bool, factor: float,
    coefficients: Array,
) -> None:  # fmt: skip
    _distances(X, Z_T, *Z_T.shape, first, last, K, symmetric, squared, factor, coefficients, len(coefficients))


def weighted_exp_of_distances(
    X: Array, Z_T: Array, first: int, last: int, weights: Array, sums: Array, squared: bool, factor: float
) -> None:
    _weighted(X, Z_T, *Z_T.shape, first, last, weights, len(weights), sums, squared, factor)


def exp_of_products(
    G: Array, scale: float, a: Array, b: Array, K: Array, top: int, symmetric: bool, coefficients: Array
) -> None:
    _products(G, *G.shape, scale, a, b, K, K.shape[1], top, symmetric, coefficients, len(coefficients))


def insert_largest(S: Array, half: Array, start: int, best: Array, where: Indices) -> None:
    _insert[S.dtype](S, *S.shape, half, start, best, where, best.shape[1])


def squares_of_pairs(X: Array, Z: Array, i: Indices, j: Indices) -> Array:
    squares = np.empty(len(i))
    _pairs(X, Z, X.shape[1], i, j, len(i), squares)
    return squares


def add_sparse_product(K: Array, first: int, last: int, A: Any, B: Any) -> None:
    """Both are scipy's sparse matrices in compressed rows."""
    _sparse(K, K.shape[1], first, last, A.indptr, A.indices, A.data, B.indptr, B.indices, B.data)


def perceptron_epoch(K: Array, y: Array, order: Indices, alpha: Indices, f: Array) -> int:
    return _perceptron(K, len(K), y, order, len(order), alpha, f)


def logistic_sgd(K: Array, y: Array, order: Indices, step: float, ridge: float, a: Array, q: Array) -> None:
    _logistic(K, len(K), y, order, len(order), step, ridge, a, q)


def svm_sgd(K: Array, y: Array, order: Indices, lam: float, hits: Array, total: Array, f: Array) -> None:
    _svm(K, len(K), y, order, len(order), lam, hits, total, f)


def gap_and_objective(y: Array, f: Array, b: float, lo: Array, hi: Array, c: Array) -> Array:
    found = np.empty(3)
    _certificate(len(y), y, f, b, lo, hi, c, found)
    return found


def between(x: Array, k: int) -> float:
    return _between(x, len(x), k)


def rows_are_symmetric(K: Array, first: int, last: int, slack: float) -> bool:
    return _symmetric(K, len(K), first, last, slack)


def among(K: Array, chosen: Indices) -> Array:
    part = np.empty((len(chosen), len(chosen)))
    _among(K, K.shape[1], chosen, len(chosen), part)
    return part


def descend(
    K: Array, diag: Array, lo: Array, hi: Array, c: Array, r: Array, steps: int, tol: float, offset: bool
) -> int:
    n = len(c)
    return _descend[K.dtype](K, n, diag, lo, hi, c, r, np.empty(3 * n), steps, tol, offset)


def small_problems(
    K: Array, X_T: Array, squared: bool, factor: float, rows: Indices, y: Array, starts: Indices, first: int, last: int,
    C: float, offset: bool, gap: float, most: Indices, c: Array, found: Array,
) -> None:  # fmt: skip
    source = K, len(K), X_T, *X_T.shape, squared, factor
    if not _problems[K.dtype](*source, rows, y, starts, first, last, C, offset, gap, most, c, found):
        raise MemoryError("there is not enough memory for the rows of K that one problem needs")


def coordinate_descent(
    Psi: Array, squares: Array, y: Array, C: float, gap: float, most: int, alpha: Array, w: Array
) -> tuple[int, float, float]:
    found = np.empty(2)
    active = np.empty(len(Psi), dtype=np.intp)
    passes = _coordinates[Psi.dtype](Psi, *Psi.shape, squares, y, C, gap, most, active, alpha, w, found)
    return passes, *found.tolist()
