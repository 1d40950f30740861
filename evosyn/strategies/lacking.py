"""What a strategy reads of the evidence and some problems do not hold, in the words of every command that says so.

Three things can come of it: the program is invalid there; it is of the genetic grammar, where what nobody recorded is
neutral (`grammar.helpers`: `given`, `echoes` and others); or lines of its own see to it. docs/write-a-strategy.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from evosyn.strategies.evidence import reads
from evosyn.strategies.grammar.source import read


def lacking(text: str, unknown: Mapping[str, int]) -> dict[str, int]:
    """Of what so many problems do not hold, by the names that programs use, what a program reads."""
    if not any(f".{name}" in text for name in unknown):
        return {}
    return {name: unknown[name] for name in reads(text) if name in unknown}


class Lacking(NamedTuple):
    """What one program lacks.

    Attributes:
        unknown: what it reads, with the number of problems that do not hold it; `problems`: how many there are.
        neutral: whether what is unknown says nothing in it, and leaves the rest of it as it was.
        invalid: problems on which it has no ranking for that.
    """

    unknown: Mapping[str, int]
    problems: int
    neutral: bool = False
    invalid: int = 0

    @classmethod
    def of(cls, text: str, unknown: Mapping[str, int], problems: int, invalid: int = 0) -> Lacking:
        """Of a program, where so many problems do not hold this."""
        found = lacking(text, unknown)
        return cls(found, problems, bool(found) and read(text) is not None, invalid)

    def __str__(self) -> str:
        listed = ", ".join(f"{name} ({count} of {self.problems} problems)" for name, count in self.unknown.items())
        comes = "ranks without it, by what its own lines do then"
        if self.invalid:
            comes = f"is invalid on {self.invalid} of {self.problems} problems for that"
        elif self.neutral:
            comes = "ranks without it, as a program of the genetic grammar in which that is neutral"
        return f"reads what is unknown here, {listed}, and {comes}"
