"""The recipe of a search: which problems are used, how they are split, who wins, what a resumed run finds."""

import gzip
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evolve.events import Committed, Continued, events_of
from evosyn.evolve.stopping import StopConfig
from evosyn.matrices import write_matrices
from evosyn.reading.search import SearchReading
from evosyn.records import Evaluation, Invalid, PassMatrix, Ranking
from evosyn.rundir import RunDir
from evosyn.synthesis.recipes.strategy import run_evolve
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.inputs import Source, select
from evosyn.synthesis.search.trial import run_trial
from evosyn.synthesis.search.winner import _tied
from evosyn.workbench import Workbench

SCORING = ConsistencyConfig(M=5, N=4, draws=2)
OLD = Path(__file__).parents[1] / "golden" / "evolve_v1"
CONFIG = EvolveConfig(scoring=SCORING, stop=StopConfig(evaluations=60), finalists=10)


def matrix(number: int, rows: int = 8, columns: int = 6, solvable: bool = True) -> PassMatrix:
    rng = np.random.default_rng(number)
    right = (rng.random(rows) < 0.5) & solvable
    right[0], right[1] = solvable, False
    good = rng.random(columns) < 0.5
    chance = np.where(good[None, :], np.where(right[:, None], 0.95, 0.1), 0.9)
    verdicts = np.where(rng.random((rows, columns)) < chance, "P", "F")
    return PassMatrix(f"problem-{number}", verdicts, human_M=np.where(right, "P", "F"))


class InProcess:
    """Runs the programs of this test (all of them ours) without a sandbox."""

    def rank(self, programs, evidences):
        return [self._one(program, evidences) for program in programs]

    def _one(self, program, evidences):
        class Shown:
            def __init__(self, one):
                self.passed, self.cases, self.known = one.passed_MN, list(one.cases_NMC), one.known_MN
                self.solution_texts = self.testing_texts = ()

        scope: dict = {}
        try:
            exec(program, scope)
            return tuple(Ranking(*(np.asarray(part, float) for part in scope["rank"](Shown(one)))) for one in evidences)
        except (ValueError, TypeError, NameError, AttributeError, IndexError) as error:
            return Invalid(str(error))


def workbench() -> Workbench:
    made = Workbench()
    made.runner = InProcess()
    return made


def accepting(number):
    found = matrix(number)
    return replace(found, human_M=np.full_like(found.human_M, "P"))


def test_human_testings_that_accept_every_solution_are_named():
    seeds = select([matrix(n) for n in range(8)] + [accepting(8)], CONFIG, simulated=False)
    assert seeds.untelling == (accepting(8).problem_id,)


def test_small_problems_are_left_out_and_counted():
    seeds = select([matrix(n) for n in range(8)] + [matrix(20, rows=4), matrix(21, columns=3)], CONFIG, simulated=False)
    assert len(seeds.split.train) + len(seeds.split.heldout) == 8
    assert seeds.skipped == {"smaller than 5 x 4": 2}


def test_the_split_does_not_depend_on_the_order_of_the_file():
    many = [matrix(n) for n in range(12)]
    first = select(many, CONFIG, simulated=False).split
    random.Random(1).shuffle(many)
    second = select(many, CONFIG, simulated=False).split
    assert {one.problem_id for one in first.heldout} == {one.problem_id for one in second.heldout}


@pytest.mark.parametrize(
    ("many", "said"),
    [
        ([matrix(n, rows=4) for n in range(9)], "-M 4 -N 4"),
        ([matrix(n, columns=3) for n in range(9)], "-M 5 -N 3"),
        ([matrix(n) for n in range(3)], "bring more"),
        ([matrix(n, solvable=False) for n in range(9)], "no solution of any problem"),
        ([replace(matrix(n), human_M=None) for n in range(9)], "9 of 9 problems have no human testing"),
        ([accepting(n) for n in range(9)], "the human testing of every problem accepts all of its solutions"),
    ],
)
def test_what_cannot_work_is_said_with_what_would(many, said):
    with pytest.raises(UsageError, match=said):
        select(many, CONFIG, simulated=False)


def test_a_problem_without_a_human_testing_is_named(tmp_path):
    pools = load_pools("builtin:python-seeds")[:1]
    path = tmp_path / "seeds.jsonl"
    line = {
        "problem_id": "mine",
        "domain": "python-function",
        "statement": "Add.",
        "entry_point": pools[0].problem.payload.get("entry_point"),
    }
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(UsageError, match=r"seeds.jsonl:1: field 'human_testing'.*'mine'"):
        Source(str(path)).check()


def test_tied_means_within_half_a_standard_error_of_the_paired_difference():
    best = Evaluation(0.6, per_seed=(1.0, 1.0, 1.0, 0.0, 0.0))
    assert _tied(best, best)
    assert _tied(best, Evaluation(0.58, per_seed=(0.0, 1.0, 1.0, 0.9, 0.0)))
    assert not _tied(best, Evaluation(0.5, per_seed=(0.9, 0.9, 0.9, 0.0, 0.0)))


def test_a_trial_gives_the_same_result_twice_and_scores_the_others_beside_it():
    many = [matrix(n) for n in range(12)]
    simple = "def rank(e):\n    return e.passed.sum(1), e.passed.sum(0)\n"
    one, two = (run_trial(CONFIG, many, workbench(), others={"simple": simple}) for _ in range(2))
    assert one.choice.winner == two.choice.winner and one.heldout == two.heldout
    assert one.heldout["simple"].score is not None and 0 <= one.score <= one.oracle <= 1


@pytest.mark.slow
def test_the_winner_beats_the_initial_strategy_where_it_can(tmp_path):
    source = tmp_path / "m.jsonl"
    write_matrices(source, [matrix(n) for n in range(40)])
    config = CONFIG.model_copy(update={"stop": StopConfig(evaluations=300)})
    report = run_evolve(config, Source(str(source)), tmp_path / "out", workbench())
    assert report["beats_initial"] and report["best"]["heldout_score"] > report["initial"]["heldout_score"] + 0.1
    again = run_evolve(config, Source(str(source)), tmp_path / "out", workbench())
    assert {**again, "wall_s": 0} == {**report, "wall_s": 0}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A run directory whose journal is of version 1: two islands, a genetic and a model's proposer, 16 proposals."""
    shutil.copytree(OLD, tmp_path / "old")
    (tmp_path / "old" / "journal.jsonl").write_bytes(gzip.decompress((OLD / "journal.jsonl.gz").read_bytes()))
    return tmp_path / "old"


def test_the_state_of_an_old_run_is_what_it_was(old):
    state = SearchReading(old, "evolve").state
    assert state.fingerprint() == "e8f9b7f5b2e6ea5851115a12a102ca4dd793d7417cb6e04a1266fd3be867ca56"
    assert state.best is not None and state.best.candidate.id == "c_50917d732e2280e3"
    assert (state.evaluations, len(state.record), state.migrations) == (31, 20, 2)


def test_an_old_run_goes_on_in_the_dialect_of_today(old):
    events = events_of(RunDir(old).journal)
    before, header = list(events), events.header()
    events.append(Continued(3), sync=True)
    again = events_of(RunDir(old).journal)
    assert (list(again), again.header()) == ([*before, Continued(3)], header)
    assert header["kind"] == "evolve" and isinstance(before[0], Committed) and len(before) == 18
    assert again.at(next(at for at, event in again.positions() if event == Continued(3))) == Continued(3)


def test_the_command_of_an_old_run_takes_it_up_and_another_does_not(old):
    class Unasked:
        name, simulated = "scripted", True

    class Asking(Workbench):
        has_model, runner = True, InProcess()

        def teacher(self, model=None):  # noqa: ARG002
            return Unasked()

    config = EvolveConfig(**yaml.safe_load((old / "config.yaml").read_text()))
    source, before = Source(str(old / "matrices.jsonl")), (old / "journal.jsonl").read_bytes()
    assert run_evolve(config, source, old, Asking())["stopped"] == "proposals"
    assert (old / "journal.jsonl").read_bytes() == before
    other = config.model_copy(update={"islands": config.islands.model_copy(update={"count": 3})})
    with pytest.raises(UsageError, match=r"islands.count: 2 there, 3 asked for"):
        run_evolve(other, source, old, Asking())
