"""What every experiment is asked; each adds fields of its own. A field is an option of `evosyn experiment NAME`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from evosyn.configs.section import LISTED
from evosyn.errors import UsageError
from evosyn.ports import PluginConfig

Names = Annotated[tuple[str, ...], LISTED]
"""Several names; as a text, separated by commas."""


def see_arms(asked: Sequence[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """The arms that are run: those that were asked for, or all.

    Raises:
        UsageError: an arm that there is not.
    """
    every = tuple(known)
    for arm in asked or ():
        if arm not in every:
            raise UsageError(f"--arms {arm!r}: one of {', '.join(every)}")
    return tuple(asked or every)


class ExperimentConfig(PluginConfig):
    """The options that all experiments share."""

    size: Literal["smoke", "cpu", "gpu"] = Field(default="cpu", description="smoke only shows that everything runs.")
    seeds: int = Field(default=5, ge=1, description="How many, from --first-seed.")
    first_seed: int = Field(default=0, ge=0, description="Number of the first.")
    arms: Names | None = Field(default=None, description="Comma-separated; all by default.")

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        return tuple(range(self.first_seed, self.first_seed + self.seeds))
