"""What the commands share that let a model make things: their options, and what a run came to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._command import Option, config_options, sandbox_options, teacher_options, with_options
from evosyn.errors import CheckFailed, TeacherUnavailable
from evosyn.lengths import remedy_of

if TYPE_CHECKING:
    from evosyn.records import Json


def making_options(example: str, dry: str, *more: Callable[[Any], Any]) -> Callable[[Option], Option]:
    """Add what every command takes that makes things; `more` before the last ones."""
    options = (
        click.option("--seed", type=int, help="Root of all random choices. [default: 0]"),
        teacher_options,
        sandbox_options,
        config_options(example),
        *more,
        click.option("--dry-run", is_flag=True, help=dry),
        click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else."),
        click.option("--quiet", is_flag=True, help="No progress."),
    )
    return lambda command: with_options(command, options)


def spent(report: Mapping[str, Json]) -> str:
    """What a run took, and of whom its replies are where no model wrote them."""
    cost = "unknown price" if report["cost"] is None else f"${report['cost']:.4f}"
    tokens = f"{report['tokens']['input']} + {report['tokens']['output']} tokens"
    simulated = f" - SIMULATED by {', '.join(report['models'])}" if report["simulated"] else ""
    return f"{report['calls']} model calls ({tokens}, {cost}), {report['executions']} executions{simulated}"


def refuse_nothing(report: Mapping[str, Json], out: Path, things: str, first: str = "", purpose: str = "") -> None:
    """
    Args:
        first: the stage whose replies all others wait for, where there is one.
        purpose: of their requests.

    Raises:
        CheckFailed: nothing was kept.
        TeacherUnavailable: because the teacher gave no reply to any request.
    """
    if report["kept"]:
        return
    dropped = ", ".join(f"{count} {reason}" for reason, count in report["dropped"].items())
    said = f"none of {report['asked']} {things} was kept: {dropped}"
    reasons = {reason.removeprefix(f"{first}: ") for reason in report["dropped"]}
    raise nothing_kept(said, reasons, purpose, f"See {out}/rejects.jsonl")


def nothing_kept(said: str, reasons: Collection[str], purpose: str, see: str) -> CheckFailed | TeacherUnavailable:
    """The error of a run that kept nothing: of the endpoint where no reply came at all, else of what came.

    Args:
        reasons: why things were dropped; `reply-FAILURE` where their first reply was of no use.
        purpose: of the request for this reply.
    """
    from evosyn.running.ledger import LOST

    if reasons and LOST.issuperset(reasons):
        return TeacherUnavailable(f"{said}. See that the model answers: evosyn doctor --model provider/name")
    remedy = remedy_of([reason.removeprefix("reply-") for reason in reasons], purpose)
    more = f" {remedy[0].upper()}{remedy[1:]}." if remedy else ""
    return CheckFailed(f"{said}.{more} {see}")
