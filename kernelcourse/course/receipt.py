"""What a grade is based on, in a form that the student can receive: versions, the secret's hash, points."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

from .. import __version__
from .secret import commitment

NAME = "receipt.json"


@cache
def versions() -> dict[str, str]:
    """The versions that a grade depends on."""
    found = {"kernelcourse": __version__, "python": platform.python_version()}
    for name in ("nbgrader", "numpy", "scipy", "ipython"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def verdict(result: Mapping[str, Any]) -> bytes:
    """Points, and what the checks said, as bytes: the same for the same verdict."""
    said = {
        stem: {part: notebook[part] for part in ("scores", "pieces")} for stem, notebook in result["notebooks"].items()
    }
    return json.dumps(said, sort_keys=True).encode()


def receipt(result: Mapping[str, Any], secret: str) -> bytes:
    """The receipt for a result, as a file."""
    scores = [score for notebook in result["notebooks"].values() for score in notebook["scores"].values()]
    content = {
        "student": result["student"],
        "assignment": result["assignment"],
        "points": sum(score for score in scores if score is not None),  # of checks; written answers are graded later
        "pieces": {
            stem: {piece["piece"]: [piece["earned"], piece["points"]] for piece in notebook["pieces"]}
            for stem, notebook in result["notebooks"].items()
        },
        "commitment": commitment(secret),
        "submission": result["digest"],
        "verdict": hashlib.sha256(verdict(result)).hexdigest(),
        "versions": result["versions"],
    }
    return (json.dumps(content, indent=1) + "\n").encode()
