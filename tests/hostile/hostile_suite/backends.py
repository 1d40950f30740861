"""The sandboxes that the suite runs on, each opened once and opened again where an attack ended it.

`bwrap` and `bare` are the local sandbox with and without bubblewrap on the path; all go through `open_sandbox`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace

from evosyn.errors import EvosynError
from evosyn.jobs import Limits
from evosyn.ports import Sandbox
from evosyn.sandbox import _image, open_sandbox
from hostile_suite.host import descendants, named, parent_of, seen_below
from hostile_suite.meter import Meter

BACKENDS = ("bwrap", "bare", "docker")
ENGINE = ("dockerd", "containerd", "runc")
"""Names of the processes that stand between us and a container begin like this."""
NEW_CONTAINERS_S = 0.5


def limits(cpu_s: float, budget_s: float) -> Limits:
    """Limits of a case: short in CPU time, as much wall time as everywhere, and enough that no item goes without a run."""
    return Limits(cpu_s=cpu_s, budget_s=budget_s, memory_mb=400, output_kb=256)


QUICK = limits(1.5, 25.0)
PATIENT = limits(0.25, 20.0)
"""For families whose cases run into the time limit."""
HONEST = limits(3.0, 60.0)
STRATEGY = replace(limits(0.5, 1.5), memory_mb=512, output_kb=1024)


class Backend:
    """The sandboxes of one backend: one worker, so that jobs follow each other in one place.

    Attributes:
        opened: how many times a sandbox had to be opened.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._open: dict[bool, Sandbox] = {}
        self.opened = 0

    def sandbox(self, *, numpy: bool = False) -> Sandbox:
        """The open sandbox.

        Raises:
            EvosynError: this backend does not work here.
        """
        if numpy not in self._open:
            self._open[numpy] = self._make(numpy)
            self.opened += 1
        return self._open[numpy]

    def reopen(self, *, numpy: bool = False) -> None:
        """Close the sandbox, so that the next use opens a fresh one."""
        sandbox = self._open.pop(numpy, None)
        if sandbox is not None:
            sandbox.close()

    def close(self) -> None:
        for numpy in list(self._open):
            self.reopen(numpy=numpy)

    def processes(self) -> int:
        """Processes that its workers hold now."""
        roots = self._roots()
        return len(descendants(roots) | (roots - {os.getpid()}))

    def meter(self) -> Meter:
        """Of what its workers do from now on; where the engine runs on another machine it sees nothing."""
        roots, found_at = self._roots(), time.monotonic()

        def pids() -> set[int]:
            nonlocal roots, found_at
            if time.monotonic() > found_at + NEW_CONTAINERS_S:  # a container may have started meanwhile
                roots, found_at = self._roots(), time.monotonic()
            return seen_below(roots) | (roots - {os.getpid()})

        def between() -> set[int]:
            """The shims of our containers; the whole engine, whoever else it works for, only while none of ours runs."""
            parents = {parent for root in roots if (parent := parent_of(root)) is not None}
            return parents or named(ENGINE)

        return Meter(pids, between) if self.name == "docker" else Meter(pids)

    def _roots(self) -> set[int]:
        """The processes above all of its own: this one, or those of containers."""
        if self.name != "docker":
            return {os.getpid()}
        found = _image.docker_client().containers.list(filters={"label": "evosyn.sandbox.owner"})
        ours = [one for one in found if one.labels["evosyn.sandbox.owner"].startswith(f"{os.getpid()}-")]
        return {int(container.attrs["State"]["Pid"]) for container in ours}

    def _make(self, numpy: bool) -> Sandbox:
        packages = ("numpy",) if numpy else ()
        if self.name == "docker":
            client = _image.docker_client()
            if not client.images.list(name="evosyn-sandbox", filters={"label": _image.PACKAGES_LABEL}):
                _image.build_from_host(client, "evosyn-sandbox")
            return open_sandbox("docker", workers=1, packages=packages)
        with _path_without_bubblewrap() if self.name == "bare" else contextlib.nullcontext():
            return open_sandbox("local", workers=1, packages=packages)


@contextlib.contextmanager
def _path_without_bubblewrap() -> Iterator[None]:
    before = os.environ.get("PATH", "")
    with tempfile.TemporaryDirectory() as empty:
        os.environ["PATH"] = empty
        try:
            yield
        finally:
            os.environ["PATH"] = before


def reason_against(name: str) -> str | None:
    """None, or why a backend cannot be tried on this machine."""
    if name == "bwrap" and shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    try:
        _image.docker_client() if name == "docker" else None
    except EvosynError as error:
        return str(error)
    return None
