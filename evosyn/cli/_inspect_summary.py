"""The answer about a directory of any other command as text: figures, tables, the ends of its curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from evosyn.cli._tables import print_table
from evosyn.cli._texts import head, print_matrix
from evosyn.reading.plain import safe

if TYPE_CHECKING:
    from evosyn.reading.summaries import Summary


def print_summary(found: Summary) -> None:
    """Everything that is known of the directory."""
    head(f"{found.path}: {found.kind}, {found.progress}{' (a simulation)' if found.simulated else ''}")
    width = max((len(name) for name in found.facts), default=0)
    for name, value in found.facts.items():
        click.echo(f"  {name:{width}}  {safe(str(value))}")
    for table in found.tables:
        print_table(table.title, table.columns, [["-" if cell is None else cell for cell in row] for row in table.rows])
    if found.curves and not found.tables:
        rows = [(name, points[0].value, points[-1].value, len(points)) for name, points in found.curves.items()]
        print_table("metrics so far", ("metric", "first", "last", "steps"), rows)
    for note in found.notes:
        click.echo(f"note: {safe(note)}")


PRINTERS = {"overview": print_summary, "matrix": print_matrix}
