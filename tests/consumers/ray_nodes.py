"""A Ray cluster of several nodes on this machine, and what can happen to them. It has a token, as users should have."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STORE = 80 << 20
TOKEN = "1234567890abcdef" * 4


def environment() -> dict[str, str]:
    """What such a cluster and its drivers are started with; no Docker sandbox can be opened there."""
    told = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
    return {**os.environ, **told, "EVOSYN_SANDBOX_IMAGE": "no-such-image"}


@contextmanager
def running(nodes: int) -> Iterator[Any]:
    """A head without CPUs and so many nodes of one CPU."""
    os.environ.update(environment())
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(nodes):
            add(cluster)
        yield cluster
    finally:
        cluster.shutdown()


def add(cluster: Any, **more: Any) -> Any:
    """One more node."""
    return cluster.add_node(num_cpus=1, object_store_memory=STORE, **more)


def raylet(node: Any) -> int:
    """The process that is the node."""
    return int(node.all_processes["raylet"][0].process.pid)


def lose(node: Any) -> None:
    """What a machine that loses its power does to a cluster: all its processes are gone at once."""
    _send([raylet(node), *tree(raylet(node))], signal.SIGKILL)


def gcs(cluster: Any) -> int:
    """The process that is the head."""
    return int(cluster.head_node.all_processes["gcs_server"][0].process.pid)


def actors(node: Any) -> list[int]:
    """The processes of our actors on a node."""
    return [pid for pid in tree(raylet(node)) if "ray::NodeSandbox" in _line(pid)]


@contextmanager
def slowed(pid: int, times: int) -> Iterator[None]:
    """The process and all that it started get a share of the time."""
    done = threading.Event()

    def slow() -> None:
        while not done.is_set():
            held = [pid, *tree(pid)]
            _send(held, signal.SIGSTOP)
            time.sleep(0.01 * (times - 1))
            _send(held, signal.SIGCONT)
            time.sleep(0.01)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def tree(pid: int) -> list[int]:
    """The processes below one."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *tree(int(child))]
    return found


def _line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""
