"""A sandbox keeps its code away from everything else, and stops code that does not stop by itself."""

import importlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace

import psutil
import pytest

from kernelcourse.course import drawing, users
from kernelcourse.course import sandbox as sandboxes
from kernelcourse.course.control_group import ControlGroup, home
from kernelcourse.course.errors import CourseError
from kernelcourse.course.plain import Channel
from kernelcourse.course.sandbox import (
    WAITING,
    Died,
    Limits,
    Sandbox,
    _stored,
    bubblewrap_command,
    find_bubblewrap,
    packages,
    try_bubblewrap,
)
from tests.grading.somebody import run_as_somebody

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names the package"
)

LIMITS = Limits(seconds=20, patience=30, memory=1_000_000_000, disk=5_000_000, processes=24, output=50_000)


@pytest.fixture(scope="module")
def place(library):
    with Sandbox(library, limits=LIMITS, grace=300) as sandbox:
        run(sandbox, "import os, socket")  # for whichever test runs first
        yield sandbox


@pytest.fixture(scope="module")
def crowded(library):
    """A sandbox for code that uses up its resources."""
    with Sandbox(library, limits=LIMITS) as sandbox:
        yield sandbox


def run(sandbox, code, *limits):
    return sandbox.ask({"op": "run", "source": code}, *limits)


def printed(sandbox, expression):
    """The value of an expression in the sandbox, as printed."""
    (output,) = run(sandbox, f"print({expression})")["outputs"]
    assert output["output_type"] == "stream", output
    return output["text"].strip()


def error(sandbox, code):
    *_, output = run(sandbox, code)["outputs"]
    assert output["output_type"] == "error", output
    return f"{output['ename']}: {output['evalue']}"


def test_the_system_is_all_there_is_to_see(place, released):
    seen = printed(place, "' '.join(sorted(os.listdir('/')))").split()
    assert set(seen) <= {
        *["bin", "dev", "etc", "home", "lib", "lib32", "lib64", "library", "proc", "site", "tmp", "usr"],
        *Path(sys.base_prefix).parts,
    }
    for path in (
        released.root,
        Path.home() / ".ssh",
        Path(__file__),
        Path("/etc/shadow"),
        Path("/etc/passwd"),
        "/work",
    ):
        assert printed(place, f"os.path.exists({str(path)!r})") == "False"
    checking = printed(place, "sorted(p for p in os.listdir('/library/kernelcourse/checking') if p.endswith('.py'))")
    assert checking == "['__init__.py', 'calling.py', 'cases.py', 'plain.py', 'values.py']"
    assert printed(place, "sorted(p for p in os.environ if 'SEED' in p or 'TOKEN' in p or 'PYTEST' in p)") == "[]"


@pytest.mark.parametrize(
    "name", ["sklearn", "nbgrader", "jupyter_client", "cvxopt", "pip", "kernelcourse.course.grade"]
)
def test_packages_that_are_not_named_are_not_there(place, name):
    assert "No module named" in error(place, f"import {name}")


def test_requirements_of_other_systems_and_of_extras_are_left_out(monkeypatch):
    def distribution(name):
        if name not in ("first", "second-one"):
            raise AssertionError(f"{name} is not required here")
        requires = ["Second_One>=1; python_version > '3'", "third; sys_platform == 'win32'", "fourth; extra == 'x'"]
        return SimpleNamespace(files=[], read_text=lambda _: None, requires=requires if name == "first" else None)

    monkeypatch.setattr(sandboxes.metadata, "distribution", distribution)
    assert packages.__wrapped__(("First",)) == {}


def test_packages_come_with_what_they_require():
    found = packages(("matplotlib",))
    assert {"matplotlib", "numpy", "PIL", "dateutil"} <= set(found)
    assert not {"sklearn", "nbgrader", "IPython"} & set(found)


@pytest.mark.parametrize(
    "path", ["/usr/x", "/library/x", "/library/kernelcourse/__init__.py", "/site/x", "/x", "/dev/x"]
)
def test_nothing_outside_the_home_can_be_written(place, path):
    assert "Read-only file system" in error(place, f"open({path!r}, 'a')") or "Permission" in error(
        place, f"open({path!r}, 'a')"
    )


def test_there_is_no_network(place):
    assert "OSError" in error(place, "socket.create_connection(('127.0.0.1', 80))") or "Refused" in error(
        place, "socket.create_connection(('127.0.0.1', 80))"
    )
    assert printed(place, "[name for _, name in socket.if_nameindex()]") in ("['lo']", "[]")
    for family in (38, 40):  # AF_ALG and AF_VSOCK reach the kernel and a virtual machine's host from any namespace
        assert "not supported" in error(place, f"socket.socket({family}, socket.SOCK_SEQPACKET)")


def test_the_user_has_no_rights(place):
    assert int(printed(place, "os.getuid()")) >= 60000
    effective, permitted = printed(place, CAPABILITIES).split(",")[:2]
    assert (effective, permitted) == ("[0", " 0") and printed(place, CAPABILITIES).endswith("] 1")
    assert "Error" in error(place, "os.setuid(0)")


def test_the_machine_has_no_name(place):
    assert printed(place, "os.uname().nodename, socket.gethostname()") == "sandbox sandbox"


def test_other_processes_are_out_of_sight(place):
    assert int(printed(place, "os.getpid()")) < 1000
    assert "ProcessLookupError" in error(place, f"os.kill({os.getpid()}, 0)") or os.getpid() < 1000


def test_no_path_of_this_machine_can_be_seen(place, library):
    """Neither /proc nor the kernel's newer calls reveal the mounts."""
    assert printed(place, "os.path.exists('/proc/self/mountinfo'), os.path.exists('/proc/mounts')") == "False False"
    run(place, LIST_MOUNTS)
    assert printed(place, "[listed, told]") == "[-1, -1]"
    assert str(library) not in printed(place, "sorted(os.environ.items()), __import__('sys').path")


# capget(2): effective, permitted and inheritable capabilities; PR_GET_NO_NEW_PRIVS: whether it can gain new ones
CAPABILITIES = """(lambda c, data: (c.capget((__import__('ctypes').c_uint32 * 2)(0x20080522, 0), data), list(data[:3]),
c.prctl(39, 0, 0, 0, 0)))(__import__('ctypes').CDLL(None), (__import__('ctypes').c_uint32 * 6)())[1:].__repr__()[1:-1]
.replace('], ', '] ')"""

LIST_MOUNTS = """
import ctypes
request = (ctypes.c_uint64 * 4)(24, 0xffffffffffffffff, 0, 0)  # LSMT_ROOT
mounts = (ctypes.c_uint64 * 100)()
listed = ctypes.CDLL(None).syscall(458, request, mounts, 100, 0)
told = ctypes.CDLL(None).syscall(457, request, mounts, 800, 0)
"""

THREADS = """
import threading
enough = threading.Event()
try:
    for _ in range(50):
        threading.Thread(target=enough.wait).start()
finally:
    enough.set()
"""


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("open('/tmp/large', 'w').write('x' * 10_000_000)", "File too large"),
        ("for i in range(9): open(f'/tmp/{i}', 'w').write('x' * 1_000_000)", "No space"),
        ("open('/dev/shm/x', 'w').write('x' * 10_000_000)", "too large"),
        ("x = bytearray(10**9)", "MemoryError"),
        ("files = [open('/dev/null') for _ in range(1000)]", "Too many open files"),
        (THREADS, "can't start"),
    ],
)
def test_limits_are_errors_of_the_code_that_meets_them(crowded, code, complaint):
    run(crowded, "import glob, os\nfor path in glob.glob('/tmp/*'): os.remove(path)")
    assert complaint in error(crowded, code)


def test_time_is_up_and_the_shell_goes_on(place):
    run(place, "kept = 7")
    assert run(place, "while True:\n    pass", 0.2)["late"]
    assert run(place, "import time\nwhile True:\n    time.sleep(1)", 20, 0.2)["late"]
    assert printed(place, "kept") == "7"


def test_code_that_only_waits_is_stopped_early_and_the_shell_goes_on(place):
    """An hour of wall-clock time is allowed, but nothing wants a processor."""
    assert run(place, "import time\nkept = 8\ntime.sleep(10_000)", 1, 3600)["late"]
    assert place.overrun.endswith(WAITING)
    place._ring({"op": "run"})  # too late: no cell is running
    assert printed(place, "kept") == "8"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import os\nchild = os.fork()\nif not child:\n    while True: pass\ntry: os.wait()\nfinally: os.kill(child, 9)",
        "import threading, time\ndef spin():\n    while not over: pass\nover = False\n"
        "threading.Thread(target=spin).start()\ntry: time.sleep(10_000)\nfinally: over = True",
    ],
    ids=["computing", "a process that computes", "a thread that computes"],
)
def test_code_that_computes_never_waits_however_busy_the_machine_is(place, code):
    before = place.idle
    run(place, code, 1000, 2)
    assert place.idle == before


def test_output_is_cut(place):
    reply = run(place, "for _ in range(3): print('x' * 40_000)")
    assert reply["cut"] and len(reply["outputs"][0]["text"]) == LIMITS.output


def test_matplotlib_is_imported_without_its_lists_of_properties(place):
    """Building the lists takes a quarter of the import's time. An answer may import matplotlib in a function."""
    code = "def answer():\n    from matplotlib.lines import Line2D as L\n    return 'linewidth' in str(L.set.__doc__)"
    run(place, code)
    place.tell({"op": "examine", "keeper": None})
    call = {"op": "call", "name": "answer", "args": {"tuple": []}, "keywords": {"dict": []}}
    reply = place.ask(call | {"strided": False, "frozen": False, "fetch": False})
    assert (reply["value"], reply["library_calls"]) == (False, []), reply
    place.ask({"op": "done"})


LATER = """
import sys, threading, types
from kernelcourse.course.drawing import Finder
sys.meta_path.insert(0, Finder)
import matplotlib.pyplot as plt, matplotlib
assert not {"matplotlib._api", "matplotlib.figure"} & set(sys.modules), "loaded before it is used"
plt.__doc__ = "ours"
plt.show = "ours"
assert "matplotlib.figure" in sys.modules and plt.show == plt.__doc__ == "ours" and plt.plot and matplotlib.rcParams

for name in [name for name in sys.modules if name.partition(".")[0] in ("matplotlib", "mpl_toolkits")]:
    del sys.modules[name]
import matplotlib.pyplot as plt
assert "matplotlib.figure" not in sys.modules
sys.modules["matplotlib.figure"] = None
for _ in range(2):  # a load that failed is tried again
    try:
        plt.plot
    except ImportError:
        continue
    raise AssertionError("loaded without its parts")
del sys.modules["matplotlib.figure"]
found = []
threads = [threading.Thread(target=lambda: found.append(plt.legend)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8, "a thread saw a module that was half loaded"
assert {type(plt), type(sys.modules["matplotlib"])} == {types.ModuleType}
"""


def test_matplotlib_is_loaded_when_it_is_used_and_whole():
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_module_that_is_loaded_later_becomes_an_ordinary_one(tmp_path, monkeypatch):
    for name in ("used", "changed"):
        (tmp_path / f"later_{name}.py").write_text("value, other = 1, 2\n", encoding="ascii")
    monkeypatch.setattr(drawing, "_LATER", ("later_used", "later_changed"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [drawing.Finder, *sys.meta_path])
    used, changed = (importlib.import_module(name) for name in drawing._LATER)
    assert type(used) is type(changed) is drawing._Module
    assert used.value == 1 and type(used) is ModuleType
    changed.value = 3
    assert (changed.value, changed.other) == (3, 2) and type(changed) is ModuleType
    for module in (used, changed):
        del sys.modules[module.__name__]


def test_a_cell_that_imports_matplotlib_without_using_it_does_not_load_it(place):
    """Whether or not another test has used it before."""
    run(place, "import sys\nbefore = set(sys.modules)\nimport matplotlib.pyplot as plt")
    assert printed(place, "set(sys.modules) - before <= {'matplotlib', 'matplotlib.pyplot'}") == "True"


def test_an_error_of_the_library_shows_the_line(place):
    code = "from kernelcourse.algorithms import ridge\nanswer = ridge.dual_weights(1)"
    (shown,) = run(place, code)["outputs"]
    text = "".join(shown["traceback"])
    assert shown["ename"] == "LibraryRefused" and "answer = ridge.dual_weights(1)" in text and "left out" in text


def test_magics_pictures_and_input(place):
    (picture,) = run(place, "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);")["outputs"]
    assert picture["data"]["image/png"].startswith("iVBOR")
    (said,) = run(place, "!echo hello")["outputs"]
    assert "hello" in said.get("text", ""), said
    assert "EOFError" in error(place, "input()")
    assert run(place, "1 + 1")["outputs"] == [{"output_type": "execute_result", "data": {"text/plain": "2"}}]


# the grader chooses the channel's number, which is high if it has many files open
SPOIL = """import os
for number in range(3, 256):
    try:
        os.write(number, b'\\xff' * 9)
    except OSError: pass
"""


DEAF = "import signal, time\nfor number in (14, 27): signal.signal(number, signal.SIG_IGN)\n"


@pytest.mark.parametrize(
    ("code", "limits", "kind"),
    [
        ("import os; os.kill(os.getpid(), 9)", (), "kernel died"),
        (DEAF + "while True: pass", (0.2, 600), "timeout"),
        (DEAF + "while True: time.sleep(1)", (20, 0.2), "timeout"),
        (DEAF + "while True: time.sleep(1)", (1, 3600), "timeout"),
        (SPOIL, (), "too much output"),
    ],
)
def test_a_sandbox_that_dies_says_how(library, code, limits, kind):
    with Sandbox(library, limits=LIMITS, grace=1) as sandbox, pytest.raises(Died) as died:
        run(sandbox, code, *limits)
    assert died.value.kind == kind


FLOOD = "import os, time\nwhile True:\n    if not os.fork():\n        time.sleep(10_000)"


def test_neighbours_do_not_share_their_processes(library):
    with Sandbox(library, limits=LIMITS) as full, Sandbox(library, limits=LIMITS) as neighbour:
        assert "BlockingIOError" in error(full, FLOOD)
        with Sandbox(library, limits=LIMITS) as later:
            for sandbox in (neighbour, later):
                (said,) = run(sandbox, "!echo hello")["outputs"]
                assert "hello" in said.get("text", ""), said
        assert "BlockingIOError" in error(full, "os.fork()")


def test_where_the_kernel_cannot_count_them_processes_are_counted_from_outside(library, monkeypatch):
    monkeypatch.setattr(sandboxes, "counts_apart", lambda: False)
    monkeypatch.setattr(sandboxes, "OwnUser", lambda: None)
    monkeypatch.setattr(sandboxes, "home", lambda: None)
    with Sandbox(library, limits=LIMITS) as sandbox, pytest.raises(Died, match="24 processes") as died:
        run(sandbox, "import os, time\nfor _ in range(200):\n    if not os.fork(): break\ntime.sleep(10_000)")
    assert died.value.kind == "processes"


def test_every_sandbox_has_a_control_group_where_one_can_be_made(library):
    place = home()
    with Sandbox(library, limits=LIMITS) as busy, Sandbox(library, limits=LIMITS) as neighbour:
        run(neighbour, "1")
        idle = neighbour.used()
        run(busy, "import time\nwhile time.process_time() < 2: pass")
        assert bool(busy.group) == bool(neighbour.group) == (place is not None)
        groups = [sandbox.group for sandbox in (busy, neighbour) if sandbox.group]
        members = [{int(line) for line in (group.folder / "cgroup.procs").read_text().split()} for group in groups]
        families = [{one.pid for one in sandbox._family()} for sandbox in (busy, neighbour)]
        assert members in ([], families)
        assert busy.used() > 1.9 and neighbour.used() < idle + 0.5
    assert not any(group.folder.exists() for group in groups)


@pytest.mark.parametrize(
    ("own", "top", "expected"),
    [
        ("0::/user.slice/scope\n", "", "user.slice"),
        ("9:memory:/x\n0::/a/b\n", "unified", "unified/a"),
        ("0::/\n", "", "."),
        ("0::/../other\n", "", None),
        ("4:memory:/x\n", "", None),
    ],
)
def test_control_groups_are_made_beside_that_of_the_grader(tmp_path, own, top, expected):
    if expected:
        (tmp_path / expected).mkdir(parents=True, exist_ok=True)
        for folder in (tmp_path / top, tmp_path / expected):
            (folder / "cgroup.procs").touch()
    (tmp_path / "self").write_text(own)
    assert home(tmp_path / "self", tmp_path) == (expected and tmp_path / expected)


def test_a_control_group_has_the_limits_that_the_kernel_knows_and_is_removed(tmp_path, monkeypatch):
    made = Path.mkdir

    def mkdir(path):
        made(path)
        (path / "memory.max").write_text("max")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    gone = tmp_path / f"kernelcourse-{2**22 + 1}-0"  # no process has this id
    made(gone)
    group = ControlGroup(tmp_path, {"memory.max": 1000, "pids.max": 20})
    assert not gone.exists()
    assert {path.name: path.read_text() for path in group.folder.iterdir()} == {"memory.max": "1000"}
    (group.folder / "memory.events").write_text("high 3\noom_kill 2\n")
    assert group.number("memory.events", "oom_kill") == 2 and group.number("cpu.stat", "usage_usec") == 0
    subprocess.run(group.joined(["true"]), check=True)
    assert (group.folder / "cgroup.procs").read_text() == "0\n"
    for path in group.folder.iterdir():  # in a real group they disappear with it
        path.unlink()
    group.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_sandbox_that_the_kernel_ends_for_its_memory_says_so(library, tmp_path, monkeypatch):
    monkeypatch.setattr(sandboxes, "home", lambda: tmp_path)
    with Sandbox(library, limits=LIMITS) as sandbox, pytest.raises(Died) as died:
        (sandbox.group.folder / "memory.events").write_text("oom_kill 1\n")
        run(sandbox, "import os; os._exit(9)")
    assert died.value.kind == "memory"


def not_started(**state):
    """A sandbox without a process."""
    sandbox = object.__new__(Sandbox)
    sandbox.__dict__ |= {"limits": LIMITS, "unsafe": False, "group": None, "user": None, "scratch": "", "grace": 0}
    sandbox.__dict__ |= {"idle": 0.0, "_seen": 0.0, "end": lambda: None, **state}
    return sandbox


def test_a_sandbox_asks_for_limits_on_all_its_processes_together(monkeypatch, tmp_path):
    monkeypatch.setattr(sandboxes, "home", lambda: tmp_path)
    monkeypatch.setattr(sandboxes, "ControlGroup", lambda place, most: most)
    expected = {"memory.max": LIMITS.memory, "memory.swap.max": 0, "pids.max": LIMITS.processes + 66}
    assert not_started()._own_group() == expected | {"memory.oom.group": 1}  # too much memory ends all of them


def test_a_sandbox_that_is_not_ready_after_five_minutes_is_not_the_students_fault():
    def never(message, *limits):
        assert message is None and limits == (300, 300)
        raise Died("timeout", "took too long")

    with pytest.raises(CourseError, match=r"^the sandbox does not start within 300 seconds$"):
        not_started(ready=False, _exchange=never, _complaint=lambda: "").ask({"op": "run"})


class Clock:
    """A clock that runs while others wait."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def select(self, reading, writing, troubled, seconds):
        self.now += 1.2 * seconds
        return [], [], []


@pytest.mark.parametrize(("share", "seconds", "waits"), [(0.2, 20, False), (0.05, 5, True), (1.0, 5, False)])
def test_code_waits_if_it_computes_less_than_a_tenth_of_the_time(monkeypatch, share, seconds, waits):
    clock, (ours, theirs) = Clock(), socket.socketpair()
    monkeypatch.setattr(sandboxes, "time", clock)
    monkeypatch.setattr(sandboxes, "select", clock)
    state = {"_watch": lambda: share * clock.now, "_is_asleep": lambda: True, "_ring": lambda message: None}
    sandbox = not_started(channel=Channel(ours), **state)
    sandbox.limits = Limits(seconds=5, patience=4)
    with ours, theirs, pytest.raises(Died) as died:
        sandbox._exchange(None, 5, 20)
    assert clock.now - 100 == pytest.approx(seconds, abs=1.5) and str(died.value).endswith(WAITING) == waits


def test_the_first_process_in_a_sandbox_is_ended_and_after_ten_seconds_all_of_them(monkeypatch):
    clock, ended = Clock(), []
    monkeypatch.setattr(sandboxes, "time", clock)
    family = [SimpleNamespace(kill=lambda name=name: ended.append(name)) for name in ("bubblewrap", "first", "second")]

    def wait(seconds):
        clock.now += 1
        raise subprocess.TimeoutExpired("bubblewrap", seconds)

    for stubborn, expected in ((False, ["first"]), (True, [*["first"] * 10, "second", "first", "bubblewrap"])):
        ended.clear()
        last = "bubblewrap" if stubborn else "first"
        process = SimpleNamespace(poll=lambda last=last: 0 if last in ended else None, wait=wait, stderr=None)
        channel = SimpleNamespace(close=lambda: None)
        sandbox = not_started(process=process, channel=channel, _family=lambda: family, used=lambda: 3.0)
        Sandbox.end(sandbox)
        assert ended == expected and sandbox.spent == 3


def test_folders_around_a_link_of_the_system_can_be_entered_by_all(monkeypatch, tmp_path):
    (tmp_path / "bin").symlink_to("programs")
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    mounts = sandboxes.Mounts()
    mounts.add_system()
    assert f"--perms 0755 --dir {tmp_path} --symlink programs {tmp_path}/bin" in " ".join(mounts.arguments)


def test_a_user_is_one_sandboxs_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(users, "_FOLDER", tmp_path / "locks")
    monkeypatch.setattr(users, "_IDS", range(70_001, 70_004))
    monkeypatch.setattr(users, "_is_running", lambda uid: uid == 70_002)
    one, other = users.OwnUser(), users.OwnUser()
    assert {one.uid, other.uid} == {70_001, 70_003}
    with pytest.raises(CourseError, match="70001 to 70003"):
        users.OwnUser()
    one.give_back()
    with ThreadPoolExecutor(1) as threads:  # a user may be given back in another thread
        third = threads.submit(users.OwnUser).result()
    assert third.uid == one.uid
    third.give_back()
    assert users.OwnUser().uid == third.uid


def test_users_with_a_process_are_not_lent():
    assert users._is_running(os.getuid()) and not users._is_running(2**31 - 7)


def test_all_memory_together_is_bounded(library):
    code = "import os, time\nfor _ in range(4):\n    if not os.fork():\n        x = bytearray(10**8); break\n"
    limits = Limits(memory=400_000_000)
    with Sandbox(library, limits=limits) as sandbox, pytest.raises(Died) as died:
        run(sandbox, code + "time.sleep(10_000)")
    assert died.value.kind == "memory"


def test_files_count_as_memory_even_if_they_are_empty(library):
    with Sandbox(library, limits=LIMITS) as sandbox:
        run(sandbox, "pass")
        process = psutil.Process(sandbox.process.pid).children(recursive=True)[-1].pid
        before = _stored(process)
        run(sandbox, "for i in range(3000): open(f'/tmp/{i}', 'w').close()")
        run(sandbox, "open('/dev/shm/x', 'w').write('x' * 1_000_000)")
        assert _stored(process) - before >= 4_000_000


def test_nothing_is_left_and_nothing_passes_on(library):
    with Sandbox(library, limits=LIMITS) as sandbox:
        run(sandbox, "import builtins, numpy, os; builtins.left = numpy.left = 1; os.environ['LEFT'] = '1'")
        run(sandbox, "[open(f'{folder}/left', 'w') for folder in ('/tmp', '/dev/shm', os.path.expanduser('~'))]")
        nap = str(10**9 + secrets.randbelow(10**9))
        run(sandbox, f"import subprocess; subprocess.Popen(['setsid', 'sleep', '{nap}'], start_new_session=True)")
        assert "left" in printed(sandbox, "os.listdir('/tmp')")
    assert not any(nap in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
    with Sandbox(library, limits=LIMITS) as sandbox:
        run(sandbox, "import builtins, numpy, os")
        assert (
            printed(sandbox, "hasattr(builtins, 'left'), hasattr(numpy, 'left'), 'LEFT' in os.environ")
            == "False False False"
        )
        assert printed(sandbox, "os.listdir('/tmp'), os.listdir('/dev/shm'), 'left' in os.listdir()") == "[] [] False"


def test_files_of_the_assignment_are_in_the_home(library, tmp_path):
    (tmp_path / "data.csv").write_text("1,2", encoding="ascii")
    with Sandbox(library, files={"data.csv": tmp_path / "data.csv"}, limits=LIMITS) as sandbox:
        assert printed(sandbox, "open('data.csv').read()") == "1,2"


def test_a_user_without_rights_can_make_one(library):
    if os.geteuid() != 0:
        pytest.skip("every other test already runs without rights")
    code = (
        "from pathlib import Path; from kernelcourse.course.sandbox import *; "
        f"s = Sandbox(Path({str(library)!r})); "
        "ask = {'op': 'run', 'source': 'import os; print(os.getuid(), os.listdir(\"/tmp\"))'}; "
        "print(s.ask(ask)); s.end()"
    )
    done = run_as_somebody("-c", code, sees=[library])
    assert "61184 []" in done.stdout, done.stderr


def test_neighbours_of_a_user_without_rights_do_not_share_their_processes_either(library):
    if os.geteuid() != 0:
        pytest.skip("every other test already runs without rights")
    code = f"""
from pathlib import Path
from kernelcourse.course.sandbox import Limits, Sandbox
one, other = (Sandbox(Path({str(library)!r}), limits=Limits(processes=24)) for _ in range(2))
for sandbox, source in ((one, {FLOOD!r}), (other, "!echo hello")):
    print(sandbox.ask({{"op": "run", "source": source}})["outputs"][-1])
one.end(); other.end()
"""
    done = run_as_somebody("-c", code, sees=[library])
    flooded, said = done.stdout.splitlines()
    assert "BlockingIOError" in flooded and "hello" in said, done.stderr


def test_without_bubblewrap_it_is_refused(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CourseError, match=r"bubblewrap 0\.8 .*apt install.*--unsafe"):
        find_bubblewrap()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(CourseError, match=r"for Linux only.*--unsafe"):
        find_bubblewrap()
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(CourseError, match=r"WSL 2.*other commands work here") as refused:
        find_bubblewrap()
    assert "--unsafe" not in str(refused.value)


def stand_in(folder, monkeypatch, script):
    """A stand-in for bubblewrap that runs a shell script."""
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    (folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_the_trial_has_the_options_of_a_real_sandbox(tmp_path, monkeypatch):
    try_bubblewrap()
    real = shutil.which("bwrap")
    for option in ("--perms", "--size", "--remount-ro", "--seccomp"):
        script = f'case " $* " in *" {option} "*) echo "Unknown option {option}" >&2; exit 1;; esac; exec {real} "$@"'
        stand_in(tmp_path, monkeypatch, script)
        with pytest.raises(CourseError, match=rf"bubblewrap \d.* cannot .*Unknown option {option}.* 0\.8 or newer"):
            try_bubblewrap()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--disable-userns" in bubblewrap_command(tmp_path, {}, (), LIMITS, None)


@pytest.mark.parametrize("version", ["0.4.0", "0.4.1", "0.6.1", "0.7.0"])
def test_an_old_bubblewrap_is_named(tmp_path, monkeypatch, version):
    stand_in(tmp_path, monkeypatch, f"echo bubblewrap {version}")
    with pytest.raises(CourseError, match=rf"bubblewrap {version} is too old.*0\.8 or newer"):
        try_bubblewrap()


@pytest.mark.parametrize("version", ["0.8.0", "0.9.0", "0.11.0", "1.0"])
def test_a_new_one_is_tried(tmp_path, monkeypatch, version):
    stand_in(tmp_path, monkeypatch, f"echo bubblewrap {version}")  # it succeeds whatever its arguments
    assert try_bubblewrap() is None


def test_a_sandbox_that_does_not_start_says_why(library, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CourseError, match=r"(?s)does not start.*No module named 'kernelcourse'"):
        run(Sandbox(tmp_path / "empty", limits=LIMITS), "1")


def test_unsafe_runs_without_bubblewrap(library, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with Sandbox(library, limits=LIMITS, unsafe=True) as sandbox:
        assert printed(sandbox, "6 * 7") == "42"
        folder = sandbox.scratch
    assert not Path(folder).exists()


MACOS = """
import resource, sys
del resource.RLIMIT_MSGQUEUE
lower = resource.setrlimit
def setrlimit(which, limits):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    lower(which, limits)
resource.setrlimit = setrlimit
"""


@pytest.mark.parametrize("strict", [True, False])
def test_limits_that_a_system_does_not_have_are_left_out_without_a_sandbox_only(strict):
    start = {"uid": 0, "limits": LIMITS.resources, "room": 64, "strict": strict}
    code = f"{MACOS}\nfrom kernelcourse.course.worker import _drop_rights\n_drop_rights({start})\nprint('dropped')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ("exceeds maximum" in done.stderr) == strict
    assert ("dropped" in done.stdout) != strict
