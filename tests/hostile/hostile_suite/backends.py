"""The sandboxes that the suite runs on, each opened once and opened again where an attack ended it.

`bwrap` and `bare` are the local sandbox with and without bubblewrap on the path; all go through `open_sandbox`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace

from evosyn.errors import EvosynError
from evosyn.jobs import Limits
from evosyn.ports import Sandbox
from evosyn.sandbox import _image, open_sandbox
from hostile_suite.host import descendants

BACKENDS = ("bwrap", "bare", "docker")


def limits(cpu_s: float, wall_s: float, budget_s: float) -> Limits:
    """Limits of a case: short in CPU time, roomier in wall time, and enough of both that no item goes without a run."""
    return Limits(cpu_s=cpu_s, wall_s=wall_s, budget_s=budget_s, memory_mb=400, output_kb=256)


QUICK = limits(1.5, 7.5, 25.0)
PATIENT = limits(0.6, 4.0, 30.0)
"""For families whose cases run into the time limit."""
HONEST = limits(3.0, 15.0, 60.0)
STRATEGY = replace(limits(1.0, 2.5, 2.5), memory_mb=512, output_kb=1024)


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
        """Processes that its workers hold now, where they can be counted."""
        if self.name != "docker":
            return len(descendants())
        total = 0
        for container in _image.docker_client().containers.list(filters={"label": "evosyn.sandbox.owner"}):
            if container.labels["evosyn.sandbox.owner"].startswith(f"{os.getpid()}-"):
                with contextlib.suppress(Exception):
                    total += len(container.top()["Processes"])
        return total

    def _make(self, numpy: bool) -> Sandbox:
        if self.name == "docker":
            client = _image.docker_client()
            if not client.images.list(name="evosyn-sandbox"):
                _image.build_from_host(client, "evosyn-sandbox")
            return open_sandbox("docker", workers=1, numpy=numpy)
        with _path_without_bubblewrap() if self.name == "bare" else contextlib.nullcontext():
            return open_sandbox("local", workers=1, numpy=numpy)


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
