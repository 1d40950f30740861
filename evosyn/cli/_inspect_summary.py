"""The answer about a directory of any other command as text: figures, tables, the ends of its curves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evosyn.cli._output import echo
from evosyn.cli._tables import print_table
from evosyn.cli._texts import head, print_conclusion, print_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evosyn.reading.data import SampleStory
    from evosyn.reading.summaries import Summary, TableShown


MOST = 20
"""Rows of a table that are printed."""


def print_summary(found: Summary) -> None:
    """Everything that is known of the directory."""
    simulated = " (SIMULATED)" if found.simulated else ""
    head(f"{found.path}: {found.kind}, {'finished' if found.finished else 'not finished'}{simulated}")
    print_conclusion(found.conclusion)
    _facts(found)
    print_tables(found.tables)
    _metrics(found)
    _notes(found)


def print_closing(out: Path, *files: str) -> None:
    """What a command says at its end: the same without single figures, and where everything is."""
    from evosyn.reading.opening import open_directory
    from evosyn.reading.summaries import SummaryReading

    reading = open_directory(out)
    if not isinstance(reading, SummaryReading):
        raise TypeError(f"{reading.kind} has a closing of its own")
    found = reading.overview()
    print_conclusion(found.conclusion)
    print_tables(found.tables)
    _metrics(found)
    _notes(found)
    echo(f"written: {', '.join(str(out / name) for name in files)}; look closer with: evosyn inspect {out}")


def _facts(found: Summary) -> None:
    width = max((len(name) for name in found.facts), default=0)
    for name, value in found.facts.items():
        echo(f"  {name:{width}}  {value}")


def print_tables(tables: Sequence[TableShown]) -> None:
    """Each that holds something, with its first rows."""
    for table in (one for one in tables if one.rows):
        shown = [["-" if cell is None else cell for cell in row] for row in table.rows[:MOST]]
        print_table(table.title, table.columns, shown)
        if len(table.rows) > MOST:
            echo(f"... and {len(table.rows) - MOST} more (--json has them)")


def _metrics(found: Summary) -> None:
    if found.curves and not found.tables:
        rows = [(name, points[0].value, points[-1].value, len(points)) for name, points in found.curves.items()]
        print_table("metrics so far", ("metric", "first", "last", "steps"), rows)


def _notes(found: Summary) -> None:
    for note in found.notes:
        if note not in found.conclusion.why:
            echo(f"note: {note}")


def print_rows(stories: Sequence[SampleStory]) -> None:
    """Single rows, as those of a synthesis are printed."""
    from evosyn.cli._inspect_data import print_samples

    print_samples(stories)


PRINTERS = {"overview": print_summary, "matrix": print_matrix, "sample": print_rows}
