"""How fast answers come: how long one is waited for, and a second call where the first one is late, so that a hung
connection does not hold its place until the time-out.

A call is late when it is older than several times the usual answer, than any recent answer and than its tokens take at
the usual rate. Whichever of the two calls answers first counts, and the other one is closed, which stops a served
model; so slow answers are rarely cut off in favour of fast ones. Dean & Barroso 2013, "The tail at scale".
"""

from __future__ import annotations

import asyncio
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
RECENT = 128
ENOUGH = 16
"""Answers from which the usual time is known."""
BEYOND_LONGEST = 1.25
SLOW = 2.0
"""An answer may take so many times longer than its tokens take at the usual rate."""
MOST_SENT = 8192
"""Calls that are remembered at most."""
LOOK_S = 0.25
MOST_CALLS = 4
"""Calls for one request in all, one after the other as each is late."""


class Pace:
    """How fast answers come, and how long one is waited for.

    A call is given up with respect to its tokens, and never while calls that were sent before it are answered: on a
    server that works at few at a time it stands in a queue, and is not late.

    Args:
        timeout_s: seconds that an answer is waited for at least; None waits for ever.
        clock: seconds; by default those of the event loop.
    """

    def __init__(self, timeout_s: float | None = None, clock: Callable[[], float] | None = None) -> None:
        self._timeout_s, self._now = timeout_s, clock or (lambda: asyncio.get_running_loop().time())
        self._recent: deque[tuple[float, int]] = deque(maxlen=RECENT)
        self._sent = 0
        self._ended: list[
            tuple[int, float]
        ] = []  # numbers and ends of calls, but for those before the end of a lower one

    @property
    def longest_s(self) -> float:
        """Seconds of the slowest recent answer."""
        return max((seconds for seconds, _ in self._recent), default=0.0)

    @property
    def usual_s(self) -> float | None:
        """Seconds of a recent answer; None while too few are known."""
        return sum(seconds for seconds, _ in self._recent) / len(self._recent) if len(self._recent) >= ENOUGH else None

    def takes_s(self, length: int | None) -> float:
        """Seconds that so many tokens take of one call at the rate of the recent ones; 0 where that is not known."""
        rate = self._rate
        return length / rate if rate and length else 0.0

    def begun(self) -> int:
        """A call is sent; its number."""
        self._sent += 1
        return self._sent

    def answered(self, number: int, seconds: float, tokens: int) -> None:
        """The answer to a call has come, after so many seconds, with so many tokens."""
        self._recent.append((seconds, tokens))
        while self._ended and self._ended[-1][0] >= number:
            self._ended.pop()
        self._ended.append((number, self._now()))
        del self._ended[:-MOST_SENT]

    def left_s(self, number: int, began: float, length: int | None) -> float | None:
        """Seconds that this call is waited for from now on; None for ever."""
        if self._timeout_s is None:
            return None
        before = bisect_left(self._ended, (number, 0.0))
        since = max(began, self._ended[before - 1][1]) if before else began
        allowed = max(self._timeout_s, SLOW * self.takes_s(length))
        return since + allowed - self._now()

    def told(self, seconds: float, length: int | None) -> str:
        """What is said of a call that is given up after so many seconds."""
        rate = self._rate
        if not rate:
            return f"no answer in {round(seconds, 1):g} s"
        done = min(round(seconds * rate), length or sys.maxsize)
        of = f" of {length:,}" if length else ""
        return f"given up after {seconds:.0f} s at {rate:.1f} tokens/s, about {done:,}{of} tokens"

    @property
    def _rate(self) -> float:
        """Tokens a second of one call."""
        seconds = sum(one for one, _ in self._recent)
        return sum(tokens for _, tokens in self._recent) / seconds if seconds else 0.0


class Lateness:
    """When a call is late, and how many late calls may be asked again at once.

    Args:
        factor: times the mean of the recent answers; None never calls anything late.
        places: how many second calls may be in flight beside the first ones, asked anew each time.
        pace: of the answers.
    """

    def __init__(self, factor: float | None, places: Callable[[], int], pace: Pace) -> None:
        self._factor, self._places, self._pace = factor, places, pace
        self._second = 0

    def after_s(self, length: int | None = None) -> float | None:
        """Age in seconds from which a call for so many tokens is late; None while that is not known."""
        usual = self._pace.usual_s
        if self._factor is None or usual is None:
            return None
        slow = BEYOND_LONGEST * max(self._pace.longest_s, self._pace.takes_s(length))
        return max(self._factor * usual, slow)

    async def first_answer(
        self, call: Callable[[], Awaitable[T]], again: Callable[[], Awaitable[T]], length: int | None = None
    ) -> T:
        """The result of `call`, or of an `again` that is done before it.

        Args:
            length: tokens that the answer may have.

        Raises:
            Exception: that of `call`, where none has a result.
        """
        ended: list[asyncio.Future[T]] = []
        calls = [_begun(call, ended)]
        try:
            while any(not one.done() for one in calls):
                more = len(calls) < MOST_CALLS
                if not await self._answered_or_late(calls, ended, length, more=more):
                    calls.append(_begun(again, ended))
                    self._second += 1
                    calls[-1].add_done_callback(self._left)
                elif _result(ended) is not None:
                    break
            return await (_result(ended) or calls[0])
        finally:
            await close(calls)

    async def _answered_or_late(
        self, calls: list[asyncio.Future[T]], ended: list[asyncio.Future[T]], length: int | None, *, more: bool
    ) -> bool:
        """Wait for a result or the end of all calls: true. False where the last one is late and `more` may be sent."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while (waiting := [one for one in calls if not one.done()]) and _result(ended) is None:
            late, age = self.after_s(length), loop.time() - began
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


async def close(calls: list[asyncio.Future[T]]) -> None:
    """Cancel those that are not done, and wait for their end."""
    late = [call for call in calls if not call.done()]
    for call in late:
        call.cancel()
    if late:
        await asyncio.wait(late)
    for call in calls:
        if not call.cancelled():
            call.exception()  # seen
