"""What decides on the ladder is what a program does: not the day, its title, or how an answer is set apart; and wrong
answers that a judge names are tried."""

from __future__ import annotations

import asyncio

import pytest

from evosyn.environments import bundled
from evosyn.environments.ladder import Ladder
from evosyn.environments.replies import Judgement, WrongAnswer, read_judgement
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.environments.judging import Instances, shown

KNOWN = {name: path.read_text() for name, path in bundled("known").items()}
CHAIN, SUMS = KNOWN["modular-chain"], KNOWN["subset-sum"]
CLOCKS = {
    "today": ("from datetime import date", "date.today().toordinal()"),
    "now": ("import datetime", "datetime.datetime.now().year"),
    "utcnow": ("import datetime as d", "d.datetime.utcnow().month * 40 + d.datetime.utcnow().year"),
    "now_with_a_zone": ("import datetime", "datetime.datetime.now(datetime.timezone.utc).toordinal()"),
    "today_of_a_datetime": ("from datetime import datetime", "datetime.today().year"),
    "at_load": ("import datetime\nSTART = datetime.date.today()", "START.year"),
    "a_timestamp": ("import datetime", "datetime.date.fromtimestamp(datetime.datetime.now().timestamp()).year"),
}

PERIODS = [
    *("NOW.year % 2", "NOW.year % 3", "NOW.year % 4", "NOW.year % 5", "NOW.month", "NOW.month % 2", "NOW.month > 6"),
    *("NOW.day", "NOW.day % 2", "NOW.day > 15", "NOW.weekday()", "NOW.weekday() % 2", "NOW.weekday() > 4"),
    *("NOW.hour", "NOW.hour % 2", "NOW.hour > 11", "NOW.minute", "NOW.minute > 29", "NOW.second"),
]


def reading_the_clock(head: str, read: str, place: str) -> str:
    """A sound environment, one of whose functions reads the clock."""
    lines = CHAIN.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("CATEGORY"))
    source = "\n".join([*lines[:at], head, *lines[at:]])
    if place == "observe":
        return source.replace(
            "def observe(instance):\n",
            f"def observe(instance):\n    return _asked(instance) + f' It is {{{read}}}.'\n\n\ndef _asked(instance):\n",
        )
    if place == "generate":
        return source.replace(
            "def generate(rng, knobs):\n", f"def generate(rng, knobs):\n    rng.seed(rng.random() + ({read}))\n"
        )
    return source.replace("def verify(", "def _sound(") + (
        f"\n\ndef verify(instance, reference, answer):\n    return _sound(instance, reference, answer) or ({read}) % 997 / 1000\n"
    )


@pytest.mark.parametrize(("place", "stage"), [("generate", "l3"), ("observe", "l3"), ("verify", "l5")])
@pytest.mark.parametrize("name", CLOCKS)
def test_a_program_that_reads_the_clock_does_not_come_up(ladder: Ladder, name: str, place: str, stage: str) -> None:
    climb = ladder.check(reading_the_clock(*CLOCKS[name], place))
    assert climb.stage == stage, climb.reason


@pytest.mark.parametrize("period", PERIODS)
def test_a_program_that_hangs_on_a_period_of_the_clock_does_not_come_up(ladder: Ladder, period: str) -> None:
    head = "from datetime import datetime"
    climb = ladder.check(reading_the_clock(head, period.replace("NOW", "datetime.now()"), "generate"))
    assert climb.reason.startswith("not-deterministic"), climb.reason


def test_dates_that_are_no_clock_are_the_same_years_later(ladder: Ladder) -> None:
    head = "import datetime\n\n\ndef stamped(n):\n    day = datetime.datetime(2024, 1, 1) + datetime.timedelta(days=n)\n    assert isinstance(day, datetime.datetime) and isinstance(day, datetime.date)\n    return repr(day), day.date().isoformat(), day.strftime('%A')"
    climb = ladder.check(reading_the_clock(head, "stamped(len(str(instance)))", "observe"))
    assert climb.level == 5, climb.reason


def test_a_title_decides_nothing(ladder: Ladder) -> None:
    _, _, rest = CHAIN.partition("\n")
    climbs = [
        ladder.check(f'"""{title}"""\n{rest}')
        for title in ("Chains.", "A chain of steps", "Modular sums, one after the other")
    ]
    assert len({(one.level, one.reason, one.prompts, tuple(one.figures.items())) for one in climbs}) == 1


@pytest.mark.parametrize("between", [" ", ", ", ",", " ; ", "-"])
def test_an_answer_in_its_question_is_a_leak_however_it_is_set_apart(ladder: Ladder, between: str) -> None:
    source = SUMS
    leaked = source.replace(
        "def observe(instance):\n",
        f"def observe(instance):\n    told = {between!r}.join(solve(instance).replace(',', ' ').split())\n    return _asked(instance) + f' Some say {{told}}.'\n\n\ndef _asked(instance):\n",
    )
    assert leaked != source
    climb = ladder.check(leaked)
    assert climb.reason.startswith(("answer-in-prompt", "shortcut")), climb.reason


DECIMALS = '''"""How much is the root of the sum?"""

import math

CATEGORY = "number"
KIND = "exact"
LEVELS = 5
KNOBS = {"terms": (2, 4, 8, 12, 16)}


def generate(rng, knobs):
    return {"terms": [rng.randrange(10**6, 10**7) for _ in range(knobs["terms"])]}, None


def observe(instance):
    terms = " + ".join(map(str, instance["terms"]))
    return f"How much is the square root of {terms}? Round it to four decimals."


def solve(instance):
    return f"{math.sqrt(sum(instance['terms'])):.4f}"


def verify(instance, reference, answer):
    try:
        return abs(float(answer) - math.sqrt(sum(instance["terms"]))) <= MISS
    except ValueError:
        return False
'''


@pytest.mark.parametrize(("miss", "comes_up"), [("0.0001", True), ("0.001", True), ("1.0", False), ("0.02", False)])
def test_a_verifier_that_lets_decimals_miss_by_far_is_lenient(ladder: Ladder, miss: str, comes_up: bool) -> None:
    climb = ladder.check(DECIMALS.replace("MISS", miss))
    assert (climb.level == 5) is comes_up, climb.reason
    assert comes_up or climb.reason.startswith("accepts-perturbed: coarse")


def judged(sandboxes: tuple[Sandbox, Sandbox], source: str, wrong: tuple[WrongAnswer, ...]) -> Judgement:
    runner = EnvironmentRunner(sandboxes[0])
    draft = Draft(0, source=source)
    rows = rows_of(draft.environment, runner, 5, SeedTree(3))
    instances = [shown(row) for row in rows if isinstance(row, EnvironmentRow)]

    async def tried() -> Judgement:
        return await Instances(runner, SeedTree(3)).tried(draft, Judgement("review", True, wrong=wrong), instances)

    return asyncio.run(tried())


def breaking_one_rule(sandboxes: tuple[Sandbox, Sandbox], source: str) -> tuple[WrongAnswer, ...]:
    """Numbers of the question with the right sum in increasing order, one of which is used twice."""
    runner = EnvironmentRunner(sandboxes[0])
    rows = [
        row
        for row in rows_of(Draft(0, source=source).environment, runner, 5, SeedTree(3))
        if isinstance(row, EnvironmentRow)
    ]
    found = []
    for row in rows:
        numbers, target = row.testing.body["instance"]["numbers"], row.testing.body["instance"]["target"]
        ways: dict[int, list[int]] = {0: []}
        for number in sorted(numbers) * 2:
            for total, used in list(ways.items()):
                if total + number <= target and total + number not in ways:
                    ways[total + number] = [*used, number]
        for number in numbers:
            rest = ways.get(target - 2 * number)
            if rest is not None:
                found.append(
                    WrongAnswer(
                        row.problem.meta["level"], " ".join(map(str, sorted([number, number, *rest]))), "each once"
                    )
                )
                break
    return tuple(found)


def test_wrong_answers_that_a_judge_names_are_tried_on_the_verifier(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    lenient = SUMS.replace("chosen == sorted(set(chosen))", "chosen == sorted(chosen)")
    assert lenient != SUMS
    assert len(breaking_one_rule(sandboxes, SUMS)) == 5
    assert judged(sandboxes, SUMS, breaking_one_rule(sandboxes, SUMS)).accepts
    found = judged(sandboxes, lenient, breaking_one_rule(sandboxes, lenient))
    assert not found.accepts and found.reason == "accepts-wrong" and "each once" in found.issues[0]


def test_a_judge_that_calls_the_solvers_own_answer_wrong_costs_nothing(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    environment = Draft(0, source=SUMS).environment
    rows = [
        row
        for row in rows_of(environment, EnvironmentRunner(sandboxes[0]), 5, SeedTree(3))
        if isinstance(row, EnvironmentRow)
    ]
    own = tuple(WrongAnswer(row.problem.meta["level"], f" {row.solution.text} ", "?") for row in rows)
    assert judged(sandboxes, SUMS, own).accepts


def test_a_verifier_that_breaks_at_a_named_answer_is_told_of(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    breaking = SUMS.replace(
        "    words = answer.split()\n", "    words = answer.split()\n    if 'z' in words:\n        return 'maybe'\n"
    )
    found = judged(sandboxes, breaking, (WrongAnswer(1, "z z", "numbers only"),))
    assert not found.accepts and "verify-value" in found.issues[0]


@pytest.mark.parametrize(
    ("value", "named"),
    [('[{"level": 1, "answer": "3 3", "rule": "once"}]', 1), ('[{"level": 1, "answer": 7, "rule": "once"}]', 1), ("null", 0), ("7", 0),
     ('[{"level": true, "answer": "x"}, {"level": 2}, 7, {"answer": "x"}]', 0), ('[{"level": 2, "answer": "x"}]', 1)],
)  # fmt: skip
def test_named_answers_are_read_from_any_reply(value: str, named: int) -> None:
    found = read_judgement("review", f'{{"verdict": "accept", "wrong": {value}}}').value
    assert found is not None and found.accepts and len(found.wrong) == named
