"""Reading and writing genetic programs with a memory, so that a text that was just written is not parsed again.

It also says when two texts are the same program: those that are written in the grammar by their trees, all others as
`program_identity` does.
"""

from __future__ import annotations

import hashlib
import threading
from typing import NamedTuple

from evosyn.program_identity import MAX_CHARACTERS, program_key
from evosyn.strategies.grammar.grammar import Program
from evosyn.strategies.grammar.source import is_written, meant, write

CAPACITY = 8192


class _Read(NamedTuple):
    """What a text means, and whether it is what we write for that."""

    program: Program | None
    written: bool


class Reader:
    """A bounded memory from texts to programs; what it answers never depends on what it remembers.

    The thread that proposes and the one that evaluates share it.
    """

    def __init__(self) -> None:
        self._texts: dict[str, _Read] = {}
        self._own: set[str] = set()
        self._lock = threading.RLock()

    def read(self, text: str) -> Program | None:
        """As `source.read`: what may be run in place of the text."""
        found = self._found(text)
        return found.program if found.written else None

    def meant(self, text: str) -> Program | None:
        """As `source.meant`: what may be varied in place of the text, and not run."""
        return self._found(text).program

    def write(self, program: Program) -> str:
        """As `source.write`."""
        text = write(program)
        with self._lock:
            self._remember(text, _Read(program, written=True))
            self._own.add(text)
        return text

    def key(self, text: str) -> str | None:
        """As `program_key`; texts that are written for the same tree share one that is made faster."""
        program = self.read(text) if len(text) <= MAX_CHARACTERS else None
        if program is None:
            return program_key(text)
        own = text if text in self._own else write(program)
        return "t" + hashlib.sha256(own.encode()).hexdigest()[:23]

    def _found(self, text: str) -> _Read:
        with self._lock:
            if text not in self._texts:
                program = meant(text)
                self._remember(text, _Read(program, program is not None and is_written(text, program)))
            return self._texts[text]

    def _remember(self, text: str, found: _Read) -> None:
        if len(self._texts) >= CAPACITY:
            for old in list(self._texts)[: CAPACITY // 2]:
                del self._texts[old]
            self._own &= self._texts.keys()
        self._texts[text] = found
