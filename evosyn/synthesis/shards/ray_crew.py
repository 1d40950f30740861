"""Workers on a Ray cluster: an actor a node, which asks models from there and uses the sandbox of that machine.

An actor ends with the process that began it; what it had is in shared storage. Joining a cluster is
`running.cluster`. docs/scale.md.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evosyn.errors import UnavailableError
from evosyn.jobs import Protection
from evosyn.running.cluster import ClusterNode, nodes_of, unlike
from evosyn.sources import code_version
from evosyn.synthesis.shards.crews import EndedOrder
from evosyn.synthesis.shards.orders import ShardOrder, ShardOutcome, ShardSetup
from evosyn.synthesis.shards.work import open_workbench, work

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""Seconds between two looks at which nodes there are."""
START_S = 300.0
"""Seconds for an actor to start and to say what it is."""


class WorkerHello(NamedTuple):
    """What a worker says of its node."""

    version: str
    protection: Protection


class ShardActor:
    """What does the orders on a node."""

    def __init__(self, setup: ShardSetup) -> None:
        self._setup = setup

    def hello(self, order: ShardOrder) -> WorkerHello:
        """
        Raises:
            SandboxUnavailable: the sandbox does not work on this node.
        """
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder, open_workbench(self._setup, order, Path(folder)) as workbench:
            return WorkerHello(code_version(), workbench.sandbox.protection)

    def work(self, order: ShardOrder) -> ShardOutcome:
        return work(self._setup, order)

    def pulse(self) -> bool:
        """That it is there."""
        return True


@dataclass
class _NodeWorker:
    """
    Attributes:
        hello, work, pulse: what is awaited of it; since: when it was last heard of.
        order: None where it has none; `admitted` once its node was found to be as the others are.
    """

    handle: Any
    hello: Any
    since: float
    work: Any = None
    pulse: Any = None
    order: ShardOrder | None = None
    admitted: bool = False


class RayCrew:
    """Implements `Crew` over the nodes of a cluster.

    Args:
        hung_s: seconds for which an actor may not answer.
    """

    def __init__(self, ray: Any, setup: ShardSetup, hung_s: float) -> None:
        self._ray, self._setup, self._hung_s = ray, setup, hung_s
        self._actors: dict[str, _NodeWorker] = {}
        self._refused: set[str] = set()
        self._protection: Protection | None = None
        self._looked = float("-inf")

    def free(self) -> Sequence[str]:
        self._look()
        return [name for name, actor in self._actors.items() if actor.admitted and actor.order is None]

    def begin(self, worker: str, order: ShardOrder) -> None:
        actor = self._actors[worker]
        actor.order, actor.work, actor.since = order, actor.handle.work.remote(order), time.monotonic()

    def ended(self, seconds: float) -> list[EndedOrder]:
        busy = {actor.work: name for name, actor in self._actors.items() if actor.order is not None}
        if not busy:
            time.sleep(min(seconds, 0.2))
            return []
        self._ray.wait(list(busy), timeout=seconds)
        ready = self._ray.wait(list(busy), num_returns=len(busy), timeout=0)[0]
        found = [self._taken(busy[reference]) for reference in ready]
        return found + [self._lost(name, reason) for name, reason in self._silent()]

    def close(self) -> None:
        for name in list(self._actors):
            self._end(name)

    def _taken(self, name: str) -> EndedOrder:
        actor = self._actors[name]
        order, actor.order = actor.order, None
        assert order is not None
        try:
            return EndedOrder(name, order, self._ray.get(actor.work))
        except self._ray.exceptions.RayError as error:
            actor.order = order
            return self._lost(name, str(error).strip().splitlines()[0][:300])

    def _lost(self, name: str, reason: str) -> EndedOrder:
        """An actor that is dead or does not answer: it is killed, and begun anew where its node is there."""
        order = self._actors[name].order
        assert order is not None
        self._end(name)
        self._looked = float("-inf")
        return EndedOrder(name, order, ShardOutcome("died", reason))

    def _silent(self) -> list[tuple[str, str]]:
        """Those with an order that have not answered for too long; asks all others again."""
        found = []
        for name, actor in self._actors.items():
            if actor.order is None:
                continue
            if actor.pulse is None or self._ray.wait([actor.pulse], timeout=0)[0]:
                actor.since = time.monotonic() if actor.pulse is not None else actor.since
                actor.pulse = actor.handle.pulse.options(concurrency_group="pulse").remote()
            if time.monotonic() - actor.since > self._hung_s:
                found.append((name, f"has not answered for {self._hung_s:.0f} s"))
        return found

    def _look(self) -> None:
        """Actors for nodes that came, none for those that went; those that have started are admitted or refused."""
        if time.monotonic() - self._looked > LOOK_S:
            self._looked, there = time.monotonic(), nodes_of(self._ray)
            for name in there.keys() - self._actors.keys() - self._refused:
                self._actors[name] = self._begun(there[name])
            for name in [name for name, actor in self._actors.items() if name not in there and actor.order is None]:
                self._end(name)
            if not self._actors:
                raise UnavailableError(f"no node of the Ray cluster can be used ({len(self._refused)} refused)")
        waiting = [name for name, actor in self._actors.items() if not actor.admitted]
        for name in waiting:
            actor = self._actors[name]
            if self._ray.wait([actor.hello], timeout=0)[0]:
                self._admit(name, actor)
            elif time.monotonic() - actor.since > START_S:
                self._refuse(name, f"did not start in {START_S:.0f} s")

    def _begun(self, node: ClusterNode) -> _NodeWorker:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        kind = self._ray.remote(
            num_cpus=0,
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"pulse": 1},
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        )(ShardActor)
        handle = kind.remote(self._setup)
        return _NodeWorker(handle, handle.hello.remote(ShardOrder("rows", 0, "hello")), time.monotonic())

    def _admit(self, name: str, actor: _NodeWorker) -> None:
        try:
            hello: WorkerHello = self._ray.get(actor.hello)
        except (self._ray.exceptions.RayError, UnavailableError) as error:
            self._refuse(name, str(error).strip().splitlines()[-1][:300])
            return
        wanted = self._protection or hello.protection
        if reason := unlike(hello.version, hello.protection, wanted):
            self._refuse(name, reason)
        else:
            actor.admitted, self._protection = True, wanted

    def _refuse(self, name: str, reason: str) -> None:
        log.warning("node %s is not used: %s", name, reason)
        self._refused.add(name)
        self._end(name)

    def _end(self, name: str) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError, RuntimeError, ValueError):  # it may be gone
            self._ray.kill(self._actors.pop(name).handle, no_restart=True)
