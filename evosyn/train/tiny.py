"""`builtin:tiny`: a randomly initialised model of less than a million parameters, made on the spot from the data.

It shows that the loop works on a laptop without a download. It is no language model: its tokenizer is trained on the
dataset at hand, its weights are random and then warmed up by a short SFT on solutions of that dataset, right and wrong
ones. Every report of a run with it says so. Nothing of it comes from a network.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evosyn.dataset import Sample
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import write_atomic
from evosyn.text.tool_calls import CLOSE, OPEN
from evosyn.train.config import TinyConfig
from evosyn.train.data import prompt_of, spoken_turns, warm_rows
from evosyn.train.models import TINY

log = logging.getLogger(__name__)

NAME = TINY
MARK = "evosyn_tiny.json"
LABEL = (
    "builtin:tiny is a randomly initialised model of under a million parameters with a tokenizer made "
    "from this dataset; "
    "its figures show that the loop works and say nothing about real language models"
)
PAD, START, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
CONTEXT = 1024
MOST = 1_000_000
"""Parameters that it stays below."""
RESPONSE = {
    "defaults": {"role": "assistant"},
    "start_anchor": f"{START}assistant",
    "fields": {
        "tool_calls": {
            "open": OPEN, "close_pattern": f"{CLOSE}\\s*", "repeats": True, "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}  # fmt: skip
"""How its replies are read, in the words of transformers."""


def is_tiny(path: str | Path) -> bool:
    """Whether this directory holds a model that `build` made, or one trained from it."""
    return (Path(path) / MARK).is_file()


def build(folder: Path, samples: Sequence[Sample], config: TinyConfig, seeds: SeedTree) -> None:
    """Write model, tokenizer and mark to `folder`; the mark comes last, so that a torn build is seen and repeated."""
    if is_tiny(folder):
        return
    log.info("%s: making a tokenizer and a model from %d rows", NAME, len(samples))
    tokenizer = _tokenizer(samples, config)
    weights = seeds.child("tiny", "weights")
    model = small_model(tokenizer, weights, width=config.width, layers=config.layers, kv_heads=2, context=CONTEXT)
    parameters = sum(weight.numel() for weight in model.parameters())
    warm: Json = None
    if config.warm_steps:
        warm = _warm_up(model, tokenizer, samples, config, seeds)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    mark = {"v": 1, "label": LABEL, "parameters": parameters, "vocabulary": len(tokenizer), "warm_start": warm}
    write_atomic(folder / MARK, json.dumps(mark, indent=2) + "\n")


def easiest(samples: Sequence[Sample], problems: int) -> list[Sample]:
    """So many problems with the shortest solutions, shared out among the domains, in the order of the data.

    The choice depends on all solutions of a problem and not on the ranking, so that two settings get the same problems.
    """

    def length(sample: Sample) -> tuple[int, str]:
        return min((len(other.source) for other in sample.ranked), default=len(sample.solution)), sample.problem_id

    domains = list(dict.fromkeys(sample.domain for sample in samples))
    chosen = set()
    for place, domain in enumerate(domains):
        mine = sorted((sample for sample in samples if sample.domain == domain), key=length)
        share = max(1, problems // len(domains) + (place < problems % len(domains)))
        chosen |= {(domain, sample.problem_id) for sample in mine[:share]}
    return [sample for sample in samples if (sample.domain, sample.problem_id) in chosen]


def label(kept: int, of: int) -> str:
    """What every report of a run with it says."""
    if kept == of:
        return LABEL
    return f"{LABEL}; it was trained on the {kept} of {of} problems with the shortest solutions"


def read_mark(folder: str | Path) -> Json:
    return json.loads((Path(folder) / MARK).read_text(encoding="utf-8"))


def _tokenizer(samples: Sequence[Sample], config: TinyConfig) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    prompts = [prompt_of(sample)[-1]["content"] for sample in samples]
    prefix = _common_prefix(prompts) if len(prompts) > 1 else ""
    starts = [prompt.removeprefix(prefix)[: config.prompt_chars] for prompt in prompts]
    answers = sorted(
        turn["content"] for sample in samples for other in sample.ranked for turn in spoken_turns(sample, other.source)
    )
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(
        starts + answers + ["assistant\nuser\nsystem\n"],
        trainers.BpeTrainer(
            vocab_size=config.vocabulary,
            special_tokens=[PAD, START, END],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token=PAD, eos_token=END, padding_side="left", model_max_length=CONTEXT
    )
    tokenizer.chat_template = _template(prefix, config.prompt_chars)
    tokenizer.response_template = RESPONSE
    return tokenizer


def _common_prefix(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    same = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return first[:same]


def _template(prefix: str, chars: int) -> str:
    """ChatML without system messages and lists of tools, the user's text cut to what tells the problems of this
    dataset apart. Calls of tools are said as they are in the text of a reply (`evosyn.text.tool_calls`)."""
    shown = f"(message['content'] | replace({json.dumps(prefix)}, ''))" if prefix else "message['content']"
    return (
        "{%- for message in messages -%}"
        "{%- if message['role'] == 'user' -%}"
        f"{START}user\n" + "{{ " + f"{shown}[:{chars}]" + " }}" + f"{END}\n"
        "{%- elif message['role'] == 'assistant' -%}"
        f"{START}assistant" + "{% generation %}{{ '\\n' + (message['content'] or '') }}"
        "{%- for call in message['tool_calls'] or [] -%}"
        f"{OPEN}" + "{{ call['function'] | tojson }}" + f"{CLOSE}"
        "{%- endfor -%}" + f"{END}" + "{% endgeneration %}\n"
        "{%- elif message['role'] == 'tool' -%}"
        f"{START}tool\n" + "{{ message['content']" + f"[:{chars}]" + " }}" + f"{END}\n"
        "{%- endif -%}"
        "{%- endfor -%}"
        "{%- if add_generation_prompt -%}" + f"{START}assistant\n" + "{%- endif -%}"
    )


def small_model(tokenizer: Any, seeds: SeedTree, *, width: int, layers: int, kv_heads: int, context: int) -> Any:
    """A Qwen3 of four heads with random weights that `seeds` alone decides.

    Args:
        width: a multiple of 4.
        context: longest sequence, in tokens.
    """
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    shape = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=kv_heads,
        head_dim=width // 4,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer() % 2**63)
        return Qwen3ForCausalLM(shape)


def _warm_up(model: Any, tokenizer: Any, samples: Sequence[Sample], config: TinyConfig, seeds: SeedTree) -> Json:
    """It is small enough to be repeated whole after a kill."""
    from evosyn.train.plain_sft import Pair, RateSchedule, fit_pairs

    pairs = []
    for row in warm_rows(samples, config.warm_solutions, seeds):
        prompt = tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=False)
        answer = tokenizer(row["completion"][0]["content"] + END, add_special_tokens=False)["input_ids"]
        if len(prompt) + len(answer) <= CONTEXT // 2:
            pairs.append(Pair(prompt, answer))
    if not pairs:
        return None
    schedule = RateSchedule(config.warm_steps, config.warm_batch, config.warm_rate)

    def told(step: int) -> None:
        if step % max(1, config.warm_steps // 5) == 0:
            log.info("%s: warm start, step %d of %d", NAME, step, config.warm_steps)

    losses = fit_pairs(model, pairs, tokenizer.pad_token_id, schedule, seeds.child("tiny", "order"), told)
    log.info("warm start: loss %.3f -> %.3f in %d steps", losses[0], losses[-1], len(losses))
    return {"steps": len(losses), "rows": len(pairs), "loss_start": losses[0], "loss_end": losses[-1]}
