"""What a draft is worth to its author: how far it came, how well it suits the student, how new it is. Pure.

EvoEnv (section 3.3), whose values are blank in the text at hand: the width of the quality, -1, gamma from 2 to 5
between similarities of 0.45 and 0.65, the memory of the average, and the scale are ours. docs/coevolve.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evosyn.environments.calibration import quality
from evosyn.environments.contract import LEVELS
from evosyn.environments.novelty import MIX, views
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.selfplay.config import EnvironmentArm

RUNS = 2
"""The rung from which on a draft is not punished, and paid for being new."""
LEAST, MOST = 2.0, 5.0
LOW, HIGH = 0.45, 0.65
MEMORY = 0.9


def pressure(alike: float) -> float:
    """How much novelty counts (gamma), by how much alike the drafts of a batch have been."""
    return LEAST + (MOST - LEAST) * min(max((alike - LOW) / (HIGH - LOW), 0.0), 1.0)


def alike_after(alike: float, batch: float | None) -> float:
    """The moving average after a batch; as it was where there was none to compare."""
    return alike if batch is None else MEMORY * alike + (1 - MEMORY) * batch


def batch_alike(drafts: Sequence[Draft]) -> float | None:
    """Mean over drafts of the greatest similarity to another one; None of fewer than two."""
    if len(drafts) < 2:
        return None
    both = [views(one.environment, one.prompts) for one in drafts]
    prompts_EV, codes_EV = (np.stack([one[view] for one in both]) for view in (0, 1))
    alike_EE = MIX * prompts_EV @ prompts_EV.T + (1 - MIX) * codes_EV @ codes_EV.T
    np.fill_diagonal(alike_EE, -1.0)
    return round(float(alike_EE.max(axis=1).mean()), 6)


def worth_of(level: int, rate: float | None, novelty: float, alike: float, arm: EnvironmentArm) -> float | None:
    """The reward of a draft, in [-1, 2]; None where the rate that it depends on is not known. No review is an argument.

    Args:
        level: the last rung that it stands on.
        rate: how often the student was right, on the last rung; None where nobody could judge.
        novelty: 0 for what is there already, up to 1.
    """
    if level < RUNS:
        return -1.0
    base = 0.0
    if level == LEVELS:
        if arm.quality and rate is None:
            return None
        base = quality(rate or 0.0) if arm.quality else 1.0
    return round(base + (pressure(alike) * novelty / MOST if arm.novelty else 0.0), 6)
