"""The few statistics of training and evaluation: unbiased pass@k, bootstrap over problems, paired intervals over seeds.

Pass@k: Chen 2021 (2107.03374), equation 1. Nothing here knows models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evosyn.evaluators.intervals import NO_ENDS, resampled, totals
from evosyn.quantiles import t_quantile
from evosyn.randomness import SeedTree


class MeanInterval(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Chance that at least one of `k` samples passes, from `passed` of `samples`; unbiased for `k <= samples`.

    Raises:
        ValueError: `k` is larger than `samples`, or `passed` is.
    """
    if not 0 <= passed <= samples or not 1 <= k <= samples:
        raise ValueError(f"pass@{k} from {passed} of {samples} samples")
    if samples - passed < k:
        return 1.0
    return 1.0 - math.prod((samples - passed - place) / (samples - place) for place in range(k))


def bootstrap(values: Sequence[float], seeds: SeedTree) -> MeanInterval:
    """Mean over problems with the percentile bootstrap interval; its ends are nan where the values are too few for
    one."""
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return MeanInterval(math.nan, *NO_ENDS)
    return MeanInterval(float(data.mean()), *(resampled(seeds.rng(), totals(data)) or NO_ENDS))


def t_interval(values: Sequence[float]) -> MeanInterval:
    """Mean over seeds with Student's 95 % interval; of paired differences where the values are such."""
    data = np.asarray(values, dtype=np.float64)
    mean = float(data.mean()) if len(data) else math.nan
    if len(data) < 2:
        return MeanInterval(mean, math.nan, math.nan)
    half = t_quantile(0.975, len(data) - 1) * float(data.std(ddof=1)) / math.sqrt(len(data))
    return MeanInterval(mean, mean - half, mean + half)
