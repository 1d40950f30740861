"""How a synthesis is cut into shards. *Ours*; docs/scale.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from evosyn.errors import UsageError


class ShardsConfig(BaseModel):
    """A synthesis in shards.

    Attributes:
        size: problems of a shard; None is a synthesis in one piece.
        workers: processes of this machine that work on shards; with a runner `ray` one a node, whatever this says.
        store: where what is finished is kept: a path or address (`s3://bucket/run`) that every worker reaches; by
            default a folder of the run.
        scratch: directory of a worker's own disk for shards in the making; by default one of the run, on nodes of a
            cluster one for temporary files.
        ship_s: seconds after which replies have reached `store`.
        hung_s: seconds for which a worker of a cluster may not answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int | None = Field(default=None, ge=1)
    workers: int = Field(default=1, ge=1)
    store: str = ""
    scratch: Path | None = None
    ship_s: float = Field(default=2.0, gt=0)
    hung_s: float = Field(default=60.0, gt=0)


@dataclass(frozen=True)
class ShardPlan:
    """The shards of a run: each but the last has `size` problems."""

    problems: int
    size: int

    @property
    def count(self) -> int:
        return -(-self.problems // self.size)

    def indices(self, shard: int) -> range:
        """The numbers of its problems."""
        return range(shard * self.size, min(self.problems, (shard + 1) * self.size))


def planned(problems: int, config: ShardsConfig) -> ShardPlan:
    """
    Raises:
        UsageError: no size of a shard is set.
    """
    if config.size is None:
        raise UsageError("shards.size: is not set; give --shard-size")
    return ShardPlan(problems, config.size)
