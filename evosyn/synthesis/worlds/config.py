"""The configuration of `evosyn world make`. docs/worlds.md says which values are the paper's; most are ours."""

from __future__ import annotations

from pydantic import Field, model_validator

from evosyn.configs.section import SAMPLED, Sampling, Section
from evosyn.limits import LimitsConfig
from evosyn.records import Json
from evosyn.workbench import WorkbenchConfig


class SizesConfig(Section):
    """How large a world is: what is asked for, and below which it is dropped.

    Attributes:
        least_tools, most_tools: of a draft; `kept_tools`: what must be left of them.
        least_tables, most_tables: of a draft and of what is left.
    """

    least_tools: int = Field(default=12, ge=1, le=60)
    most_tools: int = Field(default=30, ge=1, le=60)
    kept_tools: int = Field(default=8, ge=1, le=60)
    least_tables: int = Field(default=3, ge=1, le=22)
    most_tables: int = Field(default=12, ge=1, le=22)

    @model_validator(mode="after")
    def _in_order(self) -> SizesConfig:
        if self.least_tools > self.most_tools or self.least_tables > self.most_tables:
            raise ValueError("the least must not be more than the most")
        return self


class ToolsConfig(Section):
    """How the tools of a world are made.

    Attributes:
        M, N: programs and testings of each tool.
        strategy: ranks both: a known name, a file, or a directory of `evosyn evolve builtin:world-tools`.
        agreement: share of all calls in which the chosen program must be with most others.
        debug: rounds in which a model repairs a program or a testing before the tool is dropped.
        attempts: how often one slot is asked before it stays empty.
        execute: limits of one program, for all calls of all testings.
    """

    M: int = Field(default=8, ge=1, le=64)
    N: int = Field(default=8, ge=1, le=64)
    strategy: str = "exclusion"
    agreement: float = Field(default=0.8, ge=0, le=1)
    debug: int = Field(default=3, ge=0, le=8)
    attempts: int = Field(default=2, ge=1, le=10)
    sampling: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    execute: LimitsConfig = LimitsConfig(cpu_s=1.0, budget_s=10.0)


class MakeWorldsConfig(Section):
    """A run of `evosyn world make`.

    Attributes:
        seed: root of the seed tree.
        tasks: of each world; 0 for none.
        unexecuted: believe what is written: one program of each tool is asked for, no testing, and it stands; chains
            and states are not tried. The graph is still found by running the tools. For comparisons ("w/o EV",
            section 5.4); `report.json` then has the share of chains that fail when run.
        attempts: how often a schema is asked for.
        sampling: of schemas.
        workbench: who is asked, where programs run, what may be spent.
    """

    seed: int = 0
    tasks: int = Field(default=40, ge=0)
    unexecuted: bool = False
    attempts: int = Field(default=2, ge=1, le=10)
    sampling: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    sizes: SizesConfig = SizesConfig()
    tools: ToolsConfig = ToolsConfig()
    workbench: WorkbenchConfig = WorkbenchConfig()

    def identity(self) -> dict[str, Json]:
        """What decides the fate of a world; speed does not."""
        return self.model_dump(
            mode="json", exclude={"workbench": True, **({} if self.unexecuted else {"unexecuted": True})}
        )
