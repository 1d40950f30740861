"""The answers about a directory of `evosyn world` as text. What models wrote is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosyn.cli._inspect_summary import print_summary
from evosyn.cli._output import echo
from evosyn.cli._texts import head
from evosyn.reading.world_graph import told

if TYPE_CHECKING:
    from evosyn.reading.world_graph import GraphShown
    from evosyn.reading.worlds import ToldStory


def print_why(story: ToldStory) -> None:
    """A line after the other."""
    head(story.name)
    for line in story.lines:
        echo(line)


def print_graph(found: GraphShown) -> None:
    """An edge a line."""
    head(f"{len(found.nodes)} tools, {len(found.edges)} edges")
    for edge in found.edges:
        echo(told(edge))


PRINTERS = {"overview": print_summary, "why": print_why, "graph": print_graph}
