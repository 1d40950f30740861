"""The small world of problems that evolve: mutators, arms, policy, what is estimated of them; all of it at smoke."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from evosyn.errors import UsageError
from evosyn.ports import GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.simulation.experiment import coevolve_world as world
from evosyn.simulation.experiment.coevolve_arms import ARMS, CurriculumSource, TriedMutant, source_of
from evosyn.simulation.experiment.coevolve_estimates import (
    at_completions,
    check_figures,
    contested_by_window,
    cross_fitted_cvar,
    validity,
)
from evosyn.simulation.experiment.coevolve_learner import check_slope
from evosyn.simulation.experiment.coevolve_mutations import FAULTLESS, MutatorErrors, contested, mutate
from evosyn.simulation.experiment.coevolve_policy import TaggingPolicy, load_policy
from evosyn.simulation.experiment.coevolve_table import markdown, summarize
from evosyn.synthesis.mutations.asking import DISTRACTOR, SETTING, SYMBOLIC

CHAINS = ((SETTING,), (SETTING, DISTRACTOR), (SETTING, SYMBOLIC), (SETTING, DISTRACTOR, SYMBOLIC))


def problems(count: int, seed: int = 1) -> list[world.StepsProblem]:
    rng = random.Random(seed)
    return [world.draw_steps(rng, rng.choice(world.SETTINGS), rng.randint(1, 5), at % 2) for at in range(count)]


def right_signs(problem: world.StepsProblem) -> list[str]:
    return [world.MEANS[word] for word in problem.words]


# ---------------------------------------------------------------------------------------------------------- world


def test_a_problem_is_solved_by_its_signs_and_by_no_answer_with_one_wrong_sign() -> None:
    for problem in problems(60):
        signs = right_signs(problem)
        assert problem.solved_by(signs) and problem.answer == problem.right
        others = [[*signs[:at], other, *signs[at + 1 :]] for at in range(len(signs)) for other in world.SIGNS]
        assert not any(problem.solved_by(one) for one in others if one != signs)
        assert world.steps_of(problem.to_text()) == problem


def test_seeds_are_short_and_of_few_settings_and_held_out_problems_are_not() -> None:
    seeds = world.draw_seeds(SeedTree(1), 600)
    assert {one.steps for one in seeds} == {1, 2} and not any(
        word in world.ASIDES for one in seeds for word in one.words
    )
    often = Counter(one.setting for one in seeds)
    assert often[world.SETTINGS[0]] > 4 * often[world.SETTINGS[-1]] > 0
    for name, (steps, asides) in world.SUITES.items():
        suite = world.draw_suite(SeedTree(1), name, 200)
        assert {one.steps for one in suite} == set(steps) and {one.setting for one in suite} == set(world.SETTINGS)
        assert {len(one.words) - one.steps for one in suite} == {asides}


# -------------------------------------------------------------------------------------------------------- mutators


@pytest.mark.parametrize("links", CHAINS)
def test_a_mutator_without_mistakes_makes_right_problems_that_no_check_refuses(links: tuple[str, ...]) -> None:
    rng = random.Random(2)
    for parent in problems(200):
        made = mutate(parent, links, "scientific", FAULTLESS, rng)
        assert not made.invalid and made.numbers_kept and not made.program_differs
        assert made.problem.setting == "scientific" and 1 <= made.problem.steps <= world.MOST_STEPS
        assert {word.partition(":")[0] for word in made.problem.words} <= {"scientific", "aside"}
        assert len(made.problem.words) == len(made.problem.numbers) <= world.MOST_WORDS


@pytest.mark.parametrize(("link", "share"), [(SETTING, 0.22), (DISTRACTOR, 0.08), (SYMBOLIC, 0.44)])
def test_a_mutator_spoils_as_many_problems_as_it_is_said_to(link: str, share: float) -> None:
    rng, parents = random.Random(3), [one for one in problems(1500) if one.steps < 5]
    invalid = [mutate(parent, (link,), parent.setting, MutatorErrors(), rng).invalid for parent in parents]
    assert np.mean(invalid) == pytest.approx(share, abs=0.04)


def test_the_checks_see_some_of_what_is_wrong_and_nothing_of_what_is_right() -> None:
    rng, said = random.Random(4), Counter[tuple[bool, bool, bool]]()
    for parent in problems(1500):
        made = mutate(parent, (SETTING,), "events", MutatorErrors(setting=0.5), rng)
        said["numbers", made.invalid, made.numbers_kept] += 1  # type: ignore[index]
        made = mutate(parent, (SYMBOLIC,), "events", MutatorErrors(symbolic=0.5), rng)
        said["program", made.invalid, made.program_differs] += 1  # type: ignore[index]
    assert said["numbers", False, False] == said["program", False, True] == 0  # type: ignore[index]
    for name in ("numbers", "program"):  # each finds some, and none finds all
        assert said[name, True, True] > 50 < said[name, True, False]  # type: ignore[index]


def test_an_answer_is_contested_by_one_other_that_half_of_them_give() -> None:
    assert contested([5, 5, 7, 9], 7) and not contested([5, 6, 7, 9], 7)
    assert not contested([7, 7, 7, 5], 7) and contested([7, 7, 5, 5], 7) and not contested([], 7)


# ------------------------------------------------------------------------------------------------------------ arms


class Student:
    """Solves what has at most two words, and nothing else."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, asked: Sequence[world.StepsProblem], each: int) -> list[list[tuple[str, ...]]]:
        self.asked += each * len(asked)
        wrong = [("+",) * each for each in range(9)]
        return [
            [tuple(right_signs(one)) if len(one.words) < 3 and at % 2 else wrong[len(one.words)] for at in range(each)]
            for one in asked
        ]


def led(arm: str, steps: int, passed: int = 3) -> tuple[CurriculumSource, Student]:
    student = Student()
    source = source_of(ARMS[arm], world.draw_seeds(SeedTree(5), 96), SeedTree(5), student)
    assert isinstance(source, CurriculumSource)
    for step in range(steps):
        source.report(step, [GroupOutcome(one.name, passed, 8) for one in source.batch(step, 16)])
    return source, student


@pytest.mark.parametrize("arm", [name for name, arm in ARMS.items() if arm.curriculum is not None])
def test_a_curriculum_of_an_arm_is_the_same_again_and_counts_what_it_asks(arm: str) -> None:
    source, student = led(arm, 30)
    again, _ = led(arm, 30)
    assert source.held.fingerprint() == again.held.fingerprint() and source.mutants == again.mutants
    assert source.completions == student.asked
    assert all(len([slot for slot in source.held.slots.values() if slot.cell == cell]) <= 4 for cell in world.SETTINGS)
    assert set(source.figures()) == {"invalid", "behind", "learnability"}


def test_what_is_blind_to_learnability_asks_nobody_and_does_not_hang_on_outcomes() -> None:
    source, student = led("mutate-uniform", 40, passed=0)
    other, _ = led("mutate-uniform", 40, passed=5)
    assert source.held.fingerprint() == other.held.fingerprint() and student.asked == 0
    assert source.figures()["invalid"] > 0.2 and source.figures()["behind"] > 1
    assert led("dejaq-a", 9, passed=0)[0].held.fingerprint() != led("dejaq-a", 9, passed=5)[0].held.fingerprint()


def test_learnability_keeps_out_what_no_student_solves() -> None:
    source, _ = led("dejaq-a", 40)
    tried = source.mutants
    assert np.mean([one.invalid for one in tried]) > 0.25
    assert all(0 < one.passed < one.known for one in tried if one.entered)
    assert source.figures()["invalid"] < 0.15


def test_seeds_come_by_lot_or_half_of_them_by_what_can_be_learnt() -> None:
    seeds, student = world.draw_seeds(SeedTree(5), 96), Student()
    plain, scored = (source_of(ARMS[arm], seeds, SeedTree(5), student) for arm in ("dr", "sfl"))
    assert plain.completions == 0 and scored.completions == 96 * 8
    assert len(plain.batch(0, 16)) == 16 and plain.batch(1, 16) != plain.batch(2, 16)
    for step in range(20):
        scored.report(step, [])
    assert scored.completions == 3 * 96 * 8


# ---------------------------------------------------------------------------------------------------------- policy


def test_a_policy_learns_what_it_is_paid_for_and_draws_the_same_again(tmp_path: Path) -> None:
    told = [(one.words, right_signs(one)) for one in problems(300)]
    policy = TaggingPolicy(SeedTree(1))
    policy.imitate(told, 40, 3e-3)
    policy.save(tmp_path / "base.npz")
    asked = problems(40, seed=2)

    def solved(one: TaggingPolicy) -> float:
        return float(
            np.mean([p.solved_by(s) for p, each in zip(asked, one.answers(asked, 8), strict=True) for s in each])
        )

    one, other = (load_policy(tmp_path / "base.npz", SeedTree(3)) for _ in range(2))
    before = solved(one)
    assert before == solved(other) and 0 < before < 0.8
    for _ in range(60):
        answers = one.answers(asked, 8)
        paid = [[float(p.solved_by(signs)) for signs in each] for p, each in zip(asked, answers, strict=True)]
        one.reinforce(asked, answers, paid, 3e-3)
    assert solved(one) > before + 0.2
    assert len(one.greedy(asked)) == 40 and one.answers([], 8) == []


def test_groups_that_end_alike_teach_nothing() -> None:
    policy, (problem,) = TaggingPolicy(SeedTree(1)), problems(1)
    before = {name: each.copy() for name, each in policy.weights.items()}
    policy.reinforce([problem], policy.answers([problem], 4), [[1.0] * 4], 0.1)
    assert all((policy.weights[name] == each).all() for name, each in before.items())


def test_a_base_with_a_cliff_is_refused_with_what_was_seen() -> None:
    check_slope(3, [0.7, 0.4, 0.2, 0.07])
    with pytest.raises(UsageError, match=r"seed 3: the base has a cliff: 2 steps .* 0.400, 3 with 0.100"):
        check_slope(3, [0.7, 0.4, 0.1, 0.09])
    with pytest.raises(UsageError, match="cliff"):
        check_slope(3, [0.0, 0.0])


# ------------------------------------------------------------------------------------------------------- estimates


def marks(left: int, right: int) -> list[int]:
    return [1] * left + [0] * (4 - left) + [1] * right + [0] * (4 - right)


def chance(count: int, p: Fraction) -> Fraction:
    return comb(4, count) * p**count * (1 - p) ** (4 - count)


@pytest.mark.parametrize("chances", [(Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(2, 3))])
def test_cross_fitted_cvar_is_without_bias_over_all_outcomes(chances: tuple[Fraction, Fraction]) -> None:
    """Its mean is the true chance of the tasks that a half ranks last; ranked and averaged on the same samples it is
    less than that, also where there is no worse task at all."""
    found = wanted = same = Fraction(0)
    for a, b, c, d in product(range(5), repeat=4):
        weight = chance(a, chances[0]) * chance(b, chances[0]) * chance(c, chances[1]) * chance(d, chances[1])
        found += weight * cross_fitted_cvar([marks(a, b), marks(c, d)], 0.5)
        last = [at for at, count in enumerate((a, c)) if count == min(a, c)]
        wanted += weight * sum(chances[at] for at in last) / len(last)
        same += weight * min(Fraction(a + b, 8), Fraction(c + d, 8))
    assert found == wanted
    assert same < found <= Fraction(1, 2)


def test_the_worst_of_all_tasks_are_all_of_them() -> None:
    tasks = [marks(4, 3), marks(0, 1), marks(2, 2)]
    assert cross_fitted_cvar(tasks, 1.0) == Fraction(12, 24)
    assert cross_fitted_cvar(tasks, 0.01) == (Fraction(1, 4) + Fraction(0, 4)) / 2
    for few in ([[1] * 7], [], [marks(1, 1), [1] * 9]):
        with pytest.raises(ValueError, match="CVaR needs"):
            cross_fitted_cvar(few, 0.5)


def test_a_curve_at_equal_completions_is_read_between_its_measurements() -> None:
    curve = [{"completions": 100, "p1": 0.2}, {"completions": 300, "p1": 0.6}, {"completions": 400, "p1": 0.5}]
    assert [at_completions(curve, spent, "p1") for spent in (0, 100, 200, 300, 350, 900)] == pytest.approx(
        [0.2, 0.2, 0.4, 0.6, 0.55, 0.5]
    )


def tried(invalid: bool, passed: int = 4, depth: int = 1, step: int = 0, **says: bool) -> TriedMutant:
    told = {"numbers": False, "contested": False, "program": False, **says}
    return TriedMutant(step, depth, passed, 8, invalid, entered=True, **told)


def test_validity_and_checks_are_counts_of_the_truth() -> None:
    some = [
        tried(True, 0, numbers=True),
        tried(True, 4, 2, contested=True),
        tried(False),
        tried(False, 8, 3, program=True),
    ]
    rows = {(row["of"], row["least"]): row for row in validity(some)}
    assert rows["learnability", 0.0]["invalid_given_least"] == rows["learnability", 0.2]["invalid_given_least"] == 0.5
    assert rows["learnability", 0.2]["least_given_invalid"] == 0.5 and rows["learnability", 0.25]["mutants"] == 2
    assert rows["depth", 2]["invalid_given_least"] == rows["depth", 2]["least_given_invalid"] == 0.5
    checks = {row["check"]: row for row in check_figures(some)}
    assert (checks["numbers kept"]["precision"], checks["numbers kept"]["recall"]) == (1.0, 0.5)
    assert (checks["program"]["precision"], checks["program"]["right_removed"]) == (0.0, 0.5)
    assert (checks["any of them"]["recall"], checks["any of them"]["invalid_after"]) == (1.0, 0.0)
    late = [*some, tried(True, step=25, contested=True), tried(True, step=25), tried(False, step=25, contested=True)]
    assert [row["recall"] for row in contested_by_window(late)] == [0.5, 0.5]
    assert [row["precision"] for row in contested_by_window(late)] == [1.0, 0.5]


def test_mutants_that_nobody_tried_have_no_learnability() -> None:
    untried = tried(True)._replace(passed=0, known=0)
    assert validity([untried])[0]["mutants"] == 0 and validity([])[0]["invalid_given_least"] is None


# ----------------------------------------------------------------------------------------------------------- table


def record(arm: str, seed: int, end: float, spent: int) -> Json:
    def point(step: int, value: float, completions: int) -> Json:
        return {"step": step, "sampled": value, "completions": completions, **dict.fromkeys(world.SUITES, value)}

    curve = [point(0, 0.1, 0), {**point(9, end, spent), "greedy": end}]
    log = [{"reward": 0.5, "signal": 0.5}] * 9
    return {"arm": arm, "seed": seed, "curve": curve, "log": log, "mutants": [], "marks": {"p1": [marks(2, 2)] * 4}}


def test_the_table_says_what_is_shown_at_equal_steps_and_at_equal_completions() -> None:
    ends = {"dr": (0.4, 100), "mutate-uniform": (0.3, 100), "dejaq-a": (0.7, 200)}
    records = [record(arm, seed, end + seed / 100, spent) for arm, (end, spent) in ends.items() for seed in range(3)]
    table = summarize(records, {0: [0.7, 0.5]})
    assert table["differences"]["dejaq-a - dr"]["mean"] == pytest.approx(0.3)
    equal = table["at_equal_completions"]["dejaq-a - dr"]["p1"]["mean"]  # half of its way up
    assert equal == pytest.approx(np.mean([(0.1 + 0.7 + at / 100) / 2 - 0.4 - at / 100 for at in range(3)]), abs=1e-3)
    assert "better on p1, p2, p3, distract, worse on none" in table["verdict"]
    assert any("no gain is shown" in one and "cvar" in one for one in table["remarks"])
    assert "SIMULATED" in markdown(table) and table["simulated"] is True
    assert "nothing is concluded" in summarize(records[:3], {})["verdict"]
    alone = summarize([one for one in records if one["seed"] == 0], {})
    assert "one seed says nothing" in alone["verdict"]


# ------------------------------------------------------------------------------------------------------- all of it


def line(out: Path, *more: str) -> list[str]:
    return ["experiment", "coevolve", "--size", "smoke", "--out", str(out), *more]


def called(arguments: list[str]) -> str:
    from evosyn.cli import group

    found = CliRunner().invoke(group, arguments, catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def test_an_arm_and_a_size_that_there_are_not_are_refused(tmp_path: Path) -> None:
    from evosyn.cli import group

    with pytest.raises(UsageError, match="--arms 'evosyn': one of dr, sfl"):
        called(line(tmp_path, "--arms", "evosyn"))
    found = CliRunner().invoke(group, ["experiment", "coevolve", "--out", str(tmp_path), "--size", "gpu"])
    assert found.exit_code == 2 and "'gpu' is not one of" in found.output


def test_the_smoke_size_runs_every_arm_and_a_run_that_lost_some_ends_alike(tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "run"
    called(line(whole, "--seeds", "2"))
    report = json.loads((whole / "report.json").read_text())
    assert [row["arm"] for row in report["arms"]] == list(ARMS)
    assert len({row["start_mean"] for row in report["arms"]}) == 1  # the same weights
    assert report["simulated"] is True and set(report["mutants"]) == {"dejaq-a", "dejaq-s"}
    assert {row["arm"]: row["held_invalid"] for row in report["arms"]}["dejaq-a-valid"] == 0.0
    assert (whole / "curves.png").exists() and "SIMULATED" in (whole / "coevolve.md").read_text()
    called(line(out, "--seeds", "1", "--arms", "dejaq-a"))
    called(line(out, "--seeds", "2"))
    (out / "seed-1" / "dejaq-a.json").unlink()
    (out / "seed-1" / "base.npz").unlink()
    (out / "seed-1" / "slope.json").unlink()
    called(line(out, "--seeds", "2"))
    assert (out / "report.json").read_text() == (whole / "report.json").read_text()
    with pytest.raises(UsageError, match="started with other settings"):
        called(["experiment", "coevolve", "--out", str(out)])
    assert "simulation" in called(["inspect", str(whole)])


@pytest.mark.long
def test_a_run_that_is_killed_goes_on_to_the_same_report(tmp_path: Path) -> None:
    rng, out, whole = random.Random(0), tmp_path / "run", tmp_path / "whole"
    told = [sys.executable, "-m", "evosyn", *line(out, "--seeds", "2")]
    for _ in range(4):
        running = subprocess.Popen(told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ})
        done = len(list(out.glob("seed-*/*.json")))
        while running.poll() is None and len(list(out.glob("seed-*/*.json"))) <= done + 2:
            time.sleep(0.01)
        time.sleep(rng.random() / 5)
        running.send_signal(signal.SIGKILL)
        running.wait()
    subprocess.run(told, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    called(line(whole, "--seeds", "2"))
    assert (out / "report.json").read_text() == (whole / "report.json").read_text()
