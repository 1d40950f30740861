"""The one seed of a test run: EVOSYN_TEST_SEED, or new for each run and printed, so that a failure can be had again."""

from __future__ import annotations

import os
import random

VARIABLE = "EVOSYN_TEST_SEED"


def run_seed() -> str:
    """The seed of this run; all processes of it get the same by the environment."""
    return os.environ.setdefault(VARIABLE, str(random.SystemRandom().randrange(10**9)))
