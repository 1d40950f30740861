"""Which of M programs of a tool stands, with which of N testings: ranked by a strategy, and held to a vote.

The programs and testings are cross-executed; the strategy ranks both; the top program must pass the top testing, and do
what most programs do in most of the calls that any testing makes (the vote is ours). ScaleEnv section 4.1.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evosyn.ports import Crossexec, StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.records import Invalid, PassMatrix, Pool, Ranking
from evosyn.strategies.evidence import evidence_of
from evosyn.synthesis.prune import ZERO_VARIANCE, PruneConfig, decide

OTHERS = "too-few-agree"


class ToolChoice(NamedTuple):
    """What the matrix says of a tool.

    Attributes:
        solution, testing: places of the chosen ones; of the best ones where none is chosen; -1 where there is none.
        agreement: share of all calls in which the chosen program is with most.
        reason: why none is chosen, as `name: detail`, or "".
        scores: of both.
        parts: a testing and a case of it in which the program is not with most, (-1, -1) for none.
    """

    matrix: PassMatrix
    solution: int
    testing: int
    agreement: float
    reason: str
    scores: tuple[float, float]
    parts: tuple[int, int] = (-1, -1)

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(["".join(row) for row in self.matrix.verdicts_MN])


@dataclass(frozen=True)
class ToolChooser:
    """Judges pools of tools.

    Attributes:
        strategy: text of the program that ranks.
        least: agreement that is asked for.
    """

    crossexec: Crossexec
    runner: StrategyRunner
    strategy: str
    least: float
    tree: SeedTree

    def choose(self, pools: Sequence[Pool]) -> list[ToolChoice]:
        """A choice for each pool, with at least one solution and one testing each; blocks.

        Raises:
            SandboxUnavailable: from the sandbox.
        """
        matrices = self.crossexec.matrices([(one.problem, one.solutions, one.testings) for one in pools])
        return [self._chosen(*pair) for pair in zip(pools, matrices, self._ranked(matrices), strict=True)]

    def _ranked(self, matrices: Sequence[PassMatrix]) -> list[Ranking | Invalid]:
        evidences = [evidence_of(matrix) for matrix in matrices]
        together = self.runner.rank([self.strategy], evidences)[0]
        if not isinstance(together, Invalid):
            return list(together)
        alone = [self.runner.rank([self.strategy], [evidence])[0] for evidence in evidences]
        return [one if isinstance(one, Invalid) else one[0] for one in alone]

    def _chosen(self, pool: Pool, matrix: PassMatrix, ranking: Ranking | Invalid) -> ToolChoice:
        if isinstance(ranking, Invalid):
            return ToolChoice(matrix, -1, -1, 0.0, f"strategy-invalid: {ranking.reason}", (0.0, 0.0))
        found = decide(matrix, ranking, PruneConfig(), self.tree.child(pool.problem.id))
        best = found.chosen
        at = int(np.argmax(ranking.solution_scores_M)), int(np.argmax(ranking.testing_scores_N))
        solution, testing = at if best is None else (best.best, best.testing)
        agreement, parts = agreement_of(matrix, solution)
        scores = float(ranking.solution_scores_M[solution]), float(ranking.testing_scores_N[testing])
        reason = f"{found.reason}: {found.detail}" if found.reason else ""
        passed_MN = matrix.passed_MN
        if found.reason == ZERO_VARIANCE and bool((passed_MN == passed_MN[:, :1]).all()):
            reason = ""  # all testings say the same of every program: they need no ranking
        if not reason and _accepts_a_canary(matrix, testing):
            reason = "vacuous: the best testing accepts a program that does nothing"
        if not reason and agreement < self.least:
            reason = f"{OTHERS}: the best program is with most in {agreement:.2f} of all calls"
        return ToolChoice(matrix, solution, testing, agreement, reason, scores, parts)


def _accepts_a_canary(matrix: PassMatrix, testing: int) -> bool:
    return testing in matrix.meta.get("vacuous", ())


def agreement_of(matrix: PassMatrix, solution: int) -> tuple[float, tuple[int, int]]:
    """In which share of the different calls of all testings a program does what most do; and a case where not."""
    votes: dict[str, tuple[bool, tuple[int, int]]] = {}
    for testing, (calls, values_MC) in enumerate(zip(matrix.calls_N or (), matrix.values_NMC or (), strict=True)):
        if calls is None or values_MC is None:
            continue
        for case, call in enumerate(calls):
            if call is not None and call.arguments not in votes:
                column = [int(one) for one in values_MC[:, case]]
                counts = Counter(column)
                with_most = column[solution] != 0 and counts[column[solution]] == max(counts.values())
                votes[call.arguments] = with_most, (testing, case)
    if not votes:
        return 0.0, (-1, -1)
    apart = [place for agrees, place in votes.values() if not agrees]
    return 1 - len(apart) / len(votes), apart[0] if apart else (-1, -1)
