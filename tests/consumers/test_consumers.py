"""Rows of every built-in domain, paid by the code of TRL, verl, verifiers and OpenRLHF that calls our exports.

Each consumer gets the files that `evosyn export` writes, and its own functions load and call them; the rewards are
those that are known of each completion. Versions: requirements.txt and requirements-alone.txt beside this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import evosyn
from evosyn.dataset import read_dataset, write_dataset
from tests.train.reward_rows import DOMAINS, ROWS, Answered, Posed, posed

pytestmark = pytest.mark.consumers
END = "<|im_end|>"
ASSISTANT = "<|im_start|>assistant\n"


@dataclass(frozen=True)
class Rows:
    """A dataset on disk, and one (place, answer) after the other."""

    data: Path
    rows: list[Posed]

    @property
    def answers(self) -> list[tuple[int, Answered]]:
        return [(place, answer) for place, row in enumerate(self.rows) for answer in row.answers]

    def export(self, form: str, out: Path) -> Path:
        line = [sys.executable, "-P", "-m", "evosyn", "export", str(self.data), "--format", form, "--out", str(out)]
        subprocess.run([*line, "--name", f"rows {self.data.name}"], check=True, capture_output=True)
        return out

    def wrong(self, rewards: Sequence[float | None]) -> list[tuple[str, str, float | None]]:
        return [
            (self.rows[place].sample.problem_id, answer.name, reward)
            for (place, answer), reward in zip(self.answers, rewards, strict=True)
            if reward != answer.reward
        ]


@pytest.fixture(scope="session", params=DOMAINS)
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    os.environ["EVOSYN_ALLOW_WEAK_SANDBOX"] = "1"
    found = [posed(request.param, index) for index in range(ROWS)]
    folder = tmp_path_factory.mktemp(request.param.replace("-", "_"))
    write_dataset(folder, "evosyn", [row.sample for row in found])
    return Rows(folder, found)


@cache
def tokenizer() -> Any:
    """One token a byte, with the marks of a chat template."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: at for at, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(END, special=True), AddedToken("<|im_start|>", special=True)])
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END, pad_token=END)


def chat(turns: Sequence[dict[str, str]]) -> str:
    return "".join(f"<|im_start|>{turn['role']}\n{turn['content']}{END}\n" for turn in turns) + ASSISTANT


def test_the_package_under_test_is_the_wheel() -> None:
    assert Path(sys.prefix) in Path(evosyn.__file__).parents


def test_trls_trainer_gets_the_rewards(rows: Rows, tmp_path: Path) -> None:
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from evosyn.randomness import SeedTree
    from evosyn.train import tiny
    from evosyn.train.config import TinyConfig
    from evosyn.train.reward_function import trl_reward

    tiny.build(tmp_path / "model", read_dataset(rows.data), TinyConfig(warm_steps=0), SeedTree(0))
    files = str(rows.export("trl", tmp_path / "trl") / "train.parquet")
    data = load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    config = GRPOConfig(
        output_dir=str(tmp_path / "out"), use_cpu=True, bf16=False, gradient_checkpointing=False, report_to="none",
        per_device_train_batch_size=2, num_generations=2, max_completion_length=8,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(tmp_path / "model"),
        args=config,
        reward_funcs=[trl_reward],
        train_dataset=data,
        processing_class=AutoTokenizer.from_pretrained(tmp_path / "model", padding_side="left"),
    )
    inputs = [data[place] for place, _ in rows.answers]
    completions = [[{"role": "assistant", "content": answer.text}] for _, answer in rows.answers]
    prompts = [row["prompt"] for row in inputs]
    found = trainer._calculate_rewards(inputs, prompts, completions, [[1]] * len(inputs))
    assert rows.wrong(found[:, 0].tolist()) == []


def verl_batch(rows: Rows, out: Path, picked: Sequence[int]) -> Any:
    """What verl's trainer hands to a reward manager: rows as its dataset reads them, completions as token ids."""
    import numpy
    import torch
    from omegaconf import OmegaConf
    from verl import DataProto
    from verl.utils.dataset.rl_dataset import RLHFDataset

    class WithTemplate:
        def apply_chat_template(self, turns: Any, **_: Any) -> list[int]:
            return list(tokenizer()(chat(turns))["input_ids"])

    config = OmegaConf.create(
        {"cache_dir": str(out / "cache"), "max_prompt_length": 8192, "filter_overlong_prompts": 0}
    )
    data = RLHFDataset(str(out / "train.parquet"), WithTemplate(), config)
    read = [data[place] for place in range(len(data))]
    texts = [tokenizer()(rows.answers[at][1].text + END)["input_ids"] for at in picked]
    longest = max(map(len, texts))
    responses = torch.tensor([ids + [0] * (longest - len(ids)) for ids in texts])
    mask = torch.tensor([[1] + [1] * len(ids) + [0] * (longest - len(ids)) for ids in texts])
    prompts = torch.zeros((len(texts), 1), dtype=torch.long)
    names = ("data_source", "reward_model", "extra_info")
    others = {
        name: numpy.array([dict(read[rows.answers[at][0]])[name] for at in picked] + [None], dtype=object)[:-1]
        for name in names
    }
    return DataProto.from_dict(
        tensors={"prompts": prompts, "responses": responses, "attention_mask": mask}, non_tensors=others
    )


def verl_function(out: Path, name: str) -> Any:
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import get_custom_reward_fn

    return get_custom_reward_fn(
        OmegaConf.create({"reward": {"custom_reward_function": {"path": str(out / "reward.py"), "name": name}}})
    )


def test_verls_batch_manager_gets_the_rewards(rows: Rows, tmp_path: Path) -> None:
    from verl.workers.reward_manager.batch import BatchRewardManager

    out = rows.export("verl", tmp_path / "verl")
    manager = BatchRewardManager(tokenizer(), 0, verl_function(out, "compute_scores"))
    found = manager(verl_batch(rows, out, range(len(rows.answers))), return_dict=True)
    assert rows.wrong(found["reward_tensor"].sum(dim=1).tolist()) == []
    assert set(found["reward_extra_info"]["unknown"]) == {0.0}


def test_verls_reward_loop_gets_the_rewards(rows: Rows, tmp_path: Path) -> None:
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

    out = rows.export("verl", tmp_path / "verl")

    async def everyone() -> list[float]:
        manager = NaiveRewardManager(None, tokenizer(), verl_function(out, "compute_score"))
        batch = verl_batch(rows, out, range(len(rows.answers)))
        found = await asyncio.gather(*[manager.run_single(batch[at : at + 1]) for at in range(len(rows.answers))])
        return [one["reward_score"] for one in found]

    assert rows.wrong(asyncio.run(everyone())) == []


def test_openrlhfs_executor_gets_the_rewards(rows: Rows, tmp_path: Path) -> None:
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    import evosyn.train.reward_function as module

    exported = rows.export("openrlhf", tmp_path / "openrlhf") / "train.jsonl"
    read = [json.loads(line) for line in exported.read_text().splitlines()]
    executor = SingleTurnAgentExecutor(module.__file__)

    async def one(place: int, text: str) -> float:
        prompt, label = chat(read[place]["input"]), read[place]["label"]
        query = tokenizer().decode(tokenizer()(prompt + text + END)["input_ids"], skip_special_tokens=False)
        (answer,) = await executor._fetch_rewards_via_func([query], [prompt], [label])
        assert answer["extra_logs"]["unknown"].item() == 0.0
        return float(answer["rewards"].item())

    async def everyone() -> list[float]:
        return await asyncio.gather(*[one(place, answer.text) for place, answer in rows.answers])

    assert rows.wrong(asyncio.run(everyone())) == []


@pytest.fixture(scope="session")
def package(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of the written package, installed with pip beside the packages that it asks for."""
    out = rows.export("verifiers", tmp_path_factory.mktemp("package") / "written")
    line = [sys.executable, "-m", "pip", "install", "-qq", "--no-index", "--no-build-isolation", str(out)]
    subprocess.run(line, check=True, capture_output=True, text=True)
    return next(path.parent.name for path in out.glob("*/taskset.py"))


def test_verifiers_scores_traces_with_the_written_package(rows: Rows, package: str) -> None:
    import verifiers.v1 as vf
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import Trace, TraceTask
    from verifiers.v1.types import AssistantMessage
    from verifiers.v1.utils.loaders import load_taskset, taskset_config_type

    tasks = list(load_taskset(taskset_config_type(package)(id=package)))
    assert [task.data.id for task in tasks] == [row.sample.id for row in rows.rows]

    async def one(place: int, text: str) -> float | None:
        task = tasks[place]
        about = TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash)
        trace = Trace(task=about, agent=vf.AgentInfo(config=vf.AgentConfig()))
        trace.nodes.append(MessageNode(message=AssistantMessage(content=text), sampled=True))
        await task.score(trace)
        return trace.rewards["passes"].score

    async def everyone() -> list[float | None]:
        return await asyncio.gather(*[one(place, answer.text) for place, answer in rows.answers])

    assert rows.wrong(asyncio.run(everyone())) == []


def test_verifiers_own_tool_finds_every_row_valid(rows: Rows, package: str, tmp_path: Path) -> None:
    line = [str(Path(sys.executable).with_name("vf-validate")), package.replace("_", "-"), "-n", str(ROWS)]
    ended = subprocess.run(
        [*line, "--runtime.type", "subprocess", "-o", str(tmp_path / "run")],
        capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    results = [json.loads(line) for path in (tmp_path / "run").rglob("results.jsonl") for line in path.open()]
    assert len(results) == len(rows.rows), ended.stdout + ended.stderr
    assert all(row["valid"] is True and row["gold"]["valid"] and row["noop"]["valid"] for row in results), results
