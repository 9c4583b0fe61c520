"""Mistakes for scoring the hints; the diagnosis tries none of them.

Beyond wrong signs, people misplace parentheses, mix up names throughout, get numbers slightly wrong, put lines in the
wrong order, shift indices, use stale values and do a step twice.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A changed function: its tree, what was done, and the node of the original that it was done to."""

    function: ast.FunctionDef
    operator: str
    node: ast.AST
    text: str


def mutants(function: ast.FunctionDef) -> Iterator[Mutant]:
    """Every mutant of a function, always in the same order."""
    for node in list(ast.walk(function)):
        for operator, new in _changes(node, function):
            new = ast.fix_missing_locations(ast.copy_location(new, node))
            changed = _replaced(function, node, new)
            if ast.unparse(changed) != ast.unparse(function):
                yield Mutant(changed, operator, node, f"{_head(node)} -> {_head(new)}")
    yield from _throughout(function)
    yield from _lines(function)


def _head(node: Any) -> str:
    return ast.unparse(node).splitlines()[0] if isinstance(node, ast.AST) else "…"


def _replaced(function: ast.FunctionDef, node: ast.AST, new: ast.AST) -> ast.FunctionDef:
    """A copy of the function with one node replaced."""
    numbers = {id(one): i for i, one in enumerate(ast.walk(function))}
    number, copied = numbers[id(node)], copy.deepcopy(function)
    old = list(ast.walk(copied))[number]

    class Replace(ast.NodeTransformer):
        def visit(self, one: ast.AST) -> ast.AST:
            return copy.deepcopy(new) if one is old else self.generic_visit(one)

    return ast.fix_missing_locations(Replace().visit(copied))


def _text(template: str, **parts: ast.AST) -> ast.expr:
    """An expression from text in which capital letters stand for other expressions."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, one: ast.Name) -> ast.AST:
            return copy.deepcopy(parts.get(one.id, one))

    return Fill().visit(ast.parse(template, mode="eval").body)


def _is_value(node: ast.AST) -> bool:
    return isinstance(node, (ast.BinOp, ast.Call, ast.UnaryOp, ast.Attribute, ast.Name)) and (
        not isinstance(node, (ast.Name, ast.Attribute)) or isinstance(node.ctx, ast.Load)
    )


def _is_module(node: ast.AST) -> bool:
    return ast.unparse(node) in ("np", "np.linalg", "math")


def _functions(function: ast.FunctionDef) -> set[int]:
    """Nodes that name what is called, and those that set a size."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            found |= {id(part) for part in ast.walk(node.func)}
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in ("range", "zeros", "ones", "eye", "empty", "arange", "comb", "factorial"):
                found |= {id(part) for arg in node.args for part in ast.walk(arg)}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            found |= {id(part) for part in ast.walk(node.right)}
    return found


def _changes(node: ast.AST, function: ast.FunctionDef) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.BinOp):
        yield from _moved_parentheses(node)
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (0, 1)
    if is_number and id(node) not in _functions(function):
        yield "number times 1.5", ast.Constant(node.value * 1.5)
    if id(node) in _functions(function) or _is_module(node):
        return
    if isinstance(node, (ast.BinOp, ast.Call)) and _is_value(node):
        yield "times 1.5", _text("E * 1.5", E=node)
        yield "shifted by 0.3", _text("E + 0.3", E=node)
        yield "half removed", _text("E - E / 4", E=node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield "entry by entry", ast.BinOp(ast.BinOp(node.left, ast.Mult(), node.right), ast.Add(), ast.Constant(0))
        yield "both sides transposed", _text("A.T @ B.T", A=node.left, B=node.right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield "threshold moved", ast.Compare(node.left, node.ops, [_text("E + 0.7", E=node.comparators[0])])
        yield "sides swapped", ast.Compare(node.comparators[0], node.ops, [node.left])
    if isinstance(node, ast.Call):
        yield from _calls(node)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from _subscripts(node)
    if isinstance(node, ast.For):
        yield "every second", _loop(node, _text("list(E)[::2]", E=node.iter))
        yield "twice round", _loop(node, _text("[*E, *E]", E=node.iter))
    if isinstance(node, ast.AugAssign):
        yield "done twice", ast.AugAssign(node.target, node.op, _text("E + E", E=node.value))


def _moved_parentheses(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    """a / (b * c) without the parentheses, also when the first operand is negated, and two levels deep."""
    left, right = node.left, node.right
    if isinstance(left, ast.Call) and len(left.args) == 1 and not left.keywords:
        inner = ast.BinOp(left.args[0], node.op, right)
        yield "parenthesis of a call moved", ast.Call(left.func, [inner], [])
    if isinstance(right, ast.Call) and len(right.args) == 1 and not right.keywords:
        inner = ast.BinOp(left, node.op, right.args[0])
        yield "parenthesis of a call moved", ast.Call(right.func, [inner], [])


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    name = ast.unparse(node.func).rpartition(".")[2]
    if name in ("exp", "tanh", "sqrt", "sign", "log", "abs"):
        yield "applied twice", ast.Call(node.func, [node], [])
        yield "argument doubled", ast.Call(node.func, [_text("E + E", E=node.args[0])], [])
    if name in ("sum", "mean") and node.args:
        yield (
            "absolute values summed",
            ast.Call(node.func, [_text("abs(E)", E=node.args[0]), *node.args[1:]], node.keywords),
        )
    if name in ("solve",):
        yield "inverse of the inverse", _text("A @ B", A=node.args[0], B=node.args[1])
    if name == "range" and len(node.args) == 1:
        yield "two less", _text("range(max(0, E - 2))", E=node.args[0])


def _subscripts(node: ast.Subscript) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.slice, (ast.Name, ast.Constant)) and not isinstance(getattr(node.slice, "value", 0), str):
        yield "index shifted", ast.Subscript(node.value, _text("E - 1", E=node.slice), ast.Load())
        yield "always the first", ast.Subscript(node.value, ast.Constant(0), ast.Load())


def _loop(node: ast.For, order: ast.expr) -> ast.For:
    return ast.For(node.target, order, node.body, node.orelse)


def _throughout(function: ast.FunctionDef) -> Iterator[Mutant]:
    """Two arguments mixed up in the whole function."""
    names = [arg.arg for arg in function.args.args]
    for one, other in pairwise(names):
        changed = copy.deepcopy(function)
        swap = {one: other, other: one}
        for node in ast.walk(changed):
            if isinstance(node, ast.Name) and node.id in swap:
                node.id = swap[node.id]
        yield Mutant(ast.fix_missing_locations(changed), "names mixed up", function, f"{one} <-> {other}")


def _lines(function: ast.FunctionDef) -> Iterator[Mutant]:
    """Neighbouring lines in the other order, and a line done twice."""
    blocks = [node for node in ast.walk(function) if isinstance(getattr(node, "body", None), list)]
    for number, block in enumerate(blocks):
        for i in range(len(block.body) - 1):
            if isinstance(block.body[i], ast.Expr) or isinstance(block.body[i + 1], ast.Return):
                continue
            changed = copy.deepcopy(function)
            body = [node for node in ast.walk(changed) if isinstance(getattr(node, "body", None), list)][number].body
            body[i], body[i + 1] = body[i + 1], body[i]
            yield Mutant(changed, "lines swapped", block.body[i], _head(block.body[i]))
        for i, line in enumerate(block.body):
            if isinstance(line, ast.AugAssign):
                changed = copy.deepcopy(function)
                body = [n for n in ast.walk(changed) if isinstance(getattr(n, "body", None), list)][number].body
                body.insert(i, copy.deepcopy(body[i]))
                yield Mutant(changed, "line twice", line, _head(line))
