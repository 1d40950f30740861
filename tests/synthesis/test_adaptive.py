"""Adaptive spending: rounds, the rule to stop, and that a problem which grows to the end is that of a fixed run."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.dataset import read_dataset
from evosyn.pools import load_pools
from evosyn.randomness import SeedTree
from evosyn.records import PassMatrix, Ranking
from evosyn.synthesis.adaptive import AdaptiveConfig, Outlook, Size, outlook, rounds
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.prune import PruneConfig, decide


def look(passed_MN, **config):
    passed_MN = np.asarray(passed_MN, bool)
    matrix = PassMatrix("p", np.where(passed_MN, "P", "F").astype("<U1"))
    ranking = Ranking(passed_MN.sum(axis=1).astype(float), passed_MN.sum(axis=0).astype(float))
    return outlook(matrix, decide(matrix, ranking, PruneConfig(), SeedTree(0)), AdaptiveConfig(**config))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 10), st.floats(1.1, 4.0))
def test_rounds_grow_to_the_full_size(solutions, testings, start, growth):
    sizes = rounds(AdaptiveConfig(start=start, growth=growth), solutions, testings)
    assert sizes[-1] == Size(solutions, testings)
    assert all(a.solutions <= b.solutions and a.testings <= b.testings for a, b in itertools.pairwise(sizes))
    assert rounds(None, solutions, testings) == [Size(solutions, testings)]


def test_a_kept_problem_whose_testing_refuses_somebody_is_settled():
    assert look([[1, 0], [0, 0]]) is Outlook.SETTLED
    assert look([[1, 1, 0], [0, 0, 0]], support=2) is Outlook.SETTLED


@pytest.mark.parametrize(
    ("passed", "support"),
    [
        ([[1, 0, 0], [0, 0, 0]], 2),
        ([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 1], [1, 1, 0, 0]], 1),
        (np.zeros((4, 4)), 1),
        (np.ones((4, 4)), 1),
    ],
    ids=["one testing alone", "it refuses nobody", "nothing passes yet", "everything passes yet"],
)
def test_weak_evidence_stays_open(passed, support):
    assert look(passed, support=support) is Outlook.OPEN


@pytest.mark.parametrize("value", [0, 1])
def test_a_large_matrix_without_any_variation_is_hopeless(value):
    assert look(np.full((8, 8), value), give_up=8) is Outlook.HOPELESS
    assert look(np.full((8, 8), value), give_up=9) is Outlook.OPEN


FIXED = SynthesizeConfig(problems=30, solutions=12, testings=12)
ADAPTIVE = SynthesizeConfig.model_validate(
    {"problems": 30, "solutions": 12, "testings": 12, "sampling": {"adaptive": {"start": 3}}}
)


def test_a_problem_that_grows_to_the_end_has_the_candidates_of_a_fixed_run(toy, tmp_path):
    fixed, adaptive = toy.run(tmp_path / "f", FIXED), toy.run(tmp_path / "a", ADAPTIVE)
    assert adaptive["asked"] == fixed["asked"] == 30
    assert adaptive["calls"] < fixed["calls"]
    assert adaptive["executions"] < fixed["executions"]
    whole = {pool.problem.problem_id: pool for pool in load_pools(tmp_path / "f" / "candidates.jsonl")}
    grown = {pool.problem.problem_id: pool for pool in load_pools(tmp_path / "a" / "candidates.jsonl")}
    assert whole.keys() == grown.keys()
    for name, pool in grown.items():
        sources = [one.text for one in pool.solutions]
        assert sources == [one.text for one in whole[name].solutions][: len(sources)]
        testings = [one.id for one in pool.testings]
        assert testings == [one.id for one in whole[name].testings][: len(testings)]


def test_adaptive_runs_are_the_same_at_any_concurrency_and_after_a_stop(toy, make_teacher, tmp_path):
    from evosyn.errors import BudgetSpent

    toy.run(tmp_path / "a", ADAPTIVE)
    toy.run(tmp_path / "b", ADAPTIVE, make_teacher(jitter_s=0.003), 2)
    with pytest.raises(BudgetSpent):
        toy.run(tmp_path / "c", ADAPTIVE, make_teacher(jitter_s=0.003, stop_after=150))
    toy.run(tmp_path / "c", ADAPTIVE)
    rows = [read_dataset(tmp_path / name) for name in "abc"]
    assert rows[0] == rows[1] == rows[2] != []
