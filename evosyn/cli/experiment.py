"""`evosyn experiment`: compare data settings by training on each."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._train_common import quiet_libraries, tty_note

if TYPE_CHECKING:
    from evosyn.ports import Sandbox
    from evosyn.records import Json
    from evosyn.rundir import RunDir
    from evosyn.simulation.experiment.toy_data import PreparedExperiment, Sizes
    from evosyn.simulation.experiment.toy_runs import ExperimentPlan

SEARCH_EVALUATIONS, SMOKE_EVALUATIONS = 1500, 150


@click.group(short_help="Compare data settings by training on each.")
def command() -> None:
    """Experiments that train on several data settings with the same problems and the same budget."""


@command.command()
@click.option("--size", type=click.Choice(["cpu", "smoke", "gpu", "gpu-smoke"]), default="cpu", show_default=True)
@click.option(
    "--seeds", type=click.IntRange(1), default=5, show_default=True, help="How many seeds, from --first-seed."
)
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--arms",
    "--settings",
    "arms",
    default=None,
    help="Comma-separated; all by default, with --data the three settings.",
)
@click.option(
    "--noise",
    default="default",
    show_default=True,
    help="How good the simulated teacher is: default, better, worse; several, comma-separated, give a sweep.",
)
@click.option("--data", default=None, help="Your own dataset directory; then --model and --bench are needed as well.")
@click.option("--model", default=None, help="With --data or --size gpu: where every arm starts.")
@click.option("--bench", default=None, help="With --data: pool with human testings, or builtin:python-seeds.")
@click.option(
    "--samples", type=click.IntRange(1), default=4, show_default=True, help="With a --model: per unseen problem."
)
@click.option(
    "--max-tokens", type=click.IntRange(1), default=512, show_default=True, help="With a --model: of a completion."
)
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="With a --model: any key of `evosyn train` or `distill`."
)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Trainings at the same time.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Resumable run directory.")
@click.option("--allow-weak-sandbox", is_flag=True)
def table2(size: str, arms: str | None, out: Path, allow_weak_sandbox: bool, **values: Any) -> None:
    """Table 2 in small: the same problems and budget, rewards by testings chosen in different ways.

    The evosyn arm uses a strategy that `evosyn evolve` finds on seed problems nobody trains on. All arms start from the
    same weights; accuracy is measured on unseen problems with human testings.
    """
    if values["data"] is not None or size.startswith("gpu"):
        from evosyn.cli._experiment_real import run_functions, run_own_data

        if values["data"] is not None:
            run_own_data(out, allow_weak_sandbox, {**values, "arms": arms})
        else:
            run_functions(size, out, allow_weak_sandbox, {**values, "arms": arms})
        return
    from evosyn.rundir import write_atomic
    from evosyn.simulation.experiment.table import sweep_markdown
    from evosyn.simulation.experiment.toy_runs import ExperimentPlan
    from evosyn.train.models import require_train

    require_train()
    quiet_libraries()
    first = values["first_seed"]
    seeds = tuple(range(first, first + values["seeds"]))
    noises = [part.strip() for part in values["noise"].split(",")]
    plans = {noise: ExperimentPlan(seeds=seeds, noise=noise, jobs=values["jobs"]) for noise in noises}
    evaluations = SMOKE_EVALUATIONS if size == "smoke" else SEARCH_EVALUATIONS
    if size == "smoke":
        plans = {noise: _smoke(plan) for noise, plan in plans.items()}
    if arms is not None:
        chosen = tuple(part.strip() for part in arms.split(","))
        plans = {noise: replace(plan, arms=chosen) for noise, plan in plans.items()}
    for plan in plans.values():
        plan.check()
    tables = {}
    for noise, plan in plans.items():
        where = out / noise if len(plans) > 1 else out
        tables[noise] = _run(plan, where, evaluations, weak=allow_weak_sandbox)
    if len(plans) > 1:
        text = sweep_markdown(tables)
        write_atomic(out / "sweep.md", text)
        click.echo(text)


def _run(plan: ExperimentPlan, out: Path, evaluations: int, *, weak: bool) -> dict[str, Json]:
    """One noise: run, write and show the table."""
    from evosyn.rundir import RunDir
    from evosyn.sandbox import open_sandbox
    from evosyn.simulation.experiment.table import summarize
    from evosyn.simulation.experiment.toy_runs import facts_of, run_plan

    opener = functools.partial(open_sandbox, "local", workers=1, allow_weak=weak)
    with RunDir(out) as run:
        with open_sandbox("local", workers=None, allow_weak=weak, numpy=True) as sandbox:
            records = run_plan(plan, run, functools.partial(_prepare, sandbox, evaluations), opener, on_done=tty_note)
        table = summarize(records, facts_of(run, plan.seeds))
        write_table(run, out, records, table)
    return table


def write_table(run: RunDir, out: Path, records: Sequence[Json], table: dict[str, Json]) -> None:
    """Write report, table and curves into the run of `out`, and show the table."""
    from evosyn.simulation.experiment.table import markdown, write_curves

    run.write_json("report.json", table)
    text = markdown(table)
    run.write("table2.md", text)
    write_curves(run, records)
    click.echo(text)
    click.echo(f"wrote {out / 'table2.md'}, {out / 'report.json'}, {out / 'curves.png'}", err=True)


def _prepare(sandbox: Sandbox, evaluations: int, out: Path, seed: int, sizes: Sizes, noise: Any) -> PreparedExperiment:
    from evosyn.domains import Domains
    from evosyn.evaluators.crossexec import CrossExecutor
    from evosyn.simulation.experiment.toy_data import prepare
    from evosyn.strategies.runner import SandboxedRunner

    runner = SandboxedRunner(sandbox)
    search = functools.partial(evolve_strategy, runner, evaluations)
    return prepare(out, seed, sizes, noise, CrossExecutor(sandbox, Domains()), runner, search)


def evolve_strategy(runner: Any, evaluations: int, matrices: Path, out: Path, seed: int, draws: int) -> str:
    """Our own search on the recorded matrices of the seed problems, with the defaults of `evosyn evolve`."""
    from evosyn.errors import UsageError
    from evosyn.evaluators.draws import ConsistencyConfig
    from evosyn.evolve.stopping import StopConfig
    from evosyn.synthesis.recipes._evolve_config import EvolveConfig
    from evosyn.synthesis.recipes._evolve_inputs import Makers, Source
    from evosyn.synthesis.recipes.evolve import Machinery, run_evolve

    def absent(*_: Any) -> Any:
        raise UsageError("the experiment's search asks no model and executes nothing")

    scoring = ConsistencyConfig(M=draws, N=draws, draws=8)
    config = EvolveConfig(seed=seed, scoring=scoring, stop=StopConfig(evaluations=evaluations))
    makers = Makers(teacher=absent, crossexec=absent, domain=absent)
    run_evolve(config, Source(str(matrices)), out, Machinery(runner, absent, makers))
    return (out / "strategy.py").read_text(encoding="utf-8")


def _smoke(plan: Any) -> Any:
    """A few minutes' worth that shows that everything runs; its figures mean nothing."""
    from evosyn.simulation.experiment.toy_data import Sizes
    from evosyn.simulation.experiment.toy_runs import StepBudgetConfig

    return replace(
        plan,
        sizes=Sizes(seeds=20, problems=24, heldout=16, draws=8),
        budget=StepBudgetConfig(warm_steps=20, steps=6, distill_steps=6, prompts=4, group=4, every=3, width=64),
    )
