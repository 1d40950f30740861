"""The workers of a local sandbox, its queue, and the one thread that owns them: starts them, hands out jobs, takes
replies, ends what is stuck.

`local` is what callers see.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import HarnessJob
from evosyn.sandbox._contexts import SharedContexts
from evosyn.sandbox._inside import wire
from evosyn.sandbox._memory import Memory
from evosyn.sandbox._tasks import Batch, Segment, TooLargeToSend, WorkerTask, share_frame
from evosyn.sandbox._worker import Launch, Worker, WorkerDied, WorkerRequest

MAX_ATTEMPTS = 3
MAX_FAILED_STARTS = 3
RESTART_S = 0.1
"""How long to wait before another start, for each in a row that has failed."""
SHARE_S = 60.0
HELD_BYTES = 1 << 20
"""A job of which we hold more than this goes on before others begin."""


@dataclass
class WorkerPool:
    """The workers, the queue and the thread that owns them.

    Attributes:
        guards: what every worker must say that it could set up; what the first one said, where nobody knows before.
    """

    launch: Launch
    size: int
    memory: Memory
    guards: tuple[str, ...] = ()
    contexts: SharedContexts = field(default_factory=SharedContexts)
    queue: deque[WorkerTask] = field(default_factory=deque)
    open: dict[int, Batch] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()  # what collects garbage may close the pool anywhere
        self._cancelled: list[Batch] = []
        self._wake_r, self._wake_w = socket.socketpair()
        self._wake_r.setblocking(False)
        self._wake_w.setblocking(False)
        self._closing = False
        self._pid = os.getpid()
        self._thread: threading.Thread | None = None

    def submit(self, tasks: Sequence[WorkerTask]) -> int:
        """Queue tasks; what is already finished goes straight back.

        Raises:
            SandboxUnavailable: the sandbox is closed, or this is a fork of the process that opened it.
        """
        self._check_open()  # before the lock, which a fork may have copied closed
        for task in tasks:
            if not task.todo:
                task.delivered = True
                task.batch.done.put(task)
            task.queued = bool(task.todo)
        with self._lock:
            self._check_open()
            self.open |= {id(task.batch): task.batch for task in tasks}
            self.queue.extend(task for task in tasks if task.todo)
            if self._thread is None:
                self._thread = threading.Thread(target=_Dispatcher(self).run, name="evosyn-sandbox", daemon=True)
                self._thread.start()
        self.wake()
        return len(tasks)

    def _check_open(self) -> None:
        if self._closing or os.getpid() != self._pid:
            raise SandboxUnavailable("this sandbox is closed, or was opened by another process; open a new one")

    def cancel(self, batch: Batch) -> None:
        """Forget a batch and end what still works on it."""
        if os.getpid() != self._pid:
            return
        batch.cancelled = True
        with self._lock:
            self._cancelled.append(batch)
        self.wake()

    def take_cancelled(self) -> list[Batch]:
        with self._lock:
            found, self._cancelled = self._cancelled, []
            if found:
                self.queue = deque(task for task in self.queue if not task.batch.cancelled)
        return found

    def wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_w.send(b"!")

    def drain(self) -> None:
        with contextlib.suppress(OSError):
            while self._wake_r.recv(4096):
                pass

    def fail(self, error: BaseException) -> None:
        """Tell everybody who waits; nobody can be added afterwards."""
        with self._lock:
            self._closing = True
            batches, self.open = list(self.open.values()), {}
            self.queue.clear()
        for batch in batches:
            batch.done.put(error)

    @property
    def wake_socket(self) -> socket.socket:
        return self._wake_r

    @property
    def closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if os.getpid() != self._pid:
            return
        self._closing = True
        self.wake()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.memory.close()


class _Dispatcher:
    """What the pool's thread does. No lock is held while it talks to workers."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._workers: list[Worker] = []
        self._slots = 0
        self._failed_starts = 0
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        self._selector.register(self._pool.wake_socket, selectors.EVENT_READ, None)
        try:
            while not self._pool.closing:
                self._start_workers()
                self._hand_out()
                self._wait()
                self._end_stuck()
                self._end_too_big()
                if self._pool.take_cancelled():
                    self._end_cancelled()
        except BaseException as error:  # noqa: BLE001 - must reach the callers, not die with the thread
            self._pool.fail(error)
        finally:
            for worker in self._workers:
                worker.kill()
            self._selector.close()
            self._pool.fail(SandboxUnavailable("the sandbox was closed while jobs were running"))

    def _start_workers(self) -> None:
        wanted = min(self._pool.size, len(self._pool.queue) + sum(1 for worker in self._workers if worker.pending))
        while len(self._workers) < wanted:
            self._slots += 1
            try:
                worker = Worker(self._pool.launch, self._slots - 1, self._pool.guards)
            except SandboxUnavailable as error:
                self._has_not_started(str(error))
                continue
            self._workers.append(worker)
            self._selector.register(worker, selectors.EVENT_READ, worker)

    def _hand_out(self) -> None:
        """Give work to workers: one request each, then a second one ahead while plenty is queued."""
        queue = self._pool.queue
        for depth in (1, 2):
            for worker in list(self._workers):
                while queue and worker.ready and len(worker.pending) < depth:
                    if depth == 2 and len(queue) < 4 * self._pool.size:
                        return
                    segment = self._next_segment()
                    if segment is None:
                        continue
                    try:
                        self._give(worker, segment)
                    except WorkerDied as death:
                        self._bury(worker, str(death))
                        break

    def _next_segment(self) -> Segment | None:
        """Take work off the queue: all that is left of a task, or one item where idle workers can share a slow task."""
        task = self._pool.queue.popleft()
        task.queued = False
        if task.batch.cancelled or task.delivered or not task.todo:
            return None
        idle = sum(1 for worker in self._workers if not worker.pending) + self._pool.size - len(self._workers)
        share = task.may_fan_out and idle - (not task.flying) > len(self._pool.queue)
        if task.flying and not share:
            return None  # it is queued again when the items that are under way come back
        segment = task.take(1 if share else task.count)
        if share and task.may_fan_out:
            self._queue(task)
        return segment

    def _queue(self, task: WorkerTask, *, first: bool = False) -> None:
        if not task.queued:
            task.queued = True
            (self._pool.queue.appendleft if first else self._pool.queue.append)(task)

    def _give(self, worker: Worker, segment: Segment) -> None:
        task = segment.task
        try:
            segment, frame = segment.request()
        except (ValueError, TypeError, AttributeError) as error:
            task.batch.done.put(TypeError(f"job {task.index}: what it is made of is not plain data: {error}"))
            return
        except TooLargeToSend:
            task.fill(wire.NOT_RUN, b"too large to be sent")
            self._settle(task)
            return
        requests = [WorkerRequest(segment, frame, segment.longest_s)]
        if isinstance(task.job, HarnessJob) and task.job.context is not None:
            try:
                requests = [*self._shared(worker, task.job.context), *requests]
            except KeyError as error:
                task.batch.done.put(KeyError(f"job {task.index}: {error.args[0]}"))
                return
        self._pool.memory.allow(worker.slot, task.job.limits.memory_mb)
        worker.send(*requests)

    def _shared(self, worker: Worker, key: str) -> list[WorkerRequest]:
        """What tells a worker of a context that it lacks, and which others nobody holds any more.

        Raises:
            KeyError: nobody holds this one.
        """
        pickled, contexts = self._pool.contexts.get(key), self._pool.contexts
        if key in worker.shared:
            return []
        gone = {one for one in worker.shared if one not in contexts}
        worker.shared = {*(worker.shared - gone), str(key)}  # the text alone: a worker keeps no context alive
        return [WorkerRequest(None, share_frame(str(key), pickled, gone), SHARE_S)]

    def _wait(self) -> None:
        now = time.monotonic()
        due = [worker.deadline for worker in self._workers if worker.pending or not worker.ready]
        for worker in self._workers:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.wants_write else 0)
            self._selector.modify(worker, events, worker)
        if due:
            due.append(now + self._pool.memory.pause_s)
        for key, _ in self._selector.select(max(0.0, min(due) - now) if due else None):
            worker = key.data
            if worker is None:
                self._pool.drain()
                continue
            try:
                worker.flush()
                replies = worker.receive()
                self._pool.guards = self._pool.guards or worker.held or ()
                for request, records in replies:
                    self._failed_starts = 0
                    self._answered(request.tag, records)
                if worker.broken is not None:
                    raise WorkerDied(worker.broken)
            except WorkerDied as death:
                self._bury(worker, str(death))

    def _answered(self, tag: object, records: list[wire.Record]) -> None:
        if not isinstance(tag, Segment):
            return
        if not records:
            self._lost(tag, "an empty reply")
            return
        if not tag.task.delivered:
            tag.task.absorb(tag, records)
            self._settle(tag.task)

    def _settle(self, task: WorkerTask) -> None:
        """Deliver a task that has ended; queue what is left of one that has not."""
        if task.finished():
            task.delivered = True
            task.batch.done.put(task)
        elif task.todo:
            self._queue(task, first=task.held > HELD_BYTES)

    def _bury(self, worker: Worker, reason: str, *, ours: bool = True) -> None:
        """Take a dead worker out; its oldest job has lost an attempt, the others have not.

        Args:
            ours: that job may be to blame.
        """
        self._selector.unregister(worker)
        self._workers.remove(worker)
        ready = worker.ready
        worker.kill()
        self._pool.wake()  # its work is for another one, which may have to be started
        self._pool.memory.leave(worker.slot)
        segments = [request.tag for request in worker.pending if isinstance(request.tag, Segment)]
        if not ready:
            self._has_not_started(reason)
        for position, segment in enumerate(segments):
            self._lost(segment, reason, ours=ours and position == 0)

    def _has_not_started(self, reason: str) -> None:
        """
        Raises:
            SandboxUnavailable: that was once too often.
        """
        self._failed_starts += 1
        if self._failed_starts >= MAX_FAILED_STARTS:
            raise SandboxUnavailable(f"the sandbox does not start: {reason}")
        time.sleep(RESTART_S * self._failed_starts)

    def _lost(self, segment: Segment, reason: str, *, ours: bool = True) -> None:
        task = segment.task
        if task.delivered:
            return
        task.give_back(segment)
        task.attempts += ours
        if task.attempts >= MAX_ATTEMPTS:
            detail = f"worker lost {task.attempts} times: {reason}"
            task.fill(wire.INFRA, detail[:300].encode("utf-8", "replace"))
        self._settle(task)

    def _end_stuck(self) -> None:
        now = time.monotonic()
        for worker in list(self._workers):
            if (worker.pending or not worker.ready) and now > worker.deadline:
                self._bury(worker, "it did not answer in time")

    def _end_too_big(self) -> None:
        """What is over its share is ended by the way; here, a worker for which the machine is too small."""
        if self._pool.memory.pause_s:
            return
        pids = {worker.slot: worker.process.pid for worker in self._workers if worker.pending and worker.process.pid}
        for slot in self._pool.memory.look(pids):
            for worker in [worker for worker in self._workers if worker.slot == slot]:
                self._bury(worker, "this machine is short of memory: use fewer workers, or a smaller memory_mb")

    def _end_cancelled(self) -> None:
        for worker in list(self._workers):
            tags = [request.tag for request in worker.pending]
            if any(isinstance(tag, Segment) and tag.task.batch.cancelled for tag in tags):
                self._bury(worker, "cancelled", ours=False)
