"""The timings of a page: those of one saved run, so that its sentences agree with its numbers whatever the load.

`make bench ONLY=page FLAGS=--save` measures again, and saves the timings if every assertion on the page holds for them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def saved(measure: Callable[..., float], file: str) -> Callable[..., float]:
    """Like `measure(run, ...)`, but it returns the saved timings, in the order in which the page asks for them.

    With BOOK_MEASURE, the name of a file, it does measure, and adds what it measured to that file.
    """
    record = os.environ.get("BOOK_MEASURE")
    timings = iter([] if record else json.loads(Path(file).read_text(encoding="utf-8"))["timings"])

    def seconds(run: Callable[..., Any], *args: Any, **options: Any) -> float:
        if record:
            took = measure(run, *args, **options)
            with Path(record).open("a", encoding="utf-8") as lines:
                lines.write(json.dumps([run.__name__, took]) + "\n")
            return took
        name, took = next(timings, ("nothing more", 0.0))
        if name != run.__name__:
            problem = f"the page measures {run.__name__} where {file} has {name}"
            raise LookupError(f"{problem}: measure again with `make bench ONLY=page FLAGS=--save`")
        return took

    return seconds
