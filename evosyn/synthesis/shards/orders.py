"""What a worker is asked to do with a shard, and what it says. docs/scale.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from evosyn.budget import BudgetConfig, Used
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.inputs import Inputs
from evosyn.synthesis.stages.deduplicate import RepeatedProblem

Phase: TypeAlias = Literal["problems", "rows"]
"""`problems` makes them; `rows` draws, executes and ranks those that repeat none before."""
PHASES: tuple[Phase, ...] = ("problems", "rows")
Status: TypeAlias = Literal["sealed", "held", "spent", "failed", "refused", "corrupt", "died"]


@dataclass(frozen=True)
class ShardOrder:
    """One shard for one worker.

    Attributes:
        epoch: of this attempt alone; names what it writes.
        repeats: problems of the shard that repeat an earlier one; of the phase `rows`.
        budget: what it may spend.
    """

    phase: Phase
    shard: int
    epoch: str
    repeats: tuple[RepeatedProblem, ...] = ()
    budget: BudgetConfig = field(default_factory=BudgetConfig)

    @property
    def name(self) -> str:
        return shard_name(self.phase, self.shard)


@dataclass(frozen=True)
class ShardOutcome:
    """What became of an order.

    Attributes:
        status: `sealed`, by this worker or another; `held`: another process of its machine has the shard; `spent`: its
            budget; `failed`: disk, sandbox or model did not work; `refused`, `corrupt`: no
            worker can do it; `died`.
        used: of its budget; None where that is not known.
    """

    status: Status
    reason: str = ""
    used: Used | None = None


@dataclass(frozen=True)
class ShardSetup:
    """What all orders of a run have in common; travels to workers.

    Attributes:
        run: id of all that decides the content.
        store: address of the shared storage.
        scratch: directory of a worker's own disk; empty for a private one among the temporary files of its machine.
    """

    inputs: Inputs
    config: SynthesizeConfig
    run: str
    store: str
    scratch: str


def shard_name(phase: Phase, shard: int) -> str:
    return f"{phase}-{shard:06d}"
