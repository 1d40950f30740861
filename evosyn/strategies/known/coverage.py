"""Coverage-based: pass counts for solutions; for a testing, the gap in pass counts, its own pass taken out.

Source: Du 2025 (EvoSyn), figure 11.
"""

import numpy as np


def rank(evidence):
    passed = evidence.passed
    count = passed.sum(axis=1)
    accepted = passed.sum(axis=0)
    rejected = len(passed) - accepted
    total_accepted = count @ passed
    mean_accepted = (total_accepted - accepted) / np.maximum(accepted, 1)
    mean_rejected = (count.sum() - total_accepted) / np.maximum(rejected, 1)
    return count, mean_accepted - mean_rejected
