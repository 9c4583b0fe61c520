"""Run a notebook in sandboxes: if one dies, the next takes over without the cell that killed it.

We do this ourselves, because nbclient runs a notebook in one kernel and stops when that dies.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .plain import readable
from .sandbox import Died, Sandbox
from .transplant import written_size

_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_TEXTS = ("piece", "problem", "nudge", "hint", "mistake")  # the texts in a verdict
_NOTEBOOK = 10  # what all cells together may show, as a multiple of one cell's limit


class Session:
    """Runs the cells of one notebook from top to bottom, whatever they do to their sandbox.

    The first sandbox starts at once, so that it gets ready while the caller does other things. The whole run may take
    `seconds` of processor time and of waiting, and more wall-clock time, as a cell may.
    """

    def __init__(self, start: Callable[[], Sandbox], *, seconds: float) -> None:
        self.start = start
        self.sandbox: Sandbox | None = start()
        self.limits = self.sandbox.limits
        self.seconds, self.begun = seconds, time.monotonic()
        self.spent = 0.0  # processor time of sandboxes that have ended, and the time in which they only waited
        self.left = _NOTEBOOK * self.limits.output  # bytes that may still be shown
        self.history: list[str | None] = []  # the cells that ran; None marks a point where a copy was kept
        self.guest: Any = None  # the function whose calls a copy of the student's process has answered last

    def run(self, source: str) -> tuple[list[dict[str, Any]], Died | None]:
        """The outputs of a cell, and how it ended if that was unusual."""
        try:
            if self.guest is not None:
                self.guest.close()
            reply = self._run(self._alive(), source)
        except Died as died:
            return [_error("CellTimeoutError" if died.kind == "timeout" else "DeadKernelError", f"It {died}.")], died
        self.history.append(source)
        most = min(2 * self.limits.output, self.left)  # bytes; the worker counts characters
        outputs, cut = _within(_clean(reply.get("outputs"), self.limits.output), most)
        self.left -= sum(map(_size, outputs))
        if reply.get("late") is True:
            text = self.sandbox.overrun if self.sandbox else self.limits.overrun
            outputs = [output for output in outputs if output["output_type"] != "error"]
            return [*outputs, _error("CellTimeoutError", f"It {text}.")], Died("timeout", text)
        if cut or reply.get("cut") is True:
            rest = {"output_type": "stream", "name": "stdout", "text": "\n... the rest of the output is left out ..."}
            text = "showed more than the notebook may" if cut else f"showed more than {self.limits.output} characters"
            return [*outputs, rest], Died("too much output", text)
        return outputs, None

    def _run(self, sandbox: Sandbox, source: str) -> dict[str, Any]:
        try:
            return sandbox.ask({"op": "run", "source": source})
        except Died:
            self._forget(sandbox)
            raise

    def _forget(self, sandbox: Sandbox) -> None:
        self.spent += sandbox.spent + sandbox.idle
        if self.sandbox is sandbox:
            self.sandbox = None

    def keep(self) -> int:
        """Keep a copy of the student's process as it is now; return the number by which it can be examined later."""
        if self.guest is not None:
            self.guest.close()
        self.ask({"op": "keep"})
        self.history.append(None)
        return self.history.count(None) - 1

    def ask(self, message: dict[str, Any], *limits: float) -> dict[str, Any]:
        """Send a message to the student's process in its state after the cells so far, limited like `Sandbox.ask`."""
        sandbox = self._alive()
        try:
            return sandbox.ask(message, *limits)
        except Died:
            self._forget(sandbox)
            raise

    def renew(self) -> None:
        """Continue in a new sandbox, in which all cells have been run again."""
        self.guest = None
        self.end()

    def tell(self, message: dict[str, Any]) -> None:
        self._alive().tell(message)

    def _alive(self) -> Sandbox:
        """The sandbox, or a new one in which the cells that did no harm the first time have been run again."""
        self._check_deadline()
        for _ in range(len(self.history) + 1):
            if self.sandbox is not None:
                break
            self.sandbox = self._replayed()
        if self.sandbox is None:
            raise Died("kernel died", "cannot be run: its kernel dies whatever is left out")
        return self.sandbox

    def _check_deadline(self) -> None:
        elapsed = time.monotonic() - self.begun
        if elapsed <= self.seconds:  # no need to ask what it used
            return
        used = self.spent + (self.sandbox.used() + self.sandbox.idle if self.sandbox else 0)
        if used > self.seconds or elapsed > self.limits.patience * self.seconds:
            self.end()
            raise Died("timeout", "could not be run: the notebook as a whole took too long")

    def _replayed(self) -> Sandbox | None:
        """A new sandbox with all cells run again; None if a cell killed it, and that cell is left out next time."""
        fresh = self.start()
        for position, source in enumerate(self.history):
            try:
                self._check_deadline()
            except Died:
                fresh.end()
                raise
            try:
                if source is None:
                    fresh.ask({"op": "keep"})
                else:
                    self._run(fresh, source)
            except Died:
                self.history[position] = source and ""
                return None
        return fresh

    def end(self) -> None:
        if self.sandbox is not None:
            self.sandbox.end()
            self._forget(self.sandbox)


def _error(name: str, text: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": [f"{name}: {text}"]}


def _size(output: dict[str, Any]) -> int:
    texts = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", ())]
    return sum(map(written_size, [*texts, *output.get("data", {}).values()]))


def _within(outputs: Iterable[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], bool]:
    """The first outputs that fit within the limit, and whether some were left out."""
    kept: list[dict[str, Any]] = []
    for output in outputs:
        if _size(output) > limit:
            error = output["output_type"] == "error"  # errors are worth showing, shortened
            return [*kept, *([_error(output["ename"], output["evalue"][:200])] if error else [])], True
        limit -= _size(output)
        kept.append(output)
    return kept, False


def clean_outputs(outputs: Any, *, verdicts: bool, limit: int = 200_000) -> list[Any]:
    """What a cluster's worker sent as a cell's outputs; a check cell's outputs contain verdicts, as plain data."""
    import nbformat

    kept, _ = _within(_clean(outputs, limit), 2 * limit)
    given = [one for one in outputs if isinstance(one, dict)] if verdicts else []
    records = [record for one in given for record in _records(one.get("metadata"))]
    boxes = [one for one in kept if "data" in one]
    if records and boxes:
        boxes[0]["metadata"] = {"kernelcourse": records}
    return [nbformat.from_dict(output) for output in kept]


def _records(metadata: Any) -> Iterator[dict[str, Any]]:
    """The verdicts on pieces; malformed ones are dropped."""
    found = metadata.get("kernelcourse") if isinstance(metadata, dict) else None
    for record in (found if isinstance(found, list) else [])[:100]:
        if not isinstance(record, dict):
            continue
        numbers: dict[str, Any] = {key: record.get(key) for key in ("points", "earned")}
        if all(type(number) in (int, float) and 0 <= number < 1000 for number in numbers.values()):
            texts = {key: readable(record.get(key, ""), 2000) for key in _TEXTS}
            yield texts | numbers


def _clean(outputs: Any, limit: int) -> Iterator[dict[str, Any]]:
    """The part of a sandbox's outputs that may be shown: text and pictures, but no HTML, scripts or malformed data."""
    for output in (outputs if type(outputs) is list else [])[:1000]:
        kind = output.get("output_type") if type(output) is dict else None
        if kind == "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            yield {"output_type": kind, "name": name, "text": readable(output.get("text", ""), limit)}
        elif kind == "error":
            lines = output.get("traceback")
            traceback = [readable(line, 5000) for line in (lines if type(lines) is list else [])[-60:]]
            error = _error(readable(output.get("ename"), 200), readable(output.get("evalue"), 2000))
            yield error | {"traceback": traceback} if traceback else error
        elif kind in ("display_data", "execute_result") and type(output.get("data")) is dict:
            data = {}
            for mime, item in output["data"].items():
                picture = mime in ("image/png", "image/jpeg") and _BASE64.fullmatch(str(item))
                if mime == "text/plain" or picture:
                    data[mime] = readable(item, limit) if mime == "text/plain" else str(item)
            extra = {"execution_count": None} if kind == "execute_result" else {}
            yield {"output_type": kind, "data": data, "metadata": {}, **extra}
