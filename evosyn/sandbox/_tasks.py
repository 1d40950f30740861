"""A job on its way: how it is sent, what is left of it, and how its records become outcomes."""

from __future__ import annotations

import marshal
import pickle
import queue
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from evosyn.jobs import CallsJob, Check, ChecksJob, CompanyJob, HarnessJob, ItemOutcome, Job, Limits, Status, StdioJob
from evosyn.records import Json
from evosyn.sandbox._inside import wire
from evosyn.sandbox._inside.alarm import WAITING
from evosyn.sandbox._inside.supervisor import CALLS, CHECKS, COMPANY, HARNESS, SHARE, STDIO
from evosyn.sandbox.bundling import harmless

STATUSES = tuple(Status)
PROGRAM_BYTES = 4 << 20
SLACK_S = 10.0


@dataclass
class Batch:
    """One call of `run`: where its finished tasks go."""

    done: queue.SimpleQueue[WorkerTask | BaseException] = field(default_factory=queue.SimpleQueue)
    cancelled: bool = False


class Segment(NamedTuple):
    """Some items of a task, in sending order, on their way through one worker."""

    task: WorkerTask
    first: int
    stop: int

    @property
    def longest_s(self) -> float:
        """After this time the worker is taken to be stuck."""
        limits = self.task.job.limits
        return WAITING * (self.task.left_s + limits.cpu_s) + 4 * limits.wall_s + SLACK_S

    def frame(self) -> bytes:
        """The request for these items.

        Raises:
            ValueError: an argument is not plain data.
        """
        task = self.task
        kind, body = _body(task.job, task.order)
        left_s = float(task.left_s)
        return marshal.dumps((kind, self.first, self.stop, left_s, _limits(task.job.limits), body), 2)


@dataclass(eq=False)
class WorkerTask:
    """One job of a batch.

    The budget is spent in the order of the items: an item does not count as run when those before it used the budget
    up, even if it ran beside them on another worker. So the outcomes do not depend on how many workers there are.

    Attributes:
        records: of the items that have ended, in sending order; None for the others.
        todo: ranges of items that no worker has.
        flying: items that workers have now.
        slow: an item of it ran into its time limit.
        delivered: its batch has been told; later answers do not count.
        queued: it stands in the queue.
        attempts: how often a worker was lost under it.
        order: for checks, the position in the job of each item sent.
    """

    batch: Batch
    index: int
    job: Job
    count: int
    order: list[int]
    records: list[wire.Record | None] = field(default_factory=list)
    todo: deque[tuple[int, int]] = field(default_factory=deque)
    flying: int = 0
    slow: bool = False
    delivered: bool = False
    queued: bool = False
    attempts: int = 0

    def __post_init__(self) -> None:
        self.records = [None] * self.count
        if self.count:
            self.todo.append((0, self.count))

    @property
    def left_s(self) -> float:
        return self.job.limits.budget_s - sum(record.seconds for record in self.records if record is not None)

    def take(self, most: int) -> Segment:
        """Hand out the first `most` items that no worker has."""
        first, stop = self.todo.popleft()
        if stop - first > most:
            self.todo.appendleft((first + most, stop))
            stop = first + most
        self.flying += stop - first
        return Segment(self, first, stop)

    def give_back(self, segment: Segment) -> None:
        """The worker was lost: the items are to be done again."""
        self.flying -= segment.stop - segment.first
        self.todo.appendleft((segment.first, segment.stop))

    def absorb(self, segment: Segment, records: list[wire.Record]) -> None:
        """Take what a worker answered; more than was asked is cut, what is missing stays to be done.

        A timeout is charged the whole limit of an item, however little of it was computed.
        """
        self.flying -= segment.stop - segment.first
        cpu_s = self.job.limits.cpu_s
        records = [
            record._replace(seconds=max(record.seconds, cpu_s)) if record.code == wire.TIMEOUT else record
            for record in records[: segment.stop - segment.first]
        ]
        self.records[segment.first : segment.first + len(records)] = records
        self.slow = self.slow or any(record.code == wire.TIMEOUT for record in records)
        if segment.first + len(records) < segment.stop:
            self.todo.appendleft((segment.first + len(records), segment.stop))

    @property
    def may_fan_out(self) -> bool:
        """Whether another worker may take an item beside those that have some now."""
        return bool(self.todo) and self.slow and self.flying * self.job.limits.cpu_s < self.left_s

    def finished(self) -> bool:
        """Whether nothing is left to do; marks what the budget does not reach."""
        spent = 0.0
        for position, record in enumerate(self.records):
            if record is None:
                if spent < self.job.limits.budget_s:
                    return False
            elif spent < self.job.limits.budget_s:
                spent += record.seconds
                continue
            self.records[position] = wire.Record(wire.NOT_RUN, 0.0, b"")
        self.todo.clear()
        return True

    def fill(self, code: int, detail: bytes) -> None:
        """Give every item that has not ended this end."""
        self.records = [record or wire.Record(code, 0.0, detail) for record in self.records]
        self.todo.clear()

    def outcomes(self) -> tuple[ItemOutcome, ...]:
        found: list[ItemOutcome | None] = [None] * self.count
        for position, record in zip(self.order, self.records, strict=True):
            if record is not None:
                found[position] = _outcome(self.job, record)
        return tuple(item for item in found if item is not None)


def make_task(batch: Batch, index: int, job: Job) -> WorkerTask:
    if isinstance(job, CallsJob):
        order = list(range(len(job.calls)))
    elif isinstance(job, CompanyJob):
        order = list(range(sum(len(member.calls) for member in job.members)))
    elif isinstance(job, ChecksJob):
        plain = [_is_harmless(check) for check in job.checks]
        order = sorted(range(len(job.checks)), key=lambda position: not plain[position])
    elif isinstance(job, StdioJob):
        order = list(range(len(job.inputs)))
    else:
        order = list(range(len(job.programs) or 1))
    task = WorkerTask(batch, index, job, len(order), order)
    if any(len(text.encode("utf-8", "surrogatepass")) > PROGRAM_BYTES for text in _programs(job)):
        task.fill(wire.LOAD_ERROR, b"the program is longer than %d bytes" % PROGRAM_BYTES)
    return task


def _programs(job: Job) -> list[str]:
    if isinstance(job, CompanyJob):
        return [member.program for member in job.members]
    return [job.program, *job.programs] if isinstance(job, HarnessJob) else [job.program]


def _is_harmless(check: Check) -> bool:
    return harmless(check.code) and harmless(check.call)


def share_frame(key: str, pickled: bytes) -> bytes:
    return marshal.dumps((SHARE, 0, 1, 0.0, _limits(Limits()), marshal.dumps((key, pickled), 2)), 2)


def pickle_context(value: Json) -> bytes:
    """Trusted data of ours on its way into the jail (never the other way round)."""
    return pickle.dumps(value, protocol=5)


def _limits(limits: Limits) -> tuple[float, float, float, int, int]:
    return (float(limits.cpu_s), float(limits.wall_s), float(limits.budget_s), limits.memory_mb, limits.output_kb)


def _body(job: Job, order: list[int]) -> tuple[int, bytes]:
    if isinstance(job, CallsJob):
        expressions = {at: call.python for at, call in enumerate(job.calls) if call.python is not None}
        return CALLS, marshal.dumps((_calls(job), expressions), 2)
    if isinstance(job, CompanyJob):
        return COMPANY, marshal.dumps((len(job.members), _parts([_calls(member) for member in job.members])), 2)
    if isinstance(job, ChecksJob):
        checks = []
        for position in order:
            check = job.checks[position]
            checks.append((check.code, check.call, _is_harmless(check)))
        return CHECKS, marshal.dumps((job.program, job.entry_point, checks), 2)
    if isinstance(job, StdioJob):
        inputs = [text.encode("utf-8", "surrogateescape") for text in job.inputs]
        return STDIO, marshal.dumps((marshal.dumps(job.program, 2), inputs), 2)
    parts = _parts([marshal.dumps(part, 2) for part in (job.argument, *(job.programs or (job.program,)))])
    return HARNESS, marshal.dumps((job.harness, job.context, parts), 2)


def _calls(job: CallsJob) -> bytes:
    """What the program's process reads."""
    calls = [(tuple(call.args), dict(call.kwargs), call.python) for call in job.calls]
    return marshal.dumps((job.program, job.entry_point, calls), 2)


def _parts(parts: Sequence[bytes]) -> bytes:
    """A file of parts, as `work.parts` reads it."""
    numbers = [len(parts), *(len(part) for part in parts)]
    return b"".join([*(number.to_bytes(4, "little") for number in numbers), *parts])


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
