"""Records of a sandbox as outcomes. What a program answers takes up to 25 times its bytes when it is decoded; so large
answers stay bytes in our process until they are looked at, and each thread has few of them decoded at a time."""

from __future__ import annotations

import threading

from evosyn.escaping import one_line
from evosyn.jobs import ChecksJob, ItemOutcome, Job, Status, StdioJob
from evosyn.records import Json
from evosyn.sandbox._inside import wire
from evosyn.sandbox.packages import explained

_STATUSES = tuple(Status)
KEPT_BYTES = 1 << 20
"""Of large answers that a thread has decoded at a time; of larger ones, one."""


class LargeOutcome(ItemOutcome):
    """An item that ended well, decoded anew where too much else was looked at since."""

    def __init__(self, kind: type[Job], record: wire.Record) -> None:
        vars(self).update(seconds=record.seconds, kind=kind, record=record)

    @property
    def status(self) -> Status:
        return _looked_at.decoded(self).status

    @property
    def value(self) -> Json:
        return _looked_at.decoded(self).value

    @property
    def detail(self) -> str:
        return _looked_at.decoded(self).detail

    def is_put_away(self) -> bool:
        """Whether it was decoded before, and would be once more to be looked at now."""
        return "decoded" in vars(self) and not _looked_at.holds(self)

    def forget(self) -> None:
        """Let go of the value; nothing (no text) takes its place."""
        _looked_at.forget(self)
        kind = vars(self)["kind"]
        vars(self).update(record=wire.Record(wire.OK, self.seconds, b"" if issubclass(kind, StdioJob) else b"N"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ItemOutcome):
            return NotImplemented
        return (self.status, self.value, self.detail) == (other.status, other.value, other.detail)

    __hash__ = None  # type: ignore[assignment]


class _LookedAt(threading.local):
    """The large outcomes that this thread looked at last."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[LargeOutcome, ItemOutcome]] = {}  # which keeps the numbers theirs
        self._bytes = 0

    def holds(self, outcome: LargeOutcome) -> bool:
        return id(outcome) in self._made

    def decoded(self, outcome: LargeOutcome) -> ItemOutcome:
        found = self._made.pop(id(outcome), None)
        if found is None:
            fields = vars(outcome)
            size = len(fields["record"].payload)
            while self._made and self._bytes + size > KEPT_BYTES:  # before the next one is there
                self.forget(next(iter(self._made.values()))[0])
            found = (outcome, outcome_of(fields["kind"], fields["record"]))
            fields["decoded"] = True
            self._bytes += size
        self._made[id(outcome)] = found  # at the end: it is the last one now
        return found[1]

    def forget(self, outcome: LargeOutcome) -> None:
        if self._made.pop(id(outcome), None) is not None:
            self._bytes -= len(vars(outcome)["record"].payload)


_looked_at = _LookedAt()


def outcome_of(kind: type[Job], record: wire.Record) -> ItemOutcome:
    """What a record of such a job says."""
    if record.code != wire.OK:
        detail = record.payload.decode("utf-8", "replace")
        return ItemOutcome(_STATUSES[record.code], detail=one_line(explained(detail)), seconds=record.seconds)
    value: Json = None
    if issubclass(kind, StdioJob):
        value = record.payload.decode("utf-8", "replace")
    elif not issubclass(kind, ChecksJob):
        try:
            value = wire.decode(record.payload)
        except (wire.Malformed, RecursionError) as error:
            return ItemOutcome(Status.NOT_PLAIN, detail=f"malformed result: {error}", seconds=record.seconds)
    return ItemOutcome(Status.OK, value, seconds=record.seconds)
