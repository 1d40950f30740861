"""One pass over the problems of all shards: which of them repeat a seed, or a problem with a lower number.

What it says is what `Deduplicate` would in a run in one piece, whatever the size of a shard, in bounded memory. It is
made from sealed shards alone, so it comes out the same whoever makes it, and how often. docs/scale.md.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

from evosyn.records import Problem
from evosyn.storage import Storage
from evosyn.synthesis.dedup import DedupConfig
from evosyn.synthesis.problems import problem_name
from evosyn.synthesis.shards.config import ShardPlan
from evosyn.synthesis.shards.seals import SKETCH, open_sealed, seals_of
from evosyn.synthesis.sketches import repeats, write_sketch
from evosyn.synthesis.stages.deduplicate import RepeatedProblem, seed_name

REPEATS = "repeats.jsonl"


class RepeatPass:
    """
    Args:
        scratch: an empty directory of a local disk, with room for what `synthesis.sketches` needs.
    """

    def __init__(
        self, storage: Storage, run: str, plan: ShardPlan, seeds: Sequence[Problem], config: DedupConfig, scratch: Path
    ) -> None:
        self._storage, self._run, self._plan = storage, run, plan
        self._seeds, self._config, self._scratch = seeds, config, scratch

    def by_shard(self) -> dict[int, tuple[RepeatedProblem, ...]]:
        """The repeats of each shard that has some."""
        held = self._storage.read(REPEATS)
        if held is None:
            held = b"".join(json.dumps(astuple(one)).encode() + b"\n" for one in self._found())
            self._storage.write(REPEATS, held)
        found: defaultdict[int, list[RepeatedProblem]] = defaultdict(list)
        for line in held.splitlines():
            repeat = RepeatedProblem(*json.loads(line))
            found[repeat.index // self._plan.size].append(repeat)
        return {shard: tuple(some) for shard, some in found.items()}

    def _found(self) -> Iterator[RepeatedProblem]:
        given = len(self._seeds)
        for one in repeats(self._sketches(), self._config.threshold, self._scratch):
            name = seed_name(self._seeds[one.of]) if one.of < given else problem_name(one.of - given)
            yield RepeatedProblem(one.place - given, one.kind, name, one.similarity)

    def _sketches(self) -> list[Path]:
        files = [self._scratch / "seeds.npz"]
        write_sketch(files[0], {at: seed.statement for at, seed in enumerate(self._seeds)}, self._config)
        for seal in seals_of(self._storage, "problems", range(self._plan.count), self._run):
            files.append(self._scratch / f"{seal.shard:06d}.npz")
            with open_sealed(self._storage, seal) as archive:
                files[-1].write_bytes(archive.read(SKETCH))
        return files
