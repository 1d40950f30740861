"""`synthesize --shard-size --runner ray` on a cluster of three nodes: the dataset of one machine, whoever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray_nodes

from evosyn.dataset import SETTINGS, iterate_dataset, parquet_files
from evosyn.strategies import load_strategy

pytestmark = pytest.mark.consumers


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_nodes.running(3) as made:
        yield made


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    strategy = tmp_path_factory.mktemp("strategy") / "gap.py"
    strategy.write_text(load_strategy("gap"))
    size = ["--problems", "6", "-M", "4", "-N", "3", "--teacher", "offline", "--allow-weak-sandbox"]
    return ["synthesize", str(strategy), "--seeds", "builtin:python-seeds", *size]


def begin(asked: list[str], out: Path, *more: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-P", "-m", "evosyn", *asked, "--out", str(out), *more]
    env = ray_nodes.environment()
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)


def sharded(asked: list[str], cluster: Any, out: Path, *more: str) -> subprocess.Popen[str]:
    places = ["--set", f"shards.store={out / 'store'}", "--set", f"shards.scratch={out.parent / 'scratch'}"]
    told = ["--shard-size", "1", "--set", "shards.ship_s=0.5", *places, *more]
    return begin(asked, out, *told, "--runner", f"ray:{cluster.address}")


def done(command: subprocess.Popen[str]) -> str:
    _, said = command.communicate(timeout=1200)
    assert command.returncode == 0, said
    return said


@pytest.fixture(scope="module")
def wanted(asked: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    out = tmp_path_factory.mktemp("here") / "d"
    done(begin(asked, out))
    return [list(iterate_dataset(out, setting)) for setting in SETTINGS]


def rows(out: Path) -> list[Any]:
    return [list(iterate_dataset(out, setting)) for setting in SETTINGS]


def calls(out: Path) -> list[str]:
    lines = [line for file in (out / "store" / "replies").rglob("*.jsonl") for line in file.read_text().splitlines()]
    return [str(event["key"]) for event in (json.loads(line[9:]) for line in lines) if event["event"] == "reply"]


def working(out: Path) -> list[int]:
    """The actors that have said that they work on rows."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        said = [json.loads(file.read_text()) for file in (out / "store" / "progress").glob("*.json")]
        found = [one for one in said if one["phase"] == "rows" and one["ended"] < one["asked"]]
        if found:
            return [int(one["worker"].rpartition("-")[2]) for one in found]
        time.sleep(0.1)
    raise AssertionError("no worker began on rows")


def test_a_worker_and_then_a_node_are_killed(asked: list[str], cluster: Any, wanted: list[Any], tmp_path: Path) -> None:
    out = tmp_path / "d"
    command = sharded(asked, cluster, out)
    os.kill(working(out)[0], signal.SIGKILL)
    node = sorted(cluster.worker_nodes, key=lambda one: str(one.node_id))[0]
    os.kill(ray_nodes.raylet(node), signal.SIGKILL)
    said = done(command)
    cluster.remove_node(node)
    ray_nodes.add(cluster)
    assert "came back from" in said
    assert rows(out) == wanted
    assert len(calls(out)) == len({*calls(out)}), (
        "scratch is on this machine's disk, which lives: nothing is paid twice"
    )


def test_a_driver_is_killed_and_its_run_goes_on(
    asked: list[str], cluster: Any, wanted: list[Any], tmp_path: Path
) -> None:
    out = tmp_path / "d"
    command = sharded(asked, cluster, out)
    working(out)
    command.kill()
    command.wait()
    done(sharded(asked, cluster, out))
    assert rows(out) == wanted
    first = [file.read_bytes() for setting in SETTINGS for file in parquet_files(out, setting)]
    assert first


def test_a_cluster_needs_a_place_that_all_its_nodes_reach(asked: list[str], cluster: Any, tmp_path: Path) -> None:
    command = begin(asked, tmp_path / "d", "--shard-size", "2", "--runner", f"ray:{cluster.address}")
    _, said = command.communicate(timeout=300)
    assert command.returncode == 2
    assert "shards.store" in said
