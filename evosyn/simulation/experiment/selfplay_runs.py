"""The arms of `evosyn experiment coevolve --recipe evoenv`: a strong start, and where its questions come from then.

What an author drafts, the ladder, band and trainings are those of `evosyn experiment environments`. EvoEnv (Table 1)
reports that fixed pools hurt a strong start and that self-play helps it. docs/experiment.md.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from evosyn.dataset import Sample, from_row, to_row
from evosyn.domains import domain
from evosyn.domains.environment import KIND, NAME
from evosyn.environments.rows import EnvironmentRow, rows_of, samples_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import UsageError
from evosyn.jsonlines import read_lines, write_lines
from evosyn.ports import Comparison, Experiment, ExperimentTools, OpenSandbox, Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json, Testing
from evosyn.rundir import RunDir
from evosyn.simulation.experiment import environment_language as language
from evosyn.simulation.experiment import environment_runs as shared
from evosyn.simulation.experiment.environment_runs import EnvironmentPlan
from evosyn.simulation.experiment.environment_world import HANDS
from evosyn.simulation.experiment.selfplay_table import markdown, summarize
from evosyn.simulation.experiment.table import publish
from evosyn.simulation.experiment.toy_data import StepBudget

ARMS = ("none", "public", "fixed", "drafted", "rotation", "selfplay")
PUBLIC = 200
"""Questions of the file that stays as it is."""
COMPARES = """def verify(instance, reference, answer):
    return answer.split() == reference.split()
"""
"""What decides about its answers: the one that stands beside each question."""
START = "start"


def experiment(
    tools: ExperimentTools, size: str, seeds: Sequence[int], arms: Sequence[str], *, jobs: int, rate: float
) -> Experiment:
    """The experiment at a size, `smoke` or `cpu`.

    Args:
        jobs: trainings at the same time.
        rate: learning rate of the arms.
    """
    plan, budget = (
        EnvironmentPlan(24, 0.35, 1.0, 32, size),
        StepBudget(steps=60, prompts=8, rate=rate, every=20, width=64),
    )
    if size == "smoke":
        plan = EnvironmentPlan(8, 0.35, 1.0, 8, size, 5, 4, 2, False)
        budget = StepBudget(steps=4, prompts=4, group=4, every=2, width=64)
    rows = -(-budget.steps * budget.prompts // HANDS)
    work = shared.ArmWork(partial(prepare, rows=rows), warm_unit, train_unit, published)
    return shared.EnvironmentExperiment(tools, plan, budget, seeds, arms, jobs, work)


def prepare(
    folder: Path, seeds: SeedTree, plan: EnvironmentPlan, sandbox: Sandbox, other: Sandbox, *, rows: int
) -> str:
    """The rows of the pools that stay as they are, and what `environments` prepares.

    Args:
        rows: of each environment of the fixed pool; one of two words has few questions of a level, so some repeat.
    """
    folder.mkdir(parents=True, exist_ok=True)
    runner, beside = EnvironmentRunner(sandbox), list[Sample]()
    for arm, count in (("fixed", rows), ("public", PUBLIC // HANDS)):
        made = [row for one in language.hands(shared.AUTHOR) for row in rows_of(one, runner, count, seeds.child(arm))]
        kept = [one for one in made if isinstance(one, EnvironmentRow)]
        kept = [answered(one) for one in kept] if arm == "public" else kept
        samples = samples_of(kept, domain(NAME))
        write_lines(folder / f"{arm}.jsonl", map(to_row, samples))
        beside += samples
    return shared.prepare(folder, seeds, plan, sandbox, other, beside)


def answered(row: EnvironmentRow) -> EnvironmentRow:
    """A question with its answer, and no program that made it."""
    body = {"program": COMPARES, "instance": None, "reference": row.solution.text}
    return row._replace(testing=Testing(KIND, body, row.testing.provenance))


def warm_unit(root: Path, budget: StepBudget, open_sandbox: OpenSandbox, seed: int) -> None:
    """The strong start of a seed, and how often it solves what the author's drafts ask."""
    from evosyn.simulation.experiment.environment_policy import WordLearner
    from evosyn.simulation.experiment.selfplay_start import LONGEST, fit_data, strong_start

    folder, seeds = root / f"seed-{seed}", SeedTree(seed).child("learner")
    strong_start(folder / START, fit_data(seeds.child("fit")), budget, seeds)
    if not (folder / "band.json").exists():
        with open_sandbox(workers=1) as sandbox:
            learner = WordLearner(folder / START, {}, budget, sandbox, seeds, LONGEST)
            shared.write_band(folder, learner.rates)


def train_unit(
    root: Path, budget: StepBudget, plan: EnvironmentPlan, open_sandbox: OpenSandbox, seed: int, arm: str
) -> Json:
    """One arm of one seed."""
    from evosyn.simulation.experiment.environment_policy import WordLearner
    from evosyn.simulation.experiment.selfplay_start import LONGEST, fit_data, start_of

    folder, seeds = root / f"seed-{seed}", SeedTree(seed).child("learner")
    asked = {"heldout": shared.asked_of(folder)["heldout"], "within": fit_data(seeds.child("fit")).pool}
    with ExitStack() as held:
        sandbox = held.enter_context(open_sandbox(workers=1))
        learner = WordLearner(folder / START, asked, budget, sandbox, seeds, LONGEST)
        about = {"start": start_of(folder / START)}
        if arm == "none":
            return {**about, "curve": [learner.measure(0), learner.measure(budget.steps)]}
        samples, scratch = samples_of_arm(folder, arm, plan), folder / "scratch" / arm
        shutil.rmtree(scratch, ignore_errors=True)  # an arm that was killed begins anew
        if arm != "selfplay":
            feed = shared.rotating(samples, plan.active, sandbox, scratch, seeds) if arm == "rotation" else None
            found = learner.reinforce(samples, scratch, feed)
            return {**about, **found}
        from evosyn.simulation.experiment.selfplay_student import joint_figures, selfplay_feed

        run, other = held.enter_context(RunDir(scratch)), held.enter_context(open_sandbox(workers=1, hash_seed=1))
        made = selfplay_feed(learner.policy, run, (sandbox, other), seed, held)
        found = learner.reinforce(samples, scratch, made)
        heldout = shared.tasks_of_seed(SeedTree(seed).child("environments"), plan).heldout
        return {**about, **found, **joint_figures(run, heldout), "pool": made.summary()}


def samples_of_arm(folder: Path, arm: str, plan: EnvironmentPlan) -> list[Sample]:
    """The rows that an arm starts from; self-play has those of the fixed pool to begin with, and `drafted` those of
    `rotation`, which stay.

    Raises:
        UsageError: none of the author's environments is left.
    """
    if arm not in ("drafted", "rotation"):
        return [
            from_row(value) for _, value in read_lines(folder / f"{'public' if arm == 'public' else 'fixed'}.jsonl")
        ]
    pool = shared.pool_of(folder, arm, banded=plan.banded)
    if not pool:
        raise UsageError(f"{folder.name}: no environment of the author is left to train on; another --first-seed")
    return shared.rows_for(folder, pool)


def published(run: RunDir, records: list[Json], seeds: Sequence[int]) -> Comparison:  # noqa: ARG001
    """The table."""
    return publish(run, records, summarize(records), "coevolve", markdown)
