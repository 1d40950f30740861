"""Adaptive spending: start with few solutions and testings, stop where more would not change the outcome, else grow.

The paper draws the same M x N for every problem and finds that usable data grows only with the logarithm of the
executions (Du 2025, figure 4b). Here a problem stops early when its ranking is *settled* (independent testings agree
with the chosen one on whom they accept, and the best solution is not alone) or *hopeless* (nothing passes anything, or
everything passes everything); only undecided problems grow, up to the full M x N. Slots are the same as in a fixed run,
so a problem that grows to the end gets exactly what a fixed run would have given it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from evosyn.records import PassMatrix
from evosyn.synthesis.prune import Decision


class Outlook(StrEnum):
    """What more samples would bring."""

    SETTLED = "settled"
    HOPELESS = "hopeless"
    OPEN = "open"


class AdaptiveConfig(BaseModel):
    """When to stop.

    Attributes:
        start: solutions and testings of the first round.
        growth: factor of both from round to round.
        support: testings that must accept exactly the same solutions as the chosen one, itself included.
        share: share of the solutions that must behave like the best one on all testings.
        give_up: solutions and testings from which a problem without any variation is hopeless.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int = Field(default=4, ge=2)
    growth: float = Field(default=2.0, gt=1.0, le=4.0)
    support: int = Field(default=2, ge=1)
    share: float = Field(default=0.25, ge=0.0, le=1.0)
    give_up: int = Field(default=8, ge=2)


class Size(NamedTuple):
    """Solutions and testings drawn in all after a round."""

    solutions: int
    testings: int


def rounds(config: AdaptiveConfig | None, solutions: int, testings: int) -> list[Size]:
    """The sizes of all rounds, growing to (M, N); one round without a configuration."""
    sizes = []
    size = float(config.start) if config is not None else float(max(solutions, testings))
    while config is not None and size < max(solutions, testings):
        sizes.append(Size(min(round(size), solutions), min(round(size), testings)))
        size *= config.growth
    return [*sizes, Size(solutions, testings)]


def outlook(matrix: PassMatrix, decision: Decision, config: AdaptiveConfig) -> Outlook:
    """What more samples of this problem would bring.

    Args:
        matrix: of all samples so far, shape (M, N).
        decision: what the pruning says of it now.
    """
    passed_MN = matrix.passed_MN
    M, N = passed_MN.shape
    if min(M, N) >= config.give_up and (passed_MN.all() or not passed_MN.any()):
        return Outlook.HOPELESS
    choice = decision.chosen
    if decision.reason or choice is None:
        return Outlook.OPEN
    accepted_M = passed_MN[:, choice.testing]
    if accepted_M.all():
        return Outlook.OPEN
    agreeing = int((passed_MN == accepted_M[:, None]).all(axis=0).sum())
    alike = int((passed_MN == passed_MN[choice.best]).all(axis=1).sum())
    settled = agreeing >= config.support and alike >= max(2, int(np.ceil(config.share * M)))
    return Outlook.SETTLED if settled else Outlook.OPEN
