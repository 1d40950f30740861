"""Pruning: the exact semantics of the three settings, over arbitrary matrices and scores."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evosyn.randomness import SeedTree
from evosyn.records import Invalid, PassMatrix, Ranking
from evosyn.synthesis.prune import TOP_FAILS_TOP, ZERO_VARIANCE, ZERO_VARIANCE_SOLUTIONS, Choice, PruneConfig, decide

LEVELS = st.sampled_from([0.0, 0.5, 1.0, 3.0])


def matrix_of(passed_MN: np.ndarray) -> PassMatrix:
    return PassMatrix("p", np.where(passed_MN, "P", "F").astype("<U1"))


@st.composite
def cases(draw):
    M, N = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    passed_MN = draw(hnp.arrays(bool, (M, N)))
    ranking = Ranking(draw(hnp.arrays(float, M, elements=LEVELS)), draw(hnp.arrays(float, N, elements=LEVELS)))
    return passed_MN, ranking, draw(st.integers(0, 5))


def run(passed_MN, ranking, seed, config=PruneConfig()):  # noqa: B008
    return decide(matrix_of(passed_MN), ranking, config, SeedTree(seed))


@settings(deadline=None)
@given(cases())
def test_kept_means_varying_testing_scores_and_a_top_solution_that_passes_a_top_testing(case):
    passed_MN, (solutions, testings), _ = case
    decision = run(*case)
    top = [
        (m, n)
        for m in np.flatnonzero(solutions == solutions.max())
        for n in np.flatnonzero(testings == testings.max())
        if passed_MN[m, n]
    ]
    varies = testings.max() > testings.min()
    assert (decision.reason == "") == bool(top and varies)
    assert (decision.reason == TOP_FAILS_TOP) == (not top)
    assert (decision.reason == ZERO_VARIANCE) == bool(top and not varies)


@settings(deadline=None)
@given(cases())
def test_the_chosen_pair_is_at_the_top_and_passes(case):
    passed_MN, (solutions, testings), _ = case
    choice = run(*case).chosen
    if choice is not None:
        assert passed_MN[choice.best, choice.testing]
        assert solutions[choice.best] == solutions.max()
        assert testings[choice.testing] == testings.max()


@settings(deadline=None)
@given(cases())
def test_relaxed_drops_only_what_has_no_passing_top_and_random_has_the_problems_of_evosyn(case):
    decision = run(*case)
    assert ("evosyn" in decision.dropped_from) == ("random" in decision.dropped_from) == bool(decision.reason)
    assert ("relaxed" in decision.dropped_from) == (decision.reason == TOP_FAILS_TOP)
    assert (decision.random is None) == bool(decision.reason)
    assert (decision.chosen is None) == ("relaxed" in decision.dropped_from)


@settings(deadline=None)
@given(cases(), st.floats(0.1, 50), st.floats(-5, 5))
def test_only_the_order_of_the_scores_matters(case, factor, shift):
    passed_MN, (solutions, testings), seed = case
    moved = Ranking(solutions * factor + shift, testings * factor + shift)
    assert run(passed_MN, moved, seed) == run(*case)


@settings(deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_what_is_dropped_does_not_depend_on_the_order_of_the_list(case, random):
    passed_MN, (solutions, testings), seed = case
    rows = random.sample(range(solutions.size), solutions.size)
    columns = random.sample(range(testings.size), testings.size)
    mixed = run(passed_MN[np.ix_(rows, columns)], Ranking(solutions[rows], testings[columns]), seed)
    assert (mixed.reason, mixed.dropped_from) == (run(*case).reason, run(*case).dropped_from)


@settings(deadline=None)
@given(cases())
def test_the_random_solution_passes_the_random_testing_wherever_one_does(case):
    passed_MN, _, _ = case
    choice = run(*case).random
    if choice is not None:
        accepted = passed_MN[:, choice.testing]
        assert accepted[choice.best] or not accepted.any()


def test_a_tie_at_the_top_is_drawn_evenly_and_never_by_list_order():
    passed_MN = np.ones((1, 4), bool)
    scores = Ranking(np.ones(1), np.array([1.0, 1.0, 1.0, 0.0]))
    drawn = [run(passed_MN, scores, seed).chosen.testing for seed in range(600)]
    counts = np.bincount(drawn, minlength=4)
    assert counts[3] == 0
    assert counts[:3].min() > 150


def test_the_random_testing_is_uniform_over_all_testings():
    passed_MN = np.array([[True, True, False, False]])
    drawn = [run(passed_MN, Ranking(np.ones(1), np.array([2.0, 1, 0, 0])), seed).random.testing for seed in range(800)]
    assert np.bincount(drawn, minlength=4).min() > 150


def test_equal_solution_scores_are_kept_unless_asked_for():
    passed_MN = np.array([[True, False], [True, False]])
    scores = Ranking(np.zeros(2), np.array([1.0, 0.0]))
    assert run(passed_MN, scores, 0).reason == ""
    strict = run(passed_MN, scores, 0, PruneConfig(solution_variance=True))
    assert (strict.reason, strict.dropped_from) == (ZERO_VARIANCE_SOLUTIONS, ("evosyn", "random"))


def test_rounding_of_float_sums_is_not_variation():
    passed_MN = np.ones((2, 2), bool)
    assert run(passed_MN, Ranking(np.ones(2), np.array([0.1 + 0.2, 0.3])), 0).reason == ZERO_VARIANCE


def test_an_invalid_strategy_drops_from_all_settings_with_its_reason():
    decision = run(np.ones((2, 2), bool), Invalid("line 3: division by zero"), 0)
    assert decision.detail == "line 3: division by zero"
    assert decision.dropped_from == ("evosyn", "relaxed", "random")


def test_the_rule_that_stands_in_the_published_code_only_can_be_switched_off():
    passed = np.array([[False, True], [True, True]])
    ranking = Ranking(np.array([2.0, 1.0]), np.array([2.0, 1.0]))
    assert run(passed, ranking, 0).reason == TOP_FAILS_TOP
    kept = run(passed, ranking, 0, PruneConfig(top_must_pass=False))
    assert kept.reason == ""
    assert kept.chosen == Choice(0, 0)


def test_a_control_without_any_filter_draws_the_solution_from_all():
    passed = np.array([[True, True], [False, False]])
    ranking = Ranking(np.array([2.0, 1.0]), np.array([2.0, 1.0]))
    for rule, drawn in (("accepted", {0}), ("any", {0, 1})):
        config = PruneConfig(random_solution=rule)
        found = [run(passed, ranking, seed, config).random for seed in range(30)]
        assert {one.best for one in found if one is not None} == drawn
