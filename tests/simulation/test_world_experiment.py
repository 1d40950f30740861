"""The toy of `evosyn experiment worlds`: its language, its rewards, its defects, and a smoke run."""

import importlib.util
import json

import pytest
from click.testing import CliRunner

from evosyn.randomness import SeedTree
from evosyn.simulation.experiment import world_data as data
from evosyn.simulation.experiment.world_data import DEFECTS, ToyTask, defective, draw_tasks, unexecuted, variant
from evosyn.worlds.tools.files import bundled, read_world
from evosyn.worlds.tools.gate import fault

needs_train = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the train extra")


@pytest.fixture(scope="module")
def tasks() -> list[ToyTask]:
    return draw_tasks(9, range(2), SeedTree(7))


def test_every_defect_fits_a_tool_and_leaves_one_that_may_run():
    tools = {tool.name: tool for name in bundled() for tool in read_world(f"builtin:{name}").tools}
    assert set(DEFECTS) <= set(tools)
    for name in DEFECTS:
        spoilt = defective(tools[name])
        assert spoilt.source != tools[name].source and not fault(spoilt)


def test_a_variant_has_the_same_tools_and_other_words():
    first, other = variant("library", 0), variant("library", 1)
    assert [one.source for one in first.tools] == [one.source for one in other.tools]
    assert [one.request for one in first.tools] != [one.request for one in other.tools]
    assert variant("library", 1) == other


def test_tasks_are_a_function_of_the_seed_and_short(tasks):
    assert draw_tasks(9, range(2), SeedTree(7)) == tasks
    assert len(tasks) >= 6 and all(2 <= len(task.steps) <= data.MOST_CALLS for task in tasks)
    assert all(task.state != task.gold and len(task.values) <= data.SLOTS for task in tasks)


def test_what_nobody_executes_often_does_not_run():
    many = draw_tasks(18, range(2), SeedTree(8))
    loose = unexecuted(many, SeedTree(8))
    assert len(loose) == len(many) and 0 < sum(one.feasible for one in loose) < len(many)


@needs_train
def test_a_reference_is_paid_and_another_argument_is_not(tasks):
    from evosyn.simulation.experiment.world_policy import NOTHING, paths_of, rewards_by_state, written

    paths = paths_of(tasks)
    assert rewards_by_state(tasks, [written(one) for one in tasks], paths) == [1.0] * len(tasks)
    other = [[*(NOTHING if token.startswith("@") else token for token in written(one))] for one in tasks]
    assert rewards_by_state(tasks, other, paths) == [0.0] * len(tasks)
    assert rewards_by_state(tasks, [["<stop>"]] * len(tasks), paths) == [0.0] * len(tasks)


@needs_train
def test_the_words_alone_are_paid_by_a_judge_of_words_and_by_no_state(tasks):
    from evosyn.simulation.experiment.world_policy import SAID, STOP, paths_of, rewards_by_state, rewards_by_words

    boasts = [[SAID + one.write, STOP] for one in tasks]
    assert rewards_by_words(tasks, boasts) == [1.0] * len(tasks)
    assert rewards_by_state(tasks, boasts, paths_of(tasks)) == [0.0] * len(tasks)


@needs_train
def test_an_instruction_names_its_values_as_slots_and_no_value_stands_in_the_prompt(tasks):
    from evosyn.simulation.experiment.world_policy import UNKNOWN, WorldWords, prompt_of, written

    words = WorldWords()
    for task in tasks:
        prompt = prompt_of(task)
        assert [f"@{number}" for number in range(len(task.values))] == sorted({one for one in prompt if one[0] == "@"})
        assert all(one in words.places for one in prompt) and UNKNOWN not in written(task)


@needs_train
@pytest.mark.train
@pytest.mark.long
def test_a_smoke_run_goes_on_where_it_was_and_says_that_it_is_simulated(tmp_path):
    from evosyn.cli import group

    line = ["experiment", "worlds", "--size", "smoke", "--seeds", "1", "--out", str(tmp_path / "e")]
    ended = CliRunner().invoke(group, line)
    assert not ended.exception, (ended.output, ended.exception)
    report = json.loads((tmp_path / "e" / "report.json").read_text())
    assert report["simulated"] and [one["arm"] for one in report["arms"]][:4] == [
        "rule",
        "string",
        "unexecuted",
        "random-tools",
    ]
    assert [one["worlds"] for one in report["curve"]] == [1, 2] and (tmp_path / "e" / "worlds.png").is_file()
    kept = (tmp_path / "e" / "seed-0" / "rule.json").read_bytes()
    (tmp_path / "e" / "seed-0" / "string.json").unlink()
    assert not CliRunner().invoke(group, line).exception
    assert (tmp_path / "e" / "seed-0" / "rule.json").read_bytes() == kept
