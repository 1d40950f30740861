"""Limits in configuration files: CPU time first."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from evosyn.jobs import Limits
from evosyn.limits import LimitsConfig


def test_the_wall_clock_is_a_backstop_far_behind_the_cpu_limit() -> None:
    assert LimitsConfig(cpu_s=2.0).limits == Limits(2.0, 15.0, 30.0, 1024)
    assert Limits(cpu_s=1.0).wall_s == 10.0


def test_nothing_computes_for_longer_than_it_may_take() -> None:
    assert Limits(wall_s=0.5).cpu_s == 0.5


def test_an_unknown_limit_is_refused() -> None:
    with pytest.raises(ValidationError, match="cpu_seconds"):
        LimitsConfig.model_validate({"cpu_seconds": 3})
