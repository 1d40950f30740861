"""A program without the terms that earn nothing: its own ablation, repeated until every term that is left counts.

A term goes while the program without it is level with the whole one: the score falls by no more than half a standard
error of the paired difference, and the chosen testing is as good. What all terms together may cost is bounded by that,
not what each may. Beyond what the ablation runs, one program is: that without what its terms leave behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evosyn.evaluators.axes.program_size import code_tokens
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.intervals import SAME_TESTING, level
from evosyn.evaluators.leftovers import without_leftovers
from evosyn.evaluators.terms import Variant, variants
from evosyn.records import Candidate, Evaluation
from evosyn.strategies.genome import TIE_METRIC
from evosyn.strategies.grammar.source import read

ROUNDS = 20
"""Terms that are taken away at most."""


@dataclass(frozen=True)
class PrunedProgram:
    """What is left.

    Attributes:
        text: the program itself where nothing could go.
        removed: the terms that went, in that order.
        evaluation: of what is left, on the same draws as the whole.
        tokens, tokens_before: of the code.
    """

    text: str
    removed: tuple[str, ...]
    evaluation: Evaluation
    tokens: int
    tokens_before: int


def prune_terms(evaluator: SeedConsistency, text: str) -> PrunedProgram:
    """The shortest program that leaving out one term after the other leads to.

    Raises:
        SandboxUnavailable: passed through.
    """
    (whole,) = evaluator.evaluate([Candidate(text)])
    tasks_P = evaluator.draws.tasks_P
    removed: list[str] = []
    left, evaluation = text, whole
    while len(removed) < ROUNDS and evaluation.score is not None:
        cut = variants(left)
        found = evaluator.evaluate([Candidate(variant.text) for variant in cut])
        fitting = [pair for pair in zip(cut, found, strict=True) if _as_good(whole, pair[1], tasks_P)]
        shorter = [pair for pair in fitting if code_tokens(pair[0].text) < code_tokens(left)]
        if not shorter:
            break
        variant, evaluation = min(shorter, key=_order)
        left = variant.text
        removed.append(variant.removed)
    if removed and read(left) is None:
        left, evaluation = _tidied(evaluator, left, text, evaluation)
    return PrunedProgram(left, tuple(removed), evaluation, code_tokens(left), code_tokens(text))


def _tidied(evaluator: SeedConsistency, left: str, whole: str, evaluation: Evaluation) -> tuple[str, Evaluation]:
    """The same program without what its terms leave behind, where it ranks everything as before."""
    text = without_leftovers(left, whole)
    (found,) = evaluator.evaluate([Candidate(text)])
    return (text, found) if found.score is not None and found.signature == evaluation.signature else (left, evaluation)


def _as_good(whole: Evaluation, without: Evaluation, tasks_P: Sequence[str]) -> bool:
    if whole.score is None or without.score is None:
        return False
    return (
        level(whole.per_seed, without.per_seed, tasks_P)
        and without.metrics[TIE_METRIC] >= whole.metrics[TIE_METRIC] - SAME_TESTING
    )


def _order(pair: tuple[Variant, Evaluation]) -> tuple[float, int, str]:
    """The best score first, then the shortest program."""
    variant, evaluation = pair
    return -round(evaluation.score or 0.0, 6), code_tokens(variant.text), variant.text
