"""The process that reads jobs, hands each part to the child that may see it, watches, and answers with records.

It holds all texts and all answers in transit, and never runs, unpickles or parses anything untrusted beyond the strict
decoder. Nothing that is judged descends from it: it is a child of the fork server, as they are. One supervisor and its
fork server are one worker slot.
"""

from __future__ import annotations

import marshal
import os
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evosyn.sandbox._inside import pairs, stdio, wire, work
from evosyn.sandbox._inside.alarm import WAITING, JobLimits
from evosyn.sandbox._inside.arguments import Arguments
from evosyn.sandbox._inside.ended import ENDS, failure, for_all, to_its_end, whole
from evosyn.sandbox._inside.forker import Order
from evosyn.sandbox._inside.hosts import Hosts
from evosyn.sandbox._inside.remote import REPLY_BYTES, Remote, close, new_file
from evosyn.sandbox._inside.results import RESULT_BYTES

FRAME = struct.Struct("<I")
CALLS, COMPANY, CHECKS, STDIO, HARNESS, SHARE = range(6)
"""Kinds of request."""


class Supervisor:
    """The main loop and the kinds of job.

    Args:
        requests, replies: descriptors of the streams from and to the parent; they may be one.
    """

    def __init__(self, requests: int, replies: int, remote: Remote) -> None:
        self._requests, self._replies = requests, replies
        self._remote = remote
        self._arguments = Arguments(remote)
        self._pairs = pairs.Pairs(remote)
        self._hosts = Hosts(remote, requests)
        self._run: Mapping[int, Callable[[range, float, JobLimits, bytes], list[wire.Record]]] = {
            CALLS: self._calls,
            COMPANY: self._company,
            CHECKS: self._pairs.supervise,
            STDIO: lambda *job: stdio.supervise(remote, *job),
            HARNESS: self._hosts.run,
            SHARE: self._hosts.share,
        }

    def serve(self, greeting: dict[str, Any]) -> None:
        """Answer jobs until the parent closes the stream."""
        self._send(marshal.dumps(greeting, 2))
        while True:
            kind, first, stop, left_s, limits, body = marshal.loads(self._receive())
            reply = self._run[kind](range(first, stop), left_s, JobLimits(*limits), body)
            self._send(b"".join([wire.record(*item) for item in reply]))

    def _calls(self, items: range, left_s: float, limits: JobLimits, body: bytes) -> list[wire.Record]:
        """The records of these calls; fewer than there are where the rest should be asked again."""
        calls, expressions = marshal.loads(body)
        computed = self._arguments.of({item: expressions[item] for item in items if item in expressions}, limits)
        items = range(items.start, min(items.stop, computed.stop))
        given = [new_file(calls), *([new_file(computed.encoded)] if expressions else [])]
        try:
            found = self._all_calls(items, left_s, limits, given)
        finally:
            close(*given)
        for item, record in computed.broken.items():
            if item - items.start < len(found):
                found[item - items.start] = record
        return found

    def _all_calls(self, items: range, left_s: float, limits: JobLimits, given: Sequence[int]) -> list[wire.Record]:
        began = time.monotonic()
        found: list[wire.Record] = []
        while len(found) < len(items):
            todo = items[len(found) :]
            if sum([len(record.payload) for record in found]) >= REPLY_BYTES:
                return found
            left = left_s - max(sum([record.seconds for record in found]), (time.monotonic() - began) / WAITING)
            if left <= 0 and found:
                return found + [wire.Record(wire.NOT_RUN, 0.0, b"")] * len(todo)
            order = Order(work.CALLS, limits, todo.start, todo.stop, left, RESULT_BYTES)
            ended, made = to_its_end(self._remote, order, given, 1 + len(todo))
            if len(made) == 1 + len(todo):
                return found + made[1:]
            if made and made[0].code != wire.OK:
                return found + for_all(made[0], len(todo))
            found += made[1:]
            if len(made) > 1 and made[-1].code == wire.TIMEOUT:
                return found  # the rest is asked again, perhaps of another worker
            if len(made) > 1 and made[-1].code in ENDS:
                continue
            if len(made) > 1 and ended.paused:
                continue
            if not made:
                return found + for_all(failure(ended, limits, b"while loading"), len(todo))
            found.append(failure(ended, limits))
            if ended.killed:
                return found
        return found

    def _company(self, items: range, left_s: float, limits: JobLimits, body: bytes) -> list[wire.Record]:
        """The records of all members' calls; those after a timeout or a crash are not run."""
        members, parts = marshal.loads(body)
        order = Order(work.COMPANY, limits, 0, members, left_s, RESULT_BYTES)
        given = new_file(parts)
        try:
            ended, made = to_its_end(self._remote, order, (given,), 1 + len(items))
        finally:
            close(given)
        return whole(made[1:], len(items), ended, limits)

    def _send(self, frame: bytes) -> None:
        view = memoryview(FRAME.pack(len(frame)) + frame)
        while view:
            view = view[os.write(self._replies, view) :]

    def _receive(self) -> bytes:
        (size,) = FRAME.unpack(self._exactly(FRAME.size))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self._requests, min(size, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
