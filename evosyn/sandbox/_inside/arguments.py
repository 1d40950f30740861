"""Arguments that a testing gives as an expression: each computed once, where neither a program nor another's is near.

So a program cannot spoil what the expression needs and thereby blame the testing, nor one testing another's arguments.
Only values that are no plain data (functions, iterators) have to be made in the program's own process; what they raise
there is the program's exception.
"""

from __future__ import annotations

import marshal
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

from evosyn.sandbox._inside import wire, work
from evosyn.sandbox._inside.alarm import JobLimits
from evosyn.sandbox._inside.ended import to_its_end, whole
from evosyn.sandbox._inside.forker import Order
from evosyn.sandbox._inside.remote import Remote, close, new_file
from evosyn.sandbox._inside.results import RESULT_BYTES

KEPT_BYTES = 8 << 20
VALUE_BYTES = 8 << 20
"""Once the values of a request come to this, or took `wall_s`, no others are computed; those calls are asked again."""


class Computed(NamedTuple):
    """What became of the expressions of some calls.

    Attributes:
        encoded: a file of parts for the program's process: by position, the number of the part with the encoded value,
            or None where it has to make it itself; then the values.
        broken: by position, the record of a call that cannot be made.
        stop: from this item on nothing was computed, since the values before it are large or took long.
    """

    encoded: bytes
    broken: Mapping[int, wire.Record]
    stop: int


class Arguments:
    """Computes, and remembers: the same expressions come with every solution of a problem."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._known: dict[str, wire.Record] = {}
        self._bytes = 0

    def of(self, expressions: Mapping[int, str], limits: JobLimits) -> Computed:
        found: dict[str, wire.Record] = {}
        places: dict[int, int | None] = {}
        values: list[bytes] = []
        broken: dict[int, wire.Record] = {}
        size, stop, began = 0, sys.maxsize, time.monotonic()
        for item, text in expressions.items():
            if size >= VALUE_BYTES or time.monotonic() - began >= limits.wall_s:
                stop = item
                break
            record = self._known.get(text) or found.get(text)
            if record is None:
                record = found[text] = self._compute(text, limits)
            if record.code == wire.OK:
                values.append(record.payload)
                size += len(record.payload)
                places[item] = len(values)
            elif record.code == wire.NOT_PLAIN:
                places[item] = None
            elif record.code == wire.INFRA:
                broken[item] = record
            else:
                broken[item] = wire.Record(wire.TESTING_BROKEN, 0.0, b"arguments: " + record.payload)
        return Computed(work.joined([marshal.dumps(places, 2), *values]), broken, stop)

    def _compute(self, text: str, limits: JobLimits) -> wire.Record:
        """Its record, in a process of its own: the expressions of a request are of several testings."""
        given = new_file(marshal.dumps(text, 2))
        try:
            order = Order(work.ARGUMENTS, limits, left_s=2 * limits.cpu_s, most=RESULT_BYTES)
            ended, made = to_its_end(self._remote, order, (given,), 2)
        finally:
            close(given)
        record = _checked(whole(made[1:], 1, ended, limits)[0])
        if record.code not in (wire.TIMEOUT, wire.INFRA):
            self._keep(text, record)
        return record

    def _keep(self, text: str, record: wire.Record) -> None:
        size = len(text) + len(record.payload)
        if self._bytes + size > KEPT_BYTES:
            self._known.clear()
            self._bytes = 0
        self._known[text] = record
        self._bytes += size


def _checked(record: wire.Record) -> wire.Record:
    """A testing could have written it by hand: what is no value must not reach the program's process."""
    if record.code == wire.OK:
        try:
            wire.decode_live(record.payload)
        except (wire.Malformed, RecursionError):
            return wire.Record(wire.EXCEPTION, record.seconds, b"not a value")
    return record
