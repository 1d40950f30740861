"""The strategy card: what the winner does, where it wins and loses, which of its terms matter, what it cost to find."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.leaderboard import Leaderboard, Row
from evosyn.evolve.archive import TIE_METRIC
from evosyn.evolve.genetic.source import read, write
from evosyn.evolve.genetic.terms import glossary, notation, without_terms
from evosyn.evolve.islands import Archipelago
from evosyn.ports import StrategyRunner
from evosyn.records import Candidate, Json
from evosyn.synthesis.recipes._evolve_config import EvolveConfig
from evosyn.synthesis.recipes._evolve_finish import EVOLVED, Boards, Choice, fresh_scoring
from evosyn.synthesis.recipes._evolve_inputs import Seeds

CLEAR = 0.05
"""A problem counts as won or lost where the scores differ by more than this."""

MOST_TERMS = 12


def card_of(
    choice: Choice,
    state: Archipelago,
    found: Boards,
    first: str,
    runner: StrategyRunner,
    seeds: Seeds,
    config: EvolveConfig,
) -> str:
    """The card as Markdown.

    Args:
        first: name of the initial strategy in the leaderboards.
        runner: runs the programs without one term.
    """
    candidate = choice.winner.candidate
    held = _row(found.heldout, EVOLVED)
    interval = "" if held.interval is None else f" (95 %: {held.interval.low:.3f} to {held.interval.high:.3f})"
    start = _row(found.heldout, first).evaluation
    label = "\n**Simulated**: solutions and testings came from the offline teacher, not from a model.\n"
    parts = [
        f"# Strategy card: {candidate.id}\n",
        label if seeds.simulated else "",
        f"Held out: **{held.evaluation.score:.3f}**{interval} on {len(found.heldout.problems)} problems; the initial "
        f"strategy has {start.score:.3f}, the best possible ranking {found.heldout.oracle:.3f}. Balanced accuracy of "
        f"the chosen testing: {held.evaluation.metrics[TIE_METRIC]:.3f} (initial {start.metrics[TIE_METRIC]:.3f}).",
        f"Found in {state.evaluations} evaluations and {state.steps} proposals, {state.replies} model calls, "
        f"${state.cost:.4f}; made by {candidate.proposer}.\n",
        "## What it does\n",
        *_words(candidate.text),
        "\n## Won and lost against the initial strategy\n",
        *_won(found.train, first, "train"),
        *_won(found.heldout, first, "held out"),
        "\n## What its terms are worth\n",
        *_terms(choice, runner, seeds, config),
        "\n## Source\n",
        f"```python\n{candidate.text.rstrip()}\n```\n",
    ]
    return "\n".join(part for part in parts if part)


def _words(text: str) -> list[str]:
    program = read(text)
    if program is None:
        told = ast.get_docstring(ast.parse(text)) or "A program outside the genetic grammar; see its source."
        return [told]
    return [
        f"- solutions are ranked by `{notation(program.solutions)}`",
        f"- testings are ranked by `{notation(program.testings)}`",
        "",
        *[f"- {line}" for line in glossary(program)],
    ]


def _won(board: Leaderboard, first: str, name: str) -> list[str]:
    gaps = np.subtract(_row(board, EVOLVED).evaluation.per_seed, _row(board, first).evaluation.per_seed)
    won = [(board.problems[at], float(gaps[at])) for at in np.argsort(-gaps) if gaps[at] > CLEAR]
    lost = [(board.problems[at], float(gaps[at])) for at in np.argsort(gaps) if gaps[at] < -CLEAR]
    return [f"- {name}: won {len(won)} ({_listed(won)}), lost {len(lost)} ({_listed(lost)}) of {len(gaps)}"]


def _listed(problems: Sequence[tuple[str, float]]) -> str:
    return (
        ", ".join(f"{name} {gap:+.2f}" for name, gap in problems[:6]) + (", ..." if len(problems) > 6 else "") or "none"
    )


def _terms(choice: Choice, runner: StrategyRunner, seeds: Seeds, config: EvolveConfig) -> list[str]:
    """Score on fresh draws of the train problems with each term taken away."""
    program = read(choice.winner.candidate.text)
    if program is None:
        return ["Only programs of the genetic grammar can be taken apart."]
    smaller = list(without_terms(program))
    if not smaller:
        return ["It has no term that could be left out."]
    evaluator = SeedConsistency(runner, seeds.split.train, fresh_scoring(config, "choose"), axes=())
    scores = [found.score for found in evaluator.evaluate([Candidate(write(one.program)) for one in smaller])]
    whole = choice.fresh.score or 0.0
    rows: list[tuple[float, Json]] = [
        (score - whole, f"| {one.tree} | `{one.removed}` | `{one.left}` | {score - whole:+.4f} |")
        for one, score in zip(smaller, scores, strict=True)
        if score is not None
    ]
    rows.sort(key=lambda row: row[0])
    shown = [line for _, line in rows[:MOST_TERMS]]
    head = ["| tree | instead of | only | change of the train score |", "|---|---|---|---|"]
    rest = [f"\n{len(rows) - MOST_TERMS} more change less."] if len(rows) > MOST_TERMS else []
    return [*head, *shown, *rest]


def _row(board: Leaderboard, name: str) -> Row:
    return next(row for row in board.rows if row.name == name)
