"""The recipe of `evosyn coevolve --recipe evoenv`: environments in, a feed whose pool grows with the student out.

Author, ladder, reviews and band are those of EvoEnv (sections 3.1 to 3.3); the author is a teacher or the student
itself. Who trains is not known here (`ports.Feed`). docs/coevolve.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from evosyn.crossexec.judge import Judge
from evosyn.dataset import Sample
from evosyn.domains import domains_named
from evosyn.domains.environment import NAME
from evosyn.environments import provenance_of, sources
from evosyn.environments.contract import LEVELS, Environment, read_environment
from evosyn.environments.fresh import Fits, FreshRows
from evosyn.environments.ladder import Ladder
from evosyn.environments.novelty import NoveltyPool
from evosyn.environments.rows import EnvironmentRow, rows_of, samples_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import PUT_BACK, CorruptRun, InputError, UsageError, is_held
from evosyn.journal import Journal
from evosyn.jsonlines import read_lines, write_lines
from evosyn.ports import Sandbox, Teacher
from evosyn.ports.stages import Stage
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.environments.author import EnvironmentAsker
from evosyn.synthesis.environments.calibrating import AnswerSheet
from evosyn.synthesis.environments.climbing import ClimbLadder, bundled_pool, questions_of
from evosyn.synthesis.environments.config import MakeConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.environments.judging import Instances, ReviewDraft
from evosyn.synthesis.environments.outputs import PROGRAMS
from evosyn.synthesis.recipes.dejaq import StudentPlan
from evosyn.synthesis.selfplay.drafting import DraftMaker, DraftsUnderWay, LiveStudent, StudentTrial, fitting_texts
from evosyn.synthesis.selfplay.feed import KIND, EvolvingEnvironments, PoolParts
from evosyn.synthesis.selfplay.state import EnvironmentPool, PoolPlan, pool_steps
from evosyn.workbench import WorkbenchConfig

DRAFTS = "drafts.jsonl"
"""File of a run: the replies, and every draft with all that is known of it."""
SEEDS = "seeds.jsonl"
"""File of a run: the programs of the environments that it began with, in their order."""


class SelfplayTools(NamedTuple):
    """What a feed is made with.

    Attributes:
        resources: closes what is opened here.
        teacher: who writes and reviews; None where nothing is drafted.
        other: a further sandbox, with another hash seed.
        by_student: the teacher is the student.
    """

    run: RunDir
    resources: ExitStack
    teacher: Teacher | None
    student: LiveStudent
    sandbox: Sandbox
    other: Sandbox
    fits: Fits
    by_student: bool


def environments_named(names: Sequence[str]) -> list[Environment]:
    """The environments that a pool starts from.

    Raises:
        UsageError: there is none of a name, or it is no environment.
    """
    found = []
    for name in names:
        for shown, text in sources([name]).items():
            read = read_environment(text, provenance_of(name))
            if read.value is None:
                raise UsageError(f"{shown}: is no environment: {read.reason} (docs/write-an-environment.md)")
            found.append(read.value)
    return list({one.id: one for one in found}.values())


def seed_rows(seeds: Sequence[Environment], sandbox: Sandbox, seed: int) -> list[Sample]:
    """A question of each level of each: what a student is set up with."""
    runner, tree = EnvironmentRunner(sandbox), SeedTree(seed).child("selfplay", "rows")
    rows = [row for one in seeds for row in rows_of(one, runner, LEVELS, tree)]
    return samples_of([row for row in rows if isinstance(row, EnvironmentRow)], domains_named({NAME})[NAME])


def pool_plan(
    config: CoevolutionConfig, seeds: Sequence[Environment], student: StudentPlan, *, by_student: bool
) -> PoolPlan:
    """What decides the course of a run beside what it is told of the student."""
    tree = SeedTree(student.seed).child("selfplay")
    wait = 0 if by_student else config.lag
    return PoolPlan(config.selfplay, config.environment_arm, seeds, tree, student.prompts, student.steps, wait)


def drafts_of(plan: PoolPlan) -> int:
    """Requests for drafts that a run makes."""
    return max(0, plan.steps - 1 - plan.wait) * plan.per_step


def evolving_environments(
    config: CoevolutionConfig, seeds: Sequence[Environment], student: StudentPlan, tools: SelfplayTools
) -> EvolvingEnvironments:
    """The feed of a run, or what goes on with it.

    Raises:
        UsageError: the directory is of another run; a request for a draft does not fit the student that is to write.
    """
    plan = pool_plan(config, seeds, student, by_student=tools.by_student)
    runner = EnvironmentRunner(tools.sandbox)
    domains = domains_named({NAME})
    sheet = AnswerSheet(Judge(tools.sandbox, domains), domains[NAME], config.selfplay.band.sampling)
    trial = StudentTrial(config.selfplay.band, tools.student, sheet, runner, plan.tree.child("band"), tools.fits)
    about: dict[str, Json] = {"recipe": config.recipe, "arm": config.arm, "simulated": False}
    under_way = None
    if tools.teacher is not None:
        about |= {"teacher": tools.teacher.name, "simulated": tools.teacher.simulated}
        under_way = DraftsUnderWay(_maker(config, plan, tools.teacher, tools))
        tools.resources.callback(under_way.close)
    _keep_seeds(tools.run, seeds)
    questions = partial(questions_of, runner)
    rows = FreshRows(runner, tools.fits)
    if tools.by_student and not pool_steps(tools.run.journal).standing():
        _check_requests(plan, tools.fits)
    return EvolvingEnvironments(
        PoolParts(plan, tools.run.journal, rows, trial, under_way, about, tools.fits, questions)
    )


def _check_requests(plan: PoolPlan, fits: Fits) -> None:
    """
    Raises:
        UsageError: one of the first requests does not fit the student, however little it shows.
    """
    state = EnvironmentPool(plan)
    if not all(fitting_texts(state.texts(one), one.category, plan.config.drafting, fits) for one in state.due()):
        raise UsageError(
            "--teacher self: a request for a draft, which holds the contract and environments, is longer than "
            "rollout.max_prompt, or leaves no room for an answer; raise it, or name another teacher"
        )


def kept_seeds(run: RunDir) -> list[Environment]:
    """The environments that a run began with, whatever became of the files that were named.

    Raises:
        CorruptRun: the copy is lost, damaged, or not of this run.
    """
    told = (pool_steps(run.journal).header() or {}).get("seeds")
    if not is_held(run.file(SEEDS)):
        raise CorruptRun(f"{run.file(SEEDS)}: is lost. {PUT_BACK}")
    try:
        found = _seeds_in(run.file(SEEDS))
    except InputError as error:
        raise CorruptRun(f"{error}. {PUT_BACK}") from error
    if told not in (None, [one.id for one in found]):
        raise CorruptRun(f"{run.file(SEEDS)}: holds other environments than the run began with. {PUT_BACK}")
    return found


def _keep_seeds(run: RunDir, seeds: Sequence[Environment]) -> None:
    """Write the programs of the seeds into a run that has not begun, or was begun with them and has none."""
    told = (pool_steps(run.journal).header() or {}).get("seeds")
    if told is None or (told == [one.id for one in seeds] and not run.file(SEEDS).exists()):
        write_lines(run.made(SEEDS), ({"id": one.id, "source": one.source} for one in seeds))


def _seeds_in(file: Path) -> list[Environment]:
    """
    Raises:
        InputError: a line holds no environment, or another one than it says.
    """
    found = []
    for line in read_lines(file):
        read = read_environment(str(line.value.get("source")))
        if read.value is None or read.value.id != line.value.get("id"):
            reason = f"is no environment: {read.reason}" if read.value is None else "is not the one of its id"
            raise InputError(file, reason, line=line.number, field="source")
        found.append(read.value)
    return found


def pool_of(
    run: RunDir, config: CoevolutionConfig, seeds: Sequence[Environment], student: StudentPlan
) -> EnvironmentPool:
    """What the journal of a run leads to."""
    steps = pool_steps(run.journal)
    by_student = (steps.header() or {}).get("teacher") == "self"
    state = EnvironmentPool(pool_plan(config, seeds, student, by_student=by_student))
    for event in steps.standing():
        state.fold(event)
    return state


def write_arrived(run: RunDir, state: EnvironmentPool) -> None:
    """The programs that came in, as files that the other commands take."""
    for name in state.arrived:
        run.write(f"{PROGRAMS}/{name}.py", state.members[name].environment.source)


def made_alike(config: CoevolutionConfig, plan: PoolPlan, workbench: WorkbenchConfig) -> MakeConfig:
    """An `evosyn env make` whose drafts go the same way: what a run takes is what that would."""
    told = config.selfplay
    author = {"by": "shown", "shown": told.drafting.shown, "sampling": told.drafting.sampling}
    judging = {**told.judging.model_dump(), "reviews": told.judging.reviews if plan.arm.reviews else 0}
    values = {"limit": max(1, drafts_of(plan)), "seed": plan.tree.root, "author": author, "ladder": told.ladder}
    return MakeConfig.model_validate(
        {**values, "judging": judging, "crosscheck": {"solvers": 0}, "workbench": workbench}
    )


def _maker(config: CoevolutionConfig, plan: PoolPlan, teacher: Teacher, tools: SelfplayTools) -> DraftMaker:
    journal = Journal(tools.run.file(DRAFTS))
    tools.resources.callback(journal.close)
    ledger, told = Ledger(journal, Draft), config.selfplay
    decides = told.model_dump(mode="json", include={"drafting", "ladder", "judging"})
    ledger.begin({"kind": KIND, **decides, "arm": config.arm, "teacher": teacher.name, "seed": plan.tree.root})
    runner = EnvironmentRunner(tools.sandbox)
    known: Callable[[], NoveltyPool] = partial(bundled_pool, runner) if plan.arm.novelty else NoveltyPool
    stages: list[Stage[Draft]] = [
        ClimbLadder(Ladder(tools.sandbox, tools.other, told.ladder, seed=plan.tree.root), known)
    ]
    if plan.arm.reviews and told.judging.reviews:
        instances = Instances(runner, plan.tree.child("judged"))
        stages.append(ReviewDraft(told.judging, EnvironmentAsker(ledger, teacher), instances))
    return DraftMaker(teacher, ledger, told.drafting, stages)
