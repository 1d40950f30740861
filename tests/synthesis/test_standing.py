"""How good the strategy is that a synthesis relies on, and when that is too little."""

import pytest

from evosyn.synthesis.inputs import standing_of


def report(score, start, count):
    return {
        "best": {"heldout_score": score, "heldout_ci": [0.1, 0.9]},
        "initial": {"heldout_score": start},
        "leaderboard": {"heldout": {"problems": count}},
    }


@pytest.mark.parametrize(
    ("score", "start", "count", "warned"),
    [(0.8, 0.6, 26, ""), (0.28, 0.33, 26, "worse than the one"), (0.8, 0.6, 2, "2 held-out problems decide little")],
)
def test_a_strategy_that_lost_or_was_hardly_tried_is_named(score, start, count, warned):
    found = standing_of(report(score, start, count))
    assert found is not None
    assert f"{score:.3f} (95 %: 0.100 to 0.900) on {count} held-out problems" in found.text
    assert (warned in found.warning) if warned else not found.warning


@pytest.mark.parametrize("value", [{}, {"best": None}, {"best": {"heldout_score": 0.5}}])
def test_what_says_nothing_is_no_standing(value):
    assert standing_of(value) is None


def test_a_strategy_that_is_invalid_on_held_out_problems_is_named():
    value = report(None, 0.3, 26)
    value["best"]["heldout_invalid"] = "ValueError: no texts"
    found = standing_of(value)
    assert found is not None
    assert "invalid on problems that its search held out: ValueError: no texts" in found.warning
