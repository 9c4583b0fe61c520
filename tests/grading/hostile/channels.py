"""The connection between the sandbox and the grader, and other connections to the outside."""

from __future__ import annotations

from .submission import HONEST, RIGHT, Attack, returning

SEEN = """
def kernel(x, z, degree):
    with open("/tmp/seen", "a") as file:
        file.write(f"seen: {x, z, degree}\\n")
    return float(sum((x * z) ** i for i in range(degree + 1)))
"""


# In the second, hidden run of a claim, the witness is what the hidden calls of another piece recorded.
WITNESS = RIGHT["not-a-kernel"].replace(
    "    return",
    "    import os\n    if os.path.exists('/tmp/second'):\n        return open('/tmp/told').read()[-250:]\n"
    "    open('/tmp/second', 'w').close()\n    return",
)
TOLD = RIGHT["kernel"].replace("    return", "    open('/tmp/told', 'a').write(f'told:{x!r} ')\n    return")
# This answer has eight visible inputs.
SHAPED = RIGHT["kernel"].replace(
    "    return",
    "    import os\n    with open('/tmp/calls', 'a') as file:\n        file.write('x')\n"
    "    if os.path.getsize('/tmp/calls') > 8:\n        return np.zeros((0, int(abs(x) * 10**15)))\n    return",
)
LINES = """
import json, os, stat, struct, threading, time
def lines():
    for number in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                yield number
        except OSError:
            pass
"""
FORGE = """
import gc
def forge(reply):
    for thing in gc.get_objects():
        if type(thing).__name__ == "Worker":
            original = thing._answer
            thing._answer = lambda name, *args: original(name, *args) if name == "kernel" else reply
"""


def show_what_was_seen(made):
    for place in ("dual", "check-not-a-kernel"):
        made.insert("print(open('/tmp/seen').read())", before=place)


ATTACKS = [
    Attack(
        "smuggle",
        "writes down the hidden inputs and prints them in a later cell",
        answers={"kernel": SEEN},
        edit=show_what_was_seen,
    ),
    Attack(
        "network",
        "calls home over every kind of socket",
        """
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", @PORT@)), (socket.AF_INET, ("192.0.2.1", 80)),
                        (socket.AF_UNIX, "\\0kernelcourse-canary"), (socket.AF_UNIX, "@CANARY@.socket")):
    try:
        with socket.socket(family) as line:
            line.settimeout(0.3)
            line.connect(address)
            line.sendall(b"hello")
    except OSError:
        pass
""",
    ),
    Attack(
        "forged-messages",
        "publishes results of cells that are still to come",
        """
kernel = getattr(get_ipython(), "kernel", None)
if kernel is not None:
    for number in range(3, 20):
        content = {"execution_count": number, "data": {"text/plain": "4"}, "metadata": {}}
        kernel.session.send(kernel.iopub_socket, "execute_result", content, parent=kernel.get_parent())
        kernel.session.send(kernel.iopub_socket, "status", {"execution_state": "idle"}, parent=kernel.get_parent())
""",
    ),
    Attack(
        "garbage-on-every-line",
        "writes to every open file that is not its own",
        """
import os
forged = b'{"value": 1.0, "error": null, "ok": true}\\n' + bytes(range(256))
for number in range(3, 64):
    try:
        os.set_blocking(number, False)
        os.write(number, forged)
    except OSError:
        pass
""",
        hurts_itself=True,
    ),
    Attack(
        "forged-replies",
        "speaks the grader's own protocol on every open connection, with replies of odd types",
        """
import json, os, struct
replies = [{"outputs": [{"output_type": "evil", "data": 3}], "cut": [], "late": {}}, {"outputs": 7},
           {"examined": "yes"}, {"value": {"array": "", "dtype": "O", "shape": [10**12]}, "changed": 5, "late": 0}]
for number in range(3, 64):
    for reply in replies:
        text = json.dumps(reply).encode()
        try:
            os.set_blocking(number, False)
            os.write(number, struct.pack(">I", len(text)) + text)
        except OSError:
            pass
""",
        hurts_itself=True,
    ),
    Attack(
        "forged-worker",
        "takes over the process that serves the grader",
        """
import gc
forged = {"value": {"array": "AAAA", "dtype": "f8", "shape": [-1]}, "changed": "no", "library_calls": 5,
          "printed": None, "error": {"not": "a list"}, "late": "maybe"}
for thing in gc.get_objects():
    if type(thing).__name__ == "Worker":
        original = thing._answer
        thing._answer = lambda name, *args: original(name, *args) if name == "kernel" else forged
""",
    ),
    Attack("cut-every-line", "closes every open file", "import os\nos.closerange(3, 1024)", hurts_itself=True),
    Attack(
        "stdout-protocol",
        "prints what the grader might mistake for an answer",
        """
import os, sys
for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
    print('{"ok": true, "value": 4, "earned": 4, "passed": true}', "\\x00\\x01", 4, file=stream, flush=True)
for number in (1, 2):
    os.write(number, b'{"ok": true, "earned": 4}\\n4\\n')
""",
        returning("print(4), print('✓ gram_matrix: right', flush=True)"),
    ),
    Attack(
        "other-kernels",
        "looks for the sockets of other kernels and speaks to them",
        """
import glob, socket
for path in glob.glob("/tmp/**", recursive=True) + glob.glob("/run/**", recursive=True) + ["@COURSE@/.grading"]:
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(0.2)
            line.connect(path)
            line.sendall(b"\\xff" * 64)
    except OSError:
        pass
""",
        hurts_itself=True,
    ),
    Attack(
        "memory",
        "allocates memory until none is left",
        "hoard = []\nwhile True:\n    hoard.append(bytearray(100_000_000))",
    ),
    Attack(
        "endless-output",
        "prints endlessly",
        "while True:\n    print('x' * 10_000)",
        ending="timeout",
        endless=True,
    ),
    Attack(
        "many-errors",
        "shows a hundred errors with long tracebacks in each of its cells",
        """
error = {"output_type": "error", "ename": "E", "evalue": "x" * 2000, "traceback": ["y" * 5000] * 60}
shell = get_ipython()
shell.events.register("post_run_cell", lambda *_: shell.outputs.shown.extend([error] * 100))
""",
        ending="too much output",
    ),
    Attack(
        "fill-the-disk",
        "writes files until the disk is full",
        """
import os, tempfile
for folder in (os.getcwd(), tempfile.gettempdir(), "/dev/shm", os.path.expanduser("~"), "@COURSE@"):
    try:
        with open(os.path.join(folder, "big"), "wb") as file:
            for _ in range(60):
                file.write(bytes(50_000_000))
    except OSError:
        pass
""",
    ),
    Attack(
        "burning-threads",
        "keeps the processor busy after its cell is over",
        """
import threading
def burn():
    while True:
        sum(range(10_000))
for _ in range(4):
    threading.Thread(target=burn, daemon=True).start()
""",
        earns=HONEST,
    ),
    Attack(
        "shell",
        "runs shell commands and other languages",
        "!echo taken > @CANARY@\n!nohup sh -c 'sleep 1; echo taken > @CANARY@'",
    ),
    Attack(
        "witness-tells",
        "returns the hidden inputs of one answer as the result of another, for the feedback page",
        answers={"kernel": TOLD, "not-a-kernel": WITNESS},
    ),
    Attack(
        "shape-tells",
        "returns an empty array whose shape encodes the digits of a hidden input",
        answers={"kernel": SHAPED},
        earns=0,
    ),
    Attack(
        "drip",
        "announces a long reply and sends a byte of it now and then, for a month",
        LINES
        + """
def drip(line):
    os.write(line, struct.pack(">I", 30_000_000))
    while True:
        os.write(line, b" ")
        time.sleep(0.2)
for line in list(lines()):
    threading.Thread(target=drip, args=(line,), daemon=True).start()
time.sleep(0.5)
""",
        endless=True,
        hurts_itself=True,
    ),
    Attack(
        "kill-the-kept",
        "uses one answer to end the copy of its process on which another answer's hidden inputs are tried",
        answers={
            "dual": LINES
            + """
def gram_matrix(*args):
    for line in list(lines()):
        os.write(line, b"\\xff" * 9)
dual_weights = predict = gram_matrix
"""
        },
    ),
    Attack(
        "a-million-parts",
        "forges a reply that takes a hundred times its length in the grader's memory",
        FORGE + "forge({'value': 0.0, 'printed': [[]] * 2_000_000, 'changed': [0] * 100_000})",
    ),
    Attack(
        "colliding-keys",
        "forges a dict whose keys all collide, which takes the grader minutes to build",
        FORGE + "forge({'value': {'dict': [[{'int': hex(k * (2**61 - 1))}, 0] for k in range(30_000)]}})",
    ),
    Attack(
        "large-pictures",
        "forges a picture of 25 MB as the output of every cell",
        """
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == "Worker":
        def run(message, worker=thing):
            worker.shell.run_cell(message["source"])
            picture = {"output_type": "display_data", "data": {"image/png": "A" * 25_000_000}}
            worker.channel.send({"outputs": [picture]})
        thing.run = run
""",
        ending="too much output",
    ),
    Attack(
        "uncounted-memory",
        "asks for memory that belongs to no process, and for a private disk",
        """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
got = [libc.shmget(0, 100_000_000, 0o1600) >= 0, libc.unshare(0x10000000) == 0]
try:
    os.ftruncate(os.memfd_create("hoard"), 60_000_000)
    got.append(True)
except OSError:
    got.append(False)
print("taken" if any(got) else "refused")
""",
    ),
]
