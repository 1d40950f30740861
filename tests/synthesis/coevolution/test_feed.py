"""A co-evolution as a feed: what its student is asked, what comes in, what is lost; the same after any kill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from evosyn.codec import dump
from evosyn.contracts import FeedContract
from evosyn.domains.math_answer import NAME
from evosyn.errors import BudgetSpent, UsageError
from evosyn.evolve.events import Fate
from evosyn.journal import Journal
from evosyn.ports import GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.reading.coevolution import CoevolutionReading
from evosyn.records import Json
from evosyn.running.ledger import Ledger
from evosyn.synthesis.coevolution.config import ARMS, CoevolutionConfig
from evosyn.synthesis.coevolution.feed import EvolvingProblems, FeedParts
from evosyn.synthesis.coevolution.seeds import OTHER, SeedProblems, seed_problems_of
from evosyn.synthesis.coevolution.state import (
    TRIES,
    Coevolution,
    CoevolutionPlan,
    CoevolutionStep,
    coevolution_steps,
)
from evosyn.synthesis.coevolution.under_way import MadeMutation
from evosyn.synthesis.recipes.dejaq import StudentPlan, check_coevolution
from tests.synthesis.coevolution.leading import PROMPTS, SEEDS, ScriptedMutator, lead, opened, outcomes
from tests.synthesis.feed_kills import killed_and_whole

STEPS = 24


class TestEvolvingProblems(FeedContract):
    """Without a teacher what comes in is a further seed; with one, see below."""

    @staticmethod
    def make(folder: Path) -> EvolvingProblems:
        config = CoevolutionConfig(arm="resample", seeds=6)
        seeds = SeedProblems(seed_problems_of(SEEDS))
        plan = CoevolutionPlan(config, seeds, SeedTree(3).child("coevolve"), 4, 100)
        return EvolvingProblems(FeedParts(plan, Journal(folder / "journal.jsonl")))


def journal_of(folder: Path) -> list[Json]:
    return [dump(one) for one in coevolution_steps(Journal(folder / "journal.jsonl")).standing()]


def state_of(feed: EvolvingProblems) -> Coevolution:
    return feed._state


@pytest.mark.parametrize("arm", ARMS)
def test_state_is_the_fold_of_the_journal_and_every_proposal_ends_in_one_way(arm: str, tmp_path: Path) -> None:
    with opened(tmp_path, arm=arm, steps=STEPS) as feed:
        lead(feed, STEPS)
        held, state, summary = feed.state(), state_of(feed), feed.summary()
    again = Coevolution(state._plan)
    for event in coevolution_steps(Journal(tmp_path / "journal.jsonl")).standing():
        again.fold(event)
    assert again.state() == held
    assert not state.launched and not state.waiting  # nothing is begun that could not be trained on
    proposed = [one for one in state.arrivals if one.newcomer.number >= 0]
    assert len(proposed) + state.lost.total() == state.proposed == summary["proposals"]
    assert summary["kept"] + sum(summary["dropped"].values()) == state.proposed
    assert (state.proposed > 0) == ARMS[arm].keeps
    assert bool(summary["mutants"]["tried"]) == ARMS[arm].mutates


def test_seeds_come_first_then_mutants_and_the_best_of_both_are_held(tmp_path: Path) -> None:
    with opened(tmp_path, steps=STEPS) as feed:
        rows = feed.rows(0, PROMPTS)
        assert len({row.task.row_id for row in rows}) == PROMPTS
        lead(feed, STEPS)
        state = state_of(feed)
        mutants = [slot for slot in state.curriculum.slots.values() if slot.depth]
        assert mutants
        for slot in mutants:
            problem = feed._seeds.problem(slot.candidate)
            assert problem.domain == NAME and problem.meta["setting"] == slot.cell
            assert slot.candidate.parents and problem.statement not in {one.statement for one in SEEDS}
        asked = [one.newcomer.candidate.id for one in state.arrivals]
        reported = {row for event in journal_of(tmp_path) for row, _, _ in event["groups"]}
        assert set(asked) <= reported  # nobody comes in without a group of its own


def test_a_quarter_of_a_batch_at_most_is_new_once_the_seeds_are_scored(tmp_path: Path) -> None:
    with opened(tmp_path, steps=STEPS) as feed:
        for step in range(STEPS):
            state, rows = state_of(feed), feed.rows(step, PROMPTS)
            new = [row for row in rows if row.task.row_id not in state.curriculum.slots]
            assert len(new) <= (PROMPTS if state.unscored else PROMPTS // 4 + len(state.renewals()))
            feed.report(step, outcomes(rows, step))


def test_seeds_renew_the_deepest_mutants_now_and_then(tmp_path: Path) -> None:
    config = {"curriculum": {"refresh_every": 6, "refresh_slots": 2}}
    with opened(tmp_path, steps=40, **config) as feed:
        lead(feed, 40)
        renewed = [one for one in state_of(feed).arrivals if one.newcomer.number < 0 and one.out]
    assert len(renewed) >= 4 and all(one.fate is Fate.NEW and one.step % 6 == 0 for one in renewed)


@pytest.mark.parametrize("lag", [1, 3])
def test_no_seed_is_drawn_that_is_held_waits_or_is_on_its_way(lag: int, tmp_path: Path) -> None:
    with opened(tmp_path, arm="resample", seeds=4, lag=lag, steps=STEPS) as feed:
        for step in range(10):
            state, rows = state_of(feed), feed.rows(step, PROMPTS)
            coming = [one.parent.id for one in state.launched] + [one.candidate.id for one in state.waiting]
            assert len({*coming, *state.curriculum.slots}) == len(coming) + len(state.curriculum.slots)
            feed.report(step, outcomes(rows, step))
        assert coming


def test_what_repeats_the_statement_of_another_seed_is_a_duplicate() -> None:
    (one,) = seed_problems_of(SEEDS[:1])
    seeds = SeedProblems([one, replace(one, problem_id="again", statement=one.statement.upper())])
    state = Coevolution(CoevolutionPlan(CoevolutionConfig(arm="resample"), seeds, SeedTree(0), 8, 40))
    state.fold(CoevolutionStep(0, tuple((row.id, 2, 4) for row in state.rows(0, 8))))
    assert sorted(one.fate for one in state.arrivals) == [Fate.DUPLICATE, Fate.NEW]


def test_what_nobody_could_judge_is_asked_again_and_then_given_up_without_a_score(tmp_path: Path) -> None:
    with opened(tmp_path, arm="resample", seeds=4, steps=STEPS) as feed:
        for step in range(TRIES):
            rows = feed.rows(step, 4)
            assert len(state_of(feed).unscored) == 4
            feed.report(step, [GroupOutcome(row.task.row_id, 0, 1) for row in rows])
        assert [one.fate for one in state_of(feed).arrivals] == [Fate.INVALID] * 4
        assert len(feed.rows(TRIES, 8)) == 8  # of an empty curriculum: seeds
        lead(feed, STEPS, TRIES)


def test_where_nobody_selects_the_oldest_of_a_full_cell_leaves(tmp_path: Path) -> None:
    with opened(tmp_path, arm="mutate-uniform", steps=60) as feed:
        lead(feed, 60)
        arrivals = [one for one in state_of(feed).arrivals if one.newcomer.number >= 0]
    assert {one.fate for one in arrivals} <= {Fate.NEW, Fate.DUPLICATE}
    assert any(one.out for one in arrivals)


@pytest.mark.parametrize("calls", [1, 16])
def test_the_journal_does_not_depend_on_how_many_calls_run_at_once_nor_on_their_speed(
    calls: int, tmp_path: Path
) -> None:
    for name, teacher in (("fast", ScriptedMutator(calls=4)), ("slow", ScriptedMutator(calls=calls, slow=0.02))):
        with opened(tmp_path / name, teacher, steps=STEPS) as feed:
            lead(feed, STEPS)
    assert journal_of(tmp_path / "fast") == journal_of(tmp_path / "slow")
    held = [Ledger(Journal(tmp_path / name / "mutations.jsonl"), MadeMutation).paid() for name in ("fast", "slow")]
    first, second = ({one.key: one.reply.text for one in found} for found in held)
    assert first == second


@pytest.mark.parametrize("failing", [0.3, 0.6])
def test_a_teacher_that_fails_now_and_then_loses_mutations_each_with_its_reason(failing: float, tmp_path: Path) -> None:
    teacher = ScriptedMutator(failing=failing)
    with opened(tmp_path, teacher, steps=STEPS) as feed:
        lead(feed, STEPS)
        summary = feed.summary()
    assert max(teacher.asked.values()) == 1
    assert summary["mutants"]["tried"] and (failing < 0.5 or summary["mutants"]["lost"])
    reasons = [reason.partition(":")[2] for reason in summary["wasted"]]
    assert "refused" in reasons
    assert summary["calls"] == teacher.asked.total()
    lost = Counter(one.lost for event in coevolution_steps(Journal(tmp_path / "journal.jsonl")).standing()
                   for one in event.mutations if one.lost)  # fmt: skip
    assert {name: count for name, count in summary["dropped"].items() if ":" in name} == lost


def test_a_teacher_that_talks_nonsense_is_said_and_the_run_goes_on_as_resample(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path, ScriptedMutator(nonsense=True), steps=40) as feed:
        lead(feed, 40)
        summary = feed.summary()
    assert summary["mutants"] == {"tried": 0, "kept": 0, "lost": summary["mutants"]["lost"]}
    assert summary["kept"] > 0  # further seeds
    assert "as `resample`" in summary["warnings"][0]
    assert len([one for one in caplog.records if "as `resample`" in one.message]) == 1


def test_what_is_spent_ends_a_run_that_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    first, second = ScriptedMutator(most=20), ScriptedMutator()
    with opened(tmp_path / "a", first, steps=STEPS) as feed, pytest.raises(BudgetSpent):
        lead(feed, STEPS)
    done = len(journal_of(tmp_path / "a"))
    assert 0 < done < STEPS
    with opened(tmp_path / "a", second, steps=STEPS) as feed:
        feed.rewind(done)
        lead(feed, STEPS, done)
        ended = feed.state()
    with opened(tmp_path / "b", steps=STEPS) as feed:
        lead(feed, STEPS)
        assert feed.state() == ended
    assert not first.asked.keys() & second.asked.keys()


def test_taken_back_it_asks_for_nothing_that_it_has(tmp_path: Path) -> None:
    with opened(tmp_path, steps=STEPS) as feed:
        lead(feed, STEPS)
        ended = feed.state()
    teacher = ScriptedMutator()
    with opened(tmp_path, teacher, steps=STEPS) as feed:
        feed.rewind(5)
        lead(feed, STEPS, 5)
        assert feed.state() == ended
    assert not teacher.asked


def test_a_mutant_too_long_for_the_student_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, steps=STEPS) as feed:
        feed._parts = feed._parts._replace(fits=lambda _: False)
        lead(feed, STEPS)
        assert set(state_of(feed).lost) >= {"mutant:too-long"} and not feed.summary()["mutants"]["tried"]


def test_an_answer_that_half_of_the_student_s_answers_speak_against_is_counted_and_kept(tmp_path: Path) -> None:
    said = ["\\boxed{-7}", "\\boxed{-7.0}", "hm", "\\boxed{5000001}"]
    with opened(tmp_path, steps=STEPS) as feed:
        for step in range(STEPS):
            texts = said if step % 2 else said[1:]
            found = outcomes(feed.rows(step, PROMPTS), step)
            feed.report(step, [one._replace(texts=tuple(texts)) for one in found])
        arrivals = state_of(feed).arrivals
        summary = feed.summary()
    assert {one.contested for one in arrivals if one.step % 2} == {True}
    assert {one.contested for one in arrivals if not one.step % 2} == {False}
    assert summary["contested"]["tried"] and summary["contested"]["kept"] <= summary["kept"]


def test_a_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path, steps=STEPS):
        pass
    with pytest.raises(UsageError, match="arm"), opened(tmp_path, arm="dejaq-s", steps=STEPS):
        pass


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (CoevolutionConfig(arm="none"), "--arm 'none': one of dejaq-a"),
        (CoevolutionConfig(recipe="none"), "--recipe 'none': one of dejaq, evoenv"),
        (CoevolutionConfig(curriculum={"ignore_top": 8}), "ignore_top 8: must be less than the 8 settings"),
    ],
)
def test_what_cannot_be_is_refused_by_name(config: CoevolutionConfig, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_coevolution(config, SEEDS, StudentPlan(8, 10, 0))


def test_seeds_of_no_setting_stand_apart_and_nothing_is_made_for_that() -> None:
    bare = [sample.__class__(**{**vars(sample), "meta": "{}"}) for sample in SEEDS]
    seeds = SeedProblems(check_coevolution(CoevolutionConfig(), bare, StudentPlan(8, 10, 0)))
    state = Coevolution(CoevolutionPlan(CoevolutionConfig(), seeds, SeedTree(0), 8, 40))
    for step in range(20):
        rows = [seeds.row(one) for one in state.rows(step, 8)]
        groups = tuple((one.row, one.passed, one.known) for one in outcomes(rows, step))
        state.fold(CoevolutionStep(step, groups, tuple(_lost(state))))
    assert {slot.cell for slot in state.curriculum.slots.values()} == {OTHER}
    assert all(one.target != OTHER for one in state.launched)


def _lost(state: Coevolution) -> Sequence[object]:
    from evosyn.synthesis.mutations.mutator import Mutation

    return [
        Mutation(one.number, one.parent.id, one.target, one.links, wasted=("setting:refused",)) for one in state.due()
    ]


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
def test_killed_at_random_instants_it_ends_in_the_same_state(kills: int, tmp_path: Path) -> None:
    module = "tests.synthesis.coevolution.leading"
    killed = killed_and_whole(module, tmp_path, kills=kills, steps=12 * kills, pause_s=0.3)
    keys = [tuple(one.key) for one in Ledger(Journal(killed / "mutations.jsonl"), MadeMutation).paid()]
    assert len(keys) == len(set(keys))


def test_a_run_is_told_as_simulated_once_something_was_made(tmp_path: Path) -> None:
    settings = CoevolutionConfig(seeds=16)
    told = {"seed": 3, "steps": STEPS, "rollout": {"prompts": PROMPTS}, "coevolution": settings.model_dump(mode="json")}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(told))
    with opened(tmp_path, steps=STEPS) as feed:
        lead(feed, 1)
        before = CoevolutionReading(tmp_path, "coevolve").simulated
        lead(feed, STEPS, 1)
        mutants = feed.summary()["mutants"]
    assert not before and mutants["tried"]
    assert CoevolutionReading(tmp_path, "coevolve").simulated
