"""Adaptive spending: start with few solutions and testings, stop where more would not change the outcome, else grow.

The paper draws the same M x N for every problem and finds that usable data grows only with the logarithm of the
executions (Du 2025, figure 4b). Here a problem stops early when it is *settled* (it would be kept, and its testing
tells solutions apart) or *hopeless* (nothing passes anything, or everything passes everything); only undecided problems
grow, up to the full M x N. Slots are the same as in a fixed run, so a problem that grows to the end gets exactly what a
fixed run would have given it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from evosyn.configs.sampling import AdaptiveConfig
from evosyn.records import PassMatrix
from evosyn.synthesis.prune import Decision


class Outlook(StrEnum):
    """What more samples would bring."""

    SETTLED = "settled"
    HOPELESS = "hopeless"
    OPEN = "open"


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
        matrix: of all samples so far as it was ranked, shape (M, N).
        decision: what the pruning says of it now.
    """
    passed_MN = matrix.passed_MN
    if min(passed_MN.shape) >= config.give_up and (passed_MN.all() or not passed_MN.any()):
        return Outlook.HOPELESS
    choice = decision.chosen
    if decision.reason or choice is None:
        return Outlook.OPEN
    accepted_M = np.asarray(passed_MN[:, decision.columns].all(axis=1))
    if accepted_M.all():
        return Outlook.OPEN
    agreeing = np.flatnonzero((passed_MN == accepted_M[:, None]).all(axis=0)).tolist()
    if decision.joined and matrix.replies_N is not None:
        agreeing = list({reply for column in agreeing for reply in matrix.replies_N[column]})
    return Outlook.SETTLED if len(agreeing) >= config.support else Outlook.OPEN
