"""The secret seed of the hidden cases: created on first use, kept on the instructor's machine, named in each result."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "KERNELCOURSE_HIDDEN_SEED"


def grading_folder(root: Path) -> Path:
    """Where grading keeps its own files in a course."""
    return root / ".grading"


def secret_seed(root: Path) -> str:
    """The course's secret, from the environment or from the file `.grading/seed`, which is made if it is missing."""
    if given := os.environ.get(VARIABLE):
        return given
    from filelock import FileLock

    path = grading_folder(root) / "seed"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if not path.exists():  # otherwise another process was quicker, and we use its secret
                draft = path.with_name(".seed")
                with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
                    file.write(secrets.token_hex(16))
                draft.replace(path)
    return path.read_text(encoding="ascii").strip()


def assignment_secret(root: Path, assignment: str) -> str:
    """One assignment's secret, derived from the course's; revealing it says nothing about the other assignments."""
    return hmac.new(secret_seed(root).encode(), assignment.encode(), hashlib.sha256).hexdigest()


@contextmanager
def revealed(seed: str) -> Iterator[None]:
    """Let the checks of this process draw their hidden cases from the secret."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = seed
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def commitment(seed: str) -> str:
    """A name for a secret that does not reveal it and that no other secret shares."""
    return hashlib.sha256(f"kernelcourse {seed}".encode()).hexdigest()


def fingerprint(seed: str) -> str:
    """The beginning of the commitment, which is enough to tell secrets apart."""
    return commitment(seed)[:12]
