"""What students need for instant checks, written beside their notebook: cases and results, but no reference code.

The only code included is what verifies the witness of a claim, with the definitions that it needs.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

from .. import __version__
from ..checking.calling import call
from ..checking.cases import Case, case_generator
from ..checking.drawing import drawn
from ..checking.piece import Claim, Piece
from ..checking.plain import encode
from ..seam import engine
from .errors import CourseError
from .secret import commitment, revealed


def record(catalogue: Any, stem: str, seed: int, secret: str) -> bytes:
    """The file of checks that a release gives to students. It names the secret, and the file that will reveal it."""
    content = {
        "kernelcourse": __version__,
        "notebook": stem,
        "seed": seed,
        "commitment": commitment(secret),
        "hidden": hashlib.sha256(record_hidden(catalogue, stem, seed, secret)).hexdigest(),
        "pieces": _pieces(catalogue, seed, hidden=False),
    }
    return _bytes(content)


def record_hidden(catalogue: Any, stem: str, seed: int, secret: str) -> bytes:
    """The file that reveals the hidden cases. Its content cannot be guessed, because it contains the secret."""
    with revealed(secret):
        pieces = _pieces(catalogue, seed, hidden=True)
    return _bytes({"kernelcourse": __version__, "notebook": stem, "secret": secret, "pieces": pieces})


def _bytes(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


@engine("off")
def _pieces(catalogue: Any, seed: int, *, hidden: bool) -> list[dict[str, Any]]:
    checks = catalogue.checks(seed)
    code = {piece.reference.__name__ for piece in catalogue.PIECES}
    return [
        _claim(piece, Path(catalogue.__file__), code) | {"own": checks.own}
        if isinstance(piece, Claim)
        else _piece(piece, drawn(piece.cases, case_generator(seed, piece.name, hidden=hidden), hidden=hidden))
        for piece in checks.pieces.values()
    ]


def _piece(piece: Piece, cases: list[Case]) -> dict[str, Any]:
    mistakes = [
        {"name": each.name, "hint": each.hint, "outcomes": [_outcome(each.wrong, case) for case in cases]}
        for each in piece.mistakes
    ]
    return {
        "name": piece.name,
        "points": piece.points,
        "parameters": list(inspect.signature(piece.reference).parameters),
        "tolerance": piece.tolerance,
        "reason": piece.tolerance_reason,
        "allows": list(piece.allows),
        "cases": [
            {"args": encode(case.args), "label": case.label, "strided": case.strided, "frozen": case.frozen}
            for case in cases
        ],
        "wanted": [encode(piece.reference(*case.fresh())) for case in cases],
        "mistakes": mistakes,
    }


def _outcome(function: Any, case: Any) -> dict[str, Any]:
    outcome = call(function, case)
    if outcome.error is not None:
        return {"error": [outcome.error.kind, outcome.error.message]}
    return {"value": encode(outcome.value), "changed": list(outcome.changed)}


def _claim(claim: Claim, path: Path, references: set[str]) -> dict[str, Any]:
    return {
        "name": claim.name,
        "points": claim.points,
        "allows": list(claim.allows),
        "verify": _with_definitions(claim, path, references),
        "verifier": claim.verify.__name__,
        "mistakes": [{"name": each.name, "hint": each.hint} for each in claim.mistakes],
    }


def _with_definitions(claim: Claim, path: Path, references: set[str]) -> str:
    """The source of a claim's verifier, with everything in the file that it uses."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    where = {name: position for position, node in enumerate(tree.body) for name in _defined(node)}
    needed: set[int] = set()
    waiting = [claim.verify.__name__]
    if waiting[0] not in where:
        raise CourseError(f"{path.name}: write what verifies the claim {claim.name} as a function, with `def`")
    while waiting:
        name = waiting.pop()
        if name in references:
            raise CourseError(
                f"{path.name}: the function that verifies the claim {claim.name} uses the reference {name}, so "
                "students would get the reference's code: rewrite it without the reference"
            )
        if name in where and where[name] not in needed:
            needed.add(where[name])
            nodes = ast.walk(tree.body[where[name]])
            waiting += [node.id for node in nodes if isinstance(node, ast.Name) and not hasattr(builtins, node.id)]
    future = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    return "\n\n".join(ast.unparse(node) for node in [*future, *(tree.body[i] for i in sorted(needed))])


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
