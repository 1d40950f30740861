"""A proposal counts for the arm whose question was really asked; the journal says which, so a resumed bandit knows."""

from bit_strings import START, BitStrings
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.evolve.events import Committed, events_of
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Journal
from evosyn.ports import Proposal, ProposalContext
from evosyn.randomness import SeedTree
from evosyn.records import Candidate

ARMS = ("rewrite@m", "crossover@m")


class Crossing:
    """Has nothing to cross in two of three proposals, and asks for a rewrite."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def propose(self, context: ProposalContext) -> Proposal:
        asked = "rewrite" if self.name.startswith("crossover") and context.index % 3 else ""
        reply = (f"r{context.index}",)
        if context.index % 4 == 0:
            return Proposal(waste="prose", replies=reply, cost=0.01, asked=asked)
        text = format(SeedTree(7).child(context.index).integer() % 2**32, "032b")
        made = Candidate(text, (context.parent.candidate.id,), self.name)
        return Proposal((made,), replies=reply, cost=0.01, asked=asked)


def search(path, *, proposals=60, concurrency=4):
    tree = SeedTree(3)
    parts = SearchParts(
        evolved=BitStrings({}),
        proposers={name: Crossing(name) for name in ARMS},
        schedule=Schedule([Arm(name) for name in ARMS], tree, bandit=True),
        initial=[START],
        seed=tree,
    )
    islands, loop = IslandsConfig(count=2), LoopConfig(lag=4, concurrency=concurrency)
    return Search(parts, Journal(path), islands=islands, loop=loop, stop=StopConfig(proposals=proposals))


def steps(path):
    return [event.step for event in events_of(Journal(path)) if isinstance(event, Committed) and event.step.index >= 0]


def test_what_was_not_asked_of_an_arm_does_not_count_for_it(tmp_path):
    found = search(tmp_path / "j")
    found.run()
    made = steps(tmp_path / "j")
    crossed = [one for one in made if one.proposer == ARMS[1]]
    really = [one for one in crossed if one.asked is None]
    assert 0 < len(really) < len(crossed) and {one.asked for one in crossed} == {None, ARMS[0]}
    tallies = found.state.tallies
    assert tallies[ARMS[1]].proposals == len(really)
    assert tallies[ARMS[0]].proposals == len(made) - len(really)


@settings(max_examples=10, deadline=None)
@given(cut=st.floats(0, 1), concurrency=st.sampled_from([1, 3, 4]))
def test_cut_anywhere_and_resumed_the_bandit_draws_the_same_arms(cut, concurrency, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut")
    search(folder / "whole").run()
    whole = (folder / "whole").read_bytes()
    (folder / "cut").write_bytes(whole[: int(cut * len(whole))])
    search(folder / "cut", concurrency=concurrency).run()
    assert (folder / "cut").read_bytes() == whole
