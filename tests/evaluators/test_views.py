"""A pool as it would be had only verdicts been recorded."""

import numpy as np

from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.evaluators.heldout import task_of, view_of
from evosyn.evaluators.views import UNRECORDED, plain, searched
from evosyn.records import PassMatrix
from evosyn.strategies.evidence import evidence_of, unknown

SCORING = ConsistencyConfig(M=6, N=4, draws=8)


def matrix(number: int, right: int, wrong: int, columns: int = 10, texts: bool = True) -> PassMatrix:
    """The first half of the testings says what the human one says, the second half the opposite."""
    truth = np.array([True] * right + [False] * wrong)
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
    some = [matrix(0, 6, 6), matrix(1, 6, 6, texts=False)]
    found = searched(some)
    assert [one.problem_id for one in found] == ["p0", "p1", f"p0 ({UNRECORDED})"]
    assert [task_of(one) for one in found] == ["p0", "p1", "p0"] and [bool(view_of(one)) for one in found] == [0, 0, 1]
    assert np.bincount(make_draws(found, SCORING).problem_E).tolist() == [8, 8, 4]
