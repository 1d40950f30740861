"""A search as its configuration describes it."""

from __future__ import annotations

from evosyn import registry
from evosyn.errors import UsageError
from evosyn.evaluators.behaviour import axes_named
from evosyn.evolve.arms import Arms, named_arm, named_arms, open_arms
from evosyn.evolve.events import events_of
from evosyn.evolve.loop import OnCommit, Search, SearchParts
from evosyn.evolve.schedule import Schedule
from evosyn.journal import Journal
from evosyn.ports import Evolved, Genome, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.synthesis.search.config import EvolveConfig, SearchSettings
from evosyn.synthesis.search.winner import started_from
from evosyn.workbench import NO_MODEL, Workbench

MODEL_ASKED = f"--proposer: this proposer asks a model, and {NO_MODEL}"
NO_LIMIT = "a search needs a limit: set stop.evaluations or stop.proposals"


def arms_of(config: EvolveConfig, workbench: Workbench, genome: Genome) -> Arms:
    """The arms of the configuration.

    Raises:
        UsageError: an unknown proposer or option, or one that needs a model where none is named.
    """

    def teacher(model: str | None) -> Teacher:
        if model is None and not workbench.has_model:
            raise UsageError(MODEL_ASKED)
        return workbench.teacher(model)

    own = config.proposers
    return open_arms(own.arms, genome, teacher, shared=_shared(config), options=own.options)


def _shared(config: EvolveConfig) -> dict[str, Json]:
    """Options of all proposers that know them."""
    own = config.proposers
    return {"burst": own.burst, "around": own.around, **({"params": config.proposing} if config.proposing else {})}


def see_settings(config: EvolveConfig, workbench: Workbench) -> None:
    """See that there is everything that a configuration names, before anything is executed, drawn or asked.

    Raises:
        UsageError: no such proposer, sandbox, axis or program to start from; an option that does not fit; a proposer
            that asks a model where none is named; no limit. (The workbench has seen to the teacher.)
    """
    own = config.proposers
    arms = named_arms(own.arms, shared=_shared(config), options=own.options)
    if not workbench.has_model and any(arm.model is None and not arm.free for arm in arms.values()):
        raise UsageError(MODEL_ASKED)
    registry.find("sandboxes", config.workbench.sandbox.backend)
    if config.evolved.name is None:
        axes_named(config.axes)
        started_from(config)
    if config.stop.proposals is None and config.stop.evaluations is None:
        raise UsageError(NO_LIMIT)


def models_of(config: EvolveConfig, *, draws: bool) -> dict[str | None, tuple[str, dict[str, Json]]]:
    """The models that a search asks, each with a purpose and its sampling parameters; None is that of the run.

    Args:
        draws: it has solutions and testings to draw.
    """
    arms = [named_arm(text) for text in config.proposers.arms]
    found: dict[str | None, tuple[str, dict[str, Json]]] = {}
    for arm in arms:
        if not arm.free:
            found[arm.model] = ("proposal", config.proposing)
    return {**found, None: ("solution", config.sampling.solution)} if draws else found


def search_of(
    config: SearchSettings, evolved: Evolved, arms: Arms, journal: Journal, on_commit: OnCommit | None = None
) -> Search:
    """The search that a configuration describes, with what its journal holds already done; an empty one is begun.

    Raises:
        UsageError: the journal began with other settings.
    """
    seed = SeedTree(config.seed)
    parts = SearchParts(
        evolved=evolved,
        proposers=arms.proposers,
        schedule=Schedule(arms.schedule, seed, bandit=config.proposers.bandit),
        initial=evolved.start,
        seed=seed,
    )
    made = Search(parts, journal, islands=config.islands, loop=config.loop, stop=config.stop, on_commit=on_commit)
    events_of(journal).begin(evolved.header)
    return made
