"""The recipe of `evosyn evolve`: seeds in, a filtering strategy with an honest report out. Thin assembly of the parts.

Each step leaves what it made in the run directory (pools, matrices, journal), so the same command resumes wherever it
was killed. Du 2025 (EvoSyn), section 3.1; DESIGN.md sections 4 and 5.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

import yaml

from evosyn import __version__
from evosyn.errors import UnavailableError, UsageError
from evosyn.evolve.arms import Arms, open_arms
from evosyn.evolve.completing import complete
from evosyn.evolve.events import Fate, Step
from evosyn.evolve.islands import Archipelago
from evosyn.evolve.loop import Search, SearchParts
from evosyn.evolve.proposers._recorded import RecordedProposer
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import Stop
from evosyn.ports import Evolved, Genome, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.synthesis.recipes._evolve_config import EvolveConfig
from evosyn.synthesis.recipes._evolve_inputs import Seeds, Source, prepare
from evosyn.synthesis.recipes._evolve_strategies import KIND, EvolvedStrategies
from evosyn.synthesis.recipes._openevolve import PROGRAMS, endpoint_of, run_openevolve, write_project
from evosyn.workbench import Workbench

OPENEVOLVE = "openevolve"
OPENEVOLVE_ITERATIONS = 100


class Progress(Protocol):
    """Told what happens; must be quick and never fail."""

    def step(self, what: str, done: int, total: int) -> None: ...

    def committed(self, state: Archipelago, step: Step, fates: tuple[Fate, ...]) -> None: ...

    def said(self, line: str) -> None: ...


class Quiet:
    """No progress."""

    def step(self, what: str, done: int, total: int) -> None: ...

    def committed(self, state: Archipelago, step: Step, fates: tuple[Fate, ...]) -> None: ...

    def said(self, line: str) -> None: ...


def run_evolve(
    config: EvolveConfig,
    source: Source,
    out: Path,
    workbench: Workbench,
    *,
    more: int = 0,
    progress: Progress = Quiet(),  # noqa: B008  (it has no state)
) -> dict[str, Json]:
    """Evolve a strategy on the problems of `source`, or finish the run in `out`; returns the value of `report.json`.

    Args:
        more: proposals or evaluations (whichever are limited) to add to a run.

    Raises:
        UsageError: the source, or `out` holds another run.
        BudgetSpent, UnavailableError: stopped; the same command goes on. After a spent budget the report of what was
            found until then is written.
    """
    source.check()
    began = time.monotonic()
    with RunDir(out) as run:
        _claim(run, source, config)
        seeds = prepare(run, source, config, workbench, progress.step)
        arms: Arms | None = None
        if config.engine == OPENEVOLVE:
            config, arms = _by_openevolve(run, seeds, config, workbench, progress)
        evolved = EvolvedStrategies(workbench.runner, seeds, config)
        parts = search_parts(config, evolved, arms or arms_of(config, workbench, evolved))
        search = Search(
            parts,
            run.journal,
            islands=config.islands,
            loop=config.loop,
            stop=config.stop,
            on_commit=progress.committed,
        )

        def said(stopped: Stop) -> None:
            progress.said(f"search ended: {stopped.value}; scoring train and held-out problems")

        return complete(search, run, more=more, began=began, on_end=said)


def arms_of(config: EvolveConfig, workbench: Workbench, genome: Genome) -> Arms:
    """The arms of the configuration.

    Raises:
        UsageError: an unknown proposer or option, or one that needs a model where none is named.
    """

    def teacher(model: str | None) -> Teacher:
        if model is None and not workbench.has_model:
            raise UsageError("--proposer: this proposer asks a model; name one with --model provider/name")
        return workbench.teacher(model)

    own = config.proposers
    return open_arms(own.arms, genome, teacher, shared={"burst": own.burst}, options=own.options)


def search_parts(config: EvolveConfig, evolved: Evolved, arms: Arms) -> SearchParts:
    """The collaborators of a search."""
    seed = SeedTree(config.seed)
    return SearchParts(
        evolved=evolved,
        proposers=arms.proposers,
        schedule=Schedule(arms.schedule, seed, bandit=config.proposers.bandit),
        initial=evolved.start,
        seed=seed,
    )


def _claim(run: RunDir, source: Source, config: EvolveConfig) -> None:
    """Take the directory for this source, or see that it is ours.

    Raises:
        UsageError: it holds something else.
    """
    mine = {
        "kind": KIND,
        "source": source.name,
        "source_digest": source.digest,
        "drawn": None if source.recorded else list(config.drawn),
    }
    if run.file("manifest.json").is_file():
        held = run.read_json("manifest.json")
        for key in ("kind", "source_digest", "drawn"):
            if held.get(key) != mine[key]:
                raise UsageError(
                    f"--out {run.path}: holds a run with another {key} ({held.get(key)!r} there, {mine[key]!r} asked "
                    "for); choose another directory"
                )
    elif run.file("journal.jsonl").exists():
        raise UsageError(f"--out {run.path}: has a journal and no manifest; choose another directory")
    else:
        run.write_json("manifest.json", {**mine, "evosyn": __version__})
    write_config(run, config)


def write_config(run: RunDir, config: EvolveConfig) -> None:
    """Keep what a command resolved to, which repeats it."""
    run.write("config.yaml", yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False))


def _by_openevolve(
    run: RunDir, seeds: Seeds, config: EvolveConfig, workbench: Workbench, progress: Progress
) -> tuple[EvolveConfig, Arms]:
    """Let OpenEvolve work on the train problems; what it made becomes the proposals of our journal."""
    iterations = config.stop.proposals or OPENEVOLVE_ITERATIONS
    folder = run.file(OPENEVOLVE)
    if not folder.joinpath(PROGRAMS).is_file():
        progress.said(f"OpenEvolve runs for {iterations} iterations; its log is {folder}/openevolve.log")
        write_project(folder, seeds.split.train, config, endpoint_of(workbench.config.teacher), iterations)
    programs = run_openevolve(folder, iterations)
    if not programs:
        raise UnavailableError(f"OpenEvolve made no program; see {folder}/openevolve.log, then delete {folder}")
    proposers = config.proposers.model_copy(update={"arms": {OPENEVOLVE: 1.0}})
    stop = config.stop.model_copy(update={"proposals": len(programs), "evaluations": None})
    recorded = {OPENEVOLVE: RecordedProposer(OPENEVOLVE, programs)}
    return config.model_copy(update={"proposers": proposers, "stop": stop}), Arms(recorded, (Arm(OPENEVOLVE),))
