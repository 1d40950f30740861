"""Runs strategy programs over evidences in the sandbox: all evidences in one job, a fresh process for each program.

Where several evidences are draws of one task, a program must not know one when it ranks another: what it kept would be
worth more than the M x N cells that it is judged on. So it gets as many processes as a task has draws, each with one of
every task. One that the company policy admits (`evosyn.sandbox.company`) cannot reach what came before it in its
process, so it stays in one, and is loaded anew for each evidence.

Programs that the policy admits may also follow each other in one process, which spares most of the cost of a fork;
whatever goes wrong there is tried again alone, and of the rest a sample is repeated alone, so that a verdict never
depends on the company.

It never executes a program in this process and never trusts what comes back beyond "these are its scores": lengths and
finiteness are checked again here. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import chain

import numpy as np

from evosyn.errors import SandboxUnavailable
from evosyn.escaping import one_line
from evosyn.jobs import HarnessJob, ItemOutcome, Limits, Status
from evosyn.ports import Sandbox
from evosyn.rankings import Rankings
from evosyn.records import Evidence, Invalid, Json, Ranking
from evosyn.sharing import Company
from evosyn.strategies.evidence import MAYBE, shown_as
from evosyn.strategies.running.packing import pack, size_of, source

SCREEN = 3
"""Evidences that a program ranks before the time of all of them is estimated."""

STRATEGY_LIMITS = Limits(cpu_s=5.0, budget_s=5.0, memory_mb=512, output_kb=1024)
SECONDS_PER_EVIDENCE = 0.02
BYTES_PER_SCORE = 8

PROBE = "def rank(evidence):\n    return evidence.passed.sum(1), evidence.passed.sum(0)\n"
FAILED_TWICE = Invalid("the sandbox failed twice on it")

REMEMBERED = 4
MOST_TOGETHER = 16
JOBS_A_CORE = 3
"""Programs share a process only where there is work enough for that many jobs a core."""


@cache
def harness() -> str:
    """The source that runs around a program: ours, with the policy that decides which may share a process."""
    policy = (resources.files("evosyn.sandbox") / "company.py").read_text(encoding="utf-8")
    return f"{source('_harness.py')}\n\nset_policy({policy!r})\n"


@dataclass(frozen=True, eq=False)
class _Packed:
    """Evidences that one process sees, known to the sandbox under `key`.

    Attributes:
        tasks: of each; None where each is of its own.
        size: of the pack, in bytes.
    """

    sandbox: Sandbox
    evidences: Sequence[Evidence]
    tasks: Sequence[str] | None
    key: str
    size: int

    @classmethod
    def of(cls, sandbox: Sandbox, evidences: Sequence[Evidence], tasks: Sequence[str] | None) -> _Packed:
        packed = pack(evidences)
        return cls(sandbox, evidences, tasks, sandbox.share(packed), size_of(packed))

    @cached_property
    def places(self) -> list[list[int]]:
        """The evidences in parts of which none holds two of one task: the first of every task, the second, ..."""
        parts: list[list[int]] = []
        before: Counter[str] = Counter()
        for place, task in enumerate(self.tasks or ()):
            if before[task] == len(parts):
                parts.append([])
            parts[before[task]].append(place)
            before[task] += 1
        return parts or [list(range(len(self.evidences)))]

    @cached_property
    def parts(self) -> list[_Packed]:
        """The same, each for processes of its own."""
        return [
            _Packed.of(self.sandbox, tuple([self.evidences[place] for place in part]), None) for part in self.places
        ]

    @property
    def mixed(self) -> bool:
        """Whether several are of one task."""
        return len(self.places) > 1


class SandboxedRunner:
    """Implements `ports.StrategyRunner` over a sandbox (opened with numpy in its workers).

    Args:
        sandbox: runs the jobs; stays the caller's to close.
        limits: of one program over a few evidences; time, output and memory grow with the evidences.
        company: whether programs that the policy admits may follow each other in one process.

    Attributes:
        company: the same; its counters say how many did.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits = STRATEGY_LIMITS, company: Company | None = None) -> None:
        self._sandbox, self._limits = sandbox, limits
        self.company = company or Company()
        self._shared: list[_Packed] = []

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that it was given."""
        return self._sandbox

    def rank(
        self, programs: Sequence[str], evidences: Sequence[Evidence], tasks: Sequence[str] | None = None
    ) -> list[Rankings | Invalid]:
        """For each program its rankings, one per evidence, or why it has none.

        Passing the same `evidences` object again costs nothing: it is packed and shared once.

        Args:
            tasks: as in `ports.StrategyRunner`.

        Raises:
            SandboxUnavailable: the sandbox broke: it fails on every program.
        """
        if not evidences:
            return [Rankings(()) for _ in programs]
        shared = self._known(evidences, tasks)
        found = self._together(programs, shared) if self.company.shares else {}
        self.company.count(len(found))
        alone = [place for place, text in enumerate(programs) if place not in found or self.company.repeats(text)]
        results = self._alone([programs[place] for place in alone], shared)
        differed = []
        for place, result in zip(alone, results, strict=True):
            if place in found and result is FAILED_TWICE:
                continue
            if place in found and found[place] != result:
                differed.append(place)
            elif place in found:
                self.company.agreed()
            found[place] = result
        by_itself = self._in_bundles(differed, [(programs[place],) for place in differed], shared)
        for place in differed:
            self.company.disagreed(programs[place], neighbours=place in by_itself and found[place] == by_itself[place])
        return [found[place] for place in range(len(programs))]

    def _together(self, programs: Sequence[str], shared: _Packed) -> dict[int, Rankings | Invalid]:
        """What programs that the policy admits say, several in one process; one that needs its own is left out."""
        size = min(MOST_TOGETHER, len(programs) // (JOBS_A_CORE * len(os.sched_getaffinity(0))))
        if size < 2:
            return {}
        places = [place for place, text in enumerate(programs) if self.company.admits(text)]
        bundles = [
            tuple(programs[place] for place in places[start : start + size]) for start in range(0, len(places), size)
        ]
        return self._in_bundles(places, bundles, shared)

    def _in_bundles(
        self, places: Sequence[int], bundles: Sequence[tuple[str, ...]], shared: _Packed
    ) -> dict[int, Rankings | Invalid]:
        """What the programs of bundles say, under the place of each."""
        outcomes = self._sandbox.run([self._job("", shared, bundle) for bundle in bundles]) if bundles else []
        return {
            place: _rankings(outcome.value, shared.evidences)
            for place, outcome in zip(places, chain.from_iterable(outcomes), strict=True)
            if outcome.status is Status.OK and outcome.value
        }

    def _alone(self, programs: Sequence[str], shared: _Packed) -> list[Rankings | Invalid]:
        """What each says in processes of its own: one, or one for each part where it may not see several in one."""
        outcomes = self._outcomes([(text, shared) for text in programs])
        results = [_read(outcome, shared.evidences, self._limits_for(shared)) for outcome in outcomes]
        apart = [place for place, outcome in enumerate(outcomes) if outcome.status is Status.OK and not outcome.value]
        if shared.mixed and apart:
            in_parts = self._in_parts([programs[place] for place in apart], shared)
            for place, result in zip(apart, in_parts, strict=True):
                results[place] = result
        return results

    def _in_parts(self, programs: Sequence[str], shared: _Packed) -> list[Rankings | Invalid]:
        """What each says part by part, as soon as it fails on one why; who fails on the first gets no other."""
        found: list[dict[int, Ranking] | Invalid] = [{} for _ in programs]
        numbers = range(len(shared.parts))
        for some in (numbers[:1], numbers[1:]):
            asked = [
                (number, place) for number in some for place, one in enumerate(found) if not isinstance(one, Invalid)
            ]
            outcomes = self._outcomes([(programs[place], shared.parts[number]) for number, place in asked])
            for (number, place), outcome in zip(asked, outcomes, strict=True):
                part, rankings = shared.parts[number], found[place]
                result = _read(outcome, part.evidences, self._limits_for(part))
                if isinstance(rankings, Invalid):
                    continue
                if isinstance(result, Invalid):
                    found[place] = result
                else:
                    rankings.update(zip(shared.places[number], result, strict=True))
        return [
            one if isinstance(one, Invalid) else Rankings.of([one[place] for place in range(len(shared.evidences))])
            for one in found
        ]

    def _outcomes(self, asked: Sequence[tuple[str, _Packed]]) -> list[ItemOutcome]:
        """Of each program on its own; what our own fault spoils is tried once more."""
        jobs = [self._job(text, shared) for text, shared in asked]
        outcomes = [items[0] for items in self._sandbox.run(jobs)] if jobs else []
        failed = [place for place, outcome in enumerate(outcomes) if outcome.status is Status.INFRASTRUCTURE]
        again = self._sandbox.run([jobs[place] for place in failed]) if failed else []
        for place, items in zip(failed, again, strict=True):
            outcomes[place] = items[0]
        broken = [outcome.detail for outcome in outcomes if outcome.status is Status.INFRASTRUCTURE]
        fine = not broken or any(outcome.status is Status.OK for outcome in outcomes) or self._works(asked[0][1])
        if not fine:
            raise SandboxUnavailable(f"the sandbox fails on every strategy program: {broken[0]}")
        return outcomes

    def _works(self, shared: _Packed) -> bool:
        """Whether the sandbox still ranks by a program that is known to be good."""
        ((outcome,),) = self._sandbox.run([self._job(PROBE, shared)])
        return outcome.status is Status.OK and not isinstance(_rankings(outcome.value, shared.evidences), Invalid)

    def _job(self, program: str, shared: _Packed, company: tuple[str, ...] = ()) -> HarnessJob:
        limits = self._limits_for(shared)
        argument: Json = {
            "screen": min(SCREEN, len(shared.evidences)),
            "budget_s": limits.cpu_s,
            "company": bool(company),
            "mixed": shared.mixed,
        }
        return HarnessJob(harness(), program, shared.key, argument, limits, company)

    def _known(self, evidences: Sequence[Evidence], tasks: Sequence[str] | None) -> _Packed:
        """The evidences as the sandbox knows them; the last few are remembered by identity."""
        for known in self._shared:
            if known.evidences is evidences and (known.tasks is tasks or known.tasks == tasks):
                return known
        shared = _Packed.of(self._sandbox, evidences, tasks)
        self._shared = [*self._shared[1 - REMEMBERED :], shared]
        return shared

    def _limits_for(self, shared: _Packed) -> Limits:
        scores = sum(sum(evidence.passed_MN.shape) for evidence in shared.evidences)
        seconds = SECONDS_PER_EVIDENCE * len(shared.evidences)
        return Limits(
            cpu_s=self._limits.cpu_s + seconds,
            wall_s=0.0,
            budget_s=self._limits.budget_s + seconds,
            output_kb=self._limits.output_kb + scores * BYTES_PER_SCORE // 1024,
            memory_mb=self._limits.memory_mb + 3 * shared.size // 2**20,
        )


def _read(outcome: ItemOutcome, evidences: Sequence[Evidence], limits: Limits) -> Rankings | Invalid:
    if outcome.status is Status.INFRASTRUCTURE:
        return FAILED_TWICE
    if outcome.status is not Status.OK:
        return Invalid(_reason(outcome, limits))
    return _rankings(outcome.value, evidences)


def _rankings(value: Json, evidences: Sequence[Evidence]) -> Rankings | Invalid:
    """The scores of one program; they were computed beside it, so their form is not trusted."""
    if isinstance(value, dict) and isinstance(value.get("reason"), str):
        return _refused(one_line(value["reason"]), value.get("unknown"))
    raw = value.get("scores") if isinstance(value, dict) else None
    sizes = [evidence.passed_MN.shape for evidence in evidences]
    expected = sum(chain.from_iterable(sizes)) * BYTES_PER_SCORE
    if not isinstance(raw, bytes) or len(raw) != expected:
        return Invalid("broke the harness around it: its scores did not come back")
    scores = np.frombuffer(raw, np.float64)
    if not np.isfinite(scores).all():
        return Invalid("broke the harness around it: scores are not finite")
    return Rankings.of_flat(scores, sizes)


def _refused(reason: str, read: Json) -> Invalid:
    unknown = tuple(name for name in MAYBE if isinstance(read, list) and name in read)
    named = ", ".join(f"evidence.{name} ({shown_as(name)})" for name in unknown)
    return Invalid(f"{reason}; it read what is unknown here: {named}" if unknown else reason, unknown)


def _reason(outcome: ItemOutcome, limits: Limits) -> str:
    if outcome.status is Status.TIMEOUT:
        return f"took longer than the time limit of {limits.cpu_s:.1f} s"
    if outcome.status is Status.KILLED:
        return f"was killed: {outcome.detail or 'memory limit or signal'} (limit {limits.memory_mb} MB)"
    if outcome.status is Status.OUTPUT_LIMIT:
        return "wrote more output than a strategy may"
    return f"{outcome.status.value}: {outcome.detail}"
