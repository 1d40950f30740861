"""Exclusion-based: a testing is worth the mean pass count of the solutions it accepts, its own pass taken out.

Source: Du 2025 (EvoSyn), figure 13.
"""

import numpy as np


def rank(evidence):
    passed = evidence.passed
    count = passed.sum(axis=1)
    accepted = passed.sum(axis=0)
    return count, (count @ passed - accepted) / np.maximum(accepted, 1)
