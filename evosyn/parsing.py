"""`ast.parse` for a process in which several threads read programs; nothing of ours calls it directly."""

from __future__ import annotations

import ast
import threading

BOM = "\ufeff"
"""Python itself skips this at the start of a file."""
_ONE_AT_A_TIME = threading.RLock()


def parsed(text: str) -> ast.Module:
    """The syntax tree of a text, parsed by one thread at a time.

    CPython 3.11 keeps the depth of the tree that it builds in one place for all threads: two trees at once can end in a
    SystemError for a good program (seen; github.com/python/cpython/issues/106905).

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no program, or too deep.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(text.removeprefix(BOM))
