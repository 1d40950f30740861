"""A job on its way: how it is sent, what is left of it, and how its records become outcomes."""

from __future__ import annotations

import marshal
import queue
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from evosyn.errors import UsageError
from evosyn.jobs import (
    Call,
    CallsJob,
    Check,
    ChecksJob,
    CompanyJob,
    HarnessJob,
    ItemOutcome,
    Job,
    Limits,
    ProgramJob,
    ShellJob,
    StdioJob,
)
from evosyn.sandbox._inside import wire, work
from evosyn.sandbox._inside.alarm import WAITING
from evosyn.sandbox._inside.supervisor import CALLS, CHECKS, COMPANY, HARNESS, SHARE, STDIO
from evosyn.sandbox.bundling import harmless
from evosyn.sandbox.outcomes import LargeOutcome, outcome_of

SEGMENT_BYTES, GROUP_BYTES, GROUP_CALLS = 8 << 20, 1 << 16, 16
"""What is sent of a job at a time, and what is read of its calls at a time, but for an item that is larger."""
ANSWERS: Mapping[type[Job], int] = {CallsJob: 32, CompanyJob: 32, ChecksJob: 32, HarnessJob: 32, StdioJob: 256}
"""Largest answers (`output_kb`) that a job may give. Texts are cheaper to read than values."""
SMALL_BYTES = 1024
"""Answers up to here are not counted, so that a testing of small ones does not depend on its neighbours."""
_TOO_MANY = b"large answers: their sum is over the limit of a job"
PROGRAM_BYTES = 4 << 20
SLACK_S = 10.0


@dataclass
class Batch:
    """One call of `run`: where its finished tasks go."""

    done: queue.SimpleQueue[WorkerTask | BaseException] = field(default_factory=queue.SimpleQueue)
    cancelled: bool = False


Sent = TypeVar("Sent")


class TooLargeToSend(Exception):
    """A job is too large to be sent."""


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

    def request(self) -> tuple[Segment, bytes]:
        """The frame that asks for these items, or for those at their front that are sent at a time; the others are the
        task's again.

        Raises:
            ValueError: an argument is not plain data.
            TooLargeToSend: it is sent as a whole or not at all.
        """
        task = self.task
        kind, body, count = _body(task.job, task.order[self.first : self.stop])
        sent = self._replace(stop=self.first + count)
        if sent.stop < self.stop:
            task.give_back(Segment(task, sent.stop, self.stop))
        return sent, marshal.dumps((kind, 0, count, float(task.left_s), _limits(task.job.limits), body), 2)


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
        held: bytes of its answers.
        order: for checks, the position in the job of each item sent.
    """

    batch: Batch
    index: int
    job: ProgramJob
    count: int
    order: list[int]
    records: list[wire.Record | None] = field(default_factory=list)
    todo: deque[tuple[int, int]] = field(default_factory=deque)
    flying: int = 0
    slow: bool = False
    delivered: bool = False
    queued: bool = False
    attempts: int = 0
    held: int = 0

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

        A timeout is charged the whole limit of an item, however little of it was computed; one that several items have
        in common, of loading, once.
        """
        self.flying -= segment.stop - segment.first
        cpu_s = self.job.limits.cpu_s
        records = [
            record._replace(seconds=max(record.seconds, cpu_s))
            if record.code == wire.TIMEOUT and record.seconds
            else record
            for record in records[: segment.stop - segment.first]
        ]
        self.records[segment.first : segment.first + len(records)] = records
        self.slow = self.slow or any(record.code == wire.TIMEOUT for record in records)
        self.held += sum([len(record.payload) for record in records])
        if segment.first + len(records) < segment.stop:
            self.todo.appendleft((segment.first + len(records), segment.stop))

    @property
    def may_fan_out(self) -> bool:
        """Whether another worker may take an item beside those that have some now."""
        return bool(self.todo) and self.slow and self.flying * self.job.limits.cpu_s < self.left_s

    def finished(self) -> bool:
        """Whether nothing is left to do; marks what the budget does not reach, and large answers behind too many."""
        spent, room = 0.0, ANSWERS[type(self.job)] * self.job.limits.output_kb * 1024
        for position, record in enumerate(self.records):
            if record is None:
                if spent < self.job.limits.budget_s:
                    return False
            elif spent < self.job.limits.budget_s:
                spent += record.seconds
                if len(record.payload) > SMALL_BYTES:
                    room -= len(record.payload)
                    if room < 0:
                        self.records[position] = wire.Record(wire.OUTPUT_LIMIT, record.seconds, _TOO_MANY)
                elif record.payload is _TOO_MANY:
                    room = -1
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
                is_large = len(record.payload) > SMALL_BYTES and record.code == wire.OK
                found[position] = (
                    LargeOutcome(type(self.job), record) if is_large else outcome_of(type(self.job), record)
                )
        return tuple(item for item in found if item is not None)


def make_task(batch: Batch, index: int, job: Job) -> WorkerTask:
    """
    Raises:
        UsageError: the job is about a world.
    """
    if isinstance(job, ShellJob):
        raise UsageError("a sandbox runs no ShellJob: it is for a shell world; open it through a workbench")
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


def _programs(job: ProgramJob) -> list[str]:
    if isinstance(job, CompanyJob):
        return [text for member in job.members for text in _sources(member)]
    return [job.program, *job.programs] if isinstance(job, HarnessJob) else _sources(job)


def _sources(job: CallsJob | ChecksJob | StdioJob) -> list[str]:
    """The program, behind what runs before it."""
    return [*job.before, job.program]


def _is_harmless(check: Check) -> bool:
    return harmless(check.code) and harmless(check.call)


def share_frame(key: str, pickled: bytes, gone: Iterable[str]) -> bytes:
    """The frame that brings a context, and says which others are to be forgotten."""
    return marshal.dumps((SHARE, 0, 1, 0.0, _limits(Limits()), marshal.dumps((key, pickled, tuple(gone)), 2)), 2)


def _limits(limits: Limits) -> tuple[float, float, float, int, int]:
    return (float(limits.cpu_s), float(limits.wall_s), float(limits.budget_s), limits.memory_mb, limits.output_kb)


def _body(job: ProgramJob, positions: Sequence[int]) -> tuple[int, bytes, int]:
    """Kind and body of a request for the items of a job at these positions, and for how many of them it is.

    Raises:
        TooLargeToSend: programs in company are sent together or not at all.
    """
    if isinstance(job, CallsJob):
        groups = _fitting((len(group.data), group) for group in _groups([job.calls[at] for at in positions]))
        count = sum([group.calls for group in groups])
        expressions = {at: text for at in range(count) if (text := job.calls[positions[at]].python) is not None}
        head = marshal.dumps((_sources(job), job.entry_point, tuple([group.calls for group in groups])), 2)
        parts = work.joined([head, *[group.data for group in groups]])
        return CALLS, marshal.dumps((parts, expressions), 2), count
    if isinstance(job, CompanyJob):
        members, room = [], SEGMENT_BYTES
        for member in job.members:
            packed = []
            for group in _groups(member.calls):
                packed.append(group.data)
                room -= len(group.data)
                if room < 0:
                    raise TooLargeToSend
            members.append(marshal.dumps((_sources(member), member.entry_point, packed), 2))
        return COMPANY, marshal.dumps((len(members), work.joined(members)), 2), len(positions)
    if isinstance(job, ChecksJob):
        texts = [job.checks[at] for at in positions]
        checks = _fitting((len(one.code) + len(one.call), (one.code, one.call, _is_harmless(one))) for one in texts)
        return CHECKS, marshal.dumps((_sources(job), job.entry_point, checks), 2), len(checks)
    if isinstance(job, StdioJob):
        encoded = (job.inputs[at].encode("utf-8", "surrogateescape") for at in positions)
        inputs = _fitting((len(text), text) for text in encoded)
        return STDIO, marshal.dumps((marshal.dumps(_sources(job), 2), inputs), 2), len(inputs)
    every = job.programs or (job.program,)
    programs = _fitting((len(every[at]), marshal.dumps(every[at], 2)) for at in positions)
    parts = work.joined([marshal.dumps(job.argument, 2), *programs])
    key = None if job.context is None else str(job.context)
    return HARNESS, marshal.dumps((job.harness, key, parts), 2), len(programs)


def _fitting(sized: Iterable[tuple[int, Sent]]) -> list[Sent]:
    """Of what is given with its size, as much from the front as is sent at a time; the first one in any case."""
    found: list[Sent] = []
    room = SEGMENT_BYTES
    for size, one in sized:
        room -= size
        if room < 0 and found:
            break
        found.append(one)
    return found


class _Group(NamedTuple):
    """Calls that are read together, encoded."""

    calls: int
    data: bytes


def _groups(calls: Sequence[Call]) -> Iterator[_Group]:
    """Large calls each for itself, so that a process need only hold those that it makes."""
    for start in range(0, len(calls), GROUP_CALLS):
        some = [(tuple(call.args), dict(call.kwargs), call.python) for call in calls[start : start + GROUP_CALLS]]
        data = marshal.dumps(some, 2)
        if len(data) <= GROUP_BYTES or len(some) == 1:
            yield _Group(len(some), data)
        else:
            yield from [_Group(1, marshal.dumps([one], 2)) for one in some]
