"""Collecting what many items ask at the same time into one call in a thread, as executions and rankings want it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Batches(Generic[Asked, Answer]):
    """An async call for one, answered by a blocking call for several. Belongs to one event loop.

    A call begins as soon as a thread is free, with all that wait by then: nobody waits for a batch to fill up.

    Args:
        work: one answer for each of what was asked, in order; runs in a thread. What it raises, all of its batch get.
        size: most in one call.
        threads: calls at the same time; while one is judged here, the sandbox works on the other.
    """

    def __init__(self, work: Callable[[Sequence[Asked]], Sequence[Answer]], size: int, threads: int = 2) -> None:
        self._work = work
        self._size = size
        self._free = threads
        self._waiting: deque[tuple[Asked, asyncio.Future[Answer]]] = deque()
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, asked: Asked) -> Answer:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((asked, answer))
        loop.call_soon(self._begin)  # after all who ask in this turn of the loop
        return await answer

    def _begin(self) -> None:
        while self._free and self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(self._size, len(self._waiting)))]
            batch = [(asked, answer) for asked, answer in batch if not answer.done()]  # the asker may be gone
            if batch:
                self._free -= 1
                task = asyncio.create_task(self._call(batch))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def _call(self, batch: Sequence[tuple[Asked, asyncio.Future[Answer]]]) -> None:
        try:
            found = await in_thread(partial(self._work, [asked for asked, _ in batch]))
            for (_, answer), value in zip(batch, found, strict=True):
                if not answer.done():
                    answer.set_result(value)
        except Exception as error:  # noqa: BLE001  raised again where it is awaited
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
        finally:
            self._free += 1
            self._begin()


async def in_thread(work: Callable[[], Answer]) -> Answer:
    """Run `work` in a daemon thread: an interrupt ends the process without waiting for it, as a pool would."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def tell(act: Callable[[], None]) -> None:
        # The loop may be gone by now: then nobody waits for the result any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if future.done() else act())

    def body() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  raised again where it is awaited
            caught = error
            tell(lambda: future.set_exception(caught))
        else:
            tell(lambda: future.set_result(result))

    threading.Thread(target=body, daemon=True).start()
    return await future
