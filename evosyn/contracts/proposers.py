"""What every proposer must keep to, with a model behind it or without."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from unittest import SkipTest

from evosyn.chat import Reply, Request
from evosyn.contracts.base import NAMED_REASON, PluginContract, odd_texts, told
from evosyn.contracts.teachers import FAILURES
from evosyn.errors import BudgetSpent, EvosynError, TeacherUnavailable
from evosyn.ports import Genome, ModelTools, Proposal, ProposalContext, Proposer, ProposerTools, Repairing, Tried
from evosyn.records import Candidate, Elite, Evaluation, canonical_json

COST = 0.25


class ProposerContract(PluginContract):
    """Subclass it, and set `create`, `genome` and `parent`.

    Attributes:
        genome: what is evolved.
        parent, others: texts of it: one to change, and further ones to learn from.
        reply: of a model that has found something better.
    """

    kind = "proposers"
    parent: str = ""
    others: Sequence[str] = ()
    genome: Genome | None = None
    reply: str = "Nothing better."

    def test_it_is_a_proposer_with_a_name(self) -> None:
        proposer = self._made()
        assert isinstance(proposer, Proposer), f"{proposer!r} lacks a method of ports.Proposer"
        assert proposer.name.strip() and proposer.name.isprintable(), f"name: {proposer.name!r}"

    def test_a_proposal_has_candidates_or_a_named_reason_why_not(self) -> None:
        proposer = self._made()
        for index in range(5):
            context = self._context(index)
            proposal = proposed(proposer, context)
            assert bool(proposal.candidates) != bool(proposal.waste), f"{proposal}: candidates, or waste"
            assert proposal.waste is None or NAMED_REASON.fullmatch(proposal.waste), f"waste: {proposal.waste!r}"
            seen = {one.candidate.id for one in (context.parent, *context.inspirations, *context.top)}
            for candidate in proposal.candidates:
                strangers = set(candidate.parents) - seen
                assert not strangers, f"Candidate.parents: {strangers} were never shown to it"
                assert candidate.proposer == proposer.name, f"Candidate.proposer: {candidate.proposer!r}"
                canonical_json(dict(candidate.detail))

    def test_the_same_context_gives_the_same_proposal(self) -> None:
        for index in range(5):
            once, again = (proposed(self._made(), self._context(index)) for _ in range(2))
            assert once == again, f"propose: number {index} came out in two ways; draw from `context.seed` and `index`"

    def test_what_a_model_was_paid_stands_in_the_proposal(self) -> None:
        for teacher in (Saying(self.reply), Saying("")):
            proposal = proposed(self._with_model(teacher), self._context())
            assert teacher.asked, "propose: takes a teacher, and never asks it"
            assert proposal.cost == COST * len(teacher.asked), f"cost: {proposal.cost} for {len(teacher.asked)} calls"
            assert len(proposal.replies) == len(teacher.asked), f"replies: {proposal.replies} are not all that it used"

    def test_no_reply_of_a_model_makes_it_raise(self) -> None:
        for text in odd_texts(self.reply, self.parent):
            with told("propose", text):
                proposed(self._with_model(Saying(text)), self._context())
        for failure in sorted(FAILURES):
            proposal = proposed(self._with_model(Saying("", failure)), self._context())
            assert proposal.waste, f"propose: {proposal} of a reply that failed ({failure})"

    def test_a_spent_budget_and_a_dead_model_pass_through(self) -> None:
        for error in (BudgetSpent("spent"), TeacherUnavailable("dead")):
            try:
                proposed(self._with_model(Saying("", error)), self._context())
            except type(error):
                continue
            raise AssertionError(f"propose: swallows {type(error).__name__}, which must end the run")

    def test_a_repair_is_one_more_call_and_adds_to_what_it_repairs(self) -> None:
        proposer, context = self._with_model(Saying(self.reply)), self._context()
        failed = proposed(proposer, context)
        if not isinstance(proposer, Repairing) or not failed.candidates:
            raise SkipTest("it repairs nothing, or made nothing of `reply`")
        mended = asyncio.run(proposer.repair(context, failed, "NameError: x (line 2)"))
        if mended is not None:
            count = len(failed.candidates)
            assert mended.candidates[:count] == failed.candidates, "repair: the failed candidates stay, in front"
            assert mended.replies[:-1] == failed.replies, f"repair: {mended.replies} is not one reply more"
            assert mended.cost == failed.cost + COST, f"repair: cost {mended.cost} of a second call"

    def _with_model(self, teacher: Saying) -> Proposer:
        if not issubclass(self.plugin.tools, ModelTools):
            raise SkipTest("it asks no model")
        return self._made(teacher)

    def _made(self, teacher: Saying | None = None) -> Proposer:
        genome = self.given("genome", "genome = BitStrings()")
        asks = issubclass(self.plugin.tools, ModelTools)
        tools = ModelTools(genome, teacher or Saying(self.reply)) if asks else ProposerTools(genome)
        made: Proposer = self.plugin.make(tools, self.options)
        return made

    def _context(self, index: int = 0) -> ProposalContext:
        parent, *others = (
            Elite(Candidate(text), Evaluation(0.5, per_seed=(0.5, place % 2), feedback=("it ran",)))
            for place, text in enumerate([self.given("parent", "parent = 'def rank(evidence): ...'"), *self.others])
        )
        task = self.genome.task if self.genome else ""
        tried = (Tried("c_1", parent.candidate.id, "the other way round", 0.25, "not-better", 0, 1),)
        return ProposalContext(index, 7, parent, tuple(others), (parent,), task, (parent,), tried, (1.0, 0.0))


class Saying:
    """Implements `ports.Teacher`: one reply to everything, at a price.

    Args:
        trouble: an error that it raises, or the failure of its replies.
    """

    name, simulated = "saying", True

    def __init__(self, text: str, trouble: str | EvosynError | None = None) -> None:
        self._text, self._trouble = text, trouble
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        if isinstance(self._trouble, EvosynError):
            raise self._trouble
        return Reply(f"r_{len(self.asked)}", self._text, self.name, self._trouble, cost=COST)

    async def aclose(self) -> None: ...


def proposed(proposer: Proposer, context: ProposalContext) -> Proposal:
    """One proposal."""
    return asyncio.run(proposer.propose(context))
