"""The inside of a sandbox: an IPython shell that runs cells and lets its functions be called, over one socket.

A student's code shares this process and may change all of it. Nothing here decides anything: what it says can only be
compared, outside, with what is right.

ipykernel would bring its sockets into the sandbox, has no limit on output, and cannot be forked.
"""

from __future__ import annotations

import base64
import gc
import io
import os
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from ..checking.calling import Outcome, call, describe
from ..checking.cases import Case
from . import drawing
from .plain import Channel, decode, encode


class Outputs:
    """What the running cell has displayed so far, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.left = self.limit
        self.cut = False

    def write(self, name: str, text: str) -> None:
        if len(text) > self.left:
            text, self.cut = text[: max(self.left, 0)], True
        self.left -= len(text)
        if not text:
            return
        if self.shown and self.shown[-1].get("name") == name:
            self.shown[-1]["text"].append(text)
        else:
            self.shown.append({"output_type": "stream", "name": name, "text": [text]})

    def add(self, output: dict[str, Any]) -> None:
        size = sum(len(item) for item in output.get("data", {}).values()) or 200
        if size > self.left:
            self.cut = True
        else:
            self.left -= size
            self.shown.append(output)

    def plain(self) -> list[dict[str, Any]]:
        return [output | {"text": "".join(output["text"])} if "text" in output else output for output in self.shown]


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of the cells."""

    encoding = "utf-8"

    def __init__(self, name: str, outputs: Outputs) -> None:
        self.label, self.outputs = name, outputs

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.outputs.write(self.label, str(text))
        return len(text)


def _mime(data: Any) -> dict[str, str]:
    return {
        kind: base64.b64encode(item).decode("ascii") if isinstance(item, bytes) else str(item)
        for kind, item in data.items()
    }


class Publisher(DisplayPublisher):
    """Keeps what `display` is given."""

    shell: Any

    def publish(self, data: Any, *args: Any, **kwargs: Any) -> None:
        self.shell.outputs.add({"output_type": "display_data", "data": _mime(data)})

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.shown.clear()


class Hook(DisplayHook):
    """Keeps the value of a cell's last expression."""

    shell: Any

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        self.shell.outputs.add({"output_type": "execute_result", "data": _mime(format_dict)})

    def finish_displayhook(self) -> None:
        pass


class Shell(InteractiveShell):
    """IPython without a terminal or a kernel's sockets."""

    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)
    outputs: Outputs

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        error = describe(evalue)
        self.outputs.shown.append(
            {"output_type": "error", "ename": error.kind, "evalue": error.message[:2000], "traceback": list(stb)[-60:]}
        )

    def enable_gui(self, gui: Any = None) -> None:
        pass  # figures become pictures here


_CLOCKS = ((signal.SIGPROF, signal.ITIMER_PROF, "seconds"), (signal.SIGALRM, signal.ITIMER_REAL, "clock"))


class Worker:
    """Serves the grader until it hangs up."""

    def __init__(self, channel: Channel, shell: Shell) -> None:
        self.channel, self.shell = channel, shell
        self.late = False
        self.keepers: list[socket.socket] = []
        self.origin: socket.socket | None = None  # in a copy that was kept: the connection to the original

    def serve(self) -> None:
        while True:
            message = self.channel.receive()
            if message["op"] == "run":
                self.run(message)
            elif message["op"] == "keep":
                self.keep()
            elif message["op"] == "examine":
                self.examine(message["keeper"], message.get("last", False))

    def _ring(self, *_: Any) -> None:
        self.late = True
        raise KeyboardInterrupt("the time is up")

    def _start_clocks(self, message: dict[str, Any]) -> None:
        """Two limits: on processor time, and on wall-clock time; the grader rings for a cell that only sleeps."""
        self.late = False
        for kind, timer, name in _CLOCKS:
            signal.signal(kind, self._ring)  # a cell may have installed its own handler
            signal.setitimer(timer, max(message[name], 0.001), 1)  # repeated every second, in case it is ignored

    def _stop_clocks(self) -> None:
        for _, timer, _ in _CLOCKS:
            signal.setitimer(timer, 0)

    def run(self, message: dict[str, Any]) -> None:
        """Run a cell and send its outputs."""
        outputs = self.shell.outputs
        outputs.clear()
        process = os.getpid()
        sys.stdout, sys.stderr = Stream("stdout", outputs), Stream("stderr", outputs)
        try:
            self._start_clocks(message)
            self.shell.run_cell(message["source"], store_history=True)
        except BaseException as error:  # noqa: BLE001 - a cell may raise whatever it likes
            self.shell.outputs.write("stderr", describe(error).kind)
        finally:
            signal.signal(signal.SIGALRM, signal.SIG_IGN)  # the grader may ring just when the cell has ended
            self._stop_clocks()
        _end_copies(process)
        self.channel.send({"outputs": outputs.plain(), "cut": outputs.cut, "late": self.late})

    def keep(self) -> None:
        """Leave behind a copy of this process as it is now, to be examined later."""
        ours, theirs = socket.socketpair()
        if not _fork(more=1):
            ours.close()
            self.origin = theirs
            try:
                while word := theirs.recv(1):
                    self.examine(last=word == b"1")
                    theirs.send(b"done")
            finally:
                os._exit(0)
        theirs.close()
        self.keepers.append(ours)
        self.channel.send({})  # the grader counts the copies itself

    def examine(self, keeper: int | None = None, last: bool = False) -> None:
        """Let a copy of this process, or of one that was kept, answer calls.

        Whatever the copy remembers of them is lost when it ends. A copy that was kept answers itself if it is asked
        for the `last` time, because forking costs more than answering.
        """
        if keeper is not None:
            try:
                self.keepers[keeper].send(b"1" if last else b"0")
                gone = not self.keepers[keeper].recv(100)
            except OSError:
                gone = True
            if gone:
                self.channel.send({"examined": -1})
            return
        if last and self.origin:
            self._answer_calls()
            self.channel.send({"examined": 0})
            self.origin.send(b"done")
            os._exit(0)
        child = _fork()
        if not child:
            try:
                if self.origin:
                    self.origin.close()  # if the copy that was kept dies, the original must notice
                self._answer_calls()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        self.channel.send({"examined": os.waitstatus_to_exitcode(status)})

    def _answer_calls(self) -> None:
        while (message := self.channel.receive())["op"] == "call":
            layout = {"strided": message["strided"], "frozen": message["frozen"]}
            case = Case(decode(message["args"]), **layout, keywords=decode(message["keywords"]))
            self.channel.send(self._answer(message["name"], case, message))

    def _answer(self, name: str, case: Case, message: dict[str, Any]) -> dict[str, Any]:
        reply: dict[str, Any] = {}
        process, start = os.getpid(), time.process_time()
        try:
            self._start_clocks(message)
            named = self._named(name)
            outcome = Outcome(case, named) if message["fetch"] else call(named, case)
            reply = {
                "value": encode(outcome.value),
                "changed": outcome.changed,
                "library_calls": outcome.library_calls[:20],
                "printed": outcome.printed[:2000],
            }
        except BaseException as error:  # noqa: BLE001 - whatever comes becomes a report
            outcome = Outcome(case, error=describe(error))
        finally:
            self._stop_clocks()
        _end_copies(process)
        if outcome.error is not None:
            raised = outcome.error
            reply["error"] = [raised.kind[:100], raised.message[:2000], raised.line[:500], raised.not_written]
        return reply | {"late": self.late, "used": time.process_time() - start}

    def _named(self, name: str) -> Any:
        if name not in self.shell.user_ns:
            raise NameError(f"name {name!r} is not defined")
        return self.shell.user_ns[name]


def _end_copies(process: int) -> None:
    """End this process if a student's code has forked it: otherwise it would answer the grader as well."""
    if os.getpid() != process:
        os._exit(0)


def _fork(more: int = 0) -> int:
    """Fork, however many processes the cells have left behind; `more` raises their limit afterwards."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
    child = os.fork()
    if child and soft != hard:
        resource.setrlimit(resource.RLIMIT_NPROC, (min(soft + more, hard), hard))
    return child


def _drop_rights(start: dict[str, Any]) -> None:
    import resource

    if start["uid"]:
        os.setgroups([])
        os.setgid(start["uid"])
        os.setuid(start["uid"])
    for name, limit in start["limits"].items():
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is None:  # macOS has no message queues
            continue
        most = limit + start["room"] if name == "NPROC" else limit
        ceiling = resource.getrlimit(which)[1]
        if ceiling != resource.RLIM_INFINITY:
            most = min(most, ceiling)
        try:
            resource.setrlimit(which, (min(limit, most), most))
        except (OSError, ValueError):  # macOS refuses to limit memory
            if start["strict"]:
                raise


def _settle(home: Path, library: Path) -> None:
    """Set up the home folder, with matplotlib's list of fonts, which takes seconds to build."""
    fonts = home / ".fonts"
    fonts.mkdir(parents=True, exist_ok=True)
    for known in library.glob("fontlist-*.json"):
        shutil.copy(known, fonts)
    os.environ |= {"HOME": str(home), "MPLCONFIGDIR": str(fonts), "IPYTHONDIR": str(home / ".ipython")}
    os.chdir(home)
    for stream in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)


def main(descriptor: int, home: str) -> None:
    """Serve a grader through an inherited socket."""
    channel = Channel(socket.socket(fileno=descriptor))
    start = channel.receive()
    _drop_rights(start)
    _settle(Path(home), Path(__file__).parents[2])
    Shell.outputs = Outputs(start["output"])
    shell = Shell.instance(colors="nocolor", config=Config({"HistoryManager": {"enabled": False}}))
    sys.meta_path.insert(0, drawing.Finder)
    gc.freeze()  # imported modules stay: no need to scan them, and a fork can share their memory
    gc.enable()
    channel.send({"ready": True})
    Worker(channel, shell).serve()
