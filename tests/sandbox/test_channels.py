"""Ways by which one program could tell another something: through what both jails can see, or what is left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from evosyn.jobs import Call, CallsJob, HarnessJob, Limits, Status, StdioJob
from evosyn.ports import Sandbox
from evosyn.sandbox import _jail, open_sandbox
from evosyn.sandbox._inside.child import KEPT

KINDS = ["bare", *(["bwrap"] if _jail.bwrap_path() else [])]


@pytest.fixture(scope="module", params=KINDS)
def jails(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "bare":
            patch.setattr(_jail, "bwrap_path", lambda: None)
        with open_sandbox(workers=2, allow_weak=True, packages=("numpy",)) as opened:
            yield opened


SHARED = """
import ctypes, os, platform, threading, time

class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

FUTEX = {"x86_64": 202, "aarch64": 98}[platform.machine()]
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
MAP = MAP_KIND
page = libc.mmap(None, ctypes.c_size_t(4096), 1, MAP, os.open(os.__file__, os.O_RDONLY), ctypes.c_long(0))

def futex(place, command, value, limit=None):
    limit = None if limit is None else ctypes.byref(limit)
    return libc.syscall(FUTEX, ctypes.c_void_p(page + 4 * place), command, ctypes.c_uint32(value), limit, None, -1)

def wait(place, command):
    end = time.monotonic() + 0.8
    while time.monotonic() < end:  # who is told to look again does
        futex(place, command, ctypes.c_uint32.from_address(page + 4 * place).value, Time(0, 50_000_000))
        time.sleep(0.001)

def send(bits, command):
    threads = [threading.Thread(target=wait, args=(place, command)) for place, bit in enumerate(bits) if bit]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

def hear(count, command):
    end, found = time.monotonic() + 0.6, [0] * count
    while time.monotonic() < end:
        found = [max(old, futex(place, command, 64)) for place, old in enumerate(found)]
        time.sleep(0.005)
    return found
"""
BITS = [1, 0, 1, 1, 0, 0, 1, 0]


@pytest.mark.parametrize(("waits", "wakes"), [(0, 1), (9, 10)], ids=["plain", "bitset"])
@pytest.mark.parametrize("kind", [1, 2], ids=["shared", "private-mapping"])
def test_two_programs_at_once_do_not_meet_at_a_file_that_both_may_read(
    jails: Sandbox, kind: int, waits: int, wakes: int
) -> None:
    program, limits = SHARED.replace("MAP_KIND", str(kind)), Limits(cpu_s=4.0)
    jails.run([CallsJob("def f(x): return x", "f", (Call((1,)),))] * 2)
    (said,), (heard,) = jails.run(
        [
            CallsJob(program, "send", (Call((BITS, waits)),), limits),
            CallsJob(program, "hear", (Call((len(BITS), wakes)),), limits),
        ]
    )
    assert said.status is heard.status is Status.OK
    assert max(heard.value) <= 0


THREADS = """
import threading
def f(count):
    go, told = threading.Event(), []
    threads = [threading.Thread(target=lambda n=n: go.wait() and told.append(n)) for n in range(count)]
    for thread in threads: thread.start()
    go.set()
    for thread in threads: thread.join()
    return sorted(told) == list(range(count))
"""


def test_threads_of_one_program_wait_for_each_other_as_ever(jails: Sandbox) -> None:
    ((outcome,),) = jails.run([CallsJob(THREADS, "f", (Call((20,)),))])
    assert outcome.value is True


LEAVES = (
    "import fcntl\ndef f(flags):\n    fcntl.fcntl(2, fcntl.F_SETFL, flags)\n    return fcntl.fcntl(2, fcntl.F_GETFL)"
)
FINDS = "import fcntl\ndef f(x):\n    return fcntl.fcntl(2, fcntl.F_GETFL)"


def test_flags_of_the_descriptors_that_all_share_are_not_left_to_who_comes_later(jails: Sandbox) -> None:
    found = jails.run([CallsJob(FINDS, "f", (Call((0,)),))] * 2)
    before = {one.value for (one,) in found}
    wanted = os.O_NONBLOCK | os.O_APPEND
    left = jails.run([CallsJob(LEAVES, "f", (Call((wanted,)),))] * 2)
    assert all(one.value & wanted for (one,) in left)
    after = jails.run(
        [CallsJob(FINDS, "f", (Call((0,)),)), StdioJob("import fcntl; print(fcntl.fcntl(2, 3))", ("",))] * 2
    )
    assert len(before) == 1 and {int(one.value) for (one,) in after} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="for an ordinary user the limit depends on what else it has running")
def test_threads_of_a_program_leave_room_for_those_that_start_programs(jails: Sandbox) -> None:
    """Without bubblewrap and root the kernel counts those of all workers together."""
    program = "import resource\ndef f(x): return resource.getrlimit(resource.RLIMIT_NPROC)[1]"
    found = {one.value for (one,) in jails.run([CallsJob(program, "f", (Call((1,)),))] * 4)}
    assert found == {_jail.TASKS - KEPT}


MANY = """
import threading
def f(count):
    go = threading.Event()
    for _ in range(count):
        threading.Thread(target=go.wait, daemon=True).start()
    go.set()
    return count
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has one number")
def test_the_tasks_of_two_sandboxes_are_not_counted_together(jails: Sandbox) -> None:
    asks = CallsJob("import os\ndef f(x):\n import time; time.sleep(x)\n return os.getuid()", "f", (Call((0.2,)),))
    with open_sandbox(workers=2, allow_weak=True) as other:
        found = [one.value for sandbox in (jails, other) for (one,) in sandbox.run([asks] * 2)]
    assert len(set(found)) == 4


def test_how_many_threads_a_program_may_have_does_not_depend_on_what_lives_beside_it(jails: Sandbox) -> None:
    assert jails.run([CallsJob("def f(x): return x", "f", (Call((1,)),))] * 2)
    with open_sandbox(workers=1, allow_weak=True, packages=("numpy",)) as sandbox:
        job = CallsJob(MANY, "f", (Call((56,)),))
        assert sandbox.run([job])[0][0].value == 56
        held = [sandbox.share({"c": number}) for number in range(16)]
        for number, key in enumerate(held):
            harness = f"def main(program, context, argument): return {number % 4}"
            sandbox.run([HarnessJob(harness, "", key, 1)])
            sandbox.run([HarnessJob(harness, "", key, 1)])
        assert sandbox.run([job])[0][0].value == 56


@pytest.mark.parametrize("limits", [Limits(memory_mb=128), Limits(cpu_s=0.1)], ids=["memory", "time"])
def test_a_job_beside_a_context_ends_as_it_would_if_it_were_not_the_first(limits: Limits) -> None:
    context = [[] for _ in range(1_300_000)]
    with open_sandbox(workers=1, allow_weak=True, packages=("numpy",)) as sandbox:
        key = sandbox.share({"c": context})
        job = HarnessJob("def main(program, context, argument): return len(context['c'])", "", key, 1, limits)
        found = [sandbox.run([job])[0][0] for _ in range(3)]
    assert [one.value for one in found] == [len(context)] * 3
