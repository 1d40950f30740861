"""What the actor of a Ray cluster holds on its node: the sandbox of that machine, and whether it gets on (`ray`)."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from evosyn import registry
from evosyn.errors import SandboxUnavailable, UnavailableError, UsageError
from evosyn.jobs import HarnessJob, Job, Protection
from evosyn.ports import Sandbox, SandboxTools
from evosyn.records import Json
from evosyn.sandbox import _memory, _owners
from evosyn.sandbox._spread import Outcomes
from evosyn.sources import code_version

MOST_CONTEXTS = 8
"""Contexts that a node knows between two batches, the last used ones; a batch brings references to those it names."""


class Hello(NamedTuple):
    """What an actor says of itself.

    Attributes:
        trouble: why its sandbox does not work; "" where it does.
        process: of the actor, as `_owners` names it.
    """

    version: str
    protection: Protection | None
    workers: int
    trouble: str
    process: str


class NodeSandbox:
    """What an actor holds: the sandbox of its node, and whether it gets on.

    Args:
        cpus: programs at the same time at most, where `tools` names no number.
        before: the actor in whose place it comes, which may hang.
    """

    def __init__(self, backend: str, options: Mapping[str, Json], tools: SandboxTools, cpus: int, before: str) -> None:
        if before and _owners.is_alive(before):
            with contextlib.suppress(OSError):
                os.kill(int(before.partition("-")[0]), signal.SIGKILL)
        self._workers = tools.workers or min(cpus, _memory.chosen_workers(None))
        self._keys: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()
        self._running, self._moved = 0, time.monotonic()
        self._trouble = ""
        self._sandbox: Sandbox | None = None
        try:
            self._sandbox = registry.make("sandboxes", backend, replace(tools, workers=self._workers), options)
        except (UnavailableError, UsageError, OSError) as error:
            self._trouble = str(error)

    def hello(self) -> Hello:
        held = None if self._sandbox is None else self._sandbox.protection
        return Hello(code_version(), held, self._workers, self._trouble, _owners.me())

    def run(self, sent: bytes, contexts: Sequence[tuple[str, Any]]) -> bytes:
        """Run pickled jobs.

        Args:
            contexts: that they name, as references to their pickles.

        Returns:
            The pickle of `done` and the outcomes, of `failed` and the reason where this node does not work, or of
            `raised` and the reason where a job cannot be run anywhere.
        """
        with self._lock:
            self._moved = time.monotonic() if self._running == 0 else self._moved
            self._running += 1
        try:
            return pickle.dumps(("done", self._run(pickle.loads(sent), contexts)), 5)
        except (UnavailableError, OSError, MemoryError) as error:
            return pickle.dumps(("failed", f"{type(error).__name__}: {error}"), 5)
        except Exception as error:  # noqa: BLE001  the sandbox boundary: told to who asked
            return pickle.dumps(("raised", f"{type(error).__name__}: {error}"[:1000]), 5)
        finally:
            with self._lock:
                self._running -= 1

    def pulse(self) -> float:
        """Seconds since a job last ended, while there are some."""
        with self._lock:
            return time.monotonic() - self._moved if self._running else 0.0

    def _run(self, jobs: Sequence[Job], contexts: Sequence[tuple[str, Any]]) -> list[Outcomes]:
        import ray

        if self._sandbox is None:
            raise SandboxUnavailable(self._trouble)

        def opened(reference: Any) -> Json:
            return pickle.loads(ray.get(reference))

        keys = {key: self._key(key, partial(opened, reference)) for key, reference in contexts}
        return self._sandbox.run([_here(job, keys) for job in jobs], on_done=self._ended)

    def _key(self, key: str, value: Callable[[], Json]) -> str:
        """What a context is called in the sandbox of this node, which is told of it where it has forgotten it."""
        with self._lock:
            found = self._keys.get(key)
        found = found or self._sandbox.share(value())  # type: ignore[union-attr]
        with self._lock:
            self._keys[key] = found
            self._keys.move_to_end(key)
            while len(self._keys) > MOST_CONTEXTS:
                self._keys.popitem(last=False)
        return found

    def _ended(self, _: int, __: Outcomes) -> None:
        self._moved = time.monotonic()


def _here(job: Job, keys: Mapping[str, str]) -> Job:
    return replace(job, context=keys[job.context]) if isinstance(job, HarnessJob) and job.context is not None else job
