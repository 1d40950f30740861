"""Quantiles of Student's t, for all who say how sure a mean or a slope is.

Abramowitz and Stegun, 26.7.3 and 26.7.4 (the share within, a finite sum) and 26.7.5 (the expansion around the normal
quantile).
"""

from __future__ import annotations

import math
from statistics import NormalDist

SUMMED = 100
"""Degrees of freedom up to which the sum is inverted; from there on the expansion is exact to 1e-6."""
HALVINGS = 60


def t_quantile(share: float, freedom: int) -> float:
    """The value that a draw of Student's t stays below in this share of all cases.

    Args:
        share: in (0, 1).
        freedom: degrees of freedom, 1 or more.

    Raises:
        ValueError: one of them is out of its range.
    """
    if not 0 < share < 1 or freedom < 1:
        raise ValueError(f"t_quantile: a share between 0 and 1, a freedom of at least 1 (got {share}, {freedom})")
    if freedom > SUMMED:
        return _expanded(NormalDist().inv_cdf(share), freedom)
    low, high, within = 0.0, math.pi / 2, abs(2 * share - 1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < within else (low, middle)
    return math.copysign(math.sqrt(freedom) * math.tan(low), share - 0.5)


def _within(angle: float, freedom: int) -> float:
    """The share of draws from -t to t, where t is sqrt(freedom) times the tangent of the angle."""
    sine, cosine, odd = math.sin(angle), math.cos(angle), freedom % 2
    total, term = (2 / math.pi * angle, 2 / math.pi * sine * cosine) if odd else (0.0, sine)
    for number in range(2 + odd, freedom, 2):
        total += term
        term *= cosine**2 * (number - 1) / number
    return total + term if freedom > 1 else total


def _expanded(z: float, freedom: int) -> float:
    terms: tuple[float, ...] = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + math.fsum(term / freedom ** (power + 1) for power, term in enumerate(terms))
