"""Scoring candidates of a search for environments: each goes through stages as a draft of `evosyn env make` does.

Ladder and novelty, then whoever looks at it, then a student's answers; a candidate that a stage drops has no score, and
says why. Drafts and replies stand in a ledger for each epoch, so that nothing is paid twice and all that is known of a
candidate can be read later. An evaluation is a function of text and epoch alone: what a run has kept meanwhile is
compared when it ends. docs/environments.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from evosyn.domains.environment import NAME
from evosyn.environments.ladder import Ladder
from evosyn.environments.novelty import Repeat
from evosyn.environments.runner import EnvironmentRunner
from evosyn.evaluators.learnability import AXES, descriptor_of, metrics_of, score_of, worth
from evosyn.journal import Journal
from evosyn.ports import Teacher
from evosyn.ports.stages import Stage
from evosyn.program_identity import program_key
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Evaluation, Json, content_id
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.running.progress import RunProgress
from evosyn.running.runner import Runner
from evosyn.synthesis.environments.author import EnvironmentAsker
from evosyn.synthesis.environments.calibrating import CalibrateDraft
from evosyn.synthesis.environments.climbing import ClimbLadder, bundled_pool
from evosyn.synthesis.environments.config import EnvironmentSearchConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.environments.looking import looking
from evosyn.workbench import Workbench

KIND = "environment-evaluations"
AT_A_TIME = 8
"""Candidates on their way through the stages at least; more where more calls may be in flight."""


class AskedTeachers(NamedTuple):
    """Who is asked about candidates."""

    reviewer: Teacher
    student: Teacher

    async def aclose(self) -> None:
        await self.reviewer.aclose()
        await self.student.aclose()


class EnvironmentEvaluator:
    """Implements `ports.ChangingEvaluator`; use it as a context manager.

    Args:
        start: texts that the search began from: what comes with evosyn and is not among them must not be repeated.
        asked: closed with it.
    """

    axes = AXES

    def __init__(
        self,
        config: EnvironmentSearchConfig,
        run: RunDir,
        asked: AskedTeachers,
        start: Sequence[str],
        workbench: Workbench,
    ) -> None:
        self._config, self._asked = config, asked
        self._simulated = asked.student.simulated or asked.reviewer.simulated
        self.student = asked.student.name
        self.epoch = epoch_of_student(config, asked.student)
        self.progress: RunProgress[Draft] = RunProgress()
        self.ledger = Ledger(Journal(run.file(f"evaluations/{self.epoch}.jsonl")), Draft, counts=self.progress)
        self.ledger.begin({"kind": KIND, "epoch": self.epoch, "judged": judged_by(config)})
        stages = stages_of(config, workbench, asked, self.ledger, start)
        window = max(AT_A_TIME, workbench.config.teacher.calls // 8)
        self._runner = Runner(stages, self.ledger, window=window, progress=self.progress)
        self._loop = asyncio.Runner()

    def evaluate(self, candidates: Sequence[Candidate]) -> list[Evaluation]:
        """See `ports.Evaluator.evaluate`.

        Raises:
            BudgetSpent, TeacherUnavailable, SandboxUnavailable: what was done until then is kept.
        """
        drafts = {
            one.id: Draft(index_of(one.id), {"candidate": one.id}, one.text, simulated=self._simulated, label=one.id)
            for one in candidates
        }
        self._loop.run(self._runner.run(drafts.values()))
        return [self.evaluation(self.ledger.item(index_of(one.id))) for one in candidates]

    def draft(self, name: str) -> Draft | None:
        """All that is known of a candidate, by its id; None where it was not evaluated in this epoch."""
        index = index_of(name)
        return self.ledger.item(index) if index in self.ledger.done else None

    def evaluation(self, draft: Draft) -> Evaluation:
        """What a draft that has ended is worth."""
        usage = draft.usage
        tokens = (usage.input_tokens, usage.output_tokens)
        ended = draft.ended
        if ended is not None:
            reason = f"{ended.stage}: {ended.reason}{': ' if ended.detail else ''}{ended.detail}"
            return Evaluation(None, reason, epoch=self.epoch, calls=usage.calls, cost=usage.cost or 0.0, tokens=tokens)
        worths = tuple(worth(rate, self._config.student.objective) for rate in draft.rates)
        near = draft.nearest
        similarity = 0.0 if near is None else Repeat(near.of, near.prompt, near.code, "").similarity
        return Evaluation(
            score=score_of(worths),
            descriptor=descriptor_of(draft.environment, draft.rates),
            metrics=metrics_of(draft.rates, similarity),
            per_seed=worths,
            feedback=tuple(_feedback(draft)),
            epoch=self.epoch,
            calls=usage.calls,
            cost=usage.cost or 0.0,
            tokens=tokens,
        )

    def close(self) -> None:
        """A batch under way is left alone: the process ends with it."""
        loop = self._loop.get_loop()
        if not loop.is_running():
            self._loop.run(self._asked.aclose())
            self._loop.close()

    def __enter__(self) -> EnvironmentEvaluator:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def stages_of(
    config: EnvironmentSearchConfig,
    workbench: Workbench,
    asked: AskedTeachers,
    ledger: Ledger[Draft],
    start: Sequence[str],
) -> list[Stage[Draft]]:
    """What every candidate goes through, in order: cheap first."""
    tree = SeedTree(config.seed).child("environment-search")
    other = workbench.open_sandbox(workers=workbench.config.sandbox.workers, hash_seed=1)
    environments = EnvironmentRunner(workbench.sandbox)
    asker = EnvironmentAsker(ledger, asked.reviewer)
    keys = {program_key(text) for text in start}
    known = partial(bundled_pool, environments, without=keys)
    climbing = ClimbLadder(Ladder(workbench.sandbox, other, config.ladder, seed=config.seed), known)
    looks = looking(config.judging, config.crosscheck, workbench, asker, climbing, tree)
    judging = (workbench.judge, workbench.domains[NAME])
    answered = (environments, tree.child("answered"))
    return [climbing, *looks, CalibrateDraft(config.student, asked.student, ledger, judging, answered)]


def judged_by(config: EnvironmentSearchConfig) -> dict[str, Json]:
    """What of a configuration decides an evaluation, but for the student."""
    return config.model_dump(mode="json", include={"seed", "ladder", "judging", "crosscheck"})


def epoch_of_student(config: EnvironmentSearchConfig, student: Teacher) -> str:
    """Names the standard: who answers, how often and how, and what is made of it."""
    told = {**config.student.told(), "student": student.name}
    plain = "".join(sign if sign.isalnum() or sign in ".-_" else "-" for sign in student.name)[:40]
    return f"{plain}-{content_id('', told)[:8]}"


def index_of(name: str) -> int:
    """The number of a candidate in a ledger, by its id."""
    return int(name.removeprefix("c_"), 16)


def _feedback(draft: Draft) -> Iterator[str]:
    yield "right answers by level: " + ", ".join(f"{one.solved} of {one.n}" for one in draft.rates)
    for text in draft.wrong:
        yield f"a wrong answer at {text}"
    if draft.flags:
        yield f"the ladder flags: {', '.join(draft.flags)}"
