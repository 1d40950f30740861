"""Problems of one shape as one stack: what the first lines of genetic programs name, computed once for all programs.

Those lines are part of our own grammar (`TERMINALS`), so their values are known before any program runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evosyn.records import Evidence
from evosyn.strategies.grammar import helpers
from evosyn.strategies.grammar.helpers import Array

STACK_SIZE = 64
"""Problems computed at once: enough to hide the cost of a call, few enough to stay in the cache of the processor."""


class Stack(NamedTuple):
    """Some problems of one shape.

    Attributes:
        places: of the problems among the evidences, B of them.
        sizes: M and N.
        terminals: by name, with the problems along the first axis.
    """

    places: tuple[int, ...]
    sizes: tuple[int, int]
    terminals: dict[str, Array]

    @property
    def scores(self) -> int:
        """Scores that a program gives for it."""
        return len(self.places) * sum(self.sizes)


def stacked(evidences: Sequence[Evidence]) -> list[Stack]:
    """All evidences in stacks of at most `STACK_SIZE`."""
    shapes: dict[tuple[int, int], list[int]] = {}
    for place, evidence in enumerate(evidences):
        m, n = evidence.passed_MN.shape
        shapes.setdefault((m, n), []).append(place)
    found = []
    for sizes, places in shapes.items():
        for start in range(0, len(places), STACK_SIZE):
            some = tuple(places[start : start + STACK_SIZE])
            found.append(Stack(some, sizes, _terminals([evidences[place] for place in some])))
    return found


def _terminals(evidences: Sequence[Evidence]) -> dict[str, Array]:
    rows: dict[str, list[Array]] = {}
    with np.errstate(all="ignore"):
        for evidence in evidences:
            checks = np.concatenate(evidence.cases_NMC, axis=1).astype(float)
            values = {
                "passed": evidence.passed_MN.astype(float),
                "share": np.stack([case.mean(axis=1) for case in evidence.cases_NMC], axis=1),
                "checks": checks.mean(axis=1),
                "alike_checks": helpers.alike(checks),
                "same_checks": helpers.same(checks),
                "check_chance": helpers.latent(checks),
            }
            for name, value in values.items():
                rows.setdefault(name, []).append(value)
    return {name: np.stack(found) for name, found in rows.items()}
