"""Every testing errs independently, with its own rates for right and for wrong solutions: estimated together.

Source: Dawid 1979, the estimation-maximisation of observers' error rates, with solutions as patients and testings as
observers. A testing is worth its rate on right solutions minus that on wrong ones (Youden's index).
"""

import numpy as np


def rank(evidence):
    passed = evidence.passed.astype(float)
    share = passed.mean(axis=1)
    right = 0.1 + 0.8 * (share - share.min()) / max(share.max() - share.min(), 1e-9)
    for _ in range(30):
        on_right = (right @ passed + 1.0) / (right.sum() + 2.0)
        on_wrong = ((1.0 - right) @ passed + 1.0) / ((1.0 - right).sum() + 2.0)
        odds = passed @ np.log(on_right / on_wrong) + (1.0 - passed) @ np.log((1.0 - on_right) / (1.0 - on_wrong))
        prior = (right.sum() + 1.0) / (len(right) + 2.0)
        right = 1.0 / (1.0 + np.exp(-np.clip(odds + np.log(prior / (1.0 - prior)), -30.0, 30.0)))
    return np.round(odds, 9), np.round(on_right - on_wrong, 9)
