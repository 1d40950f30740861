"""Initial strategy: a solution counts its passes, a testing counts the solutions that it accepts.

Source: Du 2025 (EvoSyn), section 3.1, the two principles that evolution starts from.
"""


def rank(evidence):
    passed = evidence.passed
    return passed.sum(axis=1), passed.sum(axis=0)
