"""How much is asked of an endpoint at once: adaptive concurrency, per-minute rates, a breaker for a dead endpoint.

Concurrency grows by one for each window of successes (doubling until the first refusal) and shrinks by a quarter on a
429, at most once for each window: additive increase, multiplicative decrease. Times come from the event loop's clock.
"""

from __future__ import annotations

import asyncio
from collections import deque

from evosyn.errors import TeacherUnavailable

DECREASE = 0.75
SLOW_START = 64


class AdaptiveLimit:
    """A semaphore whose size follows what the endpoint admits.

    Args:
        most: upper bound on calls in flight, at least 1.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = float(min(most, SLOW_START))
        self._slow_start = True
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._pause_until = 0.0
        self._ignore_until_done = 0

    @property
    def size(self) -> int:
        """Calls allowed in flight now."""
        return max(1, int(self._size))

    async def acquire(self) -> None:
        """Wait for a place, and for the end of a pause that the endpoint asked for."""
        while True:
            delay = self._pause_until - asyncio.get_running_loop().time()
            if delay > 0:
                await asyncio.sleep(delay)
            elif self._in_flight < self.size:
                self._in_flight += 1
                return
            else:
                place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(place)
                try:
                    await place
                finally:
                    if place.cancelled():
                        self._wake()

    def succeeded(self) -> None:
        """Give the place back after an answer; the limit grows."""
        growth = 1.0 if self._slow_start else 1.0 / self._size
        self._size = min(float(self._most), self._size + growth)
        self._leave()

    def refused(self, retry_after: float) -> None:
        """Give the place back after a 429; the limit shrinks once for each window of calls, and sending pauses.

        Args:
            retry_after: seconds that the endpoint asked for; 0.0 if it did not say.
        """
        if self._ignore_until_done <= 0:
            self._size = max(1.0, min(self._size, self._in_flight) * DECREASE)
            self._slow_start = False
            self._ignore_until_done = self._in_flight
            self._pause_until = asyncio.get_running_loop().time() + min(retry_after, 0.25)
        self._leave()

    def failed(self) -> None:
        """Give the place back after any other failure; the limit stays."""
        self._leave()

    def _leave(self) -> None:
        self._in_flight -= 1
        self._ignore_until_done -= 1
        self._wake()

    def _wake(self) -> None:
        free = self.size - self._in_flight
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1


class PerMinute:
    """A token bucket: at most `rate` units a minute, of which a tenth may come at once.

    Args:
        rate: units a minute, or None for no limit.
    """

    def __init__(self, rate: float | None) -> None:
        self._per_second = None if rate is None else rate / 60.0
        self._burst = 0.0 if rate is None else max(1.0, rate / 10.0)
        self._level, self._at = self._burst, 0.0

    async def take(self, units: float) -> None:
        """Wait until `units` may be spent. More than the bucket holds is taken as a debt."""
        if self._per_second is None:
            return
        now = asyncio.get_running_loop().time()
        self._level = min(self._burst, self._level + (now - self._at) * self._per_second)
        self._at = now
        self._level -= units
        if self._level < 0:
            await asyncio.sleep(-self._level / self._per_second)


class Breaker:
    """Ends a run whose endpoint has answered nothing for too long.

    Args:
        patience_s: seconds without one success, counted from the first failure after the last success.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._failing_since: float | None = None

    def succeeded(self) -> None:
        self._failing_since = None

    def failed(self, reason: str) -> None:
        """
        Raises:
            TeacherUnavailable: nothing but failures for `patience_s` seconds.
        """
        now = asyncio.get_running_loop().time()
        if self._failing_since is None:
            self._failing_since = now
        elif now - self._failing_since > self._patience_s:
            raise TeacherUnavailable(
                f"the endpoint has answered nothing for {self._patience_s:.0f} s (last failure: {reason}); "
                "check it with `evosyn doctor --model ...` and repeat the command: replies received are kept"
            )
