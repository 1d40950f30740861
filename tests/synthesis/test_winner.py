"""What the winner of a search is compared on, and what it is said to be."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from evosyn.errors import UsageError
from evosyn.evaluators.consistency import AS_RECORDED
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.heldout import Split, shown_tasks
from evosyn.records import Candidate, Elite, Evaluation
from evosyn.strategies import known_rules, load_known, unit_of
from evosyn.strategies.known import CONTROLS
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.seeds import Seeds
from evosyn.synthesis.search.winner import choose, started_from, strategy_file
from tests.synthesis import test_contest as scripted

TRAIN = [replace(scripted.matrix(number), problem_id=f"p{number}", statement=f"p{number}") for number in range(24)]
SHOWN = shown_tasks(one.problem_id for one in TRAIN)


class Found:
    """A search that ended with these programs."""

    def __init__(self, *candidates: Candidate, initial: tuple[Candidate, ...] = ()) -> None:
        self._found = [Elite(one, Evaluation(score=0.5)) for one in candidates]
        self.initial = [Elite(one, Evaluation(score=0.4)) for one in initial]

    def top(self, count: int) -> list[Elite]:
        return self._found[:count]


class Remembering(scripted.Scripted):
    """`told` knows the answers of what a prompt may have shown and counts elsewhere; known strategies count."""

    def _ranked(self, name, evidences):
        if name == "told":
            return tuple(
                scripted.knowing(one) if one.statement in SHOWN else scripted.counting(one) for one in evidences
            )
        return super()._ranked(name if name in scripted.PROGRAMS else "counting", evidences)


def chosen(state: Found, **proposers: object):
    config = EvolveConfig(scoring=scripted.SCORING, proposers=proposers)
    seeds = Seeds(Split(TRAIN, []), {}, simulated=False)
    return choose(state, Remembering(), seeds, config)


def test_answers_that_a_model_was_shown_win_nothing():
    assert len(SHOWN) == 8
    free, asked = chosen(Found(Candidate("told"))), chosen(Found(Candidate("told")), arms={"rewrite": 1.0})
    assert free.contest.passed and free.kind == "evolved" and free.contest.draws.problems == 24
    assert not asked.contest.passed and asked.kind == "known" and asked.contest.draws.problems == 16
    assert asked.contest.gain is not None and asked.contest.gain.mean == 0.0


@pytest.mark.parametrize(
    ("detail", "kind"), [({}, "evolved"), ({"opening": "gap"}, "opening"), ({"name": "mine.py"}, "start")]
)
def test_the_winner_is_told_from_what_the_search_began_with(detail, kind):
    assert chosen(Found(Candidate("inverse"), initial=(Candidate("knowing", detail=detail),))).kind == kind


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ({}, ""),
        ({"opening": "gap"}, "It is the opening gap, from which the search started: no evolved program was shown"),
        ({"name": "mine.py"}, "It is mine.py, from which the search started: no evolved program was shown"),
    ],
)
def test_the_file_of_a_winner_says_what_it_was_before_the_search(detail, said):
    found = Found(Candidate("inverse"), initial=(Candidate("knowing", detail=detail),))
    found.report = lambda: {"evaluations": 3}
    row = SimpleNamespace(name="evolved", interval=None, evaluation=Evaluation(score=0.5))
    board = SimpleNamespace(rows=[row], problems=["p"], config=ConsistencyConfig(unit="case"))
    text = strategy_file(chosen(found), found, SimpleNamespace(heldout=board, train=board), simulated=False)
    assert unit_of(text) == "case"
    assert said in text and ("It is" in text) is bool(said) and text.endswith("\n\nknowing")


def test_what_a_search_began_with_takes_no_place_of_what_it_made():
    begun = tuple(Candidate(text, detail={"opening": text}) for text in ("inverse", "evenly", "split"))
    found = Found(*begun, Candidate("knowing"), initial=begun)
    config = EvolveConfig(scoring=scripted.SCORING, finalists=1)
    choice = choose(found, Remembering(), Seeds(Split(TRAIN, []), {}, simulated=False), config)
    assert (choice.winner.text, choice.kind, choice.finalists) == ("knowing", "evolved", 4)


def test_the_luckiest_is_who_was_best_on_what_its_figure_is_of():
    with_views = Elite(Candidate("split"), Evaluation(score=0.6, metrics={AS_RECORDED: 0.3}))
    found = Found()
    found.top = lambda _: [with_views, Elite(Candidate("knowing"), Evaluation(score=0.5, metrics={AS_RECORDED: 0.4}))]
    assert chosen(found).luckiest == (Candidate("knowing").id, 0.4)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_wins_nothing_whoever_made_it(name):
    control = Candidate(load_known(name), detail={"idea": "a model's"})
    found = Found(control, Candidate("split"))
    assert chosen(found).winner.text not in (control.text, "split")
    assert control.id != chosen(found).luckiest[0] and name not in known_rules()
    with pytest.raises(UsageError, match=f"--start {name}: is a control"):
        started_from(EvolveConfig(start=("initial", name)))


def test_a_known_rule_is_one_whoever_proposed_it():
    assert chosen(Found(Candidate(load_known("codet")))).kind == "known"
