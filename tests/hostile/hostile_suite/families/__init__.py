"""Every family of the suite: the one place where hostile texts stand."""

from __future__ import annotations

from hostile_suite.families import (
    company,
    exceptions,
    honest,
    honest_testings,
    makers,
    own_process,
    resources,
    status,
    strategies,
    streams,
    system,
    tamper,
    testings,
    texts,
    theft,
    theft_elsewhere,
    values,
)
from hostile_suite.model import Family

_MODULES = (
    *(theft, theft_elsewhere, status, values, exceptions, tamper, resources, system, texts),
    *(testings, own_process, makers, strategies, company, streams, honest, honest_testings),
)
FAMILIES: tuple[Family, ...] = tuple(family for module in _MODULES for family in module.FAMILIES)
