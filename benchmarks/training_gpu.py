"""What a GPU gives a training: tokens a second of SFT, of GRPO and of drawing, and the peak of its memory.

    python benchmarks/training_gpu.py [--size half|small] [--steps 8] [--only NAME,NAME] [--json FILE]

A model of half a billion random weights (the shape of a Qwen2 of that size) is trained by `evosyn distill` and `evosyn
train`, in bf16, in 32 bits and with an adapter, and by TRL's own trainers with the very same arguments, in turn in one
process. The first two steps of each way are not counted. Its replies are no programs, so nothing is executed for their
rewards: `benchmarks/training.py` measures what those cost. Ratios travel between machines, absolute figures do not.
`--size small` shows on a CPU that it works. Needs the train extra.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from training import write_data

from evosyn.chat import Request
from evosyn.configs.loading import load_config
from evosyn.dataset import Sample, read_dataset, write_dataset
from evosyn.errors import EvosynError
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.sandbox import open_sandbox
from evosyn.train.config import DistillConfig, MemoryConfig, RlvrConfig, TinyConfig
from evosyn.train.settings import fit_settings, grpo_settings, resolve

WARM = 2
"""Steps of each way that are not counted."""
LINES = 40
"""Of a program that SFT learns: some 500 tokens."""
FAILED = (EvosynError, RuntimeError, ValueError, TypeError, AttributeError, ImportError, OSError)
ADAPTER = ("memory.lora_rank=16",)
WIDE = ("memory.bf16=false",)


class Size(NamedTuple):
    """A model's shape, and how much it is given at once."""

    shape: Mapping[str, int]
    batch: int
    prompts: int
    group: int
    completion: int


SIZES = {
    "half": Size({"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
                  "num_attention_heads": 14, "num_key_value_heads": 2}, 16, 8, 8, 64),
    "small": Size({"vocab_size": 1024, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                   "num_attention_heads": 4, "num_key_value_heads": 2}, 4, 2, 2, 8),
}  # fmt: skip


class Place(NamedTuple):
    """Where everything lies, and what is measured."""

    data: Path
    model: Path
    scratch: Path
    size: Size
    steps: int


class Enough(Exception):
    """All steps that are counted are done; nothing is saved."""


class Clock:
    """Takes the lines that a training logs, with the time, and ends it after so many."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.rows: list[dict[str, Any]] = []

    def take(self, row: Mapping[str, Any]) -> None:
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.rows.append({**row, "at": time.perf_counter()})
        if len(self.rows) == self._steps:
            raise Enough

    def figures(self, per_step: Callable[[Mapping[str, Any]], float] | None = None) -> dict[str, Json]:
        """Seconds a step and tokens a second; by `num_tokens`, which counts no padding, unless `per_step` counts."""
        first, last = self.rows[WARM - 1], self.rows[-1]
        seconds, counted = last["at"] - first["at"], self.rows[WARM:]
        read = last["num_tokens"] - first["num_tokens"]
        tokens = sum(map(per_step, counted)) if per_step else read
        found: dict[str, Json] = {
            "seconds_per_step": round(seconds / len(counted), 4),
            "tokens_per_step": round(tokens / len(counted), 1),
            "tokens_per_second": round(tokens / seconds, 1),
            "loss": round(float(last["loss"]), 4),
        }
        if "reward_share" in last:
            found["reward_share"] = round(sum(row.get("reward_share", 0.0) for row in counted) / len(counted), 5)
        return found


def make(folder: Path, size: Size, steps: int) -> Place:
    """The data, and a model of random weights with a tokenizer made from them."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from evosyn.train import tiny
    from evosyn.train.models import load_tokenizer

    place = Place(folder / "data", folder / "model", folder / "scratch", size, steps)
    write_data(place.data, random.Random(1), 64)
    samples = [_long(sample, random.Random(at)) for at, sample in enumerate(read_dataset(place.data))]
    write_dataset(place.data, "evosyn", samples)
    tiny.build(folder / "tiny", samples, TinyConfig(warm_steps=0), SeedTree(0))
    tokenizer = load_tokenizer(str(folder / "tiny"))
    config = Qwen2Config(
        **size.shape, max_position_embeddings=2048, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = Qwen2ForCausalLM(config)
    model.save_pretrained(place.model)
    tokenizer.save_pretrained(place.model)
    print(f"{sum(weight.numel() for weight in model.parameters()) / 1e6:.0f} M weights", flush=True)
    return place


def _long(sample: Sample, generator: random.Random) -> Sample:
    """The same row with remarks, so that all rows are of about the same length."""
    remarks = "".join(f"    # {generator.getrandbits(40):x}\n" for _ in range(LINES))
    head, body = sample.solution.split("\n", 1)
    text = f"{head}\n{remarks}{body}"
    (first, *others) = json.loads(sample.solutions_ranked)
    ranked = json.dumps([{**first, "source": text}, *others])
    return replace(sample, solution=text, solutions_ranked=ranked)


def sft_config(place: Place, sets: Sequence[str]) -> DistillConfig:
    fixed = (f"fit.batch={place.size.batch}", "fit.warmup=0.0", "steps=1000", "keep.every=100000", "keep.last=1")
    flags = {"data": str(place.data), "model": str(place.model)}
    return load_config(DistillConfig, sets=[*fixed, *sets], flags=flags)


def grpo_config(place: Place, sets: Sequence[str]) -> RlvrConfig:
    size = place.size
    fixed = (f"rollout.prompts={size.prompts}", f"rollout.group={size.group}", "steps=1000", "keep.every=100000",
             f"rollout.max_completion={size.completion}", "keep.last=1")  # fmt: skip
    flags = {"data": str(place.data), "model": str(place.model)}
    return resolve(load_config(RlvrConfig, sets=[*fixed, *sets], flags=flags))


def sft(place: Place, out: Path, sets: Sequence[str]) -> dict[str, Json]:
    from evosyn.train.distill import distill

    clock = Clock(place.steps)
    _until_enough(partial(distill, sft_config(place, sets), out, on_row=clock.take))
    return clock.figures()


def sft_of_trl(place: Place, out: Path, sets: Sequence[str]) -> dict[str, Json]:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    from evosyn.train.data import sft_rows

    config, clock = sft_config(place, sets), Clock(place.steps)
    model, tokenizer, bf16, cpu = _loaded(config.memory, place)
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(**fit_settings(config, out, bf16=bf16, cpu=cpu)),
        train_dataset=Dataset.from_list(sft_rows(read_dataset(place.data), 1)),
        processing_class=tokenizer,
        callbacks=[_logged(clock)],
    )
    _until_enough(trainer.train)
    return clock.figures()


def grpo(place: Place, out: Path, sets: Sequence[str]) -> dict[str, Json]:
    from evosyn.train.rlvr import train_rlvr

    clock = Clock(place.steps)
    with open_sandbox("local", workers=4, allow_weak=True) as sandbox:
        _until_enough(partial(train_rlvr, grpo_config(place, sets), out, sandbox, on_row=clock.take))
    return clock.figures(partial(_drawn, place.size))


def grpo_of_trl(place: Place, out: Path, sets: Sequence[str]) -> dict[str, Json]:
    """With a reward that costs nothing."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from evosyn.train.data import prompt_of

    def by_length(completions: Sequence[Any], **_: object) -> list[float]:
        return [float(len(one[0]["content"]) % 7) for one in completions]

    config, clock = grpo_config(place, sets), Clock(place.steps)
    model, tokenizer, bf16, cpu = _loaded(config.memory, place)
    trainer = GRPOTrainer(
        model=model,
        args=GRPOConfig(**grpo_settings(config, out, bf16=bf16, cpu=cpu)),
        reward_funcs=[by_length],
        train_dataset=Dataset.from_list([{"prompt": prompt_of(sample)} for sample in read_dataset(place.data)]),
        processing_class=tokenizer,
        callbacks=[_logged(clock)],
    )
    _until_enough(trainer.train)
    return clock.figures(partial(_drawn, place.size))


def draw(place: Place, out: Path, sets: Sequence[str]) -> dict[str, Json]:
    """Completions as `evosyn eval` draws them: one batch of 64, none of which ends early."""
    import torch

    from evosyn.train.generation import GPU_BATCH, TokenSampling, TransformersGenerator
    from evosyn.train.models import load_model, load_tokenizer

    del out
    cuda = torch.cuda.is_available()
    bf16 = cuda and WIDE[0] not in sets
    model = load_model(str(place.model), MemoryConfig(), bf16=bf16, frozen=True).eval().to("cuda" if cuda else "cpu")
    tokenizer = load_tokenizer(str(place.model))
    asked = [Request(tuple(sample.prompt), "solution", {}) for sample in read_dataset(place.data)][:GPU_BATCH]
    seconds = 0.0
    for tokens in (4, place.size.completion):
        sampling = TokenSampling(temperature=1.0, top_p=1.0, max_tokens=tokens)
        started = time.perf_counter()
        TransformersGenerator(model, tokenizer, sampling, at_once=len(asked)).generate(asked, [""] * len(asked))
        seconds = time.perf_counter() - started
    return {"tokens_per_second": round(len(asked) * place.size.completion / seconds, 1), "seconds": round(seconds, 3)}


def draw_as_teacher(place: Place, out: Path, sets: Sequence[str]) -> dict[str, Json]:
    """The same by `--model local:DIR`, where each row draws with a generator of its own; in batches of 32."""
    import torch

    from evosyn.teachers._local import LocalAsk, TransformersEngine

    del out, sets
    cuda = torch.cuda.is_available()
    engine = TransformersEngine(place.model, "cuda" if cuda else "cpu", "bfloat16" if cuda else "float32")
    turns = [
        [{"role": one.role, "content": one.content} for one in sample.prompt] for sample in read_dataset(place.data)
    ]
    asked = [LocalAsk(turn, seed, max_tokens=place.size.completion) for seed, turn in enumerate(turns[:32])]
    engine.answers([replace(one, max_tokens=4) for one in asked])
    started = time.perf_counter()
    engine.answers(asked)
    seconds = time.perf_counter() - started
    return {"tokens_per_second": round(len(asked) * place.size.completion / seconds, 1), "seconds": round(seconds, 3)}


Way = Callable[[Place, Path, Sequence[str]], dict[str, Json]]
WAYS: dict[str, tuple[Way, Sequence[str]]] = {
    "sft-bf16": (sft, ()),
    "sft-bf16-trl": (sft_of_trl, ()),
    "sft-32": (sft, WIDE),
    "sft-lora": (sft, ADAPTER),
    "sft-checkpointing": (sft, ("memory.gradient_checkpointing=true",)),
    "grpo-bf16": (grpo, ()),
    "grpo-bf16-trl": (grpo_of_trl, ()),
    "grpo-lora": (grpo, ADAPTER),
    "grpo-32": (grpo, WIDE),
    "draw-bf16": (draw, ()),
    "draw-32": (draw, WIDE),
    "draw-teacher": (draw_as_teacher, ()),
}


def measure(name: str, place: Place) -> dict[str, Json]:
    """One way; what went wrong in place of figures."""
    import torch

    cuda = torch.cuda.is_available()
    gc.collect()
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    way, sets = WAYS[name]
    with tempfile.TemporaryDirectory(dir=place.scratch) as folder:
        try:
            found = way(place, Path(folder) / "run", sets)
        except FAILED as error:
            return {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
    return {**found, "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2) if cuda else None}


def _until_enough(run: Callable[[], object]) -> None:
    try:
        run()
    except Enough:
        return
    raise ValueError("the training ended by itself")


def _drawn(size: Size, row: Mapping[str, Any]) -> float:
    return float(row["completions/mean_length"]) * size.prompts * size.group


def _loaded(memory: MemoryConfig, place: Place) -> tuple[Any, Any, bool, bool]:
    import torch

    from evosyn.train.models import load_model, load_tokenizer, use_bf16

    bf16 = use_bf16(memory)
    model = load_model(str(place.model), memory, bf16=bf16)
    return model, load_tokenizer(str(place.model)), bf16, not torch.cuda.is_available()


def _logged(clock: Clock) -> Any:
    from transformers import TrainerCallback

    class Logged(TrainerCallback):  # type: ignore[misc]
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            del args, state, control, rest
            clock.take(logs)

    return Logged()


def ratios(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Json]:
    """What travels: each pair's tokens a second, and peaks of memory."""
    pairs = [("sft-bf16", "sft-bf16-trl"), ("grpo-bf16", "grpo-bf16-trl"), ("sft-bf16", "sft-32"),
             ("grpo-bf16", "grpo-32"), ("sft-lora", "sft-bf16"), ("grpo-lora", "grpo-bf16"),
             ("sft-checkpointing", "sft-bf16"), ("draw-bf16", "draw-32")]  # fmt: skip
    return {
        f"{one} / {other}": {
            key: round(found[one][key] / found[other][key], 3)
            for key in ("tokens_per_second", "peak_gb")
            if found[one].get(key) and found[other].get(key)
        }
        for one, other in pairs
        if one in found and other in found
    }


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="half")
    parser.add_argument("--steps", type=int, default=14, help="of each way, the two that are not counted among them")
    parser.add_argument("--only", default=",".join(WAYS), help="ways, with commas between them")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu"
    result: Json = {"device": device, "torch": torch.__version__, "size": options.size, "steps": options.steps}
    found: dict[str, dict[str, Json]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = make(Path(folder), SIZES[options.size], options.steps)
        place.scratch.mkdir()
        names = options.only.split(",")
        measure(names[0], place)  # what comes first in a process pays for what the second finds ready
        for name in names:
            started = time.perf_counter()
            found[name] = measure(name, place)
            print(f"{name}: {json.dumps(found[name])} ({time.perf_counter() - started:.0f} s in all)", flush=True)
            result |= {"ways": found, "ratios": ratios(found)}
            if options.json is not None:
                options.json.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result["ratios"], indent=2))


if __name__ == "__main__":
    main()
