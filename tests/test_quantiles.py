"""Quantiles of Student's t, against printed ones."""

from itertools import pairwise

import pytest

from evosyn.quantiles import SUMMED, t_quantile

TABLE = {
    0.975: {1: 12.7062, 2: 4.3027, 4: 2.7764, 10: 2.2281, 30: 2.0423, 31: 2.0395, 100: 1.9840, 1000: 1.9623},
    0.95: {1: 6.3138, 18: 1.7341, 38: 1.6860, 78: 1.6646, 120: 1.6577, 1000: 1.6464},
    0.995: {1: 63.6567, 5: 4.0321, 60: 2.6603, 120: 2.6174},
}
"""Upper quantiles by share and degrees of freedom."""


@pytest.mark.parametrize("share", TABLE)
def test_quantiles_are_those_of_the_tables(share: float) -> None:
    for freedom, value in TABLE[share].items():
        assert t_quantile(share, freedom) == pytest.approx(value, abs=6e-5)
        assert t_quantile(1 - share, freedom) == pytest.approx(-value, abs=6e-5)


@pytest.mark.parametrize("share", [0.6, 0.975, 0.999])
def test_more_freedom_never_gives_a_wider_interval(share: float) -> None:
    found = [t_quantile(share, freedom) for freedom in range(1, 2 * SUMMED)]
    assert all(more < fewer for fewer, more in pairwise(found))
    assert t_quantile(0.5, 7) == t_quantile(0.5, 700) == 0.0


@pytest.mark.parametrize(("share", "freedom"), [(0.0, 5), (1.0, 5), (0.975, 0), (float("nan"), 5)])
def test_what_has_no_quantile_is_refused(share: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="t_quantile"):
        t_quantile(share, freedom)
