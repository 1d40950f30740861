"""Draws one solution reply: a right program in some author's words, a popular mistake, or no program at all."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from evosyn.parsing import parsed
from evosyn.randomness import SeedTree
from simulation.author.profile import Author, MistakeLaw, Profile, author_of, chance
from simulation.author.replies import REFUSALS, DrawnReply, solution_text
from simulation.author.study import Mistake, Study
from simulation.author.style import WORDINGS, worded

POPULAR = 24
"""How many mistakes of a problem are made at all."""


def draw_solution(study: Study, profile: Profile, tree: SeedTree, sample: int) -> DrawnReply:
    """The `sample`-th solution reply for a studied problem; `tree` is the node of the problem."""
    rng = tree.child("solution", sample).random()
    author = author_of(profile.authors, rng)
    rates = profile.solutions
    source, truth = _program(study, profile, author, tree, rng)
    roll = rng.random()
    if roll < rates.prose:
        return DrawnReply(rng.choice(REFUSALS), "prose", author.name)
    if roll < rates.prose + rates.does_not_parse:
        return DrawnReply(solution_text(_broken(source, rng), rng), "does-not-parse", author.name)
    if roll < rates.prose + rates.does_not_parse + rates.misnamed:
        misnamed = _misnamed(source, study.knowledge.entry_point, rng)
        if misnamed is not None:
            return DrawnReply(solution_text(misnamed, rng), "misnamed", author.name)
    return DrawnReply(solution_text(source, rng), truth, author.name)


def popular_mistake(mistakes: Sequence[Mistake], law: MistakeLaw, difficulty: float, rng: random.Random) -> Mistake:
    """One of the mistakes of a problem: the tempting one, or by the law of popularity (steeper on hard problems)."""
    if mistakes[0].tempting and rng.random() < law.pull:
        return mistakes[0]
    exponent = law.tail * (0.7 + 0.6 * difficulty)
    listed = mistakes[:POPULAR]
    return rng.choices(listed, [(rank + 1.0) ** -exponent for rank in range(len(listed))])[0]


def _program(study: Study, profile: Profile, author: Author, tree: SeedTree, rng: random.Random) -> tuple[str, str]:
    rates, difficulty = profile.solutions, study.knowledge.difficulty
    is_right = rng.random() < chance(rates.odds, difficulty, author.skill, tree.child("solution-odds"))
    if is_right or not study.mistakes:
        return _right(study, profile, author, rng)
    ending = [mistake for mistake in study.mistakes if not mistake.hangs]
    hanging = [mistake for mistake in study.mistakes if mistake.hangs]
    pick_hanging = bool(hanging) and (not ending or rng.random() < profile.mistakes.hanging)
    mistake = popular_mistake(hanging if pick_hanging else ending, profile.mistakes, difficulty, rng)
    source = mistake.sources[0] if rng.random() < 0.6 else rng.choice(mistake.sources)
    return worded(source, author.freedom, rng.randrange(WORDINGS)), "mistake"


def _right(study: Study, profile: Profile, author: Author, rng: random.Random) -> tuple[str, str]:
    rates = profile.solutions
    roll = rng.random()
    if roll < rates.slow and study.slow:
        return worded(rng.choice(study.slow), author.freedom, rng.randrange(WORDINGS)), "slow"
    if roll < rates.slow + rates.near and study.near:
        return worded(rng.choice(study.near), author.freedom, rng.randrange(WORDINGS)), "near"
    if roll > 1.0 - rates.stray and study.stray:
        return worded(rng.choice(study.stray), author.freedom, rng.randrange(WORDINGS)), "stray"
    base = study.right[0] if rng.random() < 0.45 else rng.choice(study.right)
    return worded(base, author.freedom, rng.randrange(WORDINGS)), "right"


def _broken(source: str, rng: random.Random) -> str:
    """Source that does not parse: cut off, a lost colon or bracket, wrong indentation, prose in the middle."""
    lines = source.rstrip().split("\n")
    colons = [at for at, line in enumerate(lines) if line.endswith(":")]
    ways = [
        "\n".join(lines[: max(1, len(lines) - rng.randint(1, 3))]) + "\n    return (",
        source.replace(")", "", 1),
        "\n".join([*lines, "  This function returns the answer."]),
    ]
    if colons:
        at = rng.choice(colons)
        ways.append("\n".join([*lines[:at], lines[at][:-1], *lines[at + 1 :]]))
        ways.append(
            "\n".join([*lines[: at + 1], *(line.lstrip() for line in lines[at + 1 : at + 2]), *lines[at + 2 :]])
        )
    text = rng.choice(ways)
    try:
        parsed(text)
    except SyntaxError:
        return text
    return ways[0]


def _misnamed(source: str, entry_point: str | None, rng: random.Random) -> str | None:
    if entry_point is None:
        return None
    parts = entry_point.split("_")
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    others = [name for name in ("solve", "solution", camel, f"{entry_point}_impl") if name != entry_point]
    return re.sub(rf"\b{re.escape(entry_point)}\b", rng.choice(others), source)
