"""A call that hangs where no alarm is heard computes for its limit, once, in whatever row of calls it stands.

Seconds are those that the backend's processes computed, read from outside; where processes are numbered apart from all
others, their numbers tell how many there were.
"""

from __future__ import annotations

from collections.abc import Callable

from hostile_suite.backends import Backend

from evosyn.jobs import Call, CallsJob, ItemOutcome, Limits, Status

LIMITS = Limits(cpu_s=3.0, wall_s=300.0, budget_s=300.0, memory_mb=400)
HANG = 2
PROGRAM = f"""
import itertools, os, struct
def f(x):
    if x == {HANG}:
        {{before}}
        any(itertools.repeat(0))
    return [x, os.getpid()]
"""
MAKES_ITS_FILE_FULL = """
        for handle in range(3, 64):
            try:
                if os.fstat(handle).st_size:
                    os.write(handle, struct.pack("<BdI", 0, 0.0, 1 << 31))  # a record of which the end is missing
                    os.ftruncate(handle, 32 << 20)
            except OSError: pass
"""


def row_of_calls(before: str, backend: Backend) -> tuple[ItemOutcome, ...]:
    """What five calls come to of which one hangs, checked for all that holds on each backend."""
    program = PROGRAM.format(before=before.strip())
    sandbox = backend.sandbox()
    ((warm,),) = sandbox.run([CallsJob(program, "f", (Call((0,)),), LIMITS)])
    with backend.meter() as meter:
        (outcomes,) = sandbox.run([CallsJob(program, "f", tuple(Call((n,)) for n in range(5)), LIMITS)])
    assert [outcome.status for outcome in outcomes] == [
        Status.TIMEOUT if n == HANG else Status.OK for n in range(len(outcomes))
    ]
    assert [n if n == HANG else outcome.value[0] for n, outcome in enumerate(outcomes)] == [*range(5)]
    assert LIMITS.cpu_s <= meter.computed_s < 2 * LIMITS.cpu_s
    others = [outcome.seconds for n, outcome in enumerate(outcomes) if n != HANG]
    assert max(others) < LIMITS.cpu_s / 2  # what hangs is charged to itself
    return (warm, *outcomes)


def test_a_call_that_hangs_in_c_among_others_runs_once(backend: Backend) -> None:
    outcomes = row_of_calls("", backend)
    if backend.name != "bare":
        pids = [outcome.value[1] for outcome in outcomes if outcome.status is Status.OK]
        assert [pid - pids[0] for pid in pids] == [0, 1, 1, 2, 2]


def test_a_result_file_that_is_made_full_earns_no_second_run(backends: Callable[[str], Backend]) -> None:
    row_of_calls(MAKES_ITS_FILE_FULL, backends("bwrap"))
