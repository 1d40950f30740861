"""How good the simulated authors are: the figures of one preset, and the rates that follow for one problem.

The presets were fitted to two recorded pools (docs/offline-teacher.md shows both beside what is measured here): `weak`
to one weak model, `strong` to some forty models of all sizes; `mixed`, the default, lies half-way between the two rows.
Fitting changed these figures and nothing else.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

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


WEAK = Profile(
    name="weak",
    authors=(Author("offline-small", 1.0, 0.0, 0.0, 0.45),),
    solutions=SolutionRates(
        odds=Odds(base=-2.25, slope=3.0, spread=2.4),
        does_not_parse=0.048,
        misnamed=0.02,
        prose=0.01,
        slow=0.006,
        near=0.1,
        stray=0.2,
    ),
    testings=TestingRates(
        odds=Odds(base=-2.4, slope=2.0, spread=0.8),
        malformed=0.08,
        code=0.06,
        trivial=0.1,
        narrow=0.15,
        off_spec=0.15,
        believed=0.2,
        slipped=0.03,
        mean_cases=7.0,
    ),
    mistakes=MistakeLaw(tail=0.9, subtlety=0.6, hanging=0.01, tempted=0.8, pull=0.2, blind=0.2),
)

_ALL_SIZES = (
    Author("offline-tiny", 0.14, -2.2, -1.7, 0.35),
    Author("offline-small", 0.22, -1.0, -0.9, 0.45),
    Author("offline-medium", 0.28, 0.2, 0.2, 0.55),
    Author("offline-large", 0.22, 1.2, 0.9, 0.65),
    Author("offline-frontier", 0.14, 2.6, 2.6, 0.6),
)

STRONG = Profile(
    name="strong",
    authors=_ALL_SIZES,
    solutions=SolutionRates(
        odds=Odds(base=1.4, slope=3.0, spread=0.9),
        does_not_parse=0.012,
        misnamed=0.008,
        prose=0.004,
        slow=0.006,
        near=0.1,
        stray=0.25,
    ),
    testings=TestingRates(
        odds=Odds(base=-0.4, slope=1.6, spread=0.5),
        malformed=0.05,
        code=0.1,
        trivial=0.01,
        narrow=0.05,
        off_spec=0.35,
        believed=0.2,
        slipped=0.05,
        mean_cases=11.5,
    ),
    mistakes=MistakeLaw(tail=1.1, subtlety=0.2, hanging=0.01, tempted=0.7, pull=0.3, blind=0.1),
)

MIXED = Profile(
    name="mixed",
    authors=_ALL_SIZES,
    solutions=SolutionRates(
        odds=Odds(base=-0.4, slope=3.2, spread=1.6),
        does_not_parse=0.025,
        misnamed=0.012,
        prose=0.006,
        slow=0.006,
        near=0.1,
        stray=0.22,
    ),
    testings=TestingRates(
        odds=Odds(base=-1.4, slope=1.8, spread=0.7),
        malformed=0.06,
        code=0.1,
        trivial=0.03,
        narrow=0.08,
        off_spec=0.25,
        believed=0.22,
        slipped=0.05,
        mean_cases=11.5,
    ),
    mistakes=MistakeLaw(tail=1.1, subtlety=0.4, hanging=0.01, tempted=0.8, pull=0.4, blind=0.28),
)

PROFILES = {profile.name: profile for profile in (WEAK, MIXED, STRONG)}


def profile_named(name: str) -> Profile:
    """The preset of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in PROFILES:
        raise UsageError(f"offline teacher: strength {name!r} is unknown; one of {', '.join(sorted(PROFILES))}")
    return PROFILES[name]


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
