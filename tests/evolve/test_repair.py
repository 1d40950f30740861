"""Repair after evaluation: a candidate that turns out invalid is mended once, the same way at any speed and after a
kill."""

import asyncio
from pathlib import Path

import pytest
from bit_strings import START, BitStrings, Ones

from evosyn.evolve.events import Fate, events_of
from evosyn.evolve.ideas import idea_of
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Journal
from evosyn.ports import Proposal, ProposalContext
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Evaluation


class Picky(Ones):
    """Strings that begin with 0 are invalid, but for the one that all begin with."""

    def evaluate(self, candidates):
        found = super().evaluate(candidates)
        return [
            Evaluation(None, invalid="begins with 0") if one.text[0] == "0" and one.text != START.text else two
            for one, two in zip(candidates, found, strict=True)
        ]


class PickyStrings(BitStrings):
    evaluator = Picky()


class Careless:
    """Gives strings that begin with 0, every third time an earlier one; mends them when it is asked to.

    Args:
        mends: whether it can.
    """

    name = "careless"

    def __init__(self, *, mends: bool = True, delay: float = 0.0) -> None:
        self._mends, self._delay = mends, delay
        self.told: list[str] = []

    async def propose(self, context: ProposalContext) -> Proposal:
        if self._delay and context.index % 2:
            await asyncio.sleep(self._delay)
        number = context.index - 1 if context.index % 3 == 2 else context.index
        text = f"0{number:031b}"
        return Proposal((Candidate(text, (context.parent.candidate.id,), self.name),), replies=(f"r{context.index}",))

    async def repair(self, context: ProposalContext, failed: Proposal, reason: str) -> Proposal | None:
        self.told.append(reason)
        if not self._mends or len(failed.replies) > 1:
            return None
        (broken,) = failed.candidates
        text = f"1{context.index:031b}"
        mended = Candidate(text, broken.parents, self.name, {"repairs": broken.id})
        return Proposal((broken, mended), replies=(*failed.replies, f"m{context.index}"), cost=1.0)


def search(path: Path, proposer: Careless, *, concurrency: int = 1, proposals: int = 12, **stop: int) -> Search:
    seed = SeedTree(1)
    evolved = PickyStrings({"seed": 1})
    schedule = Schedule([Arm("careless")], seed)
    parts = SearchParts(evolved, {"careless": proposer}, schedule, evolved.start, seed)
    loop = LoopConfig(lag=4, concurrency=concurrency)
    limits = StopConfig(proposals=proposals, **stop)
    return Search(parts, Journal(path), islands=IslandsConfig(count=2), loop=loop, stop=limits)


def test_an_invalid_candidate_is_mended_once_and_both_are_on_record(tmp_path: Path) -> None:
    proposer = Careless()
    found = search(tmp_path / "journal.jsonl", proposer)
    found.run()
    steps = [event for event in events_of(Journal(tmp_path / "journal.jsonl")) if hasattr(event, "step")][1:]
    assert [len(event.step.trials) for event in steps] == [2] * 12
    assert {event.fates[0] for event in steps} == {Fate.INVALID, Fate.DUPLICATE}
    assert all(event.fates[1] in {Fate.NEW, Fate.IMPROVED, Fate.NOT_BETTER} for event in steps)
    assert [event.step.replies for event in steps] == [(f"r{number}", f"m{number}") for number in range(12)]
    assert set(proposer.told) == {"begins with 0"}
    assert found.state.replies == 24
    assert [one.outcome for one in found.state.ask(99).attempts].count("duplicate") == 0


def test_what_cannot_be_mended_is_committed_as_it_is(tmp_path: Path) -> None:
    proposer = Careless(mends=False)
    found = search(tmp_path / "journal.jsonl", proposer)
    found.run()
    assert found.state.steps == len(proposer.told) == 12
    assert [one.outcome for one in found.state.ask(99).attempts][:2] == ["invalid: begins with 0"] * 2


@pytest.mark.parametrize(("concurrency", "delay"), [(4, 0.0), (4, 0.01), (2, 0.01)])
def test_the_journal_is_the_same_at_any_concurrency_and_after_a_kill(
    tmp_path: Path, concurrency: int, delay: float
) -> None:
    search(tmp_path / "one.jsonl", Careless()).run()
    search(tmp_path / "many.jsonl", Careless(delay=delay), concurrency=concurrency).run()
    assert (tmp_path / "many.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    lines = (tmp_path / "one.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:6]) + lines[6][:20])
    search(tmp_path / "cut.jsonl", Careless(), concurrency=concurrency).run()
    assert (tmp_path / "cut.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


def test_repairs_stay_within_the_calls_that_are_allowed(tmp_path: Path) -> None:
    found = search(tmp_path / "journal.jsonl", Careless(), concurrency=4, model_calls=7)
    found.run()
    assert 7 <= found.state.replies <= 8


@pytest.mark.parametrize(
    ("reply", "idea"),
    [
        ("I count copies.\n\n```python\nx = 1\n```", "I count copies."),
        ("Sure! Here is it: I count **copies**, which say more.\n~~~\nx\n~~~", "I count copies, which say more."),
        (
            "<think>hm</think>\n1. I weigh `my_votes`.\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
            "I weigh my_votes.",
        ),
        ("```python\nx = 1\n```\nThis counts copies.", "This counts copies."),
        ('{"program": "x"}', ""),
        ('{"idea": "I count copies.", "program": "x = 1\\ny = 2"}', "I count copies."),
        ("One. " * 100, ("One. " * 48).strip()),
        ("a" * 300 + " b", "a" * 236 + " ..."),
    ],
)
def test_the_idea_is_what_is_said_around_the_program(reply: str, idea: str) -> None:
    assert idea_of(reply) == idea
