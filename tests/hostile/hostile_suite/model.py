"""What a hostile case is: an attack, the family that it belongs to, and the verdict words that it may come to.

It runs nothing. An attack is kept apart from the task that it attacks: the task is drawn, so that no text can know the
hidden values, and the same attack is fitted to every arena (`fitting`). docs/sandbox.md, "What was tried".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

TABLE, WARM, FRESH, PROGRAM, STDIO, STRATEGY, REWARD = (
    *("table", "rpc-warm", "rpc-fresh", "rpc-program", "stdio", "strategy", "reward"),
)
MODES = (TABLE, WARM, FRESH, PROGRAM, STDIO, STRATEGY, REWARD)

LETTER_OF = {
    "pass": "P",
    "wrong": "F",
    "not-plain-data": "F",
    "exception": "E",
    "load-error": "E",
    "no-entry-point": "E",
    "timeout": "T",
    "killed": "K",
    "output-limit": "K",
    "broken": "B",
    "not-run": "N",
    "unknown": "U",
}
"""The words in which a case says what is allowed, and the letter that a verdict has for it. Words that share a letter
are told apart in the table mode, where the sandbox gives a status for each call."""

FAULTS = frozenset(
    ["wrong", "not-plain-data", "exception", "load-error", "no-entry-point", "timeout", "killed", "output-limit"]
)
"""What a program can come to by its own fault; never a pass, nor any of what only the supervisor may say."""
OWN_CLAIM = FAULTS | {"pass", "broken"}
"""What a testing can come to by itself: it may claim its own pass, as `assert True` can, and be broken."""


class Role(StrEnum):
    """What kind of text is hostile."""

    SOLUTION = "solution"
    TESTING = "testing"
    STARTER = "starter"
    GENERATOR = "generator"
    STRATEGY = "strategy"
    COMPANY = "company"  # solutions of the plain kind that may share a process, in large batches of completions
    VALUE = "value"  # solutions whose plain values are dear to what our own process does with them
    HONEST = "honest"


class Dress(NamedTuple):
    """How an attack is written down and called, where that is not in the open.

    Attributes:
        act: body of `def act(given)` that calls `_deed(given)`.
        writing: puts the source of the deed into another form.
        name: what `_deed` is called.
    """

    act: str
    writing: Callable[[str], str]
    name: str


@dataclass(frozen=True)
class Attack:
    """One hostile text, before it is fitted to a task and an arena.

    Attributes:
        setup: module-level source.
        act: body of `def act(given)`: what the entry point does; its value is returned, or printed as JSON.
        whole: the whole text, in place of `setup` and `act`; `ENTRY` stands for the entry point.
        before: a whole solution that runs before the honest ones, an accomplice that leaves something behind.
        allowed: words by mode, `*` for all others; None takes the family's.
        kinds: of the tasks that it attacks (`tasks.KINDS`); empty for any.
        asked: for values: liftable testing texts, `CALL` standing for a call of the entry point.
        body: for testings and generators: the rest of the TESTING object, with `ENTRY` in its texts.
        computes: it computes right values and then does harm: single cases may pass, the cell may not.
        dressed: other encodings and ways of calling mean the same.
        dress: the one that it wears.
        modes: where it makes sense; empty for all of its role.
    """

    name: str
    setup: str = ""
    act: str = "return None"
    whole: str | None = None
    before: str | None = None
    allowed: Mapping[str, frozenset[str]] | None = None
    kinds: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    body: Mapping[str, object] | None = None
    computes: bool = False
    dressed: bool = True
    dress: Dress | None = None
    modes: tuple[str, ...] = ()


Draw = Callable[[random.Random], Attack]


@dataclass(frozen=True)
class Family:
    """Attacks of one principle.

    Attributes:
        principle: one sentence: what the attacker tries, and why it must not work.
        fixed: variants that always belong to the suite.
        draw: a fresh variant; None draws one of `fixed` in another dress.
        draws: how many drawn variants belong to the whole suite.
        slow: most of its cases run into a time limit.
        modes: where it makes sense; empty for all of its role.
    """

    name: str
    principle: str
    role: Role
    allowed: Mapping[str, frozenset[str]]
    fixed: tuple[Attack, ...]
    draw: Draw | None = None
    draws: int = 2
    slow: bool = False
    modes: tuple[str, ...] = ()

    def words(self, attack: Attack, mode: str) -> frozenset[str]:
        """What an attack of this family may come to in a mode."""
        found = attack.allowed if attack.allowed is not None else self.allowed
        return found[mode] if mode in found else found["*"]


@dataclass(frozen=True)
class Case:
    """One attack of one family, with the seed from which everything that is drawn for it comes."""

    family: Family
    attack: Attack
    seed: str
    drawn: bool = False

    @property
    def name(self) -> str:
        return f"{self.family.name}/{self.attack.name}"

    def random(self, purpose: str) -> random.Random:
        """A stream of its own for each purpose."""
        return random.Random(f"{self.seed}|{self.name}|{purpose}")

    def words(self, mode: str) -> frozenset[str]:
        return self.family.words(self.attack, mode)

    def fits(self, mode: str) -> bool:
        return mode in (self.attack.modes or self.family.modes or MODES)


def allow(table: str = "", rest: str = "", **by_mode: str) -> dict[str, frozenset[str]]:
    """Allowed words by mode, blank-separated; empty stands for any fault of the program.

    Args:
        table: of the table mode, to the very status.
        rest: of all modes that are not named; where empty, any fault (and a pass where the table may pass).
        by_mode: of single modes, underscores for dashes.
    """
    others = _words(rest) if rest else FAULTS | (_words(table) & {"pass"})
    return {TABLE: _words(table), "*": others} | {
        mode.replace("_", "-"): _words(words) for mode, words in by_mode.items()
    }


def only(text: str) -> dict[str, frozenset[str]]:
    """These words, in every mode."""
    return {"*": _words(text)}


def _words(text: str) -> frozenset[str]:
    found = frozenset(text.split()) or FAULTS
    unknown = found - LETTER_OF.keys() - {"ranked", "invalid"}
    if unknown:
        raise ValueError(f"allowed={text!r}: {sorted(unknown)} are no verdict words; one of {', '.join(LETTER_OF)}")
    return found


def letters(words: frozenset[str]) -> frozenset[str]:
    """The verdict letters that these words allow."""
    return frozenset(LETTER_OF[word] for word in words if word in LETTER_OF)
