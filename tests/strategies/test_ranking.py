"""Places from scores: ties, noise, order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.strategies.ranking import best_of, broken_ties, dense_ranks, varies


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12))
def test_places_are_dense_and_follow_the_scores(scores: list[int]) -> None:
    ranks = dense_ranks(np.array(scores, float))
    expected = [sorted(set(scores), reverse=True).index(score) for score in scores]
    assert ranks.tolist() == expected


@pytest.mark.parametrize(
    ("scores", "ranks"),
    [
        ([0.1 + 0.2, 0.3], [0, 0]),
        ([1e9, 1e9 + 1e-3, 0.5], [0, 0, 1]),
        ([-1e12, 0.25, 0.5], [2, 1, 0]),
        ([1e-17, 0.0], [0, 0]),
    ],
)
def test_noise_ties_and_small_differences_beside_large_penalties_do_not(scores: list[float], ranks: list[int]) -> None:
    assert dense_ranks(np.array(scores)).tolist() == ranks


def test_broken_ties_follow_the_order_of_appearance_or_keys() -> None:
    ranks = np.array([1, 0, 1, 0])
    assert broken_ties(ranks, np.arange(4)).tolist() == [2, 0, 3, 1]
    assert broken_ties(ranks, np.array([0.9, 0.5, 0.1, 0.2])).tolist() == [3, 1, 2, 0]


def test_only_different_scores_vary() -> None:
    assert not varies(np.array([0.3, 0.1 + 0.2]))
    assert not varies(np.array([]))
    assert varies(np.array([0.0, 1.0]))


def test_best_are_all_that_share_the_first_place():
    scores = np.array([0.3, 1e6, 0.1 + 0.2, 1e6 + 1e-5, 7.0])
    assert best_of(scores).tolist() == [1, 3]
    flat = np.array([0.3, 0.1 + 0.2])
    assert best_of(flat).tolist() == [0, 1]
