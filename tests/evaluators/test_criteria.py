"""Seed consistency against brute force: every order inside tied groups is enumerated on small cases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from evosyn.evaluators.criteria import Outcome, judge, looked_at, oracle, reachable
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.records import PassMatrix

letters = st.sampled_from("PF")


@st.composite
def ranked_matrices(draw: st.DrawFn) -> tuple[PassMatrix, list[int], list[int]]:
    rows, columns = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    verdicts = np.array([[draw(st.sampled_from("PFU")) for _ in range(columns)] for _ in range(rows)])
    verdicts[0, 0] = draw(letters)  # where nothing is known nothing is scored
    human = np.array([draw(letters) for _ in range(rows)])
    solution_scores = [draw(st.integers(0, 2)) for _ in range(rows)]
    testing_scores = [draw(st.integers(0, 1)) for _ in range(columns)]
    return PassMatrix("p", verdicts, human), solution_scores, testing_scores


def orders(scores: list[int]) -> Iterator[tuple[int, ...]]:
    """All orders, best first, that agree with the scores."""
    for order in itertools.permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            yield order


def holds(matrix: PassMatrix, order: tuple[int, ...], testing: int, k: int, criterion1: bool) -> bool:
    assert matrix.human_M is not None
    k = min(k, len(order))
    if criterion1 and matrix.human_M[order[0]] != "P":
        return False
    return all(matrix.verdicts_MN[m, testing] == matrix.human_M[m] for m in (*order[:k], *order[-k:]))


def judged(
    matrix: PassMatrix, solution_scores: ArrayLike, testing_scores: ArrayLike, config: ConsistencyConfig
) -> Outcome:
    """What scores of a whole matrix come to; they are in its own order, which is not that of the draw."""
    draws = make_draws([matrix], config)
    (picked,), (block,) = draws.picked_E, draws.blocks
    solutions, testings = (np.asarray(scores, float) for scores in (solution_scores, testing_scores))
    return judge(block, solutions[None, picked.rows_M], testings[None, picked.columns_N], config)


@settings(max_examples=150, deadline=None)
@given(ranked_matrices(), st.integers(1, 3), st.booleans())
def test_expected_ties_equal_the_mean_over_every_order(
    case: tuple[PassMatrix, list[int], list[int]], k: int, criterion1: bool
) -> None:
    matrix, solution_scores, testing_scores = case
    config = ConsistencyConfig(unit="testing", k=k, criterion1=criterion1)
    outcome = judged(matrix, solution_scores, testing_scores, config)
    top = [n for n, score in enumerate(testing_scores) if score == max(testing_scores)]
    truth = [holds(matrix, order, n, k, criterion1) for order in orders(solution_scores) for n in top]
    assert outcome.score_B[0] == pytest.approx(np.mean(truth))
    assert outcome.criterion1_B[0] == pytest.approx(
        np.mean([matrix.human_M[order[0]] == "P" for order in orders(solution_scores)])  # type: ignore[index]
    )
    assert 0.0 <= outcome.score_B[0] <= 1.0


@settings(max_examples=100, deadline=None)
@given(ranked_matrices(), st.integers(1, 3), st.booleans())
def test_the_oracle_is_the_best_of_all_orders_and_testings(
    case: tuple[PassMatrix, list[int], list[int]], k: int, criterion1: bool
) -> None:
    matrix, solution_scores, testing_scores = case
    config = ConsistencyConfig(unit="testing", k=k, criterion1=criterion1)
    block = make_draws([matrix], config).blocks[0]
    every = itertools.product(itertools.permutations(range(len(solution_scores))), range(len(testing_scores)))
    assert oracle(block, config)[0] == max(holds(matrix, order, n, k, criterion1) for order, n in every)


@settings(max_examples=100, deadline=None)
@given(ranked_matrices(), st.integers(1, 2), st.sampled_from(["stable", "random"]))
def test_broken_ties_are_one_of_the_orders_that_expected_averages(
    case: tuple[PassMatrix, list[int], list[int]], k: int, ties: str
) -> None:
    matrix, solution_scores, testing_scores = case
    config = ConsistencyConfig.model_validate({"unit": "testing", "k": k, "ties": ties})
    outcome = judged(matrix, solution_scores, testing_scores, config)
    top = [n for n, score in enumerate(testing_scores) if score == max(testing_scores)]
    assert outcome.score_B[0] in {
        float(holds(matrix, order, n, k, True)) for order in orders(solution_scores) for n in top
    }


def test_stable_ties_take_the_first_in_the_list() -> None:
    matrix = PassMatrix("p", np.array([list("PF"), list("FP")]), np.array(list("PF")))
    config = ConsistencyConfig(unit="testing", ties="stable")
    assert judged(matrix, [0, 0], [0, 0], config).score_B[0] == 1.0
    assert judged(matrix, [0, 0], [0, 1], config).score_B[0] == 0.0


def test_scores_that_differ_in_their_last_bits_tie() -> None:
    matrix = PassMatrix("p", np.array([list("PF"), list("FP")]), np.array(list("PF")))
    config = ConsistencyConfig(unit="testing")
    assert judged(matrix, [0.1 + 0.2, 0.3], [0, 0], config).criterion1_B[0] == 0.5


def test_an_unknown_verdict_agrees_with_nobody() -> None:
    matrix = PassMatrix("p", np.array([list("UP"), list("UF")]), np.array(list("FF")))
    config = ConsistencyConfig(unit="testing", criterion1=False)
    assert judged(matrix, [1, 0], [1, 0], config).score_B[0] == 0.0


@pytest.mark.parametrize(("size", "k", "places"), [(16, 1, 2), (16, 8, 16), (5, 3, 5), (2, 9, 2), (3, 1, 2)])
def test_criterion_two_looks_at_each_place_once(size: int, k: int, places: int) -> None:
    assert len(looked_at(size, k)) == places


@settings(max_examples=40, deadline=None)
@given(ranked_matrices(), st.booleans())
def test_what_passes_alone_can_reach_is_the_best_of_all_rankings_that_tie_equal_rows(
    case: tuple[PassMatrix, list[int], list[int]], criterion1: bool
) -> None:
    matrix, config = case[0], ConsistencyConfig(unit="testing", criterion1=criterion1)
    block = make_draws([matrix], config).blocks[0]
    rows = [
        ("".join("P" if cell == "P" else "U" if cell == "U" else "F" for cell in row)) for row in matrix.verdicts_MN
    ]
    distinct = sorted(set(rows))
    best = 0.0
    for places in itertools.product(range(len(distinct)), repeat=len(distinct)):
        if len(set(places)) <= max(places):
            continue  # a place is left out: the same ranking comes again without the gap
        scores = [places[distinct.index(row)] for row in rows]
        for testings in np.eye(matrix.verdicts_MN.shape[1]):
            best = max(best, float(judged(matrix, scores, testings, config).score_B[0]))
    assert reachable(block, config)[0] == pytest.approx(best)
    assert reachable(block, config)[0] <= oracle(block, config)[0] + 1e-9


def test_tying_all_can_be_the_best_that_passes_allow() -> None:
    matrix = PassMatrix("p", np.array([list("PP"), list("PP"), list("FF"), list("FF")]), np.array(list("PPPP")))
    config = ConsistencyConfig(unit="testing")
    block = make_draws([matrix], config).blocks[0]
    tied = judged(matrix, [0, 0, 0, 0], [1, 0], config).score_B[0]
    assert reachable(block, config)[0] == pytest.approx(tied) and tied == pytest.approx(1 / 6)
