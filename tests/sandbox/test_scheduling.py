"""Who runs what when: budgets, hanging programs, several callers, interruption."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Check, ChecksJob, HarnessJob, Job, Limits, Protection, Status, StdioJob
from evosyn.ports import Sandbox
from evosyn.sandbox import _jail, open_sandbox
from evosyn.sandbox.local import LocalSandbox

pytestmark = pytest.mark.slow

HANG = "def f(x):\n    while True: pass"
QUICK = "def f(x): return x"


def test_idle_workers_share_the_calls_of_a_hanging_program(sandbox: Sandbox) -> None:
    limits = Limits(wall_s=0.5, budget_s=60)
    sandbox.run([CallsJob(QUICK, "f", (Call((1,)),))] * 4)
    began = time.monotonic()
    (outcomes,) = sandbox.run([CallsJob("import time\ndef f(x): time.sleep(9)", "f", (Call((1,)),) * 8, limits)])
    took = time.monotonic() - began
    assert [outcome.status for outcome in outcomes] == [Status.TIMEOUT] * 8
    assert took < 8 * 0.5 * 0.8


@pytest.mark.parametrize("workers", [1, 3])
def test_the_budget_is_spent_in_the_order_of_the_calls_however_many_workers_there_are(workers: int) -> None:
    program = "import time\ndef f(x): time.sleep(9 if x else 0)\n"
    limits = Limits(wall_s=0.4, budget_s=1.0)
    with open_sandbox("local", workers=workers) as opened:
        (outcomes,) = opened.run([CallsJob(program, "f", tuple(Call((x,)) for x in (0, 1, 0, 1, 0, 1, 0, 1)), limits)])
    statuses = [outcome.status for outcome in outcomes]
    assert statuses[:6] == [Status.OK, Status.TIMEOUT] * 3
    assert statuses[6:] == [Status.NOT_RUN] * 2


def test_a_hanging_program_does_not_hold_up_the_others(sandbox: Sandbox) -> None:
    ended: list[int] = []
    limits = Limits(wall_s=0.5, budget_s=2.0)
    jobs = [CallsJob(HANG, "f", (Call((1,)),) * 9, limits)] * 2 + [CallsJob(QUICK, "f", (Call((1,)),))] * 60
    sandbox.run(jobs, on_done=lambda index, _: ended.append(index))
    assert set(ended[-2:]) == {0, 1}


def test_several_threads_get_their_own_results(sandbox: Sandbox) -> None:
    found: dict[int, list[object]] = {}

    def work(number: int) -> None:
        jobs = [CallsJob(f"def f(x): return x * {number}", "f", (Call((n,)),)) for n in range(30)]
        found[number] = [outcomes[0].value for outcomes in sandbox.run(jobs)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [number * n for n in range(30)] for number in range(6)}


def test_an_interrupted_run_leaves_the_sandbox_usable(sandbox: Sandbox) -> None:
    def interrupt(_index: int, _outcomes: object) -> None:
        raise KeyboardInterrupt

    jobs = [CallsJob(QUICK, "f", (Call((1,)),))] + [CallsJob(HANG, "f", (Call((1,)),) * 9, Limits(wall_s=30))] * 4
    with pytest.raises(KeyboardInterrupt):
        sandbox.run(jobs, on_done=interrupt)
    began = time.monotonic()
    ((outcome,),) = sandbox.run([CallsJob(QUICK, "f", (Call((7,)),))])
    assert outcome.value == 7
    assert time.monotonic() - began < 10


def test_a_lost_worker_is_replaced_and_its_job_done_again() -> None:
    with open_sandbox("local", workers=1) as opened:
        opened.run([CallsJob(QUICK, "f", (Call((1,)),))])
        threading.Timer(0.5, lambda: [os.kill(pid, 9) for pid in children_of(os.getpid())]).start()
        ((outcome,),) = opened.run([CallsJob("import time\ndef f(x): time.sleep(1); return x", "f", (Call((5,)),))])
    assert (outcome.status, outcome.value) == (Status.OK, 5)


def test_one_worker_that_does_not_start_is_no_reason_to_give_up() -> None:
    launch, refused = _jail.launcher(_jail.JailSpec("bare")), []

    def hiccup(slot: int) -> object:
        if slot == 1 and not refused:
            refused.append(slot)
            raise SandboxUnavailable("the engine did not answer, once")
        return launch(slot)

    with LocalSandbox(hiccup, Protection("local", "weak", "test"), 2) as opened:
        outcomes = opened.run([CallsJob(QUICK, "f", (Call((number,)),)) for number in range(8)])
    assert refused and [outcome.value for (outcome,) in outcomes] == list(range(8))


def test_workers_that_never_start_end_the_run_with_the_reason() -> None:
    def refuse(slot: int) -> object:
        raise SandboxUnavailable(f"no engine for slot {slot}")

    opened = LocalSandbox(refuse, Protection("local", "weak", "test"), 1)
    with opened, pytest.raises(SandboxUnavailable, match="does not start: no engine"):
        opened.run([CallsJob(QUICK, "f", (Call((1,)),))])


@pytest.mark.parametrize(
    "job",
    [CallsJob(QUICK, "f", (Call((object(),)),)), CallsJob(QUICK, "f", (Call((), 5),)), StdioJob("print(1)", (5,))],
    ids=["argument", "keywords", "input"],
)
def test_a_job_that_is_not_made_of_plain_data_is_refused_and_the_sandbox_goes_on(job: Job) -> None:
    with LocalSandbox(_jail.launcher(_jail.JailSpec("bare")), Protection("local", "weak", "test"), 1) as opened:
        with pytest.raises(TypeError, match="not plain data"):
            opened.run([job])
        assert opened.run([CallsJob(QUICK, "f", (Call((1,)),))])[0][0].value == 1


def test_a_program_is_charged_what_it_computes_whatever_its_testing_counted() -> None:
    burn = """
import time
def f(x):
    until = time.process_time() + 0.8
    while time.process_time() < until:
        pass
    return x
"""
    limits = Limits(cpu_s=1.0, budget_s=2.0, wall_s=60.0)
    checks = tuple(Check(f"import os\nassert f({number}) == {number}") for number in range(8))
    with LocalSandbox(_jail.launcher(_jail.JailSpec("bare")), Protection("local", "weak", "test"), 1) as opened:
        (outcomes,) = opened.run([ChecksJob(burn, "f", checks, limits)])
    statuses = [outcome.status for outcome in outcomes]
    assert statuses.count(Status.OK) <= 3 and statuses[-1] is Status.NOT_RUN


class Breaking:
    """A worker's stream that is gone when something is to be sent."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream

    def send(self, data: memoryview, /) -> int:
        raise ConnectionResetError(f"{len(data)} bytes not sent")

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@pytest.mark.parametrize("with_context", [False, True])
def test_work_that_a_worker_could_not_be_given_is_done_by_the_next(with_context: bool) -> None:
    launch = _jail.launcher(_jail.JailSpec("bare"))

    def breaking_at_first(slot: int) -> tuple[object, object]:
        process, stream = launch(slot)
        return process, Breaking(stream) if slot == 0 else stream

    with LocalSandbox(breaking_at_first, Protection("local", "weak", "test"), 1) as opened:
        key = opened.share({"a": 1}) if with_context else None
        job = HarnessJob("def main(program, context, argument):\n    return 7", "", key, 0)
        found = []
        runner = threading.Thread(target=lambda: found.extend(opened.run([job])), daemon=True)
        runner.start()
        runner.join(60)
        assert [outcome.value for (outcome,) in found] == [7]


def test_jobs_submitted_while_the_sandbox_closes_are_refused() -> None:
    class ClosedMeanwhile:
        def __init__(self, lock: threading.RLock) -> None:
            self._lock = lock

        def __enter__(self) -> None:
            if threading.current_thread() is submitter:
                opened._pool._lock = self._lock
                opened.close()
            self._lock.__enter__()

        def __exit__(self, *exc: object) -> None:
            self._lock.__exit__(*exc)

    opened, ended = open_sandbox("local", workers=1), []

    def submit() -> None:
        with pytest.raises(SandboxUnavailable, match="closed"):
            opened.run([CallsJob(QUICK, "f", (Call((1,)),))])
        ended.append(True)

    opened.run([CallsJob(QUICK, "f", (Call((1,)),))])
    submitter = threading.Thread(target=submit, daemon=True)
    opened._pool._lock = ClosedMeanwhile(opened._pool._lock)
    submitter.start()
    submitter.join(60)
    assert ended


def children_of(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.name))
    return found
