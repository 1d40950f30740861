"""The stages that look at a draft which stands on the ladder: judges, cross-check, reviews (making and searching)."""

from __future__ import annotations

from evosyn.environments.runner import EnvironmentRunner
from evosyn.ports.stages import Stage
from evosyn.randomness import SeedTree
from evosyn.strategies import load_strategy
from evosyn.synthesis.environments.author import EnvironmentAsker
from evosyn.synthesis.environments.climbing import ClimbLadder
from evosyn.synthesis.environments.config import CrosscheckConfig, JudgingConfig
from evosyn.synthesis.environments.crosschecking import CrossCheck
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.environments.judging import Instances, JudgeDraft, ReviewDraft
from evosyn.synthesis.environments.solving import SolverExecution
from evosyn.workbench import Workbench


def looking(
    judging: JudgingConfig,
    crosscheck: CrosscheckConfig,
    workbench: Workbench,
    asker: EnvironmentAsker,
    climbing: ClimbLadder,
    tree: SeedTree,
) -> list[Stage[Draft]]:
    """Those that are asked for, in order: cheap first.

    Args:
        climbing: where a draft that was revised stands again.
        tree: of the run; each stage draws from a node of its own.
    """
    runner = EnvironmentRunner(workbench.sandbox)
    instances = Instances(runner, tree.child("judged"))
    stages: list[Stage[Draft]] = []
    if judging.judges:
        stages.append(JudgeDraft(judging, asker, climbing, instances))
    if crosscheck.solvers:
        execution = SolverExecution(workbench.crossexec, workbench.sandbox, crosscheck.execute.limits)
        ranks = (workbench.runner, load_strategy(crosscheck.strategy))
        stages.append(CrossCheck(crosscheck, asker, climbing, execution, ranks, (runner, tree.child("crosscheck"))))
    if judging.reviews:
        stages.append(ReviewDraft(judging, asker, instances))
    return stages
