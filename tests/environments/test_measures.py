"""Calibration and novelty: formulas against what can be counted, and pairs whose kinship is known."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.environments import bundled
from evosyn.environments.calibration import Rate, quality, unfit, wald
from evosyn.environments.contract import Environment, read_environment
from evosyn.environments.entropy import TAUS, Clustering, varieties
from evosyn.environments.novelty import NoveltyPool

KNAPSACK = bundled("known")["knapsack"].read_text()
PROMPTS = ["A bag carries a weight of 12. Things: 1: weight 3, value 5", "A bag carries 31."]


def read(source: str) -> Environment:
    found = read_environment(source)
    assert found.value is not None, found.reason
    return found.value


@given(st.lists(st.tuples(st.integers(2, 9), st.integers(0, 9)), min_size=5, max_size=5))
def test_the_slope_is_that_of_single_outcomes(drawn: list[tuple[int, int]]) -> None:
    rates = [Rate(level, n, min(n, solved)) for level, (n, solved) in enumerate(drawn, 1)]
    xs = [rate.level for rate in rates for _ in range(rate.n)]
    ys = [float(i < rate.solved) for rate in rates for i in range(rate.n)]
    found, n = wald(rates), len(xs)
    x0, y0 = sum(xs) / n, sum(ys) / n
    sxx = sum((x - x0) ** 2 for x in xs)
    slope = sum((x - x0) * (y - y0) for x, y in zip(xs, ys, strict=True)) / sxx
    if len(set(ys)) < 2:
        assert found is None
        return
    rest = sum((y - y0 - slope * (x - x0)) ** 2 for x, y in zip(xs, ys, strict=True))
    assert found is not None and found.slope == pytest.approx(slope, abs=1e-9)
    assert found.t == pytest.approx(slope / math.sqrt(rest / (n - 2) / sxx), abs=1e-6, rel=1e-6)


def test_what_has_no_level_is_taken_for_falling_in_a_twentieth_and_what_falls_is_found() -> None:
    rng = random.Random(3)

    def found(shares: list[float]) -> float:
        runs = [[Rate(level, 16, sum(rng.random() < p for _ in range(16))) for level, p in enumerate(shares, 1)]
                for _ in range(1500)]  # fmt: skip
        return sum(unfit(rates) == "" for rates in runs) / len(runs)

    assert 0.03 <= found([0.5] * 5) <= 0.07
    assert found([0.8, 0.7, 0.6, 0.5, 0.4]) > 0.8


@pytest.mark.parametrize(
    ("solved", "reason"),
    [([16, 16, 16, 16, 16], "trivial"), ([0, 0, 0, 0, 0], "impossible"), ([8, 8, 8, 8, 8], "flat"),
     ([1, 4, 8, 12, 16], "rising"), ([16, 0, 0, 0, 0], ""), ([14, 10, 8, 5, 2], "")],
)  # fmt: skip
def test_why_an_environment_is_not_kept(solved: list[int], reason: str) -> None:
    assert unfit([Rate(level, 16, one) for level, one in enumerate(solved, 1)]) == reason


def test_quality_is_highest_at_its_target_and_nothing_where_all_or_none_is_solved() -> None:
    assert quality(0.3) == 1.0 and quality(0.0) == quality(1.0) == 0.0
    assert quality(0.3 - 0.1) == pytest.approx(quality(0.3 + 0.1)) and quality(0.5) < quality(0.4)


@pytest.mark.parametrize(
    ("change", "prompts", "reason"),
    [(lambda source: source + "\n# the same\n", PROMPTS, "same-program"),
     (lambda source: source.replace("things", "goods"), PROMPTS, "near-duplicate"),
     (lambda source: source.replace("(5, 7, 9, 12, 15)", "(4, 6, 8, 10, 12)"), PROMPTS, "near-duplicate"),
     (lambda source: source, ["Which letters stand in both words?"] * 2, "same-program"),
     (lambda source: source.replace("A bag", "A rocket"), ["Rockets lift satellites of different pay"] * 2, "")],
)  # fmt: skip
def test_repeats_are_found_and_the_same_code_under_another_story_is_not(change, prompts, reason) -> None:  # type: ignore[no-untyped-def]
    pool = NoveltyPool()
    assert pool.nearest(read(KNAPSACK), PROMPTS) is None
    pool.add(read(KNAPSACK), PROMPTS)
    found = pool.nearest(read(change(KNAPSACK)), prompts)
    assert found is not None and found.reason == reason and found.of == read(KNAPSACK).id
    assert found.code == pytest.approx(1.0)


def test_another_environment_is_new() -> None:
    pool = NoveltyPool()
    pool.add(read(KNAPSACK), PROMPTS)
    found = pool.nearest(read(bundled("known")["brackets"].read_text()), ["A row of brackets: ()"])
    assert found is not None and not found.reason and found.similarity < 0.8


def test_the_entropy_of_a_set_counts_what_is_linked_as_one_task() -> None:
    one, other = read(KNAPSACK), read(bundled("known")["brackets"].read_text())
    told = ["A row of brackets: ()"] * 2
    knapsacks = [(one, PROMPTS), (read(KNAPSACK.replace("things", "goods")), PROMPTS)]
    found = {variety.tau: variety for variety in varieties([*knapsacks, (other, told), (other, told)])}
    assert (found[0.9].clusters, found[0.9].bits) == (2, pytest.approx(1.0))
    assert varieties([(one, PROMPTS)])[0] == Clustering(TAUS[0], 1, 0.0)
    chain = varieties([*knapsacks, (other, told)], taus=(0.0, 1.1))
    assert [variety.clusters for variety in chain] == [1, 3]
    assert chain[1].bits == pytest.approx(math.log2(3))
