"""The recipe of `evosyn evolve --evolved NAME`: a search for anything that keeps `ports.Evolved`.

What it needs beside proposers (data, sandbox, what is written at the end) is its own affair. DESIGN.md section 5.
"""

from __future__ import annotations

import time
from pathlib import Path

from evosyn import registry
from evosyn.evolve.completing import complete
from evosyn.evolve.stopping import StopConfig
from evosyn.ports import Evolved, EvolvedTools
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.inputs import write_config
from evosyn.synthesis.search.parts import arms_of, models_of, search_of, see_settings
from evosyn.workbench import Workbench


def run_evolved(config: EvolveConfig, name: str, out: Path, workbench: Workbench, *, more: int = 0) -> dict[str, Json]:
    """Evolve what `name` makes, or finish the run in `out`; returns the value of `report.json`.

    Args:
        more: proposals or evaluations (whichever are limited) to add to a run.

    Raises:
        UsageError: nothing of that name, an unknown option, or `out` holds another run.
        BudgetSpent, UnavailableError: stopped; the same command goes on.
    """
    began = time.monotonic()
    see_settings(config, workbench)
    tools = EvolvedTools(config.identity(), lambda: workbench.sandbox)
    evolved: Evolved = registry.make("evolved", name, tools, config.evolved.options)
    arms = arms_of(config, workbench, evolved)
    checked = workbench.check({} if (out / "config.yaml").is_file() else models_of(config, draws=False))
    with RunDir(out) as run:
        run.claim_new(str(evolved.header["kind"]))
        search = search_of(config, evolved, arms, run.journal)

        def limited(limits: StopConfig) -> None:
            write_config(run, config, limits)

        return complete(search, run, more=more, began=began, on_limits=limited, before={"check": checked})
