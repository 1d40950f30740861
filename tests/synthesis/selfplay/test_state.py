"""The state of a pool of environments, and what drafts are worth: pure."""

from __future__ import annotations

import inspect

import pytest

from evosyn.environments import SEEDS
from evosyn.environments.fresh import LevelRate
from evosyn.errors import UsageError
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.recipes.dejaq import StudentPlan
from evosyn.synthesis.recipes.evoenv import drafts_of, environments_named, pool_plan
from evosyn.synthesis.selfplay.config import ENVIRONMENT_ARMS
from evosyn.synthesis.selfplay.feed import agreement, warnings_of
from evosyn.synthesis.selfplay.state import BEFORE, DraftFate, EnvironmentPool, PoolStep
from evosyn.synthesis.selfplay.worth import HIGH, LOW, alike_after, pressure, worth_of

FULL = ENVIRONMENT_ARMS["full"]
FIRST, SECOND = environments_named(["builtin:subset-sum", "builtin:brackets"])


def pool(arm: str = "full", *, by_student: bool = False, steps: int = 40, **rules: object) -> EnvironmentPool:
    config = CoevolutionConfig(recipe="evoenv", arm=arm, selfplay={"pool": rules})
    return EnvironmentPool(pool_plan(config, [FIRST, SECOND], StudentPlan(8, steps, 0), by_student=by_student))


def asked(state: EnvironmentPool, passed: dict[str, int]) -> PoolStep:
    """A step in which each environment has one group of four, of which so many are right."""
    from evosyn.environments.fresh import FreshRow

    rows = tuple(FreshRow(f"row-{name}", name, 3, name, "?", 0) for name in passed)
    state.fold(PoolStep(BEFORE, asked=rows)) if not state.asked else None
    return PoolStep(state.steps, tuple((f"row-{name}", count, 4) for name, count in passed.items()), asked=rows)


def test_ten_seeds_have_a_name_and_the_whole_is_the_arm_that_nobody_names() -> None:
    assert len(environments_named(["builtin:env-seeds"])) == len(SEEDS) == 10
    assert CoevolutionConfig(recipe="evoenv").arm == "full" and CoevolutionConfig().arm == "dejaq-a"
    assert list(ENVIRONMENT_ARMS) == ["full", "no-quality", "no-novelty", "no-review", "no-rotation", "self-label"]
    with pytest.raises(UsageError, match="--arm 'dejaq-a': one of full, no-quality"):
        pool("dejaq-a")


def test_a_draft_is_punished_below_l2_paid_nothing_below_l5_and_there_by_how_it_suits_the_student() -> None:
    bare = ENVIRONMENT_ARMS["no-novelty"]
    assert [worth_of(level, None, 0.5, 0.0, bare) for level in range(5)] == [-1, -1, 0, 0, 0]
    best, less, none = (worth_of(5, rate, 0.0, 0.0, bare) for rate in (0.3, 0.6, 1.0))
    assert best == 1 > less > none == 0
    assert worth_of(5, 1.0, 0.0, 0.0, ENVIRONMENT_ARMS["no-quality"]) == 1
    assert worth_of(5, None, 0.5, 0.0, FULL) is None  # that nobody could judge it is not the author's
    assert worth_of(5, None, 0.0, 0.0, ENVIRONMENT_ARMS["no-quality"]) == 1
    assert worth_of(1, None, 1.0, 0.0, FULL) == -1 and worth_of(2, None, 1.0, 0.0, FULL) == 0.4


def test_no_review_is_an_argument_of_a_reward() -> None:
    assert set(inspect.signature(worth_of).parameters) == {"level", "rate", "novelty", "alike", "arm"}


def test_novelty_counts_more_the_more_alike_drafts_are() -> None:
    assert (pressure(0.0), pressure(LOW), pressure(HIGH), pressure(1.0)) == (2, 2, 5, 5)
    assert alike_after(0.5, None) == 0.5 and alike_after(0.0, 1.0) == pytest.approx(0.1)


def test_an_answer_is_worth_what_most_say_and_what_cannot_be_read_nothing() -> None:
    said = ["<answer>4</answer>", "so <answer> 4 </answer>", "<answer>5</answer>", "hm"]
    assert agreement(said) == [1, 1, 0, 0] and agreement(["hm", "no"]) == [0, 0]


def test_what_is_solved_or_never_solved_at_two_looks_leaves_but_never_the_last() -> None:
    state = pool(epoch=1)
    state.fold(asked(state, {FIRST.id: 4, SECOND.id: 2}))
    assert state.active == [FIRST.id, SECOND.id]
    state.fold(asked(state, {FIRST.id: 4, SECOND.id: 0}))
    assert state.active == [SECOND.id] and state.members[FIRST.id].retired == "saturated"
    state.fold(asked(state, {SECOND.id: 0}))
    assert state.active == [SECOND.id]


def test_without_rotation_nothing_leaves() -> None:
    state = pool("no-rotation", epoch=1)
    for _ in range(3):
        state.fold(asked(state, {FIRST.id: 4, SECOND.id: 4}))
    assert len(state.active) == 2


def test_questions_come_from_where_the_student_learns_most() -> None:
    state = pool(memory=0.99, floor=0.001)
    for _ in range(200):
        state.fold(asked(state, {FIRST.id: 4, SECOND.id: 2}))
        state.rates.update({(FIRST.id, level): LevelRate(400.0, 400.0) for level in range(1, 6)})
    names = [name for name, _ in state.cells(200, 0)]
    assert names.count(SECOND.id) > 180


def test_a_draft_that_comes_in_is_a_member_and_may_be_shown() -> None:
    state, new = pool(), environments_named(["builtin:circuit"])[0]
    fate = DraftFate(0, 1, level=5, solved=2, known=8, environment=new.id, source=new.source)
    state.fold(PoolStep(0, drafts=(fate,)))
    assert state.arrived == [new.id] and state.rates[new.id, 3] == LevelRate(2, 8)
    for step in range(1, 30):
        state.fold(PoolStep(step))
    assert any(new.id in one.shown for one in state.launched) or state.steps == 30


def test_nothing_is_asked_for_that_could_not_be_trained_on() -> None:
    for by_student in (True, False):
        state = pool(by_student=by_student, steps=6)
        for step in range(6):
            state.fold(PoolStep(step))
        assert not state.launched and state.proposed == drafts_of(state._plan) > 0


def test_that_nothing_came_in_is_said() -> None:
    state = pool()
    state.fold(PoolStep(0, drafts=tuple(DraftFate(at, at, "band", "too-hard", 5) for at in range(16))))
    assert "none of 16 drafts came into the pool (16 x band: too-hard)" in warnings_of(state)[0]
