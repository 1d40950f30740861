"""`evosyn world make`: tool worlds from the names of domains; their tools cross-executed and chosen by a strategy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand, flag, out_option
from evosyn.cli._making import making_options, refuse_nothing, spent
from evosyn.cli._output import echo
from evosyn.cli._progress import line_of, watching

if TYPE_CHECKING:
    from evosyn.records import Json
    from evosyn.running.progress import RunProgress
    from evosyn.synthesis.worlds.config import MakeWorldsConfig
    from evosyn.synthesis.worlds.draft import WorldDraft


@click.command("make", cls=ConfiguredCommand, kind="evosyn.synthesis.worlds.config:MakeWorldsConfig")
@click.argument("names", metavar="NAMES")
@out_option("Directory of the worlds; the same command again resumes it.")
@flag("--tasks", "tasks", "Of each world; 0 for none. [default: 40]", type=click.IntRange(0))
@flag("-M", "tools.M", "Programs of each tool. [default: 8]", type=click.IntRange(1))
@flag("-N", "tools.N", "Testings of each tool. [default: 8]", type=click.IntRange(1))
@flag("--strategy", "tools.strategy", "Ranks both: a name, a file or a RUN. [default: exclusion]")
@flag(
    "--no-execution",
    "unexecuted",
    "For comparisons: one program of each tool, not judged, and chains that were not tried, along a graph that was "
    "found by running.",
    is_flag=True,
)
@making_options("tools.debug=0", "Say how many model calls it would take, and stop.")
def command(config: MakeWorldsConfig, names: str, out: Path, dry_run: bool, as_json: bool, quiet: bool) -> None:
    """Let a model make tool worlds, and keep what stands of them.

    NAMES are names with commas, a file with one a line, or builtin:domains. A model writes the tools of each, then the
    tables, then M programs and N testings of each tool; these are cross-executed and ranked, repaired in at most three
    rounds, or the tool is dropped. What is left gets a graph and tasks: a WORLD for `evosyn world check` and
    `rollout`.
    """
    from evosyn.running.progress import RunProgress
    from evosyn.synthesis.recipes.made_worlds import estimate, make_worlds, names_of
    from evosyn.workbench import Workbench

    wanted, limits = names_of(names), config.tools.execute.limits
    if dry_run:
        found = estimate(config, wanted)
        echo(json.dumps(found, indent=2) if as_json else "\n".join(f"{key}: {one}" for key, one in found.items()))
        return
    with Workbench(config.workbench, out=out, seed=config.seed, limits=limits) as workbench:
        progress: RunProgress[WorldDraft] = RunProgress()
        with watching(partial(line_of, progress, "worlds"), show=not (quiet or as_json)):
            report = make_worlds(config, wanted, workbench, out, progress)
    echo(json.dumps(report, indent=2)) if as_json else _summary(report, out)
    refuse_nothing(report, out, "worlds", "tools", "world-tools")


def _summary(report: Mapping[str, Json], out: Path) -> None:
    tools = report["tools"]
    echo(f"{report['kept']} of {report['asked']} worlds, {tools['kept']} of {tools['asked']} tools in {out}")
    for what, found in (("world", report["dropped"]), ("tool", tools["dropped"])):
        for reason, count in found.items():
            echo(f"  dropped {count} {what}: {reason}")
    failing = [one["failing"] for one in report["worlds"] if "failing" in one]
    if failing:
        echo(f"not executed: {sum(failing) / len(failing):.2f} of the chains fail when they are run")
    echo(spent(report))
    for one in report["worlds"]:
        if not one["dropped"]:
            echo(f"next:    evosyn world check {out / one['world']}")
            return
