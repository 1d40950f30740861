"""`ast.parse` for a process in which several threads read programs; nothing of ours calls it directly."""

from __future__ import annotations

import ast
import threading
from typing import Any

BOM = "\ufeff"
"""Python itself skips this at the start of a file."""
_ONE_AT_A_TIME = threading.RLock()
_ATTEMPTS = 100
"""A library's thread may parse as well, without asking us; that both do so at once again and again is out of reach."""


def parsed(text: str) -> ast.Module:
    """The syntax tree of a text, parsed by one thread at a time.

    CPython 3.11 keeps the depth of the tree that it builds in one place for all threads: two trees at once can end in a
    SystemError for a good program (seen; github.com/python/cpython/issues/106905).

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no program, or too deep.
    """
    text = text.removeprefix(BOM)
    with _ONE_AT_A_TIME:
        for _ in range(_ATTEMPTS):
            try:
                return ast.parse(text)
            except SystemError:
                continue
        return ast.parse(text)


LONGEST_COMPARED = 20_000
"""Longer texts are compared as they are."""


def same_program(text: str) -> str:
    """A text that is equal for programs with the same syntax tree; the text itself where it does not parse."""
    if len(text) > LONGEST_COMPARED:
        return text
    try:
        return ast.dump(parsed(text), annotate_fields=False)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def literal(text: str) -> Any:
    """The value of a text that is one literal of Python.

    Raises:
        SyntaxError, ValueError, TypeError, RecursionError, MemoryError: it is none.
    """
    match parsed(text.strip()).body:
        case [ast.Expr(value)]:
            return ast.literal_eval(value)
    raise ValueError("not a literal")
