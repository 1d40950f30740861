"""The system-call filter, decided by an interpreter of its instructions for every architecture, call and argument."""

from __future__ import annotations

import errno
import functools
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.sandbox import _filter, _syscalls

ALLOW, KILL, FAILS = 0x7FFF0000, 0x80000000, 0x00050000
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
ALL = _syscalls.ALLOWED | _syscalls.WRITING | _syscalls.IDLE | _syscalls.ASKED
machines = pytest.mark.parametrize("machine", _filter.ARCHITECTURES)


class Line(NamedTuple):
    code: int
    true: int
    false: int
    value: int


@functools.cache
def lines(machine: str) -> list[Line]:
    return [Line(*found) for found in struct.iter_unpack("<HBBI", _filter.build(machine))]


def decide(program: Sequence[Line], number: int, arguments: Sequence[int] = (), arch: int | None = None) -> int:
    """What the kernel would do: `seccomp_data` through the program, as bpf(4) and seccomp(2) describe it."""
    if arch is None:
        arch = next(line.value for line in program if line.code == 0x15)
    data = struct.pack("<IIQ6Q", number, arch, 0, *(list(arguments) + [0] * 6)[:6])
    place = accumulator = 0
    while True:
        line = program[place]
        place += 1
        if line.code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, line.value)
        elif line.code == 0x54:
            accumulator &= line.value
        elif line.code == 0x05:
            place += line.value
        elif line.code in (0x15, 0x35):
            met = accumulator == line.value if line.code == 0x15 else accumulator >= line.value
            place += line.true if met else line.false
        elif line.code == 0x06:
            return line.value
        else:
            raise AssertionError(f"no such instruction: {line}")


def answer(machine: str, name: str, *arguments: int) -> str:
    number = ALL[name][list(_filter.ARCHITECTURES).index(machine)]
    assert number is not None, name
    return word(decide(lines(machine), number, arguments))


def word(value: int) -> str:
    if value == ALLOW:
        return "allow"
    if value == KILL:
        return "kill"
    assert value & 0xFFFF0000 == FAILS, hex(value)
    return errno.errorcode.get(value & 0xFFFF, "done")


@machines
def test_the_kernel_would_accept_the_program(machine: str) -> None:
    program = lines(machine)
    assert 0 < len(program) <= 4096
    for place, line in enumerate(program):
        assert line.code in (0x20, 0x54, 0x05, 0x15, 0x35, 0x06)
        if line.code == 0x20:
            assert line.value % 4 == 0 and line.value < 64
        if line.code in (0x15, 0x35):
            assert place + 1 + max(line.true, line.false) < len(program)
        if line.code == 0x05:
            assert place + 1 + line.value < len(program)
    assert program[-1].code == 0x06


@machines
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no {HEADERS[machine]}")
    text = HEADERS[machine].read_text()
    theirs = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)}
    theirs["newfstatat"] = theirs.get("newfstatat", theirs.get("fstatat", -1))
    column = list(_filter.ARCHITECTURES).index(machine)
    assert {name: pair[column] for name, pair in ALL.items()} == {name: theirs.get(name) for name in ALL}


def test_every_call_stands_in_one_list_and_every_rule_belongs_to_a_call() -> None:
    lists = (_syscalls.ALLOWED, _syscalls.WRITING, _syscalls.IDLE, _syscalls.ASKED)
    assert sum(map(len, lists)) == len(ALL)
    assert set(_filter._RULES) == set(_syscalls.ASKED)


@machines
@given(
    number=st.integers(0, 2**32 - 1) | st.integers(0, 600), arguments=st.lists(st.integers(0, 2**64 - 1), max_size=6)
)
def test_every_call_gets_the_answer_of_its_list_whatever_its_arguments(
    machine: str, number: int, arguments: list[int]
) -> None:
    column = list(_filter.ARCHITECTURES).index(machine)
    names = [name for name, pair in ALL.items() if pair[column] == number]
    found = word(decide(lines(machine), number, arguments))
    if not names:
        newest = max(pair[column] or 0 for pair in ALL.values())
        assert found == ("ENOSYS" if number > newest else "EPERM")
    elif names[0] in _syscalls.ALLOWED:
        assert found == "allow"
    elif names[0] in _syscalls.WRITING:
        assert found == "EROFS"
    elif names[0] in _syscalls.IDLE:
        assert found == "done"


@machines
def test_the_numbers_of_another_architecture_are_not_looked_at(machine: str) -> None:
    program = lines(machine)
    others = [
        value for value in (*_filter.ARCHITECTURES.values(), 0x40000003, 0x40000028, 0) if value != program[1].value
    ]
    for arch in others:
        for number in range(600):
            assert word(decide(program, number, arch=arch)) == "kill"


def test_calls_of_the_x32_kind_do_not_exist() -> None:
    program = lines("x86_64")
    assert {word(decide(program, 0x40000000 + number)) for number in range(600)} == {"ENOSYS"}


FORBIDDEN = """
fork vfork execve execveat kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal pidfd_open pidfd_getfd
ptrace process_vm_readv process_vm_writev process_madvise kcmp memfd_create memfd_secret userfaultfd perf_event_open
keyctl add_key request_key io_uring_setup io_uring_enter io_uring_register bpf seccomp unshare setns mount umount2
pivot_root chroot socket connect bind listen accept accept4 sendmsg sendmmsg recvmsg recvmmsg shmget shmat shmctl
msgget semget mq_open setrlimit setpriority sched_setaffinity sched_setscheduler sched_setattr ioprio_set setuid setgid
setresuid setresgid setgroups setsid setpgid capset personality modify_ldt arch_prctl iopl ioperm reboot kexec_load
init_module finit_module delete_module swapon swapoff sethostname settimeofday clock_settime clock_adjtime adjtimex
inotify_init1 fanotify_init flock mlock mlockall mlock2 mbind move_pages migrate_pages splice tee vmsplice sendfile
copy_file_range sync syncfs sync_file_range name_to_handle_at open_by_handle_at openat2 mincore cachestat
timer_create signalfd4 timerfd_create acct quotactl lookup_dcookie syslog pkey_alloc remap_file_pages membarrier
landlock_create_ruleset get_robust_list statmount listmount
"""


@machines
def test_what_reaches_beyond_the_process_is_refused(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no {HEADERS[machine]}")
    text = HEADERS[machine].read_text()
    theirs = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)}
    found = {name: word(decide(lines(machine), theirs[name])) for name in FORBIDDEN.split() if name in theirs}
    assert len(found) > 100
    assert {name: said for name, said in found.items() if said not in ("EPERM", "ENOSYS")} == {}


RDONLY, WRONLY, RDWR, CREAT, TRUNC, CLOEXEC = 0, 1, 2, 0o100, 0o1000, 0o2000000
DECISIONS = [
    ("openat", (0, 0, RDONLY | CLOEXEC), "allow"),
    ("openat", (0, 0, WRONLY | CREAT | TRUNC | CLOEXEC), "allow"),  # /dev/null; of all else Landlock says no
    ("openat", (0, 0, RDWR | TRUNC), "allow"),
    ("openat", (0, 0, RDONLY | TRUNC), "EROFS"),
    ("openat", (0, 0, RDWR | WRONLY | TRUNC), "EROFS"),
    ("openat", (0, 0, RDWR | WRONLY), "EPERM"),
    ("ioctl", (3, 0x5421), "allow"),
    ("ioctl", (3, 0x5451), "allow"),
    ("ioctl", (3, 0x5450), "allow"),
    ("ioctl", (3, 0x541B), "allow"),
    ("ioctl", (3, 0x5401), "ENOTTY"),  # TCGETS: isatty
    ("ioctl", (3, 0x5412), "ENOTTY"),  # TIOCSTI
    ("ioctl", (3, 0x5413), "ENOTTY"),
    ("ioctl", (3, 0x1_0000_5401), "ENOTTY"),
    ("fcntl", (3, 0), "allow"),
    ("fcntl", (3, 4, 0o4000), "allow"),  # F_SETFL, O_NONBLOCK
    *((("fcntl"), (3, command), "EPERM") for command in (5, 6, 7, 8, 10, 15, 36, 37, 38, 1024, 1026, 1031, 1036)),
    ("fcntl", (3, 1030), "allow"),
    ("fcntl", (3, 1033), "allow"),
    ("fcntl", (3, 1034), "allow"),
    ("clone", (0x3D0F00,), "allow"),  # a thread, as the C library makes one
    ("clone", (0x1200011,), "EPERM"),  # fork
    ("clone", (0x4111,), "EPERM"),  # vfork
    *(("clone", (0x3D0F00 | 1 << bit,), "EPERM") for bit in (7, 17, 25, 26, 27, 28, 29, 30)),
    ("clone3", (1, 88), "ENOSYS"),
    ("prctl", (15,), "allow"),
    ("prctl", (16,), "allow"),
    ("prctl", (0x53564D41,), "allow"),
    *(("prctl", (option,), "EPERM") for option in (1, 2, 4, 8, 22, 23, 24, 26, 28, 35, 38, 47, 53, 59, 67, 0x59616D61)),
    ("prlimit64", (0, 7), "allow"),
    ("prlimit64", (1, 7), "EPERM"),
    ("socketpair", (1, 1, 0), "allow"),
    ("socketpair", (1, 1 | 0o2000000 | 0o4000, 0), "allow"),
    ("socketpair", (1, 2, 0), "EPERM"),
    ("socketpair", (1, 5, 0), "EPERM"),
    ("socketpair", (2, 1, 0), "EPERM"),
    ("sendto", (3, 0, 0, 0x4000), "allow"),
    ("sendto", (3, 0, 0, 1), "ENOTSUP"),
    ("recvfrom", (3, 0, 0, 0x40), "allow"),
    ("recvfrom", (3, 0, 0, 0x41), "ENOTSUP"),
    ("mmap", (0, 4096, 3, 0x22), "allow"),
    ("mmap", (0, 4096, 3, 0x21), "allow"),
    ("mmap", (0, 4096, 5, 0x20022), "allow"),  # a thread's stack
    ("mmap", (0, 2 << 20, 3, 0x40022), "ENOMEM"),
    ("mmap", (0, 4096, 3, 0x122), "ENOMEM"),
    ("madvise", (0, 0, 4), "allow"),
    ("madvise", (0, 0, 8), "allow"),
    ("madvise", (0, 0, 14), "allow"),
    *(("madvise", (0, 0, advice), "EINVAL") for advice in (12, 20, 21, 25, 100, 101)),
    ("futex", (0, 128), "allow"),
    ("futex", (0, 1 | 128), "allow"),
    ("futex", (0, 9 | 128 | 256), "allow"),
    *(("futex", (0, command), "done") for command in (0, 9, 9 | 256)),  # shared: nobody waits there
    *(("futex", (0, command), "ENOSYS") for command in (1, 3, 4, 5, 6, 10, 1 | 256)),
    *(("futex", (0, command | 128), "ENOSYS") for command in (6, 7, 8, 11, 12, 13)),
    *(("clock_gettime", (clock,), "allow") for clock in range(12)),
    ("clock_gettime", (0xFFFFFFFE,), "EINVAL"),
    ("clock_gettime", ((~1234 << 3) & 0xFFFFFFFF | 2,), "EINVAL"),
    ("clock_nanosleep", (1,), "allow"),
    ("clock_nanosleep", ((~1234 << 3) & 0xFFFFFFFF | 2,), "EINVAL"),
]


@machines
@pytest.mark.parametrize(("name", "arguments", "said"), DECISIONS, ids=lambda value: str(value).replace(" ", ""))
def test_a_call_is_judged_by_its_arguments(machine: str, name: str, arguments: tuple[int, ...], said: str) -> None:
    if ALL[name][list(_filter.ARCHITECTURES).index(machine)] is not None:
        assert answer(machine, name, *arguments) == said


@machines
@given(high=st.integers(1, 2**32 - 1))
def test_bits_above_an_argument_do_not_open_a_way(machine: str, high: int) -> None:
    for name, arguments, said in DECISIONS:
        if ALL[name][list(_filter.ARCHITECTURES).index(machine)] is not None and said != "allow":
            assert answer(machine, name, *(value | high << 32 for value in arguments)) == said


def test_a_machine_that_we_have_no_filter_for_is_named() -> None:
    with pytest.raises(KeyError, match="riscv64"):
        _filter.build("riscv64")
