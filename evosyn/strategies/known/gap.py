"""Best strategy of the paper: a testing is worth the gap in quality between those it accepts and those it rejects.

Source: Du 2025 (EvoSyn), figure 3. A solution's quality is the share of testings that it passes; an empty side of a
testing counts as zero.
"""

import numpy as np


def rank(evidence):
    passed = evidence.passed
    quality = passed.mean(axis=1)
    accepted = passed.sum(axis=0)
    rejected = len(passed) - accepted
    quality_accepted = quality @ passed
    mean_accepted = quality_accepted / np.maximum(accepted, 1)
    mean_rejected = np.where(rejected > 0, (quality.sum() - quality_accepted) / np.maximum(rejected, 1), 0.0)
    return quality, mean_accepted - mean_rejected
