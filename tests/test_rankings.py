"""Rankings by shape: the same as a ranking for each problem, whichever way they were brought together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evosyn.rankings import RankingBlock, Rankings
from evosyn.records import Ranking

SHAPES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=9)


def single(shapes: list[tuple[int, int]]) -> list[Ranking]:
    rng = np.random.default_rng(1)
    return [Ranking(rng.random(m), rng.random(n)) for m, n in shapes]


@given(SHAPES)
def test_a_sequence_and_scores_in_a_row_come_to_the_same_rankings(shapes):
    one_by_one = single(shapes)
    flat = np.concatenate([np.zeros(0), *(scores for one in one_by_one for scores in one)])
    found = Rankings.of(one_by_one)
    assert found == Rankings.of_flat(flat, shapes) and Rankings.of(found) is found
    assert len(found) == len(shapes) and len(found.blocks) == len(set(shapes))
    for mine, ranking in zip(found, one_by_one, strict=True):
        assert all(np.array_equal(*both) for both in zip(mine, ranking, strict=True))
    assert [len(one.solution_scores_M) for one in found[1:]] == [m for m, _ in shapes[1:]]


def test_problems_of_one_shape_are_given_as_they_stand_or_in_any_other_order():
    found = Rankings.of(single([(2, 3), (3, 3), (2, 3), (2, 3)]))
    solutions, testings = found.at(np.array([0, 2, 3]), 3)
    assert solutions is found.blocks[0].solutions_BM and testings is found.blocks[0].testings_BN
    solutions, testings = found.at(np.array([3, 0]), 3)
    assert np.array_equal(solutions, found.blocks[0].solutions_BM[[2, 0]])
    assert np.array_equal(testings, found.blocks[0].testings_BN[[2, 0]])


def test_behind_a_narrower_problem_its_lowest_score_stands():
    found = Rankings.of(single([(2, 3), (2, 1), (4, 2), (2, 5)]))
    solutions, testings = found.at(np.array([3, 0, 1]), 6)
    for row, place in enumerate((3, 0, 1)):
        own = found[place]
        wide = [*own.testing_scores_N, *[own.testing_scores_N.min()] * (6 - len(own.testing_scores_N))]
        assert np.array_equal(solutions[row], own.solution_scores_M) and np.array_equal(testings[row], wide)


def test_rankings_differ_where_a_score_or_a_shape_does():
    one = Rankings.of(single([(2, 2), (2, 2)]))
    other = Rankings([RankingBlock(*(array.copy() for array in one.blocks[0]))])
    assert one == other != Rankings(()) and one != tuple(one)
    other.blocks[0].testings_BN[1, 1] += 1e-15
    assert one != other and one != Rankings.of(single([(2, 2), (2, 1)]))
