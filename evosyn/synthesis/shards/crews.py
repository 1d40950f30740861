"""Who works on shards: this process, or several of this machine. Those of a cluster are `shards.ray_crew`."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import NamedTuple, Protocol

from evosyn.synthesis.shards.orders import ShardOrder, ShardOutcome, ShardSetup
from evosyn.synthesis.shards.work import Opened, work, worker_name


class EndedOrder(NamedTuple):
    """A worker is done with an order, or is gone."""

    worker: str
    order: ShardOrder
    outcome: ShardOutcome


class Crew(Protocol):
    """Workers by name; each has one order at a time."""

    def free(self) -> Sequence[str]:
        """Those that have none."""
        ...

    def begin(self, worker: str, order: ShardOrder) -> None:
        """Give one an order."""
        ...

    def ended(self, seconds: float) -> list[EndedOrder]:
        """What has ended; waits so long for something to end. A worker that is gone is free again, begun anew, or no
        longer named."""
        ...

    def close(self) -> None:
        """Let go of all; what they have not finished is kept."""
        ...


class Alone:
    """This process does the orders itself, one after the other."""

    def __init__(self, setup: ShardSetup, opened: Opened | None = None) -> None:
        self._setup, self._opened = setup, opened
        self._given: deque[ShardOrder] = deque()

    def free(self) -> Sequence[str]:
        return [] if self._given else [worker_name()]

    def begin(self, worker: str, order: ShardOrder) -> None:  # noqa: ARG002
        self._given.append(order)

    def ended(self, seconds: float) -> list[EndedOrder]:
        if not self._given:
            time.sleep(min(seconds, 0.1))
            return []
        found = work(self._setup, self._given[0], self._opened)
        return [EndedOrder(worker_name(), self._given.popleft(), found)]

    def close(self) -> None:
        return None


class _Worker(NamedTuple):
    process: multiprocessing.process.BaseProcess
    wire: Connection


class Processes:
    """So many processes of this machine. One that dies is replaced; if this one dies they end after their orders."""

    def __init__(self, setup: ShardSetup, count: int) -> None:
        self._setup, self._context = setup, multiprocessing.get_context("spawn")
        self._workers: dict[str, _Worker] = {}
        self._orders: dict[str, ShardOrder] = {}
        for _ in range(count):
            self._start()

    def free(self) -> Sequence[str]:
        return [name for name in self._workers if name not in self._orders]

    def begin(self, worker: str, order: ShardOrder) -> None:
        self._orders[worker] = order
        with contextlib.suppress(BrokenPipeError):  # it is gone, which `ended` finds
            self._workers[worker].wire.send(order)

    def ended(self, seconds: float) -> list[EndedOrder]:
        wires = {self._workers[name].wire: name for name in self._orders}
        found = []
        for wire in wait(list(wires), timeout=seconds):
            name = wires[wire]  # type: ignore[index]
            order = self._orders.pop(name)
            try:
                found.append(EndedOrder(name, order, self._workers[name].wire.recv()))
            except (EOFError, ConnectionResetError):
                gone = self._workers.pop(name)
                gone.process.join()
                found.append(
                    EndedOrder(name, order, ShardOutcome("died", f"its process ended with {gone.process.exitcode}"))
                )
                self._start()
        return found

    def close(self) -> None:
        for name, worker in self._workers.items():
            worker.wire.close()
            if name in self._orders:
                worker.process.terminate()
            worker.process.join()

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._setup))
        process.start()
        theirs.close()
        self._workers[f"process {process.pid}"] = _Worker(process, ours)


def _serve(wire: Connection, setup: ShardSetup) -> None:
    """What a process does: one order after the other, for as long as somebody gives it some."""
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        while True:
            order: ShardOrder = wire.recv()
            wire.send(work(setup, order))
