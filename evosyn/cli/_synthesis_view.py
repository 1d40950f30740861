"""What a person sees of a synthesis: a live table on a terminal, lines elsewhere, a funnel at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from evosyn.cli import _making
from evosyn.cli._output import echo

if TYPE_CHECKING:
    from rich.table import Table

    from evosyn.records import Json
    from evosyn.synthesis.progress import SynthesisProgress


@contextmanager
def watching(progress: SynthesisProgress, show: bool, teacher: str) -> Iterator[None]:
    """Show the counts while the body runs; nothing where `show` is false."""
    if not show:
        yield
        return
    if sys.stderr.isatty():
        with _live(progress, teacher):
            yield
        return
    echo(f"teacher: {teacher}", err=True)
    with _making.watching(partial(line_of, progress), show=True):
        yield


def line_of(progress: SynthesisProgress) -> str:
    """One line of progress."""
    stages = "".join(f", {count} in {name}" for name, count in progress.in_stage.items())
    eta = "" if progress.eta_s is None else f", about {_time(progress.eta_s)} to go"
    money = "" if not progress.usage.cost else f", ${progress.usage.cost:.4f}"
    return (
        f"{progress.finished}/{progress.asked} problems ended ({progress.kept['evosyn']} kept){stages}, "
        f"{progress.replies} replies ({progress.cached} from cache, {progress.unusable} unusable){money}, "
        f"{_time(progress.seconds)}{eta}"
    )


def warn(report: Mapping[str, Json]) -> None:
    """Say how the matrices differ from those of the search, and what the strategy misses in them."""
    for part in (report["shift"], report["lacking"]):
        for line in (part or {}).get("said", ()):
            echo(f"warning: {line}", err=True)


def funnel(report: Mapping[str, Json]) -> None:
    """Print where the problems went."""
    width = max(len(name) for name in report["stages"])
    echo(f"{'asked for':{width + 2}}{report['asked']:>7}")
    for name, stage in report["stages"].items():
        if stage["dropped"]:
            echo(f"  {name:{width}}{-stage['dropped']:>7}")
    for setting, value in report["settings"].items():
        reasons = ", ".join(f"{count} {reason}" for reason, count in value["dropped"].items())
        echo(f"{setting:{width + 2}}{value['kept']:>7}   dropped: {reasons or 'none'}")
    unusable = ", ".join(f"{count} {reason}" for reason, count in report["unusable_replies"].items())
    if unusable:
        echo(f"unusable replies: {unusable}")
    if flat := report["refuse_none"]["evosyn"]:
        echo(f"{flat} rows have a testing that refuses none of the solutions (difficulty 0)")
    echo(_making.spent(report))


@contextmanager
def _live(progress: SynthesisProgress, teacher: str) -> Iterator[None]:
    from rich.live import Live

    from evosyn.cli._output import console

    class View:
        def __rich__(self) -> Table:
            return _table(progress, teacher)

    with Live(View(), console=console(stderr=True), refresh_per_second=4):
        yield


def _table(progress: SynthesisProgress, teacher: str) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    rows = {
        "teacher": teacher,
        "problems": f"{progress.finished}/{progress.asked} ended, {progress.kept['evosyn']} kept "
        f"(relaxed {progress.kept['relaxed']}), {progress.resumed} from before",
        "stages": "  ".join(f"{name} {count}" for name, count in progress.in_stage.items()),
        "dropped": "  ".join(f"{reason} {count}" for reason, count in progress.dropped.most_common(5)) or "none",
        "replies": f"{progress.replies} ({progress.cached} from cache, {progress.unusable} unusable), "
        f"{progress.usage.input_tokens} + {progress.usage.output_tokens} tokens, "
        + ("unknown price" if progress.usage.cost is None else f"${progress.usage.cost:.4f}"),
        "time": f"{_time(progress.seconds)}"
        + ("" if progress.eta_s is None else f", about {_time(progress.eta_s)} to go")
        + f", {progress.replies / max(progress.seconds, 0.001):.1f} replies/s",
    }
    for name, what in rows.items():
        table.add_row(f"[bold]{name}[/bold]", what)
    return table


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
