"""Tool worlds in the hands of TRL: a class for each set of tools, rewards by final state, and the rows for them."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from simulation import AGENT

from evosyn import tool_environments
from evosyn.cli import group
from evosyn.dataset import read_dataset, write_dataset
from evosyn.domains import check_task, domain
from evosyn.domains.tool_use import NAME, PLAN
from evosyn.environments.rows import SETTING
from evosyn.errors import UsageError
from evosyn.jobs import ItemOutcome, Status
from evosyn.randomness import SeedTree
from evosyn.synthesis.recipes.worlds import rows_of_world
from evosyn.tasks import task_of, task_text
from evosyn.text.tool_calls import ToolCall, spoken
from evosyn.train import here
from evosyn.train.rollouts import LOST, OVER, TextRollout
from evosyn.train.tool_env import TYPES, environment_of
from evosyn.worlds.tools.files import bundled, read_tasks, read_world
from evosyn.worlds.tools.kind import ToolPlace

needs_train = pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
WORLD = "builtin:library"
TASKS = read_tasks(WORLD)


@pytest.fixture(autouse=True)
def weak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")


def begun(number=0, user="none"):
    found = tool_environments(WORLD, user=user)
    row = found.rows[number]
    env = found.environments[row["environment"]]()
    env.reset(**{name: value for name, value in row.items() if name != "environment"})
    return env


def test_calls_change_the_state_and_the_final_state_is_paid():
    env, task = begun(), TASKS[0]
    told = [json.loads(getattr(env, name)(**args)) for name, args in task.reference]
    assert all("ok" in one for one in told)
    assert env.finish() == OVER and env.get_reward() == env.get_reward() == 1.0
    idle = begun()
    idle.finish()
    assert idle.get_reward() == 0.0
    unended = begun()
    for name, args in task.reference:
        getattr(unended, name)(**args)
    assert unended.get_reward() == 0.0, "who never says that it is over is not paid, as everywhere"


def test_one_instance_plays_one_rollout_after_the_other_and_forgets_the_one_before():
    found = tool_environments(WORLD)
    env, task = begun(), TASKS[0]
    name, args = task.reference[-1]
    getattr(env, name)(**args)
    env.reset(task=found.rows[0]["task"])
    env.finish()
    assert env.get_reward() == 0.0


def test_what_is_no_call_is_told_and_nothing_is_done():
    env, (name, args) = begun(), TASKS[0].reference[0]
    assert "unknown argument 'bogus'" in getattr(env, name)(**args, bogus=1)
    assert "is missing" in getattr(env, name)()
    assert "must be of type string" in getattr(env, name)(**dict.fromkeys(args, 7))


def test_a_scripted_user_is_a_tool_and_tells_the_rest():
    number = next(at for at, task in enumerate(TASKS) if len(task.sentences) > 1)
    env, task = begun(number, "scripted"), TASKS[number]
    row = tool_environments(WORLD, user="scripted").rows[number]
    assert task.sentences[0] in row["prompt"][-1]["content"] and task.sentences[1] not in row["prompt"][-1]["content"]
    assert env.ask_user(message="What else?") == task.sentences[1]
    assert not hasattr(begun(number), "ask_user")


class Gone:
    """A sandbox that fails."""

    def run(self, jobs, **_):
        return [(ItemOutcome(Status.INFRASTRUCTURE, detail="gone"),) for _ in jobs]


def test_our_own_failure_is_no_reward_and_never_zero(monkeypatch):
    monkeypatch.setitem(here._mine().workbench.__dict__, "sandbox", Gone())
    env, (name, args) = begun(), TASKS[0].reference[0]
    assert getattr(env, name)(**args) == LOST
    env.finish()
    assert env.get_reward() is None


@needs_train
@pytest.mark.train
@pytest.mark.parametrize("name", bundled())
def test_transformers_reads_every_tool_as_the_world_says_it(name):
    from transformers.utils import get_json_schema

    world = read_world(f"builtin:{name}")
    env = environment_of(ToolPlace(world, {}, tuple(world.tool)))()
    for tool in world.tools:
        told = get_json_schema(getattr(env, tool.name))["function"]
        shape = tool.function["function"]["parameters"]
        assert told["name"] == tool.name and told["description"] == " ".join(tool.description.split())
        assert sorted(told["parameters"].get("required", [])) == sorted(shape["required"])
        assert sorted(told["parameters"]["properties"]) == sorted(shape["properties"])
        for one in tool.parameters:
            said = told["parameters"]["properties"][one.name]
            assert said["type"] == one.type and said.get("enum", []) == list(one.values) and one.type in TYPES


def test_a_tool_with_a_name_that_trl_keeps_for_itself_is_refused():
    world = read_world(WORLD)
    tool = world.tools[0].model_copy(update={"name": "reset"})
    with pytest.raises(UsageError, match="'reset' of library"):
        environment_of(ToolPlace(world.model_copy(update={"tools": (tool,)}), {}, ("reset",)))


def test_rows_are_stable_and_sets_of_tools_have_names_of_their_own():
    assert tool_environments(WORLD, limit=3).rows == tool_environments(WORLD).rows[:3]
    names = {one["environment"] for one in tool_environments(WORLD).rows}
    assert names == set(tool_environments(WORLD).environments)
    assert names.isdisjoint(tool_environments(WORLD, user="scripted").environments)
    assert all(PLAN not in one["prompt"][-1]["content"] for one in tool_environments(WORLD).rows)


def test_rows_of_tool_worlds_are_a_taskset_that_plays_in_plain_text(tmp_path: Path):
    samples = rows_of_world(read_world(WORLD), TASKS[:2], domain(NAME))
    write_dataset(tmp_path, SETTING, samples)
    line = ["export", str(tmp_path), "--format", "verifiers", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(group, line, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (file,) = (tmp_path / "out").glob("*/train.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    said = rows[0]["prompt"][-1]["content"]
    assert PLAN not in said and "You are shown what it gives before the next reply" in said
    rollout = TextRollout(rows[0]["task"])
    assert "no call of a tool" in str(rollout.reply("Hm."))
    for name, args in TASKS[0].reference:
        assert str(rollout.reply(spoken(ToolCall(name, args)))).startswith('The result:\n\n{"ok"')
    assert rollout.reply(spoken(ToolCall("finish", {}))) is None and rollout.reward() == 1.0


def test_a_rollout_in_plain_text_reads_reasoning_as_the_process_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    call = spoken(ToolCall(*TASKS[0].reference[0]))
    reply = f"Hm. {call}</think>{spoken(ToolCall('finish', {}))}"
    (row,) = rows_of_world(read_world(WORLD), TASKS[:1], domain(NAME))
    for own, named, over in (("think", None, True), ("none", None, False), ("none", "think", True)):
        if named:
            monkeypatch.setenv("EVOSYN_REASONING", named)
        rollout = TextRollout(task_text(replace(task_of(row, check_task), reasoning=own)))
        assert (rollout.reply(reply) is None) is over, (own, named)
    monkeypatch.setenv("EVOSYN_REASONING", "thinkk")
    with pytest.raises(UsageError, match=r"EVOSYN_REASONING.*'think'"):
        rollout.reply(call)


@needs_train
@pytest.mark.train
@pytest.mark.long
def test_trls_trainer_takes_three_steps_in_a_tool_world(tmp_path: Path) -> None:
    import torch
    from datasets import Dataset, load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

    from evosyn.train import tiny
    from evosyn.train.config import TinyConfig

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rolled, calls = tmp_path / "rolled", []
    line = ["world", "rollout", WORLD, "--agent", f"{AGENT}:gold", "--limit", "4", "--out", str(rolled)]
    assert CliRunner().invoke(group, line, catch_exceptions=False).exit_code == 0
    tiny.build(tmp_path / "model", read_dataset(rolled), TinyConfig(warm_steps=0), SeedTree(0))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model", padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    shared = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "report_to": "none",
              "save_strategy": "no", "logging_steps": 1, "per_device_train_batch_size": 4}  # fmt: skip
    line = ["export", str(rolled), "--format", "sft", "--out", str(tmp_path / "sft")]
    assert CliRunner().invoke(group, line, catch_exceptions=False).exit_code == 0
    files = str(tmp_path / "sft" / "train.jsonl")
    rows = load_dataset("json", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    settings = SFTConfig(output_dir=str(tmp_path / "s"), max_steps=80, learning_rate=3e-3, max_length=768,
                         assistant_only_loss=True, **shared)  # fmt: skip
    SFTTrainer(model=model, args=settings, train_dataset=rows, processing_class=tokenizer).train()

    worlds = tool_environments(WORLD, limit=4)

    def watched(made):
        def do(env, act):
            calls.append(act.name)
            return made._do(env, act)

        return type(made.__name__, (made,), {"_do": do})

    settings = GRPOConfig(output_dir=str(tmp_path / "g"), max_steps=3, num_generations=4, max_completion_length=256,
                          max_tool_calling_iterations=4, temperature=0.7, **shared)  # fmt: skip
    factories = {name: watched(one) for name, one in worlds.environments.items()}
    trainer = GRPOTrainer(model=model, args=settings, environment_factory=factories,
                          train_dataset=Dataset.from_list(worlds.rows), processing_class=tokenizer)  # fmt: skip
    trainer.train()
    logs = [row for row in trainer.state.log_history if "reward" in row]
    assert len(logs) == 3 and all(0.0 <= row["reward"] <= 1.0 for row in logs)
    assert set(calls) & set(TASKS[0].shown), "what the model writes is done in the world"
