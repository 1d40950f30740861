"""docs/protocol.md: every command that it names is one, with the options that it gives."""

import shlex
from pathlib import Path

import click
import pytest

from evosyn.cli import group

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"
LINES = [line for line in PAGE.read_text().splitlines() if line.startswith("evosyn ")]


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_is_read(line):
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = group
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None, line
        command = found
    given = command.make_context(line, words).params
    assert given, line


def test_every_stage_of_the_paper_is_on_the_page():
    assert [line.split()[1] for line in LINES] == [
        "pool", "evolve", "evolve", "ablate", "synthesize", "ablate", "train", "experiment", "distill"
    ]  # fmt: skip
