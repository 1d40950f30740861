"""The steady-state loop: proposals are numbered, made at once in any order, committed in the order of their numbers.

Proposal i is asked for when i - lag + 1 proposals are committed, whatever the concurrency, so the journal depends on
the seed, the configuration and the replies alone. That a budget is spent is a reply to one proposal, whose place a free
one takes that was asked for with it (docs/decisions/0025). Proposals are coroutines (models are waited for); evaluation
is a thread that takes all that is ready as one batch. Nothing here grows with the population. DESIGN.md section 5.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from pydantic import Field

from evosyn.configs.section import Section
from evosyn.errors import BudgetSpent, UsageError
from evosyn.evolve.epochs import Reassessing
from evosyn.evolve.evaluating import Evaluating, EvaluationMessage
from evosyn.evolve.events import Continued, Fate, Reassessed, Step, Stopped, Trial, committed, events_of, rounded
from evosyn.evolve.islands import Archipelago, Ask, IslandsConfig
from evosyn.evolve.proposing import Connected, context_of, report_failure
from evosyn.evolve.replay import replay
from evosyn.evolve.schedule import Schedule
from evosyn.evolve.stopping import Grant, Stop, StopConfig, extended, reason_to_stop, spent
from evosyn.journal import Journal
from evosyn.ports import Evolved, Proposal, ProposalContext, Proposer, Repairing
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Evaluation

SYNC_SECONDS = 2.0
SYNC_PAID_SECONDS = 0.1
"""So long after its commit a step that was paid for is on the disk; one that was free waits for company."""

CALLS_OF_ONE = 2
"""Model calls that one proposal may use: the second one repairs."""


class LoopConfig(Section):
    """How far the loop works ahead.

    Attributes:
        lag: proposal i sees the state after i - lag + 1 commits; 1 = strictly one after the other. Part of what a run
            is: another lag gives another journal.
        concurrency: proposals being made at once, at most `lag`. Changes the speed only.
    """

    lag: int = Field(default=8, ge=1, le=4096)
    concurrency: int = Field(default=8, ge=1, le=4096)


class OnCommit(Protocol):
    def __call__(self, state: Archipelago, step: Step, fates: tuple[Fate, ...]) -> None: ...


@dataclass(frozen=True)
class SearchParts:
    """The collaborators of a search.

    Attributes:
        evolved: what the archives hold.
        initial: candidates that every island starts with; the first one must be valid.
    """

    evolved: Evolved
    proposers: Mapping[str, Proposer]
    schedule: Schedule
    initial: Sequence[Candidate]
    seed: SeedTree


class _Asked(NamedTuple):
    ask: Ask
    arm: str
    unpaid: _Asked | None = None  # of the same state: what takes its place where it cannot be paid for


class Search:
    """One search over one journal: replays what is there, goes on from there, and commits each step to it.

    Args:
        on_commit: called after each commit, for progress; must be quick.

    Attributes:
        evolved: what it searches among.
        limits: when it ends, what was granted on top included.
        spent: the budget that a proposer first ran into here; those that cost nothing went on.
        state: as of the last commit.
    """

    def __init__(
        self,
        parts: SearchParts,
        journal: Journal,
        *,
        islands: IslandsConfig,
        loop: LoopConfig,
        stop: StopConfig,
        on_commit: OnCommit | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if stop.proposals is None and stop.evaluations is None:
            raise UsageError("a search needs a limit: set proposals or evaluations")
        self.evolved = parts.evolved
        self._parts, self._events, self._loop_config = parts, events_of(journal), loop
        self._stop = self.limits = stop
        self._on_commit, self._clock, self._started = on_commit, clock, clock()
        self.spent: BudgetSpent | None = None
        self._asked: dict[int, _Asked] = {}
        self._proposed: dict[int, Proposal] = {}
        self._keys: dict[int, tuple[str | None, ...]] = {}
        self._holders: dict[str, int] = {}
        self._results: dict[str, Evaluation] = {}
        self._waiting: list[tuple[str, Candidate]] = []
        self._making: dict[int, asyncio.Task[None]] = {}
        self._mended: set[int] = set()
        self._next = 0
        self._synced = self._started
        self._syncing: asyncio.TimerHandle | None = None
        empty = Archipelago(self.evolved.evaluator.axes, self.evolved.merit, islands, parts.seed)
        found = replay(self._events, empty, self._ask_ahead, loop.lag)
        self._found, self.state = found, found.state
        self._members = Reassessing(self.evolved.evaluator, found.state)
        self.limits = extended(stop, found.continued)
        self._continued_at = found.continued[-1].evaluations if found.continued else 0

    def continue_for(self, more: int) -> None:
        """Grant `more` proposals or evaluations: on top of what is committed where the search had ended, else of what
        is planned."""
        self._events.begin(self.evolved.header)
        planned = (self._stop.evaluations, self._stop.proposals)
        self._events.append(Continued(more, planned), sync=True)
        self._continued_at, ended = self.state.evaluations, self._found.stopped is not None
        grant = Grant(more, self.state.evaluations, self.state.steps, ended=ended, planned=planned)
        self._found = self._found._replace(stopped=None, continued=(*self._found.continued, grant))
        self.limits = extended(self._stop, self._found.continued)

    def run(self) -> Stop:
        """Go on until a rule of the stop configuration holds; blocks.

        Raises:
            UsageError: the journal belongs to another configuration, or the first initial candidate is invalid.
            BudgetSpent, TeacherUnavailable: from proposers (of the first kind only where all of them cost something).
                Everything committed is on disk.
        """
        self._begin()
        reason = self._reason()
        if reason is None:
            reason = asyncio.run(self._main())
        if reason.value != self._found.stopped or self._next:
            self._events.append(Stopped(reason.value), sync=True)
            self.state.forget_streaks()
        return reason

    def _begin(self) -> None:
        self._events.begin(self.evolved.header)
        if self.state.initial:
            if self._members.due:
                self._reassess(self._members.now())
            return
        candidates = list(self._parts.initial)
        keys = [self.evolved.key(candidate.text) for candidate in candidates]
        evaluations = self.evolved.evaluator.evaluate(candidates)
        if evaluations[0].score is None:
            raise UsageError(f"the initial candidate is invalid: {evaluations[0].invalid}")
        trials = tuple(
            Trial(candidate, key, rounded(evaluation))
            for candidate, key, evaluation in zip(candidates, keys, evaluations, strict=True)
        )
        self._commit(Step(-1, -1, "initial", None, trials))

    async def _main(self) -> Stop:
        inbox: asyncio.Queue[EvaluationMessage] = asyncio.Queue()
        evaluating = Evaluating(self.evolved.evaluator, inbox, asyncio.get_running_loop())
        self._next = self.state.steps
        try:
            while True:
                self._launch(inbox)
                self._waiting = evaluating.offer(self._waiting)
                message = await inbox.get()
                while True:
                    self._receive(message)
                    if inbox.empty():
                        break
                    message = inbox.get_nowait()
                self._mend(inbox)
                reason = self._commit_ready()
                if self._members.due:
                    await self._renew(inbox, evaluating)
                    reason = self._reason()
                if reason is not None:
                    return reason
        finally:
            if self._syncing is not None:
                self._syncing.cancel()
                self._sync()
            evaluating.close()
            for task in self._making.values():
                task.cancel()
            await asyncio.gather(*self._making.values(), return_exceptions=True)
            for proposer in self._parts.proposers.values():
                if isinstance(proposer, Connected):
                    await proposer.aclose()

    def _launch(self, inbox: asyncio.Queue[EvaluationMessage]) -> None:
        limit = self.limits.proposals
        while len(self._making) < self._loop_config.concurrency and self._next in self._asked:
            if limit is not None and self._next >= limit:
                return
            if self._calls_are_spoken_for():
                if self._next > self.state.steps or (unpaid := self._asked[self._next].unpaid) is None:
                    return
                self._asked[self._next] = unpaid
            task = asyncio.create_task(self._propose(self._next, inbox))
            task.add_done_callback(partial(report_failure, inbox))
            self._making[self._next] = task
            self._next += 1

    def _calls_are_spoken_for(self) -> bool:
        """Whether the proposals under way may use all the model calls that are left: no call is paid for nothing."""
        calls, schedule = self.limits.model_calls, self._parts.schedule
        if calls is None or schedule.is_free(self._asked[self._next].arm):
            return False
        ahead = (index for index in range(self.state.steps, self._next) if not schedule.is_free(self._asked[index].arm))
        return self.state.replies + CALLS_OF_ONE * sum(1 for _ in ahead) >= calls

    async def _propose(self, index: int, inbox: asyncio.Queue[EvaluationMessage]) -> None:
        asked = self._asked[index]
        try:
            proposal = await self._parts.proposers[asked.arm].propose(self._context(index))
        except BudgetSpent as error:
            if asked.unpaid is None:
                raise
            self.spent, self._asked[index] = self.spent or error, asked.unpaid
            proposal = await self._parts.proposers[asked.unpaid.arm].propose(self._context(index))
        inbox.put_nowait(EvaluationMessage(number=index, proposal=proposal))

    def _context(self, index: int) -> ProposalContext:
        seed, task, start = self._parts.seed.root, self.evolved.task, self.state.initial
        return context_of(self._asked[index].ask, index, seed=seed, task=task, start=start)

    def _mend(self, inbox: asyncio.Queue[EvaluationMessage]) -> None:
        """Begin to repair the proposals of which nothing is valid."""
        for index in [index for index in self._proposed if self._evaluated(index)]:
            reason = self._why_useless(index)
            if reason is not None:
                task = asyncio.create_task(self._repair(index, self._proposed[index], reason, inbox))
                task.add_done_callback(partial(report_failure, inbox))
                self._making[index] = task
                self._mended.add(index)

    async def _repair(self, index: int, failed: Proposal, reason: str, inbox: asyncio.Queue[EvaluationMessage]) -> None:
        proposer = self._parts.proposers[self._asked[index].arm]
        assert isinstance(proposer, Repairing)
        try:
            mended = await proposer.repair(self._context(index), failed, reason)
        except BudgetSpent as error:
            if not self._parts.schedule.has_free:
                raise
            self.spent, mended = self.spent or error, None
        inbox.put_nowait(EvaluationMessage(number=index, proposal=mended or failed))

    def _why_useless(self, index: int) -> str | None:
        """Why no candidate of an evaluated proposal is valid, if it can be repaired. The same whenever it is asked: an
        evaluation depends on the text alone."""
        if index in self._mended or not isinstance(self._parts.proposers[self._asked[index].arm], Repairing):
            return None
        reasons = [self._why_invalid(key) for key in self._keys[index]]
        return None if None in reasons or not reasons else reasons[-1]

    def _why_invalid(self, key: str | None) -> str | None:
        if key is None:
            return "it is no program"
        evaluation = self._results.get(key)
        if evaluation is None:
            return self.state.why_invalid(key)
        return None if evaluation.score is not None else evaluation.invalid or "it has no score"

    def _receive(self, message: EvaluationMessage) -> None:
        if message.error is not None:
            self._commit_ready()
            raise message.error
        self._results.update(message.results)
        if message.proposal is None:
            return
        del self._making[message.number]
        keys = tuple(self.evolved.key(candidate.text) for candidate in message.proposal.candidates)
        held = len(self._keys.get(message.number, ()))  # by the proposal that this one repairs
        for key, candidate in list(zip(keys, message.proposal.candidates, strict=True))[held:]:
            if key is None or self.state.seen(key) is not None:
                continue
            if key not in self._holders:
                self._waiting.append((key, candidate))
            self._holders[key] = self._holders.get(key, 0) + 1
        self._proposed[message.number], self._keys[message.number] = message.proposal, keys

    def _commit_ready(self) -> Stop | None:
        while (index := self.state.steps) in self._proposed and self._evaluated(index) and index not in self._making:
            if self._why_useless(index) is not None:
                return None
            self._commit(self._step(index))
            reason = None if self._members.due else self._reason()
            if reason is not None or self._members.due:
                return reason
        return None

    async def _renew(self, inbox: asyncio.Queue[EvaluationMessage], evaluating: Evaluating) -> None:
        """Begin an epoch: what is under way is waited for and begun again (as after a kill, so that speed decides
        nothing; its replies are remembered), the members are evaluated anew."""
        await asyncio.gather(*self._making.values(), return_exceptions=True)
        for held in (self._making, self._proposed, self._keys, self._holders, self._results, self._mended):
            held.clear()
        self._waiting, self._next = [], self.state.steps
        self._reassess(await self._members.gathered(evaluating, inbox))

    def _reassess(self, event: Reassessed) -> None:
        self.state.reassess(event)
        self._events.append(event, sync=True)
        self._found = self._found._replace(stopped=None)

    def _evaluated(self, index: int) -> bool:
        return all(key is None or key not in self._holders or key in self._results for key in self._keys[index])

    def _step(self, index: int) -> Step:
        """Step `index`, complete; its hold on results ends here."""
        proposal, keys = self._proposed.pop(index), self._keys.pop(index)
        ask, arm, _ = self._asked.pop(index)
        self._mended.discard(index)
        trials, here = [], set()
        for key, candidate in zip(keys, proposal.candidates, strict=True):
            known = key is None or key in here or self.state.seen(key) is not None
            trials.append(Trial(candidate, key, None if known or key is None else self._results[key]))
            if key is not None:
                here.add(key)
                self._release(key)
        return Step(
            index=index,
            island=ask.island,
            proposer=arm,
            parent=ask.parent.candidate.id,
            trials=tuple(trials),
            waste=proposal.waste,
            replies=proposal.replies,
            cost=proposal.cost,
            tokens=proposal.tokens,
            asked=proposal.asked + "".join(arm.partition("@")[1:]) if proposal.asked else None,
        )

    def _release(self, key: str) -> None:
        held = self._holders.get(key)
        if held is None:
            return
        if held == 1:
            del self._holders[key]
            self._results.pop(key, None)
        else:
            self._holders[key] = held - 1

    def _commit(self, step: Step) -> None:
        fates = self.state.commit(step)
        now = self._clock()
        sync = step.index < 0 or now - self._synced > SYNC_SECONDS
        self._events.append(committed(step, fates, self.state.parents_apart()), sync=sync)
        if sync:
            self._synced = now
        elif step.replies and self._syncing is None:
            self._syncing = asyncio.get_running_loop().call_later(SYNC_PAID_SECONDS, self._sync)
        self._ask_ahead(self.state)
        if self._on_commit is not None:
            self._on_commit(self.state, step, fates)

    def _sync(self) -> None:
        """Put what was committed on the disk: one wait for many commits."""
        self._syncing = None
        self._events.journal.sync()
        self._synced = self._clock()

    def _ask_ahead(self, state: Archipelago) -> None:
        """Ask for what the lag allows after this commit: one proposal, or the first `lag` ones at the start."""
        newest = state.steps + self._loop_config.lag - 1
        for index in range(0 if state.steps == 0 else newest, newest + 1):
            around = state.fresh is not None
            free = around or spent(self.limits, state) is not None
            self._asked[index] = self._ask(index, state, free=free, around=around)
        self._asked.pop(state.steps - 1, None)

    def _ask(self, index: int, state: Archipelago, *, free: bool, around: bool = False) -> _Asked:
        schedule = self._parts.schedule
        arm = schedule.choose(index, state.tallies, free=free)
        unpaid = None if schedule.is_free(arm) or not schedule.has_free else self._ask(index, state, free=True)
        return _Asked(state.ask(index, free=schedule.is_free(arm), around=around), arm, unpaid)

    def _reason(self) -> Stop | None:
        seconds, has_free = self._clock() - self._started, self._parts.schedule.has_free
        return reason_to_stop(self.limits, self.state, seconds, self._continued_at, has_free=has_free)
