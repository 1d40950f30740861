"""Evidence in words for whoever improves a strategy: which seeds fail which criterion, what stood there, what ties.

It shows human verdicts to the proposer, never to the program. DESIGN.md section 5; Novikov 2025 (AlphaEvolve), 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evosyn.evaluators.behaviour import Behaviour
from evosyn.evaluators.criteria import Outcome
from evosyn.evaluators.draws import Block, Floats

SEEDS_SHOWN = 4
MATRIX_SIDE = 20
"""A larger matrix is not drawn."""

OFTEN = 0.25


def feedback(behaviour: Behaviour, score_E: Floats, oracle_E: Floats) -> tuple[str, ...]:
    """Lines of evidence: warnings first, then the seeds where most was to be gained, the worst one drawn; of those that
    models may be told of (`Draws.shown_P`).

    Args:
        score_E, oracle_E: this strategy's and the best possible score of each draw.
    """
    draws = behaviour.draws
    lost = np.where(draws.shown_P, draws.by_problem(oracle_E - score_E), 0.0)
    lines = list(_warnings(behaviour))
    for rank, problem in enumerate(np.argsort(-lost, kind="stable")[:SEEDS_SHOWN]):
        if lost[problem] <= 1e-9:
            break
        of_problem = np.flatnonzero(draws.problem_E == problem)
        worst = of_problem[np.argmax((oracle_E - score_E)[of_problem])]
        lines.extend(_seed_lines(behaviour, int(worst), draws.problem_ids[problem], draw_matrix=rank == 0))
    return tuple(lines)


def _warnings(behaviour: Behaviour) -> Sequence[str]:
    shares = {
        "solution scores are constant": lambda _, outcome: _constant(outcome.solution_ranks_BM == 0),
        "testing scores are constant": lambda block, outcome: _constant(
            (outcome.testing_ranks_BN == 0) | (False if block.padding_BN is None else block.padding_BN)
        ),
        "the top solution is tied": lambda _, outcome: ((outcome.solution_ranks_BM == 0).sum(axis=1) > 1).astype(float),
        "the top testing is tied": lambda _, outcome: ((outcome.testing_ranks_BN == 0).sum(axis=1) > 1).astype(float),
        "the chosen testing accepts nobody": lambda _, outcome: outcome.of_kept(outcome.asked.strictness_BN == 0.0),
        "the chosen testing accepts everybody": lambda _, outcome: outcome.of_kept(outcome.asked.strictness_BN == 1.0),
        "no testing is kept: the top solutions fail the top testings": lambda _, outcome: outcome.of_kept(
            np.zeros(outcome.weights_BQ.shape), of_none=1.0
        ),
    }
    found = [(behaviour.mean(measure), text) for text, measure in shares.items()]
    return [f"warning: {text} on {share:.0%} of draws" for share, text in found if share >= OFTEN]


def _constant(first: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    return np.asarray(first.all(axis=1), dtype=np.float64)


def _seed_lines(behaviour: Behaviour, at: int, name: str, *, draw_matrix: bool) -> list[str]:
    for block, outcome in zip(behaviour.draws.blocks, behaviour.outcomes, strict=True):
        place = np.flatnonzero(block.at_B == at)
        if len(place):
            return _describe(block, outcome, int(place[0]), name, draw_matrix)
    return []


def _describe(block: Block, outcome: Outcome, at: int, name: str, draw_matrix: bool) -> list[str]:
    passed, human = block.passed(at), block.human_BM[at]
    order = np.argsort(outcome.solution_ranks_BM[at], kind="stable")
    kept = np.flatnonzero(outcome.trusted_BN[at]).tolist()[: None if block.joinable_BN is not None else 1]
    best, worst = order[0], order[-1]
    failing = [
        f"criterion {number}"
        for number, share in ((1, outcome.criterion1_B[at]), (2, outcome.criterion2_B[at]))
        if share < 1 - 1e-9
    ]
    lines = [
        f"seed {name}: fails {' and '.join(failing) or 'the two together'} (score {outcome.score_B[at]:.2f}): "
        f"top solution {_said(human[best])} and passes {passed[best].sum()}/{passed.shape[1]} testings; "
        f"worst {_said(human[worst])} and passes {passed[worst].sum()}; {_kept(block, at, kept)}; "
        f"{human.sum()} of {len(human)} solutions are right"
    ]
    if draw_matrix and max(passed.shape) <= MATRIX_SIDE:
        columns = np.argsort(outcome.testing_ranks_BN[at, : passed.shape[1]], kind="stable")
        lines.append("  its matrix, best solutions and testings first (1 passes; last column: the human testing)")
        for row in order:
            cells = "".join("1" if cell else "." for cell in passed[row, columns])
            lines.append(f"  {cells} {'right' if human[row] else 'wrong'}")
    return lines


def _kept(block: Block, at: int, columns: Sequence[int]) -> str:
    """What the chosen testing says, or that which joins these columns."""
    if not columns:
        return "no testing is kept"
    named = f"chosen testing {columns[0]}" if block.joinable_BN is None else f"testing of {len(columns)} joined"
    accepts = block.passed(at)[:, columns].all(axis=1).sum()
    return f"{named} accepts {accepts}/{len(block.human_BM[at])}, agrees with the human on {block.agrees(at, columns)}"


def _said(right: bool) -> str:
    return "is right" if right else "is wrong"
