"""Cases as what is ranked: which columns a draw has, what is joined of them, and that padding is nothing to anybody."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evosyn.evaluators.behaviour import axes_named, behaviour_of
from evosyn.evaluators.columns import MOST_COLUMNS, distinct_cases, in_unit, spread
from evosyn.evaluators.consistency import metrics, oracle_per_draw, signature
from evosyn.evaluators.criteria import reachable
from evosyn.evaluators.draws import ConsistencyConfig, Draws, make_draws
from evosyn.records import PassMatrix, Ranking, canonical_json
from evosyn.strategies.evidence import evidence_of
from tests.evaluators.test_criteria import orders

CASE = ConsistencyConfig(unit="case")


@st.composite
def recorded(draw: st.DrawFn, rows: int = 5, replies: int = 4) -> PassMatrix:
    """Testings of 1 to 4 of nine cases, whose verdicts are those of the cases; a case may stand in several."""
    m, n = draw(st.integers(2, rows)), draw(st.integers(2, replies))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    letters_MC = rng.choice(list("PPFFU"), (m, 9))
    letters_MC[0, 0] = "P"
    held = [[0, *rng.permutation(8)[: draw(st.integers(0, 3))] + 1] for _ in range(n)]
    held = [draw(st.permutations(one)) for one in held]
    return matrix_of("p", letters_MC, held, rng.choice(list("PF"), m), vacuous=draw(st.booleans()))


def matrix_of(
    name: str, letters_MC: np.ndarray, held: list[list[int]], human_M: np.ndarray, *, vacuous: bool = False
) -> PassMatrix:
    """A matrix of testings that hold these cases; the first testing may accept what does nothing."""
    cases = tuple(letters_MC[:, one] for one in held)
    whole = [np.where((one == "P").all(axis=1), "P", np.where((one == "U").any(axis=1), "U", "F")) for one in cases]
    texts = tuple(canonical_json({"kind": "asserts", "asserts": [f"assert {c}" for c in one]}) for one in held)
    meta = {"vacuous": [0]} if vacuous else {}
    return PassMatrix(name, np.stack(whole, 1), human_M, cases_NMC=cases, testing_texts=texts, meta=meta)


def shown(draws: Draws, at: int, scores: tuple[np.ndarray, np.ndarray]) -> Ranking:
    """Scores of a whole matrix of cases, of what a draw takes."""
    picked = draws.picked_E[at]
    return Ranking(scores[0][picked.rows_M].astype(float), scores[1][picked.columns_N].astype(float))


def brute(
    matrix: PassMatrix, solutions: list[int], columns: list[int], config: ConsistencyConfig
) -> tuple[float, list[tuple[list[int], list[str]]]]:
    """The expected score, and the columns and verdicts of each testing that may be kept, by enumeration."""
    known, human, cells = matrix.known_MN, matrix.human_M, matrix.passed_MN
    assert human is not None
    vacuous = set(matrix.meta.get("vacuous", ()))
    top = [m for m, score in enumerate(solutions) if score == max(solutions)]
    first = [n for n, score in enumerate(columns) if score == max(columns) and any(cells[m, n] for m in top)]
    found, kept = [], []
    for n in first:
        trusted = [m for m in top if cells[m, n]]
        joined = [c for c in range(cells.shape[1]) if c not in vacuous and all(cells[m, c] for m in trusted)]
        said = [
            "P" if all(cells[m, c] for c in joined) else "F" if any(known[m, c] and not cells[m, c] for c in joined)
            else "U"
            for m in range(len(cells))
        ]  # fmt: skip
        kept.append((joined, said))
        for order in orders(solutions):
            k = min(config.k, len(order))
            right = not config.criterion1 or human[order[0]] == "P"
            agree = all(said[m] == human[m] for m in (*order[:k], *order[-k:]))
            found.append(bool(joined) and right and agree)
    return float(np.mean(found)) if found else 0.0, kept


@settings(max_examples=150, deadline=None)
@given(recorded(), st.integers(0, 2**32), st.integers(1, 3), st.booleans())
def test_criterion_2_is_asked_of_what_is_joined_and_no_ranking_passes_the_bounds(
    matrix: PassMatrix, seed: int, k: int, criterion1: bool
) -> None:
    config = ConsistencyConfig(unit="case", k=k, criterion1=criterion1)
    draws = make_draws([matrix], config)
    cases = in_unit(matrix, "case")
    rng = np.random.default_rng(seed)
    solutions, columns = rng.integers(0, 3, len(cases.verdicts_MN)), rng.integers(0, 2, cases.verdicts_MN.shape[1])
    behaviour = behaviour_of("", draws, [shown(draws, 0, (solutions, columns))], config)
    outcome = behaviour.outcomes[0]
    score, kept = brute(cases, solutions.tolist(), columns.tolist(), config)
    assert outcome.score_B[0] == pytest.approx(score)
    assert outcome.score_B[0] <= oracle_per_draw(draws, config)[0] + 1e-9
    weights = sum(bool(joined) for joined, _ in kept) / max(len(kept), 1)
    assert outcome.joined is not None
    assert outcome.joined.weights_P.sum() == pytest.approx(weights)
    order, rows = draws.picked_E[0].columns_N, draws.picked_E[0].rows_M
    for p, columns_N in enumerate(outcome.joined.columns_PN):
        joined = sorted(order[np.flatnonzero(columns_N)].tolist())
        said = {tuple(one): letters for one, letters in kept}[tuple(joined)]
        assert [said[m] == "P" for m in rows] == outcome.asked.passed_BMN[p, :, 0].tolist()
        assert [said[m] != "U" for m in rows] == outcome.asked.known_BMN[p, :, 0].tolist()


@settings(max_examples=60, deadline=None)
@given(recorded(rows=4, replies=3), st.booleans())
def test_what_ties_equal_rows_stays_below_what_passes_alone_reach(matrix: PassMatrix, criterion1: bool) -> None:
    config = ConsistencyConfig(unit="case", criterion1=criterion1)
    draws = make_draws([matrix], config)
    (block,) = draws.blocks
    rows = np.concatenate([block.passed_BMN[0], block.known_BMN[0]], axis=1)
    _, group_M = np.unique(rows, axis=0, return_inverse=True)
    bound = reachable(block, config)[0]
    assert bound <= oracle_per_draw(draws, config)[0] + 1e-9
    of_groups = itertools.product(range(group_M.max() + 1), repeat=group_M.max() + 1)
    width = block.passed_BMN.shape[2]
    for places, column in itertools.product(of_groups, range(width)):
        ranking = Ranking(np.array(places, float)[group_M.reshape(-1)], np.arange(width) == column)  # type: ignore[arg-type]
        outcome = behaviour_of("", draws, [ranking], config).outcomes[0]
        assert outcome.score_B[0] <= bound + 1e-9


@settings(max_examples=80, deadline=None)
@given(
    st.lists(recorded(), min_size=2, max_size=4),
    st.integers(0, 2**32),
    st.sampled_from(["expected", "stable", "random"]),
)
def test_a_draw_counts_the_same_alone_and_beside_wider_ones(matrices: list[PassMatrix], seed: int, ties: str) -> None:
    """Whatever stands behind the columns of a narrow draw in a block is no column, to figures as to programs."""
    named = [replace(one, problem_id=f"p{number}") for number, one in enumerate(matrices)]
    config = ConsistencyConfig(unit="case", ties=ties, seed=seed % 97)  # type: ignore[arg-type]
    together = make_draws(named, config)
    rng = np.random.default_rng(seed)
    rankings = [
        Ranking(
            rng.integers(0, 3, len(one.passed_MN)).astype(float),
            rng.integers(-1, 2, one.passed_MN.shape[1]).astype(float),
        )
        for one in together.evidences
    ]
    whole = behaviour_of("x = 1\n", together, rankings, config)
    parts = []
    for matrix, ranking, evidence in zip(named, rankings, together.evidences, strict=True):
        own = make_draws([matrix], config)
        assert own.evidences[0].passed_MN.tolist() == evidence.passed_MN.tolist()
        assert own.blocks[0].padding_BN is None
        parts.append(behaviour_of("x = 1\n", own, [ranking], config))
    for measure in ("score_B", "criterion1_B", "criterion2_B"):
        alone = [float(getattr(one.outcomes[0], measure)[0]) for one in parts]
        assert whole.per_draw(lambda _, outcome: getattr(outcome, measure)).tolist() == pytest.approx(alone)  # noqa: B023
    for block, outcome in zip(whole.draws.blocks, whole.outcomes, strict=True):
        if block.padding_BN is not None:
            assert not outcome.trusted_BN[block.padding_BN].any()
            assert (outcome.testing_ranks_BN[block.padding_BN] > 0).all()
    strictness = axes_named(("strictness",))[0]
    assert strictness.measure(whole) == pytest.approx(np.mean([strictness.measure(one) for one in parts]))
    assert metrics(whole).testing_precision == pytest.approx(np.mean([metrics(one).testing_precision for one in parts]))
    assert signature(whole) == signature(behaviour_of("", together, rankings, config))


@settings(max_examples=100, deadline=None)
@given(recorded(replies=4), st.integers(2, 4), st.integers(0, 99))
def test_a_draw_has_the_distinct_cases_of_its_replies(matrix: PassMatrix, n: int, seed: int) -> None:
    config = ConsistencyConfig(M=2, N=n, unit="case", draws=3, seed=seed)
    cases = distinct_cases(matrix)
    draws = make_draws([matrix], config)
    for picked, evidence in zip(draws.picked_E, draws.evidences, strict=True):
        taken = set(picked.replies.tolist())
        assert len(taken) == min(n, matrix.verdicts_MN.shape[1])
        held = [column for column, case in enumerate(cases) if taken & set(case.replies)]
        assert sorted(picked.columns_N.tolist()) == held
        numbers = [set(one) for one in evidence.replies_N]
        assert {*itertools.chain(*numbers)} == set(range(len(set.union(*numbers))))
        for column, own in zip(picked.columns_N.tolist(), numbers, strict=True):
            assert len(own) == len(taken & set(cases[column].replies)) > 0
        assert evidence.testing_texts == tuple(cases[column].text for column in picked.columns_N)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), unique=True), max_size=8), st.integers(1, 20))
def test_what_is_left_of_too_many_columns_comes_evenly_from_the_replies(own: list[list[int]], most: int) -> None:
    found = spread(own, most)
    every = dict.fromkeys(itertools.chain(*own))
    assert len(found) == len({*found}) == min(most, len(every))
    assert found == [column for column in every if column in set(found)]
    apart = [[100 * number + column for column in one] for number, one in enumerate(own)]
    counts = [sum(column // 100 == number for column in spread(apart, most)) for number in range(len(own))]
    assert all(mine == len(one) or mine >= max(counts) - 1 for mine, one in zip(counts, own, strict=True))


def test_of_a_large_pool_no_draw_shows_more_than_the_stated_number() -> None:
    rng = np.random.default_rng(0)
    held = [list(range(5 * n, 5 * n + 5)) for n in range(20)]
    matrix = matrix_of("p", rng.choice(list("PF"), (6, 100)), held, np.array(list("PFPFPF")))
    (whole,) = make_draws([matrix], CASE).evidences
    assert whole.passed_MN.shape == (6, MOST_COLUMNS)
    counts = np.bincount([reply for one in whole.replies_N for reply in one])
    assert set(counts.tolist()) == {3, 4}


@settings(max_examples=60, deadline=None)
@given(recorded(), st.integers(0, 2**32))
def test_who_ranks_testings_is_asked_of_the_first_one_alone(matrix: PassMatrix, seed: int) -> None:
    """What cases a matrix recorded, and what is vacuous, is nothing to the criteria there."""
    assume(matrix.known_MN.any())
    config = ConsistencyConfig(unit="testing")
    draws, plain = (make_draws([one], config) for one in (matrix, replace(matrix, cases_NMC=None, meta={})))
    rng = np.random.default_rng(seed)
    ranking = Ranking(*(rng.integers(0, 3, size).astype(float) for size in draws.evidences[0].passed_MN.shape))
    one, other = (behaviour_of("", each, [ranking], config).outcomes[0] for each in (draws, plain))
    assert one.score_B.tolist() == other.score_B.tolist()
    assert one.joined is None and draws.blocks[0].padding_BN is None
    assert draws.evidences[0].replies_N == tuple((n,) for n in range(matrix.verdicts_MN.shape[1]))


def test_a_case_is_as_likely_as_the_replies_that_hold_it_say_on_the_mean() -> None:
    texts = tuple(json.dumps({"asserts": asserts}) for asserts in (["a", "b"], ["b"], ["c"]))
    matrix = PassMatrix(
        "p",
        np.array([["P", "P", "F"]]),
        cases_NMC=(np.array([["P", "P"]]), np.array([["P"]]), np.array([["F"]])),
        testing_texts=texts,
        logprobs_NC=(np.array([-1.0, -2.0]), np.array([-4.0]), None),
    )
    columns = in_unit(matrix, "case")
    assert [one and float(one[0]) for one in columns.logprobs_NC or ()] == [-1.0, -3.0, None]
    np.testing.assert_array_equal(evidence_of(columns).testing_logprob_N, [-1.0, -3.0, np.nan])
    np.testing.assert_array_equal(evidence_of(matrix).testing_logprob_N, [-1.5, -4.0, np.nan])
