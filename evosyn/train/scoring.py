"""Decides whether completions satisfy testings: parse, plan, one sandbox run for the whole batch, judge.

It is the one way by which a completion is judged, in training, in evaluation and in the reward service. It knows
nothing of trainers. Results are cached by (problem, testing, completion), so a text is executed once however often it
is drawn. DESIGN.md section 5, "Sandbox"; EvoSyn (2510.17928) section 3.3.
"""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from evosyn.evaluators.verify import Asked, verify_cells
from evosyn.jobs import CellResult, Limits
from evosyn.ports import Domain, Sandbox
from evosyn.records import Json, Problem, Testing, Verdict
from evosyn.rundir import write_atomic
from evosyn.train.together import run_jobs


@dataclass(frozen=True)
class Task:
    """One prompt that can be scored: a problem and the testing that decides."""

    row_id: str
    problem: Problem
    testing: Testing
    meta: Mapping[str, Json] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """Content key of what decides, without the completion."""
        return f"{self.problem.domain}\x1f{self.problem.id}\x1f{self.testing.id}"


class Score(NamedTuple):
    """What one completion came to.

    Attributes:
        verdict: of the whole testing. UNKNOWN where our infrastructure failed twice: it is no judgement of the
            completion.
        share: share of the cases that pass, in [0, 1].
        parsed: a solution was found in the text.
        detail: why it failed, shortened; untrusted text.
    """

    verdict: Verdict
    share: float
    parsed: bool
    detail: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASS

    @property
    def known(self) -> bool:
        return self.verdict is not Verdict.UNKNOWN


class Scorer:
    """Scores batches of completions. Thread-safe; owns its cache, not its sandbox.

    Args:
        sandbox: runs what is untrusted.
        domains: by name; tasks of another domain are refused.
        limits: of one completion.
        cache_size: how many results are kept; the oldest go first.
    """

    def __init__(
        self, sandbox: Sandbox, domains: Mapping[str, Domain], limits: Limits, *, cache_size: int = 200_000
    ) -> None:
        self._sandbox, self._domains, self._limits = sandbox, dict(domains), limits
        self._cache: dict[str, Score] = {}
        self._cache_size = cache_size
        self._lock = threading.Lock()
        self.executed = 0
        self.cached = 0

    def score(self, tasks: Sequence[Task], texts: Sequence[str]) -> list[Score]:
        """One score per (task, text), in order.

        Raises:
            SandboxUnavailable: the sandbox is gone for good.
            KeyError: a task of a domain that this scorer does not have.
        """
        keys = [score_key(task, text) for task, text in zip(tasks, texts, strict=True)]
        with self._lock:
            found = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {key: index for index, key in reversed(list(enumerate(keys))) if key not in found}
        order = sorted(missing.values())
        fresh = self._execute([(tasks[index], texts[index]) for index in order])
        unknown = [place for place, score in enumerate(fresh) if not score.known]
        if unknown:
            again = self._execute([(tasks[order[place]], texts[order[place]]) for place in unknown])
            for place, score in zip(unknown, again, strict=True):
                fresh[place] = score
        found |= {keys[index]: score for index, score in zip(order, fresh, strict=True)}
        with self._lock:
            self.executed += len(order)
            self.cached += len(keys) - len(order)
            self._cache |= {keys[index]: found[keys[index]] for index in order if found[keys[index]].known}
            while len(self._cache) > self._cache_size:
                self._cache.pop(next(iter(self._cache)))
        return [found[key] for key in keys]

    def complaint(self, task: Task) -> str | None:
        """None, or why this scorer cannot judge the task."""
        domain = self._domains.get(task.problem.domain)
        if domain is None:
            return f"the domain {task.problem.domain!r} is not served"
        return domain.check_testing(task.problem, task.testing)

    def save(self, path: Path) -> None:
        """Write the cache as JSON lines, atomically."""
        with self._lock:
            rows = [[key, score.verdict.value, score.share, score.parsed] for key, score in self._cache.items()]
        write_atomic(path, "".join(json.dumps(row) + "\n" for row in rows))

    def load(self, path: Path) -> int:
        """Take up a saved cache; a damaged file is left alone. Returns how many results it gave."""
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            found = {
                str(key): Score(Verdict(letter), float(share), bool(parsed)) for key, letter, share, parsed in rows
            }
        except (OSError, ValueError, TypeError):
            return 0
        with self._lock:
            self._cache |= found
        return len(found)

    def _execute(self, items: Sequence[tuple[Task, str]]) -> list[Score]:
        found = [self._domains[task.problem.domain].parse_solution(task.problem, text) for task, text in items]
        cells = [
            Asked(task.problem, parsed.value, task.testing)
            for (task, _), parsed in zip(items, found, strict=True)
            if parsed.value is not None
        ]
        results = iter(verify_cells(functools.partial(run_jobs, self._sandbox), self._domains, self._limits, cells))
        return [
            Score(Verdict.ERROR, 0.0, False, parsed.reason) if parsed.value is None else _score_of(next(results))
            for parsed in found
        ]


def score_key(task: Task, text: str) -> str:
    """The cache key of one completion for one task."""
    return hashlib.sha256(f"{task.key}\x1f{text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def domains_of(tasks: Iterable[Task]) -> dict[str, Domain]:
    """The domains that these tasks need, each made once.

    Raises:
        UsageError: a domain of that name does not exist.
    """
    from evosyn.registry import factory

    return {name: factory("domains", name)() for name in sorted({task.problem.domain for task in tasks})}


def _score_of(cell: CellResult) -> Score:
    if cell.verdict is Verdict.PASS:
        return Score(cell.verdict, 1.0, True)
    passed = sum(case is Verdict.PASS for case in cell.cases)
    return Score(cell.verdict, passed / len(cell.cases) if cell.cases else 0.0, True, cell.detail[:200])
