"""The recipe of `evosyn evolve`: seeds in, a filtering strategy with an honest report out. Thin assembly of the parts.

Each step leaves what it made in the run directory (pools, matrices, journal), so the same command resumes wherever it
was killed. Du 2025 (EvoSyn), section 3.1; DESIGN.md sections 4 and 5.
"""

from __future__ import annotations

import time
from pathlib import Path

from evosyn.evolve.arms import Arms
from evosyn.evolve.completing import complete
from evosyn.evolve.stopping import StopConfig
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.inputs import Source, claim, prepare, write_config
from evosyn.synthesis.search.openevolve import OPENEVOLVE, by_openevolve, see_openevolve
from evosyn.synthesis.search.parts import arms_of, models_of, search_of, see_settings
from evosyn.synthesis.search.progress import SearchProgress
from evosyn.synthesis.search.strategies import EvolvedStrategies
from evosyn.workbench import Workbench


def see_all(config: EvolveConfig, out: Path, workbench: Workbench) -> None:
    """See that a search can do what its configuration asks for, before anything is executed or drawn.

    Raises:
        UsageError: as `see_settings` and `see_openevolve`.
        MissingExtra: OpenEvolve is not installed.
    """
    see_settings(config, workbench)
    if config.engine == OPENEVOLVE:
        see_openevolve(out, config)


def run_evolve(
    config: EvolveConfig,
    source: Source,
    out: Path,
    workbench: Workbench,
    *,
    more: int = 0,
    progress: SearchProgress = SearchProgress(),  # noqa: B008  (it has no state)
) -> dict[str, Json]:
    """Evolve a strategy on the problems of `source`, or finish the run in `out`; returns the value of `report.json`.

    Args:
        more: proposals or evaluations (whichever are limited) to add to a run.

    Raises:
        UsageError: the source, or `out` holds another run.
        BudgetSpent, UnavailableError: stopped; the same command goes on. After a spent budget the report of what was
            found until then is written. Where a model of a new run does not answer one short question, nothing is.
    """
    source.check()
    see_all(config, out, workbench)
    for line in source.notes(config.heldout):
        progress.said(line)
    began = time.monotonic()
    asked = {} if (out / "manifest.json").is_file() else models_of(config, draws=not source.recorded)
    checked = workbench.check(asked)
    with RunDir(out) as run:
        given = config
        claim(run, source, config, checked)
        seeds = prepare(run, source, config, workbench, progress.step)
        for line in seeds.notes():
            progress.said(line)
        arms: Arms | None = None
        if config.engine == OPENEVOLVE:
            config, arms = by_openevolve(run, seeds, config, workbench, progress)
        evolved = EvolvedStrategies(workbench.runner, seeds, config)
        arms = arms or arms_of(config, workbench, evolved)
        search = search_of(config, evolved, arms, run.journal, progress.committed)

        def limited(limits: StopConfig) -> None:
            progress.limited(limits)
            write_config(run, given, None if config.engine == OPENEVOLVE else limits)

        return complete(
            search,
            run,
            more=more,
            began=began,
            on_limits=limited,
            on_end=lambda stopped: progress.ended(stopped.value),
            before=seeds.spent,
            settings={"finalists": config.finalists},
        )
