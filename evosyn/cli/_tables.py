"""One table in three forms, csv, md and png, written beside each other."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evosyn.rundir import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console

Cell = str | int | float | bool


def write_table(folder: Path, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Path]:
    """Write `name.csv` and `name.md` into `folder`."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(shown(cell) for cell in row) + " |" for row in rows]
    files = {folder / f"{name}.csv": buffer.getvalue(), folder / f"{name}.md": "\n".join(lines) + "\n"}
    for path, text in files.items():
        write_atomic(path, text)
    return list(files)


def write_plot(path: Path, draw: Callable[[Axes], None]) -> Path:
    """Let `draw` fill one pair of axes and write them as a png."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure.subplots())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    write_atomic(path, buffer.getvalue())
    return path


def shown(cell: Cell) -> str:
    """A cell for people."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return "-" if math.isnan(cell) else f"{cell:.0f}" if cell >= 2 and cell.is_integer() else f"{cell:.3f}"
    return str(cell)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Show the table in the terminal."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(escape(column), justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*(escape(shown(cell)) for cell in row))
    wide_console().print(table)


def wide_console() -> Console:
    """A console that is wide enough for the tables where there is no terminal."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=110)
