"""Intervals: how often they hold what they are about, and where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evosyn.evaluators.draws import Floats
from evosyn.evaluators.intervals import (
    FEWEST_ALIKE,
    FEWEST_TASKS,
    TOO_FEW,
    Interval,
    Strata,
    between,
    bootstrap,
    difference,
    t_quantile,
)
from evosyn.evaluators.leaderboard import BoardRow, Leaderboard

TIMES = 400


def coverage(make: Callable[[np.random.Generator], Floats], mean: float, strata: Strata | None = None) -> float:
    """The share of intervals that hold the mean, of those that there are."""
    rng, held = np.random.default_rng(0), []
    for seed in range(TIMES):
        values = make(rng)
        found = bootstrap(values, seed) if strata is None else strata.interval(values, seed)
        held += [] if found is None else [found.low <= mean <= found.high]
    return float(np.mean(held))


@pytest.mark.parametrize(("tasks", "least"), [(5, 0.89), (6, 0.91), (8, 0.92), (12, 0.92), (20, 0.92), (50, 0.92)])
def test_intervals_hold_the_mean_as_often_as_they_say(tasks: int, least: float) -> None:
    assert least <= coverage(lambda rng: rng.normal(size=tasks), 0.0) <= 0.98


@pytest.mark.parametrize("tasks", [5, 10, 20, 40])
def test_intervals_of_shares_hold_them_too(tasks: int) -> None:
    assert coverage(lambda rng: (rng.random(tasks) < 0.9) * 1.0, 0.9) >= 0.88


def test_few_tasks_and_few_equal_values_have_no_interval() -> None:
    assert bootstrap(np.arange(FEWEST_TASKS - 1.0)) is None
    assert bootstrap(np.arange(FEWEST_TASKS * 1.0)) is not None
    assert bootstrap([0.1 + 0.2, *[0.3] * (FEWEST_ALIKE - 2)]) is None
    assert bootstrap([0.3] * FEWEST_ALIKE) == pytest.approx((0.3, 0.3))
    assert bootstrap([float("nan")] * 9) is None and bootstrap([]) is None
    assert bootstrap([0.0, 1.0] * 5, tasks_P=["a", "b", "c", "d"] * 2 + ["a", "b"]) is None
    assert difference([0.5] * 8, [0.5] * 8) is None
    assert strata((3, "a"), (2, "b")).interval(np.arange(5.0)) is None
    assert strata((3, "a"), (3, "b")).interval(np.arange(6.0)) is not None


def test_an_interval_that_is_none_is_said_to_be() -> None:
    assert between(None) == TOO_FEW
    assert between(Interval(0.25, 0.5)) == "0.250 to 0.500"
    assert between(Interval(-0.25, 0.5), "+") == "-0.250 to +0.500"


def strata(*kinds: tuple[int, str]) -> Strata:
    """So many tasks in each of the pools named by single letters."""
    rows = [
        (pool, f"{kind}-{task}") for kind, (count, pools) in enumerate(kinds) for task in range(count) for pool in pools
    ]
    return Strata([pool for pool, _ in rows], [task for _, task in rows])


def of_tasks(some: Strata) -> Callable[[np.random.Generator], Floats]:
    """Values that vary with their task, and a little beside."""

    def make(rng: np.random.Generator) -> Floats:
        effects = {task: rng.normal() for task in dict.fromkeys(some.tasks_P)}
        return np.array([effects[task] for task in some.tasks_P]) + 0.3 * rng.normal(size=len(some.tasks_P))

    return make


@pytest.mark.parametrize(
    "some",
    [
        strata((15, "a"), (15, "b"), (15, "ab")),
        strata((10, "a"), (1, "b")),
        strata((1, "a"), (1, "b"), (1, "ab"), (1, "c"), (1, "bc"), (1, "abc")),
        strata((3, "a"), (3, "b"), (1, "ab"), (1, "c")),
    ],
    ids=["three kinds", "one alone", "all alone", "two alone"],
)
def test_a_task_that_is_alone_in_its_pools_takes_no_width_away(some: Strata) -> None:
    assert 0.87 <= coverage(of_tasks(some), 0.0, some) <= 0.99


def test_the_error_of_tasks_that_are_alone_is_that_of_how_they_vary() -> None:
    alone = strata((1, "a"), (1, "b"), (1, "c"), (1, "d"))
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert alone.error(values) == pytest.approx(values.std(ddof=1) / 2) and alone.freedom == 3
    joined = strata((5, "a"), (3, "b"), (1, "c"))
    values = np.arange(9.0)
    assert joined.error(values) == pytest.approx(strata((5, "a"), (4, "b")).error(values)) and joined.freedom == 7
    kept = strata((5, "a"), (3, "b"), (1, "c"), (1, "d"))
    assert kept.freedom == 7 and strata((1, "a")).freedom == 0


def test_what_lies_far_apart_in_two_pools_is_no_doubt_about_their_mean() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(0.1, 0.02, 20), rng.normal(0.9, 0.02, 20)])
    tasks, pools = [str(number) for number in range(40)], ["weak"] * 20 + ["strong"] * 20
    whole, apart = bootstrap(values, 0, tasks), bootstrap(values, 0, tasks, pools)
    assert whole is not None and apart is not None
    assert apart.high - apart.low < 0.2 * (whole.high - whole.low)
    assert bootstrap(values, 0, tasks, ["one"] * 40) == whole == bootstrap(values, 0, tasks)
    holes = bootstrap([*values, float("nan")], 0, [*tasks, "x"], [*pools, "third"])
    assert holes == apart == difference(values, np.zeros(40), 0, tasks, pools)


def test_the_bound_of_a_mean_uses_the_quantile_of_its_freedom() -> None:
    assert [round(t_quantile(freedom), 3) for freedom in (1, 2, 10, 30)] == [12.706, 4.303, 2.228, 2.042]
    assert t_quantile(0) == t_quantile(1)


def test_strategies_that_too_few_problems_tell_apart_are_level() -> None:
    from evosyn.evaluators.draws import ConsistencyConfig
    from evosyn.records import Evaluation
    from evosyn.strategies.lacking import Lacking

    rows = [
        BoardRow(name, Evaluation(score, metrics={"testing_balanced_accuracy": accuracy}, per_seed=(score,) * 4), None,
                 Lacking.of("", {}, 4))
        for name, score, accuracy in (("first", 0.75, 0.5), ("second", 0.5, 0.75))
    ]  # fmt: skip
    board = Leaderboard(ConsistencyConfig(), tuple("abcd"), tuple("abcd"), 1.0, {}, tuple(rows))
    assert [row.name for row in board.tied()] == ["first", "second"]
    winner = board.winner()
    assert winner is not None and winner.name == "second"
    assert [row["ci"] for row in board.to_json()["strategies"]] == [None, None]
    assert board.to_json()["pools"] == {} and [row["by_pool"] for row in board.to_json()["strategies"]] == [{}, {}]


def test_a_board_over_several_pools_says_what_each_comes_to() -> None:
    from evosyn.evaluators.draws import ConsistencyConfig
    from evosyn.records import Evaluation
    from evosyn.strategies.lacking import Lacking

    found = (
        Evaluation(0.5, metrics={"testing_balanced_accuracy": 1.0}, per_seed=(0.0, 0.25, 1.0, 0.75)),
        Evaluation(None, invalid="broken"),
    )
    rows = [BoardRow(name, one, None, Lacking.of("", {}, 4)) for name, one in zip(("good", "bad"), found, strict=True)]
    tasks, pools = tuple("abcd"), ("weak", "weak", "strong", "weak")
    told = Leaderboard(ConsistencyConfig(), tasks, tasks, 1.0, {}, tuple(rows), None, pools).to_json()
    assert told["pools"] == {"strong": 1, "weak": 3}
    assert [row["by_pool"] for row in told["strategies"]] == [{"strong": 1.0, "weak": pytest.approx(1 / 3)}, {}]
