"""Hardness-aware: solutions by the mean strictness of what they pass, then by how much; all-or-none testings are fined.

Source: Du 2025 (EvoSyn), figure 14. The two keys of the solutions are compared one after the other; the fines are added
to the strictness of the testings.
"""

import numpy as np


def rank(evidence):
    passed = evidence.passed
    total = len(passed)
    accepted = passed.sum(axis=0)
    strictness = total - accepted
    count = passed.sum(axis=1)
    mean_strictness = passed @ strictness / np.maximum(count, 1)
    keys = np.stack([mean_strictness, count], axis=1)
    _, place = np.unique(keys, axis=0, return_inverse=True)
    fine = np.where(accepted == 0, -100 * total, np.where(accepted == total, -50 * total, 0))
    return place.reshape(-1), strictness + fine
