"""How much there is to learn at a level: what a question's own completions disagree on, not what questions do."""

from math import comb

import pytest

from evosyn.environments.fresh import LevelRate, rates_after, share_of, signal

CELL = ("environment", 3)


def test_questions_that_are_solved_always_or_never_teach_nothing_whatever_their_mean() -> None:
    rates = rates_after({}, [(CELL, 4, 4), (CELL, 0, 4)] * 20, memory=0.99)
    assert 0.4 < share_of(rates[CELL]) < 0.6
    assert signal(rates[CELL]) < 0.05
    assert signal(rates_after({}, [(CELL, 2, 4)] * 40, memory=0.99)[CELL]) > 0.95


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("size", [2, 8])
def test_pairs_of_completions_are_expected_to_differ_as_often_as_the_solve_rate_says(share: float, size: int) -> None:
    expected = 0.0
    for passed in range(size + 1):
        rate = rates_after({}, [(CELL, passed, size)], memory=0.9)[CELL]
        expected += comb(size, passed) * share**passed * (1 - share) ** (size - passed) * 2 * rate.differing / size
    assert expected == pytest.approx(4 * share * (1 - share))


def test_where_no_pairs_are_known_the_solve_rate_stands_in() -> None:
    assert signal(None) == 1.0
    assert signal(LevelRate(7, 8)) == pytest.approx(4 * 0.8 * 0.2)
    alone = rates_after({}, [(CELL, 1, 1), (CELL, 1, 1)], memory=1.0)[CELL]
    assert (alone.paired, signal(alone)) == (0, pytest.approx(4 * 0.75 * 0.25))
