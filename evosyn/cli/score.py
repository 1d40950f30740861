"""`evosyn score`: any strategies on any pool, in one table with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand, NewFile, config_options, flag, sandbox_options
from evosyn.cli._matrices import NEEDED, SOURCE, TIES, UNIT, VERDICTS
from evosyn.cli._output import echo
from evosyn.errors import CorruptRun, UsageError

if TYPE_CHECKING:
    from evosyn.cli._configs import ScoreConfig
    from evosyn.cli._matrices import MatrixSource
    from evosyn.evaluators.draws import ConsistencyConfig
    from evosyn.evaluators.leaderboard import BoardRow, Leaderboard
    from evosyn.ports import StrategyRunner
    from evosyn.records import PassMatrix


@click.command(
    cls=ConfiguredCommand,
    kind="evosyn.cli._configs:ScoreConfig",
    needs=NEEDED,
    short_help="Score strategies on a pool or on recorded matrices.",
)
@click.option("--strategy", "strategies", multiple=True, help="Known name, file or run. [default: all known]")
@SOURCE
@flag("-M", "scoring.M", "Solutions of a draw. [default: all]", type=click.IntRange(2))
@flag("-N", "scoring.N", "Testings of a draw. [default: all]", type=click.IntRange(2))
@flag("--draws", "scoring.draws", "M x N draws a problem. [default: 20]", type=click.IntRange(1))
@flag("--ties", "scoring.ties", TIES, type=click.Choice(["expected", "stable", "random"]))
@flag("--k", "scoring.k", "Criterion 2 on the k best and worst. [default: 1]", type=click.IntRange(1))
@flag("--solvable", "scoring.solvable", "Leave out problems without a single right solution.", is_flag=True)
@flag("--strict", "scoring.strict", "Leave out problems with fewer than M or N.", is_flag=True)
@flag("--unit", "scoring.unit", UNIT, type=click.Choice(["case", "testing"]))
@click.option(
    "--problems",
    type=click.Choice(["all", "heldout", "train"]),
    help="Where --pool is a run of `evosyn evolve`: which of its problems. [default: heldout for a run]",
)
@flag("--seed", "scoring.seed", "Of draws, random ties and intervals. [default: 0]", type=int)
@click.option("--card", type=NewFile(), help="Write the card of the first --strategy to this file.")
@VERDICTS
@flag("--timeout", "execute.cpu_s", "CPU seconds for a call, where a pool is executed. [default: 3]", type=float)
@flag("--budget", "execute.budget_s", "Seconds for a whole solution. [default: 10 x timeout]", type=float)
@sandbox_options
@config_options("scoring.draws=50")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def command(config: ScoreConfig, card: Path | None, as_json: bool) -> int:
    """Score strategies by how well their choices agree with the human testings of a pool.

    Beside the score stands the balanced accuracy of the testing that a strategy chooses: a high score with a bad
    testing is luck or a trick. Of a run of `evosyn evolve` only the problems that it held out are scored, with its M, N
    and draws unless others are given. Ends with 1 if one of the strategies is invalid without having read what is
    unknown here.
    """
    from evosyn.cli._matrices import opened, scoring_of_run
    from evosyn.evaluators.heldout import repeated_told, with_tasks
    from evosyn.evaluators.leaderboard import make_leaderboard
    from evosyn.rundir import write_atomic

    programs, scoring = named_programs(config.strategies), scoring_of_run(Path(str(config.source)), config.scoring)
    with opened(config) as (found, workbench):
        pool, which = _chosen(found, Path(str(config.source)), config.problems)
        most = scoring.M or max((len(matrix.verdicts_MN) for matrix in pool.matrices), default=scoring.k)
        if scoring.k > most:
            raise UsageError(f"--k {scoring.k}: criterion 2 looks at the k best and worst of {most} solutions; lower k")
        known_before = chosen_on(config.strategies, pool)
        runner = workbench.runner
        matrices, repeated = with_tasks(pool.matrices)
        board = make_leaderboard(runner, matrices, programs, scoring)
        if card is not None:
            name, text = next(iter(programs.items()))
            write_atomic(card, _card(runner, matrices, name, text, scoring))
    if as_json:
        more = {
            "pool": pool.name,
            "simulated": pool.simulated,
            "of_run": which,
            "chosen_on": known_before,
            "repeated": repeated,
        }
        echo(json.dumps({**more, **board.to_json()}, indent=2))
    else:
        show(board, f"{pool.name} ({which} problems)" if which else pool.name, simulated=pool.simulated)
        if repeated:
            echo(repeated_told(repeated))
        for told in chosen_on_told(config.strategies, known_before):
            echo(told)
    return 1 if any(row.evaluation.invalid and not row.evaluation.unknown for row in board.rows) else 0


def _chosen(pool: MatrixSource, path: Path, which: str | None) -> tuple[MatrixSource, str | None]:
    """The problems to score, and which part of a run they are (None where the pool is no run).

    Raises:
        UsageError: a part of something that is no run.
    """
    from evosyn.cli._matrices import split_of_run

    split = split_of_run(path) if path.is_dir() else None
    if split is None:
        if which not in (None, "all"):
            raise UsageError(
                f"--problems {which}: {path} is no run of `evosyn evolve`, so that nothing is held out; give the run "
                "itself as --pool RUN, or leave --problems out"
            )
        return pool, None
    which = which or "heldout"
    if which == "all":
        return pool, which
    names = {matrix.problem_id for matrix in (split.heldout if which == "heldout" else split.train)}
    return pool._replace(matrices=[matrix for matrix in pool.matrices if matrix.problem_id in names]), which


def chosen_on(specs: Sequence[str], pool: MatrixSource) -> dict[str, int]:
    """For each strategy that is a run, or a file in one: how many of the problems it was chosen on, where there are
    any."""
    from evosyn.cli._matrices import split_of_run
    from evosyn.evaluators.heldout import task_of
    from evosyn.strategies import strategy_name
    from evosyn.synthesis.search.sources import shared_tasks

    found = {}
    for spec in specs:
        try:
            split = None if (folder := _folder_of(spec)) is None else split_of_run(folder)
        except CorruptRun:
            if Path(spec).is_dir():
                raise
            split = None  # what lies beside a file need not be of ours
        seeds = set() if split is None else {task_of(matrix) for matrix in split.train}
        count = sum(shared_tasks([task_of(matrix) for matrix in pool.matrices], seeds))
        if count:
            found[strategy_name(spec)] = count
    return found


def chosen_on_told(specs: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """The same for a person."""
    from evosyn.strategies import strategy_name

    runs = {strategy_name(spec): _folder_of(spec) for spec in specs}
    return [
        f"warning: {name} was chosen on {count} of these problems: its score here is too high; `evosyn score --pool "
        f"{runs[name]} --problems heldout` (what it held out), or other problems, give an honest one"
        for name, count in counts.items()
    ]


def _folder_of(spec: str) -> Path | None:
    """Where a strategy stands that is no known one: the run itself, or what holds the file."""
    from evosyn.strategies import is_known

    path = Path(spec).resolve()
    return None if is_known(spec) or not path.exists() else path if path.is_dir() else path.parent


def _card(
    runner: StrategyRunner, matrices: Sequence[PassMatrix], name: str, text: str, config: ConsistencyConfig
) -> str:
    from evosyn.evaluators.card import CardRequest, make_card, render
    from evosyn.strategies import known_names, load_known

    known = {other: load_known(other) for other in known_names() if other != name}
    request = CardRequest(name=name, text=text, initial=load_known("initial"), seeds=matrices, known=known)
    return render(make_card(runner, request, config))


def named_programs(specs: Sequence[str]) -> dict[str, str]:
    """Program texts by the names that tables show; all known ones where none is named."""
    from evosyn.strategies import known_names, load_strategy, strategy_name

    programs: dict[str, str] = {}
    for spec in specs or tuple(known_names()):
        name = strategy_name(spec)
        programs[str(Path(spec)) if name in programs else name] = load_strategy(spec)
    return programs


def show(board: Leaderboard, name: str, *, simulated: bool) -> None:
    """Print the table."""
    from evosyn.cli._tables import print_by_pool, print_table
    from evosyn.evaluators.draws import smaller_told

    config = board.config
    sizes = f"M={config.M or 'all'}, N={config.N or 'all'}, {config.draws} draws, ties {config.ties}, k={config.k}"
    label = " (simulated: not a model's work)" if simulated else ""
    columns = ("strategy", "score", "95 % interval", "criterion 1", "testing: bal. acc.", "precision")
    rows = [*map(_cells, board.rows), ("oracle", f"{board.oracle:.3f}", "", "", "", "")]
    if board.reachable is not None:
        rows.append(("reachable by passes alone", f"{board.reachable:.3f}", "", "", "", ""))
    print_table(f"{name}{label}: {len(board.problems)} problems, {sizes}", columns, rows)
    print_by_pool(board.to_json())
    preferred = board.winner()
    if preferred is not None and len(board.valid) > 1:
        tied = len(board.tied())
        reason = f"the best testing of the {tied} whose score chance could not tell from the best"
        if tied == 1:
            reason = "the best score, by more than chance could explain"
        echo(f"preferred: {preferred.name} ({reason})")
    for row in board.rows:
        if row.evaluation.invalid:
            echo(f"{row.name} is invalid: {row.evaluation.invalid}")
        elif row.lacking.unknown:
            echo(f"{row.name} {row.lacking}")
    for reason, count in board.skipped.items():
        echo(f"skipped {count} problems: {reason}")
    if board.smaller:
        echo(smaller_told(board.smaller, board.config))


def _cells(row: BoardRow) -> tuple[str, ...]:
    from evosyn.evaluators.intervals import between

    if row.evaluation.score is None:
        return (row.name, "invalid", "", "", "", "")
    figures = row.evaluation.metrics
    shown = (figures[name] for name in ("criterion1", "testing_balanced_accuracy", "testing_precision"))
    return (row.name, f"{row.evaluation.score:.3f}", between(row.interval), *(f"{value:.3f}" for value in shown))
