"""`evosyn audit`: the kept testings of a dataset against human ones, by execution."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand, config_options, sandbox_options
from evosyn.cli._output import echo
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.cli._configs import AuditConfig
    from evosyn.synthesis.audit import Audited


@click.command(
    cls=ConfiguredCommand,
    kind="evosyn.cli._configs:AuditConfig",
    needs={
        "data": "DATA: name a directory that `evosyn synthesize` wrote",
        "against": "--against: name a pool with human testings",
    },
    short_help="Compare the kept testings of a dataset with human ones.",
)
@click.argument("data", required=False)
@click.option("--against", help="Pool file with human testings of the same problems.")
@click.option(
    "--setting",
    "settings",
    multiple=True,
    type=click.Choice(["evosyn", "relaxed", "random"]),
    help="[default: evosyn and random, to compare]",
)
@sandbox_options
@config_options("workbench.sandbox.workers=4")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(config: AuditConfig, as_json: bool) -> None:
    """How good the kept testings of DATA are where human testings of the same problems exist.

    Problems are matched by statement. Executes every drawn solution against the kept and the human testing.
    """
    from evosyn.dataset import read_dataset
    from evosyn.domains import load_pools
    from evosyn.synthesis.audit import audit, summary
    from evosyn.workbench import Workbench

    data, humans = Path(config.data), load_pools(config.against)
    file = data / "candidates.jsonl"
    if not file.is_file():
        raise UsageError(f"{data}: has no candidates.jsonl; is it a directory that `evosyn synthesize` finished?")
    candidates = {pool.problem.problem_id: pool for pool in load_pools(file)}
    found: dict[str, list[Audited]] = {}
    with Workbench(config.workbench) as workbench:
        for setting in config.settings:
            found[setting] = audit(read_dataset(data, setting), candidates, humans, workbench.crossexec)
    figures = {setting: summary(rows) for setting, rows in found.items()}
    if as_json:
        echo(json.dumps(figures, indent=2))
        return
    names = list(next(iter(figures.values())))
    echo(f"{'':22}" + "".join(f"{setting:>10}" for setting in figures))
    for name in names:
        values = ["-" if row[name] is None else f"{row[name]:g}" for row in figures.values()]
        echo(f"{name.replace('_', ' '):22}" + "".join(f"{value:>10}" for value in values))
