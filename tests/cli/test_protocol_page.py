"""docs/protocol.md and docs/papers.md: every command that they name is one, with the options and keys given."""

import re
import shlex
from pathlib import Path

import click
import pytest

from evosyn.cli import COMMANDS, group
from evosyn.configs.loading import dotted_keys
from evosyn.synthesis.config import SynthesizeConfig
from experiments.table2.__main__ import command as table2

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "protocol.md").read_text().splitlines()
LINES = [line for line in PAGE if line.startswith("evosyn ")]
SPANS = sorted(set(re.findall(r"`([^`]+)`", (DOCS / "papers.md").read_text())))


def found(words: list[str]) -> tuple[click.Command, list[str]]:
    command: click.Command = group
    while isinstance(command, click.Group):
        inner = command.get_command(click.Context(command), words.pop(0))
        assert inner is not None
        command = inner
    return command, words


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_is_read(line):
    command, words = found(shlex.split(line, comments=True)[1:])
    assert command.make_context(line, words).params, line


def test_the_program_that_compares_the_arms_is_read():
    (line,) = [line for line in PAGE if line.startswith("python -m experiments.table2 ")]
    assert table2.make_context(line, shlex.split(line, comments=True)[3:]).params


@pytest.mark.parametrize("span", [span for span in SPANS if span.startswith("evosyn ")])
def test_a_command_of_the_papers_is_read(span):
    command, words = found([word for word in span.split()[1:] if word != "..."])
    if words and words[-1] == "--model":
        words.append("m")
    context = command.make_context(span, words, resilient_parsing=True)
    assert not context.args, f"`{span}`: nobody reads {context.args}"


@pytest.mark.parametrize("span", [span for span in SPANS if span.startswith("--")])
def test_an_option_of_the_papers_exists(span):
    name = span.split()[0]
    options = set().union(*map(found_options, COMMANDS))
    assert name in options


def found_options(stage: str) -> set[str]:
    command = group.get_command(click.Context(group), stage)
    assert command is not None
    return {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize(
    "key", [key for span in SPANS for key in re.findall(r"(?<![\w.])([a-z_]+(?:\.[a-z_]+)+)=", span)]
)
def test_a_key_of_the_papers_exists(key):
    assert key in set(dotted_keys(SynthesizeConfig))


def test_every_stage_of_the_paper_is_on_the_page():
    assert [line.split()[1] for line in LINES] == [
        "pool", "evolve", "evolve", "ablate", "synthesize", "ablate", "train", "distill"
    ]  # fmt: skip
