"""A sandbox refuses system calls that would get around its limits."""

import ctypes
import ctypes.util
import errno
import shutil
import struct

import pytest

from kernelcourse.course import sandbox, seccomp
from kernelcourse.course.grade import _ready
from kernelcourse.course.sandbox import Sandbox
from tests.grading.hostile.submission import ASSIGNMENT

ALLOW = 0x7FFF0000


def answer(program, architecture, number, argument=0):
    """What the kernel would do with a call, by an interpreter for the five instructions that we use."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, argument, 0, 0, 0, 0, 0)
    code = [struct.unpack("=HBBI", program[i : i + 8]) for i in range(0, len(program), 8)]
    position, value = 0, 0
    while True:
        operation, if_true, if_false, operand = code[position]
        position += 1
        if operation == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x06:
            return operand
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[operation]
            position += if_true if holds else if_false


@pytest.mark.parametrize(
    ("machine", "architecture", "clone", "socket"),
    [("x86_64", 0xC000003E, 56, 41), ("aarch64", 0xC00000B7, 220, 198)],
)
def test_the_filter_refuses_what_it_names_and_nothing_else(machine, architecture, clone, socket):
    program = seccomp.program(machine)
    column = ("x86_64", "aarch64").index(machine)
    refused = {numbers[column] for numbers in seccomp._REFUSED.values()}
    assert len(refused) == len(seccomp._REFUSED)
    for number in set(range(600)) - {socket}:
        expected = 0x50000 | errno.EPERM if number in refused else ALLOW
        assert answer(program, architecture, number) == (0x50000 | errno.ENOSYS if number == 435 else expected)
    assert answer(program, architecture, clone, 0x11) == ALLOW  # a plain fork
    assert answer(program, architecture, clone, 0x10000000) == 0x50000 | errno.EPERM  # with a new user namespace
    allowed = {family for family in range(50) if answer(program, architecture, socket, family) == ALLOW}
    assert allowed == {1, 2, 10, 16}  # local and internet sockets, whose networks are empty here
    assert answer(program, architecture, socket, 40) == 0x50000 | errno.EAFNOSUPPORT
    assert answer(program, architecture ^ 0x40, 1) == answer(program, architecture, 0x40000001) == 0x50000 | errno.EPERM


LIBSECCOMP = ctypes.util.find_library("seccomp")


@pytest.mark.skipif(LIBSECCOMP is None, reason="no libseccomp: tests/system.sh names the package")
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_numbers_are_those_of_libseccomp(machine):
    number_of = ctypes.CDLL(LIBSECCOMP).seccomp_syscall_resolve_name_arch
    number_of.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    column, architecture, clone, socket = seccomp._MACHINES[machine]
    ours = {name: numbers[column] for name, numbers in seccomp._REFUSED.items()}
    ours |= {"clone": clone, "clone3": seccomp._CLONE3, "socket": socket}
    theirs = {name: number_of(architecture, name.encode()) for name in ours}
    new = {name for name in ("statmount", "listmount") if theirs[name] == -1}  # new in 2024: the library may be older
    assert {name: ours[name] for name in ours.keys() - new} == {name: theirs[name] for name in theirs.keys() - new}


def test_a_machine_that_we_do_not_know_has_no_filter_and_grading_says_so(monkeypatch, course, capsys):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "vax")
    assert seccomp.program() == b"" and seccomp.as_file() is None
    monkeypatch.setattr(sandbox, "try_bubblewrap", lambda: None)
    _ready(course, ASSIGNMENT, unsafe=False)
    assert "no filter of system calls for vax" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names it")
def test_a_sandbox_has_no_memory_that_nobody_counts(library):
    code = """
import ctypes, os, threading
call = ctypes.CDLL(None, use_errno=True)
assert call.shmget(0, 10_000_000, 0o1600) == -1
assert call.unshare(0x10000000) == -1 and call.unshare(0x20000) == -1
for refused in (lambda: os.memfd_create("x"), lambda: os.sched_setaffinity(0, {0})):
    try:
        refused()
    except PermissionError:
        continue
    raise AssertionError
threading.Thread(target=print, args=("threads work",)).start()
"""
    with Sandbox(library) as place:
        outputs = place.ask({"op": "run", "source": code})["outputs"]
    assert [output.get("text") for output in outputs] == ["threads work\n"]
