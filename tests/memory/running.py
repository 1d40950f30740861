"""One worker of a backend, the rounds that are run on it, and what came to light: leaks, scanners that did not work.

In a round some neighbours are run and then a scanner, all on the same worker, so that they have the same ancestors.
What was planted in earlier rounds counts as well.
"""

from __future__ import annotations

import functools
import marshal
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from evosyn.errors import EvosynError
from evosyn.jobs import CallsJob, Job, StdioJob
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.sandbox import _image, _jail, _probe, docker, open_sandbox
from evosyn.sandbox.local import LocalSandbox
from evosyn.sandbox.packages import find_packages
from tests.memory.finding import Finder
from tests.memory.modes import Own, Recording, Scanners
from tests.memory.neighbours import Mode
from tests.memory.planting import Kind, Planting, Report, read_reports

OPENED = "bare, opened"
"""The bare jail, made so that a program can read the kernel's list of its own mappings."""
OWN_MEMORY = "mgfde"
EVERYTHING = OWN_MEMORY + "vo"
"""Ways of looking, as in `scanner.scan`: what a jail was opened for does not count there."""
DECIDING = (Kind.TESTING, Kind.EXPECTED, Kind.HUMAN_TESTING)


@dataclass(frozen=True)
class Round:
    """One scanner and what it said.

    Attributes:
        reports: one, where all went well.
        ends: how all items of the round ended.
        sent: kinds of what decides a verdict that stood in jobs of calls or of standard input.
    """

    mode: Mode
    own: Own
    reports: list[Report]
    ends: Counter[str]
    sent: Counter[str]

    @property
    def leaks(self) -> bool:
        return bool(self.sent) or any(report.others for report in self.reports)


class Slot:
    """One worker with what is planted on it and around it.

    Attributes:
        channels: ways of looking that count there; `modes`: those that work there.
        starts: configurations of the workers that were started: one, or what came before is no ancestor.
    """

    def __init__(self, sandbox: Sandbox, planting: Planting, channels: str, modes: Sequence[Mode]) -> None:
        self.planting, self.modes = planting, modes
        self.starts: list[Mapping[str, Json]] = []
        self.recording = Recording(sandbox)
        self.rounds: list[Round] = []
        self.look(channels)

    def look(self, channels: str) -> None:
        """From now on in these ways."""
        self.channels = channels
        self.scanners = Scanners(self.planting, self.recording, channels)

    def draw(self, rounds: int) -> list[Mode]:
        """So many modes in any order, each of them once where there are rounds enough."""
        found = [*self.modes, *self.planting.rng.choices(self.modes, k=rounds)]
        return self.planting.rng.sample(found[: max(rounds, len(self.modes))], rounds)

    def round(self, mode: Mode) -> Round:
        """Run drawn neighbours and a scanner in this mode."""
        rng = self.planting.rng
        owner = f"round {len(self.rounds)}"
        drawn = [rng.choice(self.modes) for _ in range(rng.randint(1, 3))]
        own = self.scanners.run(mode, owner, drawn, drawn[: rng.randint(0, 1)])
        items = [item for outcomes in self.recording.outcomes for item in outcomes]
        said = [f"{item.value!r} {item.detail}" for item in items]
        reports = [report for text in said for report in read_reports(text, own.numbers, self.planting.tokens)]
        ends = Counter(f"{item.status} {item.detail[:60]}".strip() for item in items)
        self.rounds.append(Round(mode, own, reports, ends, self._sent(self.recording.jobs)))
        self.recording.jobs.clear()
        self.recording.outcomes.clear()
        return self.rounds[-1]

    def _sent(self, jobs: Sequence[Job]) -> Counter[str]:
        """Kinds of what decides a verdict that stand in jobs of calls or of standard input."""
        finder = Finder(self.planting.marker)
        for job in jobs:
            if isinstance(job, CallsJob | StdioJob):
                finder.search(job.program.encode())
                given = (
                    job.inputs if isinstance(job, StdioJob) else [(call.args, dict(call.kwargs)) for call in job.calls]
                )
                finder.search(marshal.dumps(given))
        return Counter(Kind(number >> 16).name for number in finder.found if number >> 16 in DECIDING)

    def leaks(self) -> list[str]:
        """A line for each round in which something came to light."""
        return [line for number, one in enumerate(self.rounds) for line in self._leaks(number, one)]

    def faults(self) -> list[str]:
        """A line for each round whose scanner did not work: it shows nothing, whatever it found."""
        lost = [f"the worker was started {len(self.starts)} times"] if len(self.starts) > 1 else []
        rounds = enumerate(self.rounds)
        return lost + [f"round {number}, {one.mode}: {line}" for number, one in rounds for line in self._faults(one)]

    def _leaks(self, number: int, one: Round) -> Iterator[str]:
        if one.sent:
            yield f"round {number}: sent to where the program runs: {_counted(one.sent)}"
        for report in one.reports:
            if report.others:
                shown = [self._shown(token, ways) for token, ways in report.examples.items()]
                some = "".join(f"\n      {line}" for line in shown[:4])
                yield f"round {number}, {one.mode}: {report.others} tokens: {_counted(report.kinds)}; such as{some}"

    def _shown(self, number: int, ways: str) -> str:
        token = self.planting.tokens[number]
        return f"{ways}: {token.kind.name} of {token.owner}"

    def _faults(self, one: Round) -> Iterator[str]:
        if len(one.reports) != 1:
            yield f"{len(one.reports)} reports of a scanner; items ended: {one.ends.most_common(12)}"
            return
        (report,) = one.reports
        if "v" in self.channels and not report.saw_file:
            yield "no file of the interpreter could be read"
        for number, channels in one.own.required.items():
            missing = "".join(channel for channel in channels if channel not in report.found[number])
            if missing:
                yield f"its own {self.planting.tokens[number].kind.name} was not found by {missing}"


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in kinds.most_common())


@contextmanager
def opened(
    backend: str, seed: object, *, numpy: bool = True, config: Mapping[str, Json] | None = None
) -> Iterator[Slot]:
    """A worker of this backend, with tokens in our environment and in files of ours.

    Args:
        config: entries of the jail's configuration that are different.
    """
    planting = Planting(random.Random(repr(seed)))
    changed = {"readable": ["/", "/proc"], "dumpable": True, **(config or {})} if backend == OPENED else config
    sandbox = _sandbox(backend, numpy)  # before anything is changed: what the probing saw is kept for other tests
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        starts: list[Mapping[str, Json]] = []
        for module in (_jail, docker):
            patch.setattr(module, "_config", functools.partial(_configured, module._config, changed or {}, starts))
        for number in range(3):
            value = planting.token(Kind.ENVIRONMENT, "our environment").digits + "." * planting.size(50_000)
            patch.setenv(f"EVOSYN_PLANTED_{number}", value)
        for place in ("/tmp", "/var/tmp", "/dev/shm"):
            if Path(place).is_dir():
                file = stack.enter_context(tempfile.NamedTemporaryFile("w", dir=place, prefix="evosyn-planted-"))
                file.write(planting.token(Kind.FILE, place).digits)
                file.flush()
                Path(file.name).chmod(0o644)
        stack.enter_context(sandbox)
        modes = [mode for mode in Mode if numpy or mode is not Mode.STRATEGY]
        slot = Slot(sandbox, planting, OWN_MEMORY if backend == OPENED else EVERYTHING, modes)
        slot.starts = starts
        yield slot


def _configured(
    make: Callable[..., Mapping[str, Json]],
    changed: Mapping[str, Json],
    starts: list[Mapping[str, Json]],
    *given: Json,
) -> Mapping[str, Json]:
    starts.append({**make(*given), **changed})
    return starts[-1]


def _sandbox(backend: str, numpy: bool) -> Sandbox:
    """One worker, not yet started; skips where the backend does not work here."""
    packages = ("numpy",) if numpy else ()
    try:
        if backend == "docker":
            client = _image.docker_client()
            if not client.images.list(name="evosyn-sandbox", filters={"label": _image.PACKAGES_LABEL}):
                _image.build_from_host(client, "evosyn-sandbox")
            open_sandbox("docker", workers=1, packages=packages).close()  # its packages are looked at by a worker, once
            with pytest.MonkeyPatch.context() as patch:  # a worker without one of its guards is not refused
                patch.setattr(_probe, "guards_of", lambda *_: ())
                return open_sandbox("docker", workers=1, packages=packages)
        kind: _jail.JailKind = "bwrap" if backend == "bwrap" else "bare"
        spec = _jail.JailSpec(kind, find_packages(packages))
        return LocalSandbox(_jail.launcher(spec), _probe.protection_of(kind), 1)
    except EvosynError as error:
        pytest.skip(f"{backend}: {error}")


def seed_of_run() -> str:
    """Drawn anew for each run, or taken from EVOSYN_MEMORY_SEED to repeat one."""
    return os.environ.get("EVOSYN_MEMORY_SEED") or f"{random.SystemRandom().getrandbits(32):08x}"


def told(slot: Slot, seed: object, lines: Sequence[str]) -> str:
    """The message of a failure."""
    head = f"seed {seed!r}, {len(slot.planting.tokens)} tokens planted, {len(slot.rounds)} rounds"
    return "\n  ".join([head, *lines])
