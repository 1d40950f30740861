"""How much is asked of an endpoint at once: adaptive concurrency and rate, per-minute rates, a breaker for a dead
endpoint.

Calls are unpaced until some are refused with a 429. Then they are paced at the rate that was admitted, which grows
again, faster from window to window, until the next refusals. Refusals that go on at the lower rate in the same share
do not come from the load: a sequential test (Wald 1945) tells the two apart within some fifty calls; then the old rate
is restored and that share tolerated.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.errors import TeacherUnavailable
from evosyn.teachers.failures import TransportError

log = logging.getLogger(__name__)
SAID_AFTER_S = 10.0
"""Seconds without an answer after which that is said."""
KEPT = "Replies received are kept, and the same command goes on"
SLOW_START = 128
"""Calls in flight at the start; each answer adds one, while nothing is refused."""
SPARE = 8
"""One call waits at an endpoint for so many that it works at."""
WINDOW_S = 0.5
WINDOW_CALLS, CALLS_WHILE_RISING = 24, 4
"""Refusals are counted in windows of at least so much time and so many calls."""
NEGLIGIBLE = 0.03
"""A share of refusals that is no reason to ask for less."""
UNLOADED = 0.01
"""The share of refusals expected below what is admitted."""
LARGEST = 0.5
"""Larger shares are always taken for the load's."""
CERTAIN = 5.0
"""Logarithm of the odds at which the test decides."""
BELOW = 0.95
"""Share of the admitted rate that is asked for after refusals."""
SLOWEST = 0.5
"""Calls a second that are always tried."""
OUTAGE = 0.9
"""From this share of refusals on, they say nothing about the rate that will be admitted later."""
LARGEST_FALL = 0.4
"""The share of the rate that is left at least after one fall."""
ENOUGH_REFUSED = 6
"""Refusals that the test wants to have seen before it says that they do not come from the load."""
AGAIN = 0.4
"""How much less is asked for in the second half of the test."""
NEAR = 0.97
"""Share of the rate that was too much from which the rate rises slowly."""


class _Window(NamedTuple):
    sent: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass
class _Test:
    """Is it the load? The rate and the share of refusals before the fall, and what came since."""

    origin: float
    share: float
    again: bool = False
    sent: int = 0
    refused: int = 0

    @property
    def log_odds(self) -> float:
        """Of the refusals not coming from the load."""
        admitted = max(0, self.sent - self.refused)
        return self.refused * math.log(self.share / UNLOADED) + admitted * math.log((1 - self.share) / (1 - UNLOADED))


class AdaptiveLimit:
    """A semaphore whose size and rate follow what the endpoint admits.

    Args:
        most: upper bound on calls in flight, at least 1.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = float(min(most, SLOW_START))
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._rate, self._next = math.inf, 0.0
        self._epoch, self._since = 0, 0.0
        self._sent, self._refused = 0, 0
        self._before = _Window()
        self._too_much, self._growth = math.inf, 0.01
        self._refusal_s, self._answer_s = 0.05, 0.0
        self._judging: asyncio.TimerHandle | None = None
        self._test: _Test | None = None
        self._tolerated = self._most_tolerated = 0.0

    @property
    def size(self) -> int:
        """Calls allowed in flight now."""
        return int(self._size)

    @property
    def rate(self) -> float:
        """Calls a second allowed now; infinite while nothing was refused."""
        return self._rate

    async def acquire(self) -> int:
        """Wait for a place; returns its mark, which `refused` wants."""
        if self._waiting or not self._free():
            place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            self._wake()
            try:
                return await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self._leave()
                raise
        return self._enter()

    def serves(self, slots: int) -> None:
        """The endpoint works at so many calls at once: a few more wait there, so that none of its places is idle."""
        self._most = min(self._most, slots + max(1, slots // SPARE))
        self._size = min(self._size, float(self._most))

    def succeeded(self, seconds: float) -> None:
        """Give the place back after an answer that took `seconds`."""
        self._answer_s += (seconds - self._answer_s) * (0.1 if self._answer_s else 1.0)
        if self._rate == math.inf:
            self._size = min(float(self._most), self._size + 1.0)
        self._leave()

    def failed(self) -> None:
        """Give the place back after a failure that says nothing about the load."""
        self._leave()

    def refused(self, mark: int, seconds: float) -> None:
        """Give the place back after a 429 that took `seconds` to come."""
        self._refusal_s += 0.2 * (seconds - self._refusal_s)
        if mark == self._epoch:
            self._refused += 1
            if self._test is not None:
                self._test.refused += 1
                self._decide(self._test)
            self._suspect()
        self._leave()

    def _suspect(self) -> None:
        """Judge soon, when the refusals that are under way have come; until then nothing is sent."""
        if (
            self._judging is not None
            or self._refused < 3
            or self._sent < (WINDOW_CALLS if self._tolerated else WINDOW_CALLS / 2)
        ):
            return
        if self._refused / self._sent <= self._bearable():
            return
        loop = asyncio.get_running_loop()
        self._judging = loop.call_later(min(0.5, max(0.05, 2 * self._refusal_s)), self._judge)

    def _judge(self) -> None:
        share = min(1.0, self._refused / self._sent)
        self._fall(_Test(self._rate, share) if share <= LARGEST else None, share)

    def _fall(self, test: _Test | None, share: float) -> None:
        """Pace at the rate that was admitted."""
        self._test, self._tolerated, self._growth = test, 0.0, 0.01
        seconds = asyncio.get_running_loop().time() - self._since + self._before.seconds
        sent = self._sent + self._before.sent
        admitted = self._rate * max(LARGEST_FALL, 1.0 - share)
        if sent < self._rate * seconds / 2:  # the rate was not what held the calls back
            full = self._in_flight / self._answer_s if self._answer_s and share <= LARGEST else 0.0
            self._rate = max(full, sent / max(WINDOW_S, seconds))
            admitted = self._rate * (1.0 - (self._sent * share + self._before.refused) / max(1, sent))
        self._too_much = self._rate if share < OUTAGE else self._too_much
        self._begin(max(SLOWEST, BELOW * admitted))

    def _decide(self, test: _Test) -> None:
        if test.log_odds < -CERTAIN:
            self._test = None
        elif test.log_odds > CERTAIN and test.refused >= ENOUGH_REFUSED and test.sent >= WINDOW_CALLS:
            share = test.refused / test.sent
            if test.again and share <= 2 * test.share:
                self._test, self._tolerated, self._most_tolerated = None, share, 1.5 * share
                self._begin(test.origin)
            else:  # a burst that was admitted may have hidden the share: ask for still less
                again = _Test(test.origin, share, again=True)
                self._fall(again if share <= LARGEST else None, max(share, AGAIN))

    def _begin(self, rate: float) -> None:
        """A new epoch: what was sent before says nothing about this rate."""
        if self._judging is not None:
            self._judging.cancel()
            self._judging = None
        self._rate = rate
        self._epoch += 1
        self._window(_Window())
        self._wake()

    def _window(self, before: _Window) -> None:
        self._before, self._since = before, asyncio.get_running_loop().time()
        self._sent, self._refused = 0, 0

    def _end_window(self) -> None:
        share = self._refused / self._sent
        seconds = asyncio.get_running_loop().time() - self._since
        if self._test is None and share <= self._bearable() and self._sent > 0.7 * self._rate * seconds:
            self._rise()
        if self._tolerated:
            self._tolerated = min(self._most_tolerated, 0.9 * self._tolerated + 0.1 * share)
        self._window(_Window(self._sent, self._refused, seconds))

    def _rise(self) -> None:
        """Half of the way to the rate that was too much, then faster and faster beyond it."""
        if self._rate < NEAR * self._too_much:
            self._rate = min(2 * self._rate, (self._rate + self._too_much) / 2)
        else:
            self._rate *= 1.0 + self._growth
            self._growth = min(1.0, 2 * self._growth)

    def _bearable(self) -> float:
        """The share of refusals in this window that is no reason to ask for less."""
        expected = max(NEGLIGIBLE, 1.3 * (self._tolerated if self._test is None else self._test.share))
        return expected + (3.0 if self._tolerated else 2.5) * math.sqrt(expected / self._sent)

    def _free(self) -> bool:
        loop = asyncio.get_running_loop()
        return self._judging is None and self._in_flight < self.size and loop.time() >= self._next

    def _enter(self) -> int:
        now = asyncio.get_running_loop().time()
        if not self._sent:
            self._since = now
        if self._rate < math.inf:
            self._next = max(self._next, now - 1.0 / self._rate) + 1.0 / self._rate
        self._in_flight += 1
        probing = self._refused or self._test is not None or self._rate > NEAR * self._too_much
        enough = min(WINDOW_CALLS, max(CALLS_WHILE_RISING, self._rate)) if probing else CALLS_WHILE_RISING
        if self._sent >= enough and now - self._since >= WINDOW_S:
            self._end_window()
        self._sent += 1
        if self._test is not None:
            self._test.sent += 1
            self._decide(self._test)
        return self._epoch

    def _leave(self) -> None:
        self._in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._free():
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(self._enter())
        self._wake_later()

    def _wake_later(self) -> None:
        """Come back when the rate admits the next call."""
        loop = asyncio.get_running_loop()
        if self._timer is None and self._waiting and loop.time() < self._next:
            self._timer = loop.call_at(self._next, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._wake()


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
    """Ends a run whose endpoint has answered nothing for too long, and says before that it waits.

    Args:
        patience_s: seconds without one success, counted from the first failure after the last success.
        place: whose endpoint it is, for messages.
        usual_s: seconds without an answer that say nothing, since answers take so long, asked anew each time.
    """

    def __init__(
        self, patience_s: float, place: str = "the endpoint", usual_s: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._patience_s, self._place, self._usual_s = patience_s, place, usual_s
        self._failing_since: float | None = None
        self._answered: float | None = None
        self._said = False

    def succeeded(self) -> None:
        self._failing_since, self._said = None, False
        self._answered = asyncio.get_running_loop().time()

    def failed(self, error: TransportError) -> None:
        """
        Raises:
            TeacherUnavailable: nothing but failures for `patience_s` seconds, or it asks for a longer pause than that.
        """
        if error.retry_after > self._patience_s:
            raise TeacherUnavailable(
                f"{self._place} asks for a pause of {error.retry_after:.0f} s ({error}), longer than the "
                f"{self._patience_s:.0f} s that are waited. {KEPT}"
            )
        now = asyncio.get_running_loop().time()
        if self._failing_since is None:
            self._failing_since = now
        failing, usual = now - self._failing_since, self._usual_s()
        quiet = failing if self._answered is None else now - self._answered
        patience = max(self._patience_s, usual)
        if failing > patience:
            raise TeacherUnavailable(
                f"{self._place} has answered nothing for {patience:.0f} s (last failure: {error}). "
                f"{error.advice}. {KEPT}"
            )
        if max(failing, error.retry_after) > max(SAID_AFTER_S, usual) and not self._said:
            self._said = True
            pause = f" and asks for a pause of {error.retry_after:.0f} s" if error.retry_after > SAID_AFTER_S else ""
            log.warning(
                "%s has answered nothing for %.0f s%s (%s); asked on until %.0f s",
                self._place, quiet, pause, error, patience + quiet - failing,
            )  # fmt: skip
