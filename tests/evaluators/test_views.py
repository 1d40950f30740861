"""A pool as it would be had only verdicts been recorded, or only right solutions been drawn."""

from dataclasses import replace

import numpy as np
import pytest

from evosyn.evaluators.consistency import AS_RECORDED, SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.evaluators.heldout import pool_of, task_of, view_of
from evosyn.evaluators.views import ONLY_RIGHT, RIGHT_UNRECORDED, UNRECORDED, plain, right, searched
from evosyn.origins import Origin
from evosyn.ports import StrategyRunner
from evosyn.records import Candidate, PassMatrix
from evosyn.strategies.evidence import evidence_of, unknown

SCORING = ConsistencyConfig(M=6, N=4, draws=8)


def matrix(number: int, correct: int, wrong: int, columns: int = 10, texts: bool = True) -> PassMatrix:
    """The first half of the testings says what the human one says, the second half the opposite."""
    truth = np.array([True] * correct + [False] * wrong)
    passed = np.stack([truth == (column < columns // 2) for column in range(columns)], axis=1)
    told = {}
    if texts:
        told = {
            "solution_texts": tuple(f"solution {row}" for row in range(len(truth))),
            "testing_texts": tuple(f"testing {column}" for column in range(columns)),
            "values_NMC": tuple(np.ones((len(truth), 1), np.uint64) for _ in range(columns)),
        }
    return PassMatrix(f"p{number}", np.where(passed, "P", "F"), np.where(truth, "P", "F"), **told)


def test_without_texts_and_values_nothing_is_left_that_only_some_pools_record():
    (left,) = plain([matrix(0, 6, 6), matrix(1, 6, 6, texts=False)])
    assert left.problem_id == "p0", "the other is like that already"
    assert unknown(evidence_of(left)) >= {"values", "calls", "solution_similarity", "testing_similarity"}
    assert (left.verdicts_MN == matrix(0, 6, 6).verdicts_MN).all() and left.human_M is not None


def test_a_search_scores_what_is_left_as_problems_of_the_same_tasks_with_half_the_draws():
    some = [matrix(0, 5, 7), matrix(1, 5, 7, texts=False)]
    found = searched(some, 6)
    assert [one.problem_id for one in found] == ["p0", "p1", f"p0 ({UNRECORDED})"]
    assert [task_of(one) for one in found] == ["p0", "p1", "p0"] and [bool(view_of(one)) for one in found] == [0, 0, 1]
    assert np.bincount(make_draws(found, SCORING).problem_E).tolist() == [8, 8, 4]


def test_problems_with_enough_right_solutions_are_also_seen_without_the_wrong_ones():
    some = [matrix(0, 6, 6, texts=False), matrix(1, 5, 7, texts=False), matrix(2, 2, 10, texts=False)]
    (left,) = right(some, 6)
    assert left.problem_id == "p0" and left.verdicts_MN.shape == (6, 10) and set(left.human_M) == {"P"}
    assert [one.problem_id for one in right(some, None)] == ["p0", "p1", "p2"], "draws that take all need two"
    assert [view_of(one) for one in searched(some, 6)] == ["", "", "", ONLY_RIGHT]


def test_a_pool_whose_own_draws_hold_right_solutions_only_needs_no_view_of_them():
    often, seldom = [matrix(n, 11, 1, texts=False) for n in range(4)], [matrix(n, 6, 6, texts=False) for n in range(4)]
    assert right(often, 6) == [] and len(right(seldom, 6)) == 4
    named = [replace(one, origin=Origin(pool)) for pool, some in (("a", often), ("b", seldom)) for one in some]
    assert {pool_of(one) for one in right(named, 6)} == {"b"}, "each pool for itself"
    assert len(searched([matrix(n, 6, 6, texts=False) for n in range(20)], 6)) == 25, "a quarter, as most"


def test_a_problem_and_its_views_count_as_one_problem():
    draws = make_draws(searched([matrix(0, 7, 7), matrix(1, 5, 7), matrix(2, 5, 7, texts=False)], 6), SCORING)
    assert draws.originals_P == ("p0", "p1", "p2", "p0", "p1", "p0", "p0")
    assert draws.views_P[3:] == (UNRECORDED, UNRECORDED, ONLY_RIGHT, RIGHT_UNRECORDED)
    assert draws.shares_P.tolist() == pytest.approx([1 / 4, 1 / 2, 1, 1 / 4, 1 / 2, 1 / 4, 1 / 4])
    values = np.array([0.9, 0.4, 0.2, 0.3, 0.8, 0.6, 0.6])
    assert draws.mean(values) == pytest.approx((0.6 + 0.6 + 0.2) / 3)
    assert draws.mean(np.array([np.nan] * 7), default=0.5) == 0.5


ON_VALUES = """
def rank(evidence):
    equal = sum((one[:, None] == one[None, :]).sum((1, 2)) for one in evidence.values)
    return evidence.passed.sum(1) + equal, evidence.passed.sum(0)
"""
PLAIN = "def rank(evidence):\n    return evidence.passed.sum(1), evidence.passed.sum(0)\n"
BROKEN = "def rank(evidence):\n    return evidence.nothing\n"


def test_a_program_that_needs_values_is_scored_where_they_are_and_worth_nothing_where_not(runner: StrategyRunner):
    evaluator = SeedConsistency(runner, searched([matrix(0, 5, 7), matrix(1, 5, 7)], 6), SCORING)
    values, simple, broken = evaluator.evaluate([Candidate(text) for text in (ON_VALUES, PLAIN, BROKEN)])
    assert values.invalid is None and values.per_seed[2:] == (0.0, 0.0) and values.per_seed[:2] == simple.per_seed[:2]
    assert values.score == pytest.approx(sum(simple.per_seed[:2]) / 4)
    assert values.metrics[AS_RECORDED] == pytest.approx(sum(simple.per_seed[:2]) / 2)
    assert values.feedback[0].startswith(f"warning: it fails {UNRECORDED}, and is worth nothing there: TypeError")
    assert broken.invalid is not None and broken.score is None
