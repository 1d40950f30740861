"""A search with a model that is killed again and again: no reply that arrived is asked for twice, and the end is the
same as without kills."""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bit_strings import START, BitStrings

from evosyn import registry
from evosyn.budget import Budget, BudgetConfig
from evosyn.chat import Reply, Request
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Journal
from evosyn.ports import ModelTools
from evosyn.randomness import SeedTree
from evosyn.teachers.cache import ReplyCache, request_key
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.completions import Answer

PATIENCE = 2000


class Door:
    """Shut while a reply has arrived and is not stored yet: whoever kills waits until it is open.

    What a kill in that moment costs, one reply a call in flight, nobody can spare; how long it is depends on the load.
    """

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "door").open("w")
        self._inside = 0

    def enter(self) -> None:
        self._inside += 1
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def leave(self) -> None:
        self._inside -= 1
        if not self._inside:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Nobody is inside; or somebody does not come out, and what follows will show it."""
        for _ in range(PATIENCE):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.001)
        try:
            yield
        finally:
            self._file.close()


class Storing(ReplyCache):
    """The cache, behind the door."""

    def __init__(self, path: Path, door: Door) -> None:
        super().__init__(path)
        self._door = door

    def put(self, reply: Reply, request: Request) -> None:
        super().put(reply, request)
        self._door.leave()


class Metered:
    """A model that answers after a moment and notes on disk what it answered."""

    def __init__(self, bill: Path, door: Door) -> None:
        self._bill, self._door = bill, door

    async def send(self, request: Request) -> Answer:
        key = request_key("metered", request)
        number = int(hashlib.sha256(key.encode()).hexdigest()[:8], 16)
        value = number / 16**8
        await asyncio.sleep(0.002 * (0.5 + value))
        self._door.enter()
        with self._bill.open("a") as file:
            file.write(key + "\n")
        return Answer("prose" if value < 0.1 else f"{number:032b}", "stop", None, 10, 10, 0.001)

    async def aclose(self) -> None: ...


def run(folder: Path) -> None:
    door = Door(folder)
    cache = Storing(folder / "replies.sqlite", door)
    teacher = ChatTeacher("metered", Metered(folder / "bill", door), ChatConfig(), cache, Budget(BudgetConfig()))
    tree = SeedTree(3)
    parts = SearchParts(
        evolved=BitStrings({}),
        proposers={"rewrite": registry.make("proposers", "rewrite", ModelTools(BitStrings({}), teacher))},
        schedule=Schedule([Arm("rewrite")], tree),
        initial=[START],
        seed=tree,
    )
    journal = Journal(folder / "journal")
    islands, stop = IslandsConfig(count=2), StopConfig(proposals=80)
    Search(parts, journal, islands=islands, loop=LoopConfig(lag=8, concurrency=8), stop=stop).run()
    journal.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kills", [30, pytest.param(200, marks=pytest.mark.long)])
def test_killed_at_many_instants_no_paid_reply_is_lost(kills, tmp_path):
    rng, killed, paid_twice, rounds = random.Random(7), 0, 0, 0
    whole = tmp_path / "whole"
    whole.mkdir()
    began = time.monotonic()
    run(whole)
    longest = time.monotonic() - began
    expected, bill = (whole / "journal").read_bytes(), (whole / "bill").read_text().split()
    assert len(bill) == len(set(bill)) >= 80
    while killed < kills:
        folder = tmp_path / f"round-{rounds}"
        folder.mkdir()
        for _ in range(6):
            child = os.fork()
            if not child:
                run(folder)
                os._exit(0)
            time.sleep(rng.uniform(0, longest))
            with Door(folder).open():
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            killed += 1
        run(folder)
        assert (folder / "journal").read_bytes() == expected
        answered = (folder / "bill").read_text().split()
        paid_twice += len(answered) - len(set(answered))
        rounds += 1
    assert paid_twice == 0
