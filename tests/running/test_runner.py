"""The runner: one outcome whatever the window, the delays and the kills; bounds kept; the first error ends all."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.chat import Message, Reply, Request
from evosyn.dataset import Reject
from evosyn.errors import BudgetSpent, UsageError
from evosyn.journal import Journal
from evosyn.ports.stages import OrderedStage
from evosyn.running.ledger import Ledger
from evosyn.running.progress import RunProgress
from evosyn.running.runner import Runner

HEADER = {"kind": "parcels"}
STAGES = ("free", "ordered", "narrow", "last")


@dataclass(frozen=True)
class Parcel:
    """An item that remembers where it was."""

    index: int
    trail: tuple[str, ...] = ()
    ended: Reject | None = None

    def drop(self, stage: str) -> "Parcel":
        return replace(self, ended=Reject(stage, "drawn", "parcel", self.index))


@dataclass
class World:
    """What is drawn of a run: how long each stage takes for an item, what it drops, where it breaks."""

    pauses: Mapping[tuple[str, int], int] = field(default_factory=dict)
    drops: frozenset[tuple[str, int]] = frozenset()
    breaks: tuple[str, int] | None = None
    inside: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    entered: list[tuple[str, int]] = field(default_factory=list)


class Passing:
    """Counts who is inside, takes its time, and drops what is drawn."""

    def __init__(self, name: str, world: World, concurrency: int | None = None) -> None:
        self.name, self.world, self.concurrency = name, world, concurrency

    async def run(self, item: Parcel) -> Parcel:
        world, here = self.world, (self.name, item.index)
        world.entered.append(here)
        world.inside[self.name] += 1
        world.most[self.name] = max(world.most[self.name], world.inside[self.name])
        for _ in range(world.pauses.get(here, 0)):
            await asyncio.sleep(0)
        world.inside[self.name] -= 1
        if here == world.breaks:
            raise ZeroDivisionError(self.name)
        return self.passed(item)

    def passed(self, item: Parcel) -> Parcel:
        found = replace(item, trail=(*item.trail, self.name))
        return found.drop(self.name) if (self.name, item.index) in self.world.drops else found


class Comparing(Passing):
    """Lets an item pass or not by how many passed before it."""

    def __init__(self, name: str, world: World) -> None:
        super().__init__(name, world)
        self.passed_before = 0

    def passed(self, item: Parcel) -> Parcel:
        found = replace(item, trail=(*item.trail, f"{self.name} after {self.passed_before}"))
        if self.passed_before % 3 == item.index % 3:
            return found.drop(self.name)
        self.recall(found)
        return found

    def recall(self, item: Parcel) -> None:  # noqa: ARG002
        self.passed_before += 1


def runner(world: World, journal: Path, window: int = 4, narrow: int = 2) -> Runner[Parcel]:
    ledger = Ledger(Journal(journal), Parcel)
    ledger.begin(HEADER)
    stages = [Passing("free", world), Comparing("ordered", world), Passing("narrow", world, narrow)]
    return Runner([*stages, Passing("last", world)], ledger, window=window, progress=RunProgress[Parcel]())


def run(made: Runner[Parcel], count: int) -> None:
    asyncio.run(asyncio.wait_for(made.run(Parcel(index) for index in range(count)), 20))


def ends(journal: Path) -> list[tuple[Parcel, str | None]]:
    """What became of the items, in their order; each stands once in the journal."""
    ledger = Ledger(Journal(journal), Parcel)
    events = [event for event in Journal(journal).events() if event["event"] == "item"]
    assert len(events) == len(ledger.done)
    return [(ledger.item(index), ledger.done[index].stage) for index in sorted(ledger.done)]


def one_by_one(world: World, count: int) -> list[tuple[Parcel, str | None]]:
    """The same without a runner."""
    stages = [Passing("free", world), Comparing("ordered", world), Passing("narrow", world), Passing("last", world)]
    found = []
    for index in range(count):
        item, dropped_in = Parcel(index), None
        for stage in stages:
            if item.ended is None:
                item = stage.passed(item)
                dropped_in = None if item.ended is None else stage.name
        found.append((item, dropped_in))
    return found


places = st.tuples(st.sampled_from(STAGES), st.integers(0, 11))
worlds = st.builds(World, pauses=st.dictionaries(places, st.integers(0, 30)), drops=st.frozensets(places, max_size=8))


@given(worlds, st.integers(1, 12), st.integers(1, 7), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_every_item_ends_as_one_by_one_within_the_bounds(world, count, window, narrow):
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.jsonl"
        run(runner(world, journal, window, narrow), count)
        assert ends(journal) == one_by_one(world, count)
    assert all(most <= window for most in world.most.values())
    assert world.most["ordered"] <= 1
    assert world.most["narrow"] <= narrow
    compared = [index for name, index in world.entered if name == "ordered"]
    assert compared == sorted(compared)
    assert max(Counter(world.entered).values()) == 1


@given(worlds, st.integers(1, 12), st.integers(1, 7), st.data())
@settings(max_examples=60, deadline=None)
def test_cut_at_any_byte_a_run_goes_on_to_the_same_end_and_repeats_nothing_finished(world, count, window, data):
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.jsonl"
        run(runner(world, journal, window), count)
        whole = ends(journal)
        raw = journal.read_bytes()
        journal.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
        known = {item.index for item, _ in ends(journal)}
        world.entered.clear()
        run(runner(world, journal, data.draw(st.integers(1, 7))), count)
        assert ends(journal) == whole
        assert not known & {index for _, index in world.entered}


@given(worlds, places, st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_the_first_error_ends_the_run_and_the_next_run_does_the_rest(world, broken, window):
    world.breaks = broken
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.jsonl"
        if broken in [(name, item.index) for item, _ in one_by_one(world, 12) for name in reached(item)]:
            with pytest.raises(ZeroDivisionError, match=broken[0]):
                run(runner(world, journal, window), 12)
            assert broken[1] not in {item.index for item, _ in ends(journal)}
        world.breaks = None
        run(runner(world, journal, window), 12)
        assert ends(journal) == one_by_one(world, 12)


def reached(item: Parcel) -> list[str]:
    return [step.partition(" ")[0] for step in item.trail]


class Closing:
    """A teacher that says in which loop it was closed."""

    loop: asyncio.AbstractEventLoop | None = None

    async def aclose(self) -> None:
        self.loop = asyncio.get_running_loop()


@pytest.mark.parametrize("breaks", [None, ("narrow", 2)])
def test_teachers_are_closed_in_the_loop_of_the_run_however_it_ends(tmp_path, breaks):
    world, teachers = World(breaks=breaks), (Closing(), Closing())
    made = runner(world, tmp_path / "journal.jsonl")
    with nullcontext() if breaks is None else pytest.raises(ZeroDivisionError, match="narrow"):
        made.run_and_close(map(Parcel, range(6)), teachers)
    assert teachers[0].loop is teachers[1].loop is not None
    if breaks is None:
        assert ends(tmp_path / "journal.jsonl") == one_by_one(world, 6)


def test_items_are_taken_as_there_is_room_for_them(tmp_path):
    world, taken = World(pauses={("free", 0): 1000}), []

    def items():
        for index in range(100):
            ended = len(Ledger(Journal(tmp_path / "j"), Parcel).done)
            taken.append(index + 1 - ended)
            yield Parcel(index)

    asyncio.run(runner(world, tmp_path / "j", window=5).run(items()))
    assert max(taken) == 5
    assert len(ends(tmp_path / "j")) == 100


def test_progress_counts_ends_and_drops_and_leaves_nobody_inside(tmp_path):
    made = runner(World(drops=frozenset({("free", 1), ("last", 5)})), tmp_path / "j")
    run(made, 9)
    dropped = Counter(f"{stage}: drawn" for _, stage in ends(tmp_path / "j") if stage)
    again = runner(World(), tmp_path / "j")
    run(again, 9)
    for one, resumed in ((made._progress, 0), (again._progress, 9)):
        assert (one.finished, one.resumed) == (9, resumed)
        assert one.dropped == dropped
        assert dict(one.in_stage) == dict.fromkeys(STAGES, 0)


def test_only_a_stage_that_recalls_is_ordered():
    assert isinstance(Comparing("ordered", World()), OrderedStage)
    assert not isinstance(Passing("free", World()), OrderedStage)


def test_a_journal_of_another_run_is_refused_by_what_differs(tmp_path):
    ledger = Ledger(Journal(tmp_path / "j"), Parcel)
    ledger.begin({"kind": "parcels", "seed": 0})
    ledger.begin({"kind": "parcels", "seed": 0})
    with pytest.raises(UsageError, match="seed: 0 there, 1 asked for"):
        ledger.begin({"kind": "parcels", "seed": 1})
    with pytest.raises(UsageError, match="another kind"):
        ledger.begin({"kind": "letters", "seed": 0})


class Author:
    """A teacher that takes a moment, and has a budget in calls."""

    name, simulated = "author", True

    def __init__(self, calls: int) -> None:
        self.left, self.answered = calls, []

    async def complete(self, request: Request) -> Reply:
        if self.left == 0:
            raise BudgetSpent("calls")
        self.left -= 1
        for _ in range(10):
            await asyncio.sleep(0.001)
        self.answered.append(request.messages[0].content)
        return Reply(request.messages[0].content, "yes", "m")

    async def aclose(self) -> None:
        return None


class Asking:
    """Asks twice for each item."""

    name, concurrency = "asking", None

    def __init__(self, ledger: Ledger[Parcel], teacher: Author) -> None:
        self.ledger, self.teacher = ledger, teacher

    async def run(self, item: Parcel) -> Parcel:
        for attempt in range(2):
            request = Request((Message("user", f"{item.index} {attempt}"),), "parcel")
            reply = await self.ledger.ask((item.index, "parcel", 0, attempt), request, self.teacher)
            item = replace(item, trail=(*item.trail, reply.id))
        return item


@pytest.mark.parametrize("calls", [0, 1, 5, 8, 13])
def test_a_spent_budget_waits_for_the_calls_in_flight_which_are_paid_and_never_asked_again(tmp_path, calls, caplog):
    asked = []
    for teacher in (Author(calls), Author(100)):
        ledger = Ledger(Journal(tmp_path / "j"), Parcel)
        ledger.begin(HEADER)
        made = Runner([Asking(ledger, teacher)], ledger, window=4)
        try:
            run(made, 10)
        except BudgetSpent:
            assert len(teacher.answered) == calls
        asked += teacher.answered
    if calls % 4 or not calls:
        assert ("the budget is spent: waiting for" in caplog.text) == (calls > 0), "whoever waits is told for what"
    assert sorted(asked) == sorted(f"{index} {attempt}" for index in range(10) for attempt in range(2))
    assert [item.trail for item, _ in ends(tmp_path / "j")] == [(f"{n} 0", f"{n} 1") for n in range(10)]
