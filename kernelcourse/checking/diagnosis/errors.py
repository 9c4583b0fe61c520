"""Errors in a student's own terms: the names and shapes in the line that failed."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from ..cases import Case

_SHOWN = 4  # names in a sentence
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.+~-]+){2,}[\\/]?")


@dataclass(frozen=True)
class Failure:
    """An error, where it came from and what it means."""

    line: int
    text: str
    meaning: str
    span: tuple[int, int, int, int]


def without_paths(message: str) -> str:
    """A message without the folders of a machine.

    >>> without_paths("No such file or directory: '/home/ada/data/x.txt'")
    "No such file or directory: 'x.txt'"
    """
    return _PATH.sub(lambda match: re.split(r"[\\/]", match[0].rstrip("\\/"))[-1], message)


def failure(function: Callable[..., Any], case: Case) -> Failure | None:
    """Call the function once more and say what its error means; None if it is not raised again."""
    try:
        function(*case.fresh())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the error is what is asked for
        return _explained(error, function, case)
    return None


def _explained(error: BaseException, function: Callable[..., Any], case: Case) -> Failure | None:
    place = _place(error, function)
    if place is None:
        return Failure(1, "", _of_the_call(error, function, case), (1, 0, 1, 0))
    frame, span, line, text = place
    node = _parsed(text)
    meaning = _meaning(error, node, frame) or _inventory(node, frame)
    return Failure(line, text, meaning, span)


def _place(
    error: BaseException, function: Callable[..., Any]
) -> tuple[FrameType, tuple[int, int, int, int], int, str] | None:
    """The deepest frame of the function's own file, with the expression that failed."""
    code = getattr(function, "__code__", None)
    found: TracebackType | None = None
    trace = error.__traceback__
    while trace is not None:
        if code is not None and trace.tb_frame.f_code.co_filename == code.co_filename:
            found = trace
        trace = trace.tb_next
    if found is None or code is None:
        return None
    positions = list(found.tb_frame.f_code.co_positions())[found.tb_lasti // 2]
    summary = traceback.extract_tb(found)[0]
    lines = _lines(function)
    if None in positions or not lines:
        return found.tb_frame, (1, 0, 1, 0), found.tb_lineno - code.co_firstlineno + 1, summary.line or ""
    first, last, begin, end = (int(position or 0) for position in positions)
    row = first - code.co_firstlineno
    text = _segment(lines, row, last - code.co_firstlineno, begin, end)
    return found.tb_frame, (row + 1, begin, last - code.co_firstlineno + 1, end), row + 1, text


def _lines(function: Callable[..., Any]) -> list[str]:
    try:
        return inspect.getsourcelines(function)[0]
    except (OSError, TypeError):
        return []


def _segment(lines: list[str], first: int, last: int, begin: int, end: int) -> str:
    if not 0 <= first <= last < len(lines):
        return ""
    part = [line.encode() for line in lines[first : last + 1]]
    part[-1] = part[-1][:end]
    part[0] = part[0][begin:]
    return b" ".join(one.strip() for one in part).decode(errors="replace")


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None


def _value(node: ast.expr, frame: FrameType) -> Any:
    """The value of an expression in a frame; only expressions that change nothing are evaluated."""
    allowed = (ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Constant, ast.Slice, ast.Tuple)
    for part in ast.walk(node):
        if isinstance(part, (ast.expr, ast.Slice)) and not isinstance(part, allowed):
            raise ValueError("only names and operators are evaluated")
    with np.errstate(all="ignore"):
        return eval(compile(ast.Expression(node), "<expression>", "eval"), frame.f_globals, dict(frame.f_locals))


def _described(node: ast.expr, frame: FrameType) -> str:
    """An expression with what it is: its shape, or its value if it is a plain number."""
    text = ast.unparse(node)
    try:
        value = _value(node, frame)
    except Exception:  # noqa: BLE001 - then only the expression's text is known
        return f"`{_short(text)}`"
    return f"`{_short(text)}` {_is(value)}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"


def _is(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"is {value.shape}"
    if isinstance(value, (bool, int, float, np.number)):
        return f"is {value:.4g}" if isinstance(value, (float, np.floating)) else f"is {value}"
    if isinstance(value, (list, tuple, set, dict, str)):
        return f"is a {type(value).__name__} of length {len(value)}"
    if value is None:
        return "is None"
    return f"is a {type(value).__name__}"


def _of_the_call(error: BaseException, function: Callable[..., Any], case: Case) -> str:
    """An error before the first line: the arguments do not fit the definition."""
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ""
    if isinstance(error, TypeError) and len(parameters) != len(case.args):
        takes = f"takes {len(parameters)}: {', '.join(parameters)}" if parameters else "takes none"
        return f"It is called with {len(case.args)} arguments, but its definition {takes}."
    return ""


def _meaning(error: BaseException, node: ast.expr | None, frame: FrameType) -> str:
    if isinstance(error, RecursionError):
        return "The function calls itself without end."
    if isinstance(error, UnboundLocalError):
        return f"The variable `{_quoted(error)}` is used before it has a value."
    if isinstance(error, NameError):
        return _nearest(_quoted(error), frame)
    if isinstance(error, AttributeError) and isinstance(node, ast.Attribute):
        return _attribute(node, frame)
    if isinstance(node, ast.BinOp):
        return _of_operator(node, frame)
    if isinstance(node, ast.Subscript) and isinstance(error, (IndexError, KeyError, TypeError)):
        parts = [_described(part, frame) for part in (node.value, node.slice) if not isinstance(part, ast.Slice)]
        return f"Here {' and '.join(part for part in parts if ' is ' in part)}." if " is " in "".join(parts) else ""
    if isinstance(node, ast.Call):
        return _of_call(error, node, frame)
    return ""


def _quoted(error: BaseException) -> str:
    found = re.search(r"'([^']+)'", str(error))
    return found[1] if found else ""


def _nearest(name: str, frame: FrameType) -> str:
    known = [*frame.f_locals, *frame.f_globals, *dir(__builtins__)]
    lowered = {one.lower(): one for one in reversed(known) if not one.startswith("_")}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    arguments = ", ".join(f"`{one}`" for one in frame.f_code.co_varnames[: frame.f_code.co_argcount])
    if near:
        return f"The name `{name}` is not defined here. Did you mean `{lowered[near[0]]}`?"
    return f"The name `{name}` is not defined here; the function's arguments are {arguments}."


def _attribute(node: ast.Attribute, frame: FrameType) -> str:
    try:
        value = _value(node.value, frame)
    except Exception:  # noqa: BLE001 - then only the expression's text is known
        return f"`{ast.unparse(node.value)}` has nothing called `{node.attr}`."
    near = difflib.get_close_matches(node.attr, dir(value), n=1, cutoff=0.6)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    if hasattr(value, "__name__") and not isinstance(value, type):
        return f"`{value.__name__}` has nothing called `{node.attr}`.{hint}"
    return f"{_described(node.value, frame)} and has nothing called `{node.attr}`.{hint}"


def _of_operator(node: ast.BinOp, frame: FrameType) -> str:
    left, right = _described(node.left, frame), _described(node.right, frame)
    known = [text for text in (left, right) if " is " in text]
    start = " and ".join(known)
    if not known:
        return ""
    try:
        a, b = np.asarray(_value(node.left, frame)), np.asarray(_value(node.right, frame))
    except Exception:  # noqa: BLE001 - unknown shapes are not compared
        return f"Here {start}."
    if isinstance(node.op, ast.MatMult):
        if not a.ndim or not b.ndim:
            return f"{start}: `@` multiplies arrays; for a plain number use `*`."
        return f"{start}: `@` needs the last size on the left to equal the first on the right.{_turned(node, a, b)}"
    if a.dtype.kind in "biuf" and b.dtype.kind in "biuf" and a.shape != b.shape and a.ndim and b.ndim:
        return f"{start}: this works entry by entry, and these shapes do not match.{_turned(node, a, b)}"
    return f"Here {start}."


def _turned(node: ast.BinOp, a: np.ndarray, b: np.ndarray) -> str:
    """Which transpose would make the shapes fit."""
    for text, left, right in ((ast.unparse(node.left), a.T, b), (ast.unparse(node.right), a, b.T)):
        changed = left if left is not a else right
        if changed.ndim < 2 or not text.replace("_", "").isalnum():
            continue
        try:
            _ = left @ right if isinstance(node.op, ast.MatMult) else left + right
        except (ValueError, TypeError):
            continue
        return f" `{text}.T` would be {changed.shape}."
    return ""


def _of_call(error: BaseException, node: ast.Call, frame: FrameType) -> str:
    name = ast.unparse(node.func)
    described = [_described(arg, frame) for arg in node.args[:_SHOWN] if not isinstance(arg, ast.Starred)]
    if isinstance(error, np.linalg.LinAlgError) and "ingular" in str(error):
        return f"`{name}` cannot solve a system whose matrix is singular: {' and '.join(described[:1])}."
    known = [one for one in described if " is " in one]
    return f"`{name}` was called where {' and '.join(known)}." if known else ""


def _inventory(node: ast.expr | None, frame: FrameType) -> str:
    """What the names in the expression stand for."""
    known = [text for text in _names(node, frame) if " is " in text][:_SHOWN]
    return f"Here {' and '.join(known)}." if known else ""


def _names(node: ast.expr | None, frame: FrameType) -> Iterator[str]:
    if node is None:
        for name in frame.f_code.co_varnames[: frame.f_code.co_argcount]:
            if name in frame.f_locals:
                yield f"`{name}` {_is(frame.f_locals[name])}"
        return
    for name in dict.fromkeys(part.id for part in ast.walk(node) if isinstance(part, ast.Name)):
        if name in frame.f_locals:
            yield f"`{name}` {_is(frame.f_locals[name])}"
