"""Kernel logistic regression by products with K, of which one triangle is read."""

from __future__ import annotations

from typing import Any

from ..algorithms import logistic
from ..seam import accelerates
from ..validation import Array
from .linalg import times
from .threads import one_thread


class Symmetric:
    """A symmetric matrix that is only multiplied with."""

    def __init__(self, K: Array) -> None:
        self.K = K

    def __matmul__(self, v: Array) -> Array:
        return times(self.K, v)


@accelerates(logistic.newton_by_products)
def newton_by_products(K: Array, y: Array, **numbers: Any) -> logistic.LogisticFit | None:
    """The same steps. For few points two threads cost a product more than they save."""
    with one_thread(len(y) < 4000):
        return logistic.newton_by_products.plain(Symmetric(K), y, **numbers)  # type: ignore[attr-defined]
