"""Whose word counts: a program says facts about itself, and nothing else, whatever it writes and however it ends."""

from __future__ import annotations

import pytest

from evosyn.jobs import Call, CallsJob, Check, ChecksJob, Limits, Status, StdioJob
from evosyn.ports import Sandbox

SHORT = Limits(cpu_s=1.0, budget_s=10.0)
NOT_ITS_OWN = {Status.INFRASTRUCTURE, Status.NOT_RUN, Status.TESTING_BROKEN}
CHECKS = (Check("assert f(0) == 1"), Check("import os\nassert f(0) == 1"))


def every_mode(sandbox: Sandbox, body: str) -> list[Status]:
    """What becomes of a program that does this when it is called."""
    lines = "\n    ".join(body.splitlines())
    function = f"def f(x):\n    {lines}\n"
    found = sandbox.run(
        [
            CallsJob(function, "f", (Call((0,)), Call((1,))), SHORT),
            ChecksJob(function, "f", CHECKS, SHORT),
            StdioJob(f"{function}\nf(0)", ("", ""), SHORT),
        ]
    )
    return [outcome.status for outcomes in found for outcome in outcomes]


@pytest.mark.parametrize("status", range(74, 84))
def test_an_exit_status_is_only_ever_an_end(sandbox: Sandbox, status: int) -> None:
    assert set(every_mode(sandbox, f"import os\nos._exit({status})")) <= {Status.KILLED, Status.TIMEOUT}


@pytest.mark.parametrize("code", range(12))
def test_a_record_that_is_not_its_to_write_is_the_end_of_its_writer(sandbox: Sandbox, code: int) -> None:
    forges = f"""
import os, struct
record = struct.pack("<BdI", 0, 0.0, 1) + b"N"
for fd in range(3, 64):
    for data in (record + struct.pack("<BdI", {code}, 0.0, 1) * 8, ):
        try: os.ftruncate(fd, 0); os.pwrite(fd, data, 0); os.write(fd, data)
        except OSError: pass
os._exit(0)"""
    assert not NOT_ITS_OWN & set(every_mode(sandbox, forges))


def test_the_word_that_a_process_was_made_ready_cannot_be_taken_back(sandbox: Sandbox) -> None:
    takes = """
import os, socket
for fd in range(3, 64):
    for take in (
        lambda: os.read(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK), 100),
        lambda: os.read(fd, 100) if fd > 63 else None,
        lambda: socket.socket(fileno=os.dup(fd)).recv(100, socket.MSG_DONTWAIT),
        lambda: socket.socket(fileno=os.dup(fd)).shutdown(2),
    ):
        try: take()
        except (OSError, ValueError): pass
os._exit(0)"""
    assert not NOT_ITS_OWN & set(every_mode(sandbox, takes))


def test_seconds_that_a_program_claims_leave_no_item_of_its_job_not_run(sandbox: Sandbox) -> None:
    claims = 'import sys\nsys.modules["evosyn.sandbox._inside.alarm"].Alarm.stop = lambda *_: 1e5\nreturn 1'
    assert set(every_mode(sandbox, claims)) == {Status.OK}


def test_a_program_is_charged_what_it_computed_whatever_it_says(sandbox: Sandbox) -> None:
    program = """
import sys
def f(x):
    alarm = sys.modules["evosyn.sandbox._inside.alarm"].Alarm
    alarm.stop = lambda *_: 0.0
    total = 0
    for n in range(12_000_000): total += n
    return total
"""
    (outcomes,) = sandbox.run([CallsJob(program, "f", (Call((0,)),) * 40, Limits(cpu_s=2.0, budget_s=3.0))])
    assert sum(outcome.seconds for outcome in outcomes) >= 3.0
    assert outcomes[-1].status is Status.NOT_RUN
