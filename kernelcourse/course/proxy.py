"""A student's function as the grader holds it: a name in a sandbox that can be called with plain data, and no more.

rpyc and RestrictedPython share objects with the other side, which the attacks in tests/grading/hostile exploit.
"""

from __future__ import annotations

import builtins
import contextlib
import time
from collections.abc import Sequence
from typing import Any

from ..checking.calling import Answer, Outcome, Raised
from ..checking.cases import Case
from .library import REFUSED
from .plain import NotPlain, Opaque, Unknown, decode, readable
from .sandbox import Died
from .session import Session


class AnswerRaised(Exception):
    """The student's function raised an error."""


class RemoteFunction(Opaque, Answer):
    """The function that a name is bound to in a sandbox, while a check examines it.

    Its calls are answered by a copy of the student's process. All functions of a check cell share one copy for the
    visible cases; for the hidden cases, each has its own. After a call that took too long or killed the copy, it is
    not tried again: the other calls fail in the same way.
    """

    def __init__(self, session: Session, name: str) -> None:
        self.session, self.name = session, name
        self.keeper: int | None = None  # which kept copy of the process answers; None: the process as it is now
        self.last = False  # whether no other function will be asked of that copy
        self.renewed = False
        self.hidden = False  # if the case is hidden, what an error says is hidden as well
        self.gone: Raised | None = None
        self.died: Died | None = None
        self.seconds, self.clock = session.limits.seconds, session.limits.clock  # time left for all its calls

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        outcome = self.try_on(Case(args, keywords=keywords))
        if outcome.error is not None:
            raise _as_raised(outcome.error)
        return outcome.value

    def bound(self) -> Any:
        """What the name is bound to, if that is plain data; otherwise this function."""
        outcome = self._try(Case(()), fetch=True)
        if outcome.error is not None:
            raise _as_raised(outcome.error)
        return self if isinstance(outcome.value, Unknown) else outcome.value

    def try_on(self, case: Case) -> Outcome:
        return self._try(case)

    def _try(self, case: Case, fetch: bool = False) -> Outcome:
        if self.gone is not None:
            return Outcome(case, error=self.gone)
        try:
            return self._outcome(case, self._ask_kept(case, fetch))
        except Died as died:
            self.lose(died)
        except NotPlain as error:
            self.gone = Raised("NotPlain", f"what it returned is not plain data ({error})")
        return Outcome(case, error=self.gone)

    def lose(self, died: Died) -> None:
        """Let every further call fail in the same way."""
        self.died = died
        self.gone = Raised("Timeout" if died.kind == "timeout" else "KernelDied", f"it {died}")

    def _ask_kept(self, case: Case, fetch: bool) -> dict[str, Any]:
        """Ask again, once, if the copy that was kept is gone: another function may have killed it."""
        if self.keeper is None or self.renewed:
            return self._ask(case, fetch)
        try:
            reply = self._ask(case, fetch)
            if "examined" not in reply:
                return reply
        except Died as died:
            if died.kind != "kernel died":
                raise
        self.renewed = True
        self.session.renew()
        return self._ask(case, fetch)

    def _ask(self, case: Case, fetch: bool) -> dict[str, Any]:
        guest = self.session.guest
        if guest is not self:
            if guest is None or not self._shares_with(guest):
                if guest is not None:
                    guest.close()
                self.session.tell({"op": "examine", "keeper": self.keeper, "last": self.last})
            self.session.guest = self
        message = {"op": "call", "name": self.name, "fetch": fetch, **case.plain}
        start = time.monotonic()
        try:
            reply = self.session.ask(message, self.seconds, self.clock)
        except Died:
            self.session.guest = None
            raise
        elapsed = time.monotonic() - start
        used = reply.get("used")  # if this is a lie, the wall-clock limit still holds
        self.seconds = max(self.seconds - (used if type(used) is float and used >= 0 else elapsed), 0.1)
        self.clock = max(self.clock - elapsed, 0.1)
        return reply

    def _shares_with(self, other: RemoteFunction) -> bool:
        return self.keeper is None and other.keeper is None and other.gone is None

    def _outcome(self, case: Case, reply: dict[str, Any]) -> Outcome:
        if "examined" in reply:  # the copy ended before its work was done
            self.session.guest = None
            self.lose(Died("kernel died", "killed the process that ran it"))
        elif reply.get("late"):
            self.lose(Died("timeout", self.session.limits.overrun))
        if self.gone is not None:
            return Outcome(case, error=self.gone)
        error = _raised(reply.get("error"))
        calls = _texts(reply.get("library_calls"))
        if error is not None and error.kind == REFUSED:
            calls = (error.message.partition(" ")[0],)
        if calls and self.hidden:
            calls = ("the library",)
        if error is not None and self.hidden:
            known = _is_error(error.kind) or error.kind == "LinAlgError"
            error = Raised(error.kind if known else "an error of its own", not_written=error.not_written)
        said = _list(reply.get("changed"))[:100]
        changed = tuple(i for i in range(len(case.args)) if any(type(item) is int and item == i for item in said))
        printed = "" if self.hidden else readable(reply.get("printed", ""), 2000)
        value = None if error is not None else decode(reply.get("value"), named=not self.hidden)
        return Outcome(case, value, error, changed, calls, printed)

    def close(self) -> None:
        """End the copy of the student's process."""
        if self.session.guest is self:
            self.session.guest = None
            try:
                self.session.ask({"op": "done"})
            except Died as died:
                self.died = self.died or died


def _list(value: Any) -> Sequence[Any]:
    return value if type(value) is list else ()


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(readable(item, 200) for item in _list(value)[:20])


def _is_error(name: str) -> bool:
    thing = getattr(builtins, name, None)
    return isinstance(thing, type) and issubclass(thing, BaseException)


def _as_raised(error: Raised) -> Exception:
    """The error for a check cell to catch: Python's own error of that name, as in `try: f(0)` … `except ValueError`."""
    kind = getattr(builtins, error.kind, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with contextlib.suppress(TypeError):  # UnicodeError's subclasses take five arguments
            return kind(error.message)
    return AnswerRaised(str(error))


def _raised(value: Any) -> Raised | None:
    if value is None:
        return None
    kind, message, line, not_written = [*_list(value), "", "", "", False][:4]
    return Raised(readable(kind, 100) or "Error", readable(message, 2000), readable(line, 500), not_written is True)
