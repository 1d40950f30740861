"""Minimum Bayes risk by execution: solutions whose values on the asserted calls agree with those of most others.

Source: Shi 2022 (MBR-EXEC), section 3, with the share of calls on which two solutions agree as the (negative) risk. It
looks at what solutions return and not at whether a testing accepts it, so it needs the values. MBR does not rank
testings; here by the gap of figure 3 of Du 2025 (EvoSyn) on these scores.
"""

import numpy as np


def rank(evidence):
    if evidence.values is None:
        raise ValueError("MBR compares what solutions returned")
    passed = evidence.passed
    agreement = np.eye(len(passed))
    asked = [values for values in evidence.values if values is not None]
    if asked:
        values = np.concatenate(asked, axis=1)
        given = values != 0
        both = ((values[:, None, :] == values[None, :, :]) & given[:, None, :]).sum(axis=2)
        either = (given[:, None, :] | given[None, :, :]).sum(axis=2)
        agreement = both / np.maximum(either, 1)
    score = agreement.mean(axis=1)
    accepted = passed.sum(axis=0)
    rejected = len(passed) - accepted
    total_accepted = score @ passed
    mean_accepted = total_accepted / np.maximum(accepted, 1)
    return score, mean_accepted - (score.sum() - total_accepted) / np.maximum(rejected, 1)
