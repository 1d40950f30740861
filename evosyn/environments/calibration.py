"""Calibration: what solve rates by level say of an environment.

ReSyn (section 2.2, step 4) keeps environments whose solve rate falls with the level, by a one-sided Wald test at 0.05.
Which regression it is, how many answers a level, and what of environments that are always or never solved is left open
there: outcomes of single answers, and `trivial` and `impossible`, are ours. EvoEnv's quality of a solve rate rises to
its target and falls behind it; its width is ours. Nothing is asked or run here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evosyn.quantiles import t_quantile

ALPHA = 0.05
TRIVIAL, IMPOSSIBLE = 0.95, 0.05
TARGET, WIDTH = 0.3, 0.15


class Rate(NamedTuple):
    """Of `n` answers at a level `solved` were right."""

    level: int
    n: int
    solved: int


class Wald(NamedTuple):
    """The slope of outcomes over levels: its estimate, t, and the critical value that t must not exceed."""

    slope: float
    t: float
    critical: float

    @property
    def falls(self) -> bool:
        return self.slope < 0 and self.t <= self.critical


def wald(rates: Sequence[Rate]) -> Wald | None:
    """The least-squares slope of single outcomes (0 or 1) over their levels; None where all outcomes are equal.

    Raises:
        ValueError: fewer than three answers, or all at one level.
    """
    n = sum(rate.n for rate in rates)
    x_mean = sum(rate.level * rate.n for rate in rates) / max(n, 1)
    y_mean = sum(rate.solved for rate in rates) / max(n, 1)
    sxx = sum(rate.n * (rate.level - x_mean) ** 2 for rate in rates)
    if n < 3 or not sxx:
        raise ValueError(f"rates: three answers at two levels or more (got {list(rates)})")
    syy = n * y_mean * (1 - y_mean)
    if syy < 1e-12:
        return None
    slope = sum((rate.level - x_mean) * (rate.solved - rate.n * y_mean) for rate in rates) / sxx
    rest = max(syy - slope**2 * sxx, 0.0)
    error = math.sqrt(rest / (n - 2) / sxx)
    t = slope / error if error > 1e-12 else math.copysign(math.inf, slope)
    return Wald(slope, t, t_quantile(ALPHA, n - 2))


def unfit(rates: Sequence[Rate]) -> str:
    """Why an environment is not kept: `trivial`, `impossible`, `flat`, `rising`; "" where its rate falls."""
    shares = [rate.solved / rate.n for rate in rates]
    if min(shares) >= TRIVIAL:
        return "trivial"
    if max(shares) <= IMPOSSIBLE:
        return "impossible"
    found = wald(rates)
    if found is None or not found.falls:
        return "rising" if found is not None and found.t >= -found.critical else "flat"
    return ""


def quality(rate: float) -> float:
    """EvoEnv's calibration reward of a solve rate in [0, 1]: highest at `TARGET`, 0 where all or none is solved."""
    return math.exp(-((rate - TARGET) ** 2) / (2 * WIDTH**2)) if 0.0 < rate < 1.0 else 0.0
