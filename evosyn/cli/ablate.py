"""`evosyn ablate`: the ablations of the paper. Each writes a table (csv, md) and a plot (png) and shows the table.

`k` and `size` score stored matrices; the ones that repeat whole searches live in `_ablate_search`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evosyn.cli._workbench import sandbox_options
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.cli._matrices import MatrixSource
    from evosyn.ports import StrategyRunner

Command = TypeVar("Command", bound=Callable[..., Any])
SEARCHES = "evosyn.cli._ablate_search"

_SHARED = (
    click.option("--pool", "source", required=True, help="Pool file, matrices file, or a directory with matrices."),
    click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="ablations", show_default=True),
    click.option("--draws", type=click.IntRange(1), default=20, show_default=True, help="Subsamples of each problem."),
    click.option("--seed", type=int, default=0, show_default=True),
    click.option("--split-testings", is_flag=True, help="Make every single case or assert a testing of its own."),
    click.option("--verdicts", type=click.Path(path_type=Path), help="File that remembers executed cells of a pool."),
)  # fmt: skip


class AblateGroup(click.Group):
    """The group, with the subcommands of `_ablate_search` (its `COMMANDS`, a sequence of click commands)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_searches()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or _searches().get(cmd_name)


@click.group(cls=AblateGroup, short_help="The ablations of the paper: k, size, curve, search.")
def command() -> None:
    """The ablations of the paper, on your own pool."""


def _searches() -> dict[str, click.Command]:
    if importlib.util.find_spec(SEARCHES) is None:
        return {}
    return {found.name: found for found in importlib.import_module(SEARCHES).COMMANDS if found.name}


def _shared(function: Command) -> Command:
    function = sandbox_options(function)
    for option in reversed(_SHARED):
        function = option(function)
    return function


@command.command("k", short_help="Score for k = 1, 2, 4, 8, with and without criterion 1.")
@click.option("--strategy", "specs", multiple=True, default=("initial",), show_default=True, help="Repeatable.")
@click.option("--ks", default="1,2,4,8", show_default=True, help="Values of k, with commas.")
@click.option("-M", "m", type=click.IntRange(2), default=16, show_default=True)
@click.option("-N", "n", type=click.IntRange(2), default=16, show_default=True)
@click.option("--ties", type=click.Choice(["expected", "stable", "random"]), default="expected", show_default=True)
@click.option("--keep-short", is_flag=True, help="Keep problems with fewer than M or N, with what they have.")
@_shared
def by_k(specs: tuple[str, ...], ks: str, m: int, n: int, ties: str, keep_short: bool, **shared: Any) -> None:
    """Table 1: is it enough to look at the best and the worst solution?

    Executions are what a setting would execute for one seed if nothing were stored; here nothing is executed again.
    """
    from evosyn.cli._tables import Cell, print_table, write_plot, write_table
    from evosyn.cli.score import named_programs
    from evosyn.evaluators.ablation import ablate_k
    from evosyn.evaluators.draws import ConsistencyConfig

    config = ConsistencyConfig.model_validate(
        {"M": m, "N": n, "ties": ties, "short": "keep" if keep_short else "skip", "seed": shared["seed"],
         "draws": shared["draws"]}
    )  # fmt: skip
    programs, wanted = named_programs(specs), whole_numbers("--ks", ks)
    pool, rows = _with_runner(shared, lambda runner, pool: ablate_k(runner, pool.matrices, programs, config, wanted))
    columns = ("strategy", "k", "criterion 1", "score", "low", "high", "executions", "oracle")
    cells: list[tuple[Cell, ...]] = [
        (row.strategy, row.k, row.criterion1, row.score, *row.interval, row.executions, row.oracle) for row in rows
    ]

    def draw(axes: Any) -> None:
        for name in programs:
            for criterion1 in (False, True):
                line = [row for row in rows if row.strategy == name and row.criterion1 == criterion1]
                label = f"{name}, {'with' if criterion1 else 'without'} criterion 1"
                spread = [
                    [row.score - row.interval.low for row in line],
                    [row.interval.high - row.score for row in line],
                ]
                axes.errorbar(
                    [row.k for row in line],
                    [row.score for row in line],
                    yerr=spread,
                    marker="o",
                    capsize=3,
                    label=label,
                )
        axes.set(xlabel="k", ylabel="seed consistency", title=_title(pool, "by k"), xscale="log", ylim=(0, None))
        _ticks(axes, wanted)
        axes.legend(fontsize=8)

    files = write_table(shared["out"], "ablate-k", columns, cells)
    files.append(write_plot(shared["out"] / "ablate-k.png", draw))
    print_table(_title(pool, "seed consistency by k"), columns, cells)
    click.echo("wrote " + ", ".join(map(str, files)))


@command.command("size", short_help="Problems kept at M = N = 4, 8, 16.")
@click.option("--strategy", "spec", default="gap", show_default=True, help="Known name, file or run.")
@click.option("--sizes", default="4,8,16", show_default=True, help="Values of M = N, with commas.")
@_shared
def by_size(spec: str, sizes: str, **shared: Any) -> None:
    """Figure 4b: more solutions and testings keep more problems, at M x N executions each.

    `relaxed` is the share kept without zero-variance pruning; beside it stand the balanced accuracy of the testings and
    the share of right top solutions among what is kept, where the pool has human verdicts.
    """
    from evosyn.cli._tables import Cell, print_table, write_plot, write_table
    from evosyn.strategies import load_strategy, strategy_name
    from evosyn.synthesis.retention import ablate_size

    program, wanted = load_strategy(spec), whole_numbers("--sizes", sizes)
    pool, rows = _with_runner(
        shared,
        lambda runner, pool: ablate_size(runner, pool.matrices, program, wanted, shared["draws"], shared["seed"]),
    )
    columns = ("M = N", "problems", "kept", "low", "high", "relaxed", "executions", "bal. acc.", "top right")
    cells: list[tuple[Cell, ...]] = [
        (row.size, row.problems, row.kept, *row.interval, row.relaxed, row.executions,
         row.testing_balanced_accuracy, row.top_right)
        for row in rows
    ]  # fmt: skip

    def draw(axes: Any) -> None:
        spread = [[row.kept - row.interval.low for row in rows], [row.interval.high - row.kept for row in rows]]
        axes.errorbar([row.executions for row in rows], [row.kept for row in rows], yerr=spread, marker="o", capsize=3)
        for row in rows:
            where = {"xytext": (0, -16), "textcoords": "offset points", "ha": "center"}
            axes.annotate(f"M = N = {row.size}", (row.executions, row.interval.low), **where)
        axes.set(xscale="log", xlabel="executions", ylabel="share of problems kept", ylim=(0, 1))
        axes.margins(x=0.15)
        _ticks(axes, [row.executions for row in rows])
        axes.set_title(_title(pool, strategy_name(spec)))

    files = write_table(shared["out"], "ablate-size", columns, cells)
    files.append(write_plot(shared["out"] / "ablate-size.png", draw))
    print_table(_title(pool, f"problems kept by {strategy_name(spec)}"), columns, cells)
    click.echo("wrote " + ", ".join(map(str, files)))


def whole_numbers(option: str, text: str) -> list[int]:
    """The numbers of an option's list.

    Raises:
        UsageError: one of them is not a whole number of at least 1.
    """
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: write whole numbers with commas, such as 1,2,4") from error
    if found[0] < 1:
        raise UsageError(f"{option} {text!r}: {found[0]} is below 1")
    return found


def _with_runner(
    shared: dict[str, Any], work: Callable[[StrategyRunner, MatrixSource], list[Any]]
) -> tuple[MatrixSource, list[Any]]:
    from evosyn.cli._matrices import matrices_of
    from evosyn.cli._workbench import workbench_of

    with workbench_of(shared, verdicts=shared["verdicts"]) as workbench:
        pool = matrices_of(shared["source"], workbench, split=shared["split_testings"])
        return pool, work(workbench.runner, pool)


def _ticks(axes: Any, values: list[int]) -> None:
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.minorticks_off()


def _title(pool: MatrixSource, what: str) -> str:
    return f"{pool.name}{' (simulated)' if pool.simulated else ''}: {what}"
