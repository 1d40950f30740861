"""The configuration of a synthesis. Each part of it stands beside the class that it feeds; this is their frame."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from evosyn.configs.sampling import SynthesisSampling
from evosyn.limits import LimitsConfig
from evosyn.records import Json, Unit
from evosyn.synthesis.decontaminate import DecontaminateConfig
from evosyn.synthesis.dedup import DedupConfig
from evosyn.synthesis.problems import ProblemConfig
from evosyn.synthesis.prune import PruneConfig
from evosyn.synthesis.reward import AgreementConfig
from evosyn.synthesis.shards.config import ShardsConfig
from evosyn.workbench import WorkbenchConfig


class FilterConfig(BaseModel):
    """What is taken out: repeated problems, benchmark problems, uninformative instances; and what then pays.

    Attributes:
        unit: what the strategy ranks: every distinct `case` of the testings, or each `testing` as it was drawn; None
            for what its file says that it was evolved with, `testing` where it says nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dedup: DedupConfig = DedupConfig()
    decontaminate: DecontaminateConfig = DecontaminateConfig()
    prune: PruneConfig = PruneConfig()
    reward: AgreementConfig = AgreementConfig()
    unit: Unit | None = None


class ExecuteConfig(LimitsConfig):
    """How solutions are executed: the limits of one solution, and how many go together.

    Attributes:
        batch: instances executed in one go; more keeps many cores busy, fewer shows results sooner.
    """

    batch: int = Field(default=4, ge=1)


_SPEED: dict[str, Any] = {
    **dict.fromkeys(("problems", "also", "run", "seeds", "workbench", "shards"), True),
    "execute": {"batch"},
    "filter": {"unit"},
}
"""What decides no instance, or stands in the journal under another name."""


class SynthesizeConfig(BaseModel):
    """A synthesis.

    Attributes:
        problems: how many new problems to ask for; what is dropped on the way is not replaced, it is accounted for.
        solutions: M, drawn for each problem.
        testings: N, drawn for each problem.
        seed: root of the seed tree.
        also: further models that take turns at solutions and testings.
        run, seeds: what it is made with and from, as the command was given them.
        workbench: who is asked, where programs run, what may be spent.
        shards: how it is cut, if at all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    problems: int = Field(default=100, ge=1)
    solutions: int = Field(default=16, ge=1, le=1000)
    testings: int = Field(default=16, ge=1, le=1000)
    seed: int = 0
    also: tuple[str, ...] = ()
    run: str | None = None
    seeds: str | None = None
    workbench: WorkbenchConfig = WorkbenchConfig()
    problem: ProblemConfig = ProblemConfig()
    sampling: SynthesisSampling = SynthesisSampling()
    execute: ExecuteConfig = ExecuteConfig()
    filter: FilterConfig = FilterConfig()
    shards: ShardsConfig = ShardsConfig()

    def identity(self) -> dict[str, Json]:
        """What decides the content of an instance; speed and number of problems do not."""
        return self.model_dump(mode="json", exclude=_SPEED)
