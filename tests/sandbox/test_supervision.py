"""What the supervisor's side holds against the processes that it watches, one rule a test.

Each of these stands behind another defence, so that no verdict shows when it is gone.
"""

from __future__ import annotations

import _socket
import os
import signal
import threading
import time
from types import SimpleNamespace
from typing import cast

import pytest
from hostile_suite.host import descendants

from evosyn.jobs import Call, CallsJob, ItemOutcome, Limits, Protection, Status, StdioJob
from evosyn.ports import Sandbox
from evosyn.sandbox import _jail, open_sandbox
from evosyn.sandbox._inside import remote, results, wire
from evosyn.sandbox._inside.alarm import WAITING, Alarm, JobLimits
from evosyn.sandbox._inside.forker import Boot, Server
from evosyn.sandbox._inside.peer import NoValue, Peer
from evosyn.sandbox._inside.remote import GRACE_S, Remote
from evosyn.sandbox._pool import MAX_ATTEMPTS
from evosyn.sandbox.local import LocalSandbox

AMPLE = Limits(cpu_s=20.0, wall_s=300.0, budget_s=300.0)


def calls(sandbox: Sandbox, program: str, *given: Call, limits: Limits = AMPLE) -> tuple[ItemOutcome, ...]:
    (outcomes,) = sandbox.run([CallsJob(program, "f", given, limits)])
    return outcomes


# ------------------------------------------------------------------------------------------------ what is charged
LIES = """
import sys, time
sys.modules["evosyn.sandbox._inside.alarm"].Alarm.stop = lambda *_: 0.0
def work():
    end = time.process_time() + 0.6
    while time.process_time() < end: pass
"""


def test_a_program_that_hides_its_seconds_is_charged_what_its_process_computed(sandbox: Sandbox) -> None:
    (outcome,) = calls(sandbox, f"{LIES}\ndef f(x): return work()", Call((1,)))
    assert outcome.status is Status.OK
    assert outcome.seconds >= 0.6


@pytest.mark.parametrize("pause_s", [1e9, 0.01, 0.003])
def test_an_item_that_only_sleeps_is_over_its_time_whatever_its_naps(pause_s: float, sandbox: Sandbox) -> None:
    program = f"import time\ndef f():\n    while True: time.sleep({pause_s})"
    began = time.monotonic()
    (outcome,) = calls(sandbox, program, Call(), limits=Limits(cpu_s=1.0, wall_s=60.0, budget_s=60.0))
    assert outcome.status is Status.TIMEOUT
    assert time.monotonic() - began < 30.0


@pytest.mark.parametrize(("computed_s", "naps", "waits"), [(0.03, 40, True), (0.03, 10, False), (0.06, 900, False)])
def test_who_computes_little_for_the_load_does_not_wait(computed_s: float, naps: int, waits: bool) -> None:
    alarm = Alarm.__new__(Alarm)
    alarm.limits = JobLimits(1.0, 60.0, 60.0, 0, 0)
    assert alarm._waited(computed_s, naps) is waits


def test_a_machine_that_stands_still_is_nobodys_waiting() -> None:
    """All of the jail is stopped for longer than a program may wait: it cannot tell that from a busy host."""
    program = "import time\ndef f():\n    time.sleep(0.6)\n    return 7"

    def stand_still() -> None:
        time.sleep(0.2)
        below = descendants({os.getpid()})
        for number, pause_s in ((signal.SIGSTOP, 2.5), (signal.SIGCONT, 0.0)):
            for pid in below:
                os.kill(pid, number)
            time.sleep(pause_s)

    with open_sandbox("local", workers=1) as sandbox:
        calls(sandbox, program, Call())  # it has started
        thread = threading.Thread(target=stand_still)
        thread.start()
        (outcome,) = calls(sandbox, program, Call(), limits=Limits(cpu_s=1.0, wall_s=60.0, budget_s=60.0))
        thread.join()
    assert (outcome.status, outcome.value) == (Status.OK, 7)


@pytest.mark.parametrize(
    ("claimed", "computed", "charged"),
    [
        ((0.1, 0.2), 3.0, 3.0),  # it says a tenth of it
        ((0.0,), results.LIE_S + 0.1, results.LIE_S + 0.1),
        ((1.0, 1.0), 2.4, 2.0),  # what starting and ending take is nobody's lie
        ((5.0,), 1.0, 5.0),  # it waited
    ],
)
def test_what_a_child_did_not_own_up_to_is_charged_to_its_last_item(
    claimed: tuple[float, ...], computed: float, charged: float
) -> None:
    made = [wire.Record(wire.OK, seconds, b"N") for seconds in claimed]
    found = results.charged(made, computed)
    assert sum(record.seconds for record in found) == pytest.approx(charged)
    assert [record.seconds for record in found[:-1]] == list(claimed[:-1])


@pytest.mark.parametrize(
    ("claimed", "charged"), [((1e5, 0.1), (3.0, 0.0)), ((0.5, 1e5), (0.5, 2.5)), ((1.0, 2.0), (1.0, 2.0))]
)
def test_no_more_is_charged_than_was_seen(claimed: tuple[float, ...], charged: tuple[float, ...]) -> None:
    made = [wire.Record(wire.OK, seconds, b"N") for seconds in claimed]
    found = results.believed(made, 1.0, 2.0 * WAITING, 1.0)
    assert [record.seconds for record in found] == pytest.approx(charged)


@pytest.mark.parametrize(
    ("claimed", "lived_s", "is_believed"), [(0.0, 9.0, False), (9.0, 0.5, False), (0.2, 1.0, True)]
)
def test_whose_time_is_up_has_used_or_waited_for_it(claimed: float, lived_s: float, is_believed: bool) -> None:
    (found,) = results.believed([wire.Record(wire.TIMEOUT, claimed, b"")], 0.0, lived_s, 1.0)
    assert found.code == (wire.TIMEOUT if is_believed else wire.KILLED)


# ----------------------------------------------------------------------------------------------- when time is up
RECORD = wire.record(wire.OK, 0.0, b"N")


@pytest.mark.parametrize(
    ("written", "progress"),
    [
        ((RECORD[:9], RECORD[9:], RECORD + RECORD[:9]), (False, True, True)),
        ((b"\0", b"\0" * 40, b"\1"), (False, True, False)),
        ((b"\xff" * 40, RECORD), (False, False)),  # nothing behind what is no record
        ((wire.record(wire.INFRA, 0.0, b""), RECORD), (False, False)),
        ((wire.RECORD.pack(wire.OK, 0.0, 1000), b"x" * 999, b"x"), (False, False, True)),
        ((RECORD, RECORD, RECORD, RECORD), (True, True, False, False)),  # the third is the last, and an end
    ],
)
def test_only_whole_records_that_are_its_writers_are_progress(
    written: tuple[bytes, ...], progress: tuple[bool, ...]
) -> None:
    handle = remote.new_file()
    found = results.Results(handle, 3)
    try:
        for data, grown in zip(written, progress, strict=True):
            os.write(handle, data)
            assert found.progressed() is grown
            assert not found.progressed()
    finally:
        os.close(handle)


SPOILS = """
import os, signal, struct
def f():
    for number in (signal.SIGPROF, signal.SIGALRM): signal.signal(number, signal.SIG_IGN)
    while True:
        for fd in range(3, 64):
            try: os.write(fd, {data!r})
            except OSError: pass
        sum(range(100_000))
"""


@pytest.mark.parametrize("data", [b"", b"\xff", b"\0", wire.record(wire.OK, 0.0, b"")], ids=repr)
def test_what_a_program_writes_into_its_result_file_gives_it_no_time(data: bytes, sandbox: Sandbox) -> None:
    limits = Limits(cpu_s=1.0, wall_s=300.0, budget_s=20.0)
    (outcome,) = calls(sandbox, SPOILS.format(data=data), Call(), limits=limits)
    assert outcome.seconds < 5.0


class Watch:
    """A `_Clock` of children beside a clock that the test sets."""

    def __init__(self, patch: pytest.MonkeyPatch, limits: JobLimits, left_s: float = 1000.0) -> None:
        self.now = 100.0
        patch.setattr(remote, "time", SimpleNamespace(monotonic=lambda: self.now))
        self._clock = remote._Clock(limits, left_s)

    def over_after(self, share: float | None, *, most_s: float = 60.0, grows_s: float = 1e9) -> float | None:
        """Seconds until children are over their time that compute for this share of it; None where they are not.

        Args:
            share: None where nobody can tell.
            grows_s: there is progress at this interval.
        """
        began, grown = self.now, self.now
        while self.now < began + most_s:
            self.now += 0.1
            progress = self.now - grown >= grows_s
            grown = self.now if progress else grown
            if self._clock.is_over(None if share is None else share * (self.now - began), progress):
                return self.now - began
        return None


LIMITS = JobLimits(2.0, 20.0, 1000.0, 512, 64)


LIMIT_S = LIMITS.cpu_s + GRACE_S


@pytest.mark.parametrize(
    ("share", "seconds"),
    [
        (0.0, LIMIT_S),  # it only waits
        (0.001, LIMIT_S),
        (0.008, LIMIT_S),  # so does one whose alarm rings on
        (1.0, LIMIT_S),
        (2.0, LIMIT_S / 2),  # two threads
        (0.5, LIMIT_S * 2),
        (0.02, LIMITS.wall_s + GRACE_S),  # it goes on, slowly
        (None, LIMIT_S * WAITING),
    ],
)
def test_children_are_over_their_time_when_they_computed_or_only_waited_for_it(
    share: float | None, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Watch(monkeypatch, LIMITS).over_after(share) == pytest.approx(seconds, abs=0.15)


def test_children_do_not_wait_while_whoever_watches_them_gets_no_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch, LIMITS)
    assert watch.over_after(0.0, most_s=1.8) is None
    watch.now += 3.0
    assert watch.over_after(0.0) == pytest.approx(LIMIT_S + 0.1, abs=0.15)


def test_progress_gives_children_their_time_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Watch(monkeypatch, LIMITS).over_after(1.0, grows_s=1.5) is None
    assert Watch(monkeypatch, LIMITS).over_after(0.0, grows_s=1.5) is None


def test_progress_or_not_children_are_over_when_the_budget_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for share, slower in ((1.0, 1.0), (None, WAITING)):
        found = Watch(monkeypatch, LIMITS, left_s=4.0).over_after(share, grows_s=1.0)
        assert found == pytest.approx(slower * (4.0 + LIMITS.cpu_s + 2 * GRACE_S), abs=0.15)


@pytest.mark.parametrize("kind", ["calls", "stdio"])
def test_the_kernel_ends_a_process_whose_clocks_all_fail(kind: str, sandbox: Sandbox) -> None:
    limits = Limits(cpu_s=2.0, budget_s=7.0)
    reads = "import resource\nfound = [resource.getrlimit(resource.RLIMIT_CPU), resource.getrlimit(resource.RLIMIT_AS)]"
    if kind == "calls":
        (outcome,) = calls(sandbox, f"{reads}\ndef f(): return found", Call(), limits=limits)
        found = outcome.value
    else:
        ((outcome,),) = sandbox.run([StdioJob(f"{reads}\nprint(found)", ("",), limits)])
        found = eval(outcome.value)
    (soft, hard), memory = found
    assert limits.cpu_s < soft == hard <= limits.budget_s + limits.cpu_s + 2
    assert memory == (limits.memory_mb << 20,) * 2


# ------------------------------------------------------------------------------------------------- whose fault it is
FORGES = """
import os, stat, struct
for fd in range(3, 64):
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            for _ in range(3): os.write(fd, struct.pack("<BdI", 0, 0.0, len({payload})) + {payload})
    except OSError: pass
os._exit(0)
"""


@pytest.mark.parametrize("payload", [b"[\xff\xff\xff\x7f", b"?abcd", b"TTTTT"])
def test_arguments_that_a_testing_wrote_by_hand_never_reach_the_program(payload: bytes, sandbox: Sandbox) -> None:
    (outcome,) = calls(sandbox, "def f(x): return x", Call(python=FORGES.format(payload=payload)))
    assert (outcome.status, outcome.detail) == (Status.TESTING_BROKEN, "arguments: not a value")


@pytest.mark.parametrize(
    "before",
    [
        FORGES.format(payload=wire.encode([7])),
        "import os; os._exit(0)",
        "import math\nmath.sqrt = lambda x: 7\nreturn [1]",
        "__builtins__['abs'] = lambda x: 7\nreturn [1]",
        "return [bytearray(1 << 40)]",
    ],
)
def test_how_a_testing_makes_its_arguments_changes_none_of_anothers(before: str, sandbox: Sandbox) -> None:
    mine, others = Call(python=before), [Call(python=f"__import__('math').sqrt({n}), abs(-{n})") for n in (4, 9)]
    outcomes = calls(sandbox, "def f(*x): return x", mine, *others, mine)
    assert [outcome.value for outcome in outcomes[1:3]] == [(2.0, 4), (3.0, 9)]
    assert outcomes[0].status is outcomes[3].status


def test_answers_that_find_no_room_in_the_file_of_their_process_are_asked_again(sandbox: Sandbox) -> None:
    size = 20 << 20  # two of them are more than the file may hold
    given = [Call((n,)) for n in range(3)]
    found = calls(sandbox, f"def f(x): return 'a' * {size}", *given, limits=Limits(output_kb=21_000))
    assert [(outcome.status, len(outcome.value or "")) for outcome in found] == [(Status.OK, size)] * 3


def test_an_answer_that_is_longer_than_it_may_be_is_not_waited_for() -> None:
    ask_r, ask_w = os.pipe()
    answer_r, answer_w = os.pipe()
    try:
        peer = Peer(ask_w, answer_r, most=1 << 10)
        peer.begin({})
        os.write(answer_w, wire.RECORD.pack(wire.OK, 0.0, 1 << 30) + b"x" * 100)
        os.set_blocking(answer_r, False)  # whoever reads on is told so at once
        with pytest.raises(NoValue):
            peer.call("f", (1,), {})
        assert peer.fixed == peer.dead == (wire.OUTPUT_LIMIT, b"%d bytes" % (1 << 30))
    finally:
        for handle in (ask_r, ask_w, answer_r, answer_w):
            os.close(handle)


class LostWithTwo:
    """A worker's stream that is gone when a second request is sent."""

    def __init__(self, stream: object) -> None:
        self._stream, self._sent = stream, 0

    def send(self, data: memoryview, /) -> int:
        self._sent += 1
        if self._sent == 2:
            raise ConnectionResetError
        return self._stream.send(data)  # type: ignore[attr-defined, no-any-return]

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def test_only_the_job_that_a_worker_was_at_has_lost_an_attempt_with_it() -> None:
    """Pairs of jobs go through workers that are lost with both, until the first has used up its attempts."""
    launch, jobs = _jail.launcher(_jail.JailSpec("bare")), 6
    lost = (MAX_ATTEMPTS - 1) * jobs // 2 + 1

    def launch_lost(slot: int) -> tuple[object, object]:
        process, stream = launch(slot)
        return process, LostWithTwo(stream) if slot < lost else stream

    with LocalSandbox(launch_lost, Protection("local", "weak", "test"), 1) as opened:  # type: ignore[arg-type]
        found = opened.run([CallsJob(f"def f(x): return x + {n}", "f", (Call((1,)),), AMPLE) for n in range(jobs)])
    assert [outcome.status for (outcome,) in found] == [Status.INFRASTRUCTURE] + [Status.OK] * (jobs - 1)


def test_who_is_rung_has_been_rung_when_ring_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    server = Server(theirs, cast("Boot", None))
    slot, rung = (1).to_bytes(4, "little"), []
    server._pids[slot] = 4711

    def late(pid: int, number: int) -> None:
        time.sleep(0.2)
        rung.append((pid, number))

    def serve() -> None:
        server._obey(theirs.recv(5)[0], slot)

    monkeypatch.setattr("evosyn.sandbox._inside.forker.os.kill", late)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    Remote(ours, watched=-1).ring(1)
    assert rung == [(4711, signal.SIGUSR1)]
    thread.join()
