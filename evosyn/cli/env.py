"""`evosyn env`: verifiable environments, which are programs that make questions and check answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli import calibrate
from evosyn.cli._command import CommandGroup, ConfiguredCommand, config_options, out_option, sandbox_options
from evosyn.cli._output import echo
from evosyn.cli._programs import CONFIG, EXAMPLE, climbed, program_options
from evosyn.cli.env_evolve import command as evolve
from evosyn.cli.env_make import command as make
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.cli._configs import CheckConfig
    from evosyn.environments.ladder import Climb
    from evosyn.records import Json


@click.group(cls=CommandGroup, short_help="Verifiable environments: list, make, evolve, check, run, rows, calibrate.")
def command() -> None:
    """Work with verifiable environments: programs with a generator of questions and a verifier of answers (see
    docs/environments.md).

    NAME is a file, a directory of programs, of `evosyn env make` or of `env evolve`, the name of an environment that
    comes with evosyn (`evosyn env list`), builtin:known, builtin:env-seeds (ten of them) or builtin:held-out.
    """


command.add_command(make)
command.add_command(evolve)
command.add_command(calibrate.command, "calibrate")


@command.command("list")
@click.option("--held-out", is_flag=True, help="Those for measuring, which no generator is shown.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def listed(held_out: bool, as_json: bool) -> None:
    """Show the environments that come with evosyn."""
    from evosyn.environments import bundled, environment

    found = []
    for name in bundled("held-out" if held_out else "known"):
        one = environment(f"builtin:{name}")
        found.append({"name": name, "id": one.id, "category": one.category, "kind": one.kind, "title": one.title})
    if as_json:
        echo(json.dumps({"environments": found}, indent=2))
        return
    for row in found:
        echo(f"{row['name']:24} {row['category']:20} {row['kind']:9} {row['title']}")


@command.command("check", cls=ConfiguredCommand, kind=CONFIG)
@program_options
def check(config: CheckConfig, names: tuple[str, ...], seed: int, as_json: bool) -> int:
    """Put programs on the ladder L1 to L5, and compare those that pass with each other.

    Says of each that fails the rung and the reason. Ends with 1 if one does.
    """
    from evosyn.workbench import Workbench

    with Workbench(config.workbench) as workbench:
        climbs = climbed(workbench, names, seed)
    dropped = Counter(climb.reason.partition(":")[0] for climb in climbs.values() if climb.reason)
    if as_json:
        rows = [_climb_json(name, climb) for name, climb in climbs.items()]
        kept = sum(not climb.reason for climb in climbs.values())
        echo(json.dumps({"kept": kept, "dropped": dict(dropped), "environments": rows}, indent=2))
    else:
        for name, climb in climbs.items():
            _show_climb(name, climb)
    return 1 if dropped else 0


@command.command("run", cls=ConfiguredCommand, kind=CONFIG)
@click.argument("name", metavar="NAME")
@click.option("--level", type=click.IntRange(1, 5), default=1, show_default=True, help="How hard.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which question.")
@click.option("--answer", help="What to check; without it the environment's own right answer.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@sandbox_options
@config_options(EXAMPLE)
def run(config: CheckConfig, name: str, level: int, seed: int, answer: str | None, as_json: bool) -> int:
    """Show one question of an environment, and what an answer is worth. Ends with 1 if it is not accepted."""
    from evosyn.crossexec.judge import Cell
    from evosyn.dataset import Reject
    from evosyn.environments import environment
    from evosyn.environments.rows import rows_of
    from evosyn.environments.runner import EnvironmentRunner
    from evosyn.randomness import SeedTree
    from evosyn.records import Solution, Verdict
    from evosyn.workbench import Workbench

    found = environment(name)
    with Workbench(config.workbench) as workbench:
        row = rows_of(found, EnvironmentRunner(workbench.sandbox), level, SeedTree(seed))[-1]
        if isinstance(row, Reject):
            raise UsageError(
                f"{name}: level {level} cannot be made: {row.reason}: {row.detail}; try `evosyn env check`"
            )
        given = row.solution if answer is None else Solution(answer)
        (result,) = workbench.judge.decided([Cell(row.problem, given, row.testing)])
    if as_json:
        told = {"prompt": row.problem.statement, "answer": given.text, "verdict": result.verdict.name}
        echo(json.dumps(told, indent=2))
    else:
        echo(row.problem.statement)
        echo(f"\n{'its own answer' if answer is None else 'answer'}: {given.text}\n{result.verdict.name}")
    return 0 if result.verdict is Verdict.PASS else 1


@command.command("entropy", cls=ConfiguredCommand, kind=CONFIG)
@program_options
def entropy(config: CheckConfig, names: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Say how varied environments are: the entropy of their clusters, by how alike two must be to count as one."""
    from evosyn.environments import sources
    from evosyn.environments.entropy import varieties
    from evosyn.environments.rows import shown_prompts
    from evosyn.environments.runner import EnvironmentRunner
    from evosyn.randomness import SeedTree
    from evosyn.workbench import Workbench

    with Workbench(config.workbench) as workbench:
        runner = EnvironmentRunner(workbench.sandbox)
        shown = [shown_prompts(name, text, runner, SeedTree(seed)) for name, text in sources(list(names)).items()]
    found = varieties(shown)
    if as_json:
        echo(json.dumps({"environments": len(shown), "varieties": [one._asdict() for one in found]}, indent=2))
        return
    echo(f"{len(shown)} environments; alike from  tasks  bits")
    for one in found:
        echo(f"{one.tau:33}  {one.clusters:5}  {one.bits:4.2f}")


@command.command("rows", cls=ConfiguredCommand, kind=CONFIG)
@out_option("Directory of the dataset.")
@click.option("--per-env", type=click.IntRange(1), default=40, show_default=True, help="Rows of each; levels in turn.")
@click.option("--environments", type=click.IntRange(1), help="Draw so many of them by --seed. [default: all]")
@program_options
def rows(
    config: CheckConfig,
    names: tuple[str, ...],
    out: Path,
    per_env: int,
    environments: int | None,
    seed: int,
    as_json: bool,
) -> int:
    """Write a dataset of questions with their verifiers, ready for `evosyn train`, from environments that pass `check`.

    What is dropped stands with its reason in rejects.jsonl. Ends with 1 if no row is left.
    """
    from evosyn.cli._programs import made_rows
    from evosyn.dataset import write_dataset, write_rejects
    from evosyn.environments import sources
    from evosyn.environments.rows import SETTING
    from evosyn.rundir import RunDir
    from evosyn.workbench import Workbench

    kind, named = "environment-rows", len(sources(list(names)))  # what is not there is said before a directory is made
    if environments is not None and environments > named:
        raise UsageError(f"--environments {environments}: {', '.join(names)} holds {named}")
    with RunDir(out) as directory, Workbench(config.workbench) as workbench:
        directory.begin(kind, names=list(names), per_env=per_env, drawn=environments, seed=seed)
        made = made_rows(workbench, names, per_env, environments, seed)
        write_dataset(out, SETTING, made.samples)
        write_rejects(out, made.rejects)
        report: dict[str, Json] = {
            "kind": kind,
            "environments": made.environments,
            "kept": len(made.samples),
            "dropped": made.dropped,
            "seed": seed,
        }
        directory.write_json("report.json", report)
    if as_json:
        echo(json.dumps(report, indent=2))
    else:
        echo(f"{report['kept']} rows of {report['environments']} environments in {out}")
        for reason, count in report["dropped"].items():
            echo(f"  dropped {count}: {reason}")
    return 0 if report["kept"] else 1


def _climb_json(name: str, climb: Climb) -> Mapping[str, Json]:
    return {
        "name": name,
        "id": climb.environment.id if climb.environment else None,
        "level": climb.level,
        "stage": climb.stage,
        "reason": climb.reason,
        "flags": list(climb.flags),
        "figures": dict(climb.figures),
    }


def _show_climb(name: str, climb: Climb) -> None:

    flags = f"  look at: {', '.join(climb.flags)}" if climb.flags else ""
    told = f"{climb.stage}: {climb.reason}" if climb.reason else "passes"
    echo(f"{name:40} L{climb.level}  {told}{flags}")
