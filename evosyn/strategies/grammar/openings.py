"""Well-known ideas as trees: where a genetic search begins beside random trees. Each is a program of the grammar.

Pass counts and the gap: Du 2025 (EvoSyn), figure 3. Leaving the testing itself out: figure 13. Rare passes: figure 10.
Agreement: Chen 2022 (CodeT). Independent errors: Dawid and Skene 1979. Mutual reinforcement: Kleinberg 1999. Posterior:
Chen 2024 (B4). Outputs: Shi 2022 (MBR-EXEC). Medoid: Jain 2023. Decisions, and two orders in one (`crown`): ours.
"""

from __future__ import annotations

from evosyn.strategies.grammar.grammar import Node, Program

_PASSED, _CHECKS, _SCORES = Node("passed"), Node("checks"), Node("solution_scores")
_PASSES = Node("row_mean", (_PASSED,))
_GAP = Node("gap", (_PASSED, _SCORES))
_ACCEPTED = Node("accepted", (_PASSED, _SCORES))
_AGREEMENT = Node("mul", (Node("row_mean", (Node("same", (_PASSED,)),)), _PASSES))
_CHECK_AGREEMENT = Node("mul", (Node("row_mean", (Node("same_checks"),)), _CHECKS))
_POSTERIOR = Node("bayes", (_PASSED, 0.0, 2.0))
_OUTPUTS = Node("row_mean", (Node("echo"),))
_MEDOID = Node("row_mean", (Node("kin"),))
_LEAN = Node("times", (Node("standard", (_MEDOID,)), 0.5))
_AGREED_GAP = Node("gap", (_PASSED, _AGREEMENT))
_TOP_FIRST = Node("then", (Node("accepted", (_PASSED, Node("top", (_SCORES,)))), _AGREED_GAP))
_CENTRAL_AGREEMENT = Node("then", (_AGREEMENT, _MEDOID))
_ECHOED = Node("mul", (_AGREEMENT, _OUTPUTS))
_ECHOED_GAP = Node("gap", (_PASSED, _ECHOED))
_KIN_AGREEMENT = Node("smooth", (Node("kin"), _AGREEMENT))
_CENTRAL_PASSES = Node("then", (_PASSES, _MEDOID))
_COVERED = Node("vote", (_PASSED, Node("accepted", (_PASSED, Node("top", (_SCORES,))))))
"""Which part of what the best solution passes a solution passes too: where the last one passes most of it, all are
probably right."""
_TOP_THEN_LAST = Node("decide", (_PASSED, _SCORES, _COVERED, 0.65))
_TOP_THEN_ECHOED = Node("then", (Node("accepted", (_PASSED, Node("top", (_SCORES,)))), _ECHOED_GAP))


def _sum(*terms: Node) -> Node:
    first, *rest = terms
    return Node("add", (first, _sum(*rest))) if rest else first


_POSTERIOR_CROWN = Node("crown", (_sum(_POSTERIOR, Node("logarithm", (_OUTPUTS,)), _LEAN), _CENTRAL_AGREEMENT))
_AGREEMENT_CROWN = Node(
    "crown", (_sum(Node("logarithm", (_AGREEMENT,)), Node("logarithm", (_OUTPUTS,)), _LEAN), _CENTRAL_PASSES)
)

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
    "posterior": Program(_POSTERIOR, _GAP),
    "outputs": Program(_OUTPUTS, _GAP),
    "agreement-medoid": Program(_CENTRAL_AGREEMENT, _AGREED_GAP),
    "agreement-outputs": Program(Node("then", (_AGREEMENT, _OUTPUTS)), _AGREED_GAP),
    "posterior-medoid": Program(Node("crown", (_sum(_POSTERIOR, _LEAN), _CENTRAL_AGREEMENT)), _TOP_FIRST),
    "posterior-outputs": Program(_POSTERIOR_CROWN, _TOP_FIRST),
    "posterior-covered": Program(_POSTERIOR_CROWN, _TOP_THEN_LAST),
    "agreement-crown": Program(_AGREEMENT_CROWN, _TOP_FIRST),
    "agreement-covered": Program(_AGREEMENT_CROWN, _TOP_THEN_LAST),
    "echoed-agreement": Program(_ECHOED, _ECHOED_GAP),
    "echoed-kin": Program(Node("then", (_ECHOED, _KIN_AGREEMENT)), _ECHOED_GAP),
    "echoed-medoid": Program(Node("crown", (Node("mul", (_ECHOED, _MEDOID)), _CENTRAL_PASSES)), _TOP_THEN_ECHOED),
    "echoed-crown": Program(Node("crown", (Node("mul", (_ECHOED, _KIN_AGREEMENT)), _CENTRAL_PASSES)), _TOP_FIRST),
    "decision": Program(_AGREEMENT, Node("decide", (_PASSED, _SCORES, Node("latent", (_PASSED,)), 0.5))),
    "discount": Program(Node("vote", (_PASSED, Node("novelty"))), _GAP),
}
