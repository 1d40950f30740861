"""The small world of environments, its author's defects, its table; and a smoke run of everything."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.dataset import from_row
from evosyn.domains import domain
from evosyn.domains.environment import NAME
from evosyn.environments.contract import read_environment
from evosyn.environments.ladder import Ladder
from evosyn.environments.rows import EnvironmentRow, rows_of, samples_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.jsonlines import read_lines
from evosyn.randomness import SeedTree
from evosyn.records import Json, Verdict
from evosyn.sandbox import open_sandbox
from evosyn.simulation.experiment import environment_world as world
from evosyn.simulation.experiment.environment_runs import EnvironmentPlan, asked_of, prepare, questions, tasks_of_seed
from evosyn.simulation.experiment.environment_table import markdown, summarize
from evosyn.simulation.experiment.toy_data import StepBudget
from evosyn.train.data import tasks_of
from evosyn.train.scoring import Score, Task


@pytest.fixture(scope="module")
def boxes():
    with (
        open_sandbox("local", workers=1, allow_weak=True) as one,
        open_sandbox("local", workers=1, allow_weak=True, hash_seed=1) as other,
    ):
        yield one, other


def test_sound_programs_stand_on_the_ladder_and_answer_as_our_own_table_does(boxes) -> None:
    for at, rule in enumerate(world.RULES):
        about = world.draw_task(random.Random(at))._replace(rule=rule)
        source = world.written(at, about)
        climb = Ladder(*boxes).check(source)
        assert climb.reason == ""
        assert climb.environment is not None
        for row in rows_of(climb.environment, EnvironmentRunner(boxes[0]), 5, SeedTree(at)):
            assert isinstance(row, EnvironmentRow)
            words = row.problem.statement.split(": ")[1].split()
            assert row.problem.statement == world.question(words, rule)
            assert row.solution.text.split() == world.signs_of(words, rule)
            assert set(words) <= set(about.words)
            assert len(words) == world.LENGTHS[row.problem.meta["level"] - 1]


def test_what_no_ladder_sees_stands_on_it_and_asks_for_wrong_answers(boxes) -> None:
    found = {}
    for seed in range(400):
        rng = random.Random(seed)
        draft = world.draw_word_draft(seed, world.draw_task(rng), 0.0, 1.0, rng)
        if draft.defect in world.UNSEEN and draft.defect not in found:
            found[draft.defect] = draft
    assert set(found) == set(world.UNSEEN)
    for draft in found.values():
        assert Ladder(*boxes).check(draft.source).reason == ""
        environment = read_environment(draft.source).value
        assert environment is not None
        rows = rows_of(environment, EnvironmentRunner(boxes[0]), 20, SeedTree(1))
        right = [
            row.solution.text.split() == world.signs_of(row.problem.statement.split(": ")[1].split(), draft.about.rule)
            for row in rows
            if isinstance(row, EnvironmentRow)
        ]
        assert not all(right)


def test_shares_of_drafts_are_those_asked_for() -> None:
    def share(sound: float, rewarding: float) -> tuple[float, float]:
        drafts = []
        for seed in range(600):
            rng = random.Random(seed)
            drafts.append(world.draw_word_draft(seed, world.draw_task(rng), sound, rewarding, rng))
        wrong = [one for one in drafts if one.defect]
        paying = [one for one in wrong if one.defect in world.UNSEEN or one.defect == "permissive"]
        return 1 - len(wrong) / len(drafts), len(paying) / max(1, len(wrong))

    assert share(0.35, 1.0)[0] == pytest.approx(0.35, abs=0.05)
    assert share(0.35, 4.0)[1] > share(0.35, 1.0)[1] + 0.2
    assert share(1.0, 1.0)[0] == 1.0


def test_no_held_out_question_stands_in_the_rows_of_an_arm(boxes, tmp_path: Path) -> None:
    plan, seeds = EnvironmentPlan(2, 1.0, 1.0, 8, "smoke", 20, 40, 8), SeedTree(0)
    prepare(tmp_path, seeds, plan, *boxes)
    rows = [from_row(value) for _, value in read_lines(tmp_path / "rows.jsonl")]
    asked, heldout = asked_of(tmp_path)["heldout"], tasks_of_seed(seeds, plan).heldout
    assert len(rows) == (2 + world.HANDS) * 20 and len(asked) == 40 * 8
    assert not {one for one, _ in asked} & {one.statement for one in rows}
    anyhow = questions(heldout, 8, seeds.child("heldout"))
    assert {one for one, _ in anyhow} & {one.statement for one in rows}, "nobody kept them apart"
    assert [one.split()[4] for one, _ in asked] == [one.split()[4] for one, _ in anyhow]  # rules
    every = {world.question(pair, "plain") for pair in product(world.WORDS, repeat=2)}
    with pytest.raises(UsageError, match="no held-out question of 2 of the words bako, dilu"):
        questions([world.WordTask(("bako", "dilu"), "plain")], 1, SeedTree(0), every)


def records(finals: dict[str, list[float]], alike: dict[str, float] | None = None) -> list[Json]:
    found = []
    for arm, values in finals.items():
        for seed, value in enumerate(values):
            curve = [{"step": 0, "sampled": 0.1}, {"step": 9, "sampled": value, "greedy": value, "within": value}]
            log = [{"step": at, "reward": 0.5, "zero_variance": (alike or {}).get(arm, 0.5)} for at in range(30)]
            about = {"environments": 5, "rows": 9, "sound": 1.0, "unsound_reward": None}
            found.append({"arm": arm, "seed": seed, "curve": curve, "log": log, **about})
    return found


def test_the_table_says_what_was_reached_and_what_was_missed() -> None:
    finals = {"unfiltered": [0.4, 0.5], "filtered": [0.7, 0.8], "oracle": [0.8, 0.9], "rotation": [0.7, 0.9]}
    drafts = [[{"stage": "l5", "name": ""}, {"stage": "", "name": ""}, {"stage": "", "name": "by-hand"}]]
    good = summarize(records(finals, {"filtered": 0.6, "rotation": 0.3}), drafts)
    assert good["differences"]["filtered - unfiltered"]["mean"] == pytest.approx(0.3)
    assert (good["gap_closed"], good["fewer"], good["remarks"]) == (0.75, 0.5, [])
    assert good["gap_leaving_out_a_seed"] == [0.75, 0.75] and "(leaving out a seed: 0.75 to 0.75)" in markdown(good)
    assert "| oracle - unfiltered | +0.400" in markdown(good)
    unsure = summarize(records({**finals, "oracle": [0.8, 0.5]}), drafts)
    assert unsure["gap_closed"] is None and "closed by filtered: -." in markdown(unsure)
    assert good["drafts"] == {"kept": 1, "l5": 1}
    assert "checked environments teach better" in good["verdict"]
    assert good["simulated"] is True
    assert "50% fewer" in markdown(good)
    assert "no evidence about language models" in markdown(good)
    poor = summarize(records({**finals, "filtered": [0.45, 0.5]}, {"rotation": 0.45}), [])
    assert any("0.06 of the gap to the oracle; 0.5 was asked for" in one for one in poor["remarks"])
    assert any("10% fewer groups without variance" in one for one in poor["remarks"])
    assert "no difference is shown" in poor["verdict"]
    assert "nothing is compared" in summarize(records({"oracle": [0.5]}), [])["verdict"]


def test_an_arm_and_a_size_that_there_are_not_are_refused(tmp_path: Path) -> None:
    from evosyn.cli import group

    line = ["experiment", "environments", "--out", str(tmp_path)]
    with pytest.raises(UsageError, match="--arms 'evosyn': one of fixed, unfiltered"):
        CliRunner().invoke(group, [*line, "--arms", "evosyn"], catch_exceptions=False)
    found = CliRunner().invoke(group, [*line, "--size", "gpu"])
    assert found.exit_code == 2 and "'gpu' is not one of" in found.output


class Unknowing:
    """Judges as it is told, in turn; None: our infrastructure failed."""

    def __init__(self, passes: list[bool | None]) -> None:
        self.passes = passes

    def score(self, tasks: Sequence[Task], texts: Sequence[str]) -> list[Score]:  # noqa: ARG002
        verdicts = [Verdict.UNKNOWN if one is None else Verdict.PASS if one else Verdict.FAIL for one in self.passes]
        return [Score(one, float(one is Verdict.PASS), True) for one, _ in zip(verdicts, texts, strict=True)]


@pytest.mark.train
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_an_answer_that_nobody_could_judge_is_no_wrong_answer(boxes, tmp_path: Path) -> None:
    from evosyn.simulation.experiment.environment_policy import WordLearner, warm_weights

    found = [read_environment(world.written(at, one)).value for at, one in enumerate(world.tasks_by_hand()[:2])]
    rows = [rows_of(one, EnvironmentRunner(boxes[0]), 3, SeedTree(1)) for one in found if one is not None]
    kept = [row for each in rows for row in each if isinstance(row, EnvironmentRow)]
    samples, budget = samples_of(kept, domain(NAME)), StepBudget(warm_steps=1, width=16)
    warm_weights(tmp_path / "start", [(world.question(("bako",), "plain"), "<answer>A </answer>")], budget, SeedTree(1))
    learner = WordLearner(tmp_path / "start", {}, budget, boxes[0], SeedTree(1))
    learner._scorer = Unknowing([True, None, False, None, True, None])  # type: ignore[assignment]
    assert list(learner.rates(samples).values()) == [0.5, 1.0]
    learner._scorer = Unknowing([True, None, False, None, None, None])  # type: ignore[assignment]
    with pytest.raises(SandboxUnavailable, match=r"judged no answer of environment .* \(1 of 2 such\)"):
        learner.rates(samples)
    learner._tasks = tasks_of(samples)
    groups = [row for row in learner._tasks for _ in range(3)]
    passed = [True, None, False, *(True, None, True), *(None, None, None)]
    scores = Unknowing(passed).score([], groups[:9])
    assert learner._record(groups[:9], scores, [""] * 9).figures["zero_variance"] == 0.5  # of two groups that are known
    assert sum(learner._paid.values()) == 3


@pytest.mark.train
@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_the_smoke_size_runs_every_arm_and_tells_the_same_again(tmp_path: Path) -> None:
    from evosyn.cli import group

    line = ["experiment", "environments", "--size", "smoke", "--seeds", "1", "--out", str(tmp_path / "run")]
    line += ["--jobs", "1", "--allow-weak-sandbox"]
    first = CliRunner().invoke(group, line, catch_exceptions=False)
    assert first.exit_code == 0
    assert CliRunner().invoke(group, line, catch_exceptions=False).stdout.startswith(first.stdout[:500])
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    by_arm = {row["arm"]: row for row in report["arms"]}
    assert list(by_arm) == ["fixed", "unfiltered", "filtered", "rotation", "oracle"]
    assert by_arm["oracle"]["sound"] == by_arm["fixed"]["sound"] == 1.0
    assert by_arm["unfiltered"]["environments"] > by_arm["filtered"]["environments"]
    starts = {row["start_sampled"] for row in report["arms"]}
    assert len(starts) == 1
    shown = CliRunner().invoke(group, ["inspect", str(tmp_path / "run")], catch_exceptions=False).stdout
    assert "simulation" in shown
