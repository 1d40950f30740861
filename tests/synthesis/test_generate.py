"""Drawing pools: slots are filled or accounted for, in order, and errors of the teacher end everything."""

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import text
from simulation.scripted_server import ScriptedServer

from evosyn.chat import Reply
from evosyn.configs.sampling import SamplingConfig
from evosyn.domains import domain, load_pools
from evosyn.errors import BudgetSpent, UsageError
from evosyn.jobs import Limits
from evosyn.records import Json, Problem, Testing
from evosyn.synthesis.examples import example_for
from evosyn.synthesis.generate import Want, added, draw_pool, draw_pools, drawn_pools
from evosyn.synthesis.usable import named_reason
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
    first = draw_pools(
        toy_seeds, make_teacher(), domains, solutions=4, testings=4, config=SamplingConfig(concurrency=1)
    )
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

    config = SamplingConfig(temperatures=(0.2, 0.6, 1.0))
    draw_pools(toy_seeds[:2], Watching(), {toy_domain.name: toy_domain}, solutions=7, testings=3, config=config)
    assert {(turn, heat) for purpose, turn, heat in seen if purpose == "solution"} == {(0, 0.2), (1, 0.6), (2, 1.0)}
    assert {heat for purpose, _, heat in seen if purpose == "testing"} == {1.0}


def shown(problem, others=(), **config):
    """What the requests of a pool say, by kind and slot."""
    asked = {}

    async def ask(kind, slot, attempt, request):  # noqa: ARG001
        asked[kind, slot] = request.messages[-1].content
        return Reply(id="r", text="", model="m", failure="empty")

    draw, own = SamplingConfig(attempts=1, **config), domain("python-function")
    want = Want(1, 5, example=example_for(problem, own, others, draw), limits=Limits(cpu_s=2.0))
    asyncio.run(draw_pool(problem, own, ask, want, draw))
    return asked


SEEDS = [pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == "python-function"]


def test_testings_of_one_problem_are_asked_for_different_things_and_begin_alike():
    asked = shown(SEEDS[0], SEEDS)
    testings = [asked["testing", slot] for slot in range(5)]
    assert len(set(testings)) == 4
    assert testings[0] == testings[4]
    ends = [text.index("## What these tests are for") for text in testings]
    assert len({text[:end] for text, end in zip(testings, ends, strict=True)}) == 1
    assert len(set(shown(SEEDS[0], SEEDS, prompt_hints=False).values())) == 2
    assert len(set(shown(SEEDS[0], SEEDS, style="brief").values())) == 2


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


def test_other_problems_show_how_good_testings_look_the_most_alike_first():
    near = replace(OTHER, problem_id="near", statement="Return the sum of the squares of the numbers.")
    far = replace(OTHER, problem_id="far", statement="Tell whether two strings are anagrams.")
    text = shown(SMALL, (far, near), example="other", examples=1)["testing", 0]
    assert near.statement in text and far.statement not in text
    assert case_of(SMALL) not in text, "its own never shows where others do"
    assert shown(SMALL, (far,), example="none")["testing", 0] == shown(SMALL, (), example="other")["testing", 0]


def case_of(problem, place=0):
    case = problem.human_testing.body["cases"][place]
    return f"assert {problem.payload['entry_point']}({str(case['input'])[1:-1]}) == {case['output']}"


def drawn(problem, replies, **config):
    """A pool whose testings are these replies."""

    async def ask(kind, slot, attempt, request):  # noqa: ARG001
        return Reply(id="r", text=replies[slot], model="m")

    draw, own = SamplingConfig(attempts=1, **config), domain(problem.domain)
    want = Want(0, len(replies), example=example_for(problem, own, (OTHER,), draw))
    return asyncio.run(draw_pool(problem, own, ask, want, draw))


TWO = replace(SMALL, human_testing=Testing("cases", {"cases": [{"input": [[n]], "output": n} for n in (1, 2, 1, 3)]}))
ASSERTS = replace(TWO, human_testing=Testing("asserts", {"asserts": [f"assert total([{n}]) == {n}" for n in (1, 2)]}))


@pytest.mark.parametrize(("problem", "left"), [(TWO, [2, 3]), (ASSERTS, ["assert total([2]) == 2"])])
def test_a_right_test_that_is_shown_is_no_label_and_in_a_reply_no_evidence(problem, left):
    assert "assert total([1]) == 1" in shown(problem, ())["testing", 0]
    copied = "assert total([1]) == 1\nassert total([5]) == 5\n"
    pool = drawn(problem, [copied, "assert total([1]) == 7\n", "assert total([6]) == 6\n"])
    assert [one.body["cases"] for one in pool.pool.testings] == [
        [{"input": [[5]], "output": 5}], [{"input": [[6]], "output": 6}]
    ]  # fmt: skip
    assert [one.reason for one in pool.rejected] == ["only-the-example"]
    (body,) = pool.pool.problem.human_testing.body.values()
    assert [one["output"] if isinstance(one, dict) else one for one in body] == left
    assert pool.pool.problem.id == problem.id and "shown" in pool.pool.problem.meta
    assert {one.provenance.detail["example"] for one in pool.pool.testings} == {"seed"}


def test_a_human_testing_of_one_case_stays_the_label_though_it_is_shown():
    assert drawn(SMALL, ["assert total([5]) == 5\n"]).pool.problem == SMALL


def test_without_a_human_testing_the_examples_of_the_statement_are_shown_and_else_other_problems():
    stated = replace(SMALL, human_testing=None, statement=f"{SMALL.statement}\n\nExamples:\n    total([4]) -> 4\n")
    bare = replace(SMALL, human_testing=None)
    for problem, name, seen in (
        (stated, "stated", "assert total([4]) == 4"),
        (bare, "other", "assert largest([1, 2])"),
    ):
        pool = drawn(problem, ["assert total([4]) == 4\nassert total([5]) == 5\n"]).pool
        assert seen in shown(problem, (OTHER,))["testing", 0]
        assert pool.testings[0].provenance.detail["example"] == name
        assert len(pool.testings[0].body["cases"]) == (1 if name == "stated" else 2)
        assert pool.problem == problem
    assert drawn(bare, ["assert total([4]) == 4\n"], example="none").pool.testings[0].provenance.detail == {
        "slot": 0, "attempt": 0, "example": "none", "form": "asserts"
    }  # fmt: skip


def test_cases_that_are_lost_are_told_beside_the_reply_that_is_used():
    whole = "".join(f"assert total([{n}]) == {n}\n" for n in range(3))
    got = drawn(SMALL, [f"{whole}assert total(1, 2) == 3\nassert total('a') == 0\nassert other([1]) == 1\n", whole])
    assert [len(one.body["cases"]) for one in got.pool.testings] == [3, 3] and not got.rejected
    (lost,) = got.rejects(0)
    assert (lost.stage, lost.reason, lost.item) == ("testing", "cases-lost", "case")
    assert "3 of 6" in lost.detail and "parameters (numbers)" in lost.detail and "does not call total" in lost.detail


def test_requests_of_one_problem_go_out_together(toy_seeds, toy_domain, make_teacher):
    order = []

    class Watching(make_teacher):
        async def complete(self, request):
            order.append((request.problem.problem_id, request.purpose))
            return await super().complete(request)

    config = SamplingConfig(attempts=1)
    draw_pools(toy_seeds, Watching(), {toy_domain.name: toy_domain}, solutions=4, testings=3, config=config)
    together = [seed.problem_id for seed in toy_seeds]
    assert [name for name, _ in itertools.groupby(order)] == [
        (name, purpose) for name in together for purpose in ("solution", "testing")
    ]


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
            config = SamplingConfig(attempts=1, concurrency=1)
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
