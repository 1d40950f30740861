"""What a synthesis starts from: a strategy, seeds, and the teachers that it asks."""

from __future__ import annotations

from dataclasses import dataclass

from evosyn.ports import Teacher
from evosyn.records import Problem


@dataclass(frozen=True)
class Inputs:
    """What is synthesized from.

    Attributes:
        strategy: text of the strategy program.
        strategy_from, seeds_from: where these were read, for people.
        seeds: seed problems; only statements, starter code and human testings as examples are shown to the teacher.
    """

    strategy: str
    strategy_from: str
    seeds: tuple[Problem, ...]
    seeds_from: str


@dataclass(frozen=True)
class Asked:
    """The teachers of a run: problems come from the first, solutions and testings from all in turn."""

    teachers: tuple[Teacher, ...]

    @property
    def names(self) -> str:
        """Their names, the first one's first."""
        return ", ".join(teacher.name for teacher in self.teachers)

    @property
    def simulated(self) -> bool:
        return any(teacher.simulated for teacher in self.teachers)
