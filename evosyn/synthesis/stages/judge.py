"""The stage that executes every solution against every testing, ranks both by the strategy, and prunes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.evaluators.columns import ranked_columns
from evosyn.ports import Crossexec, StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.records import Evidence, Invalid, PassMatrix, Ranking, Unit
from evosyn.running.batches import Batches
from evosyn.running.progress import Usage
from evosyn.strategies.evidence import evidence_of, reads, unknown
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.instance import Instance, kept_of
from evosyn.synthesis.prune import STRATEGY_INVALID, decide


class JudgePool:
    """Judges instances in batches, several in one thread.

    Args:
        strategy: text of the program that ranks.
        tree: root of the draws of the run's instances.
        unit: what it ranks.
    """

    name = "judge"
    concurrency = None

    def __init__(
        self,
        config: SynthesizeConfig,
        crossexec: Crossexec,
        runner: StrategyRunner,
        strategy: str,
        tree: SeedTree,
        unit: Unit = "testing",
    ) -> None:
        self._config, self._crossexec, self._runner, self._strategy = config.filter.prune, crossexec, runner, strategy
        self._tree, self._reads, self._unit = tree, reads(strategy), unit
        self.judged = Batches(self._judge, config.execute.batch)

    async def run(self, instance: Instance) -> Instance:
        """The instance with matrix, ranking and decision; one that was judged between rounds of drawing has them."""
        return instance if instance.decision is not None else await self.judged(instance)

    def _judge(self, batch: Sequence[Instance]) -> list[Instance]:
        pools = [instance.pool for instance in batch if instance.pool is not None]
        matrices = self._crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in pools])
        columns = [ranked_columns(matrix, self._unit) for matrix in matrices]
        evidences = [evidence_of(matrix) for matrix in columns]
        rankings = self._rank(evidences)
        judged = [self._prune(*parts) for parts in zip(batch, matrices, columns, rankings, strict=True)]
        return [replace(one, lacking=self._lacking(seen)) for one, seen in zip(judged, evidences, strict=True)]

    def _lacking(self, evidence: Evidence) -> tuple[str, ...]:
        missing = unknown(evidence)
        return tuple(name for name in self._reads if name in missing)

    def _rank(self, evidences: Sequence[Evidence]) -> list[Ranking | Invalid]:
        """Rank all at once; a program that fails on one of them is asked for each alone."""
        together = self._runner.rank([self._strategy], evidences)[0]
        if not isinstance(together, Invalid):
            return list(together)
        alone = [self._runner.rank([self._strategy], [evidence])[0] for evidence in evidences]
        return [one if isinstance(one, Invalid) else one[0] for one in alone]

    def _prune(
        self, instance: Instance, matrix: PassMatrix, columns: PassMatrix, ranking: Ranking | Invalid
    ) -> Instance:
        decision = decide(columns, ranking, self._config, self._tree.child("instance", instance.index), matrix)
        judged = replace(
            instance,
            executed=kept_of(matrix),
            ranking=ranking,
            unit=self._unit,
            decision=decision,
            usage=instance.usage.plus(Usage(cells=int(matrix.verdicts_MN.size))),
        )
        if not decision.reason:
            return judged
        stage = "rank" if decision.reason == STRATEGY_INVALID else "prune"
        return judged.drop(stage, decision.reason, decision.detail, decision.dropped_from)
