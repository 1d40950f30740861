"""A stand-in for a model that mutates problems: it retells them, adds a distractor, changes their steps. SIMULATED.

It errs about as often as the paper found Qwen2.5-7B to (DejaQ 2601.01931, section 5.2: 22 % of new settings and 44 % of
all mutants invalid) where it is weak, less where it is strong. Some errors show in the words, some do not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from evosyn.chat import Request
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.synthesis.mutations.asking import DISTRACTOR, PURPOSES, SETTING, SYMBOLIC
from simulation.author.replies import REFUSALS, DrawnReply
from simulation.math_author.stories import (
    MOST_STEPS,
    PART,
    Story,
    StoryStep,
    is_ours,
    story_of,
    told,
    values_of,
)

AUTHOR = "offline-mutator"
NO_JSON = 0.04
TRIES = 60
SWAPS = {"+": "*", "*": "+", "-": "+", "/": "-"}
ASIDES = (
    "Meanwhile {n} visitors are looking on.",
    "A clock on the wall has been {n} minutes late for weeks.",
    "Somebody remarks that it was the same {n} years ago.",
    "Outside a bus with {n} seats drives past.",
    "The door has the number {n} in blue paint.",
    "In the next room {n} lamps are still on.",
)


class ErrorRates(NamedTuple):
    """Shares of replies that spoil a problem, by link."""

    setting: float
    distractor: float
    symbolic: float


RATES: Mapping[str, ErrorRates] = {
    "weak": ErrorRates(0.22, 0.08, 0.44), "mixed": ErrorRates(0.15, 0.05, 0.3), "strong": ErrorRates(0.07, 0.02, 0.15),
}  # fmt: skip


def draw_mutation(tree: SeedTree, strength: str, request: Request) -> DrawnReply:
    """The reply to one link, with what was done.

    Raises:
        UsageError: the problem is none that it can read.
    """
    problem = request.problem
    story = None if problem is None else story_of(problem.statement)
    if problem is None or not (story or is_ours(problem.statement)):
        raise UsageError(
            "offline teacher: it can only mutate problems of builtin:math-seeds, and its own mutants; use a model "
            "(--model provider/name)"
        )
    rng = tree.child(request.purpose, problem.statement, str(problem.meta["target"]), request.sample).random()
    if story is None or rng.random() < NO_JSON:
        return DrawnReply(rng.choice(REFUSALS), "no-json", AUTHOR)
    link = next(name for name, purpose in PURPOSES.items() if purpose == request.purpose)
    spoiled = rng.random() < getattr(RATES[strength], link)
    if link == SYMBOLIC:
        return _symbolic(story, rng, spoiled)
    if link == DISTRACTOR:
        return _distractor(problem.statement, rng, spoiled)
    return _setting(replace(story, setting=str(problem.meta["target"])), rng, spoiled)


def _setting(story: Story, rng: random.Random, spoiled: bool) -> DrawnReply:
    """A spoiled one has another number, or other steps with the same numbers."""
    if not spoiled:
        return _reply({"mutated_problem": told(story)}, SETTING)
    kind = rng.choice(("number", "steps"))
    steps = list(story.steps)
    if kind == "number":
        at = rng.choice([place for place, step in enumerate(steps) if isinstance(step.b, int) and step.sign != PART])
        steps[at] = steps[at]._replace(b=int(steps[at].b) + rng.randint(1, 9))
    else:
        at = rng.choice([place for place, step in enumerate(steps) if step.sign in SWAPS])
        steps[at] = steps[at]._replace(sign=SWAPS[steps[at].sign])
    return _reply({"mutated_problem": told(replace(story, steps=tuple(steps)))}, f"spoiled-{kind}")


def _distractor(statement: str, rng: random.Random, spoiled: bool) -> DrawnReply:
    """A spoiled one puts the aside in the place of a sentence."""
    sentences = statement.split(". ")
    aside = rng.choice(ASIDES).format(n=rng.randint(3, 99)).rstrip(".")
    at = rng.randrange(1, max(len(sentences), 2))
    text = ". ".join([*sentences[:at], aside, *sentences[at + spoiled :]])
    return _reply({"mutated_problem": text}, "spoiled-sentence" if spoiled else DISTRACTOR)


def _symbolic(story: Story, rng: random.Random, spoiled: bool) -> DrawnReply:
    """A spoiled one declares an answer that is none, that its working does not have, or that is wrong."""
    made, values = next(
        filter(None, (_changed(story, rng) for _ in range(TRIES))), (story, values_of(story.steps) or [0])
    )
    kind = rng.choice(("unreadable", "unsupported", "wrong", "wrong")) if spoiled else SYMBOLIC
    answer = values[-1] + (rng.choice((-10, -1, 1, 10)) if kind == "wrong" else 0)
    lines = [f"{letter} = {value}" for letter, value in zip("ABCDEFGHIJ", [*values[:-1], answer], strict=False)]
    solution = {"unreadable": "it depends on the rest", "unsupported": f"${answer + 1}$"}.get(kind, f"${answer}$")
    reply = {"mutated_problem": told(made), "mutated_reasoning": ". ".join(lines), "mutated_solution": solution}
    return _reply(reply, f"spoiled-{kind}" if spoiled else SYMBOLIC)


def _changed(story: Story, rng: random.Random) -> tuple[Story, list[int]] | None:
    """One step more, another number, or another operation; None where that gives no answer or the old one."""
    steps = list(story.steps)
    kind = rng.choice(("step", "step", "number", "sign") if len(steps) < MOST_STEPS else ("number", "sign"))
    at = rng.randrange(len(steps))
    if kind == "step":
        steps.append(StoryStep(rng.choice("+-*"), "ABCDEFGHIJ"[len(steps) - 1], rng.randint(2, 12)))
    elif kind == "number" and isinstance(steps[at].b, int) and steps[at].sign in SWAPS:
        steps[at] = steps[at]._replace(b=max(2, int(steps[at].b) + rng.randint(-9, 9)))
    elif kind == "sign" and steps[at].sign in SWAPS:
        steps[at] = steps[at]._replace(sign=rng.choice("+-*/"))
    values, before = values_of(steps), values_of(story.steps)
    if values is None or (before is not None and values[-1] == before[-1]):
        return None
    return replace(story, steps=tuple(steps)), values


def _reply(values: Mapping[str, str], truth: str) -> DrawnReply:
    return DrawnReply(f"```json\n{json.dumps(values)}\n```", truth, AUTHOR)
