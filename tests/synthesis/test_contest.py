"""The contest for the winner: fresh draws, the same for all, as many as it takes; who is not shown better loses."""

from dataclasses import replace

import numpy as np
import pytest

from evosyn.errors import UsageError
from evosyn.evaluators.draws import ConsistencyConfig, DrawCount
from evosyn.evaluators.heldout import split_problems, task_of
from evosyn.evaluators.intervals import Strata, t_quantile
from evosyn.evaluators.views import ONLY_RIGHT, UNRECORDED
from evosyn.origins import Origin
from evosyn.records import Candidate, Invalid, PassMatrix, Ranking
from evosyn.synthesis.search.contest import DRAWING_ERROR, FIRST_BATCHES, MOST_BATCHES, decide
from evosyn.synthesis.search.fresh import BATCH, Scored, gain_of
from evosyn.synthesis.search.places import Behind, Places

SCORING = ConsistencyConfig(unit="testing", M=5, N=4, seed=3)


def matrix(number: int, rows: int = 12, columns: int = 8, pool: str = "") -> PassMatrix:
    """A problem whose durations tell the truth, for programs that may know it."""
    rng = np.random.default_rng(number)
    right = rng.random(rows) < 0.5
    right[:2] = True, False
    passed = np.where(rng.random((rows, columns)) < 0.75, right[:, None], rng.random((rows, columns)) < 0.5)
    passed[:, 0] = right
    told = np.repeat(right[:, None], columns, axis=1).astype(float)
    origin = Origin(pool, str(number)) if pool else Origin()
    human = np.where(right, "P", "F")
    return PassMatrix(f"{pool}/p{number}", np.where(passed, "P", "F"), human, durations_MN=told, origin=origin)


def counting(evidence):
    return Ranking(evidence.passed_MN.sum(1).astype(float), evidence.passed_MN.sum(0).astype(float))


def knowing(evidence):
    truth = evidence.durations_MN[:, 0]
    return Ranking(truth, (evidence.passed_MN == (truth > 0)[:, None]).sum(0).astype(float))


def inverse(evidence):
    return Ranking(*(-part for part in counting(evidence)))


def knowing_but_in_odd_problems(evidence):
    return knowing(evidence) if evidence.statement == "even" else inverse(evidence)


def knowing_even_problems(evidence):
    return knowing(evidence) if evidence.statement == "even" else counting(evidence)


def knowing_odd_problems_and_most(evidence):
    return knowing(evidence) if evidence.statement == "odd" or evidence.passed_MN.sum() % 3 else counting(evidence)


def knowing_odd_problems_alone(evidence):
    return knowing(evidence) if evidence.statement == "odd" else Invalid("it read what is unknown here")


PROGRAMS = {
    "counting": counting,
    "knowing": knowing,
    "inverse": inverse,
    "split": knowing_but_in_odd_problems,
    "evenly": knowing_even_problems,
    "mostly": knowing_odd_problems_and_most,
    "oddly": knowing_odd_problems_alone,
}


class Scripted:
    """Runs functions of this file by name; remembers how many draws it was shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def rank(self, programs, evidences, tasks=None):  # noqa: ARG002
        self.seen.append((len(programs), len(evidences)))
        return [self._ranked(text.split()[0], evidences) for text in programs]

    def _ranked(self, name, evidences):
        if name not in PROGRAMS:
            return Invalid("no such")
        found = tuple([PROGRAMS[name](one) for one in evidences])
        return next((one for one in found if isinstance(one, Invalid)), found)


def contest(finalists, known, matrices, runner=None, *, views=True, begun=()):
    texts = {name: name for name in known}
    tiers = [[Candidate(text, detail={"opening": text}) for text in begun], map(Candidate, finalists)]
    return decide(list(map(list, tiers)), texts, runner or Scripted(), matrices, SCORING, views=views)


MANY = [matrix(number) for number in range(12)]


def test_who_is_better_by_more_than_chance_wins_with_the_bound_that_shows_it():
    found = contest(["inverse", "knowing"], ["counting"], MANY)
    assert (found.winner, found.reference, found.passed) == ("knowing", "counting", True)
    assert found.gain is not None and 0 < found.gain.lower < found.gain.mean


def test_where_nobody_is_better_the_best_known_rule_is_the_winner():
    found = contest(["inverse", "inverse again", "counting # the same by another text"], ["counting", "inverse"], MANY)
    assert (found.winner, found.reference, found.passed) == ("counting", "counting", False)
    assert found.gain is not None and found.gain.mean == 0 and found.gain.drawing_error == 0


def test_draws_go_on_until_others_would_hardly_move_the_gain():
    runner = Scripted()
    found = contest(["knowing"], ["counting"], MANY, runner, views=False)
    assert found.gain is not None and FIRST_BATCHES * BATCH < found.draws.fresh <= MOST_BATCHES * BATCH
    assert found.gain.drawing_error < DRAWING_ERROR or found.draws.fresh == MOST_BATCHES * BATCH
    assert {draws for _, draws in runner.seen} == {BATCH * len(MANY)}


def test_all_programs_are_scored_on_the_same_draws_and_only_leaders_to_the_end():
    runner = Scripted()
    finalists = [f"inverse {number}" for number in range(30)] + [f"knowing {number}" for number in range(4)]
    contest(finalists, ["counting", "inverse"], MANY, runner, views=False)
    sizes = [size for size, _ in runner.seen]
    assert sizes[:FIRST_BATCHES] == [36, 36]
    assert sizes[FIRST_BATCHES : 2 * FIRST_BATCHES] == [2 + 2, 2 + 2] and set(sizes[2 * FIRST_BATCHES :]) == {1 + 2}


class LuckyAtFirst(Scripted):
    """Every program is as good as it can be while leaders are chosen."""

    def _ranked(self, name, evidences):
        choosing = len(self.seen) <= FIRST_BATCHES
        return super()._ranked("knowing" if name == "inverse" and choosing else name, evidences)


def test_what_made_a_program_a_leader_counts_for_nothing_in_its_gain():
    found = contest(["inverse"], ["counting"], MANY, LuckyAtFirst())
    assert found.gain is not None and found.gain.mean < -0.1 and found.winner == "counting"
    assert found.scored.scores_BP.shape[0] * BATCH == found.draws.fresh


def test_a_pool_of_just_the_size_of_a_draw_is_scored_once():
    small = [matrix(number, rows=5, columns=4) for number in range(6)]
    assert contest(["inverse"], ["counting"], small).draws == DrawCount(0, 6, 6)


def test_a_finalist_that_falls_behind_in_one_pool_does_not_win():
    pools = [replace(matrix(n, pool="one"), statement="even") for n in range(80)]
    pools += [replace(matrix(n, pool="two"), statement="odd") for n in range(90, 92)]
    found = contest(["split"], ["counting"], pools)
    assert found.gain is not None and found.gain.lower > 0 > found.gain.by_pool["two"]
    assert found.winner == "counting" and not found.passed
    assert "two" in found.held_back and found.held_back["two"].rule == "counting"


def test_who_is_no_worse_than_the_best_rule_of_any_pool_is_preferred_and_else_it_is_said():
    """The rule that is best in one pool lacks evidence in the other, so that over both it is none."""
    pools = [replace(matrix(n, pool="one"), statement="even") for n in range(40)]
    pools += [replace(matrix(n, pool="two"), statement="odd") for n in range(90, 100)]
    found = contest(["evenly", "mostly"], ["counting", "oddly"], pools)
    assert (found.winner, found.reference, found.behind) == ("mostly", "counting", {})
    alone = contest(["evenly"], ["counting", "oddly"], pools)
    assert (alone.winner, alone.passed, set(alone.behind)) == ("evenly", True, {"two"})
    assert alone.behind["two"].rule == "oddly" and alone.behind["two"].by > 0.05


def test_without_a_valid_known_rule_the_best_finalist_wins_and_without_any_it_is_said():
    found = contest(["inverse", "knowing"], ["broken"], MANY)
    assert (found.winner, found.reference, found.gain) == ("knowing", None, None)
    alone = contest(["counting"], ["counting", "inverse"], MANY)
    assert (alone.winner, alone.reference, alone.gain, alone.passed) == ("counting", "counting", None, False)
    with pytest.raises(UsageError, match="no program of the search is valid"):
        contest(["broken too"], ["broken"], MANY)


def test_the_error_of_a_gain_is_that_of_its_pools_and_of_drawing():
    rng = np.random.default_rng(0)
    one = Scored(rng.random((6, 40)), 0.5)
    other = Scored(np.zeros((6, 40)), 0.5)
    names = [f"task-{number}" for number in range(40)]
    gain = gain_of(one, other, Strata(["a"] * 40, names))
    gaps = one.scores_BP.mean(axis=0)
    assert gain.mean - gain.lower == pytest.approx(t_quantile(39) * gaps.std(ddof=1) / np.sqrt(40))
    assert gain.drawing_error == pytest.approx(np.sqrt((one.scores_BP.var(axis=0, ddof=1) / 6).sum()) / 40)
    apart = Scored(one.scores_BP + np.where(np.arange(40) < 20, 10.0, 0.0), 0.5)
    lower = [gain_of(apart, other, Strata(pools, names)).lower for pools in (["a"] * 20 + ["b"] * 20, ["a"] * 40)]
    assert lower[0] > lower[1]


def test_a_gain_on_one_problem_alone_is_none_whatever_rounding_leaves():
    names = [f"task-{number}" for number in range(40)]
    for count in range(3, 40):
        scores = np.zeros((6, count))
        scores[:, 0] = np.random.default_rng(count).random(6)
        gain = gain_of(Scored(scores, 0.5), Scored(np.zeros((6, count)), 0.5), Strata(["a"] * count, names[:count]))
        assert gain.bound <= 0


def test_a_task_of_two_pools_is_held_out_of_both_or_of_neither_and_every_pool_has_its_share():
    shared = [matrix(n, pool=pool) for n in range(10) for pool in ("one", "two")]
    alone = [matrix(n, pool="two") for n in range(20, 30)]
    split = split_problems([*shared, *alone], 0.4, seed=1)
    train, held = ({task_of(one) for one in side} for side in split)
    assert not train & held and len(split.heldout) == 4 + 4 + 4
    assert sum(one.problem_id.startswith("one") for one in split.heldout) == 4


def test_a_pool_without_other_draws_is_said_to_have_none() -> None:
    found = contest(["knowing"], ["counting"], [matrix(number, rows=5, columns=4) for number in range(12)])
    assert found.draws == DrawCount(0, 12, 12) and "the search saw" in str(found.draws)
    assert str(DrawCount(40, 0, 12)) == "40 fresh draws"


def test_of_a_pool_with_a_few_problems_that_have_one_draw_the_rest_is_drawn_anew_and_it_is_said() -> None:
    small = [matrix(number, rows=5, columns=4) for number in range(3)]
    found = contest(["knowing"], ["counting"], [*small, *[matrix(number) for number in range(3, 14)]])
    assert found.draws.fresh >= FIRST_BATCHES * BATCH and found.draws[1:] == (3, 14)
    assert "; 3 of 14 problems have one draw, which the search saw" in str(found.draws)


@pytest.mark.parametrize(
    ("others", "undecided"), [(0, "no draws but"), (7, "7 of 27 problems have draws that"), (8, "")]
)
def test_problems_whose_one_draw_the_search_saw_make_no_winner(others: int, undecided: str) -> None:
    seen = [replace(matrix(number, rows=5, columns=4), statement="even") for number in range(20)]
    rest = [replace(matrix(number), statement="odd") for number in range(20, 20 + others)]
    found = contest(["evenly"], ["counting"], [*seen, *rest])
    assert (found.winner, found.passed) == ("counting", False) and undecided in found.undecided
    assert bool(found.undecided) == bool(undecided)
    if not undecided:
        assert found.gain is not None and found.gain.mean == 0.0 and found.scored.scores_BP.shape[1] == others


def test_a_task_that_two_pools_have_counts_once_in_the_error_of_a_gain() -> None:
    """The same scores in both pools say as little as those of one."""
    scores = np.random.default_rng(0).random((6, 40))
    zero, names = np.zeros((6, 40)), [f"task-{number}" for number in range(40)]
    one = gain_of(Scored(scores, 0.5), Scored(zero, 0.5), Strata(["a"] * 40, names))
    twice = [Scored(np.concatenate([some, some], axis=1), 0.5) for some in (scores, zero)]
    both = gain_of(*twice, Strata(["a"] * 40 + ["b"] * 40, names * 2))
    assert (both.mean, both.lower) == pytest.approx((one.mean, one.lower)) and set(both.by_pool) == {"a", "b"}
    apart = gain_of(*twice, Strata(["a"] * 40 + ["b"] * 40, [*names, *[f"b/{name}" for name in names]]))
    assert apart.lower > both.lower


def knowing_where_texts_are(evidence):
    """Best where texts were recorded; nothing is left of it where they were not."""
    return knowing(evidence) if evidence.solution_texts else inverse(evidence)


def knowing_half_where_texts_are(evidence):
    return knowing(evidence) if evidence.solution_texts and evidence.passed_MN.sum() % 2 else counting(evidence)


PROGRAMS |= {"lost": knowing_where_texts_are, "modest": knowing_half_where_texts_are}


def test_who_is_left_with_nothing_where_texts_are_unknown_gives_way_to_who_is_better_with_them_and_as_good_without():
    texts = [replace(one, solution_texts=tuple(map(str, range(12)))) for one in MANY]
    alone = contest(["lost"], ["counting"], texts)
    assert (alone.winner, alone.passed) == ("counting", False) and alone.gain.lower > 0
    assert alone.held_back[UNRECORDED].rule == "counting" and alone.held_back[UNRECORDED].by > 0.2
    found = contest(["lost", "modest"], ["counting"], texts)
    assert found.winner == "modest" and UNRECORDED not in found.behind and found.gain.lower > 0
    assert not found.held_back
    assert contest(["lost"], ["counting"], texts, views=False).winner == "lost"


def knowing_unless_all_are_right(evidence):
    """It lets its testing reject what it ranks last, whatever that is."""
    return knowing(evidence) if not evidence.durations_MN.all() else inverse(evidence)


PROGRAMS |= {"strict": knowing_unless_all_are_right}


def test_who_falls_behind_where_all_solutions_are_right_does_not_win_though_hardly_any_draw_is_such():
    found = contest(["strict"], ["counting"], MANY)
    assert (found.winner, set(found.held_back)) == ("counting", {ONLY_RIGHT}) and found.gain.lower > 0
    assert found.held_back[ONLY_RIGHT].by > 0.2
    assert contest(["strict", "knowing"], ["counting"], MANY).winner == "knowing"
    assert contest(["strict"], ["counting"], MANY, views=False).winner == "strict"


def test_what_a_search_made_has_to_beat_the_best_of_what_it_started_from():
    """The best of thousands that fits these problems as well as the best of a few is the luckier one."""
    assert contest(["knowing", "mostly"], ["counting"], MANY).winner == "knowing"
    found = contest(["knowing for its own reasons"], ["counting"], MANY, begun=["inverse", "knowing"])
    assert (found.winner, found.reference, found.passed) == ("knowing", "counting", True)
    first, second = found.rounds
    assert (first.passed, second.passed, found.names[second.holder]) == (True, False, "opening knowing")
    assert found.gain == first.gain and (second.gain.mean, second.gain.bound) == (0.0, 0.0)
    known = contest(["counting in turn"], ["counting"], MANY, begun=["inverse"])
    assert (known.winner, known.passed, [one.holder for one in known.rounds]) == ("counting", False, ["counting"] * 2)


def test_of_known_rules_that_say_the_same_here_the_one_that_reads_more_is_the_best():
    """Without texts `codet_medoid` is `codet_gap`; with them it ties fewer."""
    rules = ["counting", "counting evidence.solution_similarity", "inverse evidence.values evidence.calls"]
    for known in (rules, rules[::-1]):
        assert contest(["inverse"], known, MANY).winner == rules[1]


PROGRAMS |= {
    "halfway": lambda evidence: (knowing if evidence.passed_MN.sum() % 2 else counting)(evidence),
    "texts": lambda evidence: (knowing if evidence.solution_texts else counting)(evidence),
}


def test_a_program_that_is_better_than_the_opening_that_holds_the_place_wins_and_its_gain_is_that_over_the_rule():
    found = contest(["knowing"], ["counting"], MANY, begun=["halfway"])
    assert found.winner == "knowing" and [one.passed for one in found.rounds] == [True, True]
    assert found.gain is not None and found.gain.mean > found.rounds[1].gain.mean > found.rounds[1].gain.lower > 0
    errors = [one.gain.drawing_error for one in found.rounds]
    assert max(errors) < DRAWING_ERROR or found.draws.fresh == MOST_BATCHES * BATCH


def test_a_program_that_is_behind_the_opening_in_one_place_does_not_take_its_place():
    texts = [replace(one, solution_texts=tuple(map(str, range(12)))) for one in MANY]
    assert contest(["texts"], ["counting"], texts).winner == "texts"
    found = contest(["texts"], ["counting"], texts, begun=["halfway"])
    second = found.rounds[1]
    assert (found.winner, second.passed, found.held_back) == ("halfway", False, {}) and second.gain.lower > 0
    assert second.held_back[UNRECORDED].rule == "opening halfway"


PROGRAMS |= {"other": lambda evidence: (counting if evidence.passed_MN.sum() % 2 else knowing)(evidence)}


def behind_where(monkeypatch, names, rule):
    """Programs of these names fall behind a rule in some place: `counting`, the best, or another."""
    behind = {"somewhere": Behind(rule, 0.02, 0.001)}
    falls = lambda text, *_: behind if text.split()[0] in names else {}  # noqa: E731
    monkeypatch.setattr(Places, "behind", lambda _, text: falls(text))
    if rule == "counting":
        monkeypatch.setattr(Places, "behind_rule", lambda _, text, __: falls(text))


def test_a_program_that_falls_shorter_of_other_rules_than_the_opening_that_won_for_that_does_not_take_its_place(
    monkeypatch,
):
    behind_where(monkeypatch, ("knowing",), "another")
    found = contest(["knowing again"], ["counting"], MANY, views=False, begun=["knowing", "halfway"])
    second = found.rounds[1]
    assert (found.winner, found.names[second.holder], second.passed) == ("halfway", "opening halfway", False)
    assert second.gain.lower > 0 and second.held_back["somewhere"].rule == "another"
    assert contest(["knowing again"], ["counting"], MANY, views=False, begun=["inverse"]).winner == "knowing again"


def test_openings_that_cannot_win_make_no_further_draws():
    alone = contest(["knowing"], ["counting"], MANY, views=False)
    beside = contest(["knowing"], ["counting"], MANY, views=False, begun=["inverse"])
    assert (beside.winner, beside.gain, beside.draws) == ("knowing", alone.gain, alone.draws)
    assert [one.passed for one in beside.rounds] == [False, True] and beside.rounds[0].gain.mean < -0.1


def test_draws_go_on_for_the_gain_over_the_opening_that_holds_the_place_whichever_it_is(monkeypatch):
    """One leads its tier and is held back; the gain over the one that wins varies more than that over the rule."""
    behind_where(monkeypatch, ("knowing",), "counting")
    more = [matrix(number) for number in range(24)]
    found = contest(["halfway"], ["counting"], more, views=False, begun=["knowing", "other"])
    second = found.rounds[1]
    assert found.names[second.holder] == "opening other" and second.leader == "halfway"
    assert second.gain.drawing_error < DRAWING_ERROR and found.draws.fresh < MOST_BATCHES * BATCH


class FragileLater(Scripted):
    """`knowing` fails on problems without texts, once leaders were chosen."""

    def _ranked(self, name, evidences):
        plain = not evidences[0].solution_texts
        if name == "knowing" and plain and sum(self.plain) > 2 * FIRST_BATCHES:
            return Invalid("division by zero")
        return super()._ranked(name, evidences)

    def rank(self, programs, evidences, tasks=None):
        self.plain = [*getattr(self, "plain", []), not evidences[0].solution_texts]
        return super().rank(programs, evidences, tasks)


def test_who_is_invalid_on_later_draws_of_a_view_is_worth_nothing_there():
    texts = [replace(one, solution_texts=tuple(map(str, range(12)))) for one in MANY]
    assert contest(["knowing"], ["counting"], texts).winner == "knowing"
    found = contest(["knowing"], ["counting"], texts, FragileLater())
    assert found.winner == "counting" and found.held_back[UNRECORDED].by > 0.3


class FailingLater(Scripted):
    """From some call on nothing but `lasting` runs any more, as on a machine that gives no time."""

    def __init__(self, calls: int, lasting: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._calls, self._lasting = calls, lasting

    def _ranked(self, name, evidences):
        if len(self.seen) > self._calls and name not in self._lasting:
            return Invalid("out of time")
        return super()._ranked(name, evidences)


@pytest.mark.parametrize("calls", [FIRST_BATCHES, FIRST_BATCHES + 1, FIRST_BATCHES + 3])
def test_what_was_drawn_before_stands_where_no_rule_runs_any_more(calls):
    found = contest(["knowing"], ["counting"], MANY, FailingLater(calls), views=False)
    assert (found.winner, found.reference, found.dropped) == ("knowing", "counting", {"counting": "out of time"})
    assert found.gain is not None and found.gain.mean > 0


def test_a_finalist_that_no_longer_runs_does_not_win_and_a_rule_that_falls_out_is_named():
    found = contest(["knowing"], ["counting"], MANY, FailingLater(FIRST_BATCHES, ("counting",)), views=False)
    assert (found.winner, found.passed, found.gain, found.dropped) == ("counting", False, None, {})
    found = contest(["knowing"], ["counting", "inverse"], MANY, FailingLater(2, ("knowing", "inverse")), views=False)
    assert (found.winner, found.reference, found.dropped) == ("knowing", "inverse", {"counting": "out of time"})
