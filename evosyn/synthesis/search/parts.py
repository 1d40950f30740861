"""The collaborators of a search for strategies, as its configuration names them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from evosyn import registry
from evosyn.errors import UsageError
from evosyn.evolve.loop import SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.ports import Evolved, Proposer, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Candidate
from evosyn.strategies import load_strategy
from evosyn.strategies.genome import StrategyGenome
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.workbench import Workbench

MAILBOX = "mailbox"


def proposers_of(config: EvolveConfig, workbench: Workbench, genome: StrategyGenome) -> dict[str, Proposer]:
    """A proposer for each arm of the configuration.

    Raises:
        UsageError: an unknown proposer, or one that needs a model where none is named.
    """
    found: dict[str, Proposer] = {}
    teachers: dict[str, Teacher] = {}
    for name in config.proposers.arms:
        kind, _, directory = name.partition(":")
        if kind == MAILBOX:
            mailbox = registry.factory("teachers", MAILBOX)(directory=directory or MAILBOX)
            found[name] = registry.factory("proposers", "rewrite")(teacher=mailbox, genome=genome)
            continue
        _, _, model = name.partition("@")
        takes = _takes(name)
        tools: dict[str, object] = {"burst": config.proposers.burst, "reader": genome.reader, "genome": genome}
        if "teacher" in takes:
            if model not in teachers:
                teachers[model] = _asked(workbench, model)
            tools["teacher"] = teachers[model]
        given = {tool: value for tool, value in tools.items() if tool in takes}
        found[name] = registry.factory("proposers", name.partition("@")[0])(**given)
    return found


def _asked(workbench: Workbench, model: str) -> Teacher:
    """The model of this name, or the run's own; the offline teacher proposes no strategies.

    Raises:
        UsageError: there is none.
    """
    if not model and not workbench.has_model:
        raise UsageError("--proposer: this proposer asks a model; name one with --model provider/name")
    return workbench.teacher(model or None)


def is_free(name: str) -> bool:
    """Whether an arm asks no model."""
    return name.partition(":")[0] != MAILBOX and "teacher" not in _takes(name)


def _takes(name: str) -> frozenset[str]:
    """What the `create` of an arm's proposer takes: of `teacher`, `genome`, `burst`, `reader` those it names."""
    return frozenset(inspect.signature(registry.factory("proposers", name.partition("@")[0])).parameters)


def search_parts(config: EvolveConfig, evolved: Evolved, proposers: Mapping[str, Proposer]) -> SearchParts:
    """The collaborators of a search for strategies."""
    seed = SeedTree(config.seed)
    return SearchParts(
        evolved=evolved,
        proposers=proposers,
        schedule=Schedule(
            [Arm(name, weight, free=is_free(name)) for name, weight in config.proposers.arms.items()],
            seed,
            bandit=config.proposers.bandit,
        ),
        initial=[Candidate(load_strategy(name), detail={"name": name}) for name in config.start],
        seed=seed,
    )
