"""Small changes to a function, one at a time: what people often get wrong.

The same list is used twice. A change to the reference gives the results of a mistake (`fingerprints`); a change to a
student's function may make it right (`repair`).
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

NUMPY, ROWS, TICK = "_kernelcourse_numpy", "_kernelcourse_rows", "_kernelcourse_tick"
TIMES = "_kernelcourse_times"
OUTSIDE = "outside"

_SOMEWHERE: dict[str, Any] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


def _number(value: float) -> ast.expr:
    return ast.Constant(value, **_SOMEWHERE)


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load(), **_SOMEWHERE)


def _two(left: ast.expr, operator: type[ast.operator], right: ast.expr) -> ast.expr:
    return ast.BinOp(left, operator(), right, **_SOMEWHERE)


def _times(value: ast.expr, factor: ast.expr) -> ast.expr:
    return ast.Call(_name(TIMES), [value, factor], [], **_SOMEWHERE)


def _call(function: str, argument: ast.expr) -> ast.expr:
    func = ast.Attribute(_name(NUMPY), function, ast.Load(), **_SOMEWHERE)
    return ast.Call(func, [argument], [], **_SOMEWHERE)


def _backwards(E: ast.expr) -> ast.expr:
    return ast.Subscript(E, ast.Slice(step=_number(-1), **_SOMEWHERE), ast.Load(), **_SOMEWHERE)


# An expression becomes another one that contains it: the kind of change, how far-fetched it is, and the new expression.
_WRAPPED: dict[str, tuple[int, Callable[[ast.expr], ast.expr]]] = {
    "minus": (0, lambda E: ast.UnaryOp(ast.USub(), E, **_SOMEWHERE)),
    "twice": (0, lambda E: _times(E, _number(2))),
    "half": (0, lambda E: _two(E, ast.Div, _number(2))),
    "square": (0, lambda E: _two(E, ast.Pow, _number(2))),
    "root": (0, lambda E: _call("sqrt", E)),
    "nothing": (0, lambda E: _times(E, _number(0))),
    "one": (1, lambda E: _two(_times(E, _number(0)), ast.Add, _number(1))),
    "inverse": (1, lambda E: _two(_number(1), ast.Div, E)),
    "transpose": (0, lambda E: _call("transpose", E)),
    "rows": (0, lambda E: _times(E, _name(ROWS))),
    "per row": (0, lambda E: _two(E, ast.Div, _name(ROWS))),
    "absolute": (1, lambda E: _call("abs", E)),
    "plus one": (1, lambda E: _two(E, ast.Add, _number(1))),
    "minus one": (1, lambda E: _two(E, ast.Sub, _number(1))),
    "complement": (1, lambda E: _two(_number(1), ast.Sub, E)),
    "exp": (1, lambda E: _call("exp", E)),
    "log": (1, lambda E: _call("log", E)),
    "backwards": (1, _backwards),
    "sum": (1, lambda E: _call("sum", E)),
    "mean": (1, lambda E: _call("mean", E)),
    "diagonal": (1, lambda E: _call("diag", E)),
    "sign": (1, lambda E: _call("sign", E)),
}
_WITH_NAME: dict[str, type[ast.operator]] = {
    "plus": ast.Add,
    "less": ast.Sub,
    "times": ast.Mult,
    "over": ast.Div,
    "matrix times": ast.MatMult,
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_FAMILIES = (
    {"sum", "mean", "max", "min", "prod", "median"},
    {"sin", "cos", "tanh", "exp", "log", "sqrt", "abs", "sign"},
    {"argmin", "argmax", "argsort"},
    {"zeros", "ones", "eye", "empty"},
    {"maximum", "minimum", "add"},
    {"hstack", "vstack", "stack", "column_stack"},
    {"solve", "inv", "pinv"},
    {"floor", "ceil", "rint"},
)
_SIZED = {"range", "zeros", "ones", "empty", "eye", "identity", "arange", "full", "comb", "factorial", "perm", "resize"}
_SMALL = {"minus", "half", "nothing", "one", "plus one", "minus one", "number", "part", "other"}
_REPEATED = {"minus", "twice", "half", "square", "root", "nothing", "transpose", "operator", "comparison", "number"}
_NUMBERS = (0, 1, 2, 3, 0.5, -1)


@dataclass(frozen=True)
class Edit:
    """A change at one place in a tree: the old node, the new node, and the kind of change."""

    kind: str
    cost: int
    place: ast.AST  # the node that the change is about
    holder: ast.AST
    field: str
    index: int | None
    new: Any  # the new node, or a function that makes it, since most changes are never tried
    detail: str = ""
    also: tuple[Edit, ...] = ()  # the same at other places

    @property
    def places(self) -> tuple[ast.AST, ...]:
        return self.place, *(edit.place for edit in self.also)

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """The tree with the change, which is undone afterwards."""
        with contextlib.ExitStack() as stack:
            for edit in (*self.also, self):
                stack.enter_context(edit._made_here())
            yield

    @contextlib.contextmanager
    def _made_here(self) -> Iterator[None]:
        before = getattr(self.holder, self.field)
        new = self.new() if callable(self.new) else self.new
        if self.index is None:
            setattr(self.holder, self.field, new)
        else:
            fill = new if isinstance(new, list) else [new]
            setattr(self.holder, self.field, [*before[: self.index], *fill, *before[self.index + 1 :]])
        try:
            yield
        finally:
            setattr(self.holder, self.field, before)


def edits(function: ast.FunctionDef, more: Sequence[str] = ()) -> Iterator[Edit]:
    """Every change to a function's body. `more` lists expressions that may replace others."""
    found = list(_single(function, more))
    yield from found
    yield from _everywhere(found)


def _single(function: ast.FunctionDef, more: Sequence[str]) -> Iterator[Edit]:
    names = _names(function)
    sizes, growing, inner = _sizes(function), _growing(function), _in_loops(function)
    for holder, field, index, node in _places(function):
        known = [name for name in names if name not in growing] if id(node) in inner else names
        if not isinstance(node, ast.expr):
            yield from _of_statement(node, (holder, field, index))
        elif id(node) in sizes:
            small = (edit for edit in _of_expression(node, (holder, field, index), (), known) if edit.kind in _SMALL)
            yield from (edit for edit in small if edit.kind != "other" or isinstance(node, ast.Name))
        else:
            yield from _of_expression(node, (holder, field, index), known, [*known, *more])


def _everywhere(found: Sequence[Edit]) -> Iterator[Edit]:
    """The same change at all places that look the same: a student who forgets a bias once forgets it everywhere."""
    groups: dict[Any, list[Edit]] = {}
    for edit in found:
        if key := _alike(edit):
            groups.setdefault(key, []).append(edit)
    for group in groups.values():
        inside = [{id(part) for part in ast.walk(edit.place)} for edit in group]
        nested = any(id(b.place) in parts for a, parts in zip(group, inside, strict=True) for b in group if a is not b)
        if len(group) > 1 and not nested:
            first, *rest = group
            yield replace(first, cost=first.cost + 1, also=tuple(rest))


def _alike(edit: Edit) -> Any:
    """A key shared by changes that come from one habit, or None for a change that comes alone."""
    node = edit.place
    if edit.kind in ("axis", "keyword", "function"):
        return edit.kind, edit.detail
    if edit.kind == "part" and isinstance(node, ast.BinOp):
        dropped = node.right if edit.detail == "right" else node.left
        return edit.kind, edit.detail, type(node.op), ast.dump(dropped)
    if edit.kind == "part" and isinstance(node, ast.Call):
        return edit.kind, _called(node)
    if edit.kind in _REPEATED and not isinstance(node, ast.Name):
        return edit.kind, edit.detail, ast.dump(node)
    return None


def _growing(function: ast.FunctionDef) -> set[str]:
    """Lists that a loop appends to: a loop over such a list, or one that adds the list to itself, would never end."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    attributes = [func for func in calls if isinstance(func, ast.Attribute) and func.attr in ("append", "extend")]
    found = {func.value.id for func in attributes if isinstance(func.value, ast.Name)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.ListComp)):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _in_loops(function: ast.FunctionDef) -> set[int]:
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    return {id(part) for loop in loops for part in ast.walk(loop)}


def _sizes(function: ast.FunctionDef) -> set[int]:
    """Exponents, and arguments that set how much is computed: with a large number in their place a call would never
    end."""
    found: set[int] = set()
    for node in ast.walk(function):
        large: list[ast.AST] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift)):
            large = [node.right]
        elif isinstance(node, ast.Call) and _called(node) in _SIZED:
            large = [*node.args, *node.keywords]
        found |= {id(part) for one in large for part in ast.walk(one)}
    return found


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _places(root: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Statements and expressions that are evaluated, each with its position."""
    for field, value in ast.iter_fields(root):
        if field in ("decorator_list", "annotation", "returns", "args", "func", "op", "ops", "ctx") and not (
            field == "args" and isinstance(root, ast.Call)
        ):
            if field == "func" and isinstance(value, ast.Attribute) and not _is_module(value.value):
                yield value, "value", None, value.value  # the object whose method is called
                yield from _places(value.value)
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if (
                not isinstance(child, (ast.stmt, ast.expr, ast.keyword, ast.comprehension))
                or _is_text(child)
                or _is_tick(child)
            ):
                continue
            if isinstance(child, ast.stmt) or (isinstance(child, ast.expr) and _is_read(child)):
                yield root, field, index, child
            yield from _places(child)


def _is_module(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id in ("np", "numpy", "math", "linalg", "scipy")
    if not isinstance(node, ast.Attribute):
        return False
    return node.attr in ("linalg", "random", "c_", "r_", "s_") and _is_module(node.value)


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        node = node.value
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (str, bool)))
    )


def _is_read(node: ast.expr) -> bool:
    store = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
    return not store and not isinstance(node, (ast.Starred, ast.Slice, ast.Lambda)) and not _is_module(node)


def _names(function: ast.FunctionDef) -> list[str]:
    """The arguments and the variables of a function, in order of appearance."""
    found = [arg.arg for arg in function.args.args]
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, ast.arg):
            found.append(node.arg)
    return list(dict.fromkeys(found))


def _template(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _filled(text: str, **parts: ast.expr) -> ast.expr:
    """The expression with nodes in place of its capital letters."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return parts.get(node.id, node)

    return Fill().visit(_template(text))


def _of_expression(
    node: ast.expr, where: tuple[ast.AST, str, int | None], names: Sequence[str], others: Sequence[str]
) -> Iterator[Edit]:
    def edit(kind: str, cost: int, new: Any, detail: str = "") -> Edit:
        return Edit(kind, cost, node, *where, new, detail)

    yield from (edit(*one) for one in _by_type(node))
    for kind, (cost, wrapped) in _WRAPPED.items():
        if not (isinstance(node, ast.Constant) and kind not in ("minus", "square", "rows", "per row")):
            yield edit(kind, cost, partial(wrapped, node))
    for detail, part in _parts(node):
        yield edit("part", 0, part, detail)
    own = ast.unparse(node)
    if not isinstance(node, ast.Constant) or node.value not in (0, 1):
        for name in others:
            if name != own:
                cost = 1 if isinstance(node, ast.Name) and name.isidentifier() else 2
                yield edit("other", cost, partial(_template, name), name)
    if not isinstance(node, ast.Constant):
        for kind, operator in _WITH_NAME.items():
            for name in names:
                yield edit(kind, 2, partial(_with_name, node, operator, name), name)


def _with_name(node: ast.expr, operator: type[ast.operator], name: str) -> ast.expr:
    return _times(node, _name(name)) if operator is ast.Mult else _two(node, operator, _name(name))


def _parts(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The parts of a larger expression, each with the name of the part that is dropped."""
    if isinstance(node, ast.BinOp):
        yield "right", node.left
        yield "left", node.right
    elif isinstance(node, ast.UnaryOp):
        yield "sign", node.operand
    elif isinstance(node, ast.Call):
        for arg in node.args:
            if not isinstance(arg, (ast.Starred, ast.GeneratorExp)):
                yield "call", arg
        if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
            yield "call", node.func.value
    elif isinstance(node, ast.Subscript) and not _is_module(node.value):
        yield "index", node.value
    elif isinstance(node, ast.Attribute):
        yield "attribute", node.value
    elif isinstance(node, ast.IfExp):
        yield "choice", node.body
        yield "choice", node.orelse
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield "condition", value


def _by_type(node: ast.expr) -> Iterator[tuple[str, int, ast.expr, str]]:
    """Changes that apply only to this type of expression."""
    if isinstance(node, ast.BinOp):
        for operator, sign in _OPERATORS.items():
            power = sign == "**" and not isinstance(node.right, ast.Constant)
            if not isinstance(node.op, operator) and sign != "%" and not power:
                yield "operator", 0, _at(node, ast.BinOp(node.left, operator(), node.right)), sign
        if not isinstance(node.op, ast.Pow):
            yield "turned", 1, _at(node, ast.BinOp(node.right, node.op, node.left)), ""
        yield from _regrouped(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for comparison, sign in _COMPARISONS.items():
            if not isinstance(node.ops[0], comparison):
                yield "comparison", 0, _at(node, ast.Compare(node.left, [comparison()], node.comparators)), sign
    elif isinstance(node, ast.BoolOp):
        op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "connective", 0, _at(node, ast.BoolOp(op, node.values)), ""
    elif isinstance(node, ast.Constant):
        for number in _NUMBERS:
            if number != node.value:
                yield "number", 1, _at(node, ast.Constant(number)), str(number)
        for change in (1, -1):
            if isinstance(node.value, int) and node.value + change not in _NUMBERS:
                yield "number", 1, _at(node, ast.Constant(node.value + change)), str(node.value + change)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Tuple) and len(node.elts) > 1:
        for i in range(len(node.elts) - 1):
            turned = [*node.elts[:i], node.elts[i + 1], node.elts[i], *node.elts[i + 2 :]]
            yield "order of values", 0, _at(node, ast.Tuple(turned, ast.Load())), ""
    elif isinstance(node, ast.Subscript):
        yield from _of_subscript(node)


def _at(node: ast.AST, new: Any) -> Any:
    """A new node at the position of another one; its parts without a position get the same one."""
    if "lineno" in new._attributes and not hasattr(new, "lineno"):
        ast.copy_location(new, node)
    for child in ast.iter_child_nodes(new):
        if not hasattr(child, "lineno"):
            _at(node, child)
    return new


def _regrouped(node: ast.BinOp) -> Iterator[tuple[str, int, ast.expr, str]]:
    """(a + b) * c for a + b * c, and vice versa."""
    left, right = node.left, node.right
    if isinstance(right, ast.BinOp):
        inner = _at(node, ast.BinOp(left, node.op, right.left))
        yield "grouping", 1, _at(node, ast.BinOp(inner, right.op, right.right)), ""
    if isinstance(left, ast.BinOp) and not isinstance(left.op, ast.Pow):
        inner = _at(node, ast.BinOp(left.right, node.op, right))
        yield "grouping", 1, _at(node, ast.BinOp(left.left, left.op, inner)), ""
    if isinstance(left, ast.UnaryOp):
        inner = _at(node, ast.BinOp(left.operand, node.op, right))
        yield "grouping", 1, _at(node, ast.UnaryOp(left.op, inner)), ""


def _of_call(node: ast.Call) -> Iterator[tuple[str, int, ast.expr, str]]:
    name = _called(node)
    if len(node.args) == 1 and not node.keywords and isinstance(inner := node.args[0], ast.BinOp):
        left = _at(node, ast.Call(node.func, [inner.left], []))
        yield OUTSIDE, 0, _at(node, ast.BinOp(left, inner.op, inner.right)), ""
        right = _at(node, ast.Call(node.func, [inner.right], []))
        yield OUTSIDE, 0, _at(node, ast.BinOp(inner.left, inner.op, right)), ""
    for family in _FAMILIES:
        for other in sorted(family - {name}) if name in family else ():
            func = (
                ast.Attribute(node.func.value, other, ast.Load())
                if isinstance(node.func, ast.Attribute)
                else ast.Attribute(ast.Name(NUMPY, ast.Load()), other, ast.Load())
            )
            yield "function", 1, _at(node, ast.Call(func, node.args, node.keywords)), f"{name} {other}"
    if len(node.args) == 2 and not any(isinstance(arg, ast.Starred) for arg in node.args):
        yield "order of arguments", 1, _at(node, ast.Call(node.func, node.args[::-1], node.keywords)), ""
    for i, keyword in enumerate(node.keywords):
        rest = [*node.keywords[:i], *node.keywords[i + 1 :]]
        if keyword.arg not in ("dtype",):
            yield "keyword", 0, _at(node, ast.Call(node.func, node.args, rest)), str(keyword.arg)
        if keyword.arg == "axis" and isinstance(keyword.value, ast.Constant):
            for axis in {0, 1, 2} - {keyword.value.value}:
                new = ast.keyword("axis", ast.Constant(axis))
                yield "axis", 0, _at(node, ast.Call(node.func, node.args, [*rest, new])), str(axis)
    if not node.keywords and name in ("sum", "mean", "max", "min", "argmin", "argmax", "prod", "norm"):
        for axis in (0, 1):
            new = ast.keyword("axis", ast.Constant(axis))
            yield "axis", 0, _at(node, ast.Call(node.func, node.args, [new])), str(axis)
    if name == "range" and not node.keywords:
        for kind, text in (("one less", "range(E - 1)"), ("one more", "range(E + 1)"), ("from one", "range(1, E)")):
            if len(node.args) == 1:
                yield kind, 0, _filled(text, E=node.args[0]), ""
        if len(node.args) == 2:
            for kind, text in (("one less", "range(A, B - 1)"), ("one more", "range(A, B + 1)")):
                yield kind, 0, _filled(text, A=node.args[0], B=node.args[1]), ""
            yield "from nought", 0, _filled("range(B)", B=node.args[1]), ""
        yield "once", 0, _filled("range(1)"), ""


def _of_subscript(node: ast.Subscript) -> Iterator[tuple[str, int, ast.expr, str]]:
    part = node.slice
    if isinstance(part, ast.Slice):
        for bound in ("lower", "upper", "step"):
            if getattr(part, bound) is not None:
                values = {name: getattr(part, name) for name in ("lower", "upper", "step")} | {bound: None}
                yield "bound", 0, _at(node, ast.Subscript(node.value, ast.Slice(**values), ast.Load())), ""
    if isinstance(part, ast.Tuple) and len(part.elts) == 2:
        turned = ast.Tuple(part.elts[::-1], ast.Load())
        yield "order of indices", 0, _at(node, ast.Subscript(node.value, turned, ast.Load())), ""
    elif not isinstance(part, (ast.Slice, ast.Tuple)):
        columns = ast.Tuple([ast.Slice(), part], ast.Load())
        yield "row for column", 0, _at(node, ast.Subscript(node.value, columns, ast.Load())), ""


def _of_statement(node: ast.AST, where: tuple[ast.AST, str, int | None]) -> Iterator[Edit]:
    def edit(kind: str, cost: int, new: Any, detail: str = "", index: int | None = where[2]) -> Edit:
        return Edit(kind, cost, node, where[0], where[1], index, new, detail)

    if isinstance(node, (ast.AugAssign, ast.Expr, ast.Break, ast.Continue)):
        yield edit("left out", 0, _at(node, ast.Pass()))
    if isinstance(node, ast.AugAssign):
        for operator, sign in _OPERATORS.items():
            if not isinstance(node.op, operator) and sign in "+-*/":
                yield edit("operator", 0, _at(node, ast.AugAssign(node.target, operator(), node.value)), sign)
        yield edit("set", 0, _at(node, ast.Assign([node.target], node.value)))
    if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], (ast.Name, ast.Attribute, ast.Subscript)):
        yield edit("added", 0, _at(node, ast.AugAssign(target, ast.Add(), node.value)))
    if isinstance(node, ast.If):
        yield edit("always", 0, node.body)
        yield edit("never", 0, node.orelse or [_at(node, ast.Pass())])
        turned = ast.UnaryOp(ast.Not(), node.test)
        yield edit("condition turned", 0, _at(node, ast.If(turned, node.body, node.orelse)))
    if isinstance(node, (ast.For, ast.While)):
        yield from _of_loop(node, edit)


def _of_loop(node: ast.For | ast.While, edit: Any) -> Iterator[Edit]:
    once = _at(node, ast.Break())

    def with_body(body: list[ast.stmt]) -> Any:
        if isinstance(node, ast.For):
            return _at(node, ast.For(node.target, node.iter, body, node.orelse))
        return _at(node, ast.While(node.test, body, node.orelse))

    yield edit("one pass", 0, with_body([*node.body, once]))
    if isinstance(node, ast.For):
        order = _filled(f"{NUMPY}.array(list(E), dtype=object)[::-1]", E=node.iter)
        yield edit("backwards", 1, _at(node, ast.For(node.target, order, node.body, node.orelse)))
    last = node.body[-1]
    if len(node.body) > 2:  # the first statement counts a step
        yield edit("last line after the loop", 1, [with_body(node.body[:-1]), last])


def with_ticks(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function, with loops that first check whether there are steps left."""
    for loop in [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]:
        loop.body.insert(0, _at(loop, ast.Expr(ast.Call(ast.Name(TICK, ast.Load()), [], []))))
    return function


def _is_tick(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == TICK
    )


def times(value: Any, factor: Any) -> Any:
    """A product of numbers or arrays; a list would be repeated, and repeated again in a loop until memory is full."""
    if any(isinstance(one, (list, tuple, str, bytes)) for one in (value, factor)):
        raise TypeError("only numbers are multiplied")
    return value * factor


def helpers(tick: Callable[..., None]) -> dict[str, Any]:
    """The names that changed functions use."""
    return {NUMPY: np, ROWS: 1, TICK: tick, TIMES: times}


def rows(args: Sequence[Any]) -> int:
    """n: the number of rows of the first array among the arguments, or else the first whole number."""
    for arg in args:
        if isinstance(arg, np.ndarray) and arg.ndim:
            return len(arg)
    return next((arg for arg in args if isinstance(arg, int)), 1)
