"""The stages that drop a problem which repeats a seed or an earlier problem of the run.

`Deduplicate` is ordered: which of two like problems stays must not depend on which reply came first. `DropRepeated` is
told beforehand, where a run is in shards and one pass went over the problems of all (`synthesis.sketches`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evosyn.records import Problem
from evosyn.synthesis.dedup import DedupConfig, DedupIndex, Duplicate
from evosyn.synthesis.instance import Instance


@dataclass(frozen=True)
class RepeatedProblem:
    """Problem `index` of the run repeats another: `exact` or `near`, its name, and their similarity in [0, 1]."""

    index: int
    kind: str
    of: str
    similarity: float


class Deduplicate:
    """Compares with the seeds and with every problem that it has let pass."""

    name = "dedup"
    concurrency = None

    def __init__(self, config: DedupConfig, seeds: Sequence[Problem]) -> None:
        self._index = DedupIndex(config)
        for seed in seeds:
            self._index.add(seed_name(seed), seed.statement)

    async def run(self, instance: Instance) -> Instance:
        found = self._index.find(instance.asked.statement)
        if found is None:
            self.recall(instance)
            return instance
        return _dropped(instance, found)

    def recall(self, instance: Instance) -> None:
        self._index.add(instance.asked.problem_id, instance.asked.statement)


class DropRepeated:
    """Drops what it is told."""

    name = "dedup"
    concurrency = None

    def __init__(self, repeats: Iterable[RepeatedProblem]) -> None:
        self._repeats = {repeat.index: repeat for repeat in repeats}

    async def run(self, instance: Instance) -> Instance:
        found = self._repeats.get(instance.index)
        return instance if found is None else _dropped(instance, Duplicate(found.kind, found.of, found.similarity))


def seed_name(seed: Problem) -> str:
    """How a seed is called where a problem repeats it."""
    return f"seed {seed.problem_id}"


def _dropped(instance: Instance, found: Duplicate) -> Instance:
    detail = f"like {found.of}, similarity {found.similarity:.2f}"
    return instance.drop("dedup", f"{found.kind}-duplicate", detail)
