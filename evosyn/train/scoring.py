"""Decides whether completions satisfy testings: parse, plan, one sandbox run for the whole batch, judge.

It is the one way by which a completion is judged, in training, in evaluation, in the reward service and in the
functions for other trainers. It knows nothing of trainers. Results are cached by (problem, testing, completion), so a
text is executed once however often it is drawn. DESIGN.md section 5, "Sandbox"; EvoSyn (2510.17928) section 3.3.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from evosyn.chat import Parsed
from evosyn.domains import domains_named
from evosyn.evaluators.crossexec import VERDICTS_VERSION
from evosyn.evaluators.verify import Asked, guarded, verify_cells
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits
from evosyn.ports import Domain, Sandbox
from evosyn.records import Json, Solution, Verdict
from evosyn.rundir import write_atomic
from evosyn.sandbox.together import run_jobs
from evosyn.sharing import Company
from evosyn.tasks import Task

__all__ = ["REWARD_LIMITS", "Score", "Scorer", "Task", "domains_of", "score_json", "score_key"]

log = logging.getLogger(__name__)

REWARD_LIMITS = Limits(cpu_s=2.0, budget_s=10.0, memory_mb=512)
"""Of one completion, wherever nothing else is asked for: in training, in the service, in the exports."""


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
        domains: by name; completions for a task of another domain are UNKNOWN.
        limits: of one completion.
        cache_size: how many results are kept; the oldest go first.
        company: whether programs that the policy admits share a process; its counters say how many did.

    Attributes:
        domains: those that it serves.
        executed, cached: completions that were judged, and that the cache knew.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        domains: Mapping[str, Domain],
        limits: Limits = REWARD_LIMITS,
        *,
        cache_size: int = 200_000,
        company: Company | None = None,
    ) -> None:
        self._sandbox, self.domains, self._limits = sandbox, domains, limits
        self.company = company or Company()
        self._cache: dict[str, Score] = {}
        self._cache_size = cache_size
        self._lock = threading.Lock()
        self.executed = 0
        self.cached = 0

    def score(self, tasks: Sequence[Task], texts: Sequence[str]) -> list[Score]:
        """One score per (task, text), in order; what fails for one of them fails for none of the others.

        Raises:
            SandboxUnavailable: the sandbox is gone for good.
        """
        same: dict[str, Task] = {}  # one record for equal tasks: a testing is read, its generators run, once a batch
        tasks = [same.setdefault(task.key, task) for task in tasks]
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

    def serve(self, domains: Mapping[str, Domain]) -> None:
        """Take up further domains; those that it has stay as they are."""
        with self._lock:
            self.domains = {**domains, **self.domains}

    def save(self, path: Path) -> None:
        """Write the cache atomically, with a checksum."""
        with self._lock:
            rows = [
                [key, score.verdict.value, score.share, score.parsed, score.detail]
                for key, score in self._cache.items()
            ]
        body = "".join(json.dumps(row) + "\n" for row in rows)
        write_atomic(path, json.dumps({**self._origin(), "blake2b": _digest(body.encode())}) + "\n" + body)

    def load(self, path: Path) -> int:
        """Take up a saved cache; one that is damaged, or of other limits, is left alone: only time is lost.

        Returns:
            How many results it gave.
        """
        try:
            head, _, body = path.read_bytes().partition(b"\n")
        except OSError:
            return 0
        try:
            header = json.loads(head)
            whole = isinstance(header, dict) and header.pop("blake2b", None) == _digest(body)
        except ValueError:
            whole = False
        if not whole or header != self._origin():
            reason = "of another version or of other limits" if whole else "damaged, or of an older version"
            log.warning("%s: is %s; its results are not taken up, completions run again", path, reason)
            return 0
        rows = [json.loads(line) for line in body.splitlines()]
        found = {key: Score(Verdict(letter), share, read, detail) for key, letter, share, read, detail in rows}
        with self._lock:
            self._cache |= found
        return len(found)

    def _origin(self) -> dict[str, Json]:
        """What the results of this scorer depend on beside task and text."""
        return {"v": 2, "verdicts": VERDICTS_VERSION, "limits": asdict(self._limits)}

    def _run(self, jobs: Sequence[Job]) -> list[tuple[ItemOutcome, ...]]:
        return run_jobs(self._sandbox, jobs, self.company)

    def _execute(self, items: Sequence[tuple[Task, str]]) -> list[Score]:
        found = [guarded(self._parse, task, text) for task, text in items]
        cells = [
            Asked(task.problem, parsed.value, task.testing)
            for (task, _), parsed in zip(items, found, strict=True)
            if isinstance(parsed, Parsed) and parsed.value is not None
        ]
        results = iter(verify_cells(self._run, self.domains, self._limits, cells))
        scores = []
        for parsed in found:
            if isinstance(parsed, CellResult):
                scores.append(Score(parsed.verdict, 0.0, False, parsed.detail))
            elif parsed.value is None:
                scores.append(Score(Verdict.ERROR, 0.0, False, parsed.reason))
            else:
                scores.append(_score_of(next(results)))
        return scores

    def _parse(self, task: Task, text: str) -> Parsed[Solution] | CellResult:
        domain = self.domains.get(task.problem.domain)
        if domain is None:
            return CellResult(Verdict.UNKNOWN, detail=f"the domain {task.problem.domain!r} is not served")
        found: Parsed[Solution] = domain.read("solution", text, task.problem)
        return found


def score_key(task: Task, text: str) -> str:
    """The cache key of one completion for one task."""
    return hashlib.sha256(f"{task.key}\x1f{text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def domains_of(tasks: Iterable[Task]) -> dict[str, Domain]:
    """The domains that these tasks need.

    Raises:
        UsageError: a domain of that name does not exist.
    """
    return domains_named({task.problem.domain for task in tasks})


def score_json(score: Score) -> dict[str, Json]:
    """One score as the service answers it: a missing reward says why."""
    answer = {
        "reward": float(score.passed) if score.known else None,
        "share": round(score.share, 6),
        "verdict": score.verdict.value,
        "parsed": score.parsed,
        "detail": score.detail,
    }
    return answer if score.known else {**answer, "error": score.detail or "the sandbox could not decide"}


def _digest(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def _score_of(cell: CellResult) -> Score:
    if cell.verdict is Verdict.PASS:
        return Score(cell.verdict, 1.0, True)
    passed = sum(case is Verdict.PASS for case in cell.cases)
    return Score(cell.verdict, passed / len(cell.cases) if cell.cases else 0.0, True, cell.detail[:200])
