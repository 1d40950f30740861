"""A job on its way: how it is sent, what is left of it, and how its records become outcomes."""

from __future__ import annotations

import marshal
import pickle
import queue
from dataclasses import dataclass, field

from evosyn.jobs import CallsJob, Check, ChecksJob, ItemOutcome, Job, Limits, Status, StdioJob
from evosyn.records import Json
from evosyn.sandbox._harmless import harmless
from evosyn.sandbox._inside import wire
from evosyn.sandbox._inside.zygote import CALLS, CHECKS, GRACE_S, HARNESS, SHARE, STDIO

STATUSES = tuple(Status)
PROGRAM_BYTES = 4 << 20
SLACK_S = 10.0


@dataclass
class Batch:
    """One call of `run`: where its finished tasks go."""

    done: queue.SimpleQueue[Task | BaseException] = field(default_factory=queue.SimpleQueue)
    cancelled: bool = False


@dataclass(eq=False)
class Task:
    """One job of a batch.

    Attributes:
        records: of the items that have ended, in sending order.
        spent_s: seconds of those.
        attempts: how often a worker was lost under it.
        order: for checks, the position in the job of each item sent.
    """

    batch: Batch
    index: int
    job: Job
    count: int
    order: list[int]
    records: list[wire.Record] = field(default_factory=list)
    spent_s: float = 0.0
    attempts: int = 0

    @property
    def left_s(self) -> float:
        return self.job.limits.budget_s - self.spent_s

    @property
    def longest_s(self) -> float:
        """After this time the worker is taken to be stuck."""
        limits = self.job.limits
        return max(limits.budget_s, limits.wall_s) + 4 * (limits.wall_s + GRACE_S) + SLACK_S

    def absorb(self, records: list[wire.Record]) -> None:
        """Take what a worker answered; too many records are cut, none is a fault of ours."""
        records = records[: self.count - len(self.records)]
        self.records += records
        self.spent_s += sum(record.seconds for record in records)

    def finished(self) -> bool:
        if len(self.records) < self.count and self.records and self.left_s <= 0:
            self.fill(wire.NOT_RUN, b"")
        return len(self.records) >= self.count

    def fill(self, code: int, detail: bytes) -> None:
        self.records += [wire.Record(code, 0.0, detail)] * (self.count - len(self.records))

    def frame(self) -> bytes:
        """The request for the items that have not ended.

        Raises:
            ValueError: an argument is not plain data.
        """
        kind, body = _body(self.job, self.order)
        limits = self.job.limits
        return marshal.dumps((kind, len(self.records), float(self.left_s), _limits(limits), body), 2)

    def outcomes(self) -> tuple[ItemOutcome, ...]:
        found: list[ItemOutcome | None] = [None] * self.count
        for position, record in zip(self.order, self.records, strict=True):
            found[position] = _outcome(self.job, record)
        return tuple(item for item in found if item is not None)


def make_task(batch: Batch, index: int, job: Job) -> Task:
    if isinstance(job, CallsJob):
        order = list(range(len(job.calls)))
    elif isinstance(job, ChecksJob):
        plain = [_is_harmless(check) for check in job.checks]
        order = sorted(range(len(job.checks)), key=lambda position: not plain[position])
    elif isinstance(job, StdioJob):
        order = list(range(len(job.inputs)))
    else:
        order = [0]
    task = Task(batch, index, job, len(order), order)
    if len(job.program.encode("utf-8", "surrogatepass")) > PROGRAM_BYTES:
        task.fill(wire.LOAD_ERROR, b"the program is longer than %d bytes" % PROGRAM_BYTES)
    return task


def _is_harmless(check: Check) -> bool:
    return harmless(check.code) and harmless(check.call)


def share_frame(key: str, pickled: bytes) -> bytes:
    return marshal.dumps((SHARE, 0, 0.0, _limits(Limits()), marshal.dumps((key, pickled), 2)), 2)


def pickle_context(value: Json) -> bytes:
    """Trusted data of ours on its way into the jail (never the other way round)."""
    return pickle.dumps(value, protocol=5)


def _limits(limits: Limits) -> tuple[float, float, int, int, int]:
    return (float(limits.wall_s), float(limits.budget_s), limits.memory_mb, limits.output_kb, limits.file_mb)


def _body(job: Job, order: list[int]) -> tuple[int, bytes]:
    if isinstance(job, CallsJob):
        calls = [(tuple(call.args), dict(call.kwargs), call.python) for call in job.calls]
        inner = marshal.dumps((job.program, job.entry_point, calls), 2)
        return CALLS, marshal.dumps((len(calls), inner), 2)
    if isinstance(job, ChecksJob):
        checks = []
        for position in order:
            check = job.checks[position]
            checks.append((check.code, check.call, _is_harmless(check)))
        return CHECKS, marshal.dumps((job.program, job.entry_point, checks), 2)
    if isinstance(job, StdioJob):
        inputs = [text.encode("utf-8", "surrogateescape") for text in job.inputs]
        return STDIO, marshal.dumps((marshal.dumps(job.program, 2), inputs), 2)
    return HARNESS, marshal.dumps((job.harness, job.program, job.context, job.argument), 2)


def _outcome(job: Job, record: wire.Record) -> ItemOutcome:
    if record.code != wire.OK:
        detail = record.payload.decode("utf-8", "replace")
        return ItemOutcome(STATUSES[record.code], detail=detail, seconds=record.seconds)
    if isinstance(job, ChecksJob):
        return ItemOutcome(Status.OK, seconds=record.seconds)
    if isinstance(job, StdioJob):
        return ItemOutcome(Status.OK, record.payload.decode("utf-8", "replace"), seconds=record.seconds)
    try:
        return ItemOutcome(Status.OK, wire.decode(record.payload), seconds=record.seconds)
    except (wire.Malformed, RecursionError) as error:
        return ItemOutcome(Status.NOT_PLAIN, detail=f"malformed result: {error}", seconds=record.seconds)
