"""The keepers of one process: started when needed, lent to one user at a time, ended together."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from evosyn.errors import SandboxUnavailable
from evosyn.sandbox import _groups, _memory
from evosyn.sandbox._machine import Machine
from evosyn.shell_world import HOST
from evosyn.worlds.shell.identity import Identity, identities
from evosyn.worlds.shell.images import Image, find
from evosyn.worlds.shell.keeping import STORE_MB, KeeperProcess
from evosyn.worlds.shell.rooms import ROOM_MB

MEMORY_MB = 512
"""Of all processes of a room together."""


class Keepers:
    """May be used from several threads."""

    def __init__(self) -> None:
        """
        Raises:
            SandboxUnavailable: none starts on this machine.
        """
        self._lock = threading.Lock()
        self._slots = itertools.count()
        self._idle: dict[str, list[KeeperProcess]] = {}
        self._all: dict[KeeperProcess, Image] = {}
        self._images: dict[str, Image] = {}
        self._closed = False
        self.groups: _groups.Groups | None = _memory._open_groups(Machine())
        try:
            self.identity = self._working()
        except BaseException:
            self.close()
            raise

    def _working(self) -> Identity:
        """The best identity that starts a keeper here."""
        reasons = []
        for identity in identities():
            self.identity = identity
            try:
                image = find(HOST, identity)
                self.give_back(self._start(image))
            except SandboxUnavailable as error:
                reasons.append(f"{identity.kind}: {error}")
                continue
            self._images[HOST] = image
            return identity
        raise SandboxUnavailable(
            f"no rooms for shell worlds on this machine ({'; '.join(reasons)}): they need user namespaces and overlay "
            "file systems in them (Linux 6.6 or newer, not inside a container without them)"
        )

    def image(self, name: str) -> Image:
        """
        Raises:
            SandboxUnavailable: it is not there; says how to make it.
        """
        with self._lock:
            if name not in self._images:
                self._images[name] = find(name, self.identity)
            return self._images[name]

    def _start(self, image: Image) -> KeeperProcess:
        slot = next(self._slots)
        groups = self.groups

        command = groups.enter(slot) if groups is not None else []
        bounded = groups is not None and groups.allow(slot, MEMORY_MB + ROOM_MB + STORE_MB)
        try:
            keeper = KeeperProcess(image.spec(self.identity, 0 if bounded else MEMORY_MB), slot, command)
        except SandboxUnavailable:
            if groups is not None:
                groups.leave(slot)
            raise
        with self._lock:
            self._all[keeper] = image
            closed = self._closed
        if closed:
            self.end(keeper)
            raise SandboxUnavailable("these shell worlds are closed; open new ones")
        return keeper

    def take(self, image: Image) -> KeeperProcess:
        """One that nobody else has; give it back, or end it where it was lost."""
        with self._lock:
            if self._closed:
                raise SandboxUnavailable("these shell worlds are closed; open new ones")
            idle = self._idle.get(image.digest, [])
            if idle:
                return idle.pop()
        return self._start(image)

    def give_back(self, keeper: KeeperProcess) -> None:
        with self._lock:
            self._idle.setdefault(self._all[keeper].digest, []).append(keeper)

    def end(self, keeper: KeeperProcess) -> None:
        with self._lock:
            self._all.pop(keeper, None)
        keeper.kill()
        if self.groups is not None:
            with self._lock:
                self.groups.leave(keeper.slot)

    @contextmanager
    def lent(self, image: Image) -> Iterator[KeeperProcess]:
        """One for as long as nothing goes wrong; ended after any error."""
        keeper = self.take(image)
        try:
            yield keeper
        except BaseException:
            self.end(keeper)
            raise
        self.give_back(keeper)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            keepers, self._all = list(self._all), {}
            self._idle.clear()
        for keeper in keepers:
            keeper.kill()
        if self.groups is not None:
            self.groups.close()
            self.groups = None
