"""The system-call filter as a classic-BPF program that we assemble: an allow-list; everything else is refused.

Refused, among others: fork, exec, sockets to anywhere, kill (also by way of a pipe's owner), ptrace and its kin, mount,
namespaces, IPC, memfd, io_uring, bpf, keys, locks on files, and everything that changes a file by its name. Threads
stay possible. It is installed by `_inside.seccomp`; needs no library. Linux `seccomp(2)`, x86_64 and aarch64.
"""

from __future__ import annotations

import errno
import functools
import platform
import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from evosyn.sandbox._syscalls import ALLOWED, ASKED, IDLE, MACHINE, NEWEST, WRITING

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_LD, _JA, _JEQ, _JGE, _AND, _RET = 0x20, 0x05, 0x15, 0x35, 0x54, 0x06
_NR, _ARCH = 0, 4
_TOP = 1 << 32
_FAR = 255
"""A conditional jump reaches this far."""


class FilterLine(NamedTuple):
    """`struct sock_filter`."""

    code: int
    true: int
    false: int
    value: int


Block: TypeAlias = tuple[FilterLine, ...]
"""Instructions of which every path ends in an answer; they start with the value in question in the accumulator."""


def _answer(value: int) -> Block:
    return (FilterLine(_RET, 0, 0, value),)


def _fails(number: int) -> Block:
    return _answer(0x00050000 | number)


ALLOW, KILL, DONE = _answer(0x7FFF0000), _answer(0x80000000), _fails(0)
REFUSE = _fails(errno.EPERM)

_CLONE_THREAD, _CLONE_NEW = 0x00010000, 0x7E020080  # every CLONE_NEW* flag
_FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink: others are not divided by network namespaces, or for machines
_PR_SET_NAME, _PR_GET_NAME, _PR_SET_VMA = 15, 16, 0x53564D41
_F_GETLK, _F_DUPFD_CLOEXEC, _F_ADD_SEALS, _F_GET_SEALS = 5, 1030, 1033, 1034
_IOCTLS = (0x5421, 0x5450, 0x5451, 0x541B)  # FIONBIO, FIONCLEX, FIOCLEX, FIONREAD
_O_ACCMODE, _O_TRUNC = 3, 0x200
_AF_UNIX, _SOCK_STREAM, _SOCK_KIND, _MSG_OOB = 1, 1, 0xF, 1
_MAP_GROWSDOWN, _MAP_HUGETLB = 0x100, 0x40000
_FUTEX_CLOCK, _FUTEX_PRIVATE = 256, 128
_FUTEX_WAIT, _FUTEX_WAIT_BITSET = 0, 9
_FUTEX_PLAIN = (_FUTEX_WAIT, 1, 3, 4, 5, _FUTEX_WAIT_BITSET, 10)  # waiting and waking, in all forms but the PI ones


def for_machine() -> bytes:
    """The filter for the machine that we run on; empty where there is none for it."""
    machine = platform.machine()
    return build(machine) if machine in ARCHITECTURES else b""


@functools.cache
def build(machine: str) -> bytes:
    """The filter for one architecture: an array of `struct sock_filter`.

    Raises:
        KeyError: no such architecture here.
    """
    start, column = _start(machine), list(ARCHITECTURES).index(machine)
    rules = {
        **dict.fromkeys(ALLOWED, ALLOW),
        **dict.fromkeys(WRITING, _fails(errno.EROFS)),
        **dict.fromkeys(IDLE, DONE),
        **_RULES,
    }
    numbers = {name: pair[column] for name, pair in (ALLOWED | WRITING | IDLE | ASKED).items()}
    answers = {number: rules[name] for name, number in numbers.items() if number is not None}
    program = start + _search(_segments(answers, REFUSE, beyond=_fails(errno.ENOSYS)))
    return b"".join(struct.pack("<HBBI", *line) for line in program)


def _start(machine: str) -> Block:
    """Calls of another architecture end the program; the number of the call is left to be asked for."""
    return (
        FilterLine(_LD, 0, 0, _ARCH),
        FilterLine(_JEQ, 1, 0, ARCHITECTURES[machine]),
        *KILL,
        FilterLine(_LD, 0, 0, _NR),
    )


@functools.cache
def build_for_rooms(machine: str) -> bytes:
    """The filter for a room in which a whole system lives: everything but what is for the machine, and new namespaces.

    Raises:
        KeyError: no such architecture here.
    """
    start, column = _start(machine), list(ARCHITECTURES).index(machine)
    rules = {
        "clone": _one_of(0, [0], REFUSE, mask=_CLONE_NEW),
        "clone3": _fails(errno.ENOSYS),
        "prlimit64": _one_of(0, [0], REFUSE),  # the limits of another process would be a way to end a room's first one
        "socket": _one_of(0, _FAMILIES, _fails(errno.EAFNOSUPPORT)),
    }
    asked = {name: pair[column] for name, pair in ASKED.items() if name in rules} | {"socket": (41, 198)[column]}
    answers = {number: rules[name] for name, number in asked.items() if number is not None}
    answers |= {number: REFUSE for pair in MACHINE.values() if (number := pair[column]) is not None}
    program = start + _search(_segments(answers | {NEWEST: ALLOW}, ALLOW, beyond=_fails(errno.ENOSYS)))
    return b"".join(struct.pack("<HBBI", *line) for line in program)


def _segments(answers: Mapping[int, Block], otherwise: Block, beyond: Block | None = None) -> list[tuple[int, Block]]:
    """All values from 0 on as (first value, what is answered up to the next one).

    Args:
        beyond: the answer above the greatest of the values, where it is another one. A C library that finds a new
            call missing uses the old one; refused, it would give up. It also answers the x32 calls of x86_64.
    """
    found: list[tuple[int, Block]] = []

    def add(first: int, answer: Block) -> None:
        if not found or found[-1][1] != answer:
            found.append((first, answer))

    following = 0
    for value in sorted(answers):
        if value > following:
            add(following, otherwise)
        add(value, answers[value])
        following = value + 1
    if following < _TOP:
        add(following, otherwise if beyond is None else beyond)
    return found


def _search(segments: list[tuple[int, Block]]) -> Block:
    """A binary search for the accumulator's value, so that every call costs a handful of instructions."""
    if len(segments) == 1:
        return segments[0][1]
    middle = len(segments) // 2
    below, above = _search(segments[:middle]), _search(segments[middle:])
    value = segments[middle][0]
    if len(below) <= _FAR:
        return (FilterLine(_JGE, len(below), 0, value), *below, *above)
    return (FilterLine(_JGE, 0, 1, value), FilterLine(_JA, 0, 0, len(below)), *below, *above)


def _argument(index: int, mask: int | None = None) -> Block:
    """Load the lower half of an argument (all that are asked for are 32 bits wide), or some bits of it."""
    load = FilterLine(_LD, 0, 0, 16 + 8 * index)
    return (load,) if mask is None else (load, FilterLine(_AND, 0, 0, mask))


def _one_of(index: int, values: Iterable[int], otherwise: Block, *, mask: int | None = None) -> Block:
    return _argument(index, mask) + _search(_segments(dict.fromkeys(values, ALLOW), otherwise))


def _none_of(index: int, flags: int, otherwise: Block) -> Block:
    return _one_of(index, [0], otherwise, mask=flags)


def _opening(index: int) -> Block:
    """Not the mode without reading and writing, nor cutting a file that is opened for reading.

    Both cut a file without asking for a right that an old Landlock looks at.
    """
    read_only = _fails(errno.EROFS)
    found = {_O_TRUNC: read_only, _O_TRUNC | 3: read_only, 3: REFUSE}
    return _argument(index, _O_ACCMODE | _O_TRUNC) + _search(_segments(found, ALLOW))


def _clock() -> Block:
    """The clocks that everybody has; a negative number would be the processor time of any process."""
    return _one_of(0, range(16), _fails(errno.EINVAL))


def _futex() -> Block:
    """Those of this process. One that may be shared is a place in a file, the same in all jails that can read the file:
    waiting and waking there would be talking. Who waits so (the C library, for the end of a thread) is told to look
    again, as it has to do at any time."""
    own = {command | _FUTEX_PRIVATE: ALLOW for command in _FUTEX_PLAIN}
    found = _segments(own | {_FUTEX_WAIT: DONE, _FUTEX_WAIT_BITSET: DONE}, _fails(errno.ENOSYS))
    return _argument(1, 0xFFFFFFFF & ~_FUTEX_CLOCK) + _search(found)


_RULES: dict[str, Block] = {
    "open": _opening(1),
    "openat": _opening(2),
    # no pages of the machine's own pool of huge ones, no mapping that grows by itself
    "mmap": _none_of(3, _MAP_HUGETLB | _MAP_GROWSDOWN, _fails(errno.ENOMEM)),
    # not MERGEABLE (tells what other processes hold), COLD, PAGEOUT (the host's cache), nor what is newer
    "madvise": _one_of(2, (*range(12), *range(14, 20), 22, 23), _fails(errno.EINVAL)),
    "ioctl": _one_of(1, _IOCTLS, _fails(errno.ENOTTY)),
    # no locks on files that others use, and no owner or signal for a pipe: that would be a way to kill
    "fcntl": _one_of(1, (*range(_F_GETLK), _F_DUPFD_CLOEXEC, _F_ADD_SEALS, _F_GET_SEALS), REFUSE),
    "futex": _futex(),
    "clone": _one_of(0, [_CLONE_THREAD], REFUSE, mask=_CLONE_THREAD | _CLONE_NEW),
    "clone3": _fails(errno.ENOSYS),  # its flags cannot be seen from here; the C library then uses clone
    "prctl": _one_of(0, (_PR_SET_NAME, _PR_GET_NAME, _PR_SET_VMA), REFUSE),
    "prlimit64": _one_of(0, [0], REFUSE),
    # a connected stream pair: asyncio wakes itself with one, it leads nowhere else
    "socketpair": _argument(0)
    + _search(_segments({_AF_UNIX: _one_of(1, [_SOCK_STREAM], REFUSE, mask=_SOCK_KIND)}, REFUSE)),
    "sendto": _none_of(3, _MSG_OOB, _fails(errno.EOPNOTSUPP)),
    "recvfrom": _none_of(3, _MSG_OOB, _fails(errno.EOPNOTSUPP)),
    "clock_gettime": _clock(),
    "clock_getres": _clock(),
    "clock_nanosleep": _clock(),
}
