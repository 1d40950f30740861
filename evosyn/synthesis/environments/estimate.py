"""What `evosyn env make` will take, from a sample of two drafts that go as far as they come.

The sample asks what the run itself would ask first, so its replies are the run's own, from the cache, later. A kind of
request that no sampled draft came to is taken to be like a draft.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from evosyn.environments import asking
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.running.runner import Runner
from evosyn.synthesis.environments.config import MakeConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.estimate import PROBES, Phase, SamplingTeacher, figures
from evosyn.synthesis.recipes.environments import drafts_of, stages_of
from evosyn.workbench import Workbench


def estimated(config: MakeConfig, workbench: Workbench) -> dict[str, Json]:
    """The figures of a run: `calls` if every draft goes all the way with replies that can be read and needs no
    revision, `calls_at_most` if every draft needs all that it may have.

    Raises:
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: from the sample.
    """
    teacher, drafts = SamplingTeacher(workbench.teacher()), drafts_of(config)
    with tempfile.TemporaryDirectory() as place, RunDir(Path(place)) as run:
        ledger = Ledger(run.journal, Draft)
        ledger.begin({"kind": "estimate"})
        runner = Runner(stages_of(config, workbench, teacher, ledger), ledger, window=PROBES)
        runner.run_and_close(map(Draft, range(min(PROBES, drafts))), [teacher])
    phases = {purpose: (few * drafts, most * drafts) for purpose, (few, most) in _calls(config).items() if most}
    drawn = teacher.sampled(slots=workbench.slots)
    known = {purpose: teacher.replies.get(purpose) or teacher.replies[asking.DRAFT] for purpose in phases}
    sampled = replace(drawn, replies=known)
    counted: dict[str, Phase] = {purpose: sampled.phase(purpose, *count) for purpose, count in phases.items()}
    if (config.workbench.teacher.spec or "").startswith("litellm:"):
        counted = {"check": Phase(1, 1), **counted}
    check = config.crosscheck
    columns = check.verifiers * -(-check.instances // check.group) + check.solvers
    cells = drafts * check.solvers * columns
    calls = config.workbench.teacher.calls
    found = figures(counted, drawn, problems=drafts, executions=cells, concurrency=calls)
    return {"teacher": teacher.name, **found}


def _calls(config: MakeConfig) -> dict[str, tuple[int, int]]:
    """For each kind of request how many a draft takes, and at most."""
    author, judging, check = config.author, config.judging, config.crosscheck
    rounds = 1 + judging.revisions
    judges = (1, rounds * judging.attempts) if judging.judges else (0, 0)
    return {
        asking.DRAFT: (1, author.attempts),
        asking.JUDGE_CODE: judges,
        asking.JUDGE_QUESTIONS: judges,
        asking.REVISION: (0, judging.revisions * judging.attempts if judging.judges else 0),
        asking.VERIFIER: (check.verifiers - 1, (check.verifiers - 1) * check.attempts if check.solvers else 0),
        asking.SOLVER: (check.solvers, check.solvers * check.rounds * check.attempts),
        asking.REVIEW: (judging.reviews, judging.reviews * judging.attempts),
    }
