"""What every experiment is asked; each adds fields of its own. A field is an option of `evosyn experiment NAME`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from evosyn.records import Json


class ExperimentConfig(BaseModel):
    """The options that all experiments share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: Literal["smoke", "cpu", "gpu"] = Field(default="cpu", description="smoke only shows that everything runs.")
    seeds: int = Field(default=5, ge=1, description="How many, from --first-seed.")
    first_seed: int = Field(default=0, ge=0, description="Number of the first.")
    arms: tuple[str, ...] | None = Field(default=None, description="Comma-separated; all by default.")

    @field_validator("arms", mode="before")
    @classmethod
    def _listed(cls, value: Json) -> Json:
        return listed(value)

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        return tuple(range(self.first_seed, self.first_seed + self.seeds))


def listed(value: Json) -> Json:
    """The parts of a comma-separated text; anything else as it is."""
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value
