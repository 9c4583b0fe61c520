"""Twins of kernels that count: products of sparse matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..kernels.counts import CountKernel, entries
from ..seam import accelerates
from ..validation import Array

DENSE = 0.1  # of the counts not 0: then a product of whole matrices is faster than one that looks for them


@accelerates(CountKernel.formula)
def count_gram(kernel: CountKernel, X: Sequence[Mapping[Any, float]], Z: Sequence[Mapping[Any, float]]) -> Array:
    C = matrix(X if Z is X else [*X, *Z])
    K = C @ C.T if Z is X else C[: len(X)] @ C[len(X) :].T
    return K if isinstance(K, np.ndarray) else K.toarray()


def matrix(counted: Sequence[Mapping[Any, float]]) -> Any:
    lengths, columns, values, shape = entries(counted)
    C = csr_array((values, columns, np.append(0, np.cumsum(lengths, dtype=np.int32))), shape=shape)
    C.sort_indices()  # every sum then runs in the same order, and the Gram matrix is symmetric to the last digit
    return C.toarray() if C.nnz > DENSE * np.prod(shape) else C
