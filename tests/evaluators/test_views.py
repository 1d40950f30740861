"""Views of a pool: what other pools would show of its problems, made from verdicts that are there."""

import numpy as np
import pytest

from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.evaluators.heldout import task_of, view_of
from evosyn.evaluators.views import FEWEST, UNRECORDED, searched, unrecorded, views
from evosyn.evaluators.views import MOSTLY_RIGHT as RIGHT
from evosyn.evaluators.views import MOSTLY_WRONG as WRONG
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
    plain = unrecorded(matrix(0, 6, 6))
    assert plain is not None
    assert unknown(evidence_of(plain)) >= {"values", "calls", "solution_similarity", "testing_similarity"}
    assert (plain.verdicts_MN == matrix(0, 6, 6).verdicts_MN).all() and plain.human_M is not None
    assert unrecorded(matrix(0, 6, 6, texts=False)) is None, "it is like that already"


def test_a_search_scores_what_is_left_as_problems_of_the_same_tasks_with_half_the_draws():
    some = [matrix(0, 6, 6), matrix(1, 6, 6, texts=False)]
    found = searched(some)
    assert [one.problem_id for one in found] == ["p0", "p1", f"p0 ({UNRECORDED})"]
    assert [task_of(one) for one in found] == ["p0", "p1", "p0"] and [bool(view_of(one)) for one in found] == [0, 0, 1]
    assert np.bincount(make_draws(found, SCORING).problem_E).tolist() == [8, 8, 4]


@pytest.mark.parametrize(("name", "share", "testings"), [(RIGHT, 2 / 3, range(5)), (WRONG, 1 / 3, range(5, 10))])
def test_mostly_right_and_mostly_wrong_have_two_of_three_and_the_half_of_the_testings_that_goes_with_them(
    name, share, testings
):
    pool = [matrix(number, 8, 8) for number in range(FEWEST)]
    found = views(pool, SCORING)[name]
    for one, whole in zip(found, pool, strict=True):
        assert np.mean(one.human_M == "P") == pytest.approx(share)
        assert [whole.testing_texts.index(text) for text in one.testing_texts] == list(testings)
        rows = [whole.solution_texts.index(text) for text in one.solution_texts]
        assert (one.verdicts_MN == whole.verdicts_MN[np.ix_(rows, list(testings))]).all()
    again = views(pool, SCORING)[name]
    assert all((one.verdicts_MN == other.verdicts_MN).all() for one, other in zip(found, again, strict=True))


def test_what_is_like_that_already_or_too_small_is_in_no_view():
    mostly_right, small = matrix(0, 8, 3), matrix(1, 3, 8)
    assert RIGHT not in views([mostly_right] * FEWEST, SCORING)
    assert RIGHT not in views([small] * FEWEST, SCORING), "3 right and 2 wrong are fewer than M"
    assert WRONG not in views([matrix(2, 8, 0)] * FEWEST, SCORING), "without a wrong solution none can be most"
    assert not views([matrix(3, 8, 8)] * (FEWEST - 1), SCORING), "a view of three problems says nothing"
    unjudged = PassMatrix("p", np.full((8, 8), "P"), None)
    assert not views([unjudged] * FEWEST, SCORING)
