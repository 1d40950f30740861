"""A strong start on pools that stay, rotate or write themselves: written environments, arms, the table; a smoke run."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import random
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.chat import Message, Request
from evosyn.dataset import from_row
from evosyn.environments.asking import REVIEW
from evosyn.environments.ladder import Ladder
from evosyn.environments.replies import read_draft
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import UsageError
from evosyn.jsonlines import read_lines
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.reported_steps import ReportedSteps
from evosyn.rundir import RunDir
from evosyn.sandbox import open_sandbox
from evosyn.simulation.experiment import environment_language as language
from evosyn.simulation.experiment import environment_world as world
from evosyn.simulation.experiment.environment_runs import AUTHOR, FateOfDraft, pool_of
from evosyn.simulation.experiment.selfplay_runs import ARMS, answered, experiment
from evosyn.simulation.experiment.selfplay_table import markdown, sign_seen, summarize, windows
from evosyn.synthesis.selfplay.state import DraftFate, PoolStep

trained = pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
ABOUT = world.WordTask(("bako", "gari", "lupi", "reka"), "framed")
SOUND = language.Statements(ABOUT, "framed", "exact")


@pytest.fixture(scope="module")
def boxes():
    with (
        open_sandbox("local", workers=1, allow_weak=True) as one,
        open_sandbox("local", workers=1, allow_weak=True, hash_seed=1) as other,
    ):
        yield one, other


# ------------------------------------------------------------------------------------------------------- language


@pytest.mark.parametrize(
    ("change", "stage"),
    [
        ({}, ""),
        ({"lengths": (4, 5, 6, 7, 8)}, ""),
        ({"told": "closed"}, ""),  # no ladder sees what a question should have told
        ({"told": world.UNTOLD}, ""),
        ({"verifier": "prefix"}, "l5"),
        ({"verifier": "permutation"}, "l5"),
        ({"verifier": "anything"}, "l5"),
        ({"lengths": (4, 4, 4, 4, 4)}, "l4"),
        ({"about": ABOUT._replace(words=("bako",))}, "l4"),
    ],
)
def test_the_ladder_finds_out_what_a_written_environment_is_worth(boxes, change: dict[str, Json], stage: str) -> None:
    written = SOUND._replace(**change)
    read = read_draft(written.text())
    assert read.value is not None
    climb = Ladder(*boxes).check(read.value)
    assert climb.stage == stage
    assert language.is_sound(read.value) == (not set(change) & {"told", "verifier"})
    assert language.task_in(read.value) == written.about


@pytest.mark.parametrize("missing", range(len(language.statements_in(SOUND.text()))))
def test_a_draft_without_a_statement_is_a_draft_that_fails(boxes, missing: int) -> None:
    line = language.statements_in(SOUND.text())[missing]
    found = read_draft(SOUND.text().replace(line, ""))
    is_word = line in language.WORDS.values()
    assert (found.value is not None and Ladder(*boxes).check(found.value).reason == "") == is_word


def test_written_programs_ask_and_answer_as_our_own_table_does(boxes) -> None:
    (climb,) = [Ladder(*boxes).check(SOUND.program())]
    assert climb.environment is not None
    for row in rows_of(climb.environment, EnvironmentRunner(boxes[0]), 5, SeedTree(1)):
        assert isinstance(row, EnvironmentRow)
        words = row.problem.statement.split(": ")[1].split()
        assert row.problem.statement == world.question(words, "framed")
        assert row.solution.text.split() == world.signs_of(words, "framed")


def test_of_the_drafts_of_a_careless_author_a_third_or_so_is_sound_and_of_four_words_at_most() -> None:
    some = [language.careless(random.Random(seed)) for seed in range(400)]
    sound = [language.is_sound(one.text()) and one.lengths != language.LENGTHS[-1] for one in some]
    assert 0.25 < sum(sound) / len(sound) < 0.5
    assert {len(one.about.words) for one in some} == {2, 3, 4}
    assert set(Counter(one.verifier for one in some)) == set(language.VERIFIERS)


def test_a_request_is_read_by_the_statements_of_the_programs_that_it_shows() -> None:
    one, other = (language.by_hand(about) for about in world.tasks_by_hand()[:2])
    shown = f"Write one.\n````python\n{one.program()}\n````\n\n````python\n{other.program()}\n````\nNo cheating."
    lines = [*language.statements_in(one.text()), *language.statements_in(other.text())]
    assert language.requested([shown]) == language.ASK + "".join(lines) and len(lines) == 12
    assert len(language.hands(AUTHOR)) == world.HANDS


# ----------------------------------------------------------------------------------------------------------- arms


def test_a_public_row_is_a_question_with_its_answer_and_no_program_that_made_it(boxes) -> None:
    from evosyn.domains import domains_named
    from evosyn.domains.environment import NAME
    from evosyn.environments.rows import samples_of
    from evosyn.train.data import tasks_of
    from evosyn.train.scoring import Scorer, reward_judge

    environment = language.hands(AUTHOR)[0]
    (row,) = rows_of(environment, EnvironmentRunner(boxes[0]), 1, SeedTree(1))
    assert isinstance(row, EnvironmentRow)
    public = answered(row)
    assert public.problem == row.problem and "generate" not in public.testing.body["program"]
    domains = domains_named({NAME})
    (task,) = tasks_of(samples_of([public], domains[NAME])).values()
    texts = [f"<answer>{text}</answer>" for text in (row.solution.text, row.solution.text + " A")]
    assert [one.passed for one in Scorer(reward_judge(boxes[0], domains)).score([task, task], texts)] == [True, False]


@pytest.mark.train
@trained
def test_the_made_up_review_rejects_what_is_unsound_more_often_and_says_the_same_again() -> None:
    from evosyn.simulation.experiment.selfplay_student import ToyStudent

    student = ToyStudent(None, SeedTree(3))  # type: ignore[arg-type]  # a review asks no policy

    def rejected(text: str) -> bool:
        reply = asyncio.run(student.complete(Request((Message("user", text),), REVIEW, {})))
        return bool(json.loads(reply.text)["verdict"] == "reject")

    sound = [rejected(f"{SOUND.text()}{at}") for at in range(200)]
    unsound = [rejected(f"{SOUND._replace(told='closed').text()}{at}") for at in range(200)]
    assert sum(sound) / 200 == pytest.approx(0.1, abs=0.07)
    assert sum(unsound) / 200 == pytest.approx(0.75, abs=0.1)
    assert [rejected(f"{SOUND.text()}{at}") for at in range(200)] == sound
    with pytest.raises(UsageError, match="reviews alone"):
        asyncio.run(student.complete(Request((Message("user", ""),), "environment", {})))


@pytest.mark.train
@trained
def test_a_start_that_cannot_be_as_strong_as_it_should_is_refused_and_written_nowhere(tmp_path: Path) -> None:
    from evosyn.simulation.experiment import selfplay_start
    from evosyn.simulation.experiment.toy_data import StepBudget

    data, few = selfplay_start.fit_data(SeedTree(1)), selfplay_start.FURTHER._replace(steps=4)
    assert len(data.pool) == world.HANDS * selfplay_start.PER_HAND
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"FIRST": few, "FURTHER": few, "ROUNDS": 2}.items():
            patch.setattr(selfplay_start, name, value)
        with pytest.raises(UsageError, match=r"solves 0\.\d\d of the fixed pool after 8 steps"):
            selfplay_start.strong_start(tmp_path / "start", data, StepBudget(width=16), SeedTree(1))
    assert not (tmp_path / "start").exists()


@pytest.mark.train
@trained
def test_rounds_of_the_start_come_after_the_first_that_is_kept_and_what_is_taken_back_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evosyn.simulation.experiment import selfplay_start as start
    from evosyn.simulation.experiment.toy_data import StepBudget

    rates, taken = iter([0.9, 0.4, 0.5, 0.95, 0.97, 0.98]), []
    monkeypatch.setattr(start, "fit_pairs", lambda *given: taken.append((given[3].steps, given[3].rate)))
    monkeypatch.setattr(start, "drawn", lambda *_: [])
    monkeypatch.setattr(start, "share_right", lambda *_: next(rates))
    monkeypatch.setattr(start, "ROUNDS", 6)
    with pytest.raises(UsageError, match=r"solves 0\.50 of the fixed pool after 144 steps"):
        start.strong_start(tmp_path / "start", start.fit_data(SeedTree(1)), StepBudget(width=16), SeedTree(1))
    first, further = start.FIRST.rate, start.FURTHER.rate
    assert taken == [(240, first), (120, first), (24, further), (24, further), (12, further), (6, further)]


@pytest.mark.train
@trained
def test_drafts_that_came_in_with_words_and_rule_of_a_held_out_environment_are_counted(tmp_path: Path) -> None:
    from evosyn.simulation.experiment.selfplay_student import joint_figures

    other = SOUND._replace(about=ABOUT._replace(rule="opened"), told="opened")
    sources = (SOUND.program(), other.program(), "")
    fates = tuple(DraftFate(1, at, level=5, source=one) for at, one in enumerate(sources))
    with RunDir(tmp_path / "run") as run:
        steps = ReportedSteps(run.journal, PoolStep)
        steps.begin({"kind": "test"})
        steps.append(PoolStep(0, drafts=fates))
        found = joint_figures(run, [ABOUT, ABOUT._replace(rule="closed")])
    assert (found["came"], found["widest"], found["held"]) == (2, 4, 1)


def test_arms_of_drafts_begin_with_the_same_rows(tmp_path: Path) -> None:
    fates = [FateOfDraft("one", "", "", "", "", 2), FateOfDraft("two", "", "", "l5", "", 2)]
    (tmp_path / "drafts.json").write_text(json.dumps([asdict(one) for one in fates]))
    (tmp_path / "band.json").write_text(json.dumps({"one": 0.5}))
    assert pool_of(tmp_path, "drafted", banded=True) == pool_of(tmp_path, "rotation", banded=True) != []
    assert ARMS.index("fixed") < ARMS.index("drafted") < ARMS.index("rotation")


# ---------------------------------------------------------------------------------------------------------- table


def record(arm: str, seed: int, end: float, l5: tuple[float, float] = (0.3, 0.6), late: float = 0.4) -> Json:
    curve = [{"step": 0, "sampled": 0.3}, {"step": 20, "sampled": end, "greedy": end, "within": end}]
    found: Json = {"arm": arm, "seed": seed, "curve": curve, "start": {"rate": 0.8, "steps": 40}}
    if arm == "none":
        return found
    found["log"] = [{"reward": 9.0, "pass_rate": 0.5, "zero_variance": at / 20, "pool": 10 + at} for at in range(20)]
    if arm == "selfplay":
        steps = [{"l5": l5[at > 9], "rate": None if at == 3 else (0.7, late)[at > 9], "novelty": 0.2, "came": 1}
                 for at in range(20)]  # fmt: skip
        found |= {"joint": steps, "came": 20, "came_unsound": 2, "widest": 4, "held": 0}
    return found


ENDS = {"none": 0.3, "public": 0.2, "fixed": 0.3, "drafted": 0.4, "rotation": 0.5, "selfplay": 0.6}


def test_the_table_tells_differences_and_whether_their_signs_are_those_of_the_paper() -> None:
    noise = (0.0, 0.01, -0.01)
    ends = [(arm, seed, end + (0 if arm == "none" else noise[seed])) for arm, end in ENDS.items() for seed in range(3)]
    table = summarize([record(*one) for one in ends])
    assert table["differences"]["selfplay - fixed"]["mean"] == pytest.approx(0.3)
    assert table["signs"] == {
        "public - none": "yes", "fixed - none": "not shown", "selfplay - none": "yes", "selfplay - fixed": "yes",
    }  # fmt: skip
    others = ("rotation - fixed", "drafted - fixed", "selfplay - drafted", "rotation - drafted", "rotation - none")
    assert [table["differences"][name]["mean"] for name in others] == pytest.approx([0.2, 0.1, 0.2, 0.1, 0.2])
    assert "selfplay - drafted = +0.200" in table["verdict"] and "rotation - fixed" not in table["verdict"]
    assert "| rotation - fixed | +0.200 [0.200, 0.200] | - |" in markdown(table) and "the fixed pool |" in markdown(
        table
    )
    assert "fixed - none: not shown" in table["verdict"]
    by_arm = {row["arm"]: row for row in table["arms"]}
    assert by_arm["fixed"]["reward_end"] == 0.5  # of questions, not of drafts
    assert by_arm["none"]["zero_variance"] is None
    assert by_arm["fixed"]["zero_variance"] == pytest.approx([0.075, 0.275, 0.475, 0.675, 0.875])
    told = markdown(table)
    assert table["simulated"] is True and "SIMULATED" in told and "| selfplay - fixed |" in told
    assert "0.07 0.28" in told or "0.08 0.28" in told


def test_a_sign_needs_an_interval_without_zero() -> None:
    assert sign_seen(1, {"mean": 0.1, "low": 0.05, "high": 0.2}) == sign_seen(-1, {"low": -0.2, "high": -0.1}) == "yes"
    assert sign_seen(1, {"mean": -0.1, "low": -0.2, "high": -0.05}) == "opposite"
    assert sign_seen(1, {"low": -0.1, "high": 0.2}) == sign_seen(1, {"low": None, "high": None}) == "not shown"


def test_the_joint_run_is_seen_where_four_of_five_seeds_pass_and_no_sooner() -> None:
    good = [record("selfplay", seed, 0.5) for seed in range(5)]
    found = summarize(good)["selfplay"]
    assert found["held"] == 0 and "None of them has words and rule of a held-out environment" in markdown(
        summarize(good)
    )
    earlier = [{name: one[name] for name in one if name != "held"} for one in good[:1]]
    assert "held-out environment" not in markdown(summarize([*earlier, *good[1:]]))
    assert found["passed"] == 5 and found["seen"] and found["checks"][0]["l5"] == [0.3, 0.6]
    assert found["by_window"]["pool"] == pytest.approx([11.5, 15.5, 19.5, 23.5, 27.5])
    flat, away = record("selfplay", 0, 0.5, l5=(0.5, 0.7)), record("selfplay", 1, 0.5, late=0.9)
    one = summarize([flat, *good[1:]])["selfplay"]
    assert (one["passed"], one["seen"], one["checks"][0]["rises"], one["checks"][0]["nears"]) == (4, True, False, True)
    two = summarize([flat, away, *good[2:]])
    assert (two["selfplay"]["passed"], two["selfplay"]["seen"]) == (3, False) and "not seen" in markdown(two)
    assert "nothing is concluded" in two["verdict"] and summarize([record("none", 0, 0.3)])["selfplay"] is None
    assert windows([]) == [None] * 5


# ------------------------------------------------------------------------------------------------------ all of it


def line(out: Path, *more: str) -> list[str]:
    told = ["experiment", "coevolve", "--recipe", "evoenv", "--out", str(out), "--allow-weak-sandbox"]
    return [*told, "--jobs", "1", *more]


def test_arms_of_the_other_recipe_and_the_large_size_are_refused(tmp_path: Path) -> None:
    from evosyn.cli import group

    with pytest.raises(UsageError, match="--arms 'dr': one of none, public"):
        CliRunner().invoke(group, line(tmp_path, "--arms", "dr"), catch_exceptions=False)
    with pytest.raises(UsageError, match="--arms 'selfplay': one of dr, sfl"):
        told = ["experiment", "coevolve", "--out", str(tmp_path), "--arms", "selfplay"]
        CliRunner().invoke(group, told, catch_exceptions=False)
    found = CliRunner().invoke(group, line(tmp_path, "--size", "gpu"))
    assert found.exit_code == 2 and "'gpu' is not one of" in found.output


@pytest.mark.train
@pytest.mark.long
@trained
def test_the_smoke_size_runs_every_arm_and_one_that_was_lost_ends_alike(tmp_path: Path) -> None:
    from evosyn.cli import group

    out = tmp_path / "run"
    told = line(out, "--size", "smoke", "--seeds", "1")
    assert CliRunner().invoke(group, told, catch_exceptions=False).exit_code == 0
    report = json.loads((out / "report.json").read_text())
    assert [row["arm"] for row in report["arms"]] == list(ARMS)
    assert len({row["start_sampled"] for row in report["arms"]}) == 1  # the same weights
    asked = {one for one, _ in json.loads((out / "seed-0" / "asked.json").read_text())["heldout"]}
    rows = [value for name in ("rows", "fixed", "public")
            for _, value in read_lines(out / "seed-0" / f"{name}.jsonl")]  # fmt: skip
    assert asked and not asked & {from_row(one).statement for one in rows}
    assert 0.75 <= report["start"]["0"]["rate"] <= 0.85 and report["simulated"] is True
    before = json.loads((out / "seed-0" / "selfplay.json").read_text())
    assert len(before["joint"]) == 3 and len(before["log"]) == 4  # after the last step no draft could be trained on
    assert "SIMULATED" in (out / "coevolve.md").read_text() and (out / "curves.png").exists()
    (out / "seed-0" / "selfplay.json").unlink()
    CliRunner().invoke(group, told, catch_exceptions=False)
    again = json.loads((out / "seed-0" / "selfplay.json").read_text())
    assert [again[name] for name in ("joint", "curve", "came")] == [before[name] for name in ("joint", "curve", "came")]
    assert "simulation" in CliRunner().invoke(group, ["inspect", str(out)], catch_exceptions=False).stdout


def test_the_experiment_is_one_of_environments_with_other_work() -> None:
    from evosyn.simulation.experiment.environment_runs import EnvironmentExperiment

    assert isinstance(experiment(None, "smoke", (0,), ARMS, jobs=1, rate=3e-4), EnvironmentExperiment)  # type: ignore[arg-type]
