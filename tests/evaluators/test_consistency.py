"""Seed consistency as an evaluator: determinism, caching, signatures, descriptors, feedback; leaderboards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from evosyn.evaluators import consistency
from evosyn.evaluators.axes.program_size import code_tokens
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.feedback import feedback
from evosyn.evaluators.heldout import split_problems
from evosyn.evaluators.intervals import Strata, bootstrap, difference, t_quantile
from evosyn.evaluators.leaderboard import make_leaderboard
from evosyn.evaluators.notes import FirstDraws
from evosyn.ports import Evaluator
from evosyn.rankings import Rankings
from evosyn.records import Candidate, Evidence, Invalid, PassMatrix
from evosyn.strategies import known_names, load_known
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.source import write
from evosyn.strategies.running.sandboxed import SandboxedRunner

Make = Callable[..., PassMatrix]
CONFIG = ConsistencyConfig(unit="testing", M=8, N=8, draws=3)
CONSTANT = "import numpy as np\ndef rank(e):\n    return np.zeros(len(e.passed)), np.zeros(e.passed.shape[1])\n"


class Counting:
    """A runner that counts what reaches it."""

    def __init__(self, runner: SandboxedRunner) -> None:
        self.runner = runner
        self.programs: list[str] = []

    def rank(
        self, programs: Sequence[str], evidences: Sequence[Evidence], tasks: Sequence[str] | None = None
    ) -> list[Rankings | Invalid]:
        self.programs += programs
        return self.runner.rank(programs, evidences, tasks)


@pytest.fixture
def matrices(make_matrix: Make) -> list[PassMatrix]:
    return [make_matrix(f"p{index}") for index in range(6)]


def candidates(*texts: str) -> list[Candidate]:
    return [Candidate(text) for text in texts]


def test_it_keeps_the_evaluator_contract(runner: SandboxedRunner, matrices: list[PassMatrix]) -> None:
    evaluator = SeedConsistency(runner, matrices, CONFIG)
    assert isinstance(evaluator, Evaluator)
    found = evaluator.evaluate(candidates(*[load_known(name) for name in known_names()], "x = 1"))
    for evaluation in found[:-1]:
        assert evaluation.score is not None
        assert 0.0 <= evaluation.score <= evaluator.oracle <= 1.0
        assert len(evaluation.per_seed) == 6
        assert evaluation.score == pytest.approx(np.mean(evaluation.per_seed))
        assert len(evaluation.descriptor) == len(evaluator.axes) == 3
        for value, axis in zip(evaluation.descriptor, evaluator.axes, strict=True):
            assert axis.low <= value <= axis.high
        assert set(evaluation.metrics) == {"criterion1", "pass_at_1", "testing_balanced_accuracy", "testing_precision"}
    assert found[-1].score is None
    assert found[-1].invalid == found[-1].feedback[0]
    assert "defines neither" in found[-1].feedback[0]


def test_the_same_text_gives_the_same_evaluation_whatever_else_is_in_the_batch(
    runner: SandboxedRunner, matrices: list[PassMatrix]
) -> None:
    texts = [load_known(name) for name in known_names()]
    together = SeedConsistency(runner, matrices, CONFIG).evaluate(candidates(*texts))
    alone = [SeedConsistency(runner, matrices, CONFIG).evaluate(candidates(text))[0] for text in reversed(texts)]
    assert together == alone[::-1]


def test_a_program_is_run_once_however_often_it_is_asked_for(
    runner: SandboxedRunner, matrices: list[PassMatrix]
) -> None:
    counting = Counting(runner)
    evaluator = SeedConsistency(counting, matrices, CONFIG)
    text = load_known("initial")
    first = evaluator.evaluate(candidates(text, text))
    again = evaluator.evaluate(candidates(text))
    assert first[0] == first[1] == again[0]
    assert counting.programs == [text]


def test_programs_that_rank_alike_share_a_signature(runner: SandboxedRunner, matrices: list[PassMatrix]) -> None:
    same = "def rank(e):\n    return e.passed.mean(1) * 3 - 1, e.passed.sum(0) ** 2\n"
    first, second, other = SeedConsistency(runner, matrices, CONFIG).evaluate(
        candidates(load_known("initial"), same, load_known("inverse"))
    )
    assert first.signature == second.signature != other.signature
    assert first.score == second.score


def test_evidence_based_strategies_beat_chance_and_the_inverse_one_does_not(
    runner: SandboxedRunner, matrices: list[PassMatrix]
) -> None:
    gap, inverse, constant = SeedConsistency(runner, matrices, CONFIG).evaluate(
        candidates(load_known("gap"), load_known("inverse"), CONSTANT)
    )
    assert gap.score is not None
    assert inverse.score is not None
    assert constant.score is not None
    assert gap.score > constant.score + 0.2
    assert gap.score > inverse.score
    assert gap.metrics["testing_balanced_accuracy"] > 0.75


def test_the_descriptor_says_how_a_strategy_behaves(runner: SandboxedRunner, matrices: list[PassMatrix]) -> None:
    backwards = "def rank(e):\n    return -e.passed.sum(1), -e.passed.sum(0)\n"
    forwards, reverse, constant = SeedConsistency(runner, matrices, CONFIG).evaluate(
        candidates(load_known("initial"), backwards, CONSTANT)
    )
    assert forwards.descriptor[1] == pytest.approx(1.0)
    assert reverse.descriptor[1] == pytest.approx(-1.0)
    assert constant.descriptor[1] == pytest.approx(0.0)
    assert forwards.descriptor[0] > constant.descriptor[0] > reverse.descriptor[0]


def test_size_counts_code_and_not_comments() -> None:
    assert code_tokens('"""Doc\nstring."""\nx = 1  # one\n') == code_tokens("x = 1") == 3
    assert code_tokens('"""A\n\n\nb"""\n\n\nx = 1  # """\n\n\ny = 2') == 6


def test_feedback_warns_of_ties_and_shows_the_seed_where_most_was_lost(
    runner: SandboxedRunner, matrices: list[PassMatrix]
) -> None:
    (constant,) = SeedConsistency(runner, matrices, CONFIG).evaluate(candidates(CONSTANT))
    assert "warning: solution scores are constant on 100% of draws" in constant.feedback
    assert "warning: the top testing is tied on 100% of draws" in constant.feedback
    seeds = [line for line in constant.feedback if line.startswith("seed p")]
    assert 1 <= len(seeds) <= 4
    assert "fails criterion 1 and criterion 2" in seeds[0]
    rows = [line for line in constant.feedback if line.startswith("  ") and line.endswith((" right", " wrong"))]
    assert len(rows) == 8


def test_a_leaderboard_orders_strategies_and_keeps_invalid_ones_last(
    runner: SandboxedRunner, matrices: list[PassMatrix]
) -> None:
    strategies = {name: load_known(name) for name in ("inverse", "gap", "initial")} | {"broken": "1 / 0"}
    board = make_leaderboard(runner, matrices, strategies, CONFIG)
    assert [row.name for row in board.rows][-1] == "broken"
    scores = [row.evaluation.score for row in board.rows[:-1]]
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    for row in board.rows[:-1]:
        assert row.interval is None or row.interval.low <= (row.evaluation.score or 0) <= row.interval.high
    shown = board.to_json()
    assert shown["problems"] == 6
    assert shown["strategies"][-1]["invalid"].startswith("ZeroDivisionError")
    assert set(shown["strategies"][0]) == {
        "strategy", "score", "ci", "criterion1", "pass_at_1", "testing_balanced_accuracy", "testing_precision",
        "control", "invalid", "unknown", "by_pool",
    }  # fmt: skip


def test_among_scores_that_chance_could_swap_the_better_testing_wins(
    runner: SandboxedRunner, matrices: list[PassMatrix]
) -> None:
    strategies = {name: load_known(name) for name in known_names()}
    board = make_leaderboard(runner, matrices, strategies, CONFIG)
    winner = board.winner()
    assert winner is not None
    best = board.rows[0]
    assert (
        winner.evaluation.metrics["testing_balanced_accuracy"] >= best.evaluation.metrics["testing_balanced_accuracy"]
    )
    gap = difference(best.evaluation.per_seed, winner.evaluation.per_seed, CONFIG.seed)
    assert gap is None or gap.low <= 0


def test_intervals_hold_the_mean_and_narrow_with_more_problems() -> None:
    rng = np.random.default_rng(0)
    few, many = bootstrap(rng.random(10)), bootstrap(rng.random(1000))
    assert few is not None and few.low < 0.5 < few.high
    assert many is not None and many.high - many.low < few.high - few.low
    assert bootstrap([*np.arange(9.0), float("nan")]) == bootstrap(np.arange(9.0))


def test_pools_that_differ_vary_each_on_its_own():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.random(30), 5 + rng.random(30)])
    names = [f"task-{number}" for number in range(60)]
    apart, mixed = Strata(["a"] * 30 + ["b"] * 30, names), Strata(["a"] * 60, names)
    assert apart.error(values) < mixed.error(values) / 5
    found = apart.interval(values)
    assert found is not None and found.low < values.mean() < found.high
    assert found.high - found.low == pytest.approx(2 * t_quantile(58) * apart.error(values), rel=0.1)


def test_a_share_varies_with_what_is_gained_and_what_could_be_by_the_same_draw():
    rng = np.random.default_rng(0)
    possible, names = rng.random(40), [f"task-{number}" for number in range(40)]
    strata = Strata(["a"] * 20 + ["b"] * 20, names)
    assert strata.share(possible / 4, possible) == pytest.approx((0.25, 0.25))
    found, fixed = strata.share(possible * rng.random(40), possible), strata.interval(np.full(40, 0.25))
    assert found is not None and found.low < 0.5 < found.high
    varying = strata.share(np.full(40, 0.25), possible)
    assert varying is not None and fixed is not None
    assert varying.high > fixed.high / possible.mean(), "the gap is not known either"
    assert strata.share(np.zeros(40), np.zeros(40)) is None


def test_problems_of_one_task_are_resampled_together():
    values, tasks = np.random.default_rng(0).random(40), [f"task-{number}" for number in range(40)]
    alone, twice = bootstrap(values), bootstrap(np.concatenate([values, values]), tasks_P=tasks * 2)
    assert alone is not None and twice == pytest.approx(alone)
    assert bootstrap(values, tasks_P=tasks) == alone
    apart = bootstrap(np.concatenate([values, values]))
    assert apart is not None and apart.high - apart.low < 0.8 * (alone.high - alone.low)
    values[0] = float("nan")
    assert bootstrap(values, tasks_P=tasks) == bootstrap(values[1:], tasks_P=tasks[1:])


def test_held_out_problems_do_not_depend_on_the_order_of_the_file(make_matrix: Make) -> None:
    matrices = [make_matrix(f"p{index}") for index in range(9)]
    forward, backward = split_problems(matrices, 0.3, 1), split_problems(matrices[::-1], 0.3, 1)
    names = {matrix.problem_id for matrix in forward.heldout}
    assert len(names) == 3
    assert names == {matrix.problem_id for matrix in backward.heldout}
    assert names.isdisjoint(matrix.problem_id for matrix in forward.train)
    assert len(forward.train) == 6


def test_what_a_program_reads_and_nobody_recorded_is_told_beside_its_score(
    runner: SandboxedRunner, make_matrix: Make
) -> None:
    without = [replace(make_matrix(name), solution_similarity_MM=None) for name in "ab"]
    matrices = [*without, make_matrix("c")]
    board = make_leaderboard(
        runner, matrices, {"tolerant": write(OPENINGS["agreement-medoid"]), "plain": load_known("codet_gap")}
    )
    rows = {row.name: row for row in board.rows}
    assert rows["tolerant"].to_json()["unknown"] == {"solution_similarity": 2} and rows["plain"].lacking.unknown == {}
    assert rows["tolerant"].evaluation.per_seed[:2] == rows["plain"].evaluation.per_seed[:2]
    said = "solution_similarity, which is unknown (None) for 2 of 3"
    assert any(said in line for line in rows["tolerant"].evaluation.feedback)


def test_of_strategies_that_say_the_same_the_one_that_reads_more_of_what_is_unknown_is_preferred(
    runner: SandboxedRunner, matrices: list[PassMatrix]
) -> None:
    without = [replace(matrix, solution_similarity_MM=None) for matrix in matrices]
    for names in (["codet_gap", "codet_medoid"], ["codet_medoid", "codet_gap"]):
        board = make_leaderboard(runner, without, {name: load_known(name) for name in names}, CONFIG)
        assert board.rows[0].evaluation.per_seed == board.rows[1].evaluation.per_seed
        assert board.rows[0].name == board.to_json()["preferred"] == "codet_medoid"


READERS = {
    "texts": "    for at, text in enumerate(evidence.solution_texts):\n        scores[at] += len(text)\n",
    "time": "    scores -= evidence.durations.sum(1)\n",
    "none": "    # evidence.solution_texts, evidence.durations\n",
}


def test_a_program_that_gets_nowhere_by_empty_texts_or_durations_of_zero_is_warned_of(
    runner: SandboxedRunner, make_matrix: Make
) -> None:
    made = [make_matrix(name) for name in "abc"]
    bare = [replace(one, solution_texts=(), testing_texts=(), durations_MN=None) for one in made[:2]]
    held = replace(made[2], solution_texts=tuple("x" * at for at in range(len(made[2].verdicts_MN))))
    held = replace(held, durations_MN=np.ones(held.verdicts_MN.shape))
    head = "import numpy as np\ndef rank(evidence):\n    scores = np.zeros(len(evidence.passed))\n"
    programs = {name: f"{head}{body}    return scores, evidence.passed.sum(0)\n" for name, body in READERS.items()}
    programs |= {name: load_known(name) for name in ("tfidf", "random")}
    rows = {row.name: row for row in make_leaderboard(runner, [*bare, held], programs).rows}
    assert rows["texts"].to_json()["unknown"] == {"solution_texts": 2}
    assert rows["time"].to_json()["unknown"] == {"durations": 2}
    assert rows["random"].to_json()["unknown"] == {"solution_texts": 2, "testing_texts": 3}
    assert rows["none"].to_json()["unknown"] == rows["tfidf"].to_json()["unknown"] == {}
    for name, said in (
        ("texts", "solution_texts, which is unknown (empty)"),
        ("time", "durations, which is unknown (zeros)"),
    ):
        assert any(f"{said} for 2 of 3" in line for line in rows[name].evaluation.feedback)
    assert not any("unknown" in line for name in ("none", "tfidf") for line in rows[name].evaluation.feedback)


def test_a_program_that_cannot_do_without_is_invalid_and_says_what_is_missing(
    runner: SandboxedRunner, make_matrix: Make
) -> None:
    without = replace(make_matrix("a"), values_NMC=None)
    (found,) = runner.rank([load_known("mbr")], [evidence_of(without)])
    assert isinstance(found, Invalid) and "evidence.values" in found.reason


@pytest.mark.parametrize("ties", ["expected", "stable", "random"])
def test_what_is_told_later_is_what_the_rankings_said(
    runner: SandboxedRunner, matrices: list[PassMatrix], make_matrix: Make, ties: str
) -> None:
    config = ConsistencyConfig(M=8, N=8, draws=3, ties=ties)
    evaluator = SeedConsistency(runner, [*matrices, make_matrix("short", 6, 9)], config)
    texts = [load_known("gap"), CONSTANT]
    for text, evaluation in zip(texts, evaluator.evaluate(candidates(*texts)), strict=True):
        (behaviour,) = evaluator.behaviours([text])
        assert not isinstance(behaviour, Invalid)
        score_E = behaviour.per_draw(lambda _, outcome: outcome.score_B)
        assert evaluation.feedback == feedback(behaviour, score_E, evaluator.oracle_E)
        assert evaluation.notes == FirstDraws(evaluator.draws).notes(behaviour)


def test_what_would_be_told_is_held_for_so_many_programs_only(
    runner: SandboxedRunner, matrices: list[PassMatrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistency, "CACHED_BYTES", 3 * 6 * 3 * 16)  # of three programs: 18 draws of 8 + 8
    counting = Counting(runner)
    evaluator = SeedConsistency(counting, matrices, CONFIG)
    texts = [f"{load_known('gap')}# {number}\n" for number in range(5)]
    found = evaluator.evaluate(candidates(*texts))
    assert evaluator.evaluate(candidates(*texts[2:])) == found[2:] and counting.programs == texts
    assert evaluator.evaluate(candidates(texts[0])) == found[:1] and counting.programs == [*texts, texts[0]]
