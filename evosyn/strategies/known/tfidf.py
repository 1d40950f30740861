"""TF-IDF-like: passing a testing that few solutions pass counts more, and such a testing is worth more.

Source: Du 2025 (EvoSyn), figure 10.
"""

import numpy as np


def rank(evidence):
    passed = evidence.passed
    accepted = passed.sum(axis=0)
    rarity = np.where(accepted > 0, 1.0 / np.maximum(accepted, 1), 0.0)
    return passed @ rarity, rarity
