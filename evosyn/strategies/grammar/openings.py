"""Well-known ideas as trees: where a genetic search begins beside random trees. Each is a program of the grammar.

Pass counts and the gap: Du 2025 (EvoSyn), figure 3. Leaving the testing itself out: figure 13. Rare passes: figure 10.
Agreement: Chen 2022 (CodeT). Independent errors: Dawid and Skene 1979. Mutual reinforcement: Kleinberg 1999.
"""

from __future__ import annotations

from evosyn.strategies.grammar.grammar import Node, Program

_PASSED, _CHECKS, _SCORES = Node("passed"), Node("checks"), Node("solution_scores")
_PASSES = Node("row_mean", (_PASSED,))
_GAP = Node("gap", (_PASSED, _SCORES))
_ACCEPTED = Node("accepted", (_PASSED, _SCORES))
_AGREEMENT = Node("mul", (Node("row_mean", (Node("same", (_PASSED,)),)), _PASSES))
_CHECK_AGREEMENT = Node("mul", (Node("row_mean", (Node("same_checks"),)), _CHECKS))

OPENINGS: dict[str, Program] = {
    "pass-counts": Program(_PASSES, Node("row_mean", (Node("turned", (_PASSED,)),))),
    "gap": Program(_PASSES, _GAP),
    "leave-out": Program(_PASSES, Node("fair_gap", (_PASSED,))),
    "rare-passes": Program(Node("row_mean", (Node("rare", (_PASSED,)),)), _GAP),
    "agreement": Program(_AGREEMENT, _ACCEPTED),
    "agreement-gap": Program(_AGREEMENT, _GAP),
    "checks": Program(_CHECKS, _GAP),
    "check-agreement": Program(_CHECK_AGREEMENT, _GAP),
    "independent-errors": Program(Node("latent", (_PASSED,)), _GAP),
    "independent-checks": Program(Node("check_chance"), _GAP),
    "mutual": Program(Node("mutual", (_PASSED,)), _ACCEPTED),
}
