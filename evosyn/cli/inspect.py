"""`evosyn inspect`: what any directory that evosyn wrote holds, and why. `evosyn.reading` answers, this prints."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._command import NewFile
from evosyn.cli._output import echo
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.reading.base import Reading
    from evosyn.reading.matrices import MatrixShown
    from evosyn.reading.search_answers import CommitDecision

QUESTIONS = {"islands": "islands", "program": "candidate", "lineage": "lineage", "diff": "difference",
             "prompt": "prompt", "matrix": "matrix", "why": "why", "sample": "sample",
             "graph": "graph"}  # fmt: skip
"""For each option that asks for something the question of the reading behind it."""
PRINTERS = {
    "evolve": "evosyn.cli._inspect_search",
    "synthesize": "evosyn.cli._inspect_data",
    "synthesize-shards": "evosyn.cli._inspect_shards",
    "environments": "evosyn.cli._inspect_environments",
    "environment-search": "evosyn.cli._inspect_environment_search",
    "coevolve": "evosyn.cli._inspect_coevolution",
    "coevolve-environments": "evosyn.cli._inspect_coevolution",
    "world": "evosyn.cli._inspect_world",
    "worlds": "evosyn.cli._inspect_world",
    "world-rollout": "evosyn.cli._inspect_world",
}
"""For the kinds of directories with forms of their own where they are printed."""


@click.command(short_help="Show any run directory: leaderboard, lineage, matrices, why.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--islands", is_flag=True, help="Run: the grid of every island.")
@click.option("--program", metavar="ID", help="Run: source, figures, evidence, difference to the parent.")
@click.option("--lineage", metavar="ID", help="Run: the ancestors of a candidate.")
@click.option("--diff", nargs=2, metavar="A B", help="Run: the difference between two candidates.")
@click.option("--prompt", metavar="ID", help="Run: the exact prompt and reply behind a candidate.")
@click.option("--matrix", metavar="PROBLEM", help="A problem's matrix, ranked by --strategy.")
@click.option("--strategy", help="With --matrix: candidate, known strategy or file. [default: the run's own]")
@click.option(
    "--why", metavar="ID", help="Run: a candidate against its parent and the first. Data: why a sample was kept or not."
)
@click.option("--sample", type=click.IntRange(1), help="Data: show so many samples.")
@click.option("--graph", type=NewFile(), metavar="FILE.svg",
              help="World: list what leads from tool to tool, and draw it into a file.")  # fmt: skip
@click.option("--setting", help="With --sample: which of the three settings. [default: evosyn]")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def command(directory: Path, as_json: bool, strategy: str | None, setting: str | None, **asked: Any) -> None:
    """Show what DIRECTORY holds: a search, a dataset, a training or any other run, finished or not.

    Candidates are named by their id, by the beginning of it, or as `best` and `initial`.
    """
    from evosyn.reading.opening import open_directory

    reading = open_directory(directory)
    wanted = {option: value for option, value in asked.items() if value}
    _check(reading, wanted, strategy, setting)
    option = next(iter(wanted), "overview")
    with reading.sound():
        _show(reading, option, wanted, strategy, setting, as_json=as_json)


def _show(
    reading: Reading,
    option: str,
    wanted: Mapping[str, Any],
    strategy: str | None,
    setting: str | None,
    *,
    as_json: bool,
) -> None:
    from evosyn.reading.plain import plain

    if option == "matrix" and (strategy is not None or reading.kind == "evolve"):
        answer: object = _ranked(reading, wanted[option], strategy or "best")
    elif option == "graph":
        answer = reading.answer("graph")
        _draw(answer, wanted["graph"])
    elif option == "why" and reading.kind == "evolve":
        answer = _decided(reading, wanted[option])
    else:
        answer = reading.answer(QUESTIONS.get(option, option), *_given(wanted.get(option, True), setting or "evosyn"))
    if as_json:
        echo(json.dumps(plain(answer), indent=2))
    else:
        importlib.import_module(PRINTERS.get(reading.kind, "evosyn.cli._inspect_summary")).PRINTERS[option](answer)


def _given(value: bool | int | str | tuple[str, str], setting: str) -> tuple[str, ...]:
    """What stands with an option: nothing for a flag, one name or two, or a number of rows of a setting."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, str):
        return (value,)
    return () if value is True else (setting, str(value))


def _check(reading: Reading, wanted: Mapping[str, Any], strategy: str | None, setting: str | None) -> None:
    """
    Raises:
        UsageError: several things are asked for at once, or one that a directory of this kind does not hold.
    """
    if len(wanted) > 1:
        raise UsageError(f"{' and '.join(f'--{option}' for option in wanted)}: give one of them")
    if strategy is not None and "matrix" not in wanted:
        raise UsageError(f"--strategy {strategy}: ranks a matrix; name a problem with --matrix")
    if setting is not None and "sample" not in wanted:
        raise UsageError(f"--setting {setting}: says which rows are shown; say how many with --sample")
    for option in wanted:
        if QUESTIONS[option] not in reading.asks:
            known = ", ".join(f"--{one}" for one, question in QUESTIONS.items() if question in reading.asks)
            raise UsageError(
                f"--{option}: {reading.path} is a directory of {reading.made_by} and holds none; "
                f"it takes {known or 'no such option'}"
            )


def _ranked(reading: Reading, problem: str, strategy: str) -> MatrixShown:
    """A matrix with the ranking that a strategy gives it.

    Raises:
        UsageError: no such problem or strategy, or the strategy is invalid on it.
    """
    from evosyn.reading.matrices import shown_matrix
    from evosyn.records import Invalid
    from evosyn.strategies.evidence import evidence_of
    from evosyn.workbench import Workbench, WorkbenchConfig

    matrix, (name, text) = reading.pass_matrix(problem), reading.program(strategy)
    with Workbench(WorkbenchConfig()) as workbench:
        (found,) = workbench.runner.rank([text], [evidence_of(matrix)])
    if isinstance(found, Invalid):
        raise UsageError(f"the strategy is invalid on this problem: {found.reason}")
    return shown_matrix(matrix, found[0], by=name)


def _draw(graph: Any, file: Path) -> None:
    """Write a graph as a picture.

    Raises:
        UsageError: the file cannot be written.
    """
    from evosyn.reading.world_graph import svg
    from evosyn.rundir import write_atomic

    try:
        write_atomic(file, svg(graph))
    except OSError as error:
        raise UsageError(f"--graph {file}: cannot be written: {error.strerror}") from error


def _decided(reading: Reading, name: str) -> CommitDecision:
    """The decisions about a candidate, with what it and those before it choose on the seeds won and lost."""
    from evosyn.reading.search import SearchReading
    from evosyn.workbench import Workbench, WorkbenchConfig

    if not isinstance(reading, SearchReading):
        raise TypeError(f"{reading.kind} is no search")
    decision = reading.why(name)
    if not decision.rivals:
        return decision
    with Workbench(WorkbenchConfig()) as workbench:
        return reading.decided(decision, workbench.runner)
