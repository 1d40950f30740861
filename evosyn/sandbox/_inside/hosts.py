"""Harness jobs: a host for each harness and context, and a child of it for each job.

A host decodes its one context and is the fork server of the programs that run beside it; a second context gets a second
host, so that no program can find another's. Results never pass through a host.
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

MOST = 16
"""Hosts that live at the same time; the one used longest ago ends first."""


class _Host(NamedTuple):
    slot: int
    remote: Remote


class Hosts:
    """Runs harness jobs.

    Args:
        watched: the stream of our parent.
    """

    def __init__(self, remote: Remote, watched: int) -> None:
        self._remote, self._watched = remote, watched
        self._contexts: dict[str, bytes] = {}
        self._hosts: dict[tuple[str, str | None], _Host] = {}

    def share(self, _items: range, _left_s: float, _limits: JobLimits, body: bytes) -> list[wire.Record]:
        """Keep a context for later jobs, and forget those that none will ask for, with their hosts."""
        key, pickled, gone = marshal.loads(body)
        self._contexts = {one: kept for one, kept in self._contexts.items() if one not in gone}
        for host in [host for host in self._hosts if host[1] in gone]:
            self._end(self._hosts.pop(host))
        self._contexts[key] = pickled
        return [wire.Record(wire.OK, 0.0, b"N")]

    def run(self, items: range, left_s: float, limits: JobLimits, body: bytes) -> list[wire.Record]:
        """A record for each program of the job; after a timeout or a crash the others are not run."""
        source, key, parts = marshal.loads(body)
        host = self._host(source, key)
        given = new_file(parts)
        order = Order(work.HARNESS, limits, items.start, items.stop, left_s, RESULT_BYTES)
        try:
            ended, made = to_its_end(host.remote, order, (given,), 1 + len(items))
        finally:
            close(given)
        return whole(made[1:], len(items), ended, limits)

    def _host(self, source: str, key: str | None) -> _Host:
        found = self._hosts.pop((source, key), None)
        if found is None:
            while len(self._hosts) >= MOST:
                self._end(self._hosts.pop(next(iter(self._hosts))))
            found = self._start(source, key)
        self._hosts[source, key] = found
        return found

    def _start(self, source: str, key: str | None) -> _Host:
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        text = new_file(source.encode("utf-8", "surrogatepass"))
        context = new_file(b"" if key is None else self._contexts[key])
        try:
            order = Order(work.HOST, JobLimits(0.0, 0.0, 0.0, 0, 0))
            slot = self._remote.fork(order, (theirs.fileno(), text, context))
        finally:
            theirs.close()
            close(text, context)
        return _Host(slot, Remote(ours, self._watched))

    def _end(self, host: _Host) -> None:
        """It ends its children when its socket closes, and then itself."""
        host.remote.close()
        self._remote.end(host.slot)
