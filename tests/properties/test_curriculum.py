"""A curriculum is the fold of its events, whatever they are; its draws depend on state and step alone."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.errors import UsageError
from evosyn.evolve.curriculum import (
    Curriculum,
    CurriculumConfig,
    CurriculumEvent,
    Offered,
    Trained,
    folded,
    learnability,
)
from evosyn.evolve.events import Fate
from evosyn.journal import Events, Journal
from evosyn.ports import GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Candidate

KINDS: dict[str, type[CurriculumEvent]] = {"offer": Offered, "train": Trained}
CELLS = tuple("abcd")
TEXTS = [f"problem {number}" for number in range(24)]
IDS = [Candidate(text).id for text in TEXTS]


def new(**options: float) -> Curriculum:
    return Curriculum(CurriculumConfig(**{"cell_size": 2, "ignore_top": 2, **options}), CELLS, SeedTree(7))


counts = st.integers(0, 6).flatmap(lambda known: st.tuples(st.integers(0, known), st.just(known)))
offers = st.builds(
    lambda number, cell, text, count, depth, out: Offered(number, cell, Candidate(text), *count, depth, out),
    st.integers(-1, 50), st.sampled_from(CELLS), st.sampled_from(TEXTS), counts, st.integers(0, 5),
    st.just("") | st.sampled_from(IDS),
)  # fmt: skip
groups = st.lists(st.tuples(st.sampled_from(IDS), counts), max_size=8, unique_by=lambda pair: pair[0])
steps = groups.map(lambda found: Trained(tuple(GroupOutcome(name, *count) for name, count in found)))
runs = st.lists(offers | steps, max_size=60)


@settings(max_examples=60)
@given(runs)
def test_no_cell_overflows_and_scores_stay_in_their_range(events: list[CurriculumEvent]) -> None:
    state = new()
    for event in events:
        state.fold(event)
        for cell in CELLS:
            assert sum(slot.cell == cell for slot in state.slots.values()) <= state.config.cell_size
        assert all(0 <= state.score(slot) <= 0.5 and slot.candidate.id == name for name, slot in state.slots.items())
        assert len({slot.words for slot in state.slots.values()}) == len(state.slots)


@settings(max_examples=30)
@given(runs, st.integers(0, 60))
def test_state_is_the_fold_of_what_the_journal_holds(
    tmp_path_factory: pytest.TempPathFactory, events: list[CurriculumEvent], cut: int
) -> None:
    journal = Journal(tmp_path_factory.mktemp("run") / "journal.jsonl")
    held = Events(journal, KINDS)
    held.begin({"kind": "test"})
    for event in events:
        held.append(event)
    journal.close()
    read = list(Events(Journal(journal.path), KINDS))
    assert read == events
    begun = folded(new(), read[:cut])
    assert folded(begun, read[cut:]).fingerprint() == folded(new(), events).fingerprint()


@settings(max_examples=60)
@given(runs, st.integers(1, 12), st.integers(0, 99))
def test_draws_depend_on_state_and_step_alone_and_change_nothing(
    events: list[CurriculumEvent], count: int, number: int
) -> None:
    state, other = folded(new(), events), folded(new(), events)
    other.slots = dict(reversed(other.slots.items()))  # the same state, that came about in another order
    before = state.fingerprint()
    if state.slots:
        for _ in range(2):
            batch = state.draw(count)
            assert batch == other.draw(count) and len(batch) == count
            assert len({slot.candidate.id for slot in batch}) == min(count, len(state.slots))
            assert state.parent(number) == other.parent(number)
    assert state.target(number) == other.target(number)
    assert state.fingerprint() == before


@settings(max_examples=60)
@given(runs, groups)
def test_what_has_no_new_outcomes_ages_and_what_has_takes_the_score_as_it_is(
    events: list[CurriculumEvent], found: list[tuple[str, tuple[int, int]]]
) -> None:
    state = folded(new(), events)
    before = {name: state.score(slot) for name, slot in state.slots.items()}
    state.fold(Trained(tuple(GroupOutcome(name, *count) for name, count in found)))
    seen = {name: learnability(*count) for name, count in found}
    for name, slot in state.slots.items():
        fresh = seen.get(name)
        assert state.score(slot) == pytest.approx(before[name] * state.config.decay if fresh is None else fresh)


@settings(max_examples=60)
@given(runs)
def test_without_age_and_renewal_the_weakest_of_a_full_cell_never_falls(events: list[CurriculumEvent]) -> None:
    state, weakest = new(decay=1.0), dict.fromkeys(CELLS, 0.0)
    for event in events:
        if isinstance(event, Trained) or event.out:
            continue
        state.fold(event)
        for cell in CELLS:
            scores = [state.score(slot) for slot in state.slots.values() if slot.cell == cell]
            if len(scores) == state.config.cell_size:
                assert min(scores) >= weakest[cell]
                weakest[cell] = min(scores)


@pytest.mark.parametrize("tries", [2, 3, 4, 5, 6])
def test_the_estimate_of_learnability_is_unbiased(tries: int) -> None:
    for chance in (Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        mean = Fraction(0)
        for outcome in itertools.product((0, 1), repeat=tries):
            passed = sum(outcome)
            score = learnability(passed, tries)
            assert score is not None
            exact = Fraction(passed * (tries - passed), tries * (tries - 1))
            assert score == float(exact)
            mean += chance**passed * (1 - chance) ** (tries - passed) * exact
        assert mean == chance * (1 - chance)


def test_what_is_offered_meets_its_fate() -> None:
    state = new(cell_size=1)
    offered = [Offered(at, "a", Candidate(text), passed, known) for at, (text, passed, known) in enumerate([
        ("one", 1, 8), ("ONE  ", 4, 8), ("two", 1, 1), ("two", 1, 8), ("two", 4, 8), ("three", 4, 8),
    ])]  # fmt: skip
    fates = [state.fold(event) for event in offered]
    assert fates == [Fate.NEW, Fate.DUPLICATE, Fate.INVALID, Fate.NOT_BETTER, Fate.IMPROVED, Fate.NOT_BETTER]
    (left,) = state.slots
    assert state.fold(Offered(-1, "b", Candidate("four"), 0, 8, 0, left)) is Fate.NEW
    assert [slot.cell for slot in state.slots.values()] == ["a"] and state.offered == len(fates)


def test_a_statement_of_nearly_the_same_words_repeats_one_of_its_cell_whatever_else_its_candidate_holds() -> None:
    state = Curriculum(CurriculumConfig(ignore_top=2), CELLS, SeedTree(7), lambda text: text.partition("|")[2])
    told = "A baker bakes 12 loaves each day and sells 9 of them; how many loaves are left after five days of work?"
    longer = f"{told} It is sunny."

    def offered(cell: str, text: str, out: str = "") -> Fate | None:
        return state.fold(Offered(-1, cell, Candidate(text), 4, 8, 0, out))

    assert offered("a", f"seed 1|{told}") is Fate.NEW
    assert offered("b", f"seed 2|{told.upper()}  ") is Fate.DUPLICATE  # the same words, in whatever cell
    assert offered("a", f"seed 3|{longer}") is Fate.DUPLICATE  # nearly the same, in its cell
    assert offered("b", f"seed 3|{longer}") is Fate.NEW
    assert offered("a", "seed 4|A baker sells 9 loaves; how many does he bake?") is Fate.NEW
    first = Candidate(f"seed 1|{told}").id
    assert offered("c", f"seed 5|{told} It rains.", first) is Fate.NEW and first not in state.slots  # it leaves


def test_targets_are_never_the_best_settings_and_parents_mostly_learnable_and_shallow() -> None:
    state = new()
    state.fold(Offered(-1, "a", Candidate("easy"), 8, 8))
    state.fold(Offered(-1, "b", Candidate("good"), 4, 8))
    state.fold(Offered(-1, "a", Candidate("deep"), 4, 8, 12))
    assert {state.target(number) for number in range(40)} == {"c", "d"}
    parents = [state.parent(number).candidate.text for number in range(200)]
    assert parents.count("good") > 150 > 40 > parents.count("deep") > parents.count("easy")


def test_at_least_one_setting_must_be_left_to_make_problems_for() -> None:
    with pytest.raises(UsageError, match="ignore_top 4"):
        new(ignore_top=4)


def test_renewals_are_due_at_their_steps_and_for_the_deepest() -> None:
    state = new(refresh_every=2, refresh_slots=1)
    state.fold(Offered(0, "a", Candidate("one"), 4, 8, 1))
    state.fold(Offered(1, "b", Candidate("two"), 4, 8, 3))
    assert state.renewed() == []
    state.fold(Trained(()))
    assert state.renewed() == []
    state.fold(Trained(()))
    (old,) = state.renewed()
    assert old.candidate.text == "two"
    state.fold(Offered(-1, "c", Candidate("seed"), 8, 8, 0, old.candidate.id))
    assert state.renewed() == [] and {slot.cell for slot in state.slots.values()} == {"a", "b"}


SEEDS, MUTANTS, BATCH, GROUP, STEPS = 48, 8, 16, 8, 80


def attempts(state: Curriculum, candidate: Candidate, rng: random.Random) -> int:
    """Right answers of a student whose skill rises by 0.05 a step, whatever it is given."""
    chance = 1 / (1 + math.exp(float(candidate.text.split()[-1]) - 0.05 * state.step))
    return sum(rng.random() < chance for _ in range(GROUP))


def next_event(state: Curriculum, harder: float | None) -> CurriculumEvent | None:
    """What comes next is a function of the state: problems of the seeds' kind or harder mutants of what is held."""
    number, rng = state.offered, state.tree.child("student", state.offered, state.step).random()
    if number < SEEDS + MUTANTS * state.step:
        cell, base, depth = rng.choice(CELLS), 0.0, 0
        if number >= SEEDS and harder is not None:
            parent = state.parent(number)
            cell, base, depth = (
                state.target(number),
                float(parent.candidate.text.split()[-1]) + harder,
                parent.depth + 1,
            )
        made = Candidate(f"problem {number} of difficulty {rng.gauss(base, 0.8)}")
        return Offered(number, cell, made, attempts(state, made, rng), GROUP, depth)
    if state.step >= STEPS:
        return None
    batch = [slot.candidate for slot in state.draw(BATCH)]
    return Trained(tuple(GroupOutcome(one.id, attempts(state, one, rng), GROUP) for one in batch))


def student_run(journal: Path, harder: float | None) -> tuple[Curriculum, list[CurriculumEvent]]:
    """A run that goes on where its journal ends."""
    state = new(cell_size=8)
    held = Events(Journal(journal), KINDS)
    held.begin({"kind": "test"})
    events = list(held)
    folded(state, events)
    while (event := next_event(state, harder)) is not None:
        held.append(event)
        state.fold(event)
        events.append(event)
    held.journal.close()
    return state, events


@pytest.mark.parametrize("kept", [0, 1, 57, 4000, 12345])
def test_a_run_that_was_killed_ends_as_one_that_was_not(tmp_path: Path, kept: int) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    state, _ = student_run(whole, harder=0.3)
    cut.write_bytes(whole.read_bytes()[:kept])
    assert student_run(cut, harder=0.3)[0].fingerprint() == state.fingerprint()
    assert cut.read_bytes() == whole.read_bytes()


def test_a_curriculum_keeps_to_what_its_student_can_learn_and_its_seeds_do_not(tmp_path: Path) -> None:
    signal = {}
    for name, harder in (("seeds", None), ("mutants", 0.3)):
        _, events = student_run(tmp_path / f"{name}.jsonl", harder)
        late = [event for event in events if isinstance(event, Trained)][STEPS * 2 // 3 :]
        groups = [0 < one.passed < one.known for event in late for one in event.outcomes]
        signal[name] = sum(groups) / len(groups)
    assert signal["mutants"] > 0.8 and signal["seeds"] < 0.5
