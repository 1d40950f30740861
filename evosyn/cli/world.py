"""`evosyn world`: worlds of tools over a database; their tasks, and agents in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import (
    CommandGroup,
    ConfiguredCommand,
    config_options,
    flag,
    out_option,
    sandbox_options,
    teacher_options,
)
from evosyn.cli._output import echo
from evosyn.cli.world_make import command as make
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.cli._configs import CheckConfig
    from evosyn.records import Json
    from evosyn.rundir import RunDir
    from evosyn.synthesis.recipes.worlds import UserKind
    from evosyn.workbench import Workbench
    from evosyn.worlds.tools.playing import Player

CONFIG = "evosyn.cli._configs:CheckConfig"
EXAMPLE = "workbench.sandbox.backend=docker"
SOURCE = click.argument("source", metavar="WORLD")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")


@click.group(
    cls=CommandGroup, short_help="Worlds of tools over a database: list, make, tasks, check, rollout, serve, faults."
)
def command() -> None:
    """Work with tool worlds: tools that are programs over a database, and tasks in it (see docs/worlds.md).

    WORLD is a directory with a world.json, or builtin:NAME of one that comes with evosyn (`evosyn world list`).
    """


command.add_command(make)


@command.command("list")
@AS_JSON
def listed(as_json: bool) -> None:
    """Show the worlds that come with evosyn."""
    from evosyn.worlds.tools.files import bundled, read_tasks, read_world

    found = []
    for name in bundled():
        world, tasks = read_world(f"builtin:{name}"), read_tasks(f"builtin:{name}")
        sizes = {"tools": len(world.tools), "tables": len(world.tables), "tasks": len(tasks)}
        found.append({"name": name, "id": world.id, **sizes, "title": world.title})
    if as_json:
        echo(json.dumps({"worlds": found}, indent=2))
        return
    for row in found:
        echo(f"{row['name']:10} {row['tools']} tools, {row['tables']} tables, {row['tasks']} tasks  {row['title']}")


@command.command("tasks", cls=ConfiguredCommand, kind=CONFIG)
@SOURCE
@out_option("Directory of the world with its tasks.")
@click.option("--tasks", "count", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of states and chains.")
@AS_JSON
@sandbox_options
@config_options(EXAMPLE)
def tasks(config: CheckConfig, source: str, out: Path, count: int, seed: int, as_json: bool) -> int:
    """Make tasks that are solvable by construction, and a dataset of them for `evosyn train`. Ends with 1 if none is.

    The same world, number and seed give the same bytes.
    """
    from evosyn.dataset import write_dataset
    from evosyn.domains.tool_use import NAME
    from evosyn.environments.rows import SETTING
    from evosyn.randomness import SeedTree
    from evosyn.rundir import RunDir
    from evosyn.synthesis.recipes.worlds import rows_of_world
    from evosyn.workbench import Workbench
    from evosyn.worlds.tools.files import folder_of, read_world, require_same_world, seal, write_world
    from evosyn.worlds.tools.gate import fault
    from evosyn.worlds.tools.graph import find_graph
    from evosyn.worlds.tools.tasks import make_tasks

    world = read_world(source)
    if reason := next((f"tools/{one.name}.py: {reason}" for one in world.tools if (reason := fault(one))), ""):
        raise UsageError(f"{folder_of(source)}/{reason}")
    with RunDir(out) as directory, Workbench(config.workbench) as workbench:
        directory.claim_new("world")
        require_same_world(world, source, out, _held(directory))
        directory.write_json("manifest.json", {"kind": "world", "world": world.id, "asked": count, "seed": seed})
        player, seeds = _player(workbench), SeedTree(seed).child("world", world.id)
        graph = find_graph(world, player, seeds)
        made = make_tasks(world, graph, player, count, seeds)
        write_world(source, out, graph, made.tasks)
        write_dataset(out, SETTING, rows_of_world(world, made.tasks, workbench.domains[NAME]))
        report = {"kept": len(made.tasks), "dropped": dict(sorted(made.dropped.items())), "world": world.id,
                  "edges": len(graph.edges), "density": round(graph.density(len(world.tools)), 4),
                  "misses": sum(one.misses for one in made.tasks),
                  "tools": len(world.tools), "tables": len(world.tables)}  # fmt: skip
        directory.write_json("report.json", report)
        seal(out)
    if as_json:
        echo(json.dumps(report, indent=2))
    else:
        echo(f"{len(made.tasks)} of {count} tasks of {world.name} in {out}")
        echo(f"{report['misses']} near misses were tried; none is paid")
        for reason, number in sorted(made.dropped.items()):
            echo(f"  attempts dropped {number}: {reason}")
    return 0 if made.tasks else 1


@command.command("check", cls=ConfiguredCommand, kind=CONFIG)
@SOURCE
@AS_JSON
@sandbox_options
@config_options(EXAMPLE)
def check(config: CheckConfig, source: str, as_json: bool) -> int:
    """Check a world from its files: digests, schema, tools and their testings, graph, references, near misses,
    dataset. Ends with 1 if one is wrong."""
    from evosyn.domains.tool_use import NAME
    from evosyn.synthesis.worlds.examining import dataset_faults, testing_faults
    from evosyn.workbench import Workbench
    from evosyn.worlds.tools.checking import check_world
    from evosyn.worlds.tools.playing import LIMITS

    with Workbench(config.workbench, limits=LIMITS) as workbench:
        found = check_world(source, _player(workbench))
        more = (*testing_faults(source, workbench.judge), *dataset_faults(source, workbench.domains[NAME]))
        found = found._replace(faults=(*found.faults, *more))
    if as_json:
        faults = [one._asdict() for one in found.faults]
        told = {"world": found.world.id, "tools": len(found.world.tools), "tasks": found.tasks, "misses": found.misses}
        echo(json.dumps({**told, "faults": faults}, indent=2))
    else:
        for one in found.faults:
            echo(f"{one.file}: {one.reason}")
        sizes = f"{len(found.world.tools)} tools, {found.tasks} tasks, {found.misses} near misses"
        echo(f"{found.world.name}: {sizes}; {len(found.faults)} faults")
    return 1 if found.faults else 0


@command.command("rollout", cls=ConfiguredCommand, kind=CONFIG)
@SOURCE
@out_option("Directory of the episodes.")
@flag("--agent", "workbench.agent.name", "Who works on the tasks: loop, or a dotted path. [default: loop]")
@click.option("--user", type=click.Choice(["none", "scripted", "model"]), default="none", show_default=True,
              help="none: the agent is told everything at once; else it has to ask a script, or a model.")  # fmt: skip
@click.option("--user-model", metavar="NAME", help="Model that plays the user; means --user model. [default: --model]")
@click.option("--episodes", type=click.IntRange(1), default=1, show_default=True, help="Of each task.")
@click.option("--limit", type=click.IntRange(1), help="Tasks at most, the first ones.")
@click.option("--seed", type=int, default=0, show_default=True, help="Root of all random choices.")
@AS_JSON
@teacher_options
@sandbox_options
@config_options("workbench.agent.dialect=tools")
def rollout(
    config: CheckConfig,
    source: str,
    out: Path,
    user: UserKind,
    user_model: str | None,
    episodes: int,
    limit: int | None,
    seed: int,
    as_json: bool,
) -> int:
    """Let an agent work on the tasks of a world. Rewards look at the final state; what our own machinery spoils is
    unknown, never 0.

    Writes all episodes, and those that passed as a dataset for `evosyn distill`. The same command goes on after a kill.
    """
    from collections import Counter

    from evosyn.domains.tool_use import NAME
    from evosyn.rundir import RunDir
    from evosyn.synthesis.recipes.worlds import KIND, RolloutPlan, figures, roll_out, write_rollout
    from evosyn.workbench import NO_MODEL, AgentConfig, Workbench
    from evosyn.worlds.tools.files import read_tasks, read_world

    kind: UserKind = "model" if user_model else user
    tasks = read_tasks(source)[:limit]
    plan = RolloutPlan(read_world(source), tasks, kind, episodes, seed, user_model)
    agent, named = config.workbench.agent, config.workbench.teacher.spec
    if named is None and agent.name == AgentConfig().name:
        raise UsageError(NO_MODEL)
    if kind == "model" and not (user_model or named):
        raise UsageError("--user model: name who plays the user: --user-model provider/name (or --model, for both)")
    with RunDir(out) as directory, Workbench(config.workbench, out=out, seed=seed) as workbench:
        model = named or agent.name
        told = {"episodes": episodes, "limit": limit, "user": kind, "user_model": user_model, "seed": seed}
        directory.begin(KIND, world=plan.world.id, agent={"name": agent.name, **agent.options}, model=named, **told)
        redrawn: Counter[str] = Counter()
        rolled = roll_out(workbench, plan, redrawn)
        report = figures(plan, rolled, model, redrawn)
        write_rollout(out, plan, rolled, workbench.domains[NAME], model)
        directory.write_json("report.json", report)
    if as_json:
        echo(json.dumps(report, indent=2))
        return 0
    rates = ", ".join(f"{name} {report[name]}" for name in report if name.startswith(("avg@", "pass")))
    echo(f"{model}{' (SIMULATED)' if report['simulated'] else ''} on {report['tasks']} tasks: {rates}")
    echo(f"{report['calls']} calls, {report['invalid_calls']} invalid; unknown {report['unknown']}")
    return 0


@command.command("faults", cls=ConfiguredCommand, kind=CONFIG)
@SOURCE
@click.option("--per-class", type=click.IntRange(1), default=20, show_default=True, help="Faults of each class.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is planted.")
@AS_JSON
@sandbox_options
@config_options(EXAMPLE)
def faults(config: CheckConfig, source: str, per_class: int, seed: int, as_json: bool) -> int:
    """Plant faults into the tools of a world, and count what their testings catch; builtin:all are all bundled worlds.

    Ends with 1 where a class is caught too seldom, or untouched tools are refused.
    """
    from evosyn.jobs import Limits
    from evosyn.randomness import SeedTree
    from evosyn.synthesis.worlds.planting import HELD_OUT, LOOKED_AT, fault_figures, planted, tested_tools
    from evosyn.workbench import Workbench

    tools = tested_tools(source)
    with Workbench(config.workbench, limits=Limits(cpu_s=0.5, budget_s=1.5)) as workbench:
        found = fault_figures(workbench.judge, _player(workbench), tools, planted(tools, per_class, SeedTree(seed)))
    if as_json:
        echo(json.dumps(found, indent=2))
        return 0 if found["kept"] else 1
    echo(f"{'class':20} {'caught':>7} {'of':>4}   looked at")
    for kind, one in found["classes"].items():
        shares = ["-" if one[half] is None else f"{one[half]:.3f}" for half in (HELD_OUT, LOOKED_AT)]
        echo(f"{kind:20} {shares[0]:>7} {one[f'{HELD_OUT}-planted']:>4}   {shares[1]} of "
                   f"{one[f'{LOOKED_AT}-planted']}; {one['none']} are no faults")  # fmt: skip
    lost = found["untouched"]
    echo(f"untouched tools refused: {len(lost['refused'])} of {lost['count']}; unknown {found['unknown']}")
    return 0 if found["kept"] else 1


@command.command("serve")
@SOURCE
@click.option(
    "--task", "name", required=True, metavar="ID", help="Of the world: its id, the beginning of it, or its number."
)
@click.option("--user", type=click.Choice(["none", "scripted"]), default="none", show_default=True,
              help="scripted: the instruction says the first request only; `ask_user` tells the others.")  # fmt: skip
def serve(source: str, name: str, user: str) -> None:
    """Serve a task over the Model Context Protocol, on standard input and output, until the client is gone.

    Its tools are those of the task and `finish`. Resources: evosyn://task/instruction, and evosyn://task/reward, which
    is null until the task is over. Needs the extra `mcp`; calls run in the sandbox of this machine.
    """
    import asyncio

    from evosyn.train.world_mcp import ServedTask, task_of_world

    task = task_of_world(source, name, user=user != "none")
    came_to = asyncio.run(ServedTask(task).serve())
    echo(f"{task.row_id}: {json.dumps(came_to)}", err=True)


def _held(directory: RunDir) -> Json:
    """The id of the world that a directory is of; None where it has no manifest, or one that names none."""
    held = directory.file("manifest.json").exists()
    return directory.read_json("manifest.json").get("world") if held else None


def _player(workbench: Workbench) -> Player:
    from evosyn.worlds.tools.playing import Player

    return Player(workbench.sandbox)
