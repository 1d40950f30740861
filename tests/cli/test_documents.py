"""Every command that a document shows exists, and takes the options and keys that stand there. Nothing is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from evosyn.cli import group
from evosyn.cli._command import ConfiguredCommand
from evosyn.errors import EvosynError

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "DESIGN.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
COMMAND = re.compile(r"(?<![\w./\[-])evosyn (?=[a-z])")
END = re.compile(r"  | #| &| \||[;()`]| -> |, |\n")
"""Where a command ends: what is aligned after it, a comment, the next command, prose."""


class Shown(NamedTuple):
    """A command in a document. A `partial` one (in prose or a comment, cut short with dots, or its name alone) may lack
    what it needs."""

    place: str
    words: tuple[str, ...]
    partial: bool


def test_commands_are_found_in_what_is_shown_and_cut_where_they_end() -> None:
    lines = [
        "$ A=1 evosyn env make --out DIR [--limit 2] \\",
        "  --json   what",
        "evosyn inspect a && evosyn view a # b",
    ]
    text = "\n".join(["```sh", *lines, "```", "As `evosyn env check|run ...` does."])
    found = [(shown.words, shown.partial) for shown in commands_in("x.md", text)]
    assert found == [
        (("env", "make", "--out", "DIR", "--limit", "2", "--json"), False),
        (("inspect", "a"), False), (("view", "a"), False), (("env", "check"), True), (("env", "run"), True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("evolved x", "no such command 'evolved'"),
        ("pool chekc x", "No such command 'chekc'"),
        ("evolve x --out y --presett paper", "No such option '--presett'"),
        ("evolve x --out y --set scorring.k=2", "unknown key 'scorring'"),
        ("evolve x --out y --preset papre", "no such preset"),
        ("crossexec x", "Missing option '--out'"),
    ],
)
def test_what_does_not_exist_is_found(line: str, says: str) -> None:
    assert says in str(wrong_with(Shown("x.md:1", tuple(line.split()), partial=False)))


def shown_in(document: Path) -> list[Shown]:
    return list(commands_in(str(document.relative_to(ROOT)), document.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_of_a_document_exist_with_their_options(document: Path) -> None:
    wrong = [(shown.place, wrong_with(shown), shown.words) for shown in shown_in(document)]
    assert not [one for one in wrong if one[1]]


def test_the_documents_show_every_command() -> None:
    names = {shown.words[0] for document in DOCUMENTS for shown in shown_in(document)}
    assert names >= set(group.list_commands(click.Context(group)))


def commands_in(name: str, text: str) -> Iterator[Shown]:
    """What stands in fenced blocks, and between single backquotes, which may be a part of a command."""
    blocks = [found for found in FENCE.finditer(text) if found[1] in ("", "sh", "text")]
    prose = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    for block in blocks:
        line = text.count("\n", 0, block.start(2)) + 1
        yield from _commands(name, line, block[2], partial=False)
    for number, line_text in enumerate(prose.split("\n"), 1):
        for span in INLINE.finditer(line_text):
            yield from _commands(name, number, span[1], partial=True)


def _commands(name: str, line: int, text: str, *, partial: bool) -> Iterator[Shown]:
    for found in COMMAND.finditer(text):
        command = re.sub(r" *\\\n *", " ", text[found.end() :]).replace("$MODEL", "--model MODEL")
        words = shlex.split(END.split(command, maxsplit=1)[0].replace("[--", "--").replace("] ", " ").removesuffix("]"))
        said = "#" in text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        cut = len(words) == 1 or any(word.endswith("...") for word in words)
        place = f"{name}:{line + text.count(chr(10), 0, found.start())}"
        choices = [word.split("|") for word in words if word != "..."]
        for one in product(*choices):
            yield Shown(place, one, partial or said or cut)


def wrong_with(shown: Shown) -> str | None:
    """What the parser says against a command; files that it names need not exist."""
    command: click.Command = group
    context, words = click.Context(group, info_name="evosyn"), list(shown.words)
    try:
        while isinstance(command, click.Group) and words:
            if words[0] == "NAME":
                return None
            name, found, words = command.resolve_command(context, words)
            assert found is not None
            command, context = found, click.Context(found, parent=context, info_name=name)
        if isinstance(command, click.Group):
            return None
        made = command.make_context(command.name, words, parent=context.parent)
        if isinstance(command, ConfiguredCommand):
            command.configuration({**made.params, "file": None})
    except click.exceptions.Exit:  # --help
        return None
    except click.ClickException as error:
        lacks = isinstance(error, click.MissingParameter) or "requires an argument" in error.format_message()
        return None if lacks and shown.partial else error.format_message()
    except EvosynError as error:
        return str(error)
    return None
