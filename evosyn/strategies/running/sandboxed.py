"""Runs strategy programs over evidences in the sandbox, in fresh processes.

Where several evidences are draws of one task, a program must not know one when it ranks another: what it kept would be
worth more than the M x N cells that it is judged on, and what a process keeps (where the next object will lie, say) no
policy can name in full. So there are as many processes as a task has draws, and each sees one draw of every task.

What it says of one evidence must not depend on the others either, nor on chance. Its process can be made to say so, and
so one evidence, drawn where no program sees it, is ranked once more in a process that holds nothing else.

Programs that the company policy admits (`evosyn.sandbox.company`) may follow each other in one process, which spares
most of the cost of a fork; whatever goes wrong there is tried again alone, and of the rest a sample is repeated alone,
so that a verdict never depends on the company.

It never executes a program in this process and never trusts what comes back beyond "these are its scores": lengths and
finiteness are checked again here. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.errors import SandboxUnavailable
from evosyn.escaping import one_line
from evosyn.jobs import HarnessJob, ItemOutcome, Limits, Status
from evosyn.ports import Sandbox
from evosyn.rankings import RankingBlock, Rankings
from evosyn.records import Evidence, Invalid, Json
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
UNSTEADY = Invalid(
    "a problem got other scores when it was ranked by itself in another process: a strategy must not depend on other "
    "problems, on global state or on unseeded randomness"
)

REMEMBERED = 4
MOST_TOGETHER = 16
JOBS_A_CORE = 3
"""Programs share a process only where there is work enough for that many jobs a core."""


@cache
def harness() -> str:
    """The source that runs around a program: ours, with the policy that decides which may share a process."""
    policy = (resources.files("evosyn.sandbox") / "company.py").read_text(encoding="utf-8")
    return f"{source('_harness.py')}\n\nset_policy({policy!r})\n"


class _OneDraw(NamedTuple):
    """Evidences that one process sees, no two of one task, known to the sandbox under `key`.

    Attributes:
        at_E: their places among all.
        limits: of a program that ranks them.
        sample: one of them by itself, whose `at_E` is its place among these; None for a sample.
    """

    at_E: NDArray[np.int64]
    evidences: Sequence[Evidence]
    key: str
    limits: Limits
    sample: _OneDraw | None = None


class _RankedBefore(NamedTuple):
    """Evidences that were ranked before, by identity."""

    evidences: Sequence[Evidence]
    tasks: Sequence[str] | None
    parts: list[_OneDraw]


class _ToRank(NamedTuple):
    """A program and what it is to rank in one process."""

    program: str
    part: _OneDraw


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
        self._shared: list[_RankedBefore] = []

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that it was given."""
        return self._sandbox

    def rank(
        self, programs: Sequence[str], evidences: Sequence[Evidence], tasks: Sequence[str] | None = None
    ) -> list[Rankings | Invalid]:
        """For each program its rankings, one per evidence, or why it has none; who fails on the first draw of the tasks
        gets no other.

        Passing the same `evidences` object again costs nothing: it is packed and shared once.

        Args:
            tasks: as in `ports.StrategyRunner`.

        Raises:
            SandboxUnavailable: the sandbox broke: it fails on every program.
        """
        parts = self._parts(evidences, tasks) if evidences else []
        found: list[list[RankingBlock] | Invalid] = [[] for _ in programs]
        for some in (parts[:1], parts[1:]):
            able = [place for place, one in enumerate(found) if not isinstance(one, Invalid)]
            asked = [(place, _ToRank(programs[place], part)) for part in some for place in able]
            for (place, (_, part)), result in zip(asked, self._steady([one for _, one in asked]), strict=True):
                blocks = found[place]
                if isinstance(blocks, Invalid):
                    continue
                if isinstance(result, Invalid):
                    found[place] = result
                else:
                    blocks += [block._replace(at_B=part.at_E[block.at_B]) for block in result.blocks]
        return [one if isinstance(one, Invalid) else Rankings.merged(one) for one in found]

    def _steady(self, asked: Sequence[_ToRank]) -> list[Rankings | Invalid]:
        """What comes out, where the sample of a part gets the same by itself."""
        found = self._ranked(asked)
        samples = {
            place: _ToRank(program, part.sample)
            for place, (program, part) in enumerate(asked)
            if part.sample is not None and not isinstance(found[place], Invalid)
        }
        again = self._ranked(list(samples.values())) if samples else []
        for (place, (_, sample)), alone in zip(samples.items(), again, strict=True):
            whole = found[place]
            if isinstance(alone, Invalid):
                found[place] = alone
            elif not isinstance(whole, Invalid) and alone != Rankings.of([whole[int(sample.at_E[0])]]):
                found[place] = UNSTEADY
        return found

    def _ranked(self, asked: Sequence[_ToRank]) -> list[Rankings | Invalid]:
        """What came out in company, and alone for the others and a sample of those."""
        found = self._together(asked) if self.company.shares else {}
        self.company.count(len(found))
        alone = [place for place, one in enumerate(asked) if place not in found or self.company.repeats(one.program)]
        results = self._alone([asked[place] for place in alone])
        differed = []
        for place, result in zip(alone, results, strict=True):
            if place in found and result is FAILED_TWICE:
                continue
            if place in found and found[place] != result:
                differed.append(place)
            elif place in found:
                self.company.agreed()
            found[place] = result
        by_itself = self._in_bundles([[place] for place in differed], asked)
        for place in differed:
            same = place in by_itself and found[place] == by_itself[place]
            self.company.disagreed(asked[place].program, neighbours=same)
        return [found[place] for place in range(len(asked))]

    def _together(self, asked: Sequence[_ToRank]) -> dict[int, Rankings | Invalid]:
        """What programs that the policy admits say, several in one process; one that needs its own is left out."""
        size = min(MOST_TOGETHER, len(asked) // (JOBS_A_CORE * len(os.sched_getaffinity(0))))
        if size < 2:
            return {}
        of_parts: dict[str, list[int]] = {}
        for place, (program, part) in enumerate(asked):
            if self.company.admits(program):
                of_parts.setdefault(part.key, []).append(place)
        bundles = [
            places[start : start + size] for places in of_parts.values() for start in range(0, len(places), size)
        ]
        return self._in_bundles(bundles, asked)

    def _in_bundles(self, bundles: Sequence[Sequence[int]], asked: Sequence[_ToRank]) -> dict[int, Rankings | Invalid]:
        """What the programs of bundles say, under the place of each; those of a bundle rank the same."""
        jobs = [
            _job("", asked[places[0]].part, tuple([asked[place].program for place in places])) for places in bundles
        ]
        outcomes = self._sandbox.run(jobs) if jobs else []
        return {
            place: _rankings(outcome.value, asked[place].part.evidences)
            for place, outcome in zip(chain.from_iterable(bundles), chain.from_iterable(outcomes), strict=True)
            if outcome.status is Status.OK and outcome.value
        }

    def _alone(self, asked: Sequence[_ToRank]) -> list[Rankings | Invalid]:
        """Of each program on its own; what our own fault spoils is tried once more."""
        jobs = [_job(program, part) for program, part in asked]
        outcomes = [items[0] for items in self._sandbox.run(jobs)] if jobs else []
        failed = [place for place, outcome in enumerate(outcomes) if outcome.status is Status.INFRASTRUCTURE]
        again = self._sandbox.run([jobs[place] for place in failed]) if failed else []
        for place, items in zip(failed, again, strict=True):
            outcomes[place] = items[0]
        broken = [outcome.detail for outcome in outcomes if outcome.status is Status.INFRASTRUCTURE]
        fine = not broken or any(outcome.status is Status.OK for outcome in outcomes) or self._works(asked[0].part)
        if not fine:
            raise SandboxUnavailable(f"the sandbox fails on every strategy program: {broken[0]}")
        return [_read(outcome, part) for outcome, (_, part) in zip(outcomes, asked, strict=True)]

    def _works(self, part: _OneDraw) -> bool:
        """Whether the sandbox still ranks by a program that is known to be good."""
        ((outcome,),) = self._sandbox.run([_job(PROBE, part)])
        return outcome.status is Status.OK and not isinstance(_rankings(outcome.value, part.evidences), Invalid)

    def _parts(self, evidences: Sequence[Evidence], tasks: Sequence[str] | None) -> list[_OneDraw]:
        """The evidences as the sandbox knows them: the first of every task, the second, ...; the last few are
        remembered by identity."""
        for known in self._shared:
            if known.evidences is evidences and (known.tasks is tasks or known.tasks == tasks):
                return known.parts
        numbers: dict[int, list[int]] = {}
        before: Counter[str] = Counter()
        for place in range(len(evidences)):
            number = 0 if tasks is None else before[tasks[place]]
            numbers.setdefault(number, []).append(place)
            before.update([] if tasks is None else [tasks[place]])
        parts = [self._part(evidences, places) for places in numbers.values()]
        first = parts[0]
        sample = self._part(first.evidences, [secrets.randbelow(len(first.evidences))])
        parts[0] = first._replace(sample=sample)
        self._shared = [*self._shared[1 - REMEMBERED :], _RankedBefore(evidences, tasks, parts)]
        return parts

    def _part(self, evidences: Sequence[Evidence], places: Sequence[int]) -> _OneDraw:
        shown = [evidences[place] for place in places]
        packed = pack(shown)
        scores = sum(sum(evidence.passed_MN.shape) for evidence in shown)
        seconds = SECONDS_PER_EVIDENCE * len(shown)
        limits = Limits(
            cpu_s=self._limits.cpu_s + seconds,
            wall_s=0.0,
            budget_s=self._limits.budget_s + seconds,
            output_kb=self._limits.output_kb + scores * BYTES_PER_SCORE // 1024,
            memory_mb=self._limits.memory_mb + 3 * size_of(packed) // 2**20,
        )
        return _OneDraw(np.array(places, np.int64), shown, self._sandbox.share(packed), limits)


def _job(program: str, part: _OneDraw, company: tuple[str, ...] = ()) -> HarnessJob:
    argument: Json = {
        "screen": min(SCREEN, len(part.evidences)),
        "budget_s": part.limits.cpu_s,
        "company": bool(company),
    }
    return HarnessJob(harness(), program, part.key, argument, part.limits, company)


def _read(outcome: ItemOutcome, part: _OneDraw) -> Rankings | Invalid:
    if outcome.status is Status.INFRASTRUCTURE:
        return FAILED_TWICE
    if outcome.status is not Status.OK:
        return Invalid(_reason(outcome, part.limits))
    return _rankings(outcome.value, part.evidences)


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
