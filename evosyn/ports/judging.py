"""The seams of judging: where programs run, what a family of tasks is, and who remembers verdicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from evosyn.chat import USUAL, Manner, Message, Parsed, Purpose, Request
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits, Protection
from evosyn.records import Json, ParsedCalls, PassMatrix, Problem, Solution, Testing


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
        """Make plain data (numpy arrays allowed) available to HarnessJobs under the returned content key, for as long
        as that very text is held: by the caller, or by jobs on their way. Equal data have equal keys."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Sandbox: ...

    def __exit__(self, *exc: object) -> None: ...


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

    @property
    def actor(self) -> str:
        """Who solves its problems: `reply` (one reply is a solution) or `loop` (an agent acts in the world that the
        payload names; `agents.loop`)."""
        ...

    @property
    def asks(self) -> Collection[Purpose]:
        """What it can make requests for: problems, solutions, testings; `inputs` where it can `run` solutions."""
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
        """Everything about a problem that decides verdicts; equal keys of one domain share verdicts, as long as the
        modules of its class, or the `version` that it may have, stay the same."""
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
        manner: Manner = USUAL,
    ) -> Request:
        """The request for a `problem` (of the kind of the examples; `problem` is None), a `solution`, a `testing` (its
        examples are other problems with good testings, or the problem itself with what may be shown of it) or large
        `inputs`. What requests share stands first, what is of the problem last.

        Human testings and references never enter a request about their own problem, but for such an example.
        """
        ...

    def wishes(self) -> Mapping[str, Sequence[str]]:
        """What one new problem may be asked to be, so that problems differ: one text of each list is drawn. `persona`,
        `topic` and `difficulty` are put into a sentence, those of other names are sentences. Empty for none."""
        ...

    def views(self) -> Sequence[str]:
        """What each of several testings of one problem is asked to look at, so that they differ in kind: they take
        turns. Empty for none."""
        ...

    def conditions(self, what: Purpose, limits: Limits) -> str:
        """What one who writes a solution, testing or inputs must know of the limits they run under; "" for nothing."""
        ...

    def read(self, what: Purpose, text: str, problem: Problem | None = None) -> Parsed[Any]:
        """The problem, solution or testing of a reply, or the reason why there is none, as `name: detail`. Arbitrary
        text never raises. Large inputs are read as a testing whose cases say nothing of their outputs yet."""
        ...

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:
        """The inverse of reading a solution: what a student should write after the request for it."""
        ...

    def expand(self, problem: Problem, testings: Sequence[Testing], limits: Limits) -> Expansion:
        """How testings of a problem with generators become plain ones; without generators there are no jobs."""
        ...

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> Plan:
        """The jobs for one solution against N testings. Expected outputs never enter the jobs of the solution.

        Passing the same records again for further solutions makes it prepare the testings once.

        Raises:
            ValueError: a testing still holds generators; `expand` them first.
        """
        ...

    def canaries(self, problem: Problem, testings: Sequence[Testing]) -> tuple[Solution, ...]:
        """Solutions that are surely wrong: a testing that accepts one is vacuous, or claims its own pass. None where no
        testing of these kinds could."""
        ...

    def stated(self, problem: Problem) -> Testing | None:
        """The examples that stand in the statement, as a testing; None where there are none that can be read."""
        ...

    def join(self, parts: Sequence[tuple[Testing, Sequence[int]]]) -> Testing | None:
        """One testing of some cases of several, each case once: for each testing the places of the cases that are
        taken. None where that cannot be said in one testing."""
        ...

    def run(self, problem: Problem, solution: Solution, testing: Testing, limits: Limits) -> Job | None:
        """A job with one item for each case of a testing without generators, whose value is what the solution gives
        there, whatever the testing expects; None where cases are no such runs."""
        ...

    def answered(self, testing: Testing, outputs: Sequence[Json]) -> Testing | None:
        """The testing with these outputs as what its cases expect; None where one of them cannot be written down."""
        ...

    def calls(self, problem: Problem, testing: Testing) -> ParsedCalls | None:
        """What each case of a testing of right shape asks, for strategies to read; None where nobody can tell without
        running it. Long texts are cut to a digest.

        Raises:
            RecursionError, MemoryError: the testing is too deep or too large; all else is a fault of the domain.
        """
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
