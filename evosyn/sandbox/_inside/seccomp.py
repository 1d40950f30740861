"""A system-call filter as a classic-BPF program made by us: an allow-list; everything else answers EPERM.

Refused, among others: fork, exec, sockets to anywhere, kill (also by way of a pipe's owner), ptrace, mount, namespaces,
IPC, memfd, io_uring, bpf and keys. Threads stay possible. Needs no library. Linux `seccomp(2)`, x86_64 and aarch64.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Names as in asm-generic/unistd.h; numbers (x86_64, aarch64), None where the architecture lacks the call.
_ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, None),
    "close": (3, 57),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "poll": (7, None),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "readv": (19, 65),
    "writev": (20, 66),
    "access": (21, None),
    "pipe": (22, None),
    "select": (23, None),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "msync": (26, 227),
    "madvise": (28, 233),
    "dup": (32, 23),
    "dup2": (33, None),
    "pause": (34, None),
    "nanosleep": (35, 101),
    "getitimer": (36, 102),
    "alarm": (37, None),
    "setitimer": (38, 103),
    "getpid": (39, 172),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "shutdown": (48, 210),
    "exit": (60, 93),
    "uname": (63, 160),
    "flock": (73, 32),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "getdents": (78, None),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "rename": (82, None),
    "mkdir": (83, None),
    "rmdir": (84, None),
    "unlink": (87, None),
    "readlink": (89, None),
    "umask": (95, 166),
    "gettimeofday": (96, 169),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "getppid": (110, 173),
    "getpgrp": (111, None),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "rt_sigpending": (127, 136),
    "sigaltstack": (131, 132),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "gettid": (186, 178),
    "time": (201, None),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "epoll_create": (213, None),
    "getdents64": (217, 61),
    "set_tid_address": (218, 96),
    "fadvise64": (221, 223),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "epoll_wait": (232, None),
    "epoll_ctl": (233, 21),
    "openat": (257, 56),
    "mkdirat": (258, 34),
    "newfstatat": (262, 79),
    "unlinkat": (263, 35),
    "renameat": (264, 38),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "pselect6": (270, 72),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "epoll_pwait": (281, 22),
    "eventfd2": (290, 19),
    "epoll_create1": (291, 20),
    "dup3": (292, 24),
    "pipe2": (293, 59),
    "getcpu": (309, 168),
    "renameat2": (316, 276),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "statx": (332, 291),
    "rseq": (334, 293),
    "faccessat2": (439, 439),
}
_CLONE, _CLONE3, _IOCTL, _PRCTL, _PRLIMIT, _SOCKETPAIR, _FCNTL = (
    (56, 220),
    (435, 435),
    (16, 29),
    (157, 167),
    (302, 261),
    (53, 199),
    (72, 25),
)

_CLONE_THREAD = 0x00010000
_CLONE_NEW = 0x7E020080  # every CLONE_NEW* flag
_PR_SET_NAME, _PR_SET_VMA = 15, 0x53564D41
_F_SETOWN, _F_DUPFD_CLOEXEC, _F_ADD_SEALS, _F_GET_SEALS = 8, 1030, 1033, 1034

_LD, _JEQ, _JSET, _JGE, _AND, _RET = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NR, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


def supported() -> bool:
    return platform.machine() in ARCHITECTURES


def build(machine: str) -> bytes:
    """The filter for one architecture: an array of `struct sock_filter`.

    Raises:
        KeyError: no such architecture here.
    """
    column = list(ARCHITECTURES).index(machine)
    code: list[tuple[int, int, int, int]] = [
        (_LD, 0, 0, _ARCH),
        (_JEQ, 1, 0, ARCHITECTURES[machine]),
        (_RET, 0, 0, _KILL),
        (_LD, 0, 0, _NR),
    ]
    if machine == "x86_64":
        code += [(_JGE, 0, 1, 0x40000000), (_RET, 0, 0, _ERRNO | errno.ENOSYS)]  # x32 calls
    for numbers, rules in (
        (_CLONE, [(_LD, 0, 0, _ARG0), (_JSET, 0, 2, _CLONE_THREAD), (_JSET, 1, 0, _CLONE_NEW), (_RET, 0, 0, _ALLOW)]),
        (_PRCTL, [(_LD, 0, 0, _ARG0), (_JEQ, 1, 0, _PR_SET_NAME), (_JEQ, 0, 1, _PR_SET_VMA), (_RET, 0, 0, _ALLOW)]),
        (_PRLIMIT, [(_LD, 0, 0, _ARG0), (_JEQ, 0, 1, 0), (_RET, 0, 0, _ALLOW)]),
        (
            _FCNTL,  # an owner and a signal for a pipe would be a way to kill: F_SETOWN, F_SETSIG
            [
                (_LD, 0, 0, _ARG1),
                (_JGE, 0, 3, _F_SETOWN),
                (_JEQ, 2, 0, _F_DUPFD_CLOEXEC),
                (_JEQ, 1, 0, _F_ADD_SEALS),
                (_JEQ, 0, 1, _F_GET_SEALS),
                (_RET, 0, 0, _ALLOW),
            ],
        ),
        (
            _SOCKETPAIR,  # a connected AF_UNIX stream pair: asyncio wakes itself with one, it leads nowhere else
            [
                (_LD, 0, 0, _ARG0),
                (_JEQ, 0, 4, 1),
                (_LD, 0, 0, _ARG1),
                (_AND, 0, 0, 0xF),
                (_JEQ, 0, 1, 1),
                (_RET, 0, 0, _ALLOW),
            ],
        ),
    ):
        block = [*rules, (_RET, 0, 0, _ERRNO | errno.EPERM)]
        code += [(_JEQ, 0, len(block), numbers[column]), *block]
    code += [(_JEQ, 0, 1, _CLONE3[column]), (_RET, 0, 0, _ERRNO | errno.ENOSYS)]
    code += [(_JEQ, 0, 1, _IOCTL[column]), (_RET, 0, 0, _ERRNO | errno.ENOTTY)]
    numbers_allowed = [pair[column] for pair in _ALLOWED.values()]
    code += _allowed(sorted(number for number in numbers_allowed if number is not None))
    return b"".join(struct.pack("<HBBI", *line) for line in code)


def _allowed(numbers: list[int]) -> list[tuple[int, int, int, int]]:
    """A binary search over ranges of allowed numbers, so that every call costs a handful of instructions."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1] = (ranges[-1][0], number + 1)
        else:
            ranges.append((number, number + 1))
    return _search(ranges)


def _search(ranges: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    if len(ranges) == 1:
        low, high = ranges[0]
        return [
            (_JGE, 0, 2, low),
            (_JGE, 1, 0, high),
            (_RET, 0, 0, _ALLOW),
            (_RET, 0, 0, _ERRNO | errno.EPERM),
        ]
    middle = len(ranges) // 2
    left, right = _search(ranges[:middle]), _search(ranges[middle:])
    # jumps reach 255 instructions; the left half is far shorter than that
    return [(_JGE, len(left), 0, ranges[middle][0]), *left, *right]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class Filter:
    """A filter ready to be installed many times; `install` costs one system call."""

    def __init__(self, program: bytes) -> None:
        self._bytes = program
        self._program = _Program(len(program) // 8, program)
        self._pointer = ctypes.byref(self._program)
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)

    def install(self) -> bool:
        return bool(self._prctl(_PR_SET_SECCOMP, _MODE_FILTER, self._pointer, 0, 0) == 0)


def no_new_privileges() -> bool:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return bool(prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
