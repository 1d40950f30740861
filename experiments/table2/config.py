"""What table 2 is asked, as options and as keys of its `config.yaml`, and what its forms are lent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from evosyn.configs.section import LISTED, Section
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.workbench import SandboxConfig, WorkbenchConfig, sandbox_of

Names = Annotated[tuple[str, ...], LISTED]
"""Several names; as a text, separated by commas."""


class Table2Config(Section):
    """Table 2 in small: the same problems and budget, rewards by testings chosen in different ways.

    The evosyn arm uses a strategy that `evosyn evolve` finds on seed problems nobody trains on. All arms start from the
    same weights; accuracy is measured on unseen problems with human testings.
    """

    command: Literal["experiments.table2"] = "experiments.table2"
    workbench: WorkbenchConfig = WorkbenchConfig()
    size: Literal["smoke", "cpu"] = Field(default="cpu", description="smoke only shows that everything runs.")
    seeds: int = Field(default=5, ge=1, description="How many, from --first-seed.")
    first_seed: int = Field(default=0, ge=0, description="Number of the first.")
    arms: Names | None = Field(default=None, description="Comma-separated; all by default.")
    noise: Names = Field(
        default=("default",),
        description="How good the toy's teacher is: default, better, worse; several, comma-separated, are a sweep.",
    )
    data: str | None = Field(
        default=None, description="Your own dataset directory; then --model and --bench are needed as well."
    )
    model: str | None = Field(default=None, description="With --data: a real model, where every arm starts.")
    bench: str | None = Field(
        default=None, description="With --data: pool with human testings, or builtin:python-seeds."
    )
    samples: int = Field(default=4, ge=1, description="Of a real model: per unseen problem.")
    max_tokens: int = Field(default=512, ge=1, description="Of a real model: length of a completion.")
    jobs: int = Field(default=2, ge=1, description="Trainings of the toy at the same time.")
    train: dict[str, Json] = Field(default_factory=dict, description="any key of `evosyn train`, for a real model")
    distill: dict[str, Json] = Field(default_factory=dict, description="any key of `evosyn distill`, likewise")

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        return tuple(range(self.first_seed, self.first_seed + self.seeds))


class SandboxOpener(NamedTuple):
    """Opens the sandbox of a configuration, a new one at each call; travels between processes, as a sandbox cannot."""

    config: SandboxConfig

    def __call__(self, *, workers: int | None, packages: tuple[str, ...] | None = None) -> Sandbox:
        """A sandbox whose programs see these packages of our own, by default those that the user chose."""
        return sandbox_of(self.config, workers=workers or self.config.workers, packages=packages)


class ExperimentTools(NamedTuple):
    """What is lent: where programs run, and where it is told in words how far all is."""

    open_sandbox: SandboxOpener
    say: Callable[[str], None]


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
