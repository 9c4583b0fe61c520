r"""`Kernel`, the interface: check and prepare the points once, then compute.

The public methods `k(X, Z)`, `k.diag(X)`, `k.features(X)` and `k.times(X, Z, a)` accept what a user passes and hand
`k.prepare(X)` to `formula`, `diagonal`, `feature_rows` and `expand`, which check nothing.
"""

from __future__ import annotations

import dataclasses
import numbers
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from typing import Any, ClassVar, Self

import numpy as np

from ..seam import definition
from ..validation import Array, numeric, objects, points, real, slices

__all__ = ["InvalidKernel", "Kernel", "NoFiniteFeatureMap", "VectorKernel"]

# How tightly a kernel's printed form binds, as in Python: a sum needs parentheses inside a product.
SUM, PRODUCT, POWER, ATOM = range(4)
_quiet = partial(np.errstate, over="ignore", invalid="ignore")  # for values that are checked afterwards


class NoFiniteFeatureMap(ValueError):
    """The kernel has no finite explicit feature map, or none until its vocabulary is stated."""


class InvalidKernel(ValueError):
    """A construction that breaks a rule, so that the result need not be positive semidefinite."""


class Objects(list[Any]):
    """A list from which rows can be taken with a slice or an array of indices.

    >>> Objects("abc")[np.array([2, 0])]
    ['c', 'a']
    """

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, np.ndarray):
            return Objects(self[i] for i in np.arange(len(self))[rows].tolist())
        found = super().__getitem__(rows)
        return Objects(found) if isinstance(rows, slice) else found


class Kernel(metaclass=ABCMeta):
    r"""A symmetric positive semidefinite function $k(x, x') = \phi(x)^\top \phi(x')$ (lecture B, eq. 1).

    `k(X)` is the Gram matrix of the points X, `k(X, Z)` the matrix of all $k(x_i, z_j)$, `k.diag(X)` the values
    $k(x_i, x_i)$ without the matrix, `k.features(X)` the rows $\phi(x_i)^\top$ if there are finitely many features.

    A new kernel is a frozen dataclass with its parameters as fields and one method, `formula`. For points that are
    rows of numbers it is a `VectorKernel`, for objects whose parts can be counted a `CountKernel`.

    >>> class Longest(Kernel):
    ...     def formula(self, X, Z):
    ...         return np.minimum.outer([float(len(x)) for x in X], [float(len(z)) for z in Z])
    >>> Longest()(["a", "bcd"])
    array([[1., 1.],
           [1., 3.]])
    """

    tex: ClassVar[str] = r"\operatorname{{{name}}}({x}, {z})"  # k(x, z) in LaTeX, with the fields shown by name
    binding: ClassVar[int] = ATOM
    stationary: ClassVar[bool] = False  # a rule is stationary only if its parts are, too
    radial: ClassVar[bool] = False
    on_vectors: bool = False  # are its points rows of an (n, d) array of numbers?
    __array_ufunc__ = None  # numpy numbers leave `c * k` to us

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """The Gram matrix of X, or the matrix of k between the points of X and those of Z. The caller may change it."""
        P, Q = self._checked(X, Z)
        with _quiet():
            return self._vouched(self.formula(P, Q))

    def times(self, X: Any, Z: Any, a: Any, *, entries: int = 2**20) -> Array:
        r"""$k(X, Z)\, a$ for a vector, or several in columns: `k(X, Z) @ a` in blocks of rows.

        At most `entries` kernel values, or one row of them, are in memory at a time.

        >>> from kernelcourse import Linear
        >>> Linear().times([[1.0], [2.0]], [[1.0], [10.0]], [1.0, 1.0])
        array([11., 22.])
        """
        P, Q = self._checked(X, Z)
        a = numeric(a, "a")
        if a.ndim not in (1, 2) or len(a) != len(Q):
            raise ValueError(f"a has shape {a.shape}, but Z has {len(Q)} points: expected one weight for each")
        with _quiet():
            return self._vouched(self.expand(P, Q, a, entries=entries))

    def diag(self, X: Any) -> Array:
        """The values k(x, x), one for each point, without forming the matrix."""
        return self._finite_diagonal(self.prepare(X, "X"), "X")

    def features(self, X: Any) -> Array:
        r"""The explicit feature map, one row $\phi(x)^\top$ per point: `features(X) @ features(Z).T == k(X, Z)`."""
        with _quiet():
            Phi = self.feature_rows(self.prepare(X, "X"))
        if not np.isfinite(Phi).all():
            raise OverflowError(f"features of {self!r:.80} are too large for a float at these points: scale X down")
        return Phi

    def prepare(self, X: Any, name: str = "X") -> Any:
        """Turn what a user passes into what `formula` takes: a list of objects that `[rows]` can select from."""
        X = objects(X, name)
        return Objects(X) if isinstance(X, (list, tuple)) else X

    @abstractmethod
    def formula(self, P: Any, Q: Any) -> Array:
        """A new matrix of all k(x_i, z_j) for prepared points; `Q is P` asks for the Gram matrix."""

    def diagonal(self, P: Any) -> Array:
        """All k(x_i, x_i), here from Gram matrices of a few points at a time; subclasses may have faster ways."""
        few = [P[rows] for rows in slices(len(P), 32)]
        return np.concatenate([np.diag(self.formula(part, part)) for part in few])

    def feature_rows(self, P: Any) -> Array:
        r"""One row $\phi(x_i)^\top$ for each prepared point."""
        raise NoFiniteFeatureMap(f"{self!r} has no finite feature map")

    @definition
    def expand(self, P: Any, Q: Any, a: Array, *, entries: int = 2**20) -> Array:
        r"""$\sum_j a_j k(x_i, z_j)$ for each $x_i$ (lecture B, eq. 11), a few rows of the matrix at a time."""
        few = slices(len(P), max(1, entries // len(Q)))
        return np.concatenate([self.formula(P[rows], Q) @ a for rows in few])

    def _checked(self, X: Any, Z: Any) -> tuple[Any, Any]:
        """Both sets of points, prepared and checked: they fit together, and k is finite."""
        P = self.prepare(X, "X")
        Q = P if Z is None or Z is X else self.prepare(Z, "Z")
        self._match(P, Q)
        if self._knows_its_diagonal():
            self._finite_diagonal(P, "X")
            if Q is not P:
                self._finite_diagonal(Q, "Z")
        return P, Q

    def _match(self, P: Any, Q: Any) -> None:  # noqa: B027 - most points can be compared
        """Refuse points that cannot be compared with each other."""

    def _finite_diagonal(self, P: Any, name: str) -> Array:
        """By Cauchy-Schwarz no entry exceeds the largest diagonal entry: checking n values covers all n * m."""
        with _quiet():
            diagonal = self.diagonal(P)
        refuse_overflow(self, diagonal, name)
        return diagonal

    def _vouched(self, values: Array) -> Array:
        """Check the values themselves where the diagonal was too expensive to check."""
        if not self._knows_its_diagonal() and not np.isfinite(values).all():
            raise OverflowError(f"{self!r:.80} is not finite at these points: scale them down")
        return values

    def _knows_its_diagonal(self) -> bool:
        own = type(self).diagonal is not Kernel.diagonal
        return own and all(part._knows_its_diagonal() for part in self._parts())

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if callable(formula := cls.__dict__.get("formula")) and not is_ours(formula):
            cls.formula = _copied(formula)  # type: ignore[method-assign]

    @property
    def is_stationary(self) -> bool:
        """Does k(x, x') depend only on x - x'?"""
        return self.stationary and all(part.is_stationary for part in self._parts())

    @property
    def is_radial(self) -> bool:
        """Does k(x, x') depend only on the Euclidean distance between x and x'?"""
        return self.radial and all(part.is_radial for part in self._parts())

    def _parts(self) -> Sequence[Kernel]:
        """The kernels that this one is made of."""
        return ()

    def _own_parameters(self) -> dict[str, Any]:
        names: list[str] = [field.name for field in dataclasses.fields(self)] if dataclasses.is_dataclass(self) else []
        return {name: getattr(self, name) for name in names}

    def _replaced(self, changes: dict[str, Any]) -> Self:
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def parameters(self) -> dict[str, Any]:
        """The parameters by name.

        Those of an inner kernel begin with the path to it; the parts of sums and products are numbered.

        >>> from kernelcourse import Gaussian, Linear
        >>> (0.5 * Gaussian(2.0) + Linear()).parameters()
        {'0': 0.5 * Gaussian(sigma=2.0), '0__c': 0.5, '0__kernel': Gaussian(sigma=2.0), '0__kernel__sigma': 2.0,
         '1': Linear()}
        """
        found = {}
        for name, value in self._own_parameters().items():
            found[name] = value
            if isinstance(value, Kernel):
                found |= {f"{name}__{inner}": v for inner, v in value.parameters().items()}
        return found

    def with_parameters(self, **changes: Any) -> Self:
        """A kernel with some of its `parameters` changed; this one does not change.

        >>> from kernelcourse import Gaussian, Linear
        >>> (0.5 * Gaussian(2.0) + Linear()).with_parameters(**{"0__c": 3.0, "1": Gaussian(1.0)})
        3.0 * Gaussian(sigma=2.0) + Gaussian(sigma=1.0)
        """
        own = self._own_parameters()
        for name in sorted(changes, key=lambda name: name.count("__")):  # a whole kernel comes before its parameters
            head, _, inner = name.partition("__")
            if head not in own:
                raise ValueError(f"{self!r:.80} has no parameter {name!r}; it has {', '.join(self.parameters())}")
            if inner and not isinstance(own[head], Kernel):
                raise ValueError(f"{head} of {self!r:.80} is {own[head]!r:.60}, which has no parameter {inner!r}")
            own[head] = own[head].with_parameters(**{inner: changes[name]}) if inner else changes[name]
        return self._replaced(own) if changes else self

    def __add__(self, other: Any) -> Kernel:
        """$k_1 + k_2$ (6.17); a non-negative number stands for the constant kernel."""
        if isinstance(other, Kernel):
            return rules.Sum.of(self, other)
        if not _is_number(other):
            return NotImplemented
        return self if other == 0 else rules.Sum.of(self, rules.Constant(other))  # 0: where the built-in sum() starts

    def __radd__(self, other: Any) -> Kernel:
        return self + other if not _is_number(other) or other == 0 else rules.Constant(other) + self

    def __mul__(self, other: Any) -> Kernel:
        """$k_1 k_2$ (6.18) or $c\\,k_1$ (6.13)."""
        if isinstance(other, Kernel):
            return rules.Product.of(self, other)
        return rules.Scaled.of(real(other, "c"), self) if _is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Kernel:
        return rules.Scaled.of(1 / real(other, "the divisor", above=0), self) if _is_number(other) else NotImplemented

    def __sub__(self, other: Any) -> Kernel:
        raise InvalidKernel(
            f"{self!r} - {other!r} need not be a kernel: the rule a*k1 + b*k2 needs a, b >= 0. "
            "is_valid_kernel(lambda X, Z: k1(X, Z) - k2(X, Z)) looks for a counterexample"
        )

    __rsub__ = __sub__

    def __neg__(self) -> Kernel:
        return rules.Scaled(-1.0, self)  # raises an error that names the broken rule

    def __pow__(self, power: Any) -> Kernel:
        """$k_1^p$ for a whole number p >= 1: a product of kernels (6.18)."""
        return rules.Power(self, power)

    def exp(self) -> Kernel:
        r"""$\exp(k_1(x, x'))$ (6.16)."""
        return rules.Exp(self)

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        r"""$q(k_1(x, x')) = \sum_i c_i\, k_1(x, x')^i$ with all $c_i \ge 0$ (6.15); `coefficients[i]` is $c_i$."""
        return rules.PolynomialOf(self, coefficients)

    def weighted(self, f: Callable[..., Any]) -> Kernel:
        """$f(x)\\,k_1(x, x')\\,f(x')$ for any real function f (6.14), of one point or of all points at once."""
        return rules.Weighted(self, f)

    def after(self, phi: Callable[..., Any]) -> Kernel:
        r"""$k_1(\phi(x), \phi(x'))$ for any map $\phi$ into the domain of $k_1$ (6.19; lecture K, $k(V(z), V(z'))$)."""
        return rules.After(self, phi)

    def on(self, columns: int | slice | Iterable[int]) -> Kernel:
        """$k_1(x_a, x_a')$ where $x_a$ holds some columns of x; (6.21) and (6.22) are sums and products of these."""
        return rules.On(self, columns)

    def normalized(self) -> Kernel:
        r"""$k_1(x, x') / \sqrt{k_1(x, x)\,k_1(x', x')}$, the cosine in feature space (0 where undefined)."""
        return rules.Normalized(self)

    def latex(self, x: str = "x", z: str = "x'") -> str:
        """The formula of k(x, z) in LaTeX."""
        x_T = rf"({x})^{{\top}}" if "'" in x else rf"{x}^{{\top}}"
        fields = {name: self._shown(value, x, z) for name, value in self._own_parameters().items()}
        return self.tex.format_map({**fields, "name": type(self).__name__, "x": x, "z": z, "x_T": x_T})

    @staticmethod
    def _shown(value: Any, x: str, z: str) -> str:
        if isinstance(value, Kernel):
            return value.latex(x, z)
        return rules.number(value) if isinstance(value, float) else str(value)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle k(x, x') = {self.latex()}$"

    def _in(self, binding: int) -> str:
        """This kernel as part of a larger expression, in parentheses only where Python needs them."""
        return f"({self!r})" if self.binding < binding else repr(self)

    def _latex_in(self, binding: int, x: str, z: str) -> str:
        inner = self.latex(x, z)
        return rf"\left({inner}\right)" if self.binding < binding else inner


class VectorKernel(Kernel):
    """A kernel on the rows of an (n, d) array: `formula` gets two such arrays, whatever the user passed.

    >>> class Quadratic(VectorKernel):
    ...     def formula(self, X, Z):
    ...         return (X @ Z.T + 1) ** 2
    >>> Quadratic()([[1, 2], [0, 1]])
    array([[36.,  9.],
           [ 9.,  4.]])
    """

    on_vectors = True

    def prepare(self, X: Any, name: str = "X") -> Array:
        return points(X, name)

    def _match(self, P: Array, Q: Array) -> None:
        if P.shape[1] != Q.shape[1]:
            raise ValueError(f"X and Z must have the same number of columns, got {P.shape[1]} and {Q.shape[1]}")


def refuse_overflow(kernel: Kernel, values: Array, name: str = "X") -> None:
    """Refuse kernel values, or sums of them, that are too large for a float."""
    finite = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if not finite.all():
        raise OverflowError(f"{kernel!r:.80} is too large for a float at {name}[{finite.argmin()}]: scale {name} down")


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_ours(function: Callable[..., Any]) -> bool:
    """Does this library define the function?"""
    return (getattr(function, "__module__", "") or "").partition(".")[0] == __name__.partition(".")[0]


def _copied(formula: Callable[..., Any]) -> Callable[..., Array]:
    """A user's formula with its result copied: the formula may keep its matrix, and callers may change theirs."""

    @wraps(formula)
    def new_matrix(self: Kernel, P: Any, Q: Any) -> Array:
        return np.array(formula(self, P, Q), dtype=float)

    return new_matrix


def _set(self: Any, **fields: Any) -> None:
    """Store checked fields on a frozen dataclass."""
    for name, value in fields.items():
        object.__setattr__(self, name, value)


from . import rules  # noqa: E402 - the rules are kernels themselves
