"""`evosyn score`: any strategies on any pool, in one table with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._workbench import sandbox_options
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.cli._matrices import MatrixSource
    from evosyn.evaluators.draws import ConsistencyConfig
    from evosyn.evaluators.leaderboard import Leaderboard
    from evosyn.ports import StrategyRunner
    from evosyn.records import PassMatrix


@click.command(short_help="Score strategies on a pool or on recorded matrices.")
@click.option("--strategy", "specs", multiple=True, help="Known name, file or run; repeatable. [default: all known]")
@click.option("--pool", "source", required=True, help="Pool file, matrices file, or a directory that holds matrices.")
@click.option("-M", "m", type=click.IntRange(2), help="Solutions of a draw. [default: all]")
@click.option("-N", "n", type=click.IntRange(2), help="Testings of a draw. [default: all]")
@click.option("--draws", type=click.IntRange(1), default=20, show_default=True, help="M x N draws a problem.")
@click.option("--ties", type=click.Choice(["expected", "stable", "random"]), default="expected", show_default=True)
@click.option("--k", type=click.IntRange(1), default=1, show_default=True, help="Criterion 2 on the k best and worst.")
@click.option("--no-criterion1", is_flag=True, help="Do not ask that the top solution is right.")
@click.option("--solvable", is_flag=True, help="Leave out problems without a single right solution.")
@click.option("--keep-short", is_flag=True, help="Keep problems with fewer than M or N, with what they have.")
@click.option("--split-testings", is_flag=True, help="Make every single case or assert a testing of its own.")
@click.option(
    "--problems",
    type=click.Choice(["all", "heldout", "train"]),
    help="Where --pool is a run of `evosyn evolve`: which of its problems. [default: heldout for a run]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of draws, random ties and intervals.")
@click.option("--card", type=click.Path(path_type=Path), help="Write the card of the first --strategy to this file.")
@click.option("--verdicts", type=click.Path(path_type=Path), help="File that remembers executed cells of a pool.")
@sandbox_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def command(specs: tuple[str, ...], source: str, as_json: bool, **flags: Any) -> int:
    """Score strategies by how well their choices agree with the human testings of a pool.

    Beside the score stands the balanced accuracy of the testing that a strategy chooses: a high score with a bad
    testing is luck or a trick. Of a run of `evosyn evolve` only the problems that it held out are scored. Ends with 1
    if one of the strategies is invalid.
    """
    from evosyn.cli._matrices import matrices_of
    from evosyn.cli._workbench import workbench_of
    from evosyn.evaluators.leaderboard import make_leaderboard
    from evosyn.rundir import write_atomic

    config = consistency_config(flags)
    programs = named_programs(specs)
    with workbench_of(flags, verdicts=flags["verdicts"]) as workbench:
        pool, which = _chosen(
            matrices_of(source, workbench, split=flags["split_testings"]), Path(source), flags["problems"]
        )
        known_before = _known_before(specs, pool)
        runner = workbench.runner
        board = make_leaderboard(runner, pool.matrices, programs, config)
        if flags["card"] is not None:
            name, text = next(iter(programs.items()))
            write_atomic(flags["card"], _card(runner, pool.matrices, name, text, config))
    if as_json:
        more = {"pool": pool.name, "simulated": pool.simulated, "of_run": which, "chosen_on": known_before}
        click.echo(json.dumps({**more, **board.to_json()}, indent=2))
    else:
        show(board, f"{pool.name} ({which} problems)" if which else pool.name, simulated=pool.simulated)
        for name, count in known_before.items():
            told = f"{name} was chosen on {count} of these problems: its score here is too high"
            click.echo(f"warning: {told}; --problems heldout, or other problems, give an honest one")
    return 1 if any(row.evaluation.invalid for row in board.rows) else 0


def _chosen(pool: MatrixSource, path: Path, which: str | None) -> tuple[MatrixSource, str | None]:
    """The problems to score, and which part of a run they are (None where the pool is no run).

    Raises:
        UsageError: a part of something that is no run.
    """
    from evosyn.cli._matrices import split_of_run

    split = split_of_run(path) if path.is_dir() else None
    if split is None:
        if which not in (None, "all"):
            raise UsageError(f"--problems {which}: {path} is no run of `evosyn evolve`, so that nothing is held out")
        return pool, None
    which = which or "heldout"
    if which == "all":
        return pool, which
    names = {matrix.problem_id for matrix in (split.heldout if which == "heldout" else split.train)}
    return pool._replace(matrices=[matrix for matrix in pool.matrices if matrix.problem_id in names]), which


def _known_before(specs: Sequence[str], pool: MatrixSource) -> dict[str, int]:
    """For each strategy that is a run: how many of the problems it was chosen on, where there are any."""
    from evosyn.cli._matrices import split_of_run
    from evosyn.strategies import strategy_name

    found = {}
    for spec in specs:
        split = split_of_run(Path(spec)) if Path(spec).is_dir() else None
        seeds = set() if split is None else {matrix.problem_id for matrix in split.train}
        count = sum(matrix.problem_id in seeds for matrix in pool.matrices)
        if count:
            found[strategy_name(spec)] = count
    return found


def _card(
    runner: StrategyRunner, matrices: Sequence[PassMatrix], name: str, text: str, config: ConsistencyConfig
) -> str:
    from evosyn.evaluators.card import CardRequest, make_card, render
    from evosyn.strategies import known_names, load_known

    known = {other: load_known(other) for other in known_names() if other != name}
    request = CardRequest(name=name, text=text, initial=load_known("initial"), seeds=matrices, known=known)
    return render(make_card(runner, request, config))


def consistency_config(flags: Mapping[str, Any]) -> ConsistencyConfig:
    """How to measure, from the options that say so."""
    from evosyn.evaluators.draws import ConsistencyConfig

    same = {name: flags[name] for name in ("draws", "ties", "k", "seed", "solvable")}
    short = "keep" if flags["keep_short"] else "skip"
    sizes = {"M": flags["m"], "N": flags["n"], "short": short}
    return ConsistencyConfig.model_validate({**same, **sizes, "criterion1": not flags["no_criterion1"]})


def named_programs(specs: tuple[str, ...]) -> dict[str, str]:
    """Program texts by the names that tables show; all known ones where none is named."""
    from evosyn.strategies import known_names, load_strategy, strategy_name

    programs: dict[str, str] = {}
    for spec in specs or tuple(known_names()):
        name = strategy_name(spec)
        programs[str(Path(spec)) if name in programs else name] = load_strategy(spec)
    return programs


def show(board: Leaderboard, name: str, *, simulated: bool) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    config = board.config
    sizes = f"M={config.M or 'all'}, N={config.N or 'all'}, {config.draws} draws, ties {config.ties}, k={config.k}"
    label = " (simulated: not a model's work)" if simulated else ""
    table = Table(title=f"{name}{label}: {len(board.problems)} problems, {sizes}", title_justify="left")
    table.add_column("strategy")
    for column in ("score", "95 % interval", "criterion 1", "testing: bal. acc.", "precision"):
        table.add_column(column, justify="right")
    for row in board.rows:
        figures = row.evaluation.metrics
        if row.interval is None:
            table.add_row(row.name, "invalid", "", "", "", "")
            continue
        table.add_row(
            row.name,
            f"{row.evaluation.score:.3f}",
            f"{row.interval.low:.3f} to {row.interval.high:.3f}",
            f"{figures['criterion1']:.3f}",
            f"{figures['testing_balanced_accuracy']:.3f}",
            f"{figures['testing_precision']:.3f}",
        )
    table.add_row("oracle", f"{board.oracle:.3f}", "", "", "", "", style="dim")
    console = Console()
    console.print(table)
    preferred = board.winner()
    if preferred is not None and len(board.rows) > 1:
        reason = f"the best testing of the {len(board.tied())} whose score chance could not tell from the best"
        console.print(f"preferred: {preferred.name} ({reason})", markup=False)
    for row in board.rows:
        if row.evaluation.invalid:
            console.print(f"{row.name} is invalid: {row.evaluation.invalid}", markup=False)
    for reason, count in board.skipped.items():
        console.print(f"skipped {count} problems: {reason}", markup=False)
