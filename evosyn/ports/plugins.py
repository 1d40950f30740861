"""The one form of plug-ins: `create(tools: SomeTools, config: SomeConfig)`, for every kind.

Tools are what the kind is lent (a dataclass below, filled by the workbench; no plug-in sees the workbench itself); a
part that needs less names a base of it. The config holds the plug-in's own options. `evosyn.registry.make` calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from evosyn.budget import Budget, BudgetConfig
from evosyn.chat import Refusals
from evosyn.configs.section import Section
from evosyn.ports.asking import Teacher
from evosyn.ports.judging import Sandbox
from evosyn.ports.search import Genome
from evosyn.records import Json
from evosyn.text.reasoning import AUTO


class PluginConfig(Section):
    """The options of a plug-in: a base for its own, or as it is where it has none.

    Every field has a default, but that which is the argument (`Argument`).
    """


class Argument(NamedTuple):
    """Marks the field that is given after the name, as in `mailbox:DIR`: `Annotated[Path, Argument("DIR")]`."""

    form: str


@dataclass(frozen=True)
class DomainTools:
    """A domain is lent nothing: its name alone stands in files, and must mean the same everywhere."""


@dataclass(frozen=True)
class AxisTools:
    """A behaviour axis is lent nothing: it measures what it is shown."""


@dataclass(frozen=True)
class ProposerTools:
    """What a proposer is lent: what is evolved. One that names this type asks no model, and so costs nothing."""

    genome: Genome


@dataclass(frozen=True)
class ModelTools(ProposerTools):
    """What a proposer is lent that asks a model."""

    teacher: Teacher


@dataclass(frozen=True)
class EvolvedTools:
    """What a thing to evolve is lent.

    Attributes:
        decided: what decides the course of the run beside the thing itself (seed, islands, ...): for its header.
        reasoning: the form in which its texts mark reasoning (`evosyn.text.reasoning.FORMS`).
        sandbox: opens the sandbox of the run, which its owner closes; None where there is none.
    """

    decided: Mapping[str, Json] = field(default_factory=dict)
    sandbox: Callable[[], Sandbox] | None = None


@dataclass(frozen=True)
class TeacherTools:
    """What a teacher is lent.

    Attributes:
        seed: of the run, for one that draws by itself.
        calls: requests that are put to it at the same time, at most.
        replies: SQLite file that remembers replies; None keeps them in memory only.
        budget: what the run may spend, shared with its other teachers.
        refusals: what endpoints were found not to take, by model, shared in the same way.
        sandbox: opens the sandbox of the run, which its owner closes; None where there is none.
    """

    seed: int = 0
    calls: int = 64
    replies: Path | None = None
    budget: Budget = field(default_factory=lambda: Budget(BudgetConfig()))
    refusals: dict[str, Refusals] = field(default_factory=dict)
    reasoning: str = AUTO
    sandbox: Callable[[], Sandbox] | None = None


@dataclass(frozen=True)
class SandboxTools:
    """What every sandbox is told.

    Attributes:
        workers: how many programs run at the same time; None for one per core that we may use, as far as their memory
            fits the machine.
        allow_weak: accept less protection than the sandbox demands by default.
        packages: distributions that programs see beside the standard library, with what these require; they are
            imported in the workers before the first job.
        packages_from: the interpreter that has them, which must be of our version; None for our own.
        hash_seed: PYTHONHASHSEED of the programs; another seed shows answers that depend on the order of sets.
    """

    workers: int | None = None
    allow_weak: bool = False
    packages: tuple[str, ...] = ()
    packages_from: str | None = None
    hash_seed: int = 0


@dataclass(frozen=True)
class WorldTools:
    """What a kind of world is told.

    Attributes:
        states: folder for what is frozen, shared with other runs; None for one that goes away with the worlds.
        workers: looks at states at the same time; None for one per core.
        sandbox: opens the sandbox of the run, which its owner closes; None where there is none.
    """

    states: Path | None = None
    workers: int | None = None
    sandbox: Callable[[], Sandbox] | None = None


@dataclass(frozen=True)
class AgentTools:
    """An agent is lent nothing: its work has the model and the room of an episode."""


TOOLS: dict[str, type] = {
    "domains": DomainTools,
    "proposers": ModelTools,
    "evolved": EvolvedTools,
    "sandboxes": SandboxTools,
    "worlds": WorldTools,
    "agents": AgentTools,
    "teachers": TeacherTools,
    "axes": AxisTools,
}
"""For each kind the most that it is lent; its plug-ins name this type, or a base of it."""
