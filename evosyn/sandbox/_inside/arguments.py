"""Arguments that a testing gives as an expression: computed once, where no program is near.

So a program cannot spoil what the expression needs and thereby blame the testing. Only values that are no plain data
(functions, iterators) have to be made in the program's own process; what they raise there is the program's exception.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Mapping
from typing import NamedTuple

from evosyn.sandbox._inside import wire, work
from evosyn.sandbox._inside.alarm import JobLimits
from evosyn.sandbox._inside.ended import to_its_end, whole
from evosyn.sandbox._inside.forker import Order
from evosyn.sandbox._inside.remote import RESULT_BYTES, Remote, close, new_file

KEPT_BYTES = 8 << 20
VALUE_BYTES = 8 << 20
"""Once the values of a request come to this, no others are computed; those calls are asked again."""


class Computed(NamedTuple):
    """What became of the expressions of some calls.

    Attributes:
        encoded: a file of parts for the program's process: by position, the number of the part with the encoded value,
            or None where it has to make it itself; then the values.
        broken: by position, the record of a call that cannot be made.
        stop: from this item on nothing was computed, since the values before it are large.
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
        size, stop = 0, sys.maxsize
        for item, text in expressions.items():
            if size >= VALUE_BYTES:
                stop = item
                break
            record = self._known.get(text) or found.get(text)
            while record is None:  # one that takes too long, or ends its process, ends the turn of those behind it
                missing = [one for one in dict.fromkeys(expressions.values()) if one not in {*self._known, *found}]
                found |= zip(missing, self._compute(missing, limits), strict=False)
                record = found.get(text)
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
        for text, record in found.items():
            if record.code not in (wire.TIMEOUT, wire.INFRA):
                self._keep(text, record)
        return Computed(work.joined([marshal.dumps(places, 2), *values]), broken, stop)

    def _compute(self, expressions: list[str], limits: JobLimits) -> list[wire.Record]:
        """A record each, at least one."""
        given = new_file(marshal.dumps(expressions, 2))
        left_s = limits.cpu_s * (1 + len(expressions))
        try:
            order = Order(work.ARGUMENTS, limits, left_s=left_s, most=RESULT_BYTES)
            ended, made = to_its_end(self._remote, order, (given,), 1 + len(expressions))
        finally:
            close(given)
        if ended.full and len(made) > 1:
            return [_checked(record) for record in made[1:]]  # no fault of the one that found no room
        return [
            _checked(record)
            for record in whole(made[1:], len(expressions), ended, limits)
            if record.code != wire.NOT_RUN
        ]

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
            wire.decode(record.payload)
        except (wire.Malformed, RecursionError):
            return wire.Record(wire.EXCEPTION, record.seconds, b"not a value")
    return record
