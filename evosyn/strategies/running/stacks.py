"""Problems of one shape as one stack: what the first lines of genetic programs name, computed once for all programs.

Those lines are part of our own grammar (`TERMINALS`), so their values are known before any program runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import CodeType
from typing import NamedTuple

import numpy as np

from evosyn.rankings import Places, by_shape
from evosyn.records import Evidence
from evosyn.strategies.grammar import helpers
from evosyn.strategies.grammar.grammar import TERMINALS
from evosyn.strategies.grammar.helpers import Array

STACK_SIZE = 64
"""Problems computed at once: enough to hide the cost of a call, few enough to stay in the cache of the processor."""


class Stack(NamedTuple):
    """Some problems of one shape.

    Attributes:
        at_B: places of the problems among the evidences.
        sizes: M and N.
        terminals: by name, with the problems along the first axis.
    """

    at_B: Places
    sizes: tuple[int, int]
    terminals: dict[str, Array]

    @property
    def scores(self) -> int:
        """Scores that a program gives for it."""
        return len(self.at_B) * sum(self.sizes)


def stacked(evidences: Sequence[Evidence]) -> list[Stack]:
    """All evidences in stacks of at most `STACK_SIZE`."""
    found = []
    for sizes, places in by_shape(evidence.passed_MN.shape for evidence in evidences).items():
        for start in range(0, len(places), STACK_SIZE):
            at_B = places[start : start + STACK_SIZE]
            found.append(Stack(at_B, sizes, _terminals([evidences[place] for place in at_B])))
    return found


def _terminals(evidences: Sequence[Evidence]) -> dict[str, Array]:
    """What `TERMINALS` define, by the very text of the definitions."""
    scope = {**vars(helpers), "np": np}
    rows: dict[str, list[Array]] = {name: [] for name in _definitions()}
    with np.errstate(all="ignore"):
        for evidence in evidences:
            shown = {"evidence": _Shown(evidence)}
            for name, code in _definitions().items():
                rows[name].append(eval(code, scope, shown))
    return {name: np.stack(found) for name, found in rows.items()}


@cache
def _definitions() -> dict[str, CodeType]:
    texts = {name: terminal.definition for name, terminal in TERMINALS.items() if terminal.definition}
    return {name: compile(text, f"<{name}>", "eval") for name, text in texts.items()}


class _Shown:
    """An evidence under the names by which programs know what terminals read."""

    def __init__(self, evidence: Evidence) -> None:
        self.passed, self.cases = evidence.passed_MN, evidence.cases_NMC
        self.verdicts, self.calls = evidence.verdicts_MN, evidence.calls_N
        self.copies, self.values = evidence.copies_M, evidence.values_NMC
        self.solution_groups, self.testing_groups = evidence.solution_group_M, evidence.testing_group_N
        self.solution_similarity = evidence.solution_similarity_MM
        self.testing_similarity = evidence.testing_similarity_NN
