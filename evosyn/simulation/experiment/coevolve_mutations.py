"""Mutators of the small world of `evosyn experiment coevolve`, what they get wrong, and the checks that cost nothing.

SIMULATED: they err as often as DejaQ (2601.01931, section 5.2) found its base model to, and how they err is made up.
What a mutant is made of is known, so the checks are counted against the truth; none of them is applied.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evosyn.simulation.experiment.coevolve_world import (
    ASIDES,
    KINDS,
    MOST_STEPS,
    MOST_WORDS,
    StepsProblem,
    declared,
    drawn_numbers,
)
from evosyn.synthesis.mutations.asking import DISTRACTOR, SETTING, SYMBOLIC

POPULAR = 0.5
"""Share of the answers from which one that is not the declared one contests it."""


class MutatorErrors(NamedTuple):
    """Shares of replies that spoil a problem. The first and the last are the paper's; the second is ours."""

    setting: float = 0.22
    distractor: float = 0.08
    symbolic: float = 0.44


FAULTLESS = MutatorErrors(0.0, 0.0, 0.0)


class ToyMutant(NamedTuple):
    """A problem made of another one.

    Attributes:
        numbers_kept: every link kept the numbers that it had to keep.
        program: what the program that came with another structure prints; None where nothing had one.
    """

    problem: StepsProblem
    numbers_kept: bool = True
    program: int | None = None

    @property
    def invalid(self) -> bool:
        return self.problem.answer != self.problem.right

    @property
    def program_differs(self) -> bool:
        """Whether a program came with it that prints another number than the declared one."""
        return self.program not in (None, self.problem.answer)


def mutate(
    parent: StepsProblem, links: Sequence[str], target: str, errors: MutatorErrors, rng: random.Random
) -> ToyMutant:
    """What a chain of links makes of a problem."""
    made = ToyMutant(parent)
    for link in links:
        made = _LINKS[link](made, target, rng.random() < getattr(errors, link), rng)
    return made


def contested(answers: Sequence[int], declared_answer: int) -> bool:
    """Whether one answer other than the declared one has half of them. Costs nothing, and is ours."""
    counts = Counter(answers)
    return any(one != declared_answer and count >= POPULAR * len(answers) for one, count in counts.items())


def _setting(made: ToyMutant, target: str, spoiled: bool, rng: random.Random) -> ToyMutant:
    """The same steps in the words of another setting; a spoiled one has another operation or number, or a step less."""
    old = made.problem
    new = old._replace(setting=target, words=tuple(_told_in(target, word) for word in old.words))
    if spoiled:
        new = _until(lambda: _spoiled(new, rng), lambda one: one.right != old.right, new)
    return made._replace(problem=new, numbers_kept=made.numbers_kept and Counter(new.numbers) == Counter(old.numbers))


def _distractor(made: ToyMutant, _: str, spoiled: bool, rng: random.Random) -> ToyMutant:
    """One word more that nothing depends on; in a spoiled one something does."""
    old = made.problem
    if len(old.words) == MOST_WORDS or (spoiled and old.steps == MOST_STEPS):
        return made
    word = _verb(old.setting, rng) if spoiled else rng.choice(ASIDES)
    new = _with_word(old, rng.randrange(len(old.words) + 1), word, rng)
    kept = Counter(old.numbers) <= Counter(new.numbers)
    return made._replace(problem=new, numbers_kept=made.numbers_kept and kept)


def _symbolic(made: ToyMutant, _: str, spoiled: bool, rng: random.Random) -> ToyMutant:
    """Another structure with its answer; a spoiled one declares an answer that is misread, a slip, or the old one.

    Its program is of the same hand: it misreads what was misread, and prints what is right otherwise.
    """
    old = made.problem
    new = declared(_until(lambda: _changed(old, rng), lambda one: one.right != old.right, old))
    if not spoiled:
        return made._replace(problem=new, program=new.answer)
    kind = rng.choice(("misread", "slip", "stale"))
    if kind == "misread":
        read = _until(lambda: _with_other_step(new, rng), lambda one: one.right != new.right, new).right
        return made._replace(problem=new._replace(answer=read), program=read)
    wrong = new.answer + rng.choice((-10, -1, 1, 10)) if kind == "slip" else old.answer
    return made._replace(problem=new._replace(answer=wrong), program=new.answer)


_LINKS: Mapping[str, Callable[[ToyMutant, str, bool, random.Random], ToyMutant]] = {
    SETTING: _setting, DISTRACTOR: _distractor, SYMBOLIC: _symbolic,
}  # fmt: skip
TRIES = 40


def _until(
    draw: Callable[[], StepsProblem], good: Callable[[StepsProblem], bool], otherwise: StepsProblem
) -> StepsProblem:
    return next(filter(good, (draw() for _ in range(TRIES))), otherwise)


def _told_in(setting: str, word: str) -> str:
    return word if word in ASIDES else f"{setting}:{word.partition(':')[2]}"


def _verb(setting: str, rng: random.Random) -> str:
    return f"{setting}:{rng.choice(KINDS)}"


def _spoiled(problem: StepsProblem, rng: random.Random) -> StepsProblem:
    """The words of a problem changed, and what it declares not."""
    kind = rng.choice(("operation", "number", "step") if problem.steps > 1 else ("operation", "number"))
    if kind == "operation":
        return _with_other_step(problem, rng)
    if kind == "step":
        return _without_word(problem, rng.randrange(len(problem.words)))
    at, (number,) = rng.randrange(len(problem.numbers)), drawn_numbers(rng, 1)
    return problem._replace(numbers=(*problem.numbers[:at], number, *problem.numbers[at + 1 :]))


def _changed(problem: StepsProblem, rng: random.Random) -> StepsProblem:
    """One step more, another one, or one less."""
    kinds = ["more"] * 5 * (problem.steps < MOST_STEPS and len(problem.words) < MOST_WORDS) + ["other"] * 3
    kind = rng.choice(kinds + ["less"] * 2 * (problem.steps > 1))
    if kind == "more":
        return _with_word(problem, rng.randrange(len(problem.words) + 1), _verb(problem.setting, rng), rng)
    if kind == "other":
        return _with_other_step(problem, rng)
    return _without_word(problem, rng.choice([at for at, word in enumerate(problem.words) if word not in ASIDES]))


def _with_word(problem: StepsProblem, at: int, word: str, rng: random.Random) -> StepsProblem:
    words, numbers = problem.words, problem.numbers
    return problem._replace(
        words=(*words[:at], word, *words[at:]), numbers=(*numbers[:at], *drawn_numbers(rng, 1), *numbers[at:])
    )


def _without_word(problem: StepsProblem, at: int) -> StepsProblem:
    words, numbers = problem.words, problem.numbers
    return problem._replace(words=words[:at] + words[at + 1 :], numbers=numbers[:at] + numbers[at + 1 :])


def _with_other_step(problem: StepsProblem, rng: random.Random) -> StepsProblem:
    at = rng.choice([at for at, word in enumerate(problem.words) if word not in ASIDES])
    return problem._replace(words=(*problem.words[:at], _verb(problem.setting, rng), *problem.words[at + 1 :]))
