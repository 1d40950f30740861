"""The recipe of `evosyn coevolve --recipe dejaq`: seeds in, a feed that a trainer draws its rows from out.

Curriculum, mutators and student are those of DejaQ (2601.01931); who trains is not known here (`ports.Feed`).
docs/coevolve.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from evosyn.chat import Message
from evosyn.crossexec.judge import Judge
from evosyn.dataset import Sample
from evosyn.domains import domains_named
from evosyn.domains.math_answer import NAME
from evosyn.jobs import Limits
from evosyn.journal import Journal
from evosyn.pools import write_pools
from evosyn.ports import Sandbox, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json, Pool, Problem
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.coevolution.drift import DriftCheck, DriftTools
from evosyn.synthesis.coevolution.feed import KIND, EvolvingProblems, FeedParts
from evosyn.synthesis.coevolution.seeds import SeedProblems, seed_problems_of
from evosyn.synthesis.coevolution.state import Coevolution, CoevolutionPlan
from evosyn.synthesis.coevolution.under_way import MadeMutation, MutationsUnderWay, Mutator

SEEDS, MUTATIONS = "seeds.jsonl", "mutations.jsonl"
"""Files of a run: the seeds as a pool, and the replies and mutations."""


class StudentPlan(NamedTuple):
    """What is decided about the student: prompts of a step, steps, and the seed of the run."""

    prompts: int
    steps: int
    seed: int


class CoevolutionTools(NamedTuple):
    """What a feed is made with.

    Attributes:
        samples: the seeds, as rows that fit the student.
        resources: closes what is opened here.
        teacher: who mutates; asked for where something is mutated.
        limits: of one solution, where mutants are compared with their parents.
    """

    run: RunDir
    samples: Sequence[Sample]
    resources: ExitStack
    teacher: Callable[[], Teacher]
    sandbox: Sandbox
    limits: Limits
    fits: Callable[[tuple[Message, ...]], bool]


def mutates(config: CoevolutionConfig) -> bool:
    """Whether a model is asked at all.

    Raises:
        UsageError: no such recipe or arm.
    """
    return config.made_of.mutates and config.mutations.resample < 1 and config.mutation.batch > 0


def check_coevolution(config: CoevolutionConfig, samples: Sequence[Sample], student: StudentPlan) -> list[Problem]:
    """See before anything is loaded that a run can begin; its seeds.

    Raises:
        UsageError: no such recipe or arm, settings that leave nothing to make problems for, problems of a domain that
            cannot be retold.
    """
    problems = seed_problems_of(samples)
    Coevolution(plan_of(config, problems, student))
    return problems


def evolving_problems(config: CoevolutionConfig, student: StudentPlan, tools: CoevolutionTools) -> EvolvingProblems:
    """The feed of a run, or what goes on with it.

    Raises:
        UsageError: as `check_coevolution`; the directory is of another run; no such teacher.
    """
    problems = seed_problems_of(tools.samples)
    plan, about = plan_of(config, problems, student), {"recipe": config.recipe, "arm": config.arm}
    under_way, simulated = None, any(one.provenance.simulated for one in problems)
    if mutates(config):
        teacher = tools.teacher()
        under_way = MutationsUnderWay(_mutator(config, plan, teacher, tools))
        tools.resources.callback(under_way.close)
        about["teacher"], simulated = teacher.name, simulated or teacher.simulated
    told: dict[str, Json] = {**about, "simulated": simulated}
    feed = EvolvingProblems(FeedParts(plan, tools.run.journal, under_way, tools.fits, told))
    write_pools(tools.run.file(SEEDS), [Pool(one, (), ()) for one in problems])
    return feed


def plan_of(config: CoevolutionConfig, problems: Sequence[Problem], student: StudentPlan) -> CoevolutionPlan:
    """What decides the course of a run beside what it is told of the student."""
    tree = SeedTree(student.seed).child("coevolve")
    return CoevolutionPlan(config, SeedProblems(problems), tree, student.prompts, student.steps)


def _mutator(config: CoevolutionConfig, plan: CoevolutionPlan, teacher: Teacher, tools: CoevolutionTools) -> Mutator:
    journal = Journal(tools.run.file(MUTATIONS))
    tools.resources.callback(journal.close)
    ledger = Ledger(journal, MadeMutation)
    header = {"mutation": config.mutation.model_dump(mode="json"), "drift": config.drift.model_dump(mode="json")}
    ledger.begin({"kind": KIND, **header, "teacher": teacher.name, "seed": plan.tree.root})
    names = {plan.seeds.root(plan.seeds.candidate(name)).domain for name in plan.seeds.names}
    if names == {NAME}:
        return Mutator(teacher, ledger, config.mutations)
    judge = Judge(tools.sandbox, domains_named(names), tools.limits)
    check = DriftCheck(DriftTools(plan.seeds, teacher, ledger, judge), config.drift)
    return Mutator(teacher, ledger, config.mutations, check)
