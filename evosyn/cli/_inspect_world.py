"""The answers about a directory of `evosyn world` as text. What models wrote is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from evosyn.cli._inspect_summary import print_summary
from evosyn.cli._texts import head
from evosyn.reading.plain import safe

if TYPE_CHECKING:
    from evosyn.reading.worlds import ToldStory


def print_why(story: ToldStory) -> None:
    """A line after the other."""
    head(story.name)
    for line in story.lines:
        click.echo(safe(line))


PRINTERS = {"overview": print_summary, "why": print_why}
