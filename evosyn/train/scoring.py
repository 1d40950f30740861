"""Decides whether completions satisfy testings: each is read by its domain, and all go to the judge at once.

It is the one way by which a completion is judged, in training, in evaluation, in the reward service and in the
functions for other trainers. It knows nothing of trainers. The judge remembers, so a text is executed once however
often it is drawn. DESIGN.md section 5, "Sandbox"; EvoSyn (2510.17928) section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from evosyn.chat import Parsed
from evosyn.crossexec.judge import Cell, Judge
from evosyn.crossexec.rows import guarded
from evosyn.domains import domains_named
from evosyn.jobs import CellResult, Limits
from evosyn.ports import Domain, Sandbox, VerdictCache
from evosyn.records import Json, Solution, Verdict
from evosyn.sharing import Company
from evosyn.tasks import Task
from evosyn.text.reasoning import AUTO, CUT, NONE, Answer
from evosyn.thinking import without_thinking

__all__ = ["REWARD_LIMITS", "Score", "Scorer", "Scores", "Task", "domains_of", "reward_judge", "score_json"]

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
        cut: the text ends in its reasoning.
    """

    verdict: Verdict
    share: float
    parsed: bool
    detail: str = ""
    cut: bool = False

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASS

    @property
    def known(self) -> bool:
        return self.verdict is not Verdict.UNKNOWN


class Scores(Protocol):
    """What decides what completions came to."""

    def score(self, tasks: Sequence[Task], texts: Sequence[str]) -> list[Score]:
        """One score per (task, text), in order. An `Answer` holds no reasoning; any other text is read as it is."""
        ...


class Scorer:
    """Scores batches of completions. Thread-safe.

    Args:
        judge: decides them; completions for a task of a domain that it does not serve are UNKNOWN.
        reasoning: the form in which texts mark their reasoning (`evosyn.text.reasoning.FORMS`).
    """

    def __init__(self, judge: Judge, reasoning: str = AUTO) -> None:
        self.judge, self.reasoning = judge, reasoning

    def score(
        self, tasks: Sequence[Task], texts: Sequence[str], forms: Sequence[str | None] | None = None
    ) -> list[Score]:
        """One score per (task, text), in order; what fails for one of them fails for none of the others.

        Args:
            forms: of reasoning, of single texts; None for that of its task, or else of all.

        Raises:
            SandboxUnavailable: the sandbox is gone for good.
        """
        same: dict[str, Task] = {}  # one record for equal tasks: a testing is read, its generators run, once a batch
        read: dict[tuple[str, str, str], Parsed[Solution] | CellResult] = {}
        asked, found = [], []
        for task, text, said in zip(tasks, texts, forms or [None] * len(texts), strict=True):
            form = NONE if isinstance(text, Answer) else said or self.form_of(task)
            asked.append(same.setdefault(task.key, task))
            if (task.key, text, form) not in read:
                read[task.key, text, form] = guarded(self._read, asked[-1], text, form)
            found.append(read[task.key, text, form])
        cells = [
            Cell(task.problem, parsed.value, task.testing)
            for task, parsed in zip(asked, found, strict=True)
            if isinstance(parsed, Parsed) and parsed.value is not None
        ]
        results = iter(self.judge.verify(cells))
        scores = []
        for parsed in found:
            if isinstance(parsed, CellResult):
                scores.append(Score(parsed.verdict, 0.0, False, parsed.detail))
            elif parsed.value is None:
                scores.append(Score(Verdict.ERROR, 0.0, False, parsed.reason, parsed.reason.startswith(CUT)))
            else:
                scores.append(score_of(next(results)))
        return scores

    def form_of(self, task: Task) -> str:
        """In which completions of a task mark their reasoning, where nothing else is said of one."""
        return self.reasoning if task.reasoning == AUTO else task.reasoning

    def _read(self, task: Task, text: str, form: str) -> Parsed[Solution] | CellResult:
        domain = self.judge.domains.get(task.problem.domain)
        if domain is None:
            return CellResult(Verdict.UNKNOWN, detail=f"the domain {task.problem.domain!r} is not served")
        thought = without_thinking(text, form)
        if thought.fault or (thought.acts and domain.actor == "reply"):
            return Parsed(None, thought.fault or f"{CUT}: the text ends in a call of a tool, before its answer")
        found: Parsed[Solution] = domain.read("solution", thought.answer, task.problem)
        return found


def reward_judge(
    sandbox: Sandbox,
    domains: Mapping[str, Domain],
    limits: Limits = REWARD_LIMITS,
    cache: VerdictCache | None = None,
    *,
    company: Company | None = None,
) -> Judge:
    """The judge of completions: programs may share a process, and what our infrastructure failed is tried once more."""
    return Judge(sandbox, domains, limits, cache, retries=1, recheck=False, company=company or Company())


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
        "cut": score.cut,
        "detail": score.detail,
    }
    return answer if score.known else {**answer, "error": score.detail or "the sandbox could not decide"}


def score_of(cell: CellResult) -> Score:
    """A result of the judge as a score."""
    if cell.verdict is Verdict.PASS:
        return Score(cell.verdict, 1.0, True)
    passed = sum(case is Verdict.PASS for case in cell.cases)
    return Score(cell.verdict, passed / len(cell.cases) if cell.cases else 0.0, True, cell.detail[:200])
