"""Paid and free proposers together: a free one follows each paid text, and goes on when what may be paid is spent."""

import asyncio
from pathlib import Path

import pytest
from bit_strings import START, BitStrings, Flipping, FlippingConfig
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.errors import BudgetSpent
from evosyn.evolve.events import Committed, Step, events_of
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import Stop, StopConfig
from evosyn.journal import Journal
from evosyn.ports import Proposal, ProposalContext
from evosyn.randomness import SeedTree
from evosyn.records import Candidate

LAG = 5


class Paid:
    """A bit string for a reply, after a while."""

    name = "paid"

    def __init__(self, most: int | None = None, seconds: float = 0.0) -> None:
        self.asked: list[int] = []
        self._most, self._seconds = most, seconds

    async def propose(self, context: ProposalContext) -> Proposal:
        if self._most is not None and len(self.asked) >= self._most:
            raise BudgetSpent("no dollar is left")
        self.asked.append(context.index)
        await asyncio.sleep(self._seconds * SeedTree(context.index).random().random())
        text = format(SeedTree(7).child(context.index).integer() % 2**32, "032b")
        return Proposal((Candidate(text, (context.parent.candidate.id,), self.name),), replies=(f"r{context.index}",))


class Free(Flipping):
    """Flips bits, and remembers what it was asked around."""

    def __init__(self) -> None:
        super().__init__(FlippingConfig(burst=3))
        self.around: list[tuple[int, str]] = []

    async def propose(self, context: ProposalContext) -> Proposal:
        if context.around:
            self.around.append((context.index, context.parent.candidate.text))
        return await super().propose(context)


def search(path: Path, stop: StopConfig, *, concurrency=LAG, seconds=0.0, most=None, kind="evolve", paid=None):
    tree, paid, free = SeedTree(3), paid or Paid(most, seconds), Free()
    parts = SearchParts(
        evolved=BitStrings({}),
        proposers={"paid": paid, "free": free},
        schedule=Schedule([Arm("paid", 2.0), Arm("free", 1.0, free=True)], tree),
        initial=[START],
        seed=tree,
    )
    islands, loop = IslandsConfig(count=2, search=kind), LoopConfig(lag=LAG, concurrency=concurrency)
    return Search(parts, Journal(path), islands=islands, loop=loop, stop=stop), paid, free


def steps(path: Path) -> list[Step]:
    return [event.step for event in events_of(Journal(path)) if isinstance(event, Committed) and event.step.index >= 0]


def test_each_paid_text_is_followed_by_one_free_proposal_about_it(tmp_path):
    found, _, free = search(tmp_path / "j", StopConfig(proposals=60))
    found.run()
    texts = {one.index + LAG: one.trials[0].candidate.text for one in steps(tmp_path / "j") if one.replies}
    due = {index: text for index, text in texts.items() if index < 60}
    assert len(due) > 10 and dict(free.around) == due


def test_a_baseline_has_no_bursts(tmp_path):
    found, _, free = search(tmp_path / "j", StopConfig(proposals=60), kind="hillclimb")
    found.run()
    assert not free.around


@pytest.mark.parametrize("seconds", [0.0, 0.01])
def test_the_free_arm_goes_on_when_the_calls_are_spent_the_same_at_any_concurrency(tmp_path, seconds):
    journals = []
    for concurrency in (1, 2, LAG):
        path = tmp_path / f"{concurrency}"
        stop = StopConfig(evaluations=150, model_calls=9)
        found, paid, _ = search(path, stop, concurrency=concurrency, seconds=seconds)
        assert found.run() is Stop.EVALUATIONS
        assert len(paid.asked) == found.state.replies == 9
        journals.append(path.read_bytes())
    assert journals[0] == journals[1] == journals[2]
    assert not any(one.replies for one in steps(tmp_path / "1")[-20:])


@settings(max_examples=25, deadline=None)
@given(cut=st.floats(0, 1), concurrency=st.sampled_from([1, 3, LAG]))
def test_killed_anywhere_it_ends_like_the_undisturbed_run(cut, concurrency, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut")
    stop = StopConfig(evaluations=90, model_calls=7)
    search(folder / "whole", stop)[0].run()
    whole = (folder / "whole").read_bytes()
    (folder / "cut").write_bytes(whole[: int(cut * len(whole))])
    again = search(folder / "cut", stop, concurrency=concurrency)[0]
    again.run()
    assert (folder / "cut").read_bytes() == whole
    assert isinstance(again.state, Archipelago)


@pytest.mark.parametrize("seconds", [0.0, 0.01])
def test_where_the_budget_of_a_model_is_spent_the_journal_is_the_same_at_any_concurrency(tmp_path, seconds):
    journals = []
    for concurrency in (1, 2, LAG):
        found, _, _ = search(
            tmp_path / f"{concurrency}", StopConfig(proposals=40), concurrency=concurrency, seconds=seconds, most=4
        )
        found.run()
        journals.append((tmp_path / f"{concurrency}").read_bytes())
    search(tmp_path / "at once", StopConfig(proposals=40), most=4)[0].run()
    assert {*journals} == {(tmp_path / "at once").read_bytes()}


class Refusing(Paid):
    """Says no to some proposals, which ones is its own affair: another model's price, a longer prompt."""

    async def propose(self, context: ProposalContext) -> Proposal:
        if context.index % 3 == 0:
            raise BudgetSpent("too dear")
        return await super().propose(context)


def test_one_proposal_that_cannot_be_paid_decides_nothing_about_the_next_ones(tmp_path):
    for concurrency in (1, LAG):
        found, paid, _ = search(
            tmp_path / f"{concurrency}", StopConfig(proposals=40), concurrency=concurrency, paid=Refusing(seconds=0.001)
        )
        found.run()
        assert isinstance(found.spent, BudgetSpent) and max(paid.asked) > 30
    assert (tmp_path / "1").read_bytes() == (tmp_path / f"{LAG}").read_bytes()


@pytest.mark.parametrize("cut", range(1, 8))
@pytest.mark.parametrize("concurrency", [1, LAG])
def test_a_run_taken_up_after_its_budget_was_spent_ends_like_the_undisturbed_one(tmp_path, cut, concurrency):
    search(tmp_path / "whole", StopConfig(proposals=40), most=4)[0].run()
    whole = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    last = max(number for number, one in enumerate(whole) if b'"replies"' in one)
    here = last + 1 + (len(whole) - last - 2) * cut // 8
    (tmp_path / "cut").write_bytes(b"".join(whole[:here]))
    again, paid, _ = search(tmp_path / "cut", StopConfig(proposals=40), most=0, concurrency=concurrency)
    assert again.run() is Stop.PROPOSALS and not paid.asked
    assert (tmp_path / "cut").read_bytes() == b"".join(whole)


def test_a_run_taken_up_with_more_to_spend_goes_on_paying_from_there(tmp_path):
    path = tmp_path / "j"
    search(path, StopConfig(proposals=40), most=4)[0].run()
    before = [one.index for one in steps(path) if one.replies]
    again, paid, _ = search(path, StopConfig(proposals=80), most=6)
    again.run()
    assert len(paid.asked) == 6 and min(paid.asked) >= 40
    assert [one.index for one in steps(path) if one.replies] == before + paid.asked


def test_a_budget_that_a_model_runs_into_ends_the_paid_proposals_only(tmp_path):
    found, paid, _ = search(tmp_path / "j", StopConfig(proposals=40), most=4)
    assert found.run() is Stop.PROPOSALS
    assert isinstance(found.spent, BudgetSpent) and len(paid.asked) == 4
    assert found.state.steps == 40 and sum(bool(one.replies) for one in steps(tmp_path / "j")) == 4
