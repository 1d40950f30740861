"""Whose fault it is that a check did not come to its end: what its program could have brought about is the program's.

A testing is broken where it fails before its program has answered anything, or at a place that it comes to whatever
the answers are. Everything else a program may have chosen, and a program cannot choose that a testing looks broken.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

TESTING = "<testing>"
"""The file of a testing's code."""
_BINDING = frozenset({"STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"})
_IMPORTS = frozenset({"IMPORT_NAME", "IMPORT_FROM"})
_UNSEEN = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "delattr", "__dict__", "__builtins__"})
"""Where these words stand, names may be bound without an instruction that says so; so they may by `import *`."""


class CheckText:
    """What a check says by itself: its two texts, the names that they run with, and the codes of those that were
    compiled: what is executed first, and the expression behind it."""

    def __init__(self, texts: Sequence[str] = (), namespace: Mapping[str, Any] | None = None) -> None:
        self.texts, self.namespace = texts, namespace or {}
        self.codes: list[CodeType] = []

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Every name that occurs, of variables, attributes and imports."""
        return frozenset(name for code in self._all() for name in code.co_names)

    @functools.cached_property
    def made(self) -> frozenset[str]:
        """The names of what is called or raised: an exception of that name is a signal of the testing's own."""
        import ast

        nodes = [node for text in self.texts for node in ast.walk(ast.parse(text))]
        used = [node.func if isinstance(node, ast.Call) else getattr(node, "exc", None) for node in nodes]
        return frozenset(getattr(one, "id", getattr(one, "attr", "")) for one in used)

    def is_own(self, error: BaseException) -> bool:
        """Whether the testing would have raised it after any answers: it imports what is not there, or names what it
        binds nowhere, at a place that no answer leads around."""
        frames, trace = [], error.__traceback__
        while trace is not None:
            frames.append((trace.tb_frame, trace.tb_lasti))
            trace = trace.tb_next
        if not self._is_on_every_path(frames):
            return False
        code, at = frames[-1][0].f_code, frames[-1][1]
        if isinstance(error, ImportError):
            return dis.opname[code.co_code[at]] in _IMPORTS
        if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or error.name is None:
            return False
        return error.name not in {*code.co_freevars, *self._bound()} and not self.names & _UNSEEN

    def _is_on_every_path(self, frames: Sequence[tuple[FrameType, int]]) -> bool:
        """Whether no answer leads around the place where these frames stand, outermost first: the text itself, or the
        function that the expression calls."""
        inner = [(frame.f_code, at) for frame, at in frames if frame.f_code.co_filename == TESTING]
        if not inner or inner[-1][0] is not frames[-1][0].f_code or inner[0][0] not in self.codes:
            return False
        return len(inner) <= 1 + self.codes[1:].count(inner[0][0]) and all(_is_straight(*one) for one in inner)

    def _bound(self) -> Iterator[str]:
        """The global names that are bound or deleted, at any time; all where nobody can tell."""
        for code in self._all():
            for one in dis.get_instructions(code):
                if one.opname in _BINDING:
                    yield one.argval
                elif one.opname == "IMPORT_STAR" or one.argrepr == "INTRINSIC_IMPORT_STAR":
                    yield from self.names

    def _all(self) -> Iterator[CodeType]:
        waiting: list[CodeType] = [*self.codes]
        while waiting:
            code = waiting.pop()
            waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
            yield code


def _is_straight(code: CodeType, at: int) -> bool:
    """Whether the instruction at this offset runs in every run of the code that raises nothing before it."""
    for one in dis.get_instructions(code):
        if one.offset >= at:
            return True
        jumps = one.opcode in dis.hasjrel or one.opcode in dis.hasjabs
        if (jumps and one.argval > at) or one.opname.startswith("RETURN") or one.opname == "PUSH_EXC_INFO":
            return False
    return False
