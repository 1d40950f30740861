"""Reading and writing genetic programs with a memory, so that a text that was just written is not parsed again.

It also says when two texts are the same program: those of the grammar by their trees, all others as
`program_identity` does.
"""

from __future__ import annotations

import hashlib
import threading

from evosyn.program_identity import MAX_CHARACTERS, program_key
from evosyn.strategies.grammar.grammar import Program
from evosyn.strategies.grammar.source import read, write

CAPACITY = 8192


class Reader:
    """A bounded memory from texts to programs; what it answers never depends on what it remembers.

    The thread that proposes and the one that evaluates share it.
    """

    def __init__(self) -> None:
        self._programs: dict[str, Program | None] = {}
        self._written: set[str] = set()
        self._lock = threading.RLock()

    def read(self, text: str) -> Program | None:
        """As `source.read`."""
        with self._lock:
            if text not in self._programs:
                self._remember(text, read(text))
            return self._programs[text]

    def write(self, program: Program) -> str:
        """As `source.write`."""
        text = write(program)
        with self._lock:
            self._remember(text, program)
            self._written.add(text)
        return text

    def key(self, text: str) -> str | None:
        """As `program_key`; texts that say the same tree, however they name and lay it out, share a key."""
        program = self.read(text) if len(text) <= MAX_CHARACTERS else None
        if program is None:
            return program_key(text)
        own = text if text in self._written else write(program)
        return "t" + hashlib.sha256(own.encode()).hexdigest()[:23]

    def _remember(self, text: str, program: Program | None) -> None:
        if len(self._programs) >= CAPACITY:
            for old in list(self._programs)[: CAPACITY // 2]:
                del self._programs[old]
            self._written &= self._programs.keys()
        self._programs[text] = program
