"""The rules that build new kernels from old ones (lecture B, approach 3; Bishop 6.13 to 6.22).

Each rule is a class that carries its own proof: `formula` combines the values of the kernels, `feature_rows` combines
their feature maps, and the tests compare the two. A rule prepares the points for its parts and then calls
their formulas. So no map is applied twice, and no kernel parses an object twice, however deep the expression is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np

from ..seam import definition
from ..validation import Array, numeric, points, real, rows, whole
from .kernel import ATOM, POWER, PRODUCT, SUM, InvalidKernel, Kernel, VectorKernel, _set
from .pointwise import apply

__all__ = ["Constant"]

MOST_FEATURES = 10**7  # a row of this many floats takes 80 MB


class Views:
    """The points of a rule as its parts see them, one view for each; `[rows]` takes the same rows of every view."""

    def __init__(self, *views: Any) -> None:
        self.views = views

    def __len__(self) -> int:
        return len(self.views[0])

    def __getitem__(self, rows: Any) -> Views:
        taken = {id(view): view[rows] for view in self.views}  # what was shared stays shared
        return Views(*(taken[id(view)] for view in self.views))


Done = dict[Any, Any]  # the views made so far, while one set of points is prepared


def _view(kernel: Kernel, X: Any, name: str, done: Done) -> Any:
    """The points for a part's formula. Equal parts share a view of the same points; so do all vector kernels."""
    if isinstance(kernel, Rule):
        return kernel.prepare(X, name, done)
    if type(kernel).prepare is VectorKernel.prepare:
        return _vectors(X, name, done)
    return _once(kernel, X, done, lambda: kernel.prepare(X, name))


def _vectors(X: Any, name: str, done: Done) -> Array:
    array = _once(VectorKernel, X, done, lambda: points(X, name))
    return _once(VectorKernel, array, done, lambda: array)  # already checked


def _once(what: Any, X: Any, done: Done, make: Callable[[], Any]) -> Any:
    try:
        key = (what, id(X), hash(what))
    except TypeError:  # a function, or a user's kernel, that has no hash
        key = (id(what), id(X), 0)
    if key not in done:
        done[key] = make(), X  # X is kept, so that nothing else gets its id
    return done[key][0]


def row_kronecker(A: Array, B: Array) -> Array:
    """Row i is the Kronecker product of row i of A and row i of B: all products of their entries."""
    if A.shape[1] * B.shape[1] > MOST_FEATURES:
        raise ValueError(f"the product would have {A.shape[1] * B.shape[1]:,} features, too many to write out")
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


class Rule(Kernel):
    """A kernel made of kernels: here of one, `self.kernel`, which sees the points as they are."""

    method: ClassVar[str]  # the method of `Kernel` that builds the rule
    stationary = radial = True

    def __post_init__(self) -> None:
        for k in self._parts():
            if not isinstance(k, Kernel):
                raise TypeError(f"each part of a {type(self).__name__} must be a Kernel, got {k!r}")

    def value(self, k: Array) -> Array:
        """The rule's values from the values of the inner kernel."""
        return k

    def formula(self, P: Any, Q: Any) -> Array:
        return self.value(self._parts()[0].formula(P, Q))

    def diagonal(self, P: Any) -> Array:
        return self.value(self._parts()[0].diagonal(P))

    def feature_rows(self, P: Any) -> Array:
        return self._parts()[0].feature_rows(P)

    def prepare(self, X: Any, name: str = "X", done: Done | None = None) -> Any:
        X, done = self._entered(X, name, done)
        return _view(self._parts()[0], X, name, done)

    def _entered(self, X: Any, name: str, done: Done | None) -> tuple[Any, Done]:
        """The points, as an array if a part takes vectors, and the views made so far."""
        done = {} if done is None else done
        return (_vectors(X, name, done) if self.on_vectors else rows(X)), done

    def _match(self, P: Any, Q: Any) -> None:
        for k, p, q in zip(self._parts(), self._views(P), self._views(Q), strict=True):
            k._match(p, q)

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]
        return any(k.on_vectors for k in self._parts())

    def _parts(self) -> Sequence[Kernel]:
        return (self.kernel,)  # type: ignore[attr-defined]

    def _views(self, P: Any) -> Sequence[Any]:
        """Prepared points as each of the parts sees them."""
        return (P,)

    def __repr__(self) -> str:
        arguments = [_printed(value) for name, value in self._own_parameters().items() if name != "kernel"]
        return f"{self._parts()[0]._in(ATOM)}.{self.method}({', '.join(arguments)})"


@dataclass(frozen=True)
class Constant(Kernel):
    r"""$k(x, x') = c \ge 0$; its one feature is $\sqrt c$.

    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    c: float = 1.0
    tex = "{c}"
    stationary = radial = True

    def __post_init__(self) -> None:
        c = real(self.c, "c")
        if c < 0:
            raise InvalidKernel(f"Constant(c) needs c >= 0 (rule 6.13), got c = {c:g}: its Gram matrix has k(x, x) < 0")
        _set(self, c=c)

    def formula(self, P: Any, Q: Any) -> Array:
        return np.full((len(P), len(Q)), self.c)

    def diagonal(self, P: Any) -> Array:
        return np.full(len(P), self.c)

    def feature_rows(self, P: Any) -> Array:
        return np.full((len(P), 1), sqrt(self.c))


@dataclass(frozen=True, repr=False, eq=False)
class _Commutative(Rule):
    """Sums and products: flattened, and equal whatever the order of the parts."""

    parts: tuple[Kernel, ...]
    sign: ClassVar[str]
    tex_sign: ClassVar[str]
    both_values: ClassVar[Any]  # the values of two parts
    both_features: ClassVar[Any]

    def __post_init__(self) -> None:
        _set(self, parts=tuple(self.parts))
        super().__post_init__()
        if len(self.parts) < 2:
            raise ValueError(f"a {type(self).__name__} needs at least two parts, got {len(self.parts)}")

    @classmethod
    def of(cls, *kernels: Kernel) -> Kernel:
        return cls(tuple(part for k in kernels for part in (k.parts if isinstance(k, cls) else (k,))))

    def prepare(self, X: Any, name: str = "X", done: Done | None = None) -> Views:
        X, done = self._entered(X, name, done)
        return Views(*(_view(k, X, name, done) for k in self.parts))

    def _parts(self) -> Sequence[Kernel]:
        return self.parts

    def _views(self, P: Views) -> Sequence[Any]:
        return P.views

    def formula(self, P: Views, Q: Views) -> Array:
        return reduce(self.both_values, (k.formula(p, q) for k, p, q in zip(self.parts, P.views, Q.views, strict=True)))

    def diagonal(self, P: Views) -> Array:
        return reduce(self.both_values, (k.diagonal(p) for k, p in zip(self.parts, P.views, strict=True)))

    def feature_rows(self, P: Views) -> Array:
        return reduce(self.both_features, (k.feature_rows(p) for k, p in zip(self.parts, P.views, strict=True)))

    def _own_parameters(self) -> dict[str, Any]:
        return {str(i): part for i, part in enumerate(self.parts)}

    def _replaced(self, changes: dict[str, Any]) -> Self:
        return type(self)(tuple(changes.values()))

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

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return self.tex_sign.join(k._latex_in(self.binding, x, z) for k in self.parts)


class Sum(_Commutative):
    r"""$k_1 + k_2$ (6.17): the features side by side, $(\phi_1, \phi_2)$."""

    binding = SUM
    sign = tex_sign = " + "
    both_values = np.add
    both_features = staticmethod(lambda A, B: np.hstack([A, B]))


class Product(_Commutative):
    r"""$k_1 k_2$ (6.18): all products of two features, $\phi_1 \otimes \phi_2$. Constants move to the front."""

    binding = PRODUCT
    sign, tex_sign = " * ", r" \cdot "
    both_values = np.multiply
    both_features = staticmethod(row_kronecker)

    @classmethod
    def of(cls, *kernels: Kernel) -> Kernel:
        constants = [k.c for k in kernels if isinstance(k, Scaled)]
        bare = super().of(*(k.kernel if isinstance(k, Scaled) else k for k in kernels))
        return Scaled.of(float(np.prod(constants)), bare) if constants else bare


@dataclass(frozen=True, repr=False, eq=False)
class Scaled(Rule):
    r"""$c\,k_1$ with $c \ge 0$ (6.13): the features times $\sqrt c$. $1\,k_1$ is equal to $k_1$."""

    c: float
    kernel: Kernel
    binding = PRODUCT

    def __post_init__(self) -> None:
        c = real(self.c, "c")
        if c < 0:
            raise InvalidKernel(f"c * k needs c >= 0 (rule 6.13), got c = {c:g}: it would make k(x, x) negative")
        _set(self, c=c)
        super().__post_init__()

    @classmethod
    def of(cls, c: float, kernel: Kernel) -> Kernel:
        scaled = cls(c * kernel.c, kernel.kernel) if isinstance(kernel, Scaled) else cls(c, kernel)
        return scaled.kernel if scaled.c == 1 else scaled

    def value(self, k: Array) -> Array:
        return self.c * k

    def feature_rows(self, P: Any) -> Array:
        return np.sqrt(self.c) * self.kernel.feature_rows(P)

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
        return inner if self.c == 1 else rf"{number(self.c)} \cdot {inner}"


@dataclass(frozen=True, repr=False)
class Power(Rule):
    r"""$k_1^p$: all products of p features, $\phi_1 \otimes \dots \otimes \phi_1$ (6.18, p - 1 times)."""

    kernel: Kernel
    power: int
    binding = POWER
    tex = r"\left({kernel}\right)^{{{power}}}"

    def __post_init__(self) -> None:
        super().__post_init__()
        _set(self, power=whole(self.power, "the power p of k ** p", at_least=1))

    @definition
    def value(self, k: Array) -> Array:
        return k**self.power

    def feature_rows(self, P: Any) -> Array:
        return reduce(row_kronecker, [self.kernel.feature_rows(P)] * self.power)

    def __repr__(self) -> str:
        return f"{self.kernel._in(ATOM)} ** {self.power}"


@dataclass(frozen=True, repr=False)
class Exp(Rule):
    r"""$\exp(k_1)$ (6.16): the limit of polynomials with non-negative coefficients, with infinitely many features."""

    kernel: Kernel
    method = "exp"
    tex = r"\exp\left({kernel}\right)"

    def value(self, k: Array) -> Array:
        return np.exp(k)

    def feature_rows(self, P: Any) -> Array:
        return Kernel.feature_rows(self, P)  # raises the error


@dataclass(frozen=True, repr=False)
class PolynomialOf(Rule):
    r"""$q(k_1) = \sum_i c_i k_1^i$ with $c_i \ge 0$ (6.15): sums, products and multiples of $k_1$."""

    kernel: Kernel
    coefficients: Sequence[float]  # kept as a tuple
    method = "polynomial"

    def __post_init__(self) -> None:
        c = numeric(self.coefficients, "coefficients")
        if c.ndim != 1 or c.size == 0:
            raise ValueError(f"coefficients must be a list c_0, c_1, ..., got {self.coefficients!r:.60}")
        for i in np.flatnonzero(c < 0):
            raise InvalidKernel(f"q(k) needs coefficients >= 0 (rule 6.15), got coefficients[{i}] = {c[i]:g}")
        _set(self, coefficients=tuple(c.tolist()))
        super().__post_init__()

    def value(self, k: Array) -> Array:
        return horner(self.coefficients, k)

    def feature_rows(self, P: Any) -> Array:
        Phi = self.kernel.feature_rows(P)
        powers = accumulate([Phi] * (len(self.coefficients) - 1), row_kronecker, initial=np.ones((len(Phi), 1)))
        return np.hstack([np.sqrt(c) * power for c, power in zip(self.coefficients, powers, strict=True)])

    def latex(self, x: str = "x", z: str = "x'") -> str:
        k = rf"\left({self.kernel.latex(x, z)}\right)"
        powers = ["", k, *(f"{k}^{{{i}}}" for i in range(2, len(self.coefficients)))]
        weighed = [(c, power) for c, power in zip(self.coefficients, powers, strict=False) if c]
        terms = [power if c == 1 and power else rf"{number(c)}\,{power}" for c, power in weighed]
        return rf"\left({' + '.join(terms) or '0'}\right)"


@dataclass(frozen=True, repr=False)
class After(Rule):
    r"""$k_1(\phi(x), \phi(x'))$ (6.19): the features of $k_1$ at $\phi(x)$."""

    kernel: Kernel
    phi: Callable[..., Any]
    method = "after"
    stationary = radial = False
    on_vectors = False  # phi may take points of any kind

    def __post_init__(self) -> None:
        if not callable(self.phi):
            raise TypeError(f"after(phi) needs a function phi, got {self.phi!r}")
        super().__post_init__()

    def prepare(self, X: Any, name: str = "X", done: Done | None = None) -> Any:
        X, done = self._entered(X, name, done)
        mapped = _once(self.phi, X, done, lambda: apply(self.phi, X, "phi"))
        if len(mapped) != len(X):
            raise ValueError(f"phi must give one row per point: {len(X)} points of {name} gave {len(mapped)} rows")
        if self.kernel.on_vectors and np.ndim(mapped) == 1:
            raise ValueError(
                f"phi must give a row of numbers for each point of {name}, but it gave one number: put it into a list, "
                "or return a column for all points"
            )
        return _view(self.kernel, mapped, name, done)

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return self.kernel.latex(rf"\phi({x})", rf"\phi({z})")


@dataclass(frozen=True, repr=False)
class On(Rule):
    """$k_1(x_a, x_a')$ on some columns of x (6.21, 6.22): the features of $k_1$ at those columns."""

    kernel: Kernel
    columns: Any
    method = "on"
    radial = False
    on_vectors = True

    def __post_init__(self) -> None:
        columns = self.columns
        if not isinstance(columns, slice):
            columns = tuple(columns) if isinstance(columns, Iterable) else (columns,)
            columns = tuple(int(c) if isinstance(c, np.integer) else c for c in columns)
            if not columns or not all(isinstance(c, int) and not isinstance(c, bool) for c in columns):
                raise ValueError(f"on(columns) needs column numbers or a slice, got {self.columns!r}")
        super().__post_init__()
        _set(self, columns=columns)

    def prepare(self, X: Any, name: str = "X", done: Done | None = None) -> Any:
        X, done = self._entered(X, name, done)
        columns = self.select(X, name)
        return _view(self.kernel, _once(VectorKernel, columns, done, lambda: columns), name, done)

    def select(self, X: Array, name: str = "X") -> Array:
        """The columns of X that the kernel sees."""
        d, columns = X.shape[1], self.columns if isinstance(self.columns, slice) else list(self.columns)
        if not range(d)[columns] if isinstance(columns, slice) else max(columns) >= d or min(columns) < -d:
            raise ValueError(f"{name} has {d} columns, but the kernel acts on columns {columns}")
        return X[:, columns]

    def __hash__(self) -> int:
        return hash((self.kernel, repr(self.columns)))  # slices have no hash before Python 3.12

    def latex(self, x: str = "x", z: str = "x'") -> str:
        if isinstance(self.columns, slice):
            which = ":".join("" if v is None else str(v) for v in (self.columns.start, self.columns.stop))
        else:
            which = ",".join(map(str, self.columns))
        return self.kernel.latex(f"{{{x}}}_{{[{which}]}}", f"{{{z}}}_{{[{which}]}}")


@dataclass(frozen=True, repr=False)
class _WithNumbers(Rule):
    """A rule with a number f(x) for each point, next to the kernel's own view of it: here $f(x) k_1(x, x') f(x')$."""

    kernel: Kernel

    def prepare(self, X: Any, name: str = "X", done: Done | None = None) -> Views:
        X, done = self._entered(X, name, done)
        P = _view(self.kernel, X, name, done)
        with np.errstate(over="ignore", invalid="ignore"):  # the check of the diagonal finds overflow
            return Views(self._numbers(X, P), P)

    def _numbers(self, X: Any, P: Any) -> Array:
        raise NotImplementedError

    def _views(self, P: Views) -> Sequence[Any]:
        return P.views[1:]

    def formula(self, P: Views, Q: Views) -> Array:
        (f_i, P), (f_j, Q) = P.views, Q.views
        return f_i[:, None] * f_j[None, :] * self.kernel.formula(P, Q)

    def diagonal(self, P: Views) -> Array:
        f_i, P = P.views
        return f_i**2 * self.kernel.diagonal(P)

    def feature_rows(self, P: Views) -> Array:
        f_i, P = P.views
        return f_i[:, None] * self.kernel.feature_rows(P)


@dataclass(frozen=True, repr=False)
class Weighted(_WithNumbers):
    r"""$f(x)\,k_1(x, x')\,f(x')$ (6.14) for a real function f: the features times f(x)."""

    f: Callable[..., Any]
    method = "weighted"
    stationary = radial = False

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise TypeError(f"weighted(f) needs a function f, got {self.f!r}")
        super().__post_init__()

    def _numbers(self, X: Any, P: Any) -> Array:
        values = numeric(apply(self.f, X, "f"), "the values of f")
        if values.shape != (len(X),):
            raise ValueError(f"f must give one number per point: {len(X)} points gave shape {values.shape}")
        return values

    def latex(self, x: str = "x", z: str = "x'") -> str:
        return rf"f({x})\,{self.kernel._latex_in(PRODUCT, x, z)}\,f({z})"


@dataclass(frozen=True, repr=False)
class Normalized(_WithNumbers):
    r"""$k_1(x, x') / \sqrt{k_1(x, x)\,k_1(x', x')}$: (6.14) with $f = 1/\sqrt{k_1(x, x)}$, features of length one."""

    method = "normalized"

    def _numbers(self, X: Any, P: Any) -> Array:
        return inverse(np.sqrt(self.kernel.diagonal(P)))

    def latex(self, x: str = "x", z: str = "x'") -> str:
        k = self.kernel
        return rf"\frac{{{k.latex(x, z)}}}{{\sqrt{{{k._latex_in(PRODUCT, x, x)} \cdot {k._latex_in(PRODUCT, z, z)}}}}}"


def horner(coefficients: Sequence[float], x: Array) -> Array:
    """The polynomial $c_0 + c_1 x + c_2 x^2 + ...$ at every entry of x, by Horner's rule."""
    result: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = result * x + c
    return result if len(coefficients) > 1 else np.full_like(x, result)


def inverse(lengths: Array) -> Array:
    """1 / length, and 0 for a length of 0."""
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _printed(value: Any) -> str:
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return repr(list(value) if isinstance(value, tuple) else value)


def number(value: float) -> str:
    """A number as LaTeX shows it: 2 rather than 2.0, powers of ten rather than e-notation."""
    text = f"{value:.4g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return rf"({mantissa} \cdot 10^{{{int(exponent)}}})"
    return text
