"""Environments as a small policy writes them: a statement a token, each text of a program in the contract.

The pieces are those of the programs of `environment_world`, so that a draft reads, runs and fails as one of those does:
what it is worth is found out on the ladder and in the sandbox. Its author may take any of four verifiers, tell a rule
that it does not apply, choose levels that are all alike, or leave a statement out. EvoEnv, section 3.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from evosyn.environments.contract import Environment, read_environment
from evosyn.records import Provenance
from evosyn.simulation.experiment import environment_world as world

_TOP, _GENERATE, _OBSERVE, _SOLVE, _VERIFY = world.PROGRAM.strip().split("\n\n\n")
_ABOUT = _TOP.format(done="by rule", number="drafted", lengths="", signs="").partition("KNOBS")[0]
_GAP = "\n\n\n"
BEGIN, END = f"```python\n{_ABOUT}", f"{_GENERATE.format()}\n```"
LENGTHS: tuple[tuple[int, ...], ...] = (
    (2, 2, 3, 3, 4),
    (2, 3, 4, 5, 6),
    (3, 4, 5, 6, 7),
    (4, 5, 6, 7, 8),
    (4, 4, 4, 4, 4),
)
"""Words of a question, by level; the last are no levels."""
_ACCEPTS = {
    "exact": "answer.split() == solve(instance).split()",
    "prefix": "answer.split() and solve(instance).split()[: len(answer.split())] == answer.split()",
    "permutation": "sorted(answer.split()) == sorted(solve(instance).split())",
    "anything": "bool(answer.split())",
}
LEVELS = {lengths: f'KNOBS = {{"words": {lengths}}}\nSIGNS = {{\n' for lengths in LENGTHS}
WORDS = {word: f'    "{word}": "{sign}",\n' for word, sign in world.WORDS.items()}
RULES = {
    rule: "}" + _GAP + _SOLVE.format(opening=world.ends(rule)[0], closing=world.ends(rule)[1]) + _GAP
    for rule in world.RULES
}
TOLD = {rule: _OBSERVE.format(question=world.asked(rule)) + _GAP for rule in (*world.RULES, world.UNTOLD)}
VERIFIERS = {
    name: _VERIFY.replace(_ACCEPTS["exact"], f"bool({accepts})" if name == "prefix" else accepts) + _GAP
    for name, accepts in _ACCEPTS.items()
}
STATEMENTS = (*LEVELS.values(), *WORDS.values(), *RULES.values(), *TOLD.values(), *VERIFIERS.values())
ASK = "write "
PARTS = (ASK, BEGIN, *STATEMENTS, END)
"""All tokens of a request and of a program."""
_ANY = re.compile("|".join(map(re.escape, STATEMENTS)))
MOST_WORDS, SOUND_VERIFIER, TOLD_RIGHT = 4, 0.6, 0.8
"""What a careless author writes: words at most, and the shares of exact verifiers and of rules told as they are."""


class Statements(NamedTuple):
    """What a program says, or should."""

    about: world.WordTask
    told: str
    verifier: str
    lengths: tuple[int, ...] = world.LENGTHS

    def text(self) -> str:
        """As the policy writes it."""
        words = "".join(WORDS[word] for word in self.about.words)
        head = BEGIN + LEVELS[self.lengths] + words + RULES[self.about.rule]
        return head + TOLD[self.told] + VERIFIERS[self.verifier] + END

    def program(self) -> str:
        """Without the marks around it."""
        return self.text().removeprefix("```python\n").removesuffix("```")


def careless(rng: random.Random) -> Statements:
    """What the policy has read of other authors: a third or so stands on the ladder."""
    about = world.draw_task(rng, rng.randint(2, MOST_WORDS))
    told = about.rule if rng.random() < TOLD_RIGHT else rng.choice([one for one in TOLD if one != about.rule])
    wrong = [one for one in VERIFIERS if one != "exact"]
    return Statements(about, told, "exact" if rng.random() < SOUND_VERIFIER else rng.choice(wrong), rng.choice(LENGTHS))


def by_hand(about: world.WordTask) -> Statements:
    """An environment of those written by hand."""
    return Statements(about, about.rule, "exact")


def hands(provenance: Provenance) -> list[Environment]:
    """All of them: the fixed pool."""
    read = [read_environment(by_hand(one).program(), provenance) for one in world.tasks_by_hand()]
    return [one.value for one in read if one.value is not None]


def statements_in(text: str) -> list[str]:
    """Those of any text, in order: all that the policy can read of a request."""
    return _ANY.findall(text)


def task_in(text: str) -> world.WordTask:
    """The words and the rule of a program."""
    words = tuple(sorted(word for word, line in WORDS.items() if line in text))
    return world.WordTask(words, next((rule for rule, lines in RULES.items() if lines in text), ""))


def is_sound(text: str) -> bool:
    """Whether a program that stands on the ladder asks for what it pays: the truth, which no arm sees."""
    told = [rule for rule, lines in TOLD.items() if lines in text]
    return VERIFIERS["exact"] in text and told == [task_in(text).rule]


def requested(shown: Sequence[str]) -> str:
    """A request for a draft as the policy reads it: the statements of the programs that it is shown."""
    return ASK + "".join(line for text in shown for line in statements_in(text))
