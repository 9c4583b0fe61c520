"""Plain data as JSON: numbers, texts, arrays, sparse matrices, data frames, and lists, tuples, sets and dicts of these.

Nothing that comes out of a sandbox or a file is executed or trusted: what is not plain data arrives as an `Unknown`,
which raises an error in every operation. Pickle would execute it; msgpack, msgspec and cbor2 do not limit the depth,
the number of values or colliding keys.
"""

from __future__ import annotations

import base64
import math
import numbers
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .values import Frame, Sparse, by_value

DEEPEST = 16  # lists within lists
MOST = 200_000  # values in one message; an array counts as one value
LARGEST = 32_000_000  # bytes of one message
_ENTRIES = 1_000  # in a dict or a set: an attacker who chooses the keys can make them all collide
_NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"}


class NotPlain(ValueError):
    """A message from a sandbox that is not plain data, or is too large or too deep."""


def readable(value: Any, most: int) -> str:
    """The value as text that can be written to a file: half a surrogate pair is replaced.

    >>> readable("a\\ud800b", 2)
    'a?'
    """
    return str(value)[:most].encode("utf-8", errors="replace").decode()


class Opaque:
    """Comparison, truth, iteration, conversion and arithmetic raise an error, where Python would have a default."""

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"a value of type {type(self).__name__} cannot be judged")

    __bool__ = __len__ = __iter__ = __next__ = __contains__ = __getitem__ = __call__ = __array__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __float__ = __int__ = __complex__ = __index__ = __round__ = __abs__ = __neg__ = __pos__ = __invert__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse


class Unknown(Opaque):
    """A value that could not leave the sandbox."""


def unknown(kind: str) -> Unknown:
    """An `Unknown` whose type has the name of the student's type, for the report."""
    name = kind if re.fullmatch(r"[A-Za-z_]\w{0,60}", kind) else "Unknown"
    return type(name, (Unknown,), {})()


def encode(value: Any, depth: int = 0) -> Any:
    """The value as JSON; a value that is not plain is represented by the name of its type."""
    if value is None or type(value) in (bool, str):
        return value
    value = by_value(value)
    if isinstance(value, (Sparse, Frame)):
        return _encode_parts(value, depth)
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(type(value), "__array__"):
        return _encode_array(value)
    if isinstance(value, int):
        return int(value) if abs(int(value)) < 2**63 else {"int": hex(value)[:4000]}
    if isinstance(value, Fraction):
        return {"fraction": [encode(value.numerator), encode(value.denominator)]}
    if isinstance(value, (float, numbers.Real, Decimal)):
        return float(value)
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if depth < DEEPEST:
        if isinstance(value, tuple):
            return {"tuple": [encode(item, depth + 1) for item in value]}
        if isinstance(value, (list, range)):
            return {"list": [encode(item, depth + 1) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in value.items()]}
        if isinstance(value, (set, frozenset)):
            kind = "set" if isinstance(value, set) else "frozenset"
            return {kind: [encode(item, depth + 1) for item in value]}
    return {"unknown": type(value).__name__}


def _encode_parts(value: Sparse | Frame, depth: int) -> Any:
    if isinstance(value, Sparse):
        parts = [list(value.shape), value.where, value.entries, value.form, value.array]
        return {"sparse": [encode(part, depth + 1) for part in parts]}
    parts = [value.columns, value.index, value.data, value.kinds, value.series]
    return {"frame": [encode(part, depth + 1) for part in parts]}


def _encode_array(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    if isinstance(value, np.str_):
        return str(value)
    if array.dtype.kind == "U":
        return {"texts": array.ravel().tolist(), "shape": list(array.shape)}
    if array.dtype.str[1:] not in _NUMBERS:
        return {"unknown": f"{type(value).__name__}_of_{array.dtype.name}"}
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(array.tobytes()).decode("ascii")
    scalar = isinstance(value, np.generic)
    return {"array": data, "dtype": array.dtype.str[1:], "shape": list(array.shape), "scalar": scalar}


class _Decoder:
    """Turn JSON back into values, and count them."""

    def __init__(self, named: bool) -> None:
        self.left = MOST
        self.named = named

    def decode(self, code: Any, depth: int = 0) -> Any:
        self.left -= 1
        if self.left < 0 or depth > DEEPEST + 1:
            raise NotPlain("too many values, or nested too deeply")
        if type(code) is str:
            return readable(code, len(code))
        if code is None or type(code) in (bool, int, float):
            return code
        if type(code) is not dict or not code:
            raise NotPlain("unknown kind of value")
        kind, content = next(iter(code.items()))
        forms: dict[str, Callable[[], Any]] = {
            "int": lambda: int(str(content)[:4000], 16),
            "complex": lambda: complex(float(content[0]), float(content[1])),
            "tuple": lambda: tuple(self.decode(item, depth + 1) for item in content),
            "list": lambda: [self.decode(item, depth + 1) for item in content],
            "dict": lambda: {
                self.decode(key, depth + 1): self.decode(item, depth + 1)
                for key, item in _few(content, [entry[0] for entry in content])
            },
            "set": lambda: {self.decode(item, depth + 1) for item in _few(content, content)},
            "frozenset": lambda: frozenset(self.decode(item, depth + 1) for item in _few(content, content)),
            "bytes": lambda: base64.b64decode(content, validate=True),
            "fraction": lambda: Fraction(*(self.decode(item, depth + 1) for item in content)),
            "sparse": lambda: _decode_sparse(*(self.decode(item, depth + 1) for item in content)),
            "frame": lambda: _decode_frame(*(self.decode(item, depth + 1) for item in content)),
            "array": lambda: _decode_array(code),
            "texts": lambda: self._texts(code),
            "unknown": lambda: unknown(str(content) if self.named else ""),
        }
        if kind not in forms:
            raise NotPlain("unknown kind of value")
        return forms[kind]()

    def _texts(self, code: dict[str, Any]) -> np.ndarray:
        texts = [readable(text, LARGEST) for text in code["texts"] if type(text) is str]
        self.left -= len(texts)
        longest = max(map(len, texts), default=1)  # every entry of the array takes as much memory as the longest one
        if self.left < 0 or len(texts) != len(code["texts"]) or 4 * longest * len(texts) > LARGEST:
            raise NotPlain("not an array of texts")
        return np.array(texts, dtype=f"U{max(longest, 1)}").reshape(_shape(code))


def decode(code: Any, *, named: bool = True) -> Any:
    """The value that `encode` turned into JSON; raise `NotPlain` for anything else.

    An unknown value has the name of its type, unless that might reveal a secret.

    >>> decode(encode((1, [2.5, "a"], np.eye(2))))
    (1, [2.5, 'a'], array([[1., 0.], [0., 1.]]))
    """
    try:
        return _Decoder(named).decode(code)
    except NotPlain:
        raise
    except (TypeError, ValueError, ArithmeticError, RecursionError, LookupError, MemoryError) as error:
        raise NotPlain(f"not plain data: {type(error).__name__}") from None


def _few(entries: Any, keys: Any) -> Any:
    """The entries, if they are few or all keys are texts, which Python hashes with a random secret."""
    if len(entries) > _ENTRIES and not all(type(key) is str for key in keys):
        raise NotPlain("a dict or a set with too many entries")
    return entries


def _decode_sparse(shape: Any, where: Any, entries: Any, form: Any, array: Any) -> Sparse:
    sound = type(shape) is list and len(shape) <= 8 and all(type(side) is int and 0 <= side < 2**62 for side in shape)
    if not sound or type(where) is not np.ndarray or type(entries) is not np.ndarray:
        raise NotPlain("not a sparse matrix")
    inside = where.dtype == np.int64 and where.shape == (entries.size, len(shape)) and entries.ndim == 1
    if not inside or not ((where >= 0) & (where < np.array(shape, dtype=np.int64))).all():
        raise NotPlain("a sparse matrix with entries outside its shape")
    if form not in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"):
        raise NotPlain("not a format of sparse matrices")
    return Sparse(tuple(shape), where, entries, form, array is True)


def _decode_frame(columns: Any, index: Any, data: Any, kinds: Any, series: Any) -> Frame:
    if not all(type(part) is list for part in (columns, index, data, kinds)):
        raise NotPlain("not a data frame")
    long = all(type(part) in (list, np.ndarray) and len(part) == len(index) for part in data)
    if not long or not len(columns) == len(data) == len(kinds) or not all(type(kind) is str for kind in kinds):
        raise NotPlain("a data frame whose columns do not match")
    return Frame(columns, index, data, kinds, series is True)


def _shape(code: dict[str, Any]) -> tuple[int, ...]:
    shape = tuple(code["shape"])
    if len(shape) > 8 or not all(type(side) is int and side >= 0 for side in shape):
        raise NotPlain("not the shape of an array")
    return shape


def _decode_array(code: dict[str, Any]) -> Any:
    if code["dtype"] not in _NUMBERS:
        raise NotPlain("not an array of numbers")
    shape = _shape(code)
    dtype = np.dtype("<" + code["dtype"])
    data = base64.b64decode(code["array"], validate=True)
    if math.prod(shape) * dtype.itemsize != len(data):
        raise NotPlain("an array and its shape do not agree")
    array = np.ndarray(shape, dtype, data).astype(dtype.newbyteorder("="))
    return array[()] if code.get("scalar") is True else array
