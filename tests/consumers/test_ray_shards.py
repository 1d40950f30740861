"""Shards made by actors of a cluster that die, hang or are lost with it: the bytes of a run on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray_nodes
from shard_runs import PROBLEMS, awaited, begin, calls, content, done, strategy_in, undisturbed, working

from evosyn.journal import Journal
from evosyn.synthesis.shards.leasing import Leased, Returned, lease_events

pytestmark = pytest.mark.consumers


@pytest.fixture(scope="module")
def strategy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return strategy_in(tmp_path_factory.mktemp("strategy"))


@pytest.fixture(scope="module")
def wanted(strategy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed(strategy, tmp_path_factory.mktemp("one") / "d")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "d"  # the name of the run, which its cards tell


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_nodes.running(3) as made:
        yield made


def begin_there(cluster: Any, strategy: Path, out: Path) -> subprocess.Popen[str]:
    keys = (f"shards.store={out / 'shards'}", "shards.hung_s=5")
    there = ("--runner", f"ray:{cluster.address}", *(word for key in keys for word in ("--set", key)))
    return begin(strategy, out, *there, environment=ray_nodes.environment())


def lost(out: Path) -> list[str]:
    """Of each lease, in their order, that came back from a worker that was lost, the reason."""
    events = list(lease_events(Journal(out / "journal.jsonl")))
    assert sum(isinstance(one, Leased) for one in events) == sum(isinstance(one, Returned) for one in events)
    return [one.reason for one in events if isinstance(one, Returned) and one.status == "died"]


@pytest.mark.parametrize(("number", "named"), [(signal.SIGKILL, ""), (signal.SIGSTOP, "has not answered for 5 s")])
def test_an_actor_that_dies_or_hangs_gives_its_shard_back(
    cluster: Any, strategy: Path, wanted: Path, out: Path, number: signal.Signals, named: str
) -> None:
    command = begin_there(cluster, strategy, out)
    os.kill(awaited(lambda: working(out), command)[0], number)
    done(command)
    (reason,) = lost(out)
    assert named in reason
    assert content(out) == content(wanted)
    assert calls(out) == calls(wanted), "no reply is lost, none is paid twice"


def test_a_node_that_is_lost_costs_executions_and_no_replies(
    cluster: Any, strategy: Path, wanted: Path, out: Path
) -> None:
    command = begin_there(cluster, strategy, out)
    pid = awaited(lambda: working(out), command)[0]
    node = next(one for one in cluster.worker_nodes if pid in ray_nodes.tree(ray_nodes.raylet(one)))
    ray_nodes.lose(node)
    done(command)
    assert len(lost(out)) == 1
    assert content(out) == content(wanted)
    assert calls(out) == calls(wanted)


def test_a_head_that_is_killed_with_its_cluster_goes_on_on_another(strategy: Path, wanted: Path, out: Path) -> None:
    with ray_nodes.running(2) as doomed:
        command = begin_there(doomed, strategy, out)
        awaited(lambda: working(out), command)
        for pid in (command.pid, ray_nodes.gcs(doomed), *map(ray_nodes.raylet, doomed.list_all_nodes())):
            os.kill(pid, signal.SIGKILL)
        command.wait()
    with ray_nodes.running(2) as other:
        done(begin_there(other, strategy, out))
    assert content(out) == content(wanted)
    assert calls(out) == calls(wanted)
    assert len([one for one in lease_events(Journal(out / "journal.jsonl")) if isinstance(one, Leased)]) > 2 * PROBLEMS
