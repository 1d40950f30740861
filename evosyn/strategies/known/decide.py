"""A decision about the worst solution, over dual execution agreement: is it likelier right, or wrong?

Criterion 2 looks at the verdicts of the best and of the worst solution. So the testing must accept the best, then say
of the worst what is likelier (right where it passes more than three in ten of all single checks), and only then tell
good from bad by the gap of figure 3. The layer fits any scores of solutions.

Source: ours, over the scores of Chen 2022 (CodeT), section 2.2; the criteria and the gap of Du 2025 (EvoSyn).
"""

import numpy as np

LIKELY = 0.3


def rank(evidence):
    passed = evidence.passed
    same = (passed[:, None, :] == passed[None, :, :]).all(axis=2)
    score = same.sum(axis=1) * passed.sum(axis=1)
    chance = np.concatenate(evidence.cases, axis=1).mean(axis=1)
    return score, decide(passed, score, chance)


def decide(passed, score, chance):
    best, worst = score == score.max(), score == score.min()
    verdict = passed[worst].mean(axis=0)
    if chance[worst].mean() < LIKELY - 1e-9:
        verdict = 1.0 - verdict
    accepted = passed.sum(axis=0)
    rejected = len(passed) - accepted
    total_accepted = score @ passed
    gap = total_accepted / np.maximum(accepted, 1) - (score.sum() - total_accepted) / np.maximum(rejected, 1)
    keys = np.round(np.stack([passed[best].mean(axis=0), verdict, gap], axis=1), 9)
    _, place = np.unique(keys, axis=0, return_inverse=True)
    return place.reshape(-1)
