"""A second call where the first one is late: a hung connection does not hold its place until the time-out.

A call is late when it is older than several times the usual answer and than any recent answer. Whichever of the two
calls answers first counts, and the other one is closed, which stops a served model; so slow answers are rarely cut off
in favour of fast ones. Dean & Barroso 2013, "The tail at scale".
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
RECENT = 128
ENOUGH = 16
"""Answers from which the usual time is known."""
BEYOND_LONGEST = 1.25
LOOK_S = 0.25
MOST_CALLS = 4
"""Calls for one request in all, one after the other as each is late."""


class Lateness:
    """When a call is late, and how many late calls may be asked again at once.

    Args:
        factor: times the mean of the recent answers; None never calls anything late.
        places: how many second calls may be in flight beside the first ones, asked anew each time.
    """

    def __init__(self, factor: float | None, places: Callable[[], int]) -> None:
        self._factor, self._places = factor, places
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._second = 0

    @property
    def after_s(self) -> float | None:
        """Age in seconds from which a call is late; None while that is not known."""
        if self._factor is None or len(self._recent) < ENOUGH:
            return None
        return max(self._factor * sum(self._recent) / len(self._recent), BEYOND_LONGEST * max(self._recent))

    def answered(self, seconds: float) -> None:
        """An answer took this long."""
        self._recent.append(seconds)

    async def first_answer(self, call: Callable[[], Awaitable[T]], again: Callable[[], Awaitable[T]]) -> T:
        """The result of `call`, or of an `again` that is done before it.

        Raises:
            Exception: that of `call`, where none has a result.
        """
        ended: list[asyncio.Future[T]] = []
        calls = [_begun(call, ended)]
        try:
            while any(not one.done() for one in calls):
                more = len(calls) < MOST_CALLS
                if not await self._answered_or_late(calls, ended, more=more):
                    calls.append(_begun(again, ended))
                    self._second += 1
                    calls[-1].add_done_callback(self._left)
                elif _result(ended) is not None:
                    break
            return await (_result(ended) or calls[0])
        finally:
            await _close(calls)

    async def _answered_or_late(
        self, calls: list[asyncio.Future[T]], ended: list[asyncio.Future[T]], *, more: bool
    ) -> bool:
        """Wait for a result or the end of all calls: true. False where the last one is late and `more` may be sent."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while (waiting := [one for one in calls if not one.done()]) and _result(ended) is None:
            late, age = self.after_s, loop.time() - began
            if more and late is not None and age >= late and self._second < self._places():
                return False
            wait = LOOK_S if late is None else max(LOOK_S, late - age)
            hopeless = self._factor is None or not more
            await asyncio.wait(waiting, timeout=None if hopeless else wait, return_when=asyncio.FIRST_COMPLETED)
        return True

    def _left(self, _: object) -> None:
        self._second -= 1


def _begun(call: Callable[[], Awaitable[T]], ended: list[asyncio.Future[T]]) -> asyncio.Future[T]:
    task = asyncio.ensure_future(call())
    task.add_done_callback(ended.append)  # in the order in which they end
    return task


def _result(ended: list[asyncio.Future[T]]) -> asyncio.Future[T] | None:
    """The call that had a result first."""
    return next((one for one in ended if not one.cancelled() and one.exception() is None), None)


async def _close(calls: list[asyncio.Future[T]]) -> None:
    late = [call for call in calls if not call.done()]
    for call in late:
        call.cancel()
    if late:
        await asyncio.wait(late)
    for call in calls:
        if not call.cancelled():
            call.exception()  # seen
