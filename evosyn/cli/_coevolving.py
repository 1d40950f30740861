"""The configuration of `evosyn coevolve`, and the joint between recipe and trainer, which do not know each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from evosyn.cli._selfplay import asks_for_drafts, estimated_pool, seeds_of, train_with_pool
from evosyn.configs.section import listed
from evosyn.dataset import Sample
from evosyn.environments.contract import Environment
from evosyn.errors import UsageError
from evosyn.records import Problem
from evosyn.synthesis.coevolution.config import SELFPLAY, CoevolutionConfig
from evosyn.synthesis.recipes.dejaq import (
    CoevolutionTools,
    StudentPlan,
    check_coevolution,
    evolving_problems,
    mutates,
    plan_of,
)
from evosyn.train.config import RlvrConfig

if TYPE_CHECKING:
    from evosyn.ports import Feed, Teacher
    from evosyn.records import Json
    from evosyn.train.rlvr import FeedTools
    from evosyn.train.run import OnRow
    from evosyn.workbench import Workbench

PROBLEMS = ("builtin:math-seeds", "builtin:python-seeds")
ENVIRONMENTS = ("builtin:env-seeds", "builtin:known")


class CoevolveConfig(RlvrConfig):
    """A run of `evosyn coevolve`: an RLVR run whose problems evolve; `workbench.teacher` mutates."""

    command: Literal["coevolve"] = "coevolve"  # type: ignore[assignment]
    coevolution: CoevolutionConfig = CoevolutionConfig()

    @property
    def student(self) -> StudentPlan:
        """What the recipe is told of the training."""
        return StudentPlan(self.rollout.prompts, self.steps, self.seed)

    @property
    def is_self(self) -> bool:
        """Whether the model in training is the teacher."""
        return self.workbench.teacher.spec == "self"


class GivenSeeds(NamedTuple):
    """What a run begins with.

    Attributes:
        problems: of `dejaq`, and `parts` the rows that they are of, by dataset.
        environments: of `evoenv`.
    """

    problems: Sequence[Problem] = ()
    parts: Sequence[Sequence[Sample]] = ()
    environments: Sequence[Environment] = ()


def checked_seeds(config: CoevolveConfig) -> GivenSeeds:
    """The seeds of a run that can begin; nothing heavy is loaded.

    Raises:
        UsageError: the seeds, the arm, or what does not go together with it.
    """
    from evosyn.train.data import gathered
    from evosyn.train.rlvr import check_changing_rows

    check_changing_rows(config)
    if config.rotation.active is not None:
        raise UsageError("rotation.active: is another way to change rows; leave it out, or use evosyn train --rotate")
    pool = config.coevolution.recipe == SELFPLAY
    if config.is_self or pool:  # the student answers between steps, in this process
        from evosyn.train.policy_teacher import check_policy_teacher

        check_policy_teacher(config)
    try:
        if pool:
            return GivenSeeds(environments=seeds_of(config))
        parts = gathered(config)
    except UsageError as error:
        if other := _other_recipe(config):
            raise UsageError(f"{error}. {other}") from error
        raise
    samples = [sample for part in parts for sample in part]
    return GivenSeeds(check_coevolution(config.coevolution, samples, config.student), parts)


def _other_recipe(config: CoevolveConfig) -> str:
    """What is said where bundled seeds of one recipe are given to another."""
    named = set(listed(config.data))
    if config.coevolution.recipe == SELFPLAY and not named.isdisjoint(PROBLEMS):
        return "These are problems, which --recipe dejaq evolves; evoenv takes environments (builtin:env-seeds)"
    if config.coevolution.recipe != SELFPLAY and not named.isdisjoint(ENVIRONMENTS):
        return "These are environments, which --recipe evoenv evolves; dejaq takes problems (builtin:math-seeds)"
    return ""


def require_teacher(config: CoevolveConfig, seeds: GivenSeeds) -> None:
    """
    Raises:
        UsageError: something new is to be written, and nobody is named who writes it: --model is the student.
    """
    if config.workbench.teacher.spec is not None:
        return
    if config.coevolution.recipe == SELFPLAY:
        asked = asks_for_drafts(config, seeds.environments)
    else:
        asked = mutates(config.coevolution)
    if asked:
        raise UsageError(
            "no teacher is named, and --model is the student: --teacher self (the model in training), "
            "litellm:provider/name, local:PATH, or mailbox:DIR"
        )


def coevolve(config: CoevolveConfig, seeds: GivenSeeds, workbench: Workbench, out: Path, on_row: OnRow | None) -> None:
    """Train with problems or environments that evolve; errors as of `train_rlvr`."""
    from evosyn.train.rlvr import train_rlvr
    from evosyn.train.run import check_run

    check_run(config, out)
    if config.coevolution.recipe == SELFPLAY:
        train_with_pool(config, seeds.environments, workbench, out, on_row)
        return
    asks = mutates(config.coevolution) and not config.is_self
    if asks and not (out / "config.yaml").is_file():
        workbench.check({None: ("mutate-setting", config.coevolution.mutation.sampling)})
    make = partial(_feed, config, workbench)
    train_rlvr(config, out, workbench.sandbox, on_row=on_row, feed=make, parts=seeds.parts)


def estimated(config: CoevolveConfig, seeds: GivenSeeds, workbench: Workbench) -> dict[str, Json]:
    """What a run will take; an arm that mutates nothing asks nobody.

    Raises:
        BudgetSpent, TeacherUnavailable, UsageError: from the sample.
    """
    from evosyn.synthesis.coevolution import estimate

    if config.coevolution.recipe == SELFPLAY:
        return estimated_pool(config, seeds.environments, workbench)
    plan = plan_of(config.coevolution, seeds.problems, config.student)
    if not mutates(config.coevolution):
        return estimate.without_teacher(plan, config.rollout.group)
    if config.is_self:
        raise UsageError("--dry-run: the model in training cannot be asked beforehand; leave out --teacher self")
    teacher = workbench.teacher(keep=False)
    return estimate.estimated(plan, teacher, config.rollout.group, config.workbench.teacher.calls)


def _feed(config: CoevolveConfig, workbench: Workbench, tools: FeedTools) -> Feed:
    from evosyn.train.policy_teacher import PolicyTeacher

    start = tools.start

    def teacher() -> Teacher:
        return PolicyTeacher(start.model, start.tokenizer, config.seed) if config.is_self else workbench.teacher()

    given = CoevolutionTools(
        run=start.run,
        samples=tools.samples,
        resources=start.resources,
        teacher=teacher,
        sandbox=tools.sandbox,
        limits=config.reward.limits,
        fits=tools.fits,
    )
    return evolving_problems(config.coevolution, config.student, given)
