"""Dual execution agreement: solutions that pass the same testings vouch for each other.

Source: Chen 2022 (CodeT), section 2.2: solutions with the same passed testings form a consensus set, scored by the
number of its solutions times the number of its testings. CodeT does not rank testings; here a testing collects the
scores of the consensus sets that pass it.
"""


def rank(evidence):
    passed = evidence.passed
    same = (passed[:, None, :] == passed[None, :, :]).all(axis=2)
    score = same.sum(axis=1) * passed.sum(axis=1)
    return score, score @ passed
