"""The way out of every command: each text is escaped where it leaves for a terminal, whatever it is from."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click

from evosyn.escaping import safe

if TYPE_CHECKING:
    from rich.console import Console


def echo(text: object = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Write a line in a style, as of `click.style`."""
    told = safe(str(text))
    click.echo(click.style(told, **style) if style else told, err=err, nl=nl)


def rewrite_line(text: str = "", *, nl: bool = False) -> None:
    """Write in place of the last line of a terminal."""
    click.echo(f"\r\x1b[K{safe(text)}", err=True, nl=nl)


def console(**given: Any) -> Console:
    """A console of rich, without any style where the user wants none."""
    from rich import console
    from rich.text import Text

    from evosyn.cli import no_colour

    class Escaping(console.Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(safe(text), **options)

    return Escaping(color_system=None if no_colour() else "auto", **given)


class EscapedLines(logging.Formatter):
    """What is logged."""

    def format(self, record: logging.LogRecord) -> str:
        return safe(super().format(record))
