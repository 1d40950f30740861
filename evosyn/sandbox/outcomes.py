"""Records of a sandbox as outcomes. What a program answers takes up to 25 times its bytes when it is decoded; so large
answers stay bytes in our process until they are looked at, and each thread has one of them decoded at a time."""

from __future__ import annotations

import threading

from evosyn.jobs import ChecksJob, ItemOutcome, Job, Status, StdioJob
from evosyn.records import Json
from evosyn.sandbox._inside import wire

_STATUSES = tuple(Status)


class LargeOutcome(ItemOutcome):
    """An item that ended well, decoded anew whenever another one was looked at since."""

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

    def forget(self) -> None:
        """Let go of the value; nothing (no text) takes its place."""
        kind = vars(self)["kind"]
        vars(self).update(record=wire.Record(wire.OK, self.seconds, b"" if issubclass(kind, StdioJob) else b"N"))
        _looked_at.forget(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ItemOutcome):
            return NotImplemented
        return (self.status, self.value, self.detail) == (other.status, other.value, other.detail)

    __hash__ = None  # type: ignore[assignment]


class _LookedAt(threading.local):
    """The large outcome that this thread looked at last."""

    outcome: LargeOutcome | None = None
    made: ItemOutcome | None = None

    def decoded(self, outcome: LargeOutcome) -> ItemOutcome:
        if self.made is None or self.outcome is not outcome:
            self.outcome = self.made = None  # before the next one is there
            fields = vars(outcome)
            self.made = outcome_of(fields["kind"], fields["record"])
            self.outcome = outcome
        return self.made

    def forget(self, outcome: LargeOutcome) -> None:
        if self.outcome is outcome:
            self.outcome = self.made = None


_looked_at = _LookedAt()


def outcome_of(kind: type[Job], record: wire.Record) -> ItemOutcome:
    """What a record of such a job says."""
    if record.code != wire.OK:
        detail = record.payload.decode("utf-8", "replace")
        return ItemOutcome(_STATUSES[record.code], detail=detail, seconds=record.seconds)
    value: Json = None
    if issubclass(kind, StdioJob):
        value = record.payload.decode("utf-8", "replace")
    elif not issubclass(kind, ChecksJob):
        try:
            value = wire.decode(record.payload)
        except (wire.Malformed, RecursionError) as error:
            return ItemOutcome(Status.NOT_PLAIN, detail=f"malformed result: {error}", seconds=record.seconds)
    return ItemOutcome(Status.OK, value, seconds=record.seconds)
