"""What a proposer is shown is the same after a replay, and the fingerprint of a state sees all of the state."""

import copy
import random
from dataclasses import replace
from pathlib import Path

import pytest
from _fingerprint import GIVEN, fingerprint
from bit_strings import START, BitStrings, Flipping, FlippingConfig, Ones

from evosyn.evolve.archive import Archive
from evosyn.evolve.events import Committed, Step, Trial, events_of
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.proposer_tally import Tally
from evosyn.evolve.replay import replay
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Journal
from evosyn.ports import Proposal, ProposalContext
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Elite, Evaluation

SEARCHES = ["evolve", "iid", "sequential", "hillclimb"]
STARTS = [START, *(Candidate(text * 4) for text in ("11110000", "00001111", "10101010", "11001100"))]


class Told(Ones):
    """Says of each string what it is."""

    def evaluate(self, candidates):
        found = super().evaluate(candidates)
        return [
            replace(one, feedback=(f"about {candidate.text}",), notes=(candidate.text[::-1],))
            for candidate, one in zip(candidates, found, strict=True)
        ]


class ToldStrings(BitStrings):
    evaluator = Told()


class Seeing(Flipping):
    """Flips bits, for money if it is to look like a model, and remembers what it was shown."""

    def __init__(self, cost: float, seen: dict[int, object]) -> None:
        super().__init__(FlippingConfig(burst=2))
        self._cost, self._seen = cost, seen

    async def propose(self, context: ProposalContext) -> Proposal:
        shown = (context.parent, *context.inspirations, *context.top, *context.start)
        self._seen[context.index] = [(one.candidate.id, one.evaluation) for one in shown]
        made = await super().propose(context)
        return replace(made, replies=(f"r{context.index}",), cost=self._cost) if self._cost else made


def search(path: Path, kind: str) -> tuple[Search, dict[int, object]]:
    tree, seen = SeedTree(3), {}
    parts = SearchParts(
        evolved=ToldStrings({}),
        proposers={"model": Seeing(0.01, seen), "free": Seeing(0.0, seen)},
        schedule=Schedule([Arm("model", 2.0), Arm("free", 1.0, free=True)], tree),
        initial=STARTS,
        seed=tree,
    )
    islands, stop = IslandsConfig(count=2, search=kind), StopConfig(proposals=60)
    return Search(parts, Journal(path), islands=islands, loop=LoopConfig(lag=4), stop=stop), seen


@pytest.mark.parametrize("kind", SEARCHES)
def test_what_is_shown_to_a_proposer_is_the_same_after_a_replay(tmp_path, kind):
    whole, expected = search(tmp_path / "whole", kind)
    whole.run()
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    for cut in range(3, len(lines), 4):
        path = tmp_path / f"{cut}"
        path.write_bytes(b"".join(lines[:cut]))
        again, seen = search(path, kind)
        again.run()
        assert seen and seen == {index: expected[index] for index in seen}
        assert path.read_bytes() == b"".join(lines)
        assert fingerprint(again.state) == fingerprint(whole.state)
    assert all(evaluation.notes for shown in expected.values() for _, evaluation in shown)


@pytest.mark.parametrize("kind", SEARCHES)
def test_of_what_can_be_no_parent_the_journal_keeps_no_notes(tmp_path, kind):
    found, _ = search(tmp_path / "j", kind)
    found.run()
    steps = [event for event in events_of(Journal(tmp_path / "j")) if isinstance(event, Committed)]
    for event in (one for one in steps if one.step.index >= 0):
        scored = [one.evaluation for one in event.step.trials if one.evaluation is not None]
        kept = [one for one, fate in zip(event.step.trials, event.fates, strict=True) if fate in ("new", "improved")]
        last = kind == "sequential" or (kind == "evolve" and bool(event.step.replies))
        assert sum(bool(one.notes) for one in scored) <= len(kept) + last


def state_with_all(kind: str = "evolve") -> Archipelago:
    """A state in which no attribute is empty."""
    config = IslandsConfig(count=2, migrate_every=2, restart_after=1, search=kind)
    state = Archipelago(Ones.axes, BitStrings({}).merit, config, SeedTree(1))
    rng, told = random.Random(1), Told()

    def trial(text: str) -> Trial:
        return Trial(Candidate(text), text, replace(told.evaluate([Candidate(text)])[0], signature=text, epoch="one"))

    state.commit(Step(-1, -1, "initial", None, tuple(trial(one.text) for one in STARTS)))
    for index in range(30):
        made = trial(format(rng.getrandbits(32), "032b"))
        if index == 5:
            made = replace(made, evaluation=Evaluation(None, "broken", epoch="one"))
        state.commit(Step(index, index % 2, "arm", None, (made,), replies=("r",), cost=0.1, tokens=(3, 4)))
    return state


def test_the_fingerprint_sees_every_part_of_a_state():
    state = state_with_all()
    before, held = fingerprint(state), [name for name in vars(state) if name not in GIVEN]
    assert {"fresh", "latest", "initial", "_per_seed", "_reached"} <= set(held)
    for name in held:
        other, value = copy.deepcopy(state), getattr(state, name)
        emptied = None if value else 1
        setattr(other, name, emptied)
        assert fingerprint(other) != before, name
    assert fingerprint(copy.deepcopy(state)) == fingerprint(state_with_all()) == before


def test_the_fingerprint_sees_notes_tokens_and_the_order_in_which_cells_were_filled():
    before = fingerprint(state_with_all())
    for attribute in ("fresh", "latest"):
        state = state_with_all()
        elite = getattr(state, attribute)
        setattr(state, attribute, Elite(elite.candidate, replace(elite.evaluation, notes=("another",))))
        assert fingerprint(state) != before, attribute
    state = state_with_all()
    state.tallies["arm"] = Tally(**{**vars(state.tallies["arm"]), "tokens": (1, 1)})
    assert fingerprint(state) != before
    state, turned = state_with_all(), Archive(Ones.axes, BitStrings({}).merit)
    for elite in reversed(list(state.record)):
        turned.add(elite)
    assert turned.cells() == state.record.cells()
    state.record = turned
    assert fingerprint(state) != before


def test_a_replayed_state_has_the_fingerprint_of_the_one_that_was(tmp_path):
    for kind in SEARCHES:
        found, _ = search(tmp_path / kind, kind)
        found.run()
        empty = Archipelago(Ones.axes, BitStrings({}).merit, found.state.config, SeedTree(3))
        assert fingerprint(replay(events_of(Journal(tmp_path / kind)), empty).state) == fingerprint(found.state)
