"""The arms of `evosyn experiment environments`: one seed's drafts with their fate, its pools, and its trainings."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from evosyn.configs.saving import freeze_config
from evosyn.dataset import Sample, from_row, to_row
from evosyn.domains import domain
from evosyn.domains.environment import NAME
from evosyn.environments.contract import read_environment
from evosyn.environments.ladder import Ladder
from evosyn.environments.rotation import RotatingPool, RotationConfig
from evosyn.environments.rows import EnvironmentRow, rows_of, samples_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.jsonlines import read_lines, write_lines
from evosyn.ports import Comparison, ExperimentTools, OpenSandbox, Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json, Provenance
from evosyn.rundir import RunDir, write_atomic
from evosyn.simulation.environments.replies import SKILLS
from evosyn.simulation.experiment import environment_world as world
from evosyn.simulation.experiment.environment_table import markdown, summarize
from evosyn.simulation.experiment.table import publish
from evosyn.simulation.experiment.toy_data import StepBudget
from evosyn.simulation.experiment.units import run_units
from evosyn.train.models import require_train

AUTHOR = Provenance("word-author", simulated=True)
REVIEWER = SKILLS["mixed"]
WARM, WRONG = 600, 0.3
"""Answers of the warm start, and the share of their signs that are wrong."""
TRIES = 1000
"""Draws for a held-out question that neither the warm start nor an arm has."""
BY_HAND = "by-hand"


@dataclass(frozen=True)
class EnvironmentPlan:
    """What decides the data of a seed.

    Attributes:
        per_environment: rows of each environment.
        heldout, instances: environments that nobody trains on, and questions of each.
        banded: leave out what the start solves always or never.
    """

    drafts: int
    sound: float
    rewarding: float
    active: int
    size: str
    per_environment: int = 40
    heldout: int = 40
    instances: int = 8
    banded: bool = True


@dataclass(frozen=True)
class FateOfDraft:
    """What became of a draft; `stage` dropped it, "" for none."""

    id: str
    defect: str
    name: str
    stage: str
    reason: str
    rows: int


class ArmWork(NamedTuple):
    """What is done for a seed, for its start, for an arm of it, and with all records; the same again after a kill.

    Attributes:
        prepare: writes `drafts.json` last, and says what of the drafts is left.
    """

    prepare: Callable[[Path, SeedTree, EnvironmentPlan, Sandbox, Sandbox], str]
    warm: Callable[[Path, StepBudget, OpenSandbox, int], None]
    train: Callable[[Path, StepBudget, EnvironmentPlan, OpenSandbox, int, str], Json]
    publish: Callable[[RunDir, list[Json], Sequence[int]], Comparison]


class EnvironmentExperiment:
    """Implements `ports.Experiment`."""

    def __init__(
        self,
        tools: ExperimentTools,
        plan: EnvironmentPlan,
        budget: StepBudget,
        seeds: Sequence[int],
        arms: Sequence[str],
        jobs: int,
        work: ArmWork | None = None,
    ) -> None:
        self._tools, self._plan, self._budget, self._jobs = tools, plan, budget, jobs
        self._seeds, self._arms = seeds, arms
        self._work = work or ArmWork(prepare, warm_unit, train_unit, published)

    def run(self, out: Path) -> Comparison:
        require_train()
        with RunDir(out) as run:
            freeze_config(run.path, {**asdict(self._plan), **asdict(self._budget)}, "plan.yaml")
            for seed in self._seeds:
                self._prepared(run.file(f"seed-{seed}"), seed)
            warm = partial(self._work.warm, run.path, self._budget, self._tools.open_sandbox)
            train = partial(self._work.train, run.path, self._budget, self._plan, self._tools.open_sandbox)
            units = [(seed, arm) for arm in self._arms for seed in self._seeds]
            records = run_units(run.path, units, self._jobs, warm, train, self._tools.say)
            return self._work.publish(run, records, self._seeds)

    def _prepared(self, folder: Path, seed: int) -> None:
        if (folder / "drafts.json").exists():
            return
        with (
            self._tools.open_sandbox(workers=None) as one,
            self._tools.open_sandbox(workers=None, hash_seed=1) as other,
        ):
            left = self._work.prepare(folder, SeedTree(seed).child("environments"), self._plan, one, other)
        self._tools.say(f"seed {seed}: {left}")


def published(run: RunDir, records: list[Json], seeds: Sequence[int]) -> Comparison:
    """The table of `evosyn experiment environments`."""
    fates = [json.loads(run.file(f"seed-{seed}", "drafts.json").read_text()) for seed in seeds]
    return publish(run, records, summarize(records, fates), "environments", markdown)


def prepare(
    folder: Path,
    seeds: SeedTree,
    plan: EnvironmentPlan,
    sandbox: Sandbox,
    other: Sandbox,
    rows_beside: Iterable[Sample] = (),
) -> str:
    """Drafts, those by hand, their rows, the warm start's answers and the held-out questions of one seed.

    Args:
        rows_beside: of arms that train on other rows than those of drafts and environments by hand.

    Raises:
        UsageError: what the student is trained on asks so much that no held-out question is left to draw.
    """
    folder.mkdir(parents=True, exist_ok=True)
    runner, ladder = EnvironmentRunner(sandbox), Ladder(sandbox, other, seed=seeds.root)
    about, heldout = tasks_of_seed(seeds, plan)
    drafts = [
        world.draw_word_draft(at, one, plan.sound, plan.rewarding, seeds.child("draft", at).random())
        for at, one in enumerate(about)
    ]
    by_hand = [
        world.WordDraft(world.written(plan.drafts + at, one), one, "", BY_HAND)
        for at, one in enumerate(world.tasks_by_hand())
    ]
    fates, samples = [], list[Sample]()
    for at, draft in enumerate([*drafts, *by_hand]):
        found = read_environment(draft.source, AUTHOR).value
        rows = [] if found is None else rows_of(found, runner, plan.per_environment, seeds.child("rows"))
        kept = [row for row in rows if isinstance(row, EnvironmentRow)]
        samples += samples_of(kept, domain(NAME))
        stage, reason = ("", "") if draft.name == BY_HAND else _fate(draft, ladder, seeds.child("review", at))
        fates.append(FateOfDraft(found.id if found else "", draft.defect, draft.name, stage, reason, len(kept)))
    write_lines(folder / "rows.jsonl", map(to_row, samples))
    sound = [draft.about for draft in drafts if not draft.defect]
    warm = careless_answers(seeds.child("warm"))
    trained = {one.statement for one in (*samples, *rows_beside)} | {question for question, _ in warm}
    told = {
        "heldout": questions(heldout, plan.instances, seeds.child("heldout"), trained),
        "within": questions(sound, plan.instances, seeds.child("within")),
        "warm": warm,
    }
    write_atomic(folder / "asked.json", json.dumps(told))
    write_atomic(folder / "drafts.json", json.dumps([asdict(one) for one in fates]))
    stood = sum(not one.stage for one in fates[: plan.drafts])
    return f"{stood} of {plan.drafts} drafts stand on the ladder and pass review"


class TasksOfSeed(NamedTuple):
    """What the drafts of a seed are about, in words and rule, and what environments that nobody trains on are."""

    drafted: list[world.WordTask]
    heldout: list[world.WordTask]


def tasks_of_seed(seeds: SeedTree, plan: EnvironmentPlan) -> TasksOfSeed:
    """The same whenever it is asked."""
    rng = seeds.child("tasks").random()
    about, heldout = [world.draw_task(rng) for _ in range(plan.drafts)], list[world.WordTask]()
    while len(heldout) < plan.heldout:
        one = world.draw_task(rng)
        if one not in {*about, *heldout}:
            heldout.append(one)
    return TasksOfSeed(about, heldout)


def _fate(draft: world.WordDraft, ladder: Ladder, seeds: SeedTree) -> tuple[str, str]:
    """The stage that drops a draft, with its reason; what the ladder leaves is reviewed, which is simulated."""
    climb = ladder.check(draft.source, AUTHOR)
    if climb.reason:
        return climb.stage, climb.reason
    share = REVIEWER.recall if draft.defect else REVIEWER.alarm
    return ("review", draft.defect or "false alarm") if seeds.random().random() < share else ("", "")


def questions(
    about: Sequence[world.WordTask], count: int, seeds: SeedTree, apart_from: Collection[str] = ()
) -> list[tuple[str, str]]:
    """Questions with their right signs, levels in turn; none of those that are asked elsewhere.

    Raises:
        UsageError: all that were drawn are asked elsewhere.
    """
    rng = seeds.random()
    found = []
    for one in about:
        for at in range(count):
            length = world.LENGTHS[at % len(world.LENGTHS)]
            for _ in range(TRIES):
                words = [rng.choice(one.words) for _ in range(length)]
                if world.question(words, one.rule) not in apart_from:
                    break
            else:
                raise UsageError(
                    f"no held-out question of {length} of the words {', '.join(one.words)} ({one.rule}) is left: in "
                    f"{TRIES} tries each stood in what the student is trained on; ask for fewer --drafts"
                )
            found.append((world.question(words, one.rule), " ".join(world.signs_of(words, one.rule))))
    return found


def careless_answers(seeds: SeedTree, count: int = WARM) -> list[tuple[str, str]]:
    """Questions of all words and rules, with the answers of a careless writer."""
    rng, found = seeds.random(), []
    for at in range(count):
        words = [rng.choice(sorted(world.WORDS)) for _ in range(world.LENGTHS[at % len(world.LENGTHS)])]
        rule = rng.choice(world.RULES)
        signs = [world.confused(one, rng) if rng.random() < WRONG else one for one in world.signs_of(words, rule)]
        found.append((world.question(words, rule), world.answer_text(signs)))
    return found


def warm_unit(root: Path, budget: StepBudget, open_sandbox: OpenSandbox, seed: int) -> None:
    """The weights that a seed's arms start from, and how often they solve what passed: the band."""
    from evosyn.simulation.experiment.environment_policy import WordLearner, warm_weights

    folder, seeds = root / f"seed-{seed}", SeedTree(seed).child("learner")
    warm_weights(folder / "start", asked_of(folder)["warm"], budget, seeds)
    if not (folder / "band.json").exists():
        with open_sandbox(workers=1) as sandbox:
            write_band(folder, WordLearner(folder / "start", asked_of(folder), budget, sandbox, seeds).rates)


def write_band(folder: Path, rates: Callable[[Sequence[Sample]], Mapping[str, float]]) -> None:
    """How often the start solves what stands on the ladder and passes review."""
    drafts = json.loads((folder / "drafts.json").read_text(encoding="utf-8"))
    stood = [one for one in drafts if not one["stage"] and one["rows"] and one["name"] != BY_HAND]
    write_atomic(folder / "band.json", json.dumps(rates(rows_for(folder, stood))))


def rotating(samples: Sequence[Sample], active: int, sandbox: Sandbox, scratch: Path, seeds: SeedTree) -> RotatingPool:
    """A pool of so many rows that rotates; an arm that was killed begins anew."""
    journal = Journal(scratch / "journal.jsonl")
    journal.path.unlink(missing_ok=True)
    config, runner = RotationConfig(active=active), EnvironmentRunner(sandbox)
    return RotatingPool(samples, config, runner, journal, seeds.child("rotation"))


def train_unit(
    root: Path, budget: StepBudget, plan: EnvironmentPlan, open_sandbox: OpenSandbox, seed: int, arm: str
) -> Json:
    """One arm of one seed."""
    from evosyn.simulation.experiment.environment_policy import WordLearner

    folder, seeds = root / f"seed-{seed}", SeedTree(seed).child("learner")
    pool = pool_of(folder, arm, banded=plan.banded)
    if not pool:
        raise UsageError(f"seed {seed}, {arm}: no environment is left to train on; ask for more --drafts")
    with open_sandbox(workers=1) as sandbox:
        learner = WordLearner(folder / "start", asked_of(folder), budget, sandbox, seeds)
        samples, scratch = rows_for(folder, pool), folder / "scratch" / arm
        feed = rotating(samples, plan.active, sandbox, scratch, seeds) if arm == "rotation" else None
        found = learner.reinforce(samples, scratch, feed)
    unsound = {one["id"] for one in pool if one["defect"]}
    paid: Mapping[str, int] = found.pop("paid")
    total = sum(paid.values())
    return {
        **found,
        "environments": len(pool),
        "sound": round(sum(not one["defect"] for one in pool) / max(1, len(pool)), 4),
        "unsound_reward": round(sum(paid[one] for one in paid if one in unsound) / total, 4) if total else None,
    }


def pool_of(folder: Path, arm: str, *, banded: bool) -> list[Json]:
    """The drafts that an arm trains on, those that make rows."""
    drafts = json.loads((folder / "drafts.json").read_text(encoding="utf-8"))
    if arm == "fixed":
        return [one for one in drafts if one["name"] == BY_HAND]
    drafts = [one for one in drafts if one["name"] != BY_HAND and one["rows"]]
    if arm == "oracle":
        return [one for one in drafts if not one["defect"]]
    if arm == "unfiltered":
        return drafts
    rates = json.loads((folder / "band.json").read_text(encoding="utf-8"))
    return [one for one in drafts if not one["stage"] and (0 < rates[one["id"]] < 1 or not banded)]


def rows_for(folder: Path, pool: Sequence[Json]) -> list[Sample]:
    """The rows of these environments."""
    wanted = {one["id"] for one in pool}
    rows = [from_row(value) for _, value in read_lines(folder / "rows.jsonl")]
    return [one for one in rows if json.loads(one.meta)["environment"] in wanted]


def asked_of(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """`heldout` and `within`: questions with their right signs; `warm`: with answers as they are written."""
    value = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    return {name: [(str(asked), str(told)) for asked, told in pairs] for name, pairs in value.items()}
