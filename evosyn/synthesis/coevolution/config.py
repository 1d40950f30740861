"""What a co-evolution is told, and the arms that it may be. Which values are the paper's: docs/coevolve.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from evosyn.configs.section import SAMPLED, Sampling, Section
from evosyn.errors import UsageError
from evosyn.evolve.curriculum import CurriculumConfig
from evosyn.synthesis.mutations.mutator import MutationConfig
from evosyn.synthesis.selfplay.config import ENVIRONMENT_ARMS, EnvironmentArm, SelfplayConfig

RECIPE, SELFPLAY = "dejaq", "evoenv"


class CoevolutionArm(NamedTuple):
    """What of the whole an arm has.

    Attributes:
        keeps: problems by setting with what they are worth; without, rows are drawn uniformly from the seeds.
        mutates: a model makes new problems; without, what comes in is a further seed.
        structure: mutants may get a distractor or another structure.
        selects: learnability decides what is drawn, mutated, wanted and kept; without, chance does, the oldest leaves.
    """

    keeps: bool = True
    mutates: bool = True
    structure: bool = True
    selects: bool = True


ARMS: Mapping[str, CoevolutionArm] = {
    "dejaq-a": CoevolutionArm(),
    "dejaq-s": CoevolutionArm(structure=False),
    "resample": CoevolutionArm(mutates=False),
    "mutate-uniform": CoevolutionArm(selects=False),
    "dr": CoevolutionArm(keeps=False, mutates=False),
}
"""Those of the paper, and one that tells coverage from selection (`mutate-uniform`, ours)."""


class DriftConfig(Section):
    """Whether a mutant still asks what its testing decides (ours): solvers do about as well on it as on its parent."""

    solutions: int = Field(default=4, ge=2, description="Written from the new statement, and from the old one.")
    most: float = Field(default=0.35, ge=0, le=1, description="By which the share that passes may fall.")
    sampling: Sampling = Field(default_factory=lambda: {**SAMPLED, "temperature": 0.8})


class CoevolutionConfig(Section):
    """Problems, or environments, that evolve with the student (`evosyn coevolve`)."""

    recipe: str = Field(default=RECIPE, description=f"{RECIPE} or {SELFPLAY}.")
    arm: str = Field(
        default="dejaq-a", description=f"One of {', '.join(ARMS)}; of {SELFPLAY} {', '.join(ENVIRONMENT_ARMS)}."
    )
    seeds: int = Field(default=64, ge=1, description="Seeds that are scored first, by their first groups (ours).")
    lag: int = Field(
        default=1, ge=1, description="Steps of the student that a mutation may take; then it is waited for."
    )
    curriculum: CurriculumConfig = CurriculumConfig()
    mutation: MutationConfig = MutationConfig()
    drift: DriftConfig = DriftConfig()
    selfplay: SelfplayConfig = SelfplayConfig()

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The first arm of the recipe, where none is named."""
        return {"arm": next(iter(ENVIRONMENT_ARMS)), **values} if values.get("recipe") == SELFPLAY else values

    @property
    def environment_arm(self) -> EnvironmentArm:
        """
        Raises:
            UsageError: no such arm of `evoenv`.
        """
        if self.arm not in ENVIRONMENT_ARMS:
            raise UsageError(f"--arm {self.arm!r}: one of {', '.join(ENVIRONMENT_ARMS)}")
        return ENVIRONMENT_ARMS[self.arm]

    @property
    def made_of(self) -> CoevolutionArm:
        """
        Raises:
            UsageError: no such recipe or arm.
        """
        if self.recipe != RECIPE:
            raise UsageError(f"--recipe {self.recipe!r}: one of {RECIPE}, {SELFPLAY}")
        if self.arm not in ARMS:
            raise UsageError(f"--arm {self.arm!r}: one of {', '.join(ARMS)}")
        return ARMS[self.arm]

    @property
    def mutations(self) -> MutationConfig:
        """How the arm mutates."""
        arm, own = self.made_of, self.mutation
        if not arm.mutates:
            return own.model_copy(update={"resample": 1.0})
        if not arm.structure:
            return own.model_copy(update={"distractor": 0.0, "symbolic": 0.0, "both": 0.0, "plain": 1.0})
        return own
