"""End to end with the tiny model: every algorithm, resuming after a kill, and what bad input gets."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evosyn.configs.loading import load_config
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.rundir import RunDir
from evosyn.train.checkpoints import MARK, read_metrics
from evosyn.train.config import RlvrConfig

pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra"),
]

SMALL = ["tiny.warm_steps=60", "rollout.max_completion=48", "rollout.prompts=2", "rollout.group=4"]
FLAGS = [part for pair in SMALL for part in ("--set", pair)]


def config(*sets: str, **named: object) -> RlvrConfig:
    flags = {name: str(value) for name, value in named.items()}
    return load_config(RlvrConfig, preset="train-tiny", sets=[*SMALL, *sets], flags=flags)


def environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1"}


def evosyn(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "evosyn", *arguments, "--allow-weak-sandbox"]


@pytest.fixture(scope="session")
def tiny_model(small_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warmed-up tiny model that several tests start from."""
    import torch

    from evosyn.dataset import read_dataset
    from evosyn.randomness import SeedTree
    from evosyn.train import tiny

    torch.set_num_threads(1)  # more are slower on a loaded machine
    folder = tmp_path_factory.mktemp("tiny")
    tiny.build(folder, read_dataset(small_data), config().tiny, SeedTree(0))
    return folder


@pytest.mark.parametrize("algorithm", ["grpo", "dapo", "dr_grpo"])
def test_each_algorithm_trains_and_reports(
    algorithm: str, small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    from evosyn.train.rlvr import train_rlvr

    out = tmp_path / "run"
    asked = config("steps=3", f"algorithm={algorithm}", data=small_data, model=tiny_model)
    report = train_rlvr(asked, out, sandbox)
    assert report["method"] == algorithm
    assert report["label"] is not None
    assert report["lineage"]["simulated"] is True
    assert report["metrics"]["pass_rate"]["start"] is not None
    assert 0 < report["executed"] <= report["drawn"]
    assert [row["step"] for row in read_metrics(out / "metrics.jsonl")] == [1, 2, 3]
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "model" / "config.json").is_file()
    assert "SIMULATED" in (out / "model" / "README.md").read_text()
    assert train_rlvr(asked, out, sandbox) == json.loads((out / "report.json").read_text())


def test_rows_that_were_read_before_are_not_read_again(
    small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evosyn.train import run
    from evosyn.train.rlvr import train_rlvr

    asked = config("steps=1", data=small_data, model=tiny_model)
    parts = run.ready(asked, tmp_path / "run")
    monkeypatch.setattr(run, "gathered", None)
    assert train_rlvr(asked, tmp_path / "run", sandbox, parts=parts)["steps"] == 1


def test_oversampling_keeps_groups_with_signal_first(
    small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    from evosyn.train.rlvr import train_rlvr

    out = tmp_path / "run"
    sets = ("steps=4", "rollout.oversample=4", "rollout.group=4")
    train_rlvr(config(*sets, data=small_data, model=tiny_model), out, sandbox)
    for row in read_metrics(out / "metrics.jsonl"):
        # 2 of 8 sampled groups are kept: all of them have signal as soon as a quarter of the sampled have
        assert row["kept_with_signal"] == pytest.approx(min(1.0, 4 * row["groups_with_signal"]))


def test_an_adapter_is_trained_and_merged(small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    from evosyn.train.rlvr import train_rlvr

    sets = (
        "steps=2",
        "memory.lora_rank=4",
        "memory.gradient_checkpointing=true",
        "memory.bf16=true",
        "optim.beta=0.04",
    )
    out = tmp_path / "run"
    train_rlvr(config(*sets, data=small_data, model=tiny_model), out, sandbox)
    assert (out / "model" / "adapter_config.json").is_file()
    assert (out / "model" / "merged" / "config.json").is_file()
    assert (out / "model" / "merged" / "tokenizer.json").is_file()


@pytest.mark.parametrize("prompts", [2, pytest.param(8, marks=pytest.mark.long)])
def test_a_killed_run_goes_on_from_its_last_checkpoint_as_if_nothing_had_been(
    prompts: int, small_data: Path, tiny_model: Path, tmp_path: Path
) -> None:
    """Of ten rows: in the middle of an epoch, and behind several."""

    def command(out: Path) -> list[str]:
        parts = ["train", str(small_data), "--model", str(tiny_model), "--out", str(out), "--steps", "9"]
        sets = ("keep.every=3", "optim.learning_rate=3e-4", f"rollout.prompts={prompts}")
        return evosyn(*parts, *FLAGS, *(part for one in sets for part in ("--set", one)))

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(command(whole), env=environment(), check=True, capture_output=True)
    process = subprocess.Popen(command(killed), env=environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while not (killed / "checkpoints" / "checkpoint-3" / MARK).exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / "report.json").exists()
    (killed / "checkpoints" / "checkpoint-99").mkdir()  # as a kill in the middle of saving leaves it
    subprocess.run(command(killed), env=environment(), check=True, capture_output=True)
    names = ("reward", "pass_rate", "grad_norm", "learning_rate", "completions/mean_length")
    rows = [
        [tuple(row[name] for name in names) for row in read_metrics(out / "metrics.jsonl")] for out in (whole, killed)
    ]
    assert len(rows[0]) == 9
    assert rows[0] == rows[1]


def test_sigterm_saves_and_ends_resumable(small_data: Path, tiny_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    parts = ["train", str(small_data), "--model", str(tiny_model), "--out", str(out), "--steps", "500"]
    process = subprocess.Popen(
        evosyn(*parts, *FLAGS, "--set", "keep.every=400"), env=environment(), stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 240
    while len(read_metrics(out / "metrics.jsonl")) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"repeat the same command" in error
    assert list(out.glob(f"checkpoints/checkpoint-*/{MARK}"))


def test_other_settings_for_a_run_directory_are_refused(
    small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    from evosyn.train.rlvr import train_rlvr

    asked = config("steps=1", data=small_data, model=tiny_model)
    train_rlvr(asked, tmp_path / "r", sandbox)
    with pytest.raises(UsageError, match="setting: 'evosyn' before, 'random' now"):
        train_rlvr(asked.model_copy(update={"setting": "random"}), tmp_path / "r", sandbox)
    RunDir(tmp_path / "data").write_json("manifest.json", {"kind": "synthesize"})
    with pytest.raises(UsageError, match="holds a run of another kind \\(synthesize\\)"):
        train_rlvr(asked, tmp_path / "data", sandbox)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (("rollout.max_completion=5000",), "shorter than the longest prompt"),
        (("rollout.max_prompt=3",), "longer than 3 tokens"),
        (("rollout.prompts=50",), "the data has only 10 rows"),
        (("pad_token='<nope>'",), "is not in the vocabulary"),
    ],
)
def test_what_does_not_fit_is_said_before_training(
    sets: tuple[str, ...], message: str, small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    from evosyn.train.rlvr import train_rlvr

    with pytest.raises(UsageError, match=message):
        train_rlvr(config(*sets, data=small_data, model=tiny_model), tmp_path / "r", sandbox)


def test_a_tokenizer_without_template_or_pad_token_is_named(tiny_model: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    from evosyn.train.models import load_tokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    template, tokenizer.chat_template = tokenizer.chat_template, None
    tokenizer.save_pretrained(tmp_path / "bare")
    (tmp_path / "bare" / "chat_template.jinja").unlink(missing_ok=True)
    with pytest.raises(UsageError, match="has no chat template"):
        load_tokenizer(str(tmp_path / "bare"))
    tokenizer.chat_template, tokenizer.pad_token = template, None
    tokenizer.save_pretrained(tmp_path / "unpadded")
    with pytest.raises(UsageError, match="--pad-token"):
        load_tokenizer(str(tmp_path / "unpadded"))
    assert load_tokenizer(str(tmp_path / "unpadded"), pad_token="<|pad|>").pad_token == "<|pad|>"


def test_an_absent_model_is_an_error_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from evosyn.train.models import load_tokenizer

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UsageError, match="no such directory"):
        load_tokenizer("./no/such/model")


def test_the_tiny_model_is_the_same_for_the_same_seed_and_under_a_million(
    small_data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "evosyn.train")
    from safetensors.torch import load_file

    from evosyn.dataset import read_dataset
    from evosyn.randomness import SeedTree
    from evosyn.train import tiny

    settings = config("tiny.warm_steps=3").tiny
    for name, setting in (("one", "evosyn"), ("two", "evosyn"), ("three", "random")):
        tiny.build(tmp_path / name, read_dataset(small_data, setting), settings, SeedTree(7))
    one, two, three = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two", "three"))
    assert all(bool((one[key] == two[key]).all()) for key in one)
    assert all(bool((one[key] == three[key]).all()) for key in one), "the settings must start from the same weights"
    assert tiny.read_mark(tmp_path / "one")["parameters"] < 1_000_000
    assert "warm start, step 3 of 3" in caplog.text and "making a tokenizer" in caplog.text


def test_completions_are_scored_while_others_are_still_generated(
    small_data: Path, tiny_model: Path, sandbox: Sandbox
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from evosyn.dataset import read_dataset
    from evosyn.jobs import Limits
    from evosyn.train.data import prompt_of, tasks_of
    from evosyn.train.early_scoring import EarlyScorer
    from evosyn.train.scoring import Scorer, domains_of, reward_judge

    samples = read_dataset(small_data)
    tasks = list(tasks_of(samples).values())
    tokenizer = AutoTokenizer.from_pretrained(tiny_model, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(tiny_model)
    texts = [
        tokenizer.apply_chat_template(prompt_of(one), add_generation_prompt=True, tokenize=False) for one in samples
    ]
    encoded = tokenizer(texts, return_tensors="pt", padding=True)
    width = encoded["input_ids"].shape[1]
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks), Limits(wall_s=1.0)))
    early = EarlyScorer(scorer, tokenizer)
    torch.manual_seed(0)
    with early.watching(model, tasks, width, [tokenizer.eos_token_id]):
        output = model.generate(**encoded, do_sample=True, max_new_tokens=64)
    early.drain()
    ended = [row for row in range(len(tasks)) if tokenizer.eos_token_id in output[row, width:]]
    assert ended
    assert early.offered == len(ended)
    executed = scorer.judge.executed
    finals = tokenizer.batch_decode(output[:, width:], skip_special_tokens=True)
    scorer.score([tasks[row] for row in ended], [finals[row] for row in ended])
    assert scorer.judge.executed == executed, "what was scored early is read as the trainer reads it"
    assert "generate" not in vars(model)
