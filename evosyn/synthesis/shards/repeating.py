"""One pass over the problems of all shards: which of them repeat a seed, or a problem with a lower number.

What it says is what `Deduplicate` would in a run in one piece, whatever the size of a shard, in bounded memory. It is
made from sealed shards alone, so it comes out the same whoever makes it, and how often; it is kept under a name made
of their checksums, so that a shard that was made anew is compared anew. docs/scale.md.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

from evosyn.errors import CorruptRun
from evosyn.records import Problem
from evosyn.storage import Storage
from evosyn.synthesis.dedup import DedupConfig
from evosyn.synthesis.problems import problem_name
from evosyn.synthesis.shards.config import ShardPlan
from evosyn.synthesis.shards.seals import SKETCH, Seal, open_sealed, seal_name, seals_of
from evosyn.synthesis.sketches import repeats, sketch_way, way_of, write_sketch
from evosyn.synthesis.stages.deduplicate import RepeatedProblem, seed_name

NAMED = 8
"""Seals that an error names one by one."""


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
        """The repeats of each shard that has some.

        Raises:
            CorruptRun: a seal is gone, what one stands for is damaged, or was made in another way than now.
        """
        seals = list(seals_of(self._storage, "problems", range(self._plan.count), self._run))
        name = repeats_name(seals)
        held = self._storage.read(name)
        if held is None:
            held = b"".join(json.dumps(astuple(one)).encode() + b"\n" for one in self._found(seals))
            self._storage.write(name, held)
        found: defaultdict[int, list[RepeatedProblem]] = defaultdict(list)
        try:
            for line in held.splitlines():
                repeat = RepeatedProblem(*json.loads(line))
                found[repeat.index // self._plan.size].append(repeat)
        except (ValueError, TypeError, RecursionError) as error:
            told = f"shards.store: {name}: is damaged: {error}. Remove it, and the same command makes it again"
            raise CorruptRun(told) from error
        return {shard: tuple(some) for shard, some in found.items()}

    def _found(self, seals: Sequence[Seal]) -> Iterator[RepeatedProblem]:
        given = len(self._seeds)
        for one in repeats(self._sketches(seals), self._config.threshold, self._scratch):
            name = seed_name(self._seeds[one.of]) if one.of < given else problem_name(one.of - given)
            yield RepeatedProblem(one.place - given, one.kind, name, one.similarity)

    def _sketches(self, seals: Sequence[Seal]) -> list[Path]:
        files = [self._scratch / "seeds.npz"]
        write_sketch(files[0], {at: seed.statement for at, seed in enumerate(self._seeds)}, self._config)
        others = []
        for seal in seals:
            files.append(self._scratch / f"{seal.shard:06d}.npz")
            with open_sealed(self._storage, seal) as archive:
                files[-1].write_bytes(archive.read(SKETCH))
            if way_of(files[-1]) != sketch_way(self._config):
                others.append(seal_name(seal.phase, seal.shard))
        if others:
            shown = ", ".join(others[:NAMED]) + (f" and {len(others) - NAMED} more" if len(others) > NAMED else "")
            told = f"{len(others)} of {len(seals)} shards of problems have sketches of another version of evosyn"
            every = ", all of that phase" if len(others) == len(seals) else ""
            raise CorruptRun(
                f"shards.store: {told}, which cannot be compared with those of this one; remove {shown}{every}, "
                "and these shards are made again; no reply that `replies/` holds is paid again"
            )
        return files


def repeats_name(seals: Sequence[Seal]) -> str:
    """The object of the storage that holds what was found of the very files that these seals stand for."""
    held = hashlib.sha256("".join(seal.sha256 for seal in seals).encode()).hexdigest()
    return f"repeats-{held[:16]}.jsonl"
