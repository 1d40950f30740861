"""Inverse filtering: testings that fewer solutions pass are better.

Source: Du 2025 (EvoSyn), figure 12. It prefers a testing that accepts nobody, which is why it scores badly.
"""


def rank(evidence):
    passed = evidence.passed
    return passed.sum(axis=1), len(passed) - passed.sum(axis=0)
