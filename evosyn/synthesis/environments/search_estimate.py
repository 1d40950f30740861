"""What `evosyn env evolve` will take: the first two candidates of its start go through all stages, the rest is counted.

The sample asks what the run itself asks first, so its replies are the run's own, from the cache, later. A candidate
that does not go all the way costs less; proposals count at their longest, as in `evosyn evolve`.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from evosyn.environments import asking
from evosyn.environments.contract import LEVELS
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.synthesis.environments.calibrating import ANSWER
from evosyn.synthesis.environments.config import EnvironmentSearchConfig
from evosyn.synthesis.environments.evaluating import AskedTeachers, EnvironmentEvaluator
from evosyn.synthesis.estimate import PROBES, Phase, Sampled, SamplingTeacher, figures
from evosyn.synthesis.recipes.environment_search import models_of, started_from
from evosyn.synthesis.search.estimate import paid_proposals, proposal_phase
from evosyn.workbench import Workbench


def estimated_search(config: EnvironmentSearchConfig, workbench: Workbench) -> dict[str, Json]:
    """The figures of a run, in the keys of `evosyn evolve --dry-run`: `calls` if every candidate goes all the way,
    with replies that can be read; `calls_at_most` with those that are under way when it ends.

    Raises:
        UsageError: no such environment.
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: from the sample.
    """
    start = started_from(config)
    reviewer = SamplingTeacher(workbench.teacher())
    student = SamplingTeacher(workbench.teacher(config.student.model))
    asked, texts = AskedTeachers(reviewer, student), [one.text for one in start]
    with (
        tempfile.TemporaryDirectory() as place,
        RunDir(Path(place)) as run,
        EnvironmentEvaluator(config, run, asked, texts, workbench) as evaluator,
    ):
        evaluator.evaluate(start[:PROBES])
    sampled = replace(reviewer.sampled(slots=workbench.slots), replies={**reviewer.replies, **student.replies})
    candidates = max(len(start), config.stop.evaluations or config.stop.proposals or 0)
    further = candidates + config.loop.lag * max(config.proposers.burst, config.proposers.around)
    phases: dict[str, Phase] = {}
    if (config.workbench.teacher.spec or "").startswith("litellm:"):
        phases["check"] = Phase(len(models_of(config)), len(models_of(config)))
    if (paid := paid_proposals(config)) > 0:
        phases["proposal"] = proposal_phase(config, paid, sampled, like=asking.DRAFT)
    for purpose, (few, most) in _calls(config).items():
        if most:
            known = Sampled({purpose: sampled.replies.get(purpose) or sampled.replies.get(ANSWER, [])})
            phases[purpose] = known.phase(purpose, few * candidates, most * further)
    check = config.crosscheck
    cells = check.solvers * (-(-check.instances // check.group) + check.solvers)
    executions = candidates * (cells + config.student.per_level * LEVELS)
    calls = config.workbench.teacher.calls
    found = figures(phases, sampled, problems=candidates, executions=executions, concurrency=calls)
    stop = config.stop
    told = {"proposals": stop.proposals, "evaluations": stop.evaluations, "proposers": dict(config.proposers.arms)}
    return {"teacher": reviewer.name, "student": student.name, **found, **told}


def _calls(config: EnvironmentSearchConfig) -> dict[str, tuple[int, int]]:
    """For each kind of request how many a candidate takes, and at most."""
    judging, check = config.judging, config.crosscheck
    judges = (1, judging.attempts) if judging.judges else (0, 0)
    answers = config.student.per_level * LEVELS
    return {
        asking.JUDGE_CODE: judges,
        asking.JUDGE_QUESTIONS: judges,
        asking.SOLVER: (check.solvers, check.solvers * check.rounds * check.attempts),
        asking.REVIEW: (judging.reviews, judging.reviews * judging.attempts),
        ANSWER: (answers, answers),
    }
