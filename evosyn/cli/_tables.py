"""One table in three forms, csv, md and png, written beside each other and shown."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evosyn.cli._output import console, echo
from evosyn.cli._progress import clock
from evosyn.records import Json
from evosyn.rundir import ESTIMATE, write_atomic

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console

Cell = str | int | float | bool
ABLATE = "ablate"


class Figure(NamedTuple):
    """A table with its picture; `title` and `columns` as people read them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    draw: Callable[[Any], None]


def begin_table(folder: Path, name: str, config: BaseModel) -> None:
    """Claim a directory of ablations, and keep what this one is made by, before it takes its time.

    Raises:
        UsageError: the directory holds something else, or cannot be made.
    """
    from evosyn.configs.saving import as_yaml
    from evosyn.rundir import RunDir

    with RunDir(folder) as run:
        run.claim_new(ABLATE)
        run.write_json("manifest.json", {"kind": ABLATE})
        run.write(f"{name}.yaml", as_yaml(config))


def publish(folder: Path, name: str, figure: Figure, remarks: Sequence[str] = ()) -> None:
    """Show the table with what it says, and write it as `name.csv`, `.md`, `.png` and into `report.json`."""
    from evosyn.plots import write_plot
    from evosyn.rundir import RunDir

    files = write_table(folder, name, figure.columns, figure.rows)
    files.append(write_plot(folder / f"{name}.png", figure.draw, size=(6, 4)))
    run = RunDir(folder)
    held = run.read_json("report.json")["tables"] if run.file("report.json").exists() else {}
    rows = [[None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row] for row in figure.rows]
    table = {"title": figure.title, "columns": list(figure.columns), "rows": rows, "remarks": list(remarks)}
    run.write_json("report.json", {"kind": ABLATE, "tables": {**held, name: table}})
    print_table(figure.title, figure.columns, figure.rows)
    for remark in remarks:
        echo(remark)
    echo("wrote " + ", ".join(map(str, files)) + f"; look closer with: evosyn inspect {folder}")


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


def show_figures(figures: Mapping[str, Json], *, as_json: bool) -> None:
    """Named values, one a line, or as JSON."""
    if as_json:
        echo(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        echo(f"{name.replace('_', ' '):28} {value}")


def show_estimate(found: Mapping[str, Json], *, as_json: bool, kept_in: Path | None, things: str = "problems") -> None:
    """What a command will take, by phase.

    Args:
        things: what the figure `problems` counts.
        kept_in: where the replies of a teacher that has them kept wait for the run itself; None where nothing was
            sampled.
    """
    if as_json:
        show_figures(found, as_json=True)
        return
    rows: list[tuple[Cell, ...]] = [_estimated(name, phase) for name, phase in found["phases"].items()]
    columns = ("phase", "calls", "at most", "input tokens", "output tokens", "dollars", "time")
    key = "drafts" if "drafts" in found else "problems"
    what = "drafts" if key == "drafts" else things
    print_table(f"{found[key]} {what}", columns, [*rows, _estimated("in all", found)])
    echo(f"executions: {found['executions']:,}")
    if found["model_wall_s"] is None:
        echo("time: not known, no reply of the sample was waited for")
    elif found["model_wall_s"]:
        echo(f"waiting for the model: about {clock(found['model_wall_s'])}")
    for name in ("proposals", "evaluations"):
        if found.get(name) is not None:
            echo(f"{name}: {found[name]:,}")
    if "proposal" in found["phases"]:
        echo("proposals count with prompts at their longest")
    if found["cost"] is None:
        echo("dollars: the price is unknown; give --set workbench.teacher.price_in=... and price_out=...")
        echo("(dollars for a million tokens), or limit --set workbench.budget.max_tokens=...")
    if found["simulated"]:
        echo("SIMULATED: the sample comes from a stand-in for a model; its tokens are not those of one")
    if kept_in is not None and kept_in.exists():
        unusable = f", {found['sampled_unusable']} of them unusable" if found["sampled_unusable"] else ""
        echo(f"sampled: {found['sampled_calls']} calls{unusable}; {kept_in} keeps them and the run uses them")


def _estimated(name: str, phase: Mapping[str, Json]) -> tuple[Cell, ...]:
    counts = (phase["calls"], phase["calls_at_most"], phase["input_tokens"], phase["output_tokens"])
    cost = "?" if phase["cost"] is None else f"{phase['cost']:.4f}"
    seconds = phase["wall_s"] if "wall_s" in phase else phase["model_wall_s"]
    return (name, *(f"{count:,}" for count in counts), cost, "?" if seconds is None else clock(seconds))


def keep_estimate(found: Mapping[str, Json], out: Path) -> None:
    """Keep an estimate with the replies that it is made of, for the run to compare itself with."""
    if out.is_dir() and found["model_wall_s"] is not None and found["sampled_calls"]:
        write_atomic(out / ESTIMATE, json.dumps(found, indent=2) + "\n")


def show_taken(report: Mapping[str, Json]) -> None:
    """What a dry run foresaw, against what it took; nothing where there was none."""
    for name, one in (report.get("estimated") or {}).items():
        seconds = "an unknown time" if one["wall_s"] is None else clock(one["wall_s"])
        told = f"{one['calls']:,} calls, {one['input_tokens']:,.0f} + {one['output_tokens']:,.0f} tokens, {seconds}"
        echo(f"{name} of asking the model: {told}")


def shown(cell: Cell) -> str:
    """A cell for people."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return "-" if math.isnan(cell) else f"{cell:.0f}" if cell >= 2 and cell.is_integer() else f"{cell:.3f}"
    return str(cell)


def print_by_pool(board: Mapping[str, Json], names: Mapping[str, str] | None = None) -> None:
    """The scores of a leaderboard's JSON on each of its pools; nothing for one pool.

    Args:
        names: of the rows that are shown, and what they are called there; by default all that have a score.
    """
    if not (pools := board["pools"]):
        return
    rows = {row["strategy"]: row["by_pool"] for row in board["strategies"] if row["by_pool"]}
    shown = {name: name for name in rows} if names is None else {name: names[name] for name in rows if name in names}
    columns = ("strategy", *(f"{pool} ({count})" for pool, count in pools.items()))
    print_table("the same by pool", columns, [(told, *map(rows[name].get, pools)) for name, told in shown.items()])


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
    found = console()
    return found if found.is_terminal else console(width=200)
