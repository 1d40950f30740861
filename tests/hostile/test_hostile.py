"""Every hostile text, against every backend and in every mode: it harms itself and nothing else.

`make test` runs a drawn sample, `make test-long` all of it. A failure names its case and the seed:
`EVOSYN_TEST_SEED=... python -m pytest tests/hostile -k ...` has it again, and `python -m hostile_suite` (in
`tests/hostile`) shows its texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from hostile_suite.arenas import run_cells
from hostile_suite.backends import BACKENDS, Backend
from hostile_suite.drawing import alike, cases_of, sample
from hostile_suite.families import FAMILIES
from hostile_suite.findings import Tally
from hostile_suite.host import Host
from hostile_suite.model import Case, Family
from hostile_suite.ranking import run_strategies
from hostile_suite.rewards import run_rewards

Arena = Callable[[Backend, Host, Sequence[Case], Tally], None]
ARENAS: dict[str, Arena] = {"cells": run_cells, "rewards": run_rewards, "strategies": run_strategies}


@pytest.mark.parametrize("arena", ARENAS)
def test_a_drawn_sample_harms_nobody(
    arena: str, backend: Backend, host: Host, seed: str, record_property: Callable[[str, object], None]
) -> None:
    """Each backend has its share of it, so that every family is tried."""
    tally = Tally(backend.name, seed)
    for cases in alike(sample(seed, BACKENDS.index(backend.name), len(BACKENDS))):
        ARENAS[arena](backend, host, cases, tally)
    _settle(tally, record_property)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name.replace(" ", "-").replace("'", ""))
def test_a_family_harms_nobody(
    family: Family,
    backend: Backend,
    host: Host,
    seed: str,
    record_property: Callable[[str, object], None],
) -> None:
    tally = Tally(backend.name, seed)
    for run in ARENAS.values():
        run(backend, host, cases_of(family, seed), tally)
    _settle(tally, record_property)


def test_what_is_tried_on_is_what_a_user_gets(backend: Backend) -> None:
    protection = backend.sandbox().protection
    assert protection.level in ("strong", "medium")
    assert {"no TCP", "host files cannot be read", "host files cannot be written"} <= set(protection.holds)
    assert protection.backend == ("docker" if backend.name == "docker" else "local")
    if backend.name == "bwrap":
        assert protection.level == "strong"


def _settle(tally: Tally, record_property: Callable[[str, object], None]) -> None:
    """Hand the figures to the report, and fail where something was found."""
    record_property("hostile", json.loads(json.dumps(tally.to_json())))  # enums do not travel between test processes
    assert tally.cases
    listed = "\n".join(map(str, tally.findings))
    assert not tally.findings, f"seed {tally.seed}, {tally.backend}: {len(tally.findings)} findings\n{listed}"
