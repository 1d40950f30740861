"""What goes into a sandbox and what comes out: jobs, limits, outcomes. Records only; the seam itself is
`ports.Sandbox`.

Six kinds of job cover every use of untrusted text: calls (table mode), the same for several programs that may keep
company, checks (rpc mode), stdio, a harness of ours around a program, and scripts over a state of a shell world.
DESIGN.md section 5, "Sandbox".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from evosyn.records import Json, Verdict


class Status(StrEnum):
    """How one item of a sandbox job ended. Only OK carries a value."""

    OK = "ok"
    # The program raised; detail = "Type: message". Of checks: detail starts with "AssertionError" where an assertion of
    # the testing failed, with "program raised " or "testing raised " (on the program's value) otherwise.
    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    KILLED = "killed"  # signal, memory limit; detail says which
    LOAD_ERROR = "load-error"  # the program does not compile, or raised at import
    NO_ENTRY = "no-entry-point"
    OUTPUT_LIMIT = "output-limit"
    NOT_PLAIN = "not-plain-data"  # the value is not plain data, so that it cannot leave the process
    TESTING_BROKEN = "testing-broken"  # checks only: the testing's own code does not load or raised on its own account
    NOT_RUN = "not-run"  # budget of the job spent on earlier items
    INFRASTRUCTURE = "infrastructure"  # our fault; the caller retries


@dataclass(frozen=True)
class Limits:
    """What one sandboxed process may use.

    Attributes:
        cpu_s: CPU seconds for one item (a call, a check, a run on one input), loading counted as an item of its own. An
            item that neither computes nor ends for as long as that is over its limit too.
        wall_s: seconds for one item whatever it does; by default 5 x `cpu_s` + 5. Nothing computes for longer.
        budget_s: seconds for all items of one job together; what is left then is NOT_RUN. An item is charged its CPU
            seconds, or a fifth of the seconds that it took where that is more.
        memory_mb: address space.
        output_kb: size of one encoded result, or of one captured standard output.
        build_s: CPU seconds for the code of one testing that makes its cases, by default 5 x `cpu_s`: it runs once for
            all solutions, and may well compute what it expects in the slowest way that is surely right.
    """

    cpu_s: float = 3.0
    wall_s: float = 0.0
    budget_s: float = 30.0
    memory_mb: int = 1024
    output_kb: int = 1024
    build_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.build_s:
            object.__setattr__(self, "build_s", 5 * self.cpu_s)
        if not self.wall_s:
            object.__setattr__(self, "wall_s", 5 * self.cpu_s + 5)
        object.__setattr__(self, "cpu_s", min(self.cpu_s, self.wall_s))

    @property
    def building(self) -> Limits:
        """Of the code of one testing that makes its cases, all of it together."""
        budget_s = max(self.budget_s, self.build_s)
        return replace(self, cpu_s=self.build_s, wall_s=0.0, budget_s=budget_s, build_s=self.build_s)


@dataclass(frozen=True)
class Call:
    """One call of the entry point. Arguments are plain data, or Python source evaluated inside the sandbox.

    Attributes:
        args, kwargs: plain Python values (None, bool, int, float, complex, str, bytes, list, tuple, dict, set,
        frozenset).
        python: source of an expression, or of a function body with `return`, that gives the list of arguments (a dict
        gives
            keyword arguments); takes the place of `args` and `kwargs`.
    """

    args: tuple[Json, ...] = ()
    kwargs: Mapping[str, Json] = field(default_factory=dict)
    python: str | None = None


@dataclass(frozen=True)
class CallsJob:
    """Load `program` once in a fresh process, then make each call: values come back as plain data ("table" mode).

    Attributes:
        entry_point: a function that the program itself defines; for `Class.method` each call gets a fresh instance.
        before: sources that run first, in the module of the program.
    """

    program: str
    entry_point: str
    calls: tuple[Call, ...]
    limits: Limits = Limits()
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompanyJob:
    """Programs that the company policy admits, one after the other in one process.

    One item per call, members in order; the records of a member leave the process before the next member is read or
    loaded. After a timeout or a crash the remaining items are NOT_RUN. Calls are of plain data.
    """

    members: tuple[CallsJob, ...]
    limits: Limits = Limits()


@dataclass(frozen=True)
class Check:
    """Arbitrary testing code that may call the entry point ("rpc" mode).

    Attributes:
        code: Python source, executed with a proxy of the entry point in its namespace.
        call: expression run after `code`, such as `check(candidate)`; empty for plain asserts.
    """

    code: str
    call: str = ""


@dataclass(frozen=True)
class ChecksJob:
    """Run testing code in a process of its own against the program in another; only plain data passes between them."""

    program: str
    entry_point: str
    checks: tuple[Check, ...]
    limits: Limits = Limits()
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class StdioJob:
    """Run a whole program once for each input text, with that text on standard input; captures standard output."""

    program: str
    inputs: tuple[str, ...]
    limits: Limits = Limits()
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class HarnessJob:
    """Run trusted code of ours around untrusted programs, in one fresh process per job.

    `harness` is source that defines `main(program, context, argument)`; it may import numpy. It is loaded and
    `context` (made by `Sandbox.share`) decoded once per worker, by processes that have seen no other context, but for
    the first job beside a small one, which decodes it by itself. The result of `main` comes back as plain data; it was
    computed beside untrusted code, so it is evidence, never a verdict.

    Attributes:
        programs: in place of `program`, several that the company policy admits: `main` is called for one after the
            other, an item each, and each result leaves the process before the next program is read. After a timeout or
            a crash the remaining items are NOT_RUN.
    """

    harness: str
    program: str
    context: str | None = None
    argument: Json = None
    limits: Limits = Limits()
    programs: tuple[str, ...] = ()


ScriptLanguage = Literal["bash", "python"]


@dataclass(frozen=True)
class ShellScript:
    """A script; its arguments come with what it is run for."""

    code: str
    language: ScriptLanguage = "bash"


@dataclass(frozen=True)
class ShellCell:
    """A script to be run once over a frozen state of a shell world, in a layer that is thrown away.

    Attributes:
        view: `guarded`: programs and libraries are those from before anybody worked there; `open`: those of the state.
    """

    script: ShellScript
    arguments: tuple[str, ...] = ()
    view: Literal["guarded", "open"] = "guarded"


@dataclass(frozen=True)
class ShellJob:
    """Look at one state of a shell world, an item for each cell; run by the kind of world, not by a sandbox.

    The value of an item is `{"out", "err", "exit", "truncated"}`: facts, of which our own process makes a verdict. A
    world whose first state cannot be made gives LOAD_ERROR for every item, a script that cannot be read TESTING_BROKEN.

    Attributes:
        world: `ShellWorld.text` of the world.
        state: id of a state that was frozen in it; None for its first one.
        limits: of one cell, all of its processes together; `budget_s` does not count, so none takes another's time.
        actions: what an actor did to come to `state`: done again, in a room, where that state is not kept here.
        says: the last action is a script whose output is the answer: it is the value of one more item, the first, and
            stripped it comes before the arguments of every cell.
    """

    world: str
    cells: tuple[ShellCell, ...]
    state: str | None = None
    limits: Limits = Limits()
    actions: tuple[str, ...] = ()
    says: bool = False


ProgramJob: TypeAlias = CallsJob | CompanyJob | ChecksJob | StdioJob | HarnessJob
"""What runs in a sandbox; the other kind needs a world (`worlds.routing`)."""
Job: TypeAlias = ProgramJob | ShellJob


@dataclass(frozen=True)
class ItemOutcome:
    """What one item of a job came to.

    Attributes:
        value: plain data (calls, harness), captured standard output (stdio), None (checks); only with Status.OK.
        detail: exception type and message, signal, limit; never trusted, but as `escaping.one_line` leaves it.
        seconds: what the item was charged (see `Limits.budget_s`), 0.0 where it did not run.
    """

    status: Status
    value: Json = None
    detail: str = ""
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Protection:
    """What a sandbox was seen to hold on this machine (probed by doing, not by reading settings).

    Attributes:
        level: `strong` (own namespaces, seccomp, no network), `medium` (some of it), `weak` (a separate process only).
        holds: what was tried and held, `lacks`: what was tried and did not.
        packages: distributions that programs see beside the standard library, each with its version where it is known.
        programs: a digest of what programs find: version of Python, hash seed, packages.
    """

    backend: str
    level: Literal["strong", "medium", "weak"]
    version: str
    holds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    programs: str = ""


@dataclass(frozen=True)
class CellResult:
    """One cell of a matrix: the verdict over all cases, each case's verdict, and the seconds it took.

    Attributes:
        values: for each case the digest of what the solution's one call in it gave, 64 bits, equal for equal values; 0
            where there is none. Empty where the domain records none.
    """

    verdict: Verdict
    cases: tuple[Verdict, ...] = ()
    seconds: float = 0.0
    detail: str = ""
    values: tuple[int, ...] = ()
