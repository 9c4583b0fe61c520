"""System calls that a sandbox refuses: no answer needs them, and each is a way around a limit or deep into the kernel.

The filter is a small program for the kernel (classic BPF, see seccomp(2)), which bubblewrap installs. libseccomp would
supply the numbers, but its Python bindings are not on PyPI and bubblewrap is not linked against it; a test compares.
"""

from __future__ import annotations

import errno
import os
import platform
import struct

# What the calls would be used for, and their numbers on x86-64 and on 64-bit ARM.
_REFUSED = {
    # memory that belongs to no process, so that it is not counted
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    # namespaces, in which an unprivileged user regains privileges, for example to mount a disk without a limit
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    # lists of mounts, with this machine's paths
    "statmount": (457, 457),
    "listmount": (458, 458),
    # processors other than this job's, where other students' code runs
    "sched_setaffinity": (203, 122),
    # other processes' memory, and the parts of the kernel in which most vulnerabilities were found
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
}
# column above, AUDIT_ARCH_…, clone, socket
_MACHINES = {"x86_64": (0, 0xC000003E, 56, 41), "aarch64": (1, 0xC00000B7, 220, 198)}
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, INET, INET6, NETLINK; a network namespace does not confine AF_VSOCK, for example
_CLONE3 = 435
_NEW_NAMESPACES = 0x7E020080  # the flags CLONE_NEW… of clone
_FOREIGN = 0x40000000  # numbers of the x32 calls begin here

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # their offsets in the kernel's record


def program(machine: str = "") -> bytes:
    """The filter for a machine type; empty if we do not know its calls."""
    machine = machine or platform.machine()
    if machine not in _MACHINES:
        return b""
    column, architecture, clone, socket = _MACHINES[machine]
    refuse = _instruction(_RETURN, _ERROR | errno.EPERM)
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, architecture, 1, 0),
        refuse,
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, _FOREIGN, 0, 1),
        refuse,
        _instruction(_EQUAL, _CLONE3, 0, 1),  # a filter cannot read its flags; without it, the C library uses clone
        _instruction(_RETURN, _ERROR | errno.ENOSYS),
    ]
    for numbers in _REFUSED.values():
        code += [_instruction(_EQUAL, numbers[column], 0, 1), refuse]
    code += [_instruction(_EQUAL, socket, 0, 2 + 2 * len(_FAMILIES)), _instruction(_LOAD, _FIRST_ARGUMENT)]
    for family in _FAMILIES:
        code += [_instruction(_EQUAL, family, 0, 1), _instruction(_RETURN, _ALLOW)]
    code += [
        _instruction(_RETURN, _ERROR | errno.EAFNOSUPPORT),
        _instruction(_EQUAL, clone, 0, 3),
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        refuse,
        _instruction(_RETURN, _ALLOW),
    ]
    return b"".join(code)


def _instruction(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, value)


def as_file() -> int | None:
    """A descriptor from which the filter can be read once; None if there is no filter."""
    code = program()
    if not code:
        return None
    ours, theirs = os.pipe()
    with open(theirs, "wb") as file:
        file.write(code)
    return ours
