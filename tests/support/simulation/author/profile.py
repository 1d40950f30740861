"""How good the simulated authors are: what the figures of a preset mean, and the rates that follow for one problem.

The figures stand in profiles.yaml: fitting them to recorded pools changed that file and nothing else.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import yaml

from evosyn.codec import load
from evosyn.documents import LOADER
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree

NOTHING_TO_IT = 8.0
"""Added to the log-odds where the difficulty is 0."""


@dataclass(frozen=True)
class Author:
    """One simulated model.

    Attributes:
        weight: how often it is the one that answers.
        skill: added to the log-odds of a right solution.
        care: added to the log-odds of a right testing.
        freedom: how much it departs from the plain form of a program, in [0, 1].
    """

    name: str
    weight: float
    skill: float
    care: float
    freedom: float


@dataclass(frozen=True)
class Odds:
    """Log-odds of being right: `base` at difficulty 0.5, minus `slope` per unit, plus a draw of scale `spread`."""

    base: float
    slope: float
    spread: float


@dataclass(frozen=True)
class SolutionRates:
    """Shares of solution replies that go wrong otherwise than by a mistake in the algorithm, and kinds of right ones.

    Attributes:
        near: of the right solutions, changed ones that no probed input tells from the reference.
        stray: of the right solutions, those that differ from the reference on inputs beyond the statement.
    """

    odds: Odds
    does_not_parse: float
    misnamed: float
    prose: float
    slow: float
    near: float
    stray: float


@dataclass(frozen=True)
class MistakeLaw:
    """Which mistakes are made: they are shared, by solutions and by testings.

    Attributes:
        tail: exponent of the law of popularity; larger: fewer, more popular mistakes.
        subtlety: how much mistakes that few inputs reveal are preferred.
        hanging: of the wrong solutions, those that never end on some input.
        tempted: share of problems with a tempting mistake, one that overlooks a corner.
        pull: of the mistakes on such a problem, those that are the tempting one.
        blind: of the testings of such a problem, those whose author did not think of the corner either.
    """

    tail: float
    subtlety: float
    hanging: float
    tempted: float
    pull: float
    blind: float


@dataclass(frozen=True)
class TestingRates:
    """How testings come about.

    Attributes:
        malformed: replies that hold no usable testing.
        code: written as `build_cases()` instead of as JSON.
        trivial, narrow: of the usable ones, those with tiny inputs only, and those around one corner.
        off_spec: with an input or two that the statement may not allow.
        believed: of the wrong ones, outputs computed by a wrong solution.
        slipped: of the wrong ones, a single wrong output; the rest has most outputs wrong.
        mean_cases: mean number of cases.
    """

    odds: Odds
    malformed: float
    code: float
    trivial: float
    narrow: float
    off_spec: float
    believed: float
    slipped: float
    mean_cases: float


@dataclass(frozen=True)
class Profile:
    """One preset."""

    name: str
    authors: tuple[Author, ...]
    solutions: SolutionRates
    testings: TestingRates
    mistakes: MistakeLaw


@functools.cache
def profile_named(name: str) -> Profile:
    """The preset of that name.

    Raises:
        UsageError: there is none.
    """
    presets = yaml.load(resources.files(__package__).joinpath("profiles.yaml").read_text(encoding="utf-8"), LOADER)
    if name not in presets:
        raise UsageError(f"offline teacher: strength {name!r} is unknown; one of {', '.join(sorted(presets))}")
    return load(Profile, {"name": name, **presets[name]})


def author_of(authors: Sequence[Author], rng: random.Random) -> Author:
    """The author of one reply."""
    return rng.choices(authors, [author.weight for author in authors])[0]


def chance(odds: Odds, difficulty: float, skill: float, tree: SeedTree) -> float:
    """The chance of being right.

    Args:
        difficulty: of the problem, in [0, 1]; at 0 hardly anybody fails.
        skill: of the author, added to the log-odds.
        tree: the node that fixes the problem's own draw.
    """
    drawn = tree.random().gauss(0.0, 1.0)
    easy = NOTHING_TO_IT if difficulty == 0 else 0.0
    return 1.0 / (1.0 + math.exp(-(odds.base - odds.slope * (difficulty - 0.5) + odds.spread * drawn + skill + easy)))
