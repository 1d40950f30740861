"""`evosyn coevolve` before anything is loaded: what it would take, and what it refuses by name."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from simulation import TEACHER

from evosyn.cli import group
from evosyn.errors import UsageError

BARE = ("coevolve", "builtin:math-seeds", "--model", "builtin:tiny", "--out", "/nowhere/run")
LINE = (*BARE, "--teacher", TEACHER)


def said(*more: str) -> str:
    return str(CliRunner().invoke(group, [*LINE, *more], catch_exceptions=False).stdout)


def test_what_it_would_take_is_said_from_a_sample_and_an_arm_without_mutants_asks_nobody() -> None:
    found = json.loads(said("--steps", "100", "--dry-run", "--json"))
    mutants = (100 - 1 - 48 / 8) * (8 / 4) * 0.75
    assert found["problems"] == round(mutants) and found["calls"] == round(mutants * (1 + 0.6 + 0.6))
    assert found["calls_at_most"] == round(5 * mutants) and found["executions"] == 100 * 8 * 4
    assert found["simulated"] and found["sampled_calls"] == 6
    assert json.loads(said("--arm", "dr", "--dry-run", "--json"))["calls"] == 0


POOL = ("coevolve", "builtin:env-seeds", "--recipe", "evoenv", "--model", "builtin:tiny", "--out", "/nowhere/run")


@pytest.mark.parametrize("line", [BARE, POOL])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_who_writes_something_new_has_to_be_named(line: tuple[str, ...], more: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="no teacher is named, and --model is the student: --teacher self"):
        CliRunner().invoke(group, [*line, "--steps", "9", *more], catch_exceptions=False)


def test_a_pool_of_environments_takes_drafts_and_no_problems() -> None:
    line = [*POOL, "--teacher", TEACHER, "--steps", "10", "--dry-run", "--allow-weak-sandbox"]
    shown = CliRunner().invoke(group, line, catch_exceptions=False).stdout
    drafts = (10 - 1 - 1) * 2  # none is asked for in the last steps, nor before it could be there
    assert f"{drafts} drafts" in shown and "problems" not in shown and "review" in shown
    bare = [*line, "--arm", "no-review", "--json"]
    found = json.loads(CliRunner().invoke(group, bare, catch_exceptions=False).stdout)
    assert found["drafts"] == drafts and "review" not in found["phases"]
    assert found["executions"] == 10 * 8 * 4 + drafts * 8


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--arm", "all"), "--arm 'all': one of dejaq-a, dejaq-s, resample, mutate-uniform, dr"),
        (("--recipe", "all"), "--recipe 'all': one of dejaq, evoenv"),
        (("--recipe", "evoenv"), "builtin:math-seeds: no such file, directory or environment"),
        (("--recipe", "evoenv", "--arm", "dejaq-a"), "builtin:math-seeds"),
        (("--recipe", "evoenv", "--set", "rollout.engine=vllm-server"), "the model in training mutates with the"),
        (("--set", "coevolution.curriculum.ignore_top=8"), "ignore_top 8: must be less than the 8 settings"),
        (("--set", "rollout.group=1"), "rollout.group: must be greater than or equal to 2"),
        (("--set", "optim.iterations=2"), "optim.iterations=2: rows that change while a model trains"),
        (("--set", "rotation.active=8"), "rotation.active: is another way to change rows"),
        (("--teacher", "self", "--dry-run"), "--dry-run: the model in training cannot be asked beforehand"),
    ],
)
def test_what_cannot_be_is_refused_by_name(more: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError) as found:
        said(*more)
    assert told in str(found.value)


def test_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UsageError, match=r"evosyn coevolve\) work in one process only"):
        said()
