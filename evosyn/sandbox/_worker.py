"""One worker slot seen from our side: a jail, its stream, and the requests that it has not answered yet.

Its bytes come from a process that runs beside untrusted code, so that frames are bounded and decoded strictly. It does
not decide what runs where; that is `local`.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import IO, Protocol, TypeAlias

from evosyn.sandbox._inside import wire
from evosyn.sandbox._inside.results import RESULT_BYTES

MAX_FRAME = 3 * RESULT_BYTES
"""More than a supervisor sends: `REPLY_BYTES` and what one process may add to them."""
START_S = 30.0


@dataclass
class WorkerRequest:
    """A frame sent to a supervisor; `tag` is whatever its sender wants back with the reply."""

    tag: object
    frame: bytes
    longest_s: float


class Process(Protocol):
    """The process, or container, that a jail is; `pid` is 0 where its processes are not ours to look at."""

    stderr: IO[bytes] | None
    pid: int

    def kill(self) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class Channel(Protocol):
    """A stream: `BlockingIOError` instead of waiting, `OSError` where it is broken, `b""` at its end."""

    def fileno(self) -> int: ...

    def send(self, data: memoryview, /) -> int: ...

    def recv(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


Launch: TypeAlias = Callable[[int], tuple[Process, Channel]]
"""Starts a jail for a slot. The calling thread lives as long as the jail."""


class WorkerDied(Exception):
    """The jail is gone or talks nonsense."""


class Worker:
    """A jail and its stream. Used from one thread.

    Attributes:
        held: what the jail says it could set up; None until it is ready.
        pending: requests without a reply, oldest first.
        shared: keys of contexts that it holds.
        broken: why it must not be used any more, seen behind replies that still count.
        deadline: when its oldest request is overdue.
    """

    def __init__(self, launch: Launch, slot: int, guards: Collection[str] = ()) -> None:
        """
        Args:
            guards: what it must say that it could set up.
        """
        self._guards = guards
        self.process, self.socket = launch(slot)
        self.slot = slot
        self.held: tuple[str, ...] | None = None
        self.pending: deque[WorkerRequest] = deque()
        self.shared: set[str] = set()
        self.broken: str | None = None
        self.deadline = time.monotonic() + START_S
        self._out: deque[memoryview] = deque()
        self._in = bytearray()

    @property
    def ready(self) -> bool:
        return self.held is not None

    @property
    def wants_write(self) -> bool:
        return bool(self._out)

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, *requests: WorkerRequest) -> None:
        """Queue requests, all of them before any byte moves, so that none is lost with the stream."""
        for request in requests:
            if not self.pending:
                self.deadline = time.monotonic() + request.longest_s
            self.pending.append(request)
            self._out.append(memoryview(len(request.frame).to_bytes(4, "little") + request.frame))
        self.flush()

    def flush(self) -> None:
        """
        Raises:
            WorkerDied: the stream is broken.
        """
        try:
            while self._out:
                sent = self.socket.send(self._out[0])
                if sent == len(self._out[0]):
                    self._out.popleft()
                else:
                    self._out[0] = self._out[0][sent:]
        except BlockingIOError:
            return
        except OSError as error:
            raise WorkerDied(str(error)) from error

    def receive(self) -> list[tuple[WorkerRequest, list[wire.Record]]]:
        """The replies that have come in.

        Raises:
            WorkerDied: the stream ended or holds no frames.
        """
        try:
            while data := self.socket.recv(1 << 20):
                self._in += data
                if len(data) < 1 << 16:
                    break
            else:
                raise WorkerDied(self.last_words())
        except BlockingIOError:
            pass
        except OSError as error:
            raise WorkerDied(str(error)) from error
        replies = []
        while (frame := self._frame()) is not None:
            if self.held is None:
                self._hello(frame)
            elif self.pending:
                request = self.pending.popleft()
                if self.pending:
                    self.deadline = time.monotonic() + self.pending[0].longest_s
                replies.append((request, wire.read_records(frame, 1 << 24, wire.OF_SUPERVISORS)))
            else:
                self.broken = "a reply that nobody asked for"
                break
        return replies

    def last_words(self) -> str:
        """What the process wrote before it ended: bubblewrap's complaint, a traceback."""
        stream = self.process.stderr
        if stream is None:
            return "it ended"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        self.process.kill()
        return stream.read(4000).decode("utf-8", "replace").strip()[-600:] or "it ended without a word"

    def kill(self) -> None:
        """End the process and everything in its jail; waits until it is gone."""
        self.process.kill()
        self.process.wait()
        self.socket.close()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def _frame(self) -> bytes | None:
        if len(self._in) < 4:
            return None
        size = int.from_bytes(self._in[:4], "little")
        if size > MAX_FRAME:
            self.broken = f"a frame of {size} bytes"
            return None
        if len(self._in) < 4 + size:
            return None
        frame = bytes(self._in[4 : 4 + size])
        del self._in[: 4 + size]
        return frame

    def _hello(self, frame: bytes) -> None:
        try:
            said = wire.decode(frame)
            if "trouble" in said:
                raise WorkerDied(str(said["trouble"]))
            held = tuple(str(name) for name in said["held"])
        except (wire.Malformed, TypeError, KeyError) as error:
            raise WorkerDied(f"not a greeting: {error}") from error
        if missing := sorted(set(self._guards) - set(held)):
            raise WorkerDied(f"a guard that others have could not be set up: {', '.join(missing)}")
        self.held = held
