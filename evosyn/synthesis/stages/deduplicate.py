"""The stage that drops a problem which repeats a seed or an earlier problem of the run.

It is ordered: which of two like problems stays must not depend on which reply came first.
"""

from __future__ import annotations

from collections.abc import Sequence

from evosyn.records import Problem
from evosyn.synthesis.dedup import DedupConfig, DedupIndex
from evosyn.synthesis.instance import Instance


class Deduplicate:
    """Compares with the seeds and with every problem that it has let pass."""

    name = "dedup"
    concurrency = None

    def __init__(self, config: DedupConfig, seeds: Sequence[Problem]) -> None:
        self._index = DedupIndex(config)
        for seed in seeds:
            self._index.add(f"seed {seed.problem_id}", seed.statement)

    async def run(self, instance: Instance) -> Instance:
        found = self._index.find(instance.asked.statement)
        if found is None:
            self.recall(instance)
            return instance
        detail = f"like {found.of}, similarity {found.similarity:.2f}"
        return instance.drop("dedup", f"{found.kind}-duplicate", detail)

    def recall(self, instance: Instance) -> None:
        self._index.add(instance.asked.problem_id, instance.asked.statement)
