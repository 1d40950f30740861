"""Trajectories in the hands of trainers: rows with calls of tools and without, rollouts in rooms, rewards of both."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli import group
from evosyn.dataset import read_dataset, write_dataset
from evosyn.domains import check_task
from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.randomness import SeedTree
from evosyn.tasks import task_of, task_text
from evosyn.text.tool_calls import ToolCall
from evosyn.train.here import scorer_of, shells
from evosyn.train.rollouts import LOST, OVER, Rollout, TextRollout, trajectory_reward
from evosyn.train.shell_env import ShellEnv
from evosyn.worlds.shell import open_shells
from tests.train.conftest import sample_of
from tests.train.shell_rows import NAMES, shell_sample

needs_train = pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
SAMPLES = [shell_sample(index) for index in range(len(NAMES))]
TASKS = [task_of(sample, check_task) for sample in SAMPLES]


@pytest.fixture(scope="module", autouse=True)
def rooms():
    try:
        open_shells(workers=1).close()
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trajectories")
    write_dataset(folder, "evosyn", SAMPLES)
    return folder


def export(data: Path, form: str, out: Path) -> Path:
    done = CliRunner().invoke(group, ["export", str(data), "--format", form, "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return out


def test_a_rollout_is_paid_for_what_it_leaves_and_says():
    asked, made = TASKS[0], TASKS[1]
    right = Rollout(asked)
    assert right.do(ToolCall("bash", {"script": "cd /root/a"})) == "The output of the OS is empty."
    assert right.do(ToolCall("bash", {"script": "ls -A | wc -l"})) == "2"
    assert right.do(ToolCall("answer", {"answer": "2"})) == "" and right.over
    assert right.do(ToolCall("bash", {"script": "touch x"})) == OVER
    assert right.reward() == right.reward() == 1.0
    for acts in ([ToolCall("answer", {"answer": "3"})], [], [ToolCall("bash", {"script": "true"})] * 4):
        wrong = Rollout(asked)
        for act in acts:
            wrong.do(act)
        assert wrong.reward() == 0.0
    builder = Rollout(made)
    builder.do(ToolCall("bash", {"script": "mkdir /root/b/sub"}))
    builder.do(ToolCall("finish", {"thought": ""}))
    assert builder.reward() == 1.0
    assert [trajectory_reward(TASKS[1], one.source) for one in SAMPLES[1].ranked] == [1.0, 0.0]


def test_a_rollout_in_plain_text_shows_what_the_rules_say():
    rollout = TextRollout(task_text(TASKS[0]))
    assert "no action" in str(rollout.reply("Hm."))
    assert str(rollout.reply("Act: bash\n```bash\nls -A /root/a | wc -l\n```")).endswith("\n2")
    assert rollout.reply("Act: answer(2)") is None
    assert rollout.reward() == 1.0


def test_an_environment_says_what_it_lacks_and_takes_only_tasks_of_agents():
    env = ShellEnv()
    with pytest.raises(UsageError, match="reset it"):
        env.bash("true")
    with pytest.raises(UsageError, match="--format trl"):
        env.reset(prompt=[])
    with pytest.raises(UsageError, match="no work of an agent"):
        env.reset(task=task_text(task_of(sample_of(0, "evosyn"), check_task)))
    env.reset(prompt=[], task=task_text(TASKS[0]))
    assert env.bash("ls -A /root/a | wc -l") == "2"
    env.answer("2")
    assert env.get_reward() == 1.0
    env.reset(prompt=[], task=task_text(TASKS[0]))
    assert env.get_reward() == 0.0


def in_world(**world: object):
    """The second task, in a world that is changed."""
    payload = json.loads(SAMPLES[1].payload)
    payload["world"] |= world
    return task_of(replace(SAMPLES[1], payload=json.dumps(payload)), check_task)


LOOKS, ENDS = ToolCall("bash", {"script": "mkdir /root/b/sub"}), ToolCall("finish", {"thought": ""})


@pytest.mark.parametrize("acts", [[], [LOOKS], [LOOKS, ENDS], [ENDS]], ids=["stops", "looks", "ends", "only ends"])
def test_what_the_machine_does_not_give_is_no_reward(acts, monkeypatch, caplog):
    monkeypatch.setattr(type(shells()), "lacks", lambda _, world: world.needs)
    rollout = Rollout(in_world(needs=["uids"]))
    assert rollout.over and "lacks what its world needs: uids" in caplog.text
    assert {rollout.do(act) for act in acts} <= {LOST}
    assert rollout.reward() is None
    assert Rollout(TASKS[1]).reward() == 0.0


@pytest.mark.parametrize("acts", [[LOOKS], [LOOKS, ENDS], [ENDS]], ids=["looks", "ends", "only ends"])
def test_a_world_that_cannot_be_made_is_no_reward(acts, caplog):
    rollout = Rollout(in_world(init=[{"code": "exit 3"}]))
    assert [rollout.do(act) for act in acts] == ([LOST] * len(acts) if LOOKS in acts else [""])
    assert rollout.reward() is None and "init script 0 of the world: exit 3" in caplog.text


def test_a_judge_without_a_sandbox_pays_nothing(monkeypatch, caplog):
    def gone(*_args, **_more):
        raise SandboxUnavailable("it broke beyond repair")

    monkeypatch.setattr(type(scorer_of([TASKS[1]]).judge), "decide", gone)
    assert trajectory_reward(TASKS[1], SAMPLES[1].solution) is None
    assert "broke beyond repair" in caplog.text


@pytest.fixture(scope="module")
def student(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from evosyn.train import tiny
    from evosyn.train.config import TinyConfig

    folder = tmp_path_factory.mktemp("student")
    tiny.build(folder, read_dataset(data), TinyConfig(warm_steps=0), SeedTree(0))
    return folder


def arguments(out: Path, **more: object) -> dict[str, object]:
    return {
        "output_dir": str(out), "use_cpu": True, "bf16": False, "gradient_checkpointing": False, "report_to": "none",
        "save_strategy": "no", "logging_steps": 1, **more,
    }  # fmt: skip


@needs_train
@pytest.mark.train
@pytest.mark.slow
def test_trls_trainers_take_trajectories_with_tools_and_without_and_rollouts_in_rooms(
    data: Path, student: Path, tmp_path: Path
) -> None:
    import torch
    from datasets import Dataset, load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

    from evosyn.train.data import sft_rows

    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(student, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(student)

    def fit(rows: Dataset, steps: int) -> SFTTrainer:
        settings = arguments(
            tmp_path / "sft", max_steps=steps, per_device_train_batch_size=4, learning_rate=3e-3, max_length=512,
            assistant_only_loss="messages" in rows.column_names,
        )  # fmt: skip
        trainer = SFTTrainer(model=model, args=SFTConfig(**settings), train_dataset=rows, processing_class=tokenizer)
        trainer.train()
        return trainer

    plain = fit(Dataset.from_list(sft_rows(SAMPLES, 1)), 2)
    assert "Act: bash" in tokenizer.decode(plain.train_dataset[0]["input_ids"])
    files = str(export(data, "sft", tmp_path / "sft-rows") / "train.jsonl")
    rows = load_dataset("json", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    called = fit(rows, 60)
    seen = tokenizer.decode(called.train_dataset[0]["input_ids"])
    assert '"script": "ls -A /root/a | wc -l"' in seen and "null" not in seen and "None" not in seen
    losses = [row["loss"] for row in called.state.log_history if "loss" in row]
    assert losses[-1] < 0.5 * losses[0]

    files = str(export(data, "trl", tmp_path / "trl") / "train.parquet")
    tasks = load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    settings = arguments(
        tmp_path / "grpo", max_steps=3, per_device_train_batch_size=4, num_generations=4, max_completion_length=192,
        max_tool_calling_iterations=4, temperature=0.5,
    )  # fmt: skip
    done: list[str] = []

    class Watched(ShellEnv):
        def _do(self, act: ToolCall) -> str:
            done.append(act.name)
            return super()._do(act)

    trainer = GRPOTrainer(
        model=model, args=GRPOConfig(**settings), environment_factory=Watched, train_dataset=tasks,
        processing_class=tokenizer,
    )  # fmt: skip
    trainer.train()
    logs = [row for row in trainer.state.log_history if "reward" in row]
    assert len(logs) == 3 and all(0.0 <= row["reward"] <= 1.0 for row in logs)
    assert "bash" in done, "what the model writes is done in the room"


@needs_train
@pytest.mark.train
def test_a_call_of_a_tool_is_read_as_it_was_written(data: Path, student: Path, tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(student)
    rows = (export(data, "sft", tmp_path / "rows") / "train.jsonl").read_text(encoding="utf-8")
    row = json.loads(rows.splitlines()[0])
    prompt = tokenizer.apply_chat_template(row["messages"][:1], add_generation_prompt=True, return_dict=False)
    whole = tokenizer.apply_chat_template(row["messages"], tools=row["tools"], return_dict=False)
    assert whole[: len(prompt)] == prompt
    said = whole[len(prompt) : whole.index(tokenizer.eos_token_id, len(prompt)) + 1]
    read = tokenizer.parse_response(said, prefix=prompt)
    assert read["tool_calls"] == row["messages"][1]["tool_calls"]


def test_rows_of_agents_are_a_taskset_of_their_own(data: Path, tmp_path: Path) -> None:
    out = export(data, "verifiers", tmp_path / "out")
    (code,) = out.glob("*/taskset.py")
    compile(code.read_text(encoding="utf-8"), str(code), "exec")
    rows = [json.loads(line) for line in code.with_name("train.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["gold"] for row in rows] == [sample.solution for sample in SAMPLES]
    assert all("Act: answer" in row["prompt"][-1]["content"] for row in rows)
    write_dataset(tmp_path / "both", "evosyn", [SAMPLES[0], sample_of(0, "evosyn")])
    again = export(tmp_path / "both", "verifiers", tmp_path / "of-both")
    assert len(next(again.glob("*/train.jsonl")).read_text(encoding="utf-8").splitlines()) == 1
