"""Draws: determinism, what is skipped and why, and that the human verdicts stay outside."""

from __future__ import annotations

import numpy as np
import pytest

from evosyn.errors import UsageError
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.evaluators.splitting import split_testings
from evosyn.records import PassMatrix


def matrix(name: str, rows: int, columns: int, seed: int = 0) -> PassMatrix:
    rng = np.random.default_rng(seed)
    human = np.array(["P", *rng.choice(list("PF"), rows - 1)])
    return PassMatrix(name, rng.choice(list("PF"), (rows, columns)), human, copies_M=np.arange(rows))


def test_draws_of_a_problem_depend_on_the_seed_and_its_name_only() -> None:
    config = ConsistencyConfig(M=4, N=4, draws=3)
    alone = make_draws([matrix("b", 9, 9)], config)
    among = make_draws([matrix("a", 9, 9, 1), matrix("b", 9, 9)], config)
    other = make_draws([matrix("b", 9, 9)], ConsistencyConfig(M=4, N=4, draws=3, seed=1))
    for index in range(3):
        np.testing.assert_array_equal(alone.evidences[index].copies_M, among.evidences[3 + index].copies_M)
    assert any(
        alone.evidences[index].copies_M.tolist() != other.evidences[index].copies_M.tolist() for index in range(3)
    )


def test_a_pool_of_exactly_the_asked_size_is_drawn_once_in_its_own_order() -> None:
    draws = make_draws([matrix("a", 4, 4)], ConsistencyConfig(M=4, N=4, draws=10))
    assert len(draws.evidences) == 1
    assert draws.evidences[0].copies_M.tolist() == [0, 1, 2, 3]


def test_unusable_problems_are_counted_by_reason() -> None:
    no_human = PassMatrix("h", np.full((4, 4), "P"))
    hopeless = PassMatrix("f", np.full((4, 4), "P"), np.full(4, "F"))
    pool = [matrix("a", 4, 4), matrix("few", 3, 4), matrix("thin", 4, 3), no_human, hopeless]
    draws = make_draws(pool, ConsistencyConfig(M=4, N=4, solvable=True))
    assert draws.problem_ids == ("a",)
    assert sorted(draws.skipped) == [
        "fewer than 4 judged solutions", "fewer than 4 testings", "no human verdicts", "no right solution",
    ]  # fmt: skip


def test_short_problems_can_be_kept_with_what_they_have() -> None:
    draws = make_draws([matrix("a", 9, 3), matrix("b", 9, 9)], ConsistencyConfig(M=4, N=4, draws=2, short="keep"))
    assert [evidence.passed_MN.shape for evidence in draws.evidences] == [(4, 3), (4, 3), (4, 4), (4, 4)]
    assert len(draws.blocks) == 2


def test_nothing_usable_is_an_error_that_says_why() -> None:
    with pytest.raises(UsageError, match="1 x fewer than 16 judged solutions"):
        make_draws([matrix("a", 4, 4)], ConsistencyConfig(M=16, N=16))


def test_solutions_without_a_known_human_verdict_are_left_out() -> None:
    one = PassMatrix("a", np.full((4, 2), "P"), np.array(list("PUFP")), copies_M=np.arange(4))
    assert make_draws([one], ConsistencyConfig()).evidences[0].copies_M.tolist() == [0, 2, 3]


def test_every_case_becomes_a_testing_and_equal_ones_count_once() -> None:
    one = PassMatrix(
        "a",
        np.array([["F", "P"], ["P", "P"]]),
        np.array(["F", "P"]),
        cases_NMC=(np.array([["P", "F"], ["P", "P"]]), np.array([["P"], ["P"]])),
        testing_ids=("x", "y"),
        testing_texts=(
            '{"asserts":["assert f(1)==1","assert f(2)==2"],"kind":"asserts"}',
            '{"asserts":["assert f(1)==1"],"kind":"asserts"}',
        ),
    )
    split = split_testings(one)
    assert ["".join(row) for row in split.verdicts_MN] == ["PF", "PP"]
    assert split.testing_ids == ("x/0", "x/1")
    assert split.testing_texts[1] == '{"asserts":["assert f(2)==2"],"kind":"asserts"}'


def test_splitting_needs_recorded_cases() -> None:
    with pytest.raises(UsageError, match="no recorded cases"):
        split_testings(matrix("a", 2, 2))
