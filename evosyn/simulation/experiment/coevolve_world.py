"""The small world of `evosyn experiment coevolve`: problems of one to six steps, in eight settings. A mechanism check.

A problem is a list of verbs, each with a number that the policy is not shown; it answers a sign for each word, and the
number that these signs come to is its answer, which our own table computes and compares. So an answer is a number, as
in DejaQ (2601.01931), and reaching it asks for no arithmetic of a network. Verbs of a setting are words of their own,
so that what is learnt in one setting says little about another; an aside is a word that nothing depends on.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evosyn.randomness import SeedTree
from evosyn.records import canonical_json
from evosyn.synthesis.mutations.asking import SETTINGS as DESCRIBED

SETTINGS = tuple(name.split()[0].lower() for name in DESCRIBED)
OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda value, number: value + number,
    "-": lambda value, number: value - number,
    "*": lambda value, number: value * number,
    "~": lambda value, number: number - value,
}
KINDS = ("add", "take", "times", "from")
"""What a verb of each operation is called."""
SKIP = "_"
"""The sign for a word that nothing depends on."""
SIGNS = (*OPERATIONS, SKIP)
VERBS = {f"{setting}:{kind}": sign for setting in SETTINGS for kind, sign in zip(KINDS, OPERATIONS, strict=True)}
ASIDES = tuple(f"aside:{number}" for number in range(8))
MEANS = VERBS | dict.fromkeys(ASIDES, SKIP)
"""What each word stands for: our own table, which decides what is right."""
MOST_STEPS, MOST_WORDS = 6, 7
SUITES: Mapping[str, tuple[tuple[int, ...], int]] = {
    "symbolic": ((1, 2), 0), "p1": ((3,), 0), "p2": ((4,), 0), "p3": ((5,), 0), "distract": ((2, 3), 1),
}  # fmt: skip
"""What is measured: numbers of steps, and asides. Nobody is given seeds like those of the last four."""
DEPTHS = ("symbolic", "p1", "p2", "p3")
SKEW = (8, 8, 4, 4, 2, 2, 1, 1)
"""How often the seeds are of each setting."""
WRONG, DEEP, ASIDE = 0.3, 0.2, 0.4
"""Of what the base is made from: wrong signs, problems of three steps and more, and those with an aside."""


class StepsProblem(NamedTuple):
    """A problem as its author has it.

    Attributes:
        words: verbs and asides.
        numbers: one for each word.
        start: what the first step begins with.
        answer: as declared, which may be wrong.
    """

    setting: str
    words: tuple[str, ...]
    numbers: tuple[int, ...]
    start: int
    answer: int

    @property
    def right(self) -> int:
        """The right answer, by our own table."""
        return self.answered([MEANS[word] for word in self.words])

    @property
    def steps(self) -> int:
        return sum(word in VERBS for word in self.words)

    def answered(self, signs: Sequence[str]) -> int:
        """What the signs of an answer come to."""
        return value_of(self.start, self.numbers, signs)

    def solved_by(self, signs: Sequence[str]) -> bool:
        return self.answered(signs) == self.answer

    def to_text(self) -> str:
        """As it stands in a curriculum."""
        return canonical_json(self._asdict())


def steps_of(text: str) -> StepsProblem:
    """The problem that `StepsProblem.to_text` wrote."""
    held = json.loads(text)
    return StepsProblem(**{**held, "words": tuple(held["words"]), "numbers": tuple(held["numbers"])})


def value_of(start: int, numbers: Sequence[int], signs: Sequence[str]) -> int:
    """What signs of operations come to, from the left."""
    for number, sign in zip(numbers, signs, strict=True):
        start = start if sign == SKIP else OPERATIONS[sign](start, number)
    return start


def draw_steps(rng: random.Random, setting: str, steps: int, asides: int = 0) -> StepsProblem:
    """A problem with its right answer, which no single wrong sign comes to as well."""
    while True:
        words = [f"{setting}:{rng.choice(KINDS)}" for _ in range(steps)]
        for _ in range(asides):
            words.insert(rng.randrange(len(words) + 1), rng.choice(ASIDES))
        found = declared(StepsProblem(setting, tuple(words), drawn_numbers(rng, len(words)), rng.randint(10, 99), 0))
        if _told_apart(found):
            return found


def drawn_numbers(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.randint(2, 9) for _ in range(count))


def declared(problem: StepsProblem) -> StepsProblem:
    """The problem with the right answer declared."""
    return problem._replace(answer=problem.right)


def draw_seeds(tree: SeedTree, count: int) -> list[StepsProblem]:
    """The problems that everybody starts from: of one or two steps, most of them of few settings."""
    rng = tree.child("seeds").random()
    return [draw_steps(rng, rng.choices(SETTINGS, SKEW)[0], rng.randint(1, 2)) for _ in range(count)]


def draw_suite(tree: SeedTree, name: str, count: int) -> list[StepsProblem]:
    """Held-out problems, of all settings alike."""
    rng, (steps, asides) = tree.child("suite", name).random(), SUITES[name]
    return [draw_steps(rng, rng.choice(SETTINGS), rng.choice(steps), asides) for _ in range(count)]


def draw_base(tree: SeedTree, count: int) -> list[tuple[tuple[str, ...], list[str]]]:
    """(words, signs) as a careless writer has them, of all settings and lengths: what the base is made from."""
    rng, found = tree.child("base").random(), []
    for _ in range(count):
        steps = rng.randint(3, MOST_STEPS) if rng.random() < DEEP else rng.randint(1, 2)
        problem = draw_steps(rng, rng.choice(SETTINGS), steps, int(rng.random() < ASIDE))
        right = [MEANS[word] for word in problem.words]
        signs = [rng.choice([one for one in SIGNS if one != sign]) if rng.random() < WRONG else sign for sign in right]
        found.append((problem.words, signs))
    return found


def _told_apart(problem: StepsProblem) -> bool:
    right = [MEANS[word] for word in problem.words]
    others = (
        [*right[:at], other, *right[at + 1 :]] for at, sign in enumerate(right) for other in SIGNS if other != sign
    )
    return not any(map(problem.solved_by, others))
