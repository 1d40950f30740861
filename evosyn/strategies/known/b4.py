"""Bayesian consistency: how likely it is that just one consensus set and the testings that it passes are right.

Source: Chen 2024 (B4, ASE), section 4: with Beta priors on how many solutions and testings are right and on how often
wrong solutions pass right and wrong testings, the posterior of each consensus set has a closed form. Priors as in the
paper's package for generated code: Beta(1000, 1) for the shares of right ones, Beta(1, 10000) for wrong solutions that
pass wrong testings. B4 does not rank testings; here they are ranked by the gap of figure 3 of Du 2025 (EvoSyn) on the
logarithm of the posterior.
"""

import math

import numpy as np


def rank(evidence):
    passed = evidence.passed.astype(float)
    same = (passed[:, None, :] == passed[None, :, :]).all(axis=2)
    posterior = np.array([consistency(passed, group) for group in same])
    accepted = passed.sum(axis=0)
    rejected = len(passed) - accepted
    score = posterior - posterior.min()
    total_accepted = score @ passed
    gap = total_accepted / np.maximum(accepted, 1) - (score.sum() - total_accepted) / np.maximum(rejected, 1)
    return posterior, np.round(gap, 9)


def consistency(passed, group):
    right = passed[group][0] > 0
    wrong = passed[~group]
    on_right, on_wrong = wrong[:, right], wrong[:, ~right]
    return (
        log_beta(group.sum(), len(group), 1000.0, 1.0)
        + log_beta(right.sum(), len(right), 1000.0, 1.0)
        + log_beta(on_right.sum(), on_right.size, 1.0, 1.0)
        + log_beta(on_wrong.sum(), on_wrong.size, 1.0, 10000.0)
    )


def log_beta(hits, size, alpha, beta):
    a, b = alpha + hits, beta + size - hits
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
