"""A scanner in every mode, among neighbours on the same worker.

It answers the way that its mode has: by a value, a failed assertion, its output, its reason. Strategies and companies
go through the strategy runner and the trainer's shared runs.
"""

from __future__ import annotations

import os
import zlib
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evosyn.jobs import Call, CallsJob, CompanyJob, ItemOutcome, Job, Protection
from evosyn.ports import Sandbox
from evosyn.records import Json, Testing
from evosyn.sandbox.bundling import run_jobs
from evosyn.sharing import Company
from evosyn.strategies.running.sandboxed import JOBS_A_CORE, SandboxedRunner
from tests.memory.neighbours import LIMITS, Mode, Neighbours
from tests.memory.planting import JSON_FORMS, TEXT_FORMS, Form, Kind, Planting, Token

SCANNER = "".join(
    Path(__file__).with_name(name).read_text(encoding="utf-8").rpartition("# Sent from here on.\n")[2]
    for name in ("finding.py", "scanner.py")
)
PACKED = f"""
SPACE = {{}}
LOAD = __import__("collections")._sys.modules["_frozen_importlib"]._gcd_import
exec(LOAD("zlib").decompress(LOAD("binascii").a2b_base64({b2a_base64(zlib.compress(SCANNER.encode(), 9))!r})), SPACE)
"""
"""The scanner in half its size."""
SHORT, LONG = 280, 20_000
"""Characters of a report where the way out is an exception's message, and elsewhere."""


@dataclass
class Own:
    """What a scanner may know.

    Attributes:
        required: tokens that it must find, with the channels that must find each.
        allowed: further ones that are its own.
    """

    required: dict[int, str] = field(default_factory=dict)
    allowed: set[int] = field(default_factory=set)

    @property
    def numbers(self) -> list[int]:
        return [*self.required, *sorted(self.allowed - set(self.required))]

    def need(self, tokens: Iterable[Token], channels: str) -> None:
        self.required |= {token.number: channels for token in tokens}

    def allow(self, tokens: Iterable[Token]) -> None:
        self.allowed |= {token.number for token in tokens}


@dataclass
class Recording:
    """Implements `ports.Sandbox` over another, and keeps what went through."""

    sandbox: Sandbox
    jobs: list[Job] = field(default_factory=list)
    outcomes: list[tuple[ItemOutcome, ...]] = field(default_factory=list)

    @property
    def protection(self) -> Protection:
        return self.sandbox.protection

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        found = self.sandbox.run(jobs, on_done=on_done)
        self.jobs += jobs
        self.outcomes += found
        return found

    def share(self, value: Json) -> str:
        return self.sandbox.share(value)

    def close(self) -> None:
        self.sandbox.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Scanners:
    """Runs a scanner in each mode, on the worker that the neighbours ran on.

    Attributes:
        channels: the ways of looking that they use, as in `scanner.scan`.
    """

    planting: Planting
    recording: Recording
    channels: str

    def __post_init__(self) -> None:
        self.neighbours = Neighbours(self.planting, self.recording.share)

    def run(self, mode: Mode, owner: str, before: Sequence[Mode], after: Sequence[Mode]) -> Own:
        """Run a scanner in this mode among neighbours; what it may know.

        Args:
            before, after: modes of its neighbours; those with jobs of their own are handed in with it.
        """
        own = Own()
        earlier = [
            job for number, one in enumerate(before) for job in self._neighbour(one, f"{owner} before {number} {one}")
        ]
        later = [
            job for number, one in enumerate(after) for job in self._neighbour(one, f"{owner} after {number} {one}")
        ]
        owner = f"{owner} scanner {mode}"
        if mode in (Mode.STRATEGY, Mode.BESIDE, Mode.INSIDE):
            self.recording.run([*earlier, *later])
        if mode is Mode.STRATEGY:
            self._strategy(owner, own)
        elif mode is Mode.BESIDE:
            jobs = self.neighbours.company(owner)
            jobs[len(jobs) // 2 : len(jobs) // 2] = self._jobs(mode, f"{owner}.scanner", own)
            run_jobs(self.recording, jobs, Company(repeat=0.0), cores=1)
        elif mode is Mode.INSIDE:
            self._inside(owner, own)
        else:
            self.recording.run([*earlier, *self._jobs(mode, owner, own), *later])
        return own

    def _neighbour(self, mode: Mode, owner: str) -> list[Job]:
        """The jobs of a neighbour; one that has none of its own is run at once."""
        if mode is Mode.STRATEGY:
            programs = [self.neighbours.strategy(f"{owner}.{number}") for number in range(3)]
            SandboxedRunner(self.recording, LIMITS).rank(programs, self.neighbours.evidences(owner)[0])
            return []
        if mode in (Mode.BESIDE, Mode.INSIDE):
            run_jobs(self.recording, self.neighbours.company(owner), Company(repeat=0.0), cores=1)
            return []
        return self.neighbours.jobs(Mode.FRESH if mode is Mode.TESTING else mode, owner)

    def _jobs(self, mode: Mode, owner: str, own: Own) -> list[Job]:
        """The jobs of a scanner in a mode that has jobs of its own."""
        if mode is Mode.TESTING:
            text = self._program(owner, own, "raise AssertionError(SCAN)\n", SHORT)
            others = [self.neighbours.testing(Mode.FRESH, owner, human=human) for human in (False, True)]
            testings = [others[0], Testing("asserts", {"asserts": [text]}), others[1]]
            return self.neighbours.solving(owner, self.neighbours.function(owner), testings)
        known = set(self.planting.tokens)

        def mine(*kinds: Kind) -> list[Token]:
            new = [token for number, token in self.planting.tokens.items() if number not in known]
            return [token for token in new if token.kind in kinds]

        if mode is Mode.HARNESS:

            def run() -> str:
                own.need(mine(Kind.CONTEXT), "mgf")
                own.need(mine(Kind.HARNESS_ARGUMENT), "mf")  # a text on the stack of calls, in no container
                return self._program(owner, own, "def run(context, argument):\n    return SCAN\n")

            return self.neighbours.jobs(mode, owner, run)
        if mode is Mode.STDIO:
            value = self.planting.value(Kind.INPUT, owner, forms=TEXT_FORMS)
            own.need([value.token], "mgfd")

            def read() -> str:
                own.allow(mine(Kind.INPUT))  # of its other runs
                return self._program(
                    owner, own, "import sys\nTEXT = sys.stdin.read()\nprint(SCAN if TEXT[:4] == 'scan' else 0)\n"
                )

            return self.neighbours.jobs(mode, owner, read, [f"scan\n{value.data}"])
        coded = mode in (Mode.WARM, Mode.FRESH, Mode.PROGRAM)
        size = min(30_000, self.planting.size(), self.planting.size())
        value = self.planting.value(Kind.ARGUMENT, owner, forms=JSON_FORMS, most=size)
        own.need([value.token], "mgf")

        def answer() -> str:
            own.allow([] if coded else mine(Kind.ARGUMENT))  # of its other calls
            tail = "def f(command, *rest):\n    return SCAN if command == 'scan' else 0\n"
            return self._program(owner, own, tail, SHORT if coded else LONG)

        return self.neighbours.jobs(mode, owner, answer, ["scan", value.data])

    def _strategy(self, owner: str, own: Own) -> None:
        evidences, tokens = self.neighbours.evidences(owner)
        own.need(tokens, "mg")
        tail = "def rank(evidence):\n    raise ValueError(SCAN)\n"
        scanner = self._program(f"{owner}.scanner", own, tail, SHORT)
        together = 2 * JOBS_A_CORE * (os.cpu_count() or 1)
        count = together if together <= 24 and self.planting.rng.random() < 0.5 else 4
        programs = [self.neighbours.strategy(f"{owner}.{number}") for number in range(count)]
        programs.insert(self.planting.rng.randrange(1, count + 1), scanner)
        SandboxedRunner(self.recording, LIMITS).rank(programs, evidences)

    def _inside(self, owner: str, own: Own) -> None:
        """Have a company formed, and run it again with a scanner as its last member, which no policy would admit."""
        jobs = self.neighbours.company(owner)
        first = len(self.recording.jobs)
        run_jobs(self.recording, jobs, Company(repeat=0.0), cores=1)
        formed = [job for job in self.recording.jobs[first:] if isinstance(job, CompanyJob)]
        if not formed:
            return
        own.allow(
            token
            for token in self.planting.tokens.values()
            if token.owner.startswith(f"{owner}.") and token.kind in (Kind.PROGRAM, Kind.ARGUMENT, Kind.ANSWER)
        )
        program = self._program(f"{owner}.scanner", own, "def f():\n    return SCAN\n")
        last = CallsJob(program, "f", (Call(),), LIMITS)
        self.recording.run([CompanyJob((*formed[0].members, last), LIMITS)])

    def _program(self, owner: str, own: Own, tail: str, most: int = LONG) -> str:
        """The text of a scanner: it holds a token in each form, and knows the halves of one that it makes and frees.

        Most are short, so that what they are loaded into does not cover all that a longer one has left.
        """
        size = min(self.planting.size(), self.planting.size())
        values = [self.planting.value(Kind.PROGRAM, owner, forms=[form], most=size) for form in Form]
        control, lost = values[0].token, self.planting.token(Kind.PROGRAM, owner)
        own.need([value.token for value in values], "mgf")
        own.need([control], "mgfde")
        own.need([lost], "m")
        call = (self.planting.marker, own.numbers, control.digits, lost.halves, self.channels, most)
        tail = tail.replace("SCAN", f"SPACE['scan']{call!r}")
        return f"{PACKED}OWN = {[value.data for value in values]!r}\n{tail}"
