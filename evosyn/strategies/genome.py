"""Strategies as what is evolved: the contract in words, when two are the same, how replies are read, which is better.

How well one does is for an evaluator to say (`evosyn.evaluators.consistency`). DESIGN.md section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

from evosyn.chat import Parsed
from evosyn.codeblocks import read_program
from evosyn.records import Elite
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.source import functions
from evosyn.strategies.running._harness import ALLOWED
from evosyn.templates import render

PROMPTS = "evosyn.strategies"
ENTRY_POINTS = ("rank", "strategy")

WIDTH = 120
TIE_METRIC = "testing_balanced_accuracy"
"""Among equal scores the better testing wins: the score alone can be gamed (facts of real pools in docs/evolve.md)."""


class StrategyMerit(NamedTuple):
    """The order of strategies: score, then the quality of the chosen testings, then the shorter program."""

    score: float
    testing: float
    brevity: int


def merit_of(elite: Elite) -> StrategyMerit:
    """The merit of a strategy with a score."""
    evaluation = elite.evaluation
    testing = evaluation.metrics.get(TIE_METRIC, 0.0)
    return StrategyMerit(evaluation.score or 0.0, testing, -len(elite.candidate.text))


class StrategyGenome:
    """Implements `ports.Genome`.

    Attributes:
        reader: shared with the genetic proposer and the runner, which spares reading what was just written.
    """

    purpose = "strategy"

    def __init__(self) -> None:
        self.reader = Reader()
        modules = sorted(set(ALLOWED) - {"__future__", "numpy", "random"})
        self.task = render(PROMPTS, "prompts/contract.md", modules=fill(", ".join(modules), WIDTH))
        self.question = render(PROMPTS, "prompts/question.md")

    def key(self, text: str) -> str | None:
        """See `Reader.key`."""
        return self.reader.key(text)

    def read(self, reply: str, shown: Sequence[str]) -> Parsed[str]:
        """See `read_program`; functions of the grammar need not be written out."""
        return read_program(reply, [*shown, *functions().values()], ENTRY_POINTS)

    def merit(self, elite: Elite) -> StrategyMerit:
        """See `merit_of`."""
        return merit_of(elite)
