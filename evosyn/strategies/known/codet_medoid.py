"""Dual execution agreement, and among the tied the solution whose text is most like all the others (their medoid).

Source: Chen 2022 (CodeT), section 2.2, for the scores; the medoid of texts as in Jain 2023 (self-consistency by n-gram
similarity, "Lightweight reranking for language model generations"), section 3. Testings by the gap of figure 3 of Du
2025 (EvoSyn) on the scores without the medoid. Where no texts are known the tied stay tied.
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
    likeness = 0.0 if evidence.solution_similarity is None else evidence.solution_similarity.mean(axis=1)
    return score + 0.9 * likeness, mean_accepted - mean_rejected
