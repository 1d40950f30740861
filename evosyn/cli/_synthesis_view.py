"""What a person sees of a synthesis at its end: warnings, and a funnel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evosyn.cli import _making
from evosyn.cli._output import echo

if TYPE_CHECKING:
    from evosyn.records import Json


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
