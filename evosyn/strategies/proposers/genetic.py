"""The genetic proposer: no model, no cost; a burst of variants of the parent for each proposal.

Parents in the notation of our own grammar are varied as trees: crossover with inspirations, mutation, re-tuned
constants. A program that steps outside the grammar (a model's, a person's) is opaque: its constants are re-tuned, and
beside them come variants of readable inspirations, so a proposal is never empty. What a model has just written gets a
burst of its own (`surroundings`). Koza 1992; LLaMEA-HPO for re-tuning a model's program.
"""

from __future__ import annotations

import random
from itertools import accumulate, islice

from pydantic import Field

from evosyn.ports import PluginConfig, Proposal, ProposalContext, ProposerTools
from evosyn.randomness import SeedTree
from evosyn.records import Candidate
from evosyn.strategies.genome import StrategyGenome
from evosyn.strategies.grammar.constants import retuned_text
from evosyn.strategies.grammar.grammar import Node, Program
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.simplify import simplified
from evosyn.strategies.grammar.surroundings import surroundings
from evosyn.strategies.grammar.trees import crossed, fits, mutated, random_program, retuned

AROUND = 160
"""Variants around a program of a model: more than a hundred are new, even after those around all openings."""
ATTEMPTS = 6
"""Tries for each variant of a burst before the burst comes out smaller."""

OPERATORS = {"mutate": 4.0, "crossover": 3.0, "retune": 1.5, "exchange": 0.7, "fresh": 0.5}
_NAMES, _SUMS = tuple(OPERATORS), tuple(accumulate(OPERATORS.values()))


class GeneticConfig(PluginConfig):
    """
    Attributes:
        burst: variants a proposal.
        around: variants in the proposal that follows a model's program, for each call that it took.
    """

    burst: int = Field(default=16, ge=1, le=512)
    around: int = Field(default=AROUND, ge=1, le=512)


def create(tools: ProposerTools, config: GeneticConfig) -> GeneticProposer:
    """The proposer; it shares the reader of a genome of strategies, which spares reading what was just written."""
    shared = tools.genome.reader if isinstance(tools.genome, StrategyGenome) else Reader()
    return GeneticProposer(config.burst, shared, config.around)


class GeneticProposer:
    """Implements `ports.Proposer`."""

    name = "genetic"

    def __init__(self, burst: int, reader: Reader, around: int = AROUND) -> None:
        self._burst, self._reader, self._around = burst, reader, around

    async def propose(self, context: ProposalContext) -> Proposal:
        """Up to `burst` variants, no two alike and none equal to the parent; `around` for each call that a model's
        program took: what lies around it, and where that is less the usual ones."""
        rng = SeedTree(context.seed).child("genetic", context.index).random()
        made: dict[str, Candidate] = {}
        wanted = self._around * _calls(context.parent.candidate) if context.around else self._burst
        if context.around:
            text, parents = context.parent.candidate.text, (context.parent.candidate.id,)
            found = islice(surroundings(text, self._reader, rng), wanted)
            made = {one.text: Candidate(one.text, parents, self.name, {"operator": one.operator}) for one in found}
        if len(made) < wanted:
            made |= self._varied(context, rng, wanted - len(made))
        return Proposal(candidates=tuple(made.values()))

    def _varied(self, context: ProposalContext, rng: random.Random, wanted: int) -> dict[str, Candidate]:
        text = context.parent.candidate.text
        parent = self._reader.meant(text)
        others = [elite for elite in (*context.inspirations, *context.top) if elite is not context.parent]
        donors = {elite.candidate.id: self._reader.meant(elite.candidate.text) for elite in others}
        readable = {name: program for name, program in sorted(donors.items()) if program is not None}
        made: dict[str, Candidate] = {}
        tried = {self._reader.read(text)}
        if parent is None:
            self._retune_opaque(context, rng, made, wanted // 2)
        for _ in range(wanted * ATTEMPTS):
            if len(made) >= wanted:
                break
            candidate = self._vary(context, parent, readable, rng, tried)
            if candidate is not None:
                made.setdefault(candidate.text, candidate)
        return made

    def _retune_opaque(
        self, context: ProposalContext, rng: random.Random, made: dict[str, Candidate], wanted: int
    ) -> None:
        for _ in range(wanted):
            text = retuned_text(context.parent.candidate.text, rng)
            if text is not None and text != context.parent.candidate.text:
                parents = (context.parent.candidate.id,)
                made.setdefault(text, Candidate(text, parents, self.name, {"operator": "retune-text"}))

    def _vary(
        self,
        context: ProposalContext,
        parent: Program | None,
        donors: dict[str, Program],
        rng: random.Random,
        tried: set[Program | None],
    ) -> Candidate | None:
        """One variant, or None where it came out too large or like one that was tried."""
        operator = rng.choices(_NAMES, cum_weights=_SUMS)[0]
        donor = rng.choice(list(donors)) if donors else None
        parents = [context.parent.candidate.id]
        if parent is None and donor is not None:
            base, parents = donors[donor], [donor]
        elif parent is None:
            base, operator = _fresh(rng), "fresh"
        else:
            base = parent
        if operator in {"crossover", "exchange"} and (donor is None or donors[donor] == base):
            operator = "mutate"
        if operator in {"crossover", "exchange"} and donor is not None:
            parents.append(donor)
            new = (
                _crossed(base, donors[donor], rng) if operator == "crossover" else _exchanged(base, donors[donor], rng)
            )
        elif operator == "fresh":
            parents, new = [], base if parent is None and donor is None else _fresh(rng)
        elif operator == "retune":
            new = Program(retuned(base.solutions, rng), retuned(base.testings, rng))
        else:
            new = _mutated(base, rng)
        new = simplified(new)
        if new in tried or not fits(new):
            return None
        tried.add(new)
        return Candidate(self._reader.write(new), tuple(parents), self.name, {"operator": operator})


def _calls(candidate: Candidate) -> int:
    """Replies of a model that a program was paid with: two where the first was repaired."""
    replies = candidate.detail.get("replies")
    return max(1, len(replies)) if isinstance(replies, list | tuple) else 1


def _fresh(rng: random.Random) -> Program:
    """A random program, or a well-known idea as it is or mutated."""
    if rng.random() < 0.5:
        return random_program(rng)
    opening = OPENINGS[rng.choice(list(OPENINGS))]
    return opening if rng.random() < 0.5 else _mutated(opening, rng)


def _crossed(base: Program, donor: Program, rng: random.Random) -> Program:
    """A subtree of one tree taken from either tree of the donor."""
    gift = rng.choice(donor)
    if rng.random() < 0.5:
        return base._replace(solutions=crossed(base.solutions, gift, rng, scores=False))
    return base._replace(testings=crossed(base.testings, gift, rng, scores=True))


def _exchanged(base: Program, donor: Program, rng: random.Random) -> Program:
    """One whole tree of the donor beside the other tree of the base."""
    if rng.random() < 0.5:
        return base._replace(solutions=donor.solutions)
    return base._replace(testings=donor.testings)


def _mutated(base: Program, rng: random.Random) -> Program:
    """One to three mutations, each in one of the trees."""
    trees: list[Node] = list(base)
    for _ in range(rng.choices([1, 2, 3], [6, 3, 1])[0]):
        place = rng.randrange(2)
        trees[place] = mutated(trees[place], rng, scores=place == 1)
    return Program(trees[0], trees[1])
