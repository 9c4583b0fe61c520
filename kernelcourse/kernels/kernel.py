"""`Kernel`, and the rules that build new kernels from old ones (lecture B, approach 3; Bishop 6.13 to 6.22).

Each rule is a class that carries its own proof: `formula` combines the values of the kernels, `features` combines
their feature maps, and the test suite holds the two equal.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np

from .._engine.gram import integer_power
from .._engine.threads import SLAB, slabs
from ..validation import Array, numeric, points, real, rows, whole
from .forwarding import Forwarding
from .pointwise import apply

# How tightly a kernel's printed form binds, as in Python: a sum needs parentheses inside a product.
SUM, PRODUCT, POWER, ATOM = range(4)
MOST_FEATURES = 10**7  # a row of so many floats has 80 MB


class NoFiniteFeatureMap(ValueError):
    """The kernel has no finite explicit feature map, or none until its vocabulary is stated."""


class InvalidKernel(ValueError):
    """A construction that breaks the rule by which kernels stay positive semidefinite."""


class Kernel(Forwarding, ABC):
    r"""A symmetric positive semidefinite function $k(x, x') = \phi(x)^\top \phi(x')$ (lecture B, eq. 1).

    `k(X)` is the Gram matrix of the points X, `k(X, Z)` the matrix of all $k(x_i, z_j)$, `k.diag(X)` the values
    $k(x_i, x_i)$ without the matrix, `k.features(X)` the rows $\phi(x_i)^\top$ where they are finite.

    A new kernel is a frozen dataclass with its parameters as fields and one method, `formula`.
    """

    binding: ClassVar[int] = ATOM
    __array_ufunc__ = None  # numpy numbers leave `c * k` to us

    # --- evaluation

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """The Gram matrix of X, or the matrix of k between the points of X and those of Z; the caller may change it."""
        K = self.formula(*self._pair(X, Z))
        return K if _is_ours(type(self).formula) else np.array(K, dtype=float)  # a user's formula may keep its matrix

    def times(self, X: Any, Z: Any, a: Any, *, entries: int = SLAB) -> Array:
        r"""$k(X, Z)\, a$ for a vector, or a matrix of several: `k(X, Z) @ a`, where k(X, Z) is never formed.

        At most so many `entries` of it are there at a time, or one row.

        >>> from kernelcourse import Linear
        >>> Linear().times([[1.0], [2.0]], [[1.0], [10.0]], [1.0, 1.0])
        array([11., 22.])
        """
        X, Z = self._pair(X, Z)
        a = numeric(a, "a")
        if a.ndim not in (1, 2) or len(a) != len(Z):
            raise ValueError(f"a has shape {a.shape}, but Z has {len(Z)} points: a weight for each is wanted")
        return self._times(X, Z, a, entries)

    def diag(self, X: Any) -> Array:
        """The values k(x, x), one for each point, without forming the matrix."""
        return self._finite_diag(self.inputs(X, "X"), "X")

    def features(self, X: Any) -> Array:
        r"""The explicit feature map, one row $\phi(x)^\top$ a point: `features(X) @ features(Z).T == k(X, Z)`."""
        with np.errstate(over="ignore", invalid="ignore"):
            Phi = self._features(self.inputs(X, "X"))
        if not np.isfinite(Phi).all():
            raise OverflowError(f"features of {self!r:.80} are too large for a float at these points: scale X down")
        return Phi

    @abstractmethod
    def formula(self, X: Any, Z: Any) -> Array:
        """A new matrix of all k(x_i, z_j), which the caller may change; `Z is X` asks for the Gram matrix."""

    def _times(self, X: Any, Z: Any, a: Array, entries: int) -> Array:
        return np.concatenate([self.formula(X[rows], Z) @ a for rows in slabs(len(X), len(Z), entries)])

    def into(self, room: Array, X: Any, Z: Any) -> Array:
        """`k(X, Z)` in the first rows of `room`, which has a column for each point of Z; those rows are returned.

        For one block of rows after the other: asking the system for new memory each time takes time of its own.
        """
        X, Z = self._pair(X, Z)
        if room.ndim != 2 or len(room) < len(X) or room.shape[1] != len(Z):
            raise ValueError(f"room has shape {room.shape}, but {len(X)} rows of {len(Z)} entries are wanted")
        K = room[: len(X)]
        self._into(K, X, Z)
        return K

    def _into(self, K: Array, X: Any, Z: Any) -> None:
        K[:] = self.formula(X, Z)

    def _pair(self, X: Any, Z: Any) -> tuple[Any, Any]:
        same = Z is None or Z is X
        X = self.inputs(X, "X")
        Z = X if same else self.inputs(Z, "Z")
        # By Cauchy-Schwarz no entry exceeds the diagonal: checking n values vouches for n * m.
        for A, name in ((X, "X"), (Z, "Z"))[: 1 if same else 2]:
            self._finite_diag(A, name)
        return X, Z

    def inputs(self, X: Any, name: str) -> Any:
        """What `formula` wants from what a user passes: here a list of objects."""
        X = rows(X)
        if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
            raise TypeError(f"{name} must be a list of objects, got {type(X).__name__} {X!r:.60}")
        if len(X) == 0:
            raise ValueError(f"{name} is empty: at least one object is wanted")
        return X

    def _diag(self, X: Any) -> Array:
        return np.array([self.formula(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])

    def _features(self, X: Any) -> Array:
        raise NoFiniteFeatureMap(f"{self!r} has no finite feature map")

    def _finite_diag(self, X: Any, name: str) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = self._diag(X)
        if not np.isfinite(diagonal).all():
            i = int(np.flatnonzero(~np.isfinite(diagonal))[0])
            raise OverflowError(
                f"{self!r:.80} is too large for a float at {name}[{i}] (k(x, x) = {diagonal[i]}): "
                f"scale {name} down, or choose a kernel that grows more slowly"
            )
        return diagonal

    # --- what a kernel knows about itself (lecture B, 6.1)

    @property
    def is_stationary(self) -> bool:
        """Does k(x, x') depend on x - x' only?"""
        return False

    @property
    def is_radial(self) -> bool:
        """Does k(x, x') depend on the Euclidean distance of x and x' only?"""
        return False

    @property
    def on_vectors(self) -> bool:
        """Are its points rows of an (n, d) array of numbers?"""
        return False

    # --- the construction rules

    def __add__(self, other: Any) -> Kernel:
        """$k_1 + k_2$ (6.17); a non-negative number stands for the constant kernel."""
        if isinstance(other, Kernel):
            return Sum.of(self, other)
        if not _is_number(other):
            return NotImplemented
        return self if other == 0 else Sum.of(self, _constant(other))  # 0: where the built-in sum() starts

    def __radd__(self, other: Any) -> Kernel:
        return self + other if not _is_number(other) or other == 0 else _constant(other) + self

    def __mul__(self, other: Any) -> Kernel:
        """$k_1 k_2$ (6.18) or $c\\,k_1$ (6.13)."""
        if isinstance(other, Kernel):
            return Product.of(self, other)
        return Scaled.of(real(other, "c"), self) if _is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Kernel:
        return Scaled.of(1 / real(other, "the divisor", above=0), self) if _is_number(other) else NotImplemented

    def __sub__(self, other: Any) -> Kernel:
        raise InvalidKernel(
            f"{self!r} - {other!r} need not be a kernel: the rule a*k1 + b*k2 wants a, b >= 0. "
            "is_valid_kernel(lambda X, Z: k1(X, Z) - k2(X, Z)) looks for points that prove it"
        )

    __rsub__ = __sub__

    def __neg__(self) -> Kernel:
        return Scaled(-1.0, self)  # which refuses, and says which rule it breaks

    def __pow__(self, power: Any) -> Kernel:
        """$k_1^p$ for a whole number p >= 1: a product of kernels (6.18)."""
        return Power(self, power)

    def exp(self) -> Kernel:
        r"""$\exp(k_1(x, x'))$ (6.16)."""
        return Exp(self)

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        r"""$q(k_1(x, x')) = \sum_i c_i\, k_1(x, x')^i$ with all $c_i \ge 0$ (6.15); `coefficients[i]` is $c_i$."""
        return PolynomialOf(self, coefficients)

    def weighted(self, f: Callable[..., Any]) -> Kernel:
        """$f(x)\\,k_1(x, x')\\,f(x')$ for any real function f (6.14), of one point or of all points at once."""
        return Weighted(self, f)

    def after(self, phi: Callable[..., Any]) -> Kernel:
        r"""$k_1(\phi(x), \phi(x'))$ for any map $\phi$ into the domain of $k_1$ (6.19; lecture K, $k(V(z), V(z'))$)."""
        return After(self, phi)

    def on(self, columns: int | slice | Iterable[int]) -> Kernel:
        """$k_1(x_a, x_a')$ where $x_a$ are some columns of x; sums and products of such are (6.21) and (6.22)."""
        return On(self, columns)

    def normalized(self) -> Kernel:
        r"""$k_1(x, x') / \sqrt{k_1(x, x)\,k_1(x', x')}$, the cosine in feature space (0 where undefined)."""
        return Normalized(self)

    def centered(self, X: Any) -> Kernel:
        r"""The kernel of the features less their mean over X: $(\phi(x) - \bar\phi)^\top (\phi(x') - \bar\phi)$."""
        return Centered(self, X)

    # --- printing

    def latex(self, x: str = "x", z: str = "x'") -> str:
        """The formula of k(x, z) in LaTeX."""
        return rf"\operatorname{{{type(self).__name__}}}({x}, {z})"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle k(x, x') = {self.latex()}$"

    def _in(self, binding: int) -> str:
        """This kernel as part of a larger expression, in parentheses only where Python needs them."""
        return f"({self!r})" if self.binding < binding else repr(self)

    def _latex_in(self, binding: int, x: str, z: str) -> str:
        inner = self.latex(x, z)
        return rf"\left({inner}\right)" if self.binding < binding else inner


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_ours(function: Callable[..., Any]) -> bool:
    """Does this library define the function?"""
    return (function.__module__ or "").partition(".")[0] == __name__.partition(".")[0]


def _constant(value: float) -> Kernel:
    from .vectors import Constant

    return Constant(value)


def _set(self: Any, **fields: Any) -> None:
    """Store checked fields on a frozen dataclass."""
    for name, value in fields.items():
        object.__setattr__(self, name, value)


def _kernel(value: Any, name: str) -> Kernel:
    if not isinstance(value, Kernel):
        raise TypeError(f"{name} must be a Kernel, got {value!r}")
    return value


def row_kronecker(A: Array, B: Array) -> Array:
    """Row i is the Kronecker product of row i of A and row i of B: all products of their entries."""
    if A.shape[1] * B.shape[1] > MOST_FEATURES:
        raise ValueError(f"the product would have {A.shape[1] * B.shape[1]:,} features, too many to write out")
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


def beyond_rounding(norms: Array, terms: Array) -> Array:
    """Squared norms, 0 where they are no more than the rounding of the terms that they are sums of."""
    lost = norms <= 16 * np.finfo(float).eps * terms
    return np.where(lost & np.isfinite(terms), 0.0, norms)


class Compound(Kernel):
    """A kernel made of kernels: the points go to its parts as they are."""

    def inputs(self, X: Any, name: str) -> Any:
        for k in self._parts():
            k.inputs(X, name)  # here an error can still say whether X or Z is at fault
        return points(X, name) if self.on_vectors else rows(X)

    @property
    def is_stationary(self) -> bool:
        return all(k.is_stationary for k in self._parts())

    @property
    def is_radial(self) -> bool:
        return all(k.is_radial for k in self._parts())

    @property
    def on_vectors(self) -> bool:
        return any(k.on_vectors for k in self._parts())

    def _parts(self) -> Sequence[Kernel]:
        return (self.kernel,)  # type: ignore[attr-defined]


@dataclass(frozen=True, repr=False, eq=False)
class _Commutative(Compound):
    """Sum and product: flat, and equal whatever the order of the parts."""

    parts: tuple[Kernel, ...]
    sign: ClassVar[str]

    def __post_init__(self) -> None:
        parts = tuple(_kernel(k, "each part") for k in self.parts)
        if len(parts) < 2:
            raise ValueError(f"a {type(self).__name__} has at least two parts, got {len(parts)}")
        _set(self, parts=parts)

    @classmethod
    def of(cls, *kernels: Kernel) -> Kernel:
        return cls(tuple(part for k in kernels for part in (k.parts if isinstance(k, cls) else (k,))))

    def _parts(self) -> Sequence[Kernel]:
        return self.parts

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        rest = list(other.parts)
        for part in self.parts:  # not by their hashes: a part may hold a function that has none
            if part not in rest:
                return False
            rest.remove(part)
        return not rest

    def __hash__(self) -> int:
        return hash((type(self), frozenset(Counter(self.parts).items())))

    def __repr__(self) -> str:
        return self.sign.join(k._in(self.binding) for k in self.parts)


class Sum(_Commutative):
    r"""$k_1 + k_2$ (6.17): the features side by side, $(\phi_1, \phi_2)$."""

    binding = SUM
    sign = " + "

    def formula(self, X: Any, Z: Any) -> Array:
        return reduce(np.add, (k(X, Z) for k in self.parts))

    def _diag(self, X: Any) -> Array:
        return reduce(np.add, (k.diag(X) for k in self.parts))

    def _features(self, X: Any) -> Array:
        return np.hstack([k.features(X) for k in self.parts])

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return " + ".join(k.latex(x, z) for k in self.parts)


class Product(_Commutative):
    r"""$k_1 k_2$ (6.18): all products of two features, $\phi_1 \otimes \phi_2$. Constants move to the front."""

    binding = PRODUCT
    sign = " * "

    @classmethod
    def of(cls, *kernels: Kernel) -> Kernel:
        constants = [k.c for k in kernels if isinstance(k, Scaled)]
        bare = super().of(*(k.kernel if isinstance(k, Scaled) else k for k in kernels))
        return Scaled.of(float(np.prod(constants)), bare) if constants else bare

    def formula(self, X: Any, Z: Any) -> Array:
        return reduce(np.multiply, (k(X, Z) for k in self.parts))

    def _diag(self, X: Any) -> Array:
        with np.errstate(over="ignore"):
            return reduce(np.multiply, (k.diag(X) for k in self.parts))

    def _features(self, X: Any) -> Array:
        return reduce(row_kronecker, (k.features(X) for k in self.parts))

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return r" \cdot ".join(k._latex_in(PRODUCT, x, z) for k in self.parts)


@dataclass(frozen=True, repr=False, eq=False)
class Scaled(Compound):
    r"""$c\,k_1$ with $c \ge 0$ (6.13): the features times $\sqrt c$. $1\,k_1$ is equal to $k_1$."""

    c: float
    kernel: Kernel
    binding = PRODUCT

    def __post_init__(self) -> None:
        c = real(self.c, "c")
        if c < 0:
            raise InvalidKernel(f"c * k needs c >= 0 (rule 6.13), got c = {c:g}: it would make k(x, x) negative")
        _set(self, c=c, kernel=_kernel(self.kernel, "kernel"))

    @classmethod
    def of(cls, c: float, kernel: Kernel) -> Kernel:
        scaled = cls(c * kernel.c, kernel.kernel) if isinstance(kernel, Scaled) else cls(c, kernel)
        return scaled.kernel if scaled.c == 1 else scaled

    def formula(self, X: Any, Z: Any) -> Array:
        return self.c * self.kernel(X, Z)

    def _diag(self, X: Any) -> Array:
        return self.c * self.kernel.diag(X)

    def _features(self, X: Any) -> Array:
        return np.sqrt(self.c) * self.kernel.features(X)

    def __eq__(self, other: object) -> bool:
        if self.c == 1:
            return self.kernel == other
        return (self.c, self.kernel) == (other.c, other.kernel) if isinstance(other, Scaled) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.kernel) if self.c == 1 else hash((self.c, self.kernel))

    def __repr__(self) -> str:
        return f"{self.c!r} * {self.kernel._in(PRODUCT)}"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        inner = self.kernel._latex_in(PRODUCT, x, z)
        return inner if self.c == 1 else rf"{_number(self.c)} \cdot {inner}"


@dataclass(frozen=True, repr=False)
class Power(Compound):
    r"""$k_1^p$: all products of p features, $\phi_1 \otimes \dots \otimes \phi_1$ (6.18, p - 1 times)."""

    kernel: Kernel
    power: int
    binding = POWER

    def __post_init__(self) -> None:
        _set(self, kernel=_kernel(self.kernel, "kernel"), power=whole(self.power, "the power p of k ** p", at_least=1))

    def formula(self, X: Any, Z: Any) -> Array:
        return integer_power(self.kernel(X, Z), self.power)

    def _diag(self, X: Any) -> Array:
        return integer_power(self.kernel.diag(X), self.power)

    def _features(self, X: Any) -> Array:
        return reduce(row_kronecker, [self.kernel.features(X)] * self.power)

    def __repr__(self) -> str:
        return f"{self.kernel._in(ATOM)} ** {self.power}"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"\left({self.kernel.latex(x, z)}\right)^{{{self.power}}}"


@dataclass(frozen=True, repr=False)
class Exp(Compound):
    r"""$\exp(k_1)$ (6.16): the limit of polynomials with non-negative coefficients, so its features are infinite."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _kernel(self.kernel, "kernel")

    def formula(self, X: Any, Z: Any) -> Array:
        return np.exp(self.kernel(X, Z))

    def _diag(self, X: Any) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(self.kernel.diag(X))

    def __repr__(self) -> str:
        return f"{self.kernel._in(ATOM)}.exp()"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"\exp\left({self.kernel.latex(x, z)}\right)"


@dataclass(frozen=True, repr=False)
class PolynomialOf(Compound):
    r"""$q(k_1) = \sum_i c_i k_1^i$ with $c_i \ge 0$ (6.15): sums, products and multiples of $k_1$."""

    kernel: Kernel
    coefficients: Sequence[float]  # kept as a tuple

    def __post_init__(self) -> None:
        c = numeric(self.coefficients, "coefficients")
        if c.ndim != 1 or c.size == 0:
            raise ValueError(f"coefficients must be a list c_0, c_1, ..., got {self.coefficients!r}")
        if (c < 0).any():
            i = int(np.flatnonzero(c < 0)[0])
            raise InvalidKernel(f"q(k) needs coefficients >= 0 (rule 6.15), got coefficients[{i}] = {c[i]:g}")
        _set(self, kernel=_kernel(self.kernel, "kernel"), coefficients=tuple(c.tolist()))

    def _horner(self, values: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            result = np.full_like(values, self.coefficients[-1])
            for c in reversed(self.coefficients[:-1]):
                result = result * values + c
        return result

    def formula(self, X: Any, Z: Any) -> Array:
        return self._horner(self.kernel(X, Z))

    def _diag(self, X: Any) -> Array:
        return self._horner(self.kernel.diag(X))

    def _features(self, X: Any) -> Array:
        Phi = self.kernel.features(X)
        power, blocks = np.ones((len(Phi), 1)), []
        for i, c in enumerate(self.coefficients):
            power = row_kronecker(power, Phi) if i else power
            blocks.append(np.sqrt(c) * power)
        return np.hstack(blocks)

    def __repr__(self) -> str:
        return f"{self.kernel._in(ATOM)}.polynomial({list(self.coefficients)!r})"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        inner = self.kernel.latex(x, z)
        powers = ["", rf"\left({inner}\right)"] + [
            rf"\left({inner}\right)^{{{i}}}" for i in range(2, len(self.coefficients))
        ]
        terms = [
            power if c == 1 and power else rf"{_number(c)}\,{power}"
            for c, power in zip(self.coefficients, powers, strict=False)
            if c
        ]
        return rf"\left({' + '.join(terms) or '0'}\right)"


@dataclass(frozen=True, repr=False)
class Weighted(Compound):
    r"""$f(x)\,k_1(x, x')\,f(x')$ (6.14): the features times f(x)."""

    kernel: Kernel
    f: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise TypeError(f"weighted(f) needs a function f, got {self.f!r}")
        _kernel(self.kernel, "kernel")

    def _weights(self, X: Any) -> Array:
        values = numeric(apply(self.f, X, "f"), "the values of f")
        if values.shape != (len(X),):
            raise ValueError(f"f must give one number a point: {len(X)} points gave shape {values.shape}")
        return values

    def formula(self, X: Any, Z: Any) -> Array:
        f_i, f_j = self._weights(X)[:, None], self._weights(Z)[None, :]
        return f_i * f_j * self.kernel(X, Z)

    def _diag(self, X: Any) -> Array:
        return self._weights(X) ** 2 * self.kernel.diag(X)

    def _features(self, X: Any) -> Array:
        return self._weights(X)[:, None] * self.kernel.features(X)

    @property
    def is_stationary(self) -> bool:
        return False

    @property
    def is_radial(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"{self.kernel._in(ATOM)}.weighted({_name(self.f)})"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"f({x})\,{self.kernel._latex_in(PRODUCT, x, z)}\,f({z})"


@dataclass(frozen=True, repr=False)
class After(Compound):
    r"""$k_1(\phi(x), \phi(x'))$ (6.19): the features of $k_1$ at $\phi(x)$."""

    kernel: Kernel
    phi: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.phi):
            raise TypeError(f"after(phi) needs a function phi, got {self.phi!r}")
        _kernel(self.kernel, "kernel")

    def inputs(self, X: Any, name: str) -> Any:
        mapped = apply(self.phi, X, "phi")
        if len(mapped) != len(X):
            raise ValueError(f"phi must give one row a point: {len(X)} points of {name} gave {len(mapped)} rows")
        if self.kernel.on_vectors and np.ndim(mapped) == 1:
            raise ValueError(
                f"phi must give a row of numbers for each point of {name}, but it gave one number: put it into a list, "
                "or return a column for all points"
            )
        return mapped

    def formula(self, X: Any, Z: Any) -> Array:
        return self.kernel(X, Z)

    def _diag(self, X: Any) -> Array:
        return self.kernel.diag(X)

    def _features(self, X: Any) -> Array:
        return self.kernel.features(X)

    @property
    def is_stationary(self) -> bool:
        return False

    @property
    def is_radial(self) -> bool:
        return False

    @property
    def on_vectors(self) -> bool:
        return False  # phi may start from anything

    def __repr__(self) -> str:
        return f"{self.kernel._in(ATOM)}.after({_name(self.phi)})"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return self.kernel.latex(rf"\phi({x})", rf"\phi({z})")


@dataclass(frozen=True, repr=False)
class On(Compound):
    """$k_1(x_a, x_a')$ on some columns of x (6.21, 6.22): the features of $k_1$ at those columns."""

    kernel: Kernel
    columns: Any

    def __post_init__(self) -> None:
        columns = self.columns
        if not isinstance(columns, slice):
            columns = tuple(columns) if isinstance(columns, Iterable) else (columns,)
            columns = tuple(int(c) if isinstance(c, np.integer) else c for c in columns)
            if not columns or not all(isinstance(c, int) and not isinstance(c, bool) for c in columns):
                raise ValueError(f"on(columns) needs column numbers or a slice, got {self.columns!r}")
        _set(self, kernel=_kernel(self.kernel, "kernel"), columns=columns)

    def inputs(self, X: Any, name: str) -> Any:
        X = points(X, name)
        if isinstance(self.columns, slice):
            return X[:, self.columns]
        if max(self.columns) >= X.shape[1] or min(self.columns) < -X.shape[1]:
            raise ValueError(f"{name} has {X.shape[1]} columns, but the kernel acts on columns {list(self.columns)}")
        return X[:, list(self.columns)]

    def formula(self, X: Any, Z: Any) -> Array:
        return self.kernel(X, Z)

    def _diag(self, X: Any) -> Array:
        return self.kernel.diag(X)

    def _features(self, X: Any) -> Array:
        return self.kernel.features(X)

    @property
    def is_radial(self) -> bool:
        return False

    def __hash__(self) -> int:
        return hash((self.kernel, repr(self.columns)))  # slices have no hash before Python 3.12

    def __repr__(self) -> str:
        columns = self.columns if isinstance(self.columns, slice) else list(self.columns)
        return f"{self.kernel._in(ATOM)}.on({columns!r})"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        if isinstance(self.columns, slice):
            which = ":".join("" if v is None else str(v) for v in (self.columns.start, self.columns.stop))
        else:
            which = ",".join(map(str, self.columns))
        return self.kernel.latex(f"{{{x}}}_{{[{which}]}}", f"{{{z}}}_{{[{which}]}}")


@dataclass(frozen=True, repr=False)
class Normalized(Compound):
    r"""$k_1(x, x') / \sqrt{k_1(x, x)\,k_1(x', x')}$: the features scaled to length one."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _kernel(self.kernel, "kernel")

    def _inverse_norms(self, X: Any) -> Array:
        norms = np.sqrt(self.kernel.diag(X))
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)

    def formula(self, X: Any, Z: Any) -> Array:
        i, j = self._inverse_norms(X)[:, None], self._inverse_norms(Z)[None, :]
        return i * j * self.kernel(X, Z)

    def _diag(self, X: Any) -> Array:
        return self._inverse_norms(X) ** 2 * self.kernel.diag(X)

    def _features(self, X: Any) -> Array:
        return self._inverse_norms(X)[:, None] * self.kernel.features(X)

    def __repr__(self) -> str:
        return f"{self.kernel._in(ATOM)}.normalized()"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        k = self.kernel
        return rf"\frac{{{k.latex(x, z)}}}{{\sqrt{{{k._latex_in(PRODUCT, x, x)} \cdot {k._latex_in(PRODUCT, z, z)}}}}}"


@dataclass(frozen=True, repr=False)
class Centered(Compound):
    r"""The kernel of $\phi(x) - \bar\phi$, where $\bar\phi$ is the mean of the features over given points."""

    kernel: Kernel
    points: Any  # kept as a tuple, so that two kernels can be compared

    def __post_init__(self) -> None:
        _kernel(self.kernel, "kernel")
        self.kernel.diag(self.points)  # refuses what the kernel does not take
        X = points(self.points, "X") if self.kernel.on_vectors else self.points
        _set(self, points=tuple(_frozen(x) for x in X))

    @cached_property
    def _data(self) -> Any:
        return np.array(self.points) if self.kernel.on_vectors else list(self.points)

    @cached_property
    def _mean(self) -> float:
        return float(self.kernel(self._data).mean())

    def _means(self, X: Any) -> Array:
        """The inner products of each feature vector with the mean of the features."""
        return self.kernel(X, self._data).mean(axis=1)

    def formula(self, X: Any, Z: Any) -> Array:
        m_i, m_j = self._means(X)[:, None], self._means(Z)[None, :]
        return self.kernel(X, Z) - (m_i + m_j) + self._mean  # so grouped, exactly symmetric

    def _diag(self, X: Any) -> Array:
        norms, means = self.kernel.diag(X), self._means(X)
        return beyond_rounding(norms - 2 * means + self._mean, norms + 2 * np.abs(means) + abs(self._mean))

    def _features(self, X: Any) -> Array:
        return self.kernel.features(X) - self.kernel.features(self._data).mean(axis=0)

    @property
    def is_stationary(self) -> bool:
        return False

    @property
    def is_radial(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"{self.kernel._in(ATOM)}.centered({list(self.points)!r})"

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"\left\langle \phi({x}) - \bar\phi,\ \phi({z}) - \bar\phi \right\rangle"


def _frozen(value: Any) -> Any:
    """An object as one that can be compared and hashed: lists and arrays as tuples, sets as frozen sets."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(_frozen(v) for v in value)
    return frozenset(value) if isinstance(value, set) else value


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _number(value: float) -> str:
    """A number as LaTeX shows it: 2 rather than 2.0, powers of ten rather than e-notation."""
    text = f"{value:.4g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return rf"({mantissa} \cdot 10^{{{int(exponent)}}})"
    return text
