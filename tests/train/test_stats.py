from itertools import combinations
from math import comb, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.randomness import SeedTree
from evosyn.train.stats import bootstrap, pass_at_k, t_interval


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_subsets_with_a_pass(samples: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    marks = [True] * passed + [False] * (samples - passed)
    hits = sum(any(subset) for subset in combinations(marks, k))
    assert pass_at_k(samples, passed, k) == pytest.approx(hits / comb(samples, k))


def test_pass_at_k_refuses_more_draws_than_samples() -> None:
    with pytest.raises(ValueError, match="pass@3 from 1 of 2"):
        pass_at_k(2, 1, 3)


def test_bootstrap_holds_its_mean_and_repeats_with_its_seed() -> None:
    values = [0.0, 1.0] * 50
    one, two = bootstrap(values, SeedTree(1)), bootstrap(values, SeedTree(1))
    assert one == two
    assert one.low < one.mean == 0.5 < one.high
    assert 0.15 < one.high - one.low < 0.25


def test_a_single_value_has_no_interval() -> None:
    assert isnan(bootstrap([1.0], SeedTree(0)).low) and isnan(bootstrap([0.0, 1.0, 0.5], SeedTree(0)).high)
    assert isnan(t_interval([1.0]).high)


def test_t_interval_is_the_textbook_one() -> None:
    interval = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert interval.mean == 3.0
    assert interval.high - interval.mean == pytest.approx(2.776 * (2.5**0.5) / 5**0.5, rel=1e-3)


def test_t_interval_of_many_seeds_is_no_narrower_than_students() -> None:
    interval = t_interval([float(one % 2) for one in range(32)])
    assert interval.high - interval.mean == pytest.approx(2.0395 * (8 / 31) ** 0.5 / 32**0.5, rel=1e-4)
