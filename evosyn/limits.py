"""Limits of what is executed, as configuration files and options give them; `jobs.Limits` is what the sandbox takes."""

from __future__ import annotations

from pydantic import Field

from evosyn.configs.section import Section
from evosyn.jobs import Limits


class LimitsConfig(Section):
    """What one execution may use.

    Attributes:
        cpu_s: CPU seconds for one call, check or input.
        wall_s: seconds for one of them whatever it does; 0 for 5 x `cpu_s` + 5.
        budget_s: seconds for all of them together.
        memory_mb: address space of one process.
        build_s: CPU seconds for the code of one testing that makes its cases; 0 for 5 x `cpu_s`.
    """

    cpu_s: float = Field(default=3.0, gt=0)
    wall_s: float = Field(default=0.0, ge=0)
    budget_s: float = Field(default=30.0, gt=0)
    memory_mb: int = Field(default=1024, ge=64)
    build_s: float = Field(default=0.0, ge=0)

    @property
    def limits(self) -> Limits:
        return Limits(self.cpu_s, self.wall_s, self.budget_s, self.memory_mb, build_s=self.build_s)
