"""Shards made by processes that are killed: the same bytes as made by one that was not."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from shard_runs import PROBLEMS, awaited, begin, calls, content, done, strategy_in, undisturbed, working

from evosyn.journal import Journal
from evosyn.synthesis.shards.leasing import Leased, Returned, lease_events

pytestmark = pytest.mark.long
WORKERS = ("--set", "shards.workers=3")


@pytest.fixture(scope="module")
def strategy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return strategy_in(tmp_path_factory.mktemp("strategy"))


@pytest.fixture(scope="module")
def wanted(strategy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed(strategy, tmp_path_factory.mktemp("one") / "d")


def test_one_of_three_workers_is_killed_in_the_middle_of_a_shard(strategy: Path, wanted: Path, tmp_path: Path) -> None:
    out = tmp_path / "d"
    command = begin(strategy, out, *WORKERS)
    os.kill(awaited(lambda: working(out), command)[0], signal.SIGKILL)
    done(command)
    events = list(lease_events(Journal(out / "journal.jsonl")))
    assert [one.status for one in events if isinstance(one, Returned)].count("died") == 1
    assert sum(isinstance(one, Leased) for one in events) == 2 * PROBLEMS + 1
    assert content(out) == content(wanted)
    assert calls(out) == calls(wanted), "no reply is lost, none is paid twice"


def test_a_killed_driver_is_resumed_while_its_orphans_go_on(strategy: Path, wanted: Path, tmp_path: Path) -> None:
    out = tmp_path / "d"
    command = begin(strategy, out, *WORKERS)
    orphans = awaited(lambda: working(out), command)
    command.kill()
    command.wait()
    done(begin(strategy, out))
    assert content(out) == content(wanted)
    assert calls(out) == calls(wanted)
    assert orphans
