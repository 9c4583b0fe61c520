"""`make hints`: how many wrong answers get a hint that is specific and true.

Every solution is changed by operators that the diagnosis does not use (`operators.py`), and every slip in `slips/` is
tried. The table says, for each assignment, how many are caught, how many get a specific hint, how many of these name a
wrong place, and which survive. `python -m tests.hints [ASSIGNMENT …] [--show]`.
"""

from __future__ import annotations

import argparse
import ast
import linecache
import re
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from kernelcourse.checking.cases import case_generator
from kernelcourse.checking.checks import catalogue
from kernelcourse.checking.diagnosis.edits import NUMPY, edits
from kernelcourse.checking.piece import Piece
from kernelcourse.course.fingerprints import solutions
from kernelcourse.course.folder import Course
from tests.hints.operators import Mutant, mutants

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "CONTRIBUTING.md"
MARKER = "<!-- make hints -->"
MEMORY = 4 * 2**30  # a mutant that requests more gets a MemoryError
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass
class Score:
    """The outcome of one wrong answer."""

    piece: str
    text: str
    outcome: str  # the kind of hint; "vague", "survived", "equivalent"
    wrong: bool = False
    seconds: float = 0.0
    hint: str = ""

    @property
    def specific(self):
        return self.outcome not in ("vague", "survived", "equivalent")


def compiled(function, namespace, name):
    """The function of a tree, with source text that `inspect` finds."""
    source = ast.unparse(function) + "\n"
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    own = dict(namespace)
    exec(compile(source, file, "exec"), own)
    return own[function.name]


def outcome(result):
    """The kind of a hint, or "vague" if there is only the verdict."""
    if result.mistake:
        return "catalogue"
    if result.diagnosis:
        return result.diagnosis.kind
    if (
        "Is a `return` missing" in result.problem
        or "changed its argument" in result.problem
        or "tries to write" in result.problem
    ):
        return "verdict"
    return "vague"


def positions(function):
    """The nodes of a solution by number, as the fingerprints count them."""
    return list(ast.walk(function))


def names_a_wrong_place(result, mutant: Mutant, nodes, function):
    """Whether a hint names a place but the change was made at another one."""
    found = result.diagnosis
    if found is None or result.mistake:
        return False
    if found.nodes:
        named = [nodes[i] for i in found.nodes]
        inside = {id(part) for node in named for part in ast.walk(node)}
        own = {id(part) for part in ast.walk(mutant.node)}
        used = {part.id for node in named for part in ast.walk(node) if isinstance(part, ast.Name)}
        return not (
            id(mutant.node) in inside or any(id(node) in own for node in named) or feeds(mutant, function) & used
        )
    if found.kind == "place" and mutant.operator not in ("names mixed up", "lines swapped", "line twice"):
        return not overlaps(found.spans, mutant, function)
    return False


def feeds(mutant, function):
    """The variables that the changed line sets: a hint that names where they are used leads there."""
    lines = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AugAssign)]
    line = next((one for one in lines if any(part is mutant.node for part in ast.walk(one))), None)
    targets = [] if line is None else line.targets if isinstance(line, ast.Assign) else [line.target]
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def overlaps(spans, mutant, function):
    """Whether the lines that a hint names include a line that was changed."""
    body, plain = ast.unparse(mutant.function).splitlines(), ast.unparse(function).splitlines()
    changed = {i + 1 for i, line in enumerate(body) if i >= len(plain) or line != plain[i]}
    return any(set(range(span[0], span[2] + 1)) & changed for span in spans)


class Endless(BaseException):
    """A mutant that does not return and is ended by the check's own limit."""


def _ring(*_):
    raise Endless


def examine(piece, function):
    """The result of a check, and its processor time."""
    start = time.process_time()
    signal.signal(signal.SIGVTALRM, _ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10)
    try:
        result = piece.examine(function, case_generator(1, piece.name, hidden=False))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return result, time.process_time() - start


def new_mutants(function):
    """The mutants without the few that happen to equal a change that the diagnosis tries."""
    tried = set()
    for edit in edits(function):
        with edit.made():
            tried.add(ast.unparse(function).replace(NUMPY, "np"))
    return [mutant for mutant in mutants(function) if ast.unparse(mutant.function) not in tried]


def score_mutants(stem, known, equivalent):
    for piece in catalogue(stem).PIECES:
        if not isinstance(piece, Piece):
            continue
        solution = known[piece.name]
        nodes = positions(solution.function)
        for number, mutant in enumerate(new_mutants(solution.function)):
            key = (stem, piece.name, mutant.operator, mutant.text)
            try:
                function = compiled(mutant.function, solution.namespace, f"{piece.name}-{number}")
                result, seconds = examine(piece, function)
            except (RecursionError, Endless):
                continue
            if result.passed:
                hidden = piece.examine(function, case_generator(1, piece.name, hidden=True), hidden=True)
                kind = "equivalent" if key in equivalent else "survived"
                text = f"{mutant.operator}: {mutant.text}" + ("" if hidden.passed else " (hidden cases catch it)")
                yield Score(piece.name, text, kind)
                continue
            wrong = names_a_wrong_place(result, mutant, nodes, solution.function)
            yield Score(
                piece.name,
                f"{mutant.operator}: {mutant.text}",
                outcome(result),
                wrong,
                seconds,
                result.nudge + " | " + result.hint,
            )


def score_slips(stem):
    module = import_module(f"tests.hints.slips.{stem.replace('-', '_')}")
    pieces = {piece.name: piece for piece in catalogue(stem).PIECES}
    for name, function in list(vars(module).items()):
        piece, _, what = name.partition("__")
        if not what or piece not in pieces or not callable(function):
            continue
        result, seconds = examine(pieces[piece], function)
        kind = "survived" if result.passed else outcome(result)
        yield Score(piece, what, kind, False, seconds, result.nudge + " | " + result.hint)


def row(name, scores, slips):
    caught = [one for one in scores if one.outcome not in ("survived", "equivalent")]
    specific = [one for one in caught if one.specific]
    wrong = sum(one.wrong for one in caught)
    survived = sum(one.outcome == "survived" for one in scores)
    equal = sum(one.outcome == "equivalent" for one in scores)
    told = sum(one.specific for one in slips)
    share = lambda part, whole: f"{part / whole:.1%}" if whole else "–"  # noqa: E731
    return (
        f"| {name} | {len(scores)} | {len(caught)} | {share(len(specific), len(caught))} | "
        f"{share(wrong, len(caught))} | {equal} | {survived} | {len(slips)} | {share(told, len(slips))} |"
    )


HEAD = (
    "| assignment | mutants | caught | specific | wrong place | equivalent | survive | slips | specific |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def with_rows(text, rows):
    """The text with these rows in the table after the marker; the rows of other assignments stay."""
    before, _, after = text.partition(MARKER)
    known = {line[:5]: line for line in re.findall(r"^\| \d\d \|.*$", after, re.MULTILINE)}
    known |= {line[:5]: line for line in rows}
    return "\n".join([before + MARKER, HEAD, *(known[name] for name in sorted(known))]) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("assignments", nargs="*", help="numbers, such as 01 (default: all)")
    parser.add_argument("--show", action="store_true", help="print every mutant and slip with its hint")
    parser.add_argument("--slips", action="store_true", help="the slips only")
    args = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    course = Course(ROOT)
    equivalent = (
        {
            (one["notebook"], one["piece"], one["operator"], change)
            for one in tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]
            for change in one["changes"]
        }
        if EQUIVALENT.exists()
        else set()
    )
    print(HEAD)
    all_scores, all_slips, rows = [], [], []
    for assignment in course.assignments():
        if args.assignments and assignment[:2] not in args.assignments:
            continue
        (source,) = course.sources(assignment)
        scores = [] if args.slips else list(score_mutants(source.stem, solutions(source), equivalent))
        slips = list(score_slips(source.stem))
        rows.append(row(assignment[:2], scores, slips))
        print(rows[-1], flush=True)
        all_scores += scores
        all_slips += slips
        if args.show:
            for one in [*scores, *slips]:
                mark = " WRONG" if one.wrong else ""
                print(f"   {one.outcome}{mark} {one.seconds:.2f}s {one.piece} [{one.text}] {one.hint}", file=sys.stderr)
    print(row("all", all_scores, all_slips))
    if not args.slips:
        TABLE.write_text(with_rows(TABLE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    print("\nkinds of hints:", dict(Counter(one.outcome for one in all_scores)), file=sys.stderr)
    slow = sorted((one.seconds for one in [*all_scores, *all_slips]), reverse=True)
    print(
        f"slowest checks: {', '.join(f'{s:.2f}' for s in slow[:5])} s; median {np.median(slow):.3f} s", file=sys.stderr
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
