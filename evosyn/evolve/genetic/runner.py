"""A strategy runner that computes programs of our own grammar on whole stacks of problems, in this process.

That is safe because nothing of the text runs: it is read as a tree of our own operations, and the tree is computed.
Every other program goes to the runner behind it (the sandbox). Scores are the same either way. DESIGN.md section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evosyn.evolve.genetic.compute import Stack
from evosyn.evolve.genetic.grammar import Program
from evosyn.evolve.genetic.reader import Reader
from evosyn.ports import StrategyRunner
from evosyn.records import Evidence, Invalid, Ranking

STACK_SIZE = 128
"""Problems computed at once: enough to hide the cost of a call, few enough to stay in the cache of the processor."""


class _Part(NamedTuple):
    places: tuple[int, ...]
    stack: Stack


class TreeRunner:
    """Implements `ports.StrategyRunner`.

    Args:
        behind: runs what is not of the grammar.
        reader: may be shared with the proposer, which spares reading what was just written.
    """

    def __init__(self, behind: StrategyRunner, reader: Reader) -> None:
        self._behind, self._reader = behind, reader
        self._prepared: tuple[Sequence[Evidence], list[_Part]] | None = None

    def rank(self, programs: Sequence[str], evidences: Sequence[Evidence]) -> list[tuple[Ranking, ...] | Invalid]:
        """For each program its rankings, one per evidence, or why it has none."""
        trees = [self._reader.read(program) for program in programs]
        others = [program for program, tree in zip(programs, trees, strict=True) if tree is None]
        ran = iter(self._behind.rank(others, evidences) if others else [])
        parts = self._parts(evidences)
        return [next(ran) if tree is None else _rankings(tree, parts, len(evidences)) for tree in trees]

    def _parts(self, evidences: Sequence[Evidence]) -> list[_Part]:
        if self._prepared is None or self._prepared[0] is not evidences:
            self._prepared = (evidences, _stacked(evidences))
        return self._prepared[1]


def _stacked(evidences: Sequence[Evidence]) -> list[_Part]:
    shapes: dict[tuple[int, ...], list[int]] = {}
    for place, evidence in enumerate(evidences):
        shapes.setdefault(evidence.passed_MN.shape, []).append(place)
    parts = []
    for places in shapes.values():
        for start in range(0, len(places), STACK_SIZE):
            some = tuple(places[start : start + STACK_SIZE])
            parts.append(_Part(some, Stack([evidences[place] for place in some])))
    return parts


def _rankings(tree: Program, parts: Sequence[_Part], count: int) -> tuple[Ranking, ...]:
    found: dict[int, Ranking] = {}
    for part in parts:
        solutions, testings = part.stack.scores(tree)
        for row, place in enumerate(part.places):
            found[place] = Ranking(solutions[row], testings[row])
    return tuple(found[place] for place in range(count))
