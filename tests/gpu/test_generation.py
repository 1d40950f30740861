"""What a model draws on a GPU: the same alone and in a padded batch, the same for the same seed, scored as it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evosyn.chat import Request
from evosyn.dataset import Sample, read_dataset
from evosyn.ports import Sandbox
from evosyn.teachers._local import LocalAsk, TransformersEngine
from evosyn.teachers.completions import Answer
from evosyn.train.generation import TokenSampling, TransformersGenerator, local_generator
from tests.gpu.conftest import done, line

pytestmark = pytest.mark.gpu
Record = Callable[[str, object], None]


@pytest.fixture
def samples(small_data: Path) -> list[Sample]:
    return read_dataset(small_data)


def drawn(model: Any, path: Path, samples: list[Sample], sampling: TokenSampling, at_once: int) -> list[str]:
    """The first completion of each."""
    from evosyn.train.models import load_tokenizer

    generator = TransformersGenerator(model, load_tokenizer(str(path)), sampling, at_once=at_once)
    asked = [Request(tuple(sample.prompt), "solution", {}) for sample in samples]
    return [texts[0] for texts in generator.generate(asked, [sample.id for sample in samples])]


def loaded(path: Path, device: str, *, bf16: bool) -> Any:
    from evosyn.train.config import MemoryConfig
    from evosyn.train.models import load_model

    return load_model(str(path), MemoryConfig(), bf16=bf16, frozen=True).eval().to(device)


@pytest.mark.parametrize("bf16", [False, True])
def test_a_padded_batch_and_a_single_prompt_and_the_cpu_are_answered_alike(
    bf16: bool, device: str, samples: list[Sample], tiny_model: Path, record: Record
) -> None:
    """In 16 bits two tokens that are nearly as likely may change places."""
    greedy, here = TokenSampling(temperature=0, max_tokens=48), loaded(tiny_model, device, bf16=bf16)
    alone, together = (drawn(here, tiny_model, samples, greedy, at_once) for at_once in (1, len(samples)))
    cpu = drawn(loaded(tiny_model, "cpu", bf16=False), tiny_model, samples, greedy, 1)
    batch = sum(one == other for one, other in zip(alone, together, strict=True))
    same = sum(one == other for one, other in zip(alone, cpu, strict=True))
    record("alone as in a batch, alone as on the CPU in 32 bits", (batch, same, len(samples)))
    least = len(samples) // 2 if bf16 else len(samples) - 1
    assert batch >= least and same >= least


def test_the_same_seed_draws_the_same_and_leaves_the_streams_of_a_training(
    device: str, samples: list[Sample], tiny_model: Path
) -> None:
    import torch

    def state() -> torch.Tensor:
        return torch.cuda.get_rng_state() if device == "cuda" else torch.get_rng_state()

    model = loaded(tiny_model, device, bf16=device == "cuda")
    before = state()
    texts = [
        drawn(model, tiny_model, samples, TokenSampling(temperature=1.0, max_tokens=32, seed=seed), len(samples))
        for seed in (0, 0, 1)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert bool((before == state()).all())


def test_a_local_model_is_drawn_from_where_it_is_fast(device: str, tiny_model: Path) -> None:
    import torch

    generator = local_generator(str(tiny_model), TokenSampling(samples=4))
    model = generator._model
    assert (model.device.type, generator.chunk) == (("cuda", 16) if device == "cuda" else ("cpu", 1))
    assert model.dtype is (torch.bfloat16 if device == "cuda" else torch.float32)


def asks(samples: list[Sample]) -> list[LocalAsk]:
    return [
        LocalAsk([{"role": one.role, "content": one.content} for one in sample.prompt], seed, max_tokens=32)
        for seed, sample in enumerate(samples)
    ]


def texts_of(engine: TransformersEngine, asked: list[LocalAsk]) -> list[str]:
    answers = engine.answers(asked)
    assert all(isinstance(one, Answer) for one in answers), answers
    return [one.text for one in answers if isinstance(one, Answer)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_teacher_of_this_process_says_the_same_alone_and_in_a_batch(
    dtype: str, device: str, samples: list[Sample], tiny_model: Path, record: Record
) -> None:
    engine = TransformersEngine(tiny_model, "auto" if device == "cuda" else "cpu", dtype)
    together = texts_of(engine, asks(samples))
    alone = [texts_of(engine, [one])[0] for one in asks(samples)]
    same = sum(one == other for one, other in zip(alone, together, strict=True))
    record("alone as in a batch", (same, len(samples)))
    assert same >= (len(samples) // 2 if dtype == "bfloat16" else len(samples) - 1)


def test_a_teacher_of_this_process_halves_a_batch_that_the_memory_cannot_hold(
    gpu: None, samples: list[Sample], tiny_model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    del gpu
    import torch

    engine = TransformersEngine(tiny_model, "cuda", "float32")
    texts_of(engine, asks(samples)[:1])
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 48 * 2**20) / total)
    try:
        assert len(texts_of(engine, asks(samples * 60))) == 60 * len(samples)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert "it is halved" in caplog.text


def test_completions_are_scored_while_others_are_still_generated(
    device: str, samples: list[Sample], tiny_model: Path, sandbox: Sandbox
) -> None:
    import torch

    from evosyn.train.data import prompt_of, tasks_of
    from evosyn.train.early_scoring import EarlyScorer
    from evosyn.train.models import load_tokenizer
    from evosyn.train.scoring import Scorer, domains_of, reward_judge

    tasks, tokenizer = list(tasks_of(samples).values()), load_tokenizer(str(tiny_model))
    model = loaded(tiny_model, device, bf16=device == "cuda")
    texts = [
        tokenizer.apply_chat_template(prompt_of(one), add_generation_prompt=True, tokenize=False) for one in samples
    ]
    encoded = tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=False).to(device)
    width = encoded["input_ids"].shape[1]
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks)))
    early = EarlyScorer(scorer, tokenizer)
    torch.manual_seed(0)
    with early.watching(model, tasks, width, [tokenizer.eos_token_id]):
        output = model.generate(**encoded, do_sample=True, max_new_tokens=64)
    early.drain()
    ended = [row for row in range(len(tasks)) if tokenizer.eos_token_id in output[row, width:]]
    assert ended and early.offered == len(ended)
    executed = scorer.judge.executed
    finals = tokenizer.batch_decode(output[:, width:], skip_special_tokens=True)
    scorer.score([tasks[row] for row in ended], [finals[row] for row in ended])
    assert scorer.judge.executed == executed


def test_a_model_is_measured(small_data: Path, tiny_model: Path, tmp_path: Path, record: Record) -> None:
    asked = ("eval", tiny_model, "--bench", small_data, "--samples", 8, "--max-tokens", 48, "--out", tmp_path / "eval")
    done(line(*asked, "--allow-weak-sandbox"))
    (row,) = json.loads((tmp_path / "eval" / "report.json").read_text())["models"]
    record("report", row)
    assert 0 <= row["pass@1"]["mean"] <= 1  # it is asked in other words than it learnt


def test_a_student_is_calibrated(small_data: Path, tiny_model: Path, tmp_path: Path, record: Record) -> None:
    import shutil

    shutil.copytree(small_data, tmp_path / "data")
    asked = ("calibrate", tmp_path / "data", "--model", tiny_model, "--samples", 4, "--max-tokens", 48, "--json")
    said = done(line(*asked, "--allow-weak-sandbox"))
    found = json.loads(said.stdout)
    record("solve rate", found["solve_rate"])
    assert found["rated"] == found["rows"]
