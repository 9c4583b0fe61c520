"""Fingerprints of changes to the reference, by which a check can name a mistake that is not in the catalogue.

Every small change to a solution (`kernelcourse.checking.diagnosis.edits`) is run on public inputs. A few sums of the
results are kept, with a sentence on the change; the solution itself is not. Words for the parts of a solution are
in comments below its lines, each with the expression that it describes: ``# `lam / 2 * w @ w`: the penalty``.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import re
import sys
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..checking.calling import watched
from ..checking.checks import catalogue
from ..checking.diagnosis.behaviour import PROJECTIONS, Probes, probes, projections, same
from ..checking.diagnosis.edits import NUMPY, ROWS, Edit, edits, helpers, rows, with_ticks
from ..checking.diagnosis.fingerprints import FOLDER, Sentence, Table, read, write
from ..checking.diagnosis.words import EVERYWHERE, joined
from ..checking.piece import Piece
from ..seam import engine
from .folder import Course
from .notebooks import read_source

_PHRASE = re.compile(r"^\s*# `(.+?)`: (.+)$", re.MULTILINE)
_SECONDS = 0.05  # for one change on one input, on top of three times the solution's time: a loop may never end
_LARGE = 1e30  # larger sums do not fit in the file
_THROUGHOUT = {
    "doubled": "2 * {0}",
    "halved": "{0} / 2",
    "squared": "{0} ** 2",
    "negated": "-{0}",
    "turned into its inverse": "1 / {0}",
    "replaced by its square root": f"{NUMPY}.sqrt({{0}})",
    "transposed": f"{NUMPY}.transpose({{0}})",
    "multiplied by n": f"{{0}} * {ROWS}",
    "divided by n": f"{{0}} / {ROWS}",
    "replaced by 1": "0 * {0} + 1",
    "increased by 1": "{0} + 1",
    "decreased by 1": "{0} - 1",
}


@dataclass
class Solution:
    """The reference for one piece as its author wrote it."""

    function: ast.FunctionDef
    phrases: dict[str, str]  # an expression -> what it is
    namespace: dict[str, Any]

    @cached_property
    def number(self) -> int:
        """A checksum of the text and the words."""
        return zlib.crc32(repr((ast.dump(self.function), sorted(self.phrases.items()))).encode())


def solutions(source: Path) -> dict[str, Solution]:
    """The functions of a text notebook's solution cells, by name."""
    cells = [cell for cell in read_source(source).cells if cell.cell_type == "code"]
    namespace: dict[str, Any] = {"np": np}
    for node in (node for cell in cells for node in _parsed(cell.source).body):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "matplotlib" not in ast.unparse(node):
            exec(compile(ast.Module([node], []), "<imports>", "exec"), namespace)
    found = {}
    for cell in cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            lines = cell.source.splitlines()
            body = _parsed(cell.source).body
            ends = [node.lineno - 1 for node in body[1:]] + [len(lines)]
            for node, end in zip(body, ends, strict=True):
                if isinstance(node, ast.FunctionDef):
                    words = dict(_PHRASE.findall("\n".join(lines[node.lineno - 1 : end])))
                    found[node.name] = Solution(node, _known(node, words), namespace)
    return found


def _parsed(source: str) -> ast.Module:
    return ast.parse("\n".join("" if line.startswith(("%", "!")) else line for line in source.splitlines()))


def _known(function: ast.FunctionDef, words: dict[str, str]) -> dict[str, str]:
    """The phrases, keyed by their expressions as Python spells them; each must occur in the function."""
    phrases = {_spelled(text): phrase for text, phrase in words.items()}
    missing = set(phrases) - {head(node) for node in ast.walk(function)}
    if missing:
        raise ValueError(f"{function.name} has phrases for what it does not contain: {', '.join(sorted(missing))}")
    return phrases


def _spelled(text: str) -> str:
    with contextlib.suppress(SyntaxError):
        return ast.unparse(ast.parse(text).body[0])
    return head(ast.parse(f"{text}:\n    pass").body[0])


def head(node: ast.AST) -> str:
    """A node as text; for a statement with a block, its first line."""
    if isinstance(node, (ast.For, ast.While, ast.If, ast.FunctionDef)):
        return ast.unparse(node).splitlines()[0].rstrip(":")
    return ast.unparse(node) if isinstance(node, (ast.expr, ast.stmt)) else ""


class Places:
    """The nodes of a solution, numbered and described in words."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.nodes = list(ast.walk(solution.function))
        self.number = {id(node): i for i, node in enumerate(self.nodes)}
        self.parent = {id(child): node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.arguments = [arg.arg for arg in solution.function.args.args]
        self.depends = self._dependence()

    def _dependence(self) -> dict[str, list[str]]:
        """The arguments that each variable is computed from."""
        made: dict[str, list[str]] = {name: [name] for name in self.arguments}
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.comprehension)):
                value = node.iter if isinstance(node, (ast.For, ast.comprehension)) else node.value
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                source = self.names(value, made)
                for name in (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)):
                    if name not in self.arguments:
                        made[name] = list(dict.fromkeys([*made.get(name, []), *source]))
        return made

    def names(self, node: ast.AST, made: dict[str, list[str]] | None = None) -> list[str]:
        """The arguments that a node is computed from."""
        known = self.depends if made is None else made
        used = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
        found = {name for one in used for name in known.get(one, [])}
        return [name for name in self.arguments if name in found]

    def region(self, node: ast.AST | None) -> ast.AST | None:
        """The smallest part with a phrase that contains the node."""
        while node is not None and head(node) not in self.solution.phrases:
            node = self.parent.get(id(node))
        return node

    def inside(self, node: ast.AST, other: ast.AST | None) -> bool:
        """Whether a node is the other one or a part of it."""
        step: ast.AST | None = node
        while step is not None and step is not other:
            step = self.parent.get(id(step))
        return step is not None

    def said(self, node: ast.AST) -> str:
        """What a node is, in the author's words or else in terms of its arguments."""
        region = self.region(node)
        if region is node and region is not None:
            return self.solution.phrases[head(node)]
        if isinstance(node, ast.Name) and node.id in self.arguments:
            own = f"`{node.id}`"
        elif isinstance(node, ast.Constant):
            own = "a number"
        else:
            own = self.made_of(node)
        return f"{own} in {self.solution.phrases[head(region)]}" if region is not None else own

    def made_of(self, node: ast.AST) -> str:
        names = [f"`{name}`" for name in self.names(node)]
        if isinstance(node, (ast.For, ast.While)):
            return f"the loop over {joined(names)}" if names else "the loop"
        if isinstance(node, ast.If):
            return f"the condition on {joined(names)}" if names else "the condition"
        return f"the part with {joined(names)}" if names else "a constant part"

    def area(self, node: ast.AST) -> tuple[ast.AST, str]:
        """Where to look: the author's part around a node, or the node itself."""
        region = self.region(node)
        if region is not None:
            return region, self.solution.phrases[head(region)]
        while not self.names(node) and id(node) in self.parent:
            node = self.parent[id(node)]
        return node, self.said(node)


@dataclass(frozen=True)
class Found:
    """A change that was run, and the resulting sums."""

    sums: np.ndarray
    cost: int
    nodes: tuple[ast.AST, ...]
    change: tuple[str, str, str]  # kind, place, detail


def detail(edit: Edit, places: Places) -> str:
    """What a change is about, in words."""
    if edit.kind == "part":
        return _left_out(edit, places)
    if edit.kind == "function":
        return "`{}` where `{}` belongs".format(*reversed(edit.detail.split()))
    if edit.kind in ("other", "plus", "less", "times", "over", "matrix times"):
        node = ast.parse(edit.detail, mode="eval").body
        phrase = places.solution.phrases.get(edit.detail)
        if phrase or (isinstance(node, ast.Name) and node.id in places.arguments):
            return phrase or f"`{edit.detail}`"
        made = [f"`{name}`" for name in places.names(node)]
        return f"a variable made of {joined(made)}" if made else "a variable"
    return f"`{edit.detail}`" if edit.detail and not edit.detail.lstrip("-").replace(".", "").isdigit() else edit.detail


def _left_out(edit: Edit, places: Places) -> str:
    node = edit.place
    if isinstance(node, ast.BinOp):
        return places.said(node.right if edit.detail == "right" else node.left)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        return f"`{name}`"
    return {
        "sign": "the sign",
        "index": "the index",
        "attribute": f"`.{getattr(node, 'attr', '')}`",
        "choice": "the choice",
        "condition": "a condition",
    }[edit.detail]


class Runner:
    """Runs changed solutions on the probes of a piece."""

    def __init__(self, piece: Piece, solution: Solution) -> None:
        self.found: Probes = probes(piece)
        self.function = solution.function
        self.module = ast.Module([self.function], [])
        self.namespace = {**solution.namespace, **helpers(self.tick)}
        self.end = 0.0
        self.allowed: dict[int, float] = {}  # seconds for each input; the first run, of the solution, sets them

    def tick(self, *_: Any) -> None:
        if time.thread_time() > self.end:
            raise TimeoutError

    def sums(self) -> np.ndarray | None:
        """The sums of the function as its tree is now, or None where nothing can be compared."""
        quiet = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(quiet):
            warnings.simplefilter("ignore")
            try:
                exec(compile(self.module, "<solution>", "exec"), self.namespace)
                return projections(self._call, self.found)
            except (TimeoutError, SyntaxError, ValueError, TypeError, MemoryError, OverflowError):
                return None

    def _call(self, case: Any) -> Any:
        self.namespace[ROWS] = rows(case.args)
        start = time.thread_time()
        self.end = start + self.allowed.get(id(case), np.inf)
        with watched(self.tick):  # loops call `tick` themselves; for generators, every call does
            value = self.namespace[self.function.name](*case.fresh())
        self.allowed.setdefault(id(case), _SECONDS + 3 * (time.thread_time() - start))
        return value


@engine("off")
def table(piece: Piece, solution: Solution) -> Table:
    """The fingerprints of all changes to one piece's solution."""
    solution = replace(solution, function=copy.deepcopy(solution.function))
    number = solution.number
    places = Places(solution)
    with_ticks(solution.function)
    runner = Runner(piece, solution)
    right = runner.sums()
    if right is None or not np.allclose(right, _reference_sums(runner.found), rtol=1e-6, atol=1e-6):
        raise ValueError(f"the solution of {piece.name} does not do what its reference does")
    found = [one for one in _changes(places, runner) if not same(right, one.sums) and np.abs(one.sums).max() < _LARGE]
    groups = _grouped(found)
    directions = _directions(places, runner, right)
    said: dict[Sentence, int] = {}
    numbers = [said.setdefault(sentence(places, group), len(said)) for group in groups]
    lines = [said.setdefault(_line_sentence(places, nodes), len(said)) for _, nodes in directions]
    return Table(
        number,
        runner.found.digest(),
        right,
        np.array([group[0].sums for group in groups], dtype=np.float32).reshape(-1, PROJECTIONS),
        np.array(numbers, dtype=np.uint16),
        np.array([group[0].cost for group in groups], dtype=np.uint8),
        np.array([line for line, _ in directions]).reshape(-1, PROJECTIONS),
        np.array(lines, dtype=np.uint16),
        tuple(said),
    )


def _reference_sums(found: Probes) -> np.ndarray:
    wanted = iter(found.wanted)
    sums = projections(lambda case: next(wanted), found)
    assert sums is not None
    return sums


def _changes(places: Places, runner: Runner) -> Iterator[Found]:
    solution = places.solution
    more = [text for text in solution.phrases if _is_expression(text) and not text.isidentifier()]
    for edit in list(edits(solution.function, more)):
        with edit.made():
            sums = runner.sums()
        if sums is not None:
            kind = edit.kind + EVERYWHERE if edit.also else edit.kind
            yield Found(sums, edit.cost, edit.places, (kind, places.said(edit.place), detail(edit, places)))
    body = solution.function.body
    for name in places.arguments:
        for words, text in _THROUGHOUT.items():
            solution.function.body = [*ast.parse(f"{name} = {text.format(name)}").body, *body]
            sums = runner.sums()
            solution.function.body = body
            if sums is not None:
                node = next(n for n in places.nodes if isinstance(n, ast.Name) and n.id == name)
                yield Found(sums, 1, (node,), ("throughout", "", f"`{name}` {words} throughout"))


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _grouped(found: Sequence[Found]) -> list[list[Found]]:
    """Groups of changes with the same effect, the plainest of each group first."""
    buckets: dict[Any, list[list[Found]]] = defaultdict(list)
    groups = []
    for one in found:
        key = np.round(one.sums[0], 3)
        for near in (key, np.round(key + 0.001, 3), np.round(key - 0.001, 3)):
            group = next((group for group in buckets[near] if same(group[0].sums, one.sums)), None)
            if group is not None:
                group.append(one)
                break
        else:
            groups.append([one])
            buckets[key].append(groups[-1])
    size = lambda one: len(list(ast.walk(one.nodes[0])))  # noqa: E731
    return [sorted(group, key=lambda one: (one.cost, -size(one))) for group in groups]


def _areas(places: Places, nodes: Sequence[ast.AST]) -> dict[int, tuple[ast.AST, str]]:
    """The parts that contain the nodes, without those that lie inside another of these parts."""
    areas = {id(area[0]): area for area in (places.area(node) for node in nodes)}  # the first is the plainest
    return {
        key: area
        for key, area in areas.items()
        if not any(other is not area and places.inside(area[0], other[0]) for other in areas.values())
    }


def sentence(places: Places, group: Sequence[Found]) -> Sentence:
    """What is said about changes with the same effect."""
    plainest = [one for one in group if one.cost == group[0].cost]
    areas = list(_areas(places, [node for one in plainest for node in one.nodes]).values())
    words = tuple(dict.fromkeys(words for _, words in areas))
    changes = [group[0].change]
    if len(words) == 2:
        own = next(area for area, _ in areas if places.inside(group[0].nodes[0], area))
        changes += [one.change for one in plainest if not any(places.inside(node, own) for node in one.nodes)][:1]
    return Sentence(words, _numbers(places, areas), tuple(changes))


def _numbers(places: Places, areas: Sequence[tuple[ast.AST, str]]) -> tuple[int, ...]:
    return tuple(sorted(places.number[id(area)] for area, _ in areas))


def _line_sentence(places: Places, nodes: Sequence[ast.AST]) -> Sentence:
    areas = list(_areas(places, nodes).values())
    words = tuple(dict.fromkeys(words for _, words in areas))
    return Sentence(words, _numbers(places, areas), (("factor", places.said(nodes[0]), ""),))


def _directions(places: Places, runner: Runner, right: np.ndarray) -> list[tuple[np.ndarray, list[ast.AST]]]:
    """For parts in which the result is linear: how the sums change with a factor in front of each, or a shift."""
    by_kind: dict[tuple[int, str], dict[str, np.ndarray]] = defaultdict(dict)
    nodes: dict[int, ast.AST] = {}
    for edit in list(edits(places.solution.function)):
        if edit.kind in ("twice", "minus", "half", "plus one", "minus one") and not edit.also:
            with edit.made():
                sums = runner.sums()
            if sums is not None:
                nodes[id(edit.place)] = edit.place
                by_kind[id(edit.place), "shift" if "one" in edit.kind else "factor"][edit.kind] = sums - right
    found: list[tuple[np.ndarray, list[ast.AST]]] = []
    for (key, kind), moved in by_kind.items():
        if kind == "factor" and {"twice", "minus", "half"} <= set(moved):
            line = moved["twice"]
            straight = np.allclose(moved["minus"], -2 * line, rtol=1e-6, atol=1e-7) and np.allclose(
                moved["half"], -line / 2, rtol=1e-6, atol=1e-7
            )
            if straight and np.abs(line).max() > 1e-6:
                same_line = next((ns for other, ns in found if np.allclose(other, line, rtol=1e-6, atol=1e-9)), None)
                if same_line is None:
                    found.append((line, [nodes[key]]))
                else:
                    same_line.append(nodes[key])
    return found


@engine("off")
def build(course: Course, assignment: str) -> list[Path]:
    """Bring the fingerprints of an assignment up to date; return the files."""
    folder = course.root / "kernelcourse" / FOLDER
    written = []
    for source in course.sources(assignment):
        module = catalogue(source.stem)
        path = folder / f"{module.__name__.rpartition('.')[2]}.npz"
        known, kept = solutions(source), read(path.read_bytes()) if path.exists() else {}
        pieces = [piece for piece in module.PIECES if isinstance(piece, Piece) and piece.name in known]
        stale = [piece for piece in pieces if not _is_current(piece, known[piece.name], kept.get(piece.name))]
        if stale or len(kept) != len(pieces):
            fresh = {piece.name: table(piece, known[piece.name]) for piece in stale}
            write(path, {piece.name: fresh.get(piece.name) or kept[piece.name] for piece in pieces})
            written.append(path)
    return written


def _is_current(piece: Piece, solution: Solution, kept: Table | None) -> bool:
    return kept is not None and (kept.source, kept.digest) == (solution.number, probes(piece).digest())


def main(wanted: Sequence[str]) -> int:
    """Rebuild what is stale in the assignments whose names begin with the given text, or in all."""
    course = Course.around(Path())
    for assignment in course.assignments():
        if not wanted or assignment.startswith(tuple(wanted)):
            for path in build(course, assignment):
                print(path.relative_to(course.root), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
