"""The seams of evosyn: Protocols with their contracts in prose.

Layers speak through these; no class builds its own collaborators, they are passed in. Unless a contract says otherwise,
results come in the order of the requests and have the same length, arguments are never mutated, and a bad candidate,
program or reply is returned as data while a broken machine is raised (`evosyn.errors`). DESIGN.md sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from evosyn.chat import Message, Parsed, Purpose, Reply, Request
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits, Protection
from evosyn.records import (
    Candidate,
    Elite,
    Evaluation,
    Evidence,
    Invalid,
    Json,
    PassMatrix,
    Problem,
    Ranking,
    Solution,
    Testing,
)
from evosyn.rundir import RunDir

Merit: TypeAlias = tuple[float, ...]
"""Compared from the left, greater is better; all merits of a run have the same length."""


@runtime_checkable
class Sandbox(Protocol):
    """Runs untrusted jobs. Thread-safe; `close` ends every process it made, and a context manager closes it."""

    @property
    def protection(self) -> Protection: ...

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        """Run all jobs on all workers; blocks.

        Args:
            jobs: any mixture of kinds.
            on_done: called (from one thread at a time, in any order) with the job's index as soon as a job has ended.

        Returns:
            For each job its outcomes, one per call, check or input (exactly one for a HarnessJob). A program that does
            not load gives LOAD_ERROR for every item.

        Raises:
            SandboxUnavailable: the workers cannot be brought back.
        """
        ...

    def share(self, value: Json) -> str:
        """Make plain data (numpy arrays allowed) available to HarnessJobs under the returned content key."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Sandbox: ...

    def __exit__(self, *exc: object) -> None: ...


@runtime_checkable
class Teacher(Protocol):
    """Completes requests. Safe for many concurrent `complete` calls of one event loop; limits its own concurrency."""

    @property
    def name(self) -> str:
        """`provider/model`, `offline`, ... : goes into provenance and cache keys, never holds a secret."""
        ...

    @property
    def simulated(self) -> bool: ...

    async def complete(self, request: Request) -> Reply:
        """One reply; failures that concern this request alone come back in `Reply.failure`.

        Raises:
            BudgetSpent: money, tokens or calls are used up.
            TeacherUnavailable: authentication, no such model, endpoint dead for too long.
        """
        ...

    async def aclose(self) -> None: ...


class Plan(Protocol):
    """The sandbox jobs that decide one solution's row, and how their outcomes are judged in our process.

    Jobs must not depend on each other. `judge` gets one outcomes tuple per job and returns one CellResult per testing.
    Infrastructure outcomes give UNKNOWN.
    """

    @property
    def jobs(self) -> tuple[Job, ...]: ...

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]: ...


class Expansion(Protocol):
    """The sandbox jobs that evaluate the generators (`{"python": source}`) of testings, once for all solutions.

    `testings` gets one outcomes tuple per job and returns, for each testing, the testing with plain values in place of
    its generators, or the CellResult that every solution gets because a generator cannot run.
    """

    @property
    def jobs(self) -> tuple[Job, ...]: ...

    def testings(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[Testing | CellResult, ...]: ...


@runtime_checkable
class Domain(Protocol):
    """A family of checkable tasks: how to ask for its texts, how to read replies, how to run one row.

    `evosyn.domains.base.BaseDomain` has a default for all but the name, the kinds and the check.
    """

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> Collection[str]:
        """Of its testings, the commonest first."""
        ...

    def check_problem(self, problem: Problem) -> None:
        """Whether the payload is one of this domain.

        Raises:
            FormatError: naming the field of the payload.
        """
        ...

    def check_shape(self, testing: Testing) -> None:
        """Whether the body is one of its kind, whatever the problem.

        Raises:
            FormatError: naming the field of the testing.
        """
        ...

    def check_testing(self, problem: Problem, testing: Testing) -> str | None:
        """None, or why this testing does not fit this problem (kind, shape, signature), as `name: detail`."""
        ...

    def key(self, problem: Problem) -> str:
        """Everything about a problem that decides verdicts; equal keys share verdicts."""
        ...

    def same(self, problem: Problem, solution: Solution) -> str:
        """Equal for solutions that are surely the same: they are executed once, and are one group to a strategy."""
        ...

    def ask(
        self,
        what: Purpose,
        problem: Problem | None,
        sample: int,
        params: Mapping[str, Json],
        examples: Sequence[Problem] = (),
    ) -> Request:
        """The request for a `problem` (of the kind of the examples; `problem` is None), a `solution` or a `testing`.

        Human testings and references never enter a request about their own problem.
        """
        ...

    def read(self, what: Purpose, text: str, problem: Problem | None = None) -> Parsed[Any]:
        """The problem, solution or testing of a reply, or the reason why there is none, as `name: detail`. Arbitrary
        text never raises."""
        ...

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:
        """The inverse of reading a solution: what a student should write after the request for it."""
        ...

    def expand(self, testings: Sequence[Testing], limits: Limits) -> Expansion:
        """How testings with generators become plain ones; without generators there are no jobs."""
        ...

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> Plan:
        """The jobs for one solution against N testings. Expected outputs never enter the jobs of the solution.

        Passing the same records again for further solutions makes it prepare the testings once.

        Raises:
            ValueError: a testing still holds generators; `expand` them first.
        """
        ...

    def canary(self, problem: Problem, testings: Sequence[Testing]) -> Solution | None:
        """A solution that is surely wrong: a testing that accepts it is vacuous, or claims its own pass. None where no
        testing of these kinds could."""
        ...


@runtime_checkable
class StrategyRunner(Protocol):
    """Runs strategy programs over evidences, in the sandbox."""

    def rank(self, programs: Sequence[str], evidences: Sequence[Evidence]) -> list[tuple[Ranking, ...] | Invalid]:
        """For each program its rankings, one per evidence, or why it has none. One program never harms another."""
        ...


@runtime_checkable
class Evaluator(Protocol):
    """Scores candidates. Deterministic: the same text gives the same evaluation, whatever else is in the batch."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The descriptor axes that its evaluations fill, in order."""
        ...

    def evaluate(self, candidates: Sequence[Candidate]) -> list[Evaluation]: ...


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
    """

    candidates: tuple[Candidate, ...] = ()
    waste: str | None = None
    replies: tuple[str, ...] = ()
    cost: float = 0.0


@dataclass(frozen=True)
class ProposalContext:
    """What a proposer is shown: drawn from the archive's state as of the fixed lag.

    Attributes:
        index: number of the proposal in the run; with `seed` it fixes every random choice.
        parent: the elite to change.
        inspirations: diverse elites of other cells and islands.
        top: the best of the island, best first.
        rejected: texts that were already seen for this parent, to be told back.
        task: what is evolved, in words (`Genome.task`).
    """

    index: int
    seed: int
    parent: Elite
    inspirations: tuple[Elite, ...] = ()
    top: tuple[Elite, ...] = ()
    rejected: tuple[str, ...] = ()
    task: str = ""


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

    def read(self, reply: str, parent: str) -> Parsed[str]:
        """The new text in a model's reply about `parent`, or the named reason why there is none. Arbitrary text never
        raises."""
        ...


@runtime_checkable
class Evolved(Genome, Protocol):
    """What an archive holds, and all that a search must know of it: strategies are the first, bit strings an example.

    `evosyn.evolve` speaks to it through this port alone. Pure but for `finish`.
    """

    @property
    def evaluator(self) -> Evaluator: ...

    @property
    def header(self) -> Mapping[str, Json]:
        """What a run is made of: its first event. A run is resumed only with an equal header, so all that decides the
        course of the search stands there: configuration, inputs, a version."""
        ...

    def merit(self, elite: Elite) -> Merit:
        """The order among elites with a score. Where it is equal, the id decides."""
        ...

    def finish(self, state: SearchState, run: RunDir) -> dict[str, Json]:
        """Write what the search has found into the run directory; returns its part of `report.json`."""
        ...


@runtime_checkable
class Proposer(Protocol):
    """Makes candidates from parents. Deterministic given the context and its teacher's replies."""

    @property
    def name(self) -> str: ...

    async def propose(self, context: ProposalContext) -> Proposal:
        """Never raises for a bad reply; teacher errors (budget, unavailable) pass through."""
        ...


@runtime_checkable
class VerdictCache(Protocol):
    """Content-addressed results of (domain, problem, solution, testing, limits, sandbox); safe across processes."""

    def get(self, keys: Sequence[str]) -> list[CellResult | None]: ...

    def put(self, items: Sequence[tuple[str, CellResult]]) -> None: ...


@runtime_checkable
class Crossexec(Protocol):
    """Makes matrices: every solution against every testing (and the human testing), executed once."""

    def matrices(
        self,
        items: Sequence[tuple[Problem, Sequence[Solution], Sequence[Testing]]],
        *,
        on_done: Callable[[int, PassMatrix], None] | None = None,
    ) -> list[PassMatrix]: ...


class OpenSandbox(Protocol):
    """Opens the sandbox that the user chose, a new one at each call; travels between processes, as a sandbox cannot."""

    def __call__(self, *, workers: int | None, numpy: bool = False) -> Sandbox: ...


class ExperimentTools(NamedTuple):
    """What an experiment is lent: where programs run, and where it tells in words how far it is."""

    open_sandbox: OpenSandbox
    say: Callable[[str], None]


class Comparison(NamedTuple):
    """What an experiment found: for programs, and for people."""

    report: Mapping[str, Json]
    text: str


class Experiment(Protocol):
    """A comparison of arms over seeds. The registry's kind `experiments` makes it: `create(tools, config)`.

    `config` is a pydantic model; its fields are the options of `evosyn experiment NAME`, its docstring is the help.
    `create` raises a UsageError for what cannot be compared, before anything is made.
    """

    def run(self, out: Path) -> Comparison:
        """Do what is not yet done under `out`, and tell everything; the same call goes on after a kill."""
        ...
