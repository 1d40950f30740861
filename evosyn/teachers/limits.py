"""How much is asked of an endpoint at once: adaptive concurrency, per-minute rates, a breaker for a dead endpoint.

Concurrency is judged once for each window of as many calls as may be in flight. It grows by one a window (doubling
until the first refusal) and falls to what was admitted when some were refused with a 429. A fall that leaves the share
of refusals as it was is taken back: those do not come from the load. A refused call keeps its place for as long as an
answer takes, so that refusals never come faster than answers would.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from evosyn.errors import TeacherUnavailable

LARGEST_FALL = 0.4
ASSUMED_LATENCY_S = 0.5
SLOW_START = 128
PATIENCE = 20
"""Windows for which refusals are ignored once they turned out not to come from the load."""


class _Fall(NamedTuple):
    """A fall of the limit that waits for its judgement: sizes, the share of refusals before it, windows to wait.

    `origin` is the size before the first of several falls in a row.
    """

    origin: float
    before: float
    after: float
    refused_share: float
    wait: int


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
        self._latency: float | None = None
        self._answered, self._refused = 0, 0
        self._fall: _Fall | None = None
        self._patient = 0

    @property
    def size(self) -> int:
        """Calls allowed in flight now."""
        return max(1, int(self._size))

    async def acquire(self) -> None:
        """Wait for a place."""
        while self._in_flight >= self.size:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            finally:
                if place.cancelled():
                    self._wake()
        self._in_flight += 1

    def succeeded(self, seconds: float) -> None:
        """Give the place back after an answer that took `seconds`."""
        self._latency = seconds if self._latency is None else 0.9 * self._latency + 0.1 * seconds
        self._answered += 1
        if self._slow_start:
            self._size = min(float(self._most), self._size + 1.0)
        self._leave()

    def refused(self) -> None:
        """Give the place back after a 429, as late as an answer would have."""
        delay = ASSUMED_LATENCY_S if self._latency is None else self._latency
        asyncio.get_running_loop().call_later(delay, self._leave_refused)

    def failed(self) -> None:
        """Give the place back after any other failure; the limit stays."""
        self._leave()

    def _leave_refused(self) -> None:
        self._refused += 1
        self._leave()

    def _leave(self) -> None:
        if self._answered + self._refused >= self.size:
            self._end_window(self._refused / (self._answered + self._refused))
            self._answered, self._refused = 0, 0
        self._in_flight -= 1
        self._wake()

    def _end_window(self, share: float) -> None:
        fall, self._fall = self._fall, None
        self._patient -= 1
        if fall is not None and fall.wait:
            self._fall = fall._replace(wait=fall.wait - 1)
        elif fall is not None and _regardless_of_load(fall, share):
            self._size, self._patient = fall.origin, PATIENCE
        elif share == 0.0 or self._patient > 0:
            self._size = min(float(self._most), self._size + 1.0)
        else:
            before, self._slow_start = self._size, False
            self._size = max(1.0, before * LARGEST_FALL, before * (1.0 - share) - 1.0)
            self._fall = _Fall(before if fall is None else fall.origin, before, self._size, share, wait=1)

    def _wake(self) -> None:
        free = self.size - self._in_flight
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1


def _regardless_of_load(fall: _Fall, share: float) -> bool:
    """Is `share` what it was before the fall, although a loaded endpoint would refuse fewer now?"""
    expected = max(0.0, 1.0 - (1.0 - fall.refused_share) * fall.before / fall.after)
    return expected + fall.refused_share / 2 < share < fall.refused_share * 1.5


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
