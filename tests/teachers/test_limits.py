"""The adaptive limit, in virtual time: it finds what an endpoint admits, whatever else makes it refuse."""

import asyncio
import random
import selectors
from typing import NamedTuple

import pytest

from evosyn.errors import TeacherUnavailable
from evosyn.teachers.failures import Failure, TransportError
from evosyn.teachers.limits import AdaptiveLimit, Breaker, PerMinute

LATENCY = 0.5


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self._now


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout and timeout > 0:
            self._loop._now += timeout
        return super().select(0)


class Outcome(NamedTuple):
    seconds: float
    refusals: int
    most_in_flight: int


class Endpoint(NamedTuple):
    """Admits so many calls a second from a bucket, and refuses a share of all calls at random."""

    admitted_per_s: float = 0.0
    burst: float = 0.0
    refused_share: float = 0.0
    jitter: float = 0.0


def simulate(calls: int, most: int, endpoint: Endpoint, seed: int = 0) -> Outcome:
    loop, draw, limit = VirtualLoop(), random.Random(seed), AdaptiveLimit(most)
    per_s, burst = endpoint.admitted_per_s, endpoint.burst or endpoint.admitted_per_s
    bucket, bucket_at, refusals, in_flight, most_seen = burst, 0.0, 0, 0, 0

    def admitted() -> bool:
        nonlocal bucket, bucket_at
        if draw.random() < endpoint.refused_share:
            return False
        bucket = min(burst, bucket + (loop.time() - bucket_at) * per_s)
        bucket_at = loop.time()
        if per_s and bucket < 1:
            return False
        bucket -= 1
        return True

    async def call() -> None:
        nonlocal refusals, in_flight, most_seen
        while True:
            place = await limit.acquire()
            in_flight += 1
            most_seen = max(most_seen, in_flight)
            refused = not admitted()
            await asyncio.sleep(0.01 if refused else LATENCY * (1 + endpoint.jitter * (draw.expovariate(1.0) - 1)))
            in_flight -= 1
            if not refused:
                limit.succeeded(LATENCY)
                return
            refusals += 1
            limit.refused(place, 0.01)
            await asyncio.sleep(1.0 + draw.random() * 0.25)

    async def main() -> None:
        await asyncio.gather(*(call() for _ in range(calls)))

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    return Outcome(loop.time(), refusals, most_seen)


@pytest.mark.parametrize("most", [1, 7, 64, 256])
def test_never_more_than_the_bound_is_in_flight_and_a_free_endpoint_is_used_fully(most: int) -> None:
    outcome = simulate(20 * most, most, Endpoint())
    assert outcome.most_in_flight == most
    assert outcome.seconds <= 1.25 * 20 * LATENCY


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("jitter", [0.0, 0.3])
@pytest.mark.parametrize("burst", [20.0, 50.0, 80.0])
def test_a_rate_limited_endpoint_is_kept_busy_with_few_refusals(burst: float, jitter: float, seed: int) -> None:
    outcome = simulate(1000, 64, Endpoint(admitted_per_s=50.0, burst=burst, jitter=jitter), seed)
    assert outcome.refusals < 100
    assert outcome.seconds < 1.1 * 1000 / 50


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.02, 0.1, 0.25])
def test_refusals_that_do_not_come_from_the_load_do_not_strangle_the_run(share: float, seed: int) -> None:
    outcome = simulate(2000, 64, Endpoint(refused_share=share, jitter=0.3), seed)
    assert outcome.seconds < 1.6 * 2000 * LATENCY / 64


@pytest.mark.parametrize("seed", range(12))
def test_every_call_comes_through_whatever_the_endpoint_does(seed: int) -> None:
    draw = random.Random(seed)
    endpoint = Endpoint(
        draw.choice([0.0, 2.0, 20.0, 200.0]), draw.choice([1.0, 10.0, 300.0]), draw.random() * 0.9, draw.random()
    )
    outcome = simulate(400, draw.choice([1, 3, 20, 200]), endpoint, seed)
    assert outcome.seconds < 5000


def test_an_endpoint_that_refuses_everything_is_hardly_asked_and_used_again_when_it_recovers() -> None:
    loop, limit = VirtualLoop(), AdaptiveLimit(64)
    sent, answered = [], []

    async def call() -> None:
        while True:
            place = await limit.acquire()
            sent.append(loop.time())
            if loop.time() > 60.0:
                await asyncio.sleep(LATENCY)
                limit.succeeded(LATENCY)
                answered.append(loop.time())
                return
            await asyncio.sleep(0.01)
            limit.refused(place, 0.01)
            await asyncio.sleep(1.0)

    async def main() -> None:
        await asyncio.gather(*(call() for _ in range(2000)))

    loop.run_until_complete(main())
    loop.close()
    assert sum(at <= 60.0 for at in sent) < 300
    assert answered[-1] < 60.0 + 60.0


def test_a_rate_a_minute_is_kept() -> None:
    loop = VirtualLoop()
    bucket = PerMinute(600.0)

    async def main() -> None:
        for _ in range(300):
            await bucket.take(1)

    loop.run_until_complete(main())
    assert 23.0 <= loop.time() <= 30.0
    loop.close()


def test_the_breaker_opens_only_after_a_time_without_any_answer() -> None:
    loop = VirtualLoop()
    breaker = Breaker(10.0)

    async def main() -> None:
        for _ in range(100):
            breaker.failed(TransportError(Failure.SERVER, "boom"))
            breaker.succeeded()
            await asyncio.sleep(1)
        breaker.failed(TransportError(Failure.SERVER, "boom"))
        await asyncio.sleep(9)
        breaker.failed(TransportError(Failure.SERVER, "boom"))
        await asyncio.sleep(2)
        with pytest.raises(TeacherUnavailable, match="boom"):
            breaker.failed(TransportError(Failure.SERVER, "boom"))

    loop.run_until_complete(main())
    loop.close()


def test_a_pause_that_answers_usually_take_is_no_silence(caplog: pytest.LogCaptureFixture) -> None:
    loop, usual = VirtualLoop(), 200.0
    breaker = Breaker(300.0, "m at http://here", lambda: usual)

    async def main() -> None:
        breaker.succeeded()
        await asyncio.sleep(100)
        breaker.failed(TransportError(Failure.TIMEOUT, "given up after 300 s"))
        await asyncio.sleep(150)
        breaker.failed(TransportError(Failure.TIMEOUT, "given up after 300 s"))
        assert not caplog.records
        await asyncio.sleep(51)
        breaker.failed(TransportError(Failure.TIMEOUT, "given up after 300 s"))

    loop.run_until_complete(main())
    loop.close()
    (said,) = [one.getMessage() for one in caplog.records]
    assert "answered nothing for 301 s" in said, "since its last answer, not since the first failure after that"
