"""The configuration of a synthesis. Each part of it stands beside the class that it feeds; this is their frame."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from evosyn.jobs import Limits
from evosyn.records import Json, content_id
from evosyn.synthesis.decontaminate import DecontaminateConfig
from evosyn.synthesis.dedup import DedupConfig
from evosyn.synthesis.generate import DrawConfig
from evosyn.synthesis.problems import ProblemConfig
from evosyn.synthesis.prune import PruneConfig


class FilterConfig(BaseModel):
    """What is taken out: repeated problems, benchmark problems, uninformative instances."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dedup: DedupConfig = DedupConfig()
    decontaminate: DecontaminateConfig = DecontaminateConfig()
    prune: PruneConfig = PruneConfig()


class ExecuteConfig(BaseModel):
    """How solutions are executed.

    Attributes:
        wall_s: seconds for one call or one input.
        budget_s: seconds for all calls of one solution.
        memory_mb: address space of one process.
        batch: instances executed in one go; more keeps many cores busy, fewer shows results sooner.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall_s: float = Field(default=3.0, gt=0)
    budget_s: float = Field(default=30.0, gt=0)
    memory_mb: int = Field(default=1024, ge=64)
    batch: int = Field(default=4, ge=1)

    @property
    def limits(self) -> Limits:
        return Limits(wall_s=self.wall_s, budget_s=self.budget_s, memory_mb=self.memory_mb)


class SynthesizeConfig(BaseModel):
    """A synthesis.

    Attributes:
        problems: how many new problems to ask for; what is dropped on the way is not replaced, it is accounted for.
        solutions: M, drawn for each problem.
        testings: N, drawn for each problem.
        seed: root of the seed tree.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    problems: int = Field(default=100, ge=1)
    solutions: int = Field(default=16, ge=1, le=1000)
    testings: int = Field(default=16, ge=1, le=1000)
    seed: int = 0
    problem: ProblemConfig = ProblemConfig()
    draw: DrawConfig = DrawConfig()
    execute: ExecuteConfig = ExecuteConfig()
    filter: FilterConfig = FilterConfig()

    def fingerprint(self, **inputs: Json) -> str:
        """A digest of everything that decides the content of an instance; speed and number of problems do not."""
        value = self.model_dump(mode="json", exclude={"problems": True, "execute": {"batch"}})
        return content_id("f_", [value, inputs])
