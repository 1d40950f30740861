"""Islands, selection, schedule: asking is pure, migration and restart happen, arms are drawn by what they earn."""

from collections import Counter

import pytest
from _fingerprint import fingerprint
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.codec import dump, load
from evosyn.evolve import selection
from evosyn.evolve.archive import Archive
from evosyn.evolve.events import Committed, Fate, Step, Trial, committed
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.evolve.proposer_tally import Tally
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.ports import Axis
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Elite, Evaluation

AXES = (Axis("x", 0.0, 1.0, 10),)


def by_score(elite: Elite) -> tuple[float]:
    return (elite.evaluation.score or 0.0,)


def trial(
    number: int, score: float | None, x: float = 0.5, signature: str = "", parents: tuple[str, ...] = ()
) -> Trial:
    found = Evaluation(
        score, None if score is not None else "broken", (x,), per_seed=(score or 0.0,), signature=signature
    )
    return Trial(Candidate(f"n = {number}", parents), f"k{number}", found)


def started(**config) -> Archipelago:
    state = Archipelago(AXES, by_score, IslandsConfig(**config), SeedTree(3))
    state.commit(Step(-1, -1, "initial", None, (trial(0, 0.1),)))
    return state


def step(state: Archipelago, *trials: Trial, replies: tuple[str, ...] = ()) -> tuple[Fate, ...]:
    island = state.steps % len(state.islands)
    return state.commit(Step(state.steps, island, "arm", "p", trials, replies=replies))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=40), st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_asking_is_pure_and_depends_on_state_seed_and_number_alone(points, index):
    state = started()
    for number, (score, x) in enumerate(points, 1):
        step(state, trial(number, score, x))
    before = fingerprint(state)
    assert state.ask(index) == state.ask(index)
    assert fingerprint(state) == before


@given(
    st.lists(st.tuples(st.sampled_from([None, 0.2, 0.5, 0.9]), st.floats(0, 1), st.sampled_from("abc")), max_size=60)
)
@settings(max_examples=50, deadline=None)
def test_a_step_survives_its_way_to_the_journal_and_back(points):
    state = started(migrate_every=3, restart_after=2)
    again = Archipelago(AXES, by_score, state.config, state.seed)
    again.commit(Step(-1, -1, "initial", None, (trial(0, 0.1),)))
    for number, (score, x, signature) in enumerate(points, 1):
        made = Step(
            state.steps, state.steps % 4, "arm", "p", (trial(number, score, x, signature),), waste=None, cost=0.5
        )
        fates = state.commit(made)
        read = load(Committed, dump(committed(made, fates)))
        assert read.fates == fates == again.commit(read.step)
    assert fingerprint(again) == fingerprint(state)


def test_migration_sends_the_best_to_the_next_island():
    state = started(count=3, migrate_every=2, migrants=1)
    step(state, trial(1, 0.8, 0.95))
    step(state, trial(2, 0.7, 0.05))
    assert state.migrations == 1
    assert {elite.candidate.text for elite in state.islands[1]} >= {"n = 1", "n = 2"}
    assert {elite.candidate.text for elite in state.islands[2]} >= {"n = 2"}


def test_a_stagnant_island_starts_anew_but_the_record_forgets_nothing():
    state = started(count=2, migrate_every=1000, restart_after=3)
    step(state, trial(1, 0.9, 0.9))
    step(state, trial(2, 0.2, 0.2), trial(3, 0.15, 0.3))
    for number in range(4, 20):
        step(state, trial(number, 0.01, 0.5))
    assert state.restarts > 0
    assert "n = 2" not in {elite.candidate.text for elite in state.islands[1]}
    assert "n = 2" in {elite.candidate.text for elite in state.record}


def test_the_island_of_the_best_is_never_restarted():
    state = started(count=2, migrate_every=1000, restart_after=2)
    step(state, trial(1, 0.9, 0.9), trial(2, 0.3, 0.1))
    for number in range(3, 40):
        step(state, trial(number, 0.01, 0.5))
    assert {"n = 1", "n = 2"} <= {elite.candidate.text for elite in state.islands[0]}


def test_what_behaves_alike_takes_no_cell_and_is_told_back_where_it_was_paid_for():
    state = started()
    parent = state.initial[0].candidate.id
    assert step(state, trial(1, 0.5, 0.1, "same"), replies=("r",)) == (Fate.NEW,)
    assert step(state, trial(2, 0.5, 0.9, "same", (parent,)), replies=("r",)) == (Fate.SAME_BEHAVIOUR,)
    assert step(state, trial(3, 0.5, 0.9, "same", (parent,))) == (Fate.SAME_BEHAVIOUR,)
    told = state.ask(3).attempts
    assert [(one.outcome, one.parent) for one in told] == [("new", None), ("same-behaviour", parent)]
    assert state.ask(3, free=True).attempts == ()


def specialist(number: int, x: float, *per_seed: float) -> Trial:
    score = sum(per_seed) / len(per_seed)
    return Trial(Candidate(f"n = {number}"), f"k{number}", Evaluation(score, None, (x,), per_seed=per_seed))


def test_a_model_is_shown_the_best_of_all_and_what_wins_where_it_and_the_parent_lose():
    state = Archipelago(AXES, by_score, IslandsConfig(count=3, best=0.0, exploration=0.0), SeedTree(3))
    state.commit(Step(-1, -1, "initial", None, (specialist(0, 0.05, 0.3, 0.3, 0.3, 0.1),)))
    step(state, specialist(1, 0.25, 0.9, 0.9, 0.1, 0.1))
    step(state, specialist(2, 0.45, 0.1, 0.1, 0.9, 0.2))
    step(state, specialist(3, 0.65, 0.9, 0.1, 0.0, 0.1))
    step(state, specialist(4, 0.85, 0.0, 0.0, 0.0, 0.9))
    shown = set()
    for number in range(60):
        ask = state.ask(number)
        assert ask.top == state.top(1)
        texts = [elite.candidate.text for elite in ask.inspirations]
        assert len(set(texts)) == len(texts)
        assert ask.parent not in ask.inspirations
        assert ask.top[0] not in ask.inspirations
        if ask.parent.candidate.text == "n = 1":
            shown.update(texts)
    assert shown == {"n = 2"}  # "n = 3" adds nothing, "n = 4" is worse than what the search began from
    assert state.ask(1).reached == (0.9, 0.9, 0.9, 0.9)


def test_an_attempt_says_what_it_won_and_lost_against_its_parent():
    state = Archipelago(AXES, by_score, IslandsConfig(count=1), SeedTree(3))
    state.commit(Step(-1, -1, "initial", None, (specialist(0, 0.05, 0.3, 0.3, 0.3),)))
    parent = state.initial[0].candidate
    made = specialist(1, 0.5, 0.9, 0.31, 0.1)
    candidate = Candidate("n = 1", (parent.id,), detail={"idea": "weigh more"})
    step(state, Trial(candidate, "k1", made.evaluation), replies=("r",))
    step(state, trial(2, None, parents=(parent.id,)), replies=("r",))
    first, second = state.ask(5).attempts
    assert (first.idea, first.outcome, first.won, first.lost, first.parent) == ("weigh more", "new", 1, 1, parent.id)
    assert (second.score, second.outcome) == (None, "invalid: broken")
    assert state.why_invalid("k2") == "broken"
    assert state.why_invalid("k1") is None


def test_what_a_model_has_just_written_is_what_the_free_proposal_after_it_is_about():
    state = started()
    for number in range(1, 10):
        step(state, trial(number, 0.5, number / 10))
    step(state, trial(50, 0.05, 0.5), replies=("r",))
    asked = state.ask(17, free=True, around=True)
    assert (asked.parent.candidate.text, asked.around) == ("n = 50", True)
    for number in range(100):
        others = state.ask(number, free=True), state.ask(number)
        assert not any(one.around or one.parent.candidate.text == "n = 50" for one in others)
    step(state, trial(51, 0.05, 0.6))
    assert state.fresh is None


@pytest.mark.parametrize(
    ("paid", "search"),
    [(trial(50, None), "evolve"), (trial(1, 0.5), "evolve"), (trial(50, 0.4), "iid")],
    ids=["invalid", "a duplicate", "of a baseline"],
)
def test_no_burst_is_about_a_text_that_is_invalid_a_duplicate_or_of_a_baseline(paid, search):
    state = started(search=search)
    step(state, trial(1, 0.5))
    step(state, paid, replies=("r",))
    assert state.fresh is None and not state.ask(9, free=True, around=True).around


@pytest.mark.parametrize(("search", "expected"), [("iid", "n = 0"), ("sequential", "n = 3"), ("hillclimb", "n = 2")])
def test_baselines_choose_their_parent_and_get_no_inspirations(search, expected):
    state = started(search=search)
    for number, score in ((1, 0.3), (2, 0.9), (3, 0.2)):
        step(state, trial(number, score, number / 10))
    asks = [state.ask(number) for number in range(30)]
    assert {ask.parent.candidate.text for ask in asks} == {expected}
    assert all(not ask.inspirations and not ask.top for ask in asks)


def test_lexicase_makes_parents_of_specialists():
    archive = Archive((Axis("x", 0.0, 1.0, 10),), by_score)
    for place, per_seed in enumerate([(0.6, 0.6, 0.6), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 0.5)]):
        score = sum(per_seed) / 3
        archive.add(Elite(Candidate(f"n = {place}"), Evaluation(score, None, (place / 10,), per_seed=per_seed)))
    seed = SeedTree(1)
    drawn = Counter(selection.lexicase(archive, seed.child(number).random()).candidate.text for number in range(300))
    assert set(drawn) == {"n = 0", "n = 1", "n = 2"}
    by_rank = Counter(selection.by_rank(archive, seed.child(number).random()).candidate.text for number in range(300))
    assert by_rank.most_common(1)[0][0] == "n = 0"


def draws(schedule: Schedule, tallies: dict[str, Tally], count: int = 2000) -> Counter:
    return Counter(schedule.choose(number, tallies) for number in range(count))


def test_arms_are_drawn_by_weight():
    found = draws(Schedule([Arm("a", 3.0), Arm("b", 1.0)], SeedTree(1)), {})
    assert 0.70 < found["a"] / 2000 < 0.80


def test_the_bandit_prefers_what_earns_more_and_costs_less_and_leaves_free_arms_alone():
    arms = [Arm("good", 1.0), Arm("poor", 1.0), Arm("dear", 1.0), Arm("genetic", 3.0, free=True)]
    tallies = {
        "good": Tally(proposals=100, fates={"new": 60}, cost=1.0),
        "poor": Tally(proposals=100, fates={"new": 5}, cost=1.0),
        "dear": Tally(proposals=100, fates={"new": 60}, cost=20.0),
        "genetic": Tally(proposals=100, fates={"new": 1}),
    }
    found = draws(Schedule(arms, SeedTree(1), bandit=True), tallies)
    assert 0.45 < found["genetic"] / 2000 < 0.55
    assert found["good"] > 1.8 * found["poor"] and found["good"] > 1.8 * found["dear"]
    assert found["poor"] > 20


def test_where_it_must_cost_nothing_a_free_arm_is_drawn_if_there_is_one():
    arms = [Arm("dear", 9.0), Arm("genetic", 3.0, free=True), Arm("retune", 1.0, free=True)]
    schedule = Schedule(arms, SeedTree(1), bandit=True)
    found = Counter(schedule.choose(number, {}, free=True) for number in range(400))
    assert found.keys() == {"genetic", "retune"} and 0.65 < found["genetic"] / 400 < 0.85
    assert Schedule(arms[:1], SeedTree(1)).choose(3, {}, free=True) == "dear"


def test_a_new_arm_is_tried():
    arms = [Arm("old"), Arm("new")]
    found = draws(Schedule(arms, SeedTree(1), bandit=True), {"old": Tally(proposals=500, fates={"new": 50}, cost=5.0)})
    assert found["new"] > found["old"]


@pytest.mark.parametrize("how", ["fitness", "lexicase"])
def test_parents_are_chosen_as_the_configuration_says(how):
    state = started(count=1, selection=how, migrate_every=1000)
    for number, per_seed in enumerate([(0.6, 0.6, 0.6), (0.9, 0.0, 0.0), (0.0, 0.9, 0.0), (0.5, 0.5, 0.5)], 1):
        found = Evaluation(sum(per_seed) / 3, None, (number / 10,), per_seed=per_seed, signature=str(number))
        step(state, Trial(Candidate(f"n = {number}"), f"k{number}", found))
    drawn = Counter(state.ask(index).parent.candidate.text for index in range(200))
    specialists, average = drawn["n = 2"] + drawn["n = 3"], drawn["n = 4"]
    assert (specialists > average) == (how == "lexicase"), drawn
