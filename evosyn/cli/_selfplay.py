"""The joint between the recipe `evoenv` of `evosyn coevolve` and the trainer, which do not know each other."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evosyn.configs.section import listed
from evosyn.errors import UsageError
from evosyn.rundir import RunDir
from evosyn.synthesis.recipes.evoenv import (
    SelfplayTools,
    drafts_of,
    environments_named,
    evolving_environments,
    kept_seeds,
    made_alike,
    pool_of,
    pool_plan,
    seed_rows,
    write_arrived,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evosyn.cli._coevolving import CoevolveConfig
    from evosyn.environments.contract import Environment
    from evosyn.ports import Feed
    from evosyn.records import Json
    from evosyn.synthesis.selfplay.state import PoolPlan
    from evosyn.train.rlvr import FeedTools
    from evosyn.train.run import OnRow
    from evosyn.workbench import Workbench


def seeds_of(config: CoevolveConfig) -> list[Environment]:
    """The environments of a run that can begin; nothing heavy is loaded.

    Raises:
        UsageError: the environments, the arm, or what does not go together with it.
    """
    seeds = environments_named(listed(config.data))
    _plan(config, seeds)
    return seeds


def train_with_pool(
    config: CoevolveConfig, seeds: Sequence[Environment], workbench: Workbench, out: Path, on_row: OnRow | None
) -> None:
    """Train with a pool that grows; errors as of `train_rlvr`."""
    from evosyn.train.rlvr import train_rlvr

    plan = _plan(config, seeds)
    if asks_for_drafts(config, seeds) and not config.is_self and not (out / "config.yaml").is_file():
        workbench.check({None: ("environment", plan.config.drafting.sampling)})
    rows = seed_rows(seeds, workbench.sandbox, config.seed)
    make = partial(_feed, config, seeds, workbench)
    train_rlvr(config, out, workbench.sandbox, on_row=on_row, feed=make, parts=[rows])
    with RunDir(out) as run:
        begun = kept_seeds(run)
        write_arrived(run, pool_of(run, config.coevolution, begun, config.student))


def estimated_pool(config: CoevolveConfig, seeds: Sequence[Environment], workbench: Workbench) -> dict[str, Json]:
    """What a run will take: its drafts, from two that are made, and the answers of the student.

    Raises:
        UsageError: the student writes, which cannot be asked beforehand.
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: from the sample.
    """
    from evosyn.synthesis.environments.estimate import estimated

    plan = _plan(config, seeds)
    if config.is_self:
        raise UsageError("--dry-run: the model in training cannot be asked beforehand; leave out --teacher self")
    found = estimated(made_alike(config.coevolution, plan, config.workbench), workbench)
    drafts = found.pop("problems")
    completions = plan.steps * plan.prompts * config.rollout.group
    return {"drafts": drafts, **found, "executions": completions + drafts * plan.config.band.answers}


def asks_for_drafts(config: CoevolveConfig, seeds: Sequence[Environment]) -> bool:
    """Whether new environments are written at all."""
    return drafts_of(_plan(config, seeds)) > 0


def _plan(config: CoevolveConfig, seeds: Sequence[Environment]) -> PoolPlan:
    return pool_plan(config.coevolution, seeds, config.student, by_student=config.is_self)


def _feed(config: CoevolveConfig, seeds: Sequence[Environment], workbench: Workbench, tools: FeedTools) -> Feed:
    from evosyn.train.policy_teacher import PolicyTeacher

    start = tools.start
    student = PolicyTeacher(start.model, start.tokenizer, config.seed)
    asked = asks_for_drafts(config, seeds)
    given = SelfplayTools(
        run=start.run,
        resources=start.resources,
        teacher=None if not asked else student if config.is_self else workbench.teacher(),
        student=student,
        sandbox=tools.sandbox,
        other=workbench.open_sandbox(workers=workbench.config.sandbox.workers, hash_seed=1),
        fits=tools.fits,
        by_student=config.is_self,
    )
    return evolving_environments(config.coevolution, seeds, config.student, given)
