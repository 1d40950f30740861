"""A search with a model that is killed again and again: no reply that arrived is asked for twice, and the end is the
same as without kills."""

import asyncio
import hashlib
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest

from evosyn import registry
from evosyn.chat import Request
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.evolve.testing import START, PointEvaluator
from evosyn.rundir import Journal
from evosyn.seeds import SeedTree
from evosyn.teachers.budget import Budget, BudgetConfig
from evosyn.teachers.cache import ReplyCache, request_key
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.transports import Answer

KILLS = 200
IN_THE_AIR = 4
"""Kills that may fall between the arrival of a reply and its storing, a moment of microseconds in memory."""
MEMORY = Path("/dev/shm")


class Metered:
    """A model that answers after a moment and notes on disk what it answered."""

    def __init__(self, bill: Path) -> None:
        self._bill = bill

    async def send(self, request: Request) -> Answer:
        key = request_key("metered", request)
        value = int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) / 16**8
        await asyncio.sleep(0.002 * (0.5 + value))
        text = f"x = {value:.6f}\ny = {(7919 * value) % 1.0:.6f}\n\n\ndef rank(evidence):\n    return x, y\n"
        with self._bill.open("a") as file:
            file.write(key + "\n")
        return Answer("prose" if value < 0.1 else f"```python\n{text}```\n", "stop", None, 10, 10, 0.001)

    async def aclose(self) -> None: ...


def run(folder: Path) -> None:
    cache = ReplyCache(folder / "replies.sqlite")
    teacher = ChatTeacher("metered", Metered(folder / "bill"), ChatConfig(), cache, Budget(BudgetConfig()))
    tree = SeedTree(3)
    parts = SearchParts(
        evaluator=PointEvaluator(),
        proposers={"rewrite": registry.factory("proposers", "rewrite")(teacher=teacher)},
        schedule=Schedule([Arm("rewrite")], tree),
        initial=[START],
        seed=tree,
        header={"v": 1},
    )
    journal = Journal(folder / "journal")
    islands, stop = IslandsConfig(count=2), StopConfig(proposals=80)
    Search(parts, journal, islands=islands, loop=LoopConfig(lag=8, concurrency=8), stop=stop).run()
    journal.close()


@pytest.fixture
def in_memory(tmp_path):
    """A folder whose writing does not wait for a disk that is busy with other tests."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_two_hundred_instants_no_paid_reply_is_lost(in_memory):
    rng, kills, paid_twice, rounds = random.Random(7), 0, 0, 0
    whole = in_memory / "whole"
    whole.mkdir()
    began = time.monotonic()
    run(whole)
    longest = time.monotonic() - began
    expected, bill = (whole / "journal").read_bytes(), (whole / "bill").read_text().split()
    assert len(bill) == len(set(bill)) >= 80
    while kills < KILLS:
        folder = in_memory / f"round-{rounds}"
        folder.mkdir()
        for _ in range(6):
            child = os.fork()
            if not child:
                run(folder)
                os._exit(0)
            time.sleep(rng.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            kills += 1
        run(folder)
        assert (folder / "journal").read_bytes() == expected
        answered = (folder / "bill").read_text().split()
        paid_twice += len(answered) - len(set(answered))
        rounds += 1
    assert paid_twice <= IN_THE_AIR
