"""Trees computed on stacks of problems at once: the same helper functions as in the programs, one call for all.

Nothing of a program text is executed here: a tree is a value of our own grammar. What a stack gives and what the
program gives for each of its problems are the same scores (a test compares them). One `Stack` holds the problems of
one shape M x N.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evosyn.evolve.genetic import helpers
from evosyn.evolve.genetic.grammar import OPS, Node, Program
from evosyn.evolve.genetic.helpers import Array
from evosyn.records import Evidence

MAX_HELD = 32 * 1024 * 1024
"""Bytes of intermediate values kept for reuse by trees that share subtrees."""


class Stack:
    """Problems of one shape, with their terminals computed once.

    Args:
        evidences: B problems, all M x N.
    """

    def __init__(self, evidences: Sequence[Evidence]) -> None:
        self._values = _terminals(evidences)
        self._held: dict[Node, Array] = {}
        self._bytes = 0

    def scores(self, program: Program) -> tuple[Array, Array]:
        """Scores of the solutions, shape (B, M), and of the testings, shape (B, N); finite and rounded."""
        with np.errstate(all="ignore"):
            solutions = helpers.tidy(self._compute(program.solutions, None))
            testings = helpers.tidy(self._compute(program.testings, solutions))
        return solutions, testings

    def _compute(self, node: Node, scores: Array | None) -> Array:
        return self._walk(node, scores)[0]

    def _walk(self, node: Node, scores: Array | None) -> tuple[Array, bool]:
        """The value, and whether it depends on the solution scores (then it is of no use to another program)."""
        if node.op == "solution_scores":
            if scores is None:
                raise ValueError("the tree of the solutions uses the solution scores")
            return scores, True
        if not node.args:
            return self._values[node.op], False
        held = self._held.get(node)
        if held is not None:
            return held, False
        arguments: list[Array | float] = []
        depends = False
        for arg in node.args:
            if isinstance(arg, Node):
                value, uses = self._walk(arg, scores)
                depends |= uses
                arguments.append(value)
            else:
                arguments.append(arg)
        result = OPS[node.op].function(*arguments)
        if not depends:
            self._keep(node, result)
        return result, depends

    def _keep(self, node: Node, value: Array) -> None:
        if self._bytes + value.nbytes > MAX_HELD:
            self._held.clear()
            self._bytes = 0
        self._held[node] = value
        self._bytes += value.nbytes


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
