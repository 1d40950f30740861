"""What the simulated author says: a problem, a testing, or a solution. A pure function of its arguments."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from evosyn.chat import Request
from evosyn.domains.math_answer import KIND, NAME
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from simulation.author.problems import NEAR_DUPLICATES, POPULAR
from simulation.author.profile import Odds, Profile, author_of, chance
from simulation.author.replies import DrawnReply
from simulation.math_author.templates import MathCase, WorkingStep, case_of, draw_case, templates, working

AUTHOR = "offline-math"
ENDINGS = (
    "\\boxed{{{answer}}}",
    "So the final answer is \\boxed{{{answer}}}.",
    "$$\\boxed{{{answer} \\text{{ {unit}}}}}$$",
    "\\boxed{{{answer}.0}}",
    "#### {answer}",
    "The answer is {answer} {unit}.",
)


def draw_math(tree: SeedTree, profile: Profile, request: Request) -> DrawnReply:
    """The reply to a request about this domain.

    Raises:
        UsageError: the problem is none of ours, or something is asked that it cannot write.
    """
    if request.purpose == "problem":
        return _problem(tree, request.sample)
    if request.problem is None or request.purpose not in ("solution", "testing"):
        raise UsageError(f"offline teacher: it cannot write a {request.purpose} of {NAME}; use a model (--model ...)")
    case, own = case_of(request.problem), tree.child(request.problem.id)
    rng = own.child(request.purpose, request.sample).random()
    author = author_of(profile.authors, rng)

    def steps(odds: Odds, skill: float) -> tuple[WorkingStep, ...]:
        right = rng.random() < chance(odds, case.difficulty, skill, own.child("ease", request.purpose))
        return case.steps if right else _mistake(case, own, profile.mistakes.tail, rng)

    if request.purpose == "solution":
        return _solution(case, steps(profile.solutions.odds, author.skill), profile, rng)
    return _testing(case, steps(profile.testings.odds, author.care), profile, rng)


def _mistake(case: MathCase, own: SeedTree, tail: float, rng: random.Random) -> tuple[WorkingStep, ...]:
    """A wrong working; which ones are popular is fixed for the problem, so that wrong answers repeat."""
    order: list[tuple[WorkingStep, ...]] = list(case.wrong)
    own.child("mistakes").random().shuffle(order)
    return rng.choices(order, [1 / (rank + 1) ** tail for rank in range(len(order))])[0]


def _solution(case: MathCase, steps: Sequence[WorkingStep], profile: Profile, rng: random.Random) -> DrawnReply:
    rates, text = profile.solutions, f"Let me work this out.\n\n{working(tuple(steps))}"
    roll = rng.random()
    if roll < rates.prose + rates.misnamed:
        return DrawnReply("One has to look at what is given, and then add up what is asked for.", "prose", AUTHOR)
    if roll < rates.prose + rates.misnamed + rates.does_not_parse:
        return DrawnReply(f"{text}\n\nSo the final answer is \\boxed{{", "cut", AUTHOR)
    ending = rng.choice(ENDINGS).format(answer=steps[-1].value, unit=case.unit)
    return DrawnReply(f"{text}\n\n{ending}", "right" if steps == case.steps else "mistake", AUTHOR)


def _testing(case: MathCase, steps: Sequence[WorkingStep], profile: Profile, rng: random.Random) -> DrawnReply:
    if rng.random() < profile.testings.malformed:
        return DrawnReply(f"{working(tuple(steps))}\n\nThat is what I would compare with.", "malformed", AUTHOR)
    body = json.dumps({"kind": KIND, "answer": steps[-1].value})
    return DrawnReply(f"```json\n{body}\n```", "right" if steps == case.steps else "wrong", AUTHOR)


def _problem(tree: SeedTree, sample: int) -> DrawnReply:
    rng = tree.child("problem", NAME, sample).random()
    by, truth = rng, "new"
    if rng.random() < NEAR_DUPLICATES:
        by, truth = tree.child("popular-problem", NAME, rng.randrange(POPULAR)).random(), "near-duplicate"
    case = draw_case(by.choice(list(templates())), by)
    reply = {"title": case.template.replace("-", " "), "statement": case.statement}
    body = json.dumps({**reply, "meta": {**case.meta, "simulated": True}}, indent=1)
    return DrawnReply(f"```json\n{body}\n```", truth, AUTHOR)
