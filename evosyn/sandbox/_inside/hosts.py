"""Harness jobs: a host for each harness, below it one for each context, and a child of that for each job.

A host of a context decodes it and is the fork server of the programs that run beside it; a second context gets a second
host, so that no program can find another's. Many contexts are asked for once: the first job beside a small one is a
child of the harness's host, and decodes it by itself, within its own memory. Results never pass through a host.
"""

from __future__ import annotations

import _socket
import marshal
from typing import NamedTuple

from evosyn.sandbox._inside import wire, work
from evosyn.sandbox._inside.alarm import JobLimits
from evosyn.sandbox._inside.ended import to_its_end, whole
from evosyn.sandbox._inside.forker import Order
from evosyn.sandbox._inside.remote import Remote, close, new_file
from evosyn.sandbox._inside.results import RESULT_BYTES

MOST, MOST_HARNESSES = 16, 4
"""Hosts of contexts, and of harnesses, that live at the same time; the one used longest ago ends first."""
SMALL, ROOM, LONG_S = 1 << 22, 128, 1.0
"""A job may decode a context by itself that has no more bytes than this, nor than this part of its memory, where it may
compute for so long: a result must not depend on whether it was the first to ask."""
UNLIMITED = JobLimits(0.0, 0.0, 0.0, 0, 0)


class _Host(NamedTuple):
    """A fork server that a child of another one has become.

    Attributes:
        above: that other one; `slot` is the child's there.
        remote: the new one.
    """

    above: Remote
    slot: int
    remote: Remote

    def end(self) -> None:
        """It ends its children when its socket closes, and then itself."""
        self.remote.close()
        self.above.end(self.slot)


def _small(context: bytes, limits: JobLimits) -> bool:
    return len(context) <= min(SMALL, (limits.memory_mb << 20) // ROOM) and limits.cpu_s >= LONG_S


class Hosts:
    """Runs harness jobs.

    Args:
        watched: the stream of our parent.
    """

    def __init__(self, remote: Remote, watched: int) -> None:
        self._remote, self._watched = remote, watched
        self._contexts: dict[str, bytes] = {}
        self._harnesses: dict[str, _Host] = {}
        self._hosts: dict[tuple[str, str | None], _Host | None] = {}

    def share(self, _items: range, _left_s: float, _limits: JobLimits, body: bytes) -> list[wire.Record]:
        """Keep a context for later jobs, and forget those that none will ask for, with their hosts."""
        key, pickled, gone = marshal.loads(body)
        self._contexts = {one: kept for one, kept in self._contexts.items() if one not in gone}
        for host in [host for host in self._hosts if host[1] in gone]:
            self._forget(host)
        self._contexts[key] = pickled
        return [wire.Record(wire.OK, 0.0, b"N")]

    def run(self, items: range, left_s: float, limits: JobLimits, body: bytes) -> list[wire.Record]:
        """A record for each program of the job; after a timeout or a crash the others are not run."""
        source, key, parts = marshal.loads(body)
        above = self._harness(source)
        host = self._host(above, source, key, limits)
        given = [new_file(parts)] if host else [new_file(parts), self._context(key)]
        order = Order(work.HARNESS, limits, items.start, items.stop, left_s, RESULT_BYTES)
        try:
            ended, made = to_its_end((host or above).remote, order, given, 1 + len(items))
        finally:
            close(*given)
        return whole(made[1:], len(items), ended, limits)

    def _host(self, above: _Host, source: str, key: str | None, limits: JobLimits) -> _Host | None:
        """None for the first job beside a small context."""
        asked = (source, key) in self._hosts or (key is not None and not _small(self._contexts[key], limits))
        found = self._hosts.pop((source, key), None)
        if asked and found is None:
            found = self._start(above.remote, work.HOST, self._context(key))
        while len(self._hosts) >= MOST:
            self._forget(next(iter(self._hosts)))
        self._hosts[source, key] = found
        return found

    def _context(self, key: str | None) -> int:
        return new_file(b"" if key is None else self._contexts[key])

    def _forget(self, host: tuple[str, str | None]) -> None:
        if (found := self._hosts.pop(host)) is not None:
            found.end()

    def _harness(self, source: str) -> _Host:
        found = self._harnesses.pop(source, None)
        if found is None:
            while len(self._harnesses) >= MOST_HARNESSES:
                oldest = next(iter(self._harnesses))
                for below in [host for host in self._hosts if host[0] == oldest]:
                    self._forget(below)
                self._harnesses.pop(oldest).end()
            found = self._start(self._remote, work.LOAD, new_file(source.encode("utf-8", "surrogatepass")))
        self._harnesses[source] = found
        return found

    def _start(self, above: Remote, kind: int, given: int) -> _Host:
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        try:
            slot = above.fork(Order(kind, UNLIMITED), (theirs.fileno(), given))
        finally:
            theirs.close()
            close(given)
        return _Host(above, slot, Remote(ours, self._watched))
