"""Drawing pools: slots are filled or accounted for, in order, and errors of the teacher end everything."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import text
from simulation.scripted_server import ScriptedServer

from evosyn.chat import Reply
from evosyn.domains import domain, load_pools
from evosyn.errors import BudgetSpent, UsageError
from evosyn.jobs import Limits
from evosyn.records import Json, Problem, Testing
from evosyn.synthesis.generate import (
    DrawConfig,
    Want,
    added,
    draw_pool,
    draw_pools,
    drawn_pools,
    examples_for,
    named_reason,
)
from tests.teachers.asking import made, run, windowed

GOLDEN = Path(__file__).parents[1] / "golden" / "prompts"


def test_pools_come_in_order_with_every_attempt_accounted_for(toy_seeds, toy_domain, make_teacher):
    done = {}
    teacher = make_teacher(jitter_s=0.003)
    pools = draw_pools(
        toy_seeds, teacher, {toy_domain.name: toy_domain}, solutions=6, testings=5, on_done=done.__setitem__
    )
    assert [pool.problem for pool in pools] == list(toy_seeds)
    assert sorted(done) == list(range(len(toy_seeds)))
    assert sum(len(drawn.attempts) for drawn in done.values()) == len(teacher.asked)
    for index, drawn in done.items():
        assert drawn.pool == pools[index]
        usable = len(drawn.pool.solutions) + len(drawn.pool.testings)
        assert usable + len(drawn.rejected) == len(drawn.attempts)
        assert all(attempt.reason for attempt in drawn.rejected)
        slots = [one.provenance.detail["slot"] for one in drawn.pool.solutions]
        assert slots == sorted(slots)


def test_the_same_teacher_gives_the_same_pools_whatever_the_order_of_replies(toy_seeds, toy_domain, make_teacher):
    domains = {toy_domain.name: toy_domain}
    first = draw_pools(toy_seeds, make_teacher(), domains, solutions=4, testings=4, config=DrawConfig(in_flight=1))
    again = draw_pools(toy_seeds, make_teacher(jitter_s=0.003), domains, solutions=4, testings=4)
    assert first == again


def test_testings_that_do_not_fit_are_rejected_with_the_reason_of_the_domain(toy_seeds, toy_domain, make_teacher):
    rejected = []
    draw_pools(
        toy_seeds,
        make_teacher(),
        {toy_domain.name: toy_domain},
        solutions=1,
        testings=30,
        on_done=lambda _, drawn: rejected.extend(drawn.rejected),
    )
    reasons = {(one.reason, one.detail) for one in rejected}
    assert ("too-many-cases", "nine or more") in reasons
    assert {reason for reason, _ in reasons} <= {"too-many-cases", "not-json", "no-fence"}


def test_a_budget_that_ends_in_the_middle_is_raised(toy_seeds, toy_domain, make_teacher):
    with pytest.raises(BudgetSpent):
        draw_pools(toy_seeds, make_teacher(stop_after=20), {toy_domain.name: toy_domain}, solutions=8, testings=8)


def test_a_failed_reply_is_never_parsed(toy_seeds, toy_domain):
    class Truncating:
        name, simulated = "t", False

        async def complete(self, request):  # noqa: ARG002
            return Reply(id="r", text="add 1", model="t", failure="truncated")

    done = {}
    pools = draw_pools(
        toy_seeds[:1], Truncating(), {toy_domain.name: toy_domain}, solutions=2, testings=0, on_done=done.__setitem__
    )
    assert pools[0].solutions == ()
    assert [one.reason for one in done[0].attempts] == ["reply-truncated"] * 4


def test_an_unknown_domain_is_refused_before_anything_is_asked(toy_seeds, make_teacher):
    teacher = make_teacher()
    with pytest.raises(UsageError, match="unknown domain"):
        draw_pools(toy_seeds, teacher, {}, solutions=1, testings=1)
    assert teacher.asked == []


@pytest.mark.parametrize(
    ("text", "name", "detail"),
    [
        ("no-fence", "no-fence", ""),
        ("not-json: line 3", "not-json", "line 3"),
        ("It went wrong: somewhere", "unparsable", "It went wrong: somewhere"),
        ("", "unparsable", ""),
    ],
)
def test_reasons_are_counted_by_a_short_name(text, name, detail):
    assert named_reason(text, "unparsable") == (name, detail)


def test_a_reply_with_a_lone_surrogate_is_rejected_and_never_reaches_a_file(toy_seeds, toy_domain):
    class Surrogate:
        name, simulated = "t", False

        async def complete(self, request):  # noqa: ARG002
            return Reply(id="r", text="add 1\ud800", model="t")

    done = {}
    domains = {toy_domain.name: toy_domain}
    draw_pools(toy_seeds[:1], Surrogate(), domains, solutions=1, testings=0, on_done=done.__setitem__)
    assert {one.reason for one in done[0].attempts} == {"not-text"}


def test_temperatures_take_turns_over_the_slots_of_solutions_only(toy_seeds, toy_domain, make_teacher):
    seen = []

    class Watching(make_teacher):
        async def complete(self, request):
            seen.append((request.purpose, request.sample % 1000 % 3, request.params["temperature"]))
            return await super().complete(request)

    config = DrawConfig(temperatures=(0.2, 0.6, 1.0))
    draw_pools(toy_seeds[:2], Watching(), {toy_domain.name: toy_domain}, solutions=7, testings=3, config=config)
    assert {(turn, heat) for purpose, turn, heat in seen if purpose == "solution"} == {(0, 0.2), (1, 0.6), (2, 1.0)}
    assert {heat for purpose, _, heat in seen if purpose == "testing"} == {1.0}


def shown(problem, others=(), **config):
    """What the requests of a pool say, by kind and slot."""
    asked = {}

    async def ask(kind, slot, attempt, request):  # noqa: ARG001
        asked[kind, slot] = request.messages[-1].content
        return Reply(id="r", text="", model="m", failure="empty")

    want = Want(1, 5, examples=examples_for(problem, others, 2), limits=Limits(cpu_s=2.0))
    asyncio.run(draw_pool(problem, domain("python-function"), ask, want, DrawConfig(attempts=1, **config)))
    return asked


SEEDS = [pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == "python-function"]


def test_testings_of_one_problem_are_asked_for_different_things_and_begin_alike():
    asked = shown(SEEDS[0], SEEDS)
    testings = [asked["testing", slot] for slot in range(5)]
    assert len(set(testings)) == 4
    assert testings[0] == testings[4]
    ends = [text.index("## What these tests are for") for text in testings]
    assert len({text[:end] for text, end in zip(testings, ends, strict=True)}) == 1
    assert len(set(shown(SEEDS[0], SEEDS, views=False).values())) == 2


SMALL, OTHER = (
    Problem(
        name,
        "python-function",
        f"Return {what} of the numbers.",
        payload={"entry_point": name, "starter_code": f"def {name}(numbers: list[int]) -> int:\n    pass\n"},
        human_testing=Testing("cases", {"cases": [{"input": [[1, 2]], "output": output}]}),
    )
    for name, what, output in (("total", "the sum", 3), ("largest", "the largest", 2))
)


@pytest.mark.parametrize(("kind", "slot"), [("solution", 0), ("testing", 0), ("testing", 1)])
def test_requests_are_as_recorded(kind, slot):
    recorded = GOLDEN / f"synthesis.{kind}.{slot}.md"
    assert shown(SMALL, (OTHER,))[kind, slot] == recorded.read_text(encoding="utf-8")


def test_other_problems_show_how_good_testings_look_and_its_own_never_does():
    assert examples_for(SEEDS[0], SEEDS, 2) == tuple(SEEDS[1:3])
    text = shown(SEEDS[0], SEEDS)["testing", 0]
    assert all(other.statement.strip() in text for other in SEEDS[1:3])
    assert SEEDS[0].human_testing is not None
    case = json.dumps(SEEDS[0].human_testing.body["cases"][-1]["input"])
    assert case not in text


def test_everybody_is_told_the_limits_they_will_run_under():
    asked = shown(SEEDS[0])
    assert "2 s of processor time" in asked["solution", 0]
    assert "10 s in all" in asked["testing", 0]


@pytest.mark.parametrize("name", ["builtin:python-seeds", "builtin:math-seeds"])
def test_examples_and_then_the_view_are_left_out_where_a_window_is_small(name: str) -> None:
    problems = [pool.problem for pool in load_pools(name)][:3]
    asked: dict[bool, list[str]] = {True: [], False: []}
    domains = {problem.domain: domain(problem.domain) for problem in problems}

    def drawn(window: int, *, bounded: bool) -> None:
        def script(body: Mapping[str, Json], _: int) -> str:
            asked[bounded].append(body["messages"][-1]["content"])
            return "nothing that can be used"

        with ScriptedServer(script, refuse=[windowed(window)]) as server:
            config = DrawConfig(attempts=1, in_flight=1)
            teacher = made(base_url=server.base_url, calls=1)
            run(teacher, lambda asked: drawn_pools(problems, asked, domains, Want(1, 1), config))

    drawn(10**6, bounded=False)
    testings = [text for text in asked[False] if any(other.statement in text for other in problems[1:])]
    drawn(max(map(len, testings)) // 4, bounded=True)
    assert len(asked[True]) == len(asked[False]) == 6
    for whole, cut in zip(asked[False], asked[True], strict=True):
        kept, *others = sorted(problems, key=lambda one: -whole.rfind(one.statement.strip()))
        assert kept.statement.strip() in cut, "the problem itself stays"
        assert whole == cut or not any(other.statement.strip() in cut for other in others)
    assert any(whole != cut for whole, cut in zip(asked[False], asked[True], strict=True))


@given(text(), text(), text(), text())
def test_what_was_added_is_found(before: str, more: str, less: str, behind: str) -> None:
    found = added(before + more + behind, before + less + behind)
    assert found in more and added(before + more + behind, before + behind) in before + more + behind
    assert len(added(before + more + behind, before + behind)) == len(more)
