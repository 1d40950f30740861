"""Batches: everyone gets the answer to his own question, calls stay within size and threads, errors reach who asked."""

import asyncio
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.running.batches import Batches


class Doubling:
    """Doubles numbers and counts calls that run at the same time."""

    def __init__(self, pause: float = 0.002) -> None:
        self.pause, self.sizes, self.now, self.most, self.lock = pause, [], 0, 0, threading.Lock()

    def __call__(self, numbers):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.sizes.append(len(numbers))
        time.sleep(self.pause)
        with self.lock:
            self.now -= 1
        if -1 in numbers:
            raise ValueError("minus one")
        return [2 * number for number in numbers]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 3)), max_size=20), st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_everyone_gets_his_own_answer_within_size_and_threads(asked, size, threads):
    work = Doubling()

    async def one(batches, number, pauses):
        for _ in range(pauses):
            await asyncio.sleep(0.001)
        return await batches(number)

    async def everyone():
        batches = Batches(work, size, threads)
        return await asyncio.gather(*(one(batches, number, pauses) for number, pauses in asked))

    assert asyncio.run(everyone()) == [2 * number for number, _ in asked]
    assert sum(work.sizes) == len(asked)
    assert max(work.sizes, default=0) <= size
    assert work.most <= threads


def test_what_is_asked_at_the_same_time_goes_together():
    work = Doubling()

    async def everyone():
        batches = Batches(work, 8)
        return await asyncio.gather(*map(batches, range(16)))

    asyncio.run(everyone())
    assert work.sizes == [8, 8]


def test_an_error_reaches_all_of_its_batch_and_nobody_else():
    async def everyone():
        batches = Batches(Doubling(), 2, 1)
        return await asyncio.gather(*map(batches, (1, -1, 3, 4)), return_exceptions=True)

    first, second, third, fourth = asyncio.run(everyone())
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert (third, fourth) == (6, 8)


def test_one_who_stops_waiting_is_not_worked_for():
    work = Doubling(pause=0.05)

    async def everyone():
        batches = Batches(work, 1, 1)
        first, second, third = (asyncio.ensure_future(batches(number)) for number in (1, 2, 3))
        await asyncio.sleep(0.01)
        second.cancel()
        assert await first == 2
        assert await third == 6

    asyncio.run(everyone())
    assert work.sizes == [1, 1]


def test_an_interrupt_does_not_wait_for_the_thread():
    async def everyone():
        await asyncio.wait_for(Batches(lambda numbers: time.sleep(5) or numbers, 1)(1), 0.05)

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(everyone())
    assert time.monotonic() - began < 3
