"""How much is asked and answered: what is large is no other item's burden, never our failure, and bounded here."""

from __future__ import annotations

import pytest

from evosyn.jobs import Call, CallsJob, CompanyJob, ItemOutcome, Limits, Status, StdioJob
from evosyn.ports import Sandbox
from evosyn.sandbox._inside import wire
from evosyn.sandbox._tasks import ANSWERS
from evosyn.sandbox.outcomes import LargeOutcome

pytestmark = pytest.mark.slow

MB = 1 << 20
TIGHT = Limits(memory_mb=256, budget_s=60.0)


def statuses(outcomes: tuple[ItemOutcome, ...]) -> list[str]:
    return [outcome.status.value for outcome in outcomes]


def test_a_process_need_only_hold_the_arguments_of_its_own_calls(sandbox: Sandbox) -> None:
    calls = [Call((chr(97 + n) * (15 * MB),)) for n in range(24)]
    (outcomes,) = sandbox.run([CallsJob("def f(x): return len(x)", "f", (*calls, Call(("a",))), TIGHT)])
    assert [outcome.value for outcome in outcomes] == [15 * MB] * 24 + [1]


def test_what_a_program_keeps_of_large_calls_does_not_fail_the_small_ones_behind_them(sandbox: Sandbox) -> None:
    program = "kept = []\ndef f(x):\n    kept.append(bytearray(len(x)))\n    return len(kept[-1])"
    calls = [Call(("a" * (7 * MB + n),)) for n in range(40)]
    (outcomes,) = sandbox.run([CallsJob(program, "f", (*calls, Call(("ab",))), TIGHT)])
    assert {*statuses(outcomes)} <= {"ok", "killed"}
    assert outcomes[-1].value == 2


def test_arguments_that_no_process_can_hold_fail_their_own_call_only(sandbox: Sandbox) -> None:
    calls = (Call((1,)), Call(("a" * (200 * MB),)), Call((2,)))
    (outcomes,) = sandbox.run([CallsJob("def f(x): return x", "f", calls, TIGHT)])
    assert statuses(outcomes) == ["ok", "killed", "ok"]


def test_computed_arguments_that_are_large_together_break_no_testing(sandbox: Sandbox) -> None:
    calls = tuple(Call(python=f"['a' * {1_000_000 + n}]") for n in range(40))
    (outcomes,) = sandbox.run([CallsJob("def f(x): return len(x)", "f", calls)])
    assert [outcome.value for outcome in outcomes] == [1_000_000 + n for n in range(40)]


def test_arguments_that_are_never_done_are_given_up_one_by_one_and_end_no_worker(sandbox: Sandbox) -> None:
    limits = Limits(cpu_s=0.1, wall_s=0.2, budget_s=60.0)
    waits = tuple(Call(python=f"__import__('time').sleep({n + 1000})") for n in range(60))
    (outcomes,) = sandbox.run([CallsJob("def f(x): return x", "f", (*waits, Call((1,))), limits)])
    assert statuses(outcomes) == ["testing-broken"] * 60 + ["ok"]


def test_large_answers_are_no_failure_of_ours_and_small_ones_count_behind_any_number_of_them(sandbox: Sandbox) -> None:
    program = "def f(x): return 'a' * x"
    calls = tuple(Call((1_000_000 if n < 110 else 5,)) for n in range(120))
    (outcomes,) = sandbox.run([CallsJob(program, "f", calls, Limits(budget_s=100.0))])
    fit = ANSWERS[CallsJob] * MB // 1_000_005
    assert statuses(outcomes) == ["ok"] * fit + ["output-limit"] * (110 - fit) + ["ok"] * 10


def test_outputs_are_bounded_in_the_order_of_the_inputs_however_many_workers_there_are(sandbox: Sandbox) -> None:
    limits = Limits(output_kb=4, budget_s=100.0)
    (outcomes,) = sandbox.run([StdioJob("print('a' * 4000)", ("",) * 300, limits)])
    fit = ANSWERS[StdioJob] * 4096 // 4001
    assert statuses(outcomes) == ["ok"] * fit + ["output-limit"] * (300 - fit)


def test_programs_whose_calls_are_too_large_keep_no_company(sandbox: Sandbox) -> None:
    members = tuple(CallsJob("def f(x): return len(x)", "f", (Call(("a" * (5 * MB),)),)) for _ in range(3))
    (outcomes,) = sandbox.run([CompanyJob(members)])
    assert statuses(outcomes) == ["not-run"] * 3


def test_a_large_outcome_is_decoded_when_it_is_looked_at_and_not_kept() -> None:
    record = wire.Record(wire.OK, 0.5, wire.encode(["x" * 2000]))
    one, other = LargeOutcome(CallsJob, record), LargeOutcome(CallsJob, record)
    assert one == ItemOutcome(Status.OK, ["x" * 2000]) and ItemOutcome(Status.OK, ["x" * 2000]) == one == other
    first = one.value
    assert one.value is first and other.value is not first and one.value is first
    big = LargeOutcome(CallsJob, wire.Record(wire.OK, 0.5, wire.encode("x" * MB)))
    assert not big.is_put_away() and len(big.value) == MB
    assert one.is_put_away() and not big.is_put_away()
    assert one.value is not first and big.is_put_away()
    assert (one.seconds, one.status, one.detail) == (0.5, Status.OK, "")
    assert not any("x" * 100 in str(found) for found in vars(one).values() if not isinstance(found, wire.Record))
    one.forget()
    assert one.value is None


def test_a_large_answer_that_is_malformed_is_not_plain_data() -> None:
    outcome = LargeOutcome(CallsJob, wire.Record(wire.OK, 0.0, b"?" * 5000))
    assert outcome.status is Status.NOT_PLAIN
