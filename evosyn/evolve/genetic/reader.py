"""Reading and writing genetic programs with a memory, so that a text that was just written is not parsed again."""

from __future__ import annotations

from evosyn.evolve.genetic.grammar import Program
from evosyn.evolve.genetic.source import read, write

CAPACITY = 8192


class Reader:
    """A bounded memory from texts to programs; what it answers never depends on what it remembers."""

    def __init__(self) -> None:
        self._programs: dict[str, Program | None] = {}

    def read(self, text: str) -> Program | None:
        """As `source.read`."""
        if text not in self._programs:
            self._remember(text, read(text))
        return self._programs[text]

    def write(self, program: Program) -> str:
        """As `source.write`."""
        text = write(program)
        self._remember(text, program)
        return text

    def _remember(self, text: str, program: Program | None) -> None:
        if len(self._programs) >= CAPACITY:
            for old in list(self._programs)[: CAPACITY // 2]:
                del self._programs[old]
        self._programs[text] = program
