"""The seams of a search: what is evolved, who proposes, who scores."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from evosyn.chat import Parsed
from evosyn.rankings import Rankings
from evosyn.records import Candidate, Elite, Evaluation, Evidence, Invalid, Json
from evosyn.rundir import RunDir

Merit: TypeAlias = tuple[float, ...]
"""Compared from the left, greater is better; all merits of a run have the same length."""


@runtime_checkable
class StrategyRunner(Protocol):
    """Runs strategy programs over evidences, in the sandbox."""

    def rank(
        self, programs: Sequence[str], evidences: Sequence[Evidence], tasks: Sequence[str] | None = None
    ) -> list[Rankings | Invalid]:
        """For each program its rankings, one per evidence, or why it has none. One program never harms another, and
        what comes back was checked: as many scores as there are solutions and testings, all finite.

        Args:
            tasks: the task of each evidence, where several may be draws of one: nothing that a program keeps of one
                of them is there when it ranks another. None where each is of a task of its own.
        """
        ...


@runtime_checkable
class Evaluator(Protocol):
    """Scores candidates. Deterministic: the same text gives the same evaluation, whatever else is in the batch, for
    as long as its standard stays what it is."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The descriptor axes that its evaluations fill, in order."""
        ...

    def evaluate(self, candidates: Sequence[Candidate]) -> list[Evaluation]: ...


@runtime_checkable
class ChangingEvaluator(Evaluator, Protocol):
    """An `Evaluator` whose standard changes while it is used: a solver that learns, say."""

    @property
    def epoch(self) -> str:
        """Names the standard of now. Every evaluation carries the one that it was made by; those of two epochs are
        never compared. It changes between batches only, and where it changes must not depend on speed: after a
        committed step (`OnCommit`), or between two commands."""
        ...


@dataclass(frozen=True)
class Axis:
    """One declared axis of an archive: never rescaled by looking; values outside are clipped into the end bins."""

    name: str
    low: float
    high: float
    bins: int


@dataclass(frozen=True)
class Proposal:
    """What a proposer made: candidates (more than one where it is free), or why none; and what it cost.

    Attributes:
        waste: None, or the named reason: `empty`, `prose`, `diff-does-not-apply`, `does-not-parse`, `duplicate`,
        `refused`, ...
        replies: ids of the model replies it used.
        tokens: of these, in and out.
        asked: the proposer whose question was really asked, where that was not this one (nothing to cross: `rewrite`).
    """

    candidates: tuple[Candidate, ...] = ()
    waste: str | None = None
    replies: tuple[str, ...] = ()
    cost: float = 0.0
    tokens: tuple[int, int] = (0, 0)
    asked: str = ""


@dataclass(frozen=True)
class Tried:
    """What a model tried, in a line for the next one.

    Attributes:
        id: of the candidate; parent: of the one that it was made from.
        idea: what the model said of it; may be empty.
        score: None where it has none.
        outcome: what became of it, in a word, or why it is invalid.
        won, lost: seed problems on which it does clearly better and worse than its parent.
    """

    id: str
    parent: str | None
    idea: str
    score: float | None
    outcome: str
    won: int = 0
    lost: int = 0


@dataclass(frozen=True)
class ProposalContext:
    """What a proposer is shown: drawn from the archive's state as of the fixed lag.

    Attributes:
        index: number of the proposal in the run; with `seed` it fixes every random choice.
        parent: the elite to change.
        inspirations: elites of other cells and islands; for a model those that win where the parent loses.
        top: the best of the island, best first; for a model the best of all.
        task: what is evolved, in words (`Genome.task`).
        start: what the search began from.
        attempts: of models, the latest last.
        before: scores on the seed problems of the parent's own parent, empty where unknown.
        reached: the best score of any candidate so far on each seed problem.
        around: the parent is what a model has just written; this proposal, which costs nothing, is all about it.
    """

    index: int
    seed: int
    parent: Elite
    inspirations: tuple[Elite, ...] = ()
    top: tuple[Elite, ...] = ()
    task: str = ""
    start: tuple[Elite, ...] = ()
    attempts: tuple[Tried, ...] = ()
    before: tuple[float, ...] = ()
    reached: tuple[float, ...] = ()
    around: bool = False

    @property
    def others(self) -> tuple[Elite, ...]:
        """What is shown beside the parent, each once; prompts call them program A, B, ... in this order."""
        shown = {elite.candidate.id: elite for elite in (*self.top, *self.inspirations)}
        shown.pop(self.parent.candidate.id, None)
        return tuple(shown.values())

    def name_of(self, elite: Elite) -> str:
        """What prompts call one of the `others`."""
        return f"program {string.ascii_uppercase[self.others.index(elite)]}"


class SearchState(Protocol):
    """What a search has come to (an `Archipelago`); read, never changed."""

    @property
    def initial(self) -> Sequence[Elite]:
        """What it started from."""
        ...

    def top(self, count: int) -> tuple[Elite, ...]:
        """The best elites of all that was ever kept, best first, one a cell."""
        ...

    def report(self) -> dict[str, Json]:
        """Counts, costs and the best-so-far curve: the search's own part of `report.json`."""
        ...


@runtime_checkable
class Genome(Protocol):
    """The texts of what is evolved: what one is, when two are the same, how a model's reply becomes one."""

    @property
    def purpose(self) -> str:
        """What requests for such a text are for, in one word (`strategy`)."""
        ...

    @property
    def task(self) -> str:
        """What is evolved, in words for proposers: the contract that a text must keep."""
        ...

    @property
    def question(self) -> str:
        """What a model is asked to explain of a parent before it writes a better one; a clause, with its mark."""
        ...

    def key(self, text: str) -> str | None:
        """Equal for texts that are surely the same, which are evaluated once; None for what is no such text."""
        ...

    def read(self, reply: str, shown: Sequence[str]) -> Parsed[str]:
        """The new text in a model's reply, or the named reason why there is none. Arbitrary text never raises.

        Args:
            shown: the texts that the model was shown and may refer to; the first is the one to change.
        """
        ...


class Told(NamedTuple):
    """What there is to say of a parent at the moment when a model is to change it.

    Attributes:
        data: what candidates are scored on, and how well known ones do; lines.
        evidence: what this parent did, and what others did better; lines. Those of `Evaluation.feedback` are not added.
        direction: one line that says where to look this time, or "".
        bodies: what is shown of programs, by id, where the rest of one says nothing new.
        glossary: the functions that these call, a line each.
    """

    data: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    direction: str = ""
    bodies: Mapping[str, str] = MappingProxyType({})
    glossary: tuple[str, ...] = ()


@runtime_checkable
class Briefing(Protocol):
    """A `Genome` that has more to say than its task and the feedback of the parent."""

    def brief(self, context: ProposalContext) -> Told:
        """Pure and quick."""
        ...


@runtime_checkable
class Repairing(Protocol):
    """A `Proposer` that can mend a candidate which turned out to be invalid."""

    async def repair(self, context: ProposalContext, failed: Proposal, reason: str) -> Proposal | None:
        """One more try with one call, or None where there is nothing to mend: `failed` was free, say, or has used its
        second call already. The proposal that comes back is the failed one with the new candidate, reply and cost.

        Args:
            failed: a proposal of its own for this context, of which no candidate is valid.
            reason: why the last of them is not.
        """
        ...


@runtime_checkable
class Evolved(Genome, Protocol):
    """What an archive holds, and all that a search must know of it: strategies are the first, bit strings an example.

    `evosyn.evolve` speaks to it through this port alone. Pure but for `finish`.
    """

    @property
    def start(self) -> Sequence[Candidate]:
        """What every island starts with; the first is valid, and is the one to beat."""
        ...

    @property
    def evaluator(self) -> Evaluator: ...

    @property
    def header(self) -> Mapping[str, Json]:
        """What a run is made of: its first event, with its `kind` (`Events.begin`). A run is resumed only with an equal
        header, so all that decides the course of the search stands there: configuration, inputs."""
        ...

    def merit(self, elite: Elite) -> Merit:
        """The order among elites with a score. Where it is equal, the id decides."""
        ...

    def finish(self, state: SearchState, run: RunDir) -> dict[str, Json]:
        """Write what the search has found into the run directory; returns its part of `report.json`.

        What was written by `run.write`, or to `run.made(name)`, and is lost or altered, is written again when the
        command is repeated.
        """
        ...


@runtime_checkable
class Proposer(Protocol):
    """Makes candidates from parents. Deterministic given the context and its teacher's replies."""

    @property
    def name(self) -> str: ...

    async def propose(self, context: ProposalContext) -> Proposal:
        """Never raises for a bad reply; teacher errors (budget, unavailable) pass through."""
        ...
