"""Dual execution agreement for solutions, and the gap of figure 3 computed on those scores for testings.

Source: Chen 2022 (CodeT), section 2.2, with Du 2025 (EvoSyn), figure 3.
"""

import numpy as np


def rank(evidence):
    passed = evidence.passed
    same = (passed[:, None, :] == passed[None, :, :]).all(axis=2)
    score = same.sum(axis=1) * passed.sum(axis=1)
    accepted = passed.sum(axis=0)
    rejected = len(passed) - accepted
    total_accepted = score @ passed
    mean_accepted = total_accepted / np.maximum(accepted, 1)
    mean_rejected = (score.sum() - total_accepted) / np.maximum(rejected, 1)
    return score, mean_accepted - mean_rejected
