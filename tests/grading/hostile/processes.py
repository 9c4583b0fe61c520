"""Processes, threads and signals."""

from __future__ import annotations

from .submission import HONEST, RIGHT, Attack

STRIKE = """
def strike():
    import sqlite3
    try:
        open("@CANARY@", "w").write("taken")
    except OSError:
        pass
    try:
        book = sqlite3.connect("file:@COURSE@/gradebook.db?mode=rw", uri=True, timeout=1)
        book.execute("update grade set manual_score = 99")
        book.commit()
    except sqlite3.Error:
        pass
"""


ATTACKS = [
    Attack(
        "detached",
        "leaves behind a process in its own session, which strikes a second later",
        STRIKE
        + """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for _ in range(60):
            time.sleep(1)
            strike()
    os._exit(0)
""",
    ),
    Attack("at-exit", "strikes when the kernel is shut down", STRIKE + "\nimport atexit\natexit.register(strike)\n"),
    Attack(
        "never-exits",
        "ignores signals and hangs when the kernel is shut down",
        """
import atexit, signal, time
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
@atexit.register
def stay():
    while True:
        time.sleep(1)
""",
    ),
    Attack(
        "fork-flood",
        "starts two hundred processes that keep running",
        """
import os, time
for _ in range(200):
    try:
        if os.fork() == 0:
            time.sleep(300)
            os._exit(0)
    except OSError:
        break
""",
    ),
    Attack(
        "thread-flood",
        "starts a thousand threads that keep running",
        """
import threading, time
for _ in range(1000):
    try:
        threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
    except RuntimeError:
        break
""",
    ),
    Attack(
        "kill-everyone",
        "kills every process that it can",
        """
import os, signal
for process in (os.getppid(), -1):
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        pass
""",
        hurts_itself=True,
    ),
    Attack(
        "deaf-loop",
        "ignores every signal and loops forever in a cell",
        """
import signal, time
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    time.sleep(100)
""",
        ending="timeout",
        endless=True,
    ),
    Attack(
        "endless-answer",
        "loops forever in one answer; another is right",
        answers={
            "dual": "\ndef gram_matrix(Phi):\n    while True:\n        pass\n\ndual_weights = predict = gram_matrix\n",
            "not-a-kernel": RIGHT["not-a-kernel"],
        },
        earns=HONEST + 2,
        ending="timeout",
        endless=True,
    ),
    Attack("exit", "ends the kernel in a cell", "import os\nos._exit(0)", ending="kernel died"),
    Attack(
        "abort",
        "ends the kernel in one answer; another is right",
        answers={
            "dual": "\nimport os\ndef gram_matrix(Phi):\n    os.abort()\n\ndual_weights = predict = gram_matrix\n",
            "not-a-kernel": RIGHT["not-a-kernel"],
        },
        earns=HONEST + 2,
        ending="kernel died",
    ),
    Attack(
        "stack",
        "raises the recursion limit and recurses until the process crashes",
        answers={
            "dual": """
import sys
def gram_matrix(Phi):
    sys.setrecursionlimit(10**9)
    return gram_matrix(Phi)

dual_weights = predict = gram_matrix
""",
            "not-a-kernel": RIGHT["not-a-kernel"],
        },
        earns=HONEST + 2,
        endless=True,
    ),
    Attack(
        "other-processes",
        "reads the memory, environment and files of all processes that it can see",
        """
import os
for process in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "mem"):
        try:
            with open(f"/proc/{process}/{name}", "rb") as file:
                print(process, name, file.read(2000))
        except OSError:
            pass
    try:
        for link in os.listdir(f"/proc/{process}/fd"):
            print(process, os.readlink(f"/proc/{process}/fd/{link}"))
    except OSError:
        pass
""",
    ),
]
