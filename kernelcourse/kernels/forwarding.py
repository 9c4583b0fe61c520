"""Names of the coming interface, forwarded to those of today; gone when the kernels have them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

SLAB = 2**20


class Forwarding:
    """`prepare`, `diagonal`, `feature_rows`, `expand`, `parameters` and `with_parameters` of a kernel."""

    def prepare(self: Any, X: Any, name: str = "X") -> Any:
        return self.inputs(X, name)

    def diagonal(self: Any, P: Any) -> Any:
        return self._diag(P)

    def feature_rows(self: Any, P: Any) -> Any:
        return self._features(P)

    def expand(self: Any, P: Any, Q: Any, a: Any) -> Any:
        return self._times(P, Q, a, SLAB)

    def _fields(self: Any) -> dict[str, Any]:
        if isinstance(getattr(self, "parts", None), tuple):
            return {str(i): part for i, part in enumerate(self.parts)}
        return {f.name: getattr(self, f.name) for f in fields(self)} if is_dataclass(self) else {}

    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in self._fields().items():
            found[name] = value
            if isinstance(value, Forwarding):
                found |= {f"{name}__{inner}": part for inner, part in value.parameters().items()}
        return found

    def with_parameters(self: Any, **changes: Any) -> Any:
        own = self._fields()
        for name, value in sorted(changes.items(), key=lambda item: item[0].count("__")):
            field, _, rest = name.partition("__")
            if field not in own or (rest and not isinstance(own[field], Forwarding)):
                raise ValueError(f"{self!r:.80} has no parameter {name!r}")
            own[field] = own[field].with_parameters(**{rest: value}) if rest else value
        numbered = isinstance(getattr(self, "parts", None), tuple)
        return replace(self, parts=tuple(own.values())) if numbered else replace(self, **own)
