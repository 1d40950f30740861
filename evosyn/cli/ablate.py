"""`evosyn ablate`: the ablations of the paper. Each writes a table (csv, md) and a plot (png) and shows the table.

`k` and `size` score stored matrices; the ones that repeat whole searches live in `_ablate_search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._ablate_search import OUT, curve, search
from evosyn.cli._command import ConfiguredCommand, config_options, flag, preset_option, sandbox_options
from evosyn.cli._matrices import NEEDED, SOURCE, TIES, UNIT, VERDICTS, opened
from evosyn.cli._output import echo

if TYPE_CHECKING:
    from evosyn.cli._configs import KAblationConfig, SizeAblationConfig
    from evosyn.evaluators.intervals import Interval


@click.group(short_help="The ablations of the paper: k, size, curve, search.")
def command() -> None:
    """The ablations of the paper, on your own pool."""


command.add_command(search)
command.add_command(curve)


@command.command(
    "k",
    cls=ConfiguredCommand,
    kind="evosyn.cli._configs:KAblationConfig",
    presets="ablate-k",
    needs=NEEDED,
    short_help="Score for k = 1, 2, 4, 8, with and without criterion 1.",
)
@SOURCE
@OUT
@click.option("--strategy", "strategies", multiple=True, help="Repeatable. [default: initial]")
@click.option("--ks", help="Values of k, with commas. [default: 1,2,4,8]")
@flag("-M", "scoring.M", "[default: 16]", type=click.IntRange(2))
@flag("-N", "scoring.N", "[default: 16]", type=click.IntRange(2))
@flag("--ties", "scoring.ties", TIES, type=click.Choice(["expected", "stable", "random"]))
@flag("--strict", "scoring.strict", "Leave out problems with fewer than M or N.", is_flag=True)
@flag("--draws", "scoring.draws", "Subsamples of each problem. [default: 20]", type=click.IntRange(1))
@flag("--seed", "scoring.seed", "[default: 0]", type=int)
@flag("--unit", "scoring.unit", UNIT, type=click.Choice(["case", "testing"]))
@VERDICTS
@sandbox_options
@config_options("scoring.solvable=true")
@preset_option
def by_k(config: KAblationConfig, out: Path) -> None:
    """Table 1: is it enough to look at the best and the worst solution?

    Executions are what a setting would execute for one seed if nothing were stored; here nothing is executed again.
    """
    from evosyn.cli._tables import Figure, begin_table, publish
    from evosyn.cli.score import chosen_on, chosen_on_told, named_programs
    from evosyn.evaluators.ablation import ablate_k
    from evosyn.evaluators.heldout import repeated_told, with_tasks
    from evosyn.evaluators.intervals import NO_ENDS

    programs, wanted = named_programs(config.strategies), sorted(set(config.ks))
    begin_table(out, "ablate-k", config)
    with opened(config) as (pool, workbench):
        matrices, repeated = with_tasks(pool.matrices)
        before = chosen_on(config.strategies, pool)
        rows = ablate_k(workbench.runner, matrices, programs, config.scoring, wanted)
    columns = ("strategy", "k", "criterion 1", "score", "low", "high", "executions", "oracle")
    cells = [
        (row.strategy, row.k, row.criterion1, row.score, *(row.interval or NO_ENDS), row.executions, row.oracle)
        for row in rows
    ]

    def draw(axes: Any) -> None:
        for name in programs:
            for criterion1 in (False, True):
                line = [row for row in rows if row.strategy == name and row.criterion1 == criterion1]
                label = f"{name}, {'with' if criterion1 else 'without'} criterion 1"
                scores = [row.score for row in line]
                spread = _spread(scores, [row.interval for row in line])
                axes.errorbar([row.k for row in line], scores, yerr=spread, marker="o", capsize=3, label=label)
        axes.set(xlabel="k", ylabel="seed consistency", title=pool.titled("by k"), xscale="log", ylim=(0, None))
        _ticks(axes, wanted)
        axes.legend(fontsize=8)

    scores = {name: {row.k: row.score for row in rows if row.strategy == name and row.criterion1} for name in programs}
    told = [f"{name}: {', '.join(f'{found[k]:.3f} at k = {k}' for k in wanted)}" for name, found in scores.items()]
    if (m := config.scoring.M) and (same := [k for k in wanted if 2 * k >= m])[1:]:
        told.append(
            f"k = {', '.join(map(str, same))} look at the same: {-(-m // 2)} best and as many worst are all {m}"
        )
    told += [*([repeated_told(repeated)] if repeated else []), *chosen_on_told(config.strategies, before)]
    publish(out, "ablate-k", Figure(pool.titled("seed consistency by k"), columns, cells, draw), told)


@command.command(
    "size",
    cls=ConfiguredCommand,
    kind="evosyn.cli._configs:SizeAblationConfig",
    presets="ablate-size",
    needs=NEEDED,
    short_help="Problems kept at M = N = 4, 8, 16.",
)
@SOURCE
@OUT
@click.option("--strategy", help="Known name, file or run. [default: gap]")
@click.option("--sizes", help="Values of M = N, with commas. [default: 4,8,16]")
@click.option("--draws", type=click.IntRange(1), help="Subsamples of each problem. [default: 20]")
@click.option("--seed", type=int, help="[default: 0]")
@click.option("--unit", type=click.Choice(["case", "testing"]), help=UNIT)
@VERDICTS
@sandbox_options
@config_options("draws=50")
@preset_option
def by_size(config: SizeAblationConfig, out: Path) -> None:
    """Figure 4b: more solutions and testings keep more problems, at M x N executions each.

    `relaxed` is the share kept without zero-variance pruning; beside it stand the balanced accuracy of the testings
    (`bal. acc.`) and the share of right top solutions (`top right`) among what is kept, where the pool has human
    verdicts.
    """
    from evosyn.cli._tables import Figure, begin_table, publish
    from evosyn.cli.score import chosen_on, chosen_on_told
    from evosyn.evaluators.heldout import repeated_told, with_tasks
    from evosyn.evaluators.intervals import NO_ENDS
    from evosyn.strategies import load_strategy, strategy_name
    from evosyn.synthesis.retention import ablate_size, log_linear

    program, name = load_strategy(config.strategy), strategy_name(config.strategy)
    begin_table(out, "ablate-size", config)
    with opened(config) as (pool, workbench):
        sizes = sorted(set(config.sizes))
        matrices, repeated = with_tasks(pool.matrices)
        before = chosen_on([config.strategy], pool)
        rows = ablate_size(workbench.runner, matrices, program, sizes, config.draws, config.seed, config.unit)
    if left_out := sorted({*sizes} - {row.size for row in rows}):
        named = ", ".join(map(str, left_out))
        echo(f"left out M = N = {named}: no problem has so many solutions and testings", err=True)
    line = log_linear(rows)
    columns = ("M = N", "problems", "kept", "low", "high", "relaxed", "executions", "bal. acc.", "top right")
    cells = [
        (row.size, row.problems, row.kept, *(row.interval or NO_ENDS), row.relaxed, row.executions,
         row.testing_balanced_accuracy, row.top_right)
        for row in rows
    ]  # fmt: skip

    def draw(axes: Any) -> None:
        spread = _spread([row.kept for row in rows], [row.interval for row in rows])
        axes.errorbar([row.executions for row in rows], [row.kept for row in rows], yerr=spread, marker="o", capsize=3)
        for row in rows:
            where = {"xytext": (0, -16), "textcoords": "offset points", "ha": "center"}
            low = row.kept if row.interval is None else row.interval.low
            axes.annotate(f"M = N = {row.size}", (row.executions, low), **where)
        if line is not None:
            ends = [rows[0].executions, rows[-1].executions]
            axes.plot(ends, [line.at(end) for end in ends], linestyle="--", color="gray")
        axes.set(xscale="log", xlabel="executions", ylabel="share of problems kept", ylim=(0, 1))
        axes.margins(x=0.15)
        _ticks(axes, [row.executions for row in rows])
        axes.set_title(pool.titled(name))

    told = [f"problems kept: {', '.join(f'{row.kept:.0%} at M = N = {row.size}' for row in rows)}"]
    if line is not None:
        gained = f"{line.per_doubling:+.3f} of the problems for each doubling of the executions"
        told.append(f"log-linear: {gained} (R^2 {line.r_squared:.2f}, {len(rows)} sizes)")
    told += [*([repeated_told(repeated)] if repeated else []), *chosen_on_told([config.strategy], before)]
    publish(out, "ablate-size", Figure(pool.titled(f"problems kept by {name}"), columns, cells, draw), told)


def _spread(means: Sequence[float], intervals: Sequence[Interval | None]) -> list[list[float]]:
    """Lengths of error bars; none where there is no interval."""
    pairs = [(mean, interval or (mean, mean)) for mean, interval in zip(means, intervals, strict=True)]
    return [[max(0.0, mean - low) for mean, (low, _) in pairs], [max(0.0, high - mean) for mean, (_, high) in pairs]]


def _ticks(axes: Any, values: list[int]) -> None:
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.minorticks_off()
