"""What is kept at each size: sizes that nothing has are left out, and the line through shares and executions."""

import numpy as np
import pytest

from evosyn.errors import UsageError
from evosyn.records import PassMatrix, Ranking
from evosyn.synthesis.retention import SizeRow, ablate_size, log_linear


class Counting:
    """Ranks by pass counts, in this process."""

    def rank(self, programs, evidences, tasks=None):  # noqa: ARG002
        return [
            tuple(Ranking(one.passed_MN.sum(1).astype(float), one.passed_MN.sum(0).astype(float)) for one in evidences)
            for _ in programs
        ]


def matrix(number, size):
    rng = np.random.default_rng(number)
    return PassMatrix(f"p{number}", np.where(rng.random((size, size)) < 0.5, "P", "F"))


def test_sizes_that_no_problem_has_are_left_out():
    many = [matrix(number, 7) for number in range(6)]
    assert [row.size for row in ablate_size(Counting(), many, "", [4, 8, 16], 2, 0)] == [4]
    with pytest.raises(UsageError, match="no problem has 8 solutions"):
        ablate_size(Counting(), many, "", [8, 16], 2, 0)


def rows(*shares):
    return [SizeRow(2**n, 9, share, (0, 0), share, 4**n * 9, 0.0, 0.0) for n, share in enumerate(shares, 1)]


def test_shares_on_a_line_over_the_logarithm_of_executions_fit_exactly():
    found = log_linear(rows(0.2, 0.4, 0.6, 0.8))
    assert found.per_doubling == pytest.approx(0.1) and found.r_squared == pytest.approx(1.0)
    assert found.at(36) == pytest.approx(0.2)
    assert log_linear(rows(0.1, 0.9, 0.1)).r_squared < 0.1
    assert log_linear(rows(0.1, 0.9)) is None
