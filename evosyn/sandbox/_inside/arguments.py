"""Arguments that a testing gives as an expression: computed once, where no program is near.

So a program cannot spoil what the expression needs and thereby blame the testing. Only values that are no plain data
(functions, iterators) have to be made in the program's own process; what they raise there is the program's exception.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import NamedTuple

from evosyn.sandbox._inside import wire, work
from evosyn.sandbox._inside.alarm import JobLimits
from evosyn.sandbox._inside.ended import to_its_end, whole
from evosyn.sandbox._inside.forker import Order
from evosyn.sandbox._inside.remote import RESULT_BYTES, Remote, close, new_file

KEPT_BYTES = 8 << 20


class Computed(NamedTuple):
    """What became of the expressions of some calls.

    Attributes:
        encoded: for the program's process: by position the encoded value, or None where it has to make it itself.
        broken: by position, the record of a call that cannot be made.
    """

    encoded: bytes
    broken: Mapping[int, wire.Record]


class Arguments:
    """Computes, and remembers: the same expressions come with every solution of a problem."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._known: dict[str, wire.Record] = {}
        self._bytes = 0

    def of(self, expressions: Mapping[int, str], limits: JobLimits) -> Computed:
        if not expressions:
            return Computed(b"", {})
        missing = list(dict.fromkeys(text for text in expressions.values() if text not in self._known))
        found = dict(self._known)
        while missing:  # an expression that takes too long, or ends its process, ends the turn of those behind it
            made = self._compute(missing, limits)
            for text, record in zip(missing, made, strict=False):
                found[text] = record
                if record.code not in (wire.TIMEOUT, wire.INFRA):
                    self._keep(text, record)
            missing = missing[len(made) :]
        values: dict[int, bytes | None] = {}
        broken: dict[int, wire.Record] = {}
        for item, text in expressions.items():
            record = found[text]
            if record.code == wire.OK:
                values[item] = record.payload
            elif record.code == wire.NOT_PLAIN:
                values[item] = None
            elif record.code == wire.INFRA:
                broken[item] = record
            else:
                broken[item] = wire.Record(wire.TESTING_BROKEN, 0.0, b"arguments: " + record.payload)
        return Computed(marshal.dumps(values, 2), broken)

    def _compute(self, expressions: list[str], limits: JobLimits) -> list[wire.Record]:
        """A record each, at least one."""
        given = new_file(marshal.dumps(expressions, 2))
        left_s = limits.cpu_s * (1 + len(expressions))
        try:
            order = Order(work.ARGUMENTS, limits, left_s=left_s, most=RESULT_BYTES)
            ended, made = to_its_end(self._remote, order, (given,), 1 + len(expressions))
        finally:
            close(given)
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
