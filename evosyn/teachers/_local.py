"""Engines that generate with a model in this process: transformers, or vLLM where it is installed.

An engine answers a batch of asks at once and blocks. Each ask brings its own temperature and seed, so a reply does not
depend on what else is in the batch (up to the rounding of batched floating-point sums). Libraries are imported when an
engine is made, which loads the model.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from evosyn.errors import UsageError
from evosyn.records import Json
from evosyn.teachers.completions import Answer
from evosyn.teachers.failures import Failure, TransportError
from evosyn.text.logprobs import aligned
from evosyn.text.reasoning import MARK_CHARS, prefill_of
from evosyn.text.tokenizers import completion_texts, marks_are_special, pieces_of

log = logging.getLogger(__name__)
GREEDY = 1e-4
"""Temperatures up to here take the likeliest token."""


@dataclass(frozen=True)
class LocalAsk:
    """One chat to be continued.

    Attributes:
        template: further names for the chat template, such as `enable_thinking`.
    """

    messages: Sequence[Mapping[str, str]]
    seed: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 4096
    stop: tuple[str, ...] = ()
    template: Mapping[str, Json] = field(default_factory=dict)


class Engine(Protocol):
    """Answers a batch; the answer to an ask that cannot be put to the model is a TransportError."""

    def answers(self, asks: Sequence[LocalAsk]) -> list[Answer | TransportError]: ...

    def stop(self) -> None:
        """End a batch under way soon; called from another thread."""
        ...


def open_engine(engine: str, path: Path, device: str, dtype: str) -> Engine:
    """Load the model; `auto` is vLLM where it and a GPU are there, else transformers."""
    if engine == "vllm" or (engine == "auto" and device != "cpu" and _vllm_works()):
        return VllmEngine(path, dtype)
    return TransformersEngine(path, device, dtype)


def _vllm_works() -> bool:
    if importlib.util.find_spec("vllm") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


class TransformersEngine:
    """Batched `generate` of transformers on one device; a batch that does not fit the memory is halved."""

    def __init__(self, path: Path, device: str, dtype: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging as chatter

        chatter.disable_progress_bar()
        self._tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
        _require_template(self._tokenizer, path)
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        place = _device(device, path)
        kind = dtype if dtype == "auto" else getattr(torch, dtype, None)
        if not (kind == "auto" or isinstance(kind, torch.dtype)):
            raise UsageError(
                f"--model local:{path}: workbench.teacher.dtype {dtype}: no such type; bfloat16, float16 or float32"
            )
        self._model = AutoModelForCausalLM.from_pretrained(path, dtype=kind).to(place).eval()
        self._stopped = threading.Event()
        log.info("loaded %s on %s, %s", path, place, self._model.dtype)

    def stop(self) -> None:
        self._stopped.set()

    def answers(self, asks: Sequence[LocalAsk]) -> list[Answer | TransportError]:
        import torch

        try:
            return self._batch(asks)
        except torch.OutOfMemoryError as error:
            if len(asks) == 1:
                return [TransportError(Failure.BAD_REQUEST, f"does not fit the memory: {str(error)[:120]}")]
        torch.cuda.empty_cache()
        half = len(asks) // 2
        log.warning("a batch of %d does not fit the memory: it is halved (lower workbench.teacher.calls)", len(asks))
        return self.answers(asks[:half]) + self.answers(asks[half:])

    def _batch(self, asks: Sequence[LocalAsk]) -> list[Answer | TransportError]:
        prompts = [
            self._tokenizer.apply_chat_template(
                [dict(message) for message in ask.messages],
                add_generation_prompt=True,
                return_dict=False,
                **dict(ask.template),
            )
            for ask in asks
        ]
        context = int(getattr(self._model.config, "max_position_embeddings", 0) or 1 << 30)
        fits = [at for at, prompt in enumerate(prompts) if len(prompt) < context]
        found: list[Answer | TransportError] = [
            TransportError(Failure.BAD_REQUEST, told, body=told, advice="Take a model with a longer context")
            for told in (f"a prompt of {len(one)} input tokens, the context length is {context}" for one in prompts)
        ]
        if fits:
            rows, logprobs = self._generate([asks[at] for at in fits], [prompts[at] for at in fits], context)
            for at, row, known in zip(fits, rows, logprobs, strict=True):
                found[at] = self._answer(asks[at], prompts[at], row, known)
        return found

    def _generate(
        self, asks: Sequence[LocalAsk], prompts: Sequence[list[int]], context: int
    ) -> tuple[list[list[int]], list[list[float]]]:
        """The new tokens of each row, as far as its own end or limit, and the log-probability of each."""
        import torch
        from transformers import GenerationConfig

        padded = self._tokenizer.pad({"input_ids": list(prompts)}, return_tensors="pt").to(self._model.device)
        width = padded["input_ids"].shape[1]
        ends = self._ends()
        limits = [min(ask.max_tokens, context - len(prompt)) for ask, prompt in zip(asks, prompts, strict=True)]
        longest = min(max(limits), context - width)
        logprobs: list[list[float]] = []
        with torch.inference_mode():
            made = self._model.generate(
                **padded,
                generation_config=GenerationConfig(
                    do_sample=False,
                    max_new_tokens=longest,
                    eos_token_id=ends,
                    pad_token_id=self._tokenizer.pad_token_id,
                ),
                logits_processor=[_sampler(asks, logprobs)],
                stopping_criteria=[_limits(limits, width, self._stopped), _stops(asks, width, self._tokenizer)],
            )
        rows = []
        for row, limit in zip(made[:, width:].tolist(), limits, strict=True):
            end = next((at + 1 for at, token in enumerate(row) if token in ends), len(row))
            rows.append(row[: min(end, limit)])
        return rows, [[step[at] for step in logprobs[: len(row)]] for at, row in enumerate(rows)]

    def _ends(self) -> list[int]:
        named = self._model.generation_config.eos_token_id
        if named is None:
            named = self._tokenizer.eos_token_id
        return [named] if isinstance(named, int) else list(named or [])

    def _answer(self, ask: LocalAsk, prompt: Sequence[int], row: Sequence[int], logprobs: Sequence[float]) -> Answer:
        if self._stopped.is_set():
            raise TransportError(Failure.TRANSPORT, "stopped")
        prefill = prefill_of(self._tokenizer.decode(prompt[-MARK_CHARS:]))
        said = prefill + completion_texts(self._tokenizer, [row])[0]
        written = row[:-1] if row and row[-1] in self._ends() else row
        pieces = [(prefill, 0.0)] * bool(prefill) + [*zip(pieces_of(self._tokenizer, written), logprobs, strict=False)]
        text, found = cut_at(said, ask.stop)
        ended = found or (bool(row) and row[-1] in self._ends())
        known = aligned(((piece.encode(), value) for piece, value in pieces), text)
        return Answer(text, "stop" if ended else "length", None, len(prompt), len(row), 0.0, logprobs=known)


class VllmEngine:
    """Batched generation of vLLM."""

    def __init__(self, path: Path, dtype: str) -> None:
        self._vllm = importlib.import_module("vllm")
        self._llm = self._vllm.LLM(model=str(path), dtype=dtype)
        self._tokenizer = self._llm.get_tokenizer()
        _require_template(self._tokenizer, path)

    def stop(self) -> None:
        """vLLM ends with the process."""

    def answers(self, asks: Sequence[LocalAsk]) -> list[Answer | TransportError]:
        found: dict[int, Answer] = {}
        for template in {repr(sorted(ask.template.items())): ask.template for ask in asks}.values():
            places = [at for at, ask in enumerate(asks) if ask.template == template]
            outputs = self._llm.chat(
                [[dict(message) for message in asks[at].messages] for at in places],
                [self._sampling(asks[at]) for at in places],
                use_tqdm=False,
                chat_template_kwargs=dict(template) or None,
            )
            found |= {at: self._of_vllm(output) for at, output in zip(places, outputs, strict=True)}
        return [found[at] for at in range(len(asks))]

    def _of_vllm(self, output: Any) -> Answer:
        first, prompt = output.outputs[0], output.prompt_token_ids
        prefill, finish = prefill_of(self._tokenizer.decode(prompt[-MARK_CHARS:])), first.finish_reason or "stop"
        chosen = [told[token] for token, told in zip(first.token_ids, first.logprobs or (), strict=False)]
        pieces = [(prefill, 0.0)] * bool(prefill) + [(one.decoded_token or "", one.logprob) for one in chosen]
        text = prefill + first.text
        known = aligned(((piece.encode(), value) for piece, value in pieces), text)
        return Answer(text, finish, None, len(prompt), len(first.token_ids), 0.0, logprobs=known)

    def _sampling(self, ask: LocalAsk) -> Any:
        return self._vllm.SamplingParams(
            temperature=ask.temperature,
            top_p=ask.top_p,
            top_k=ask.top_k or -1,
            max_tokens=ask.max_tokens,
            stop=list(ask.stop) or None,
            skip_special_tokens=not marks_are_special(self._tokenizer),
            seed=ask.seed,
            logprobs=0,
        )


def cut_at(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The text before the first of `stops`, and whether one was there."""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return (text[: min(places)], True) if places else (text, False)


def _device(name: str, path: Path) -> str:
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = name.partition(":")
    there = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}.get(kind, 0)
    if not (number or "0").isdecimal() or int(number or 0) >= there:
        raise UsageError(f"--model local:{path}: workbench.teacher.device {name}: not here; auto takes what is")
    return name


def _require_template(tokenizer: Any, path: Path) -> None:
    if not getattr(tokenizer, "chat_template", None):
        raise UsageError(
            f"--model local:{path}: its tokenizer has no chat template; take an instruction-tuned model, or add a "
            "chat_template.jinja to the directory"
        )


def _sampler(asks: Sequence[LocalAsk], logprobs: list[list[float]]) -> Any:
    """Draws the next token of each row with the row's own generator; leaves it as the only possible one, and adds the
    log-probabilities that the model gave them, at a temperature of 1."""
    import torch

    draws = [random.Random(ask.seed) for ask in asks]

    def process(_tokens: Any, scores: Any) -> Any:
        chosen = scores.argmax(dim=-1)
        for at, (ask, draw) in enumerate(zip(asks, draws, strict=True)):
            if ask.temperature <= GREEDY:
                continue
            ordered, tokens = (scores[at].float() / ask.temperature).softmax(dim=-1).sort(descending=True)
            if ask.top_k:
                ordered, tokens = ordered[: ask.top_k], tokens[: ask.top_k]
            below = ordered.cumsum(dim=-1)
            if ask.top_p < 1.0:
                kept = int((below - ordered < ask.top_p * below[-1]).sum())
                below = below[: max(1, kept)]
            place = int(torch.searchsorted(below, draw.random() * below[-1]))
            chosen[at] = tokens[min(place, len(below) - 1)]
        logprobs.append(scores.float().log_softmax(dim=-1).gather(1, chosen[:, None])[:, 0].tolist())
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen[:, None], 0.0)

    return process


def _limits(limits: Sequence[int], width: int, stopped: threading.Event) -> Any:
    """Ends each row at its own number of tokens, and all of them when stopped."""
    import torch

    def ended(tokens: Any, _scores: Any, **_: Any) -> Any:
        done = [stopped.is_set() or tokens.shape[1] - width >= limit for limit in limits]
        return torch.tensor(done, device=tokens.device)

    return ended


def _stops(asks: Sequence[LocalAsk], width: int, tokenizer: Any) -> Any:
    """Ends each row at one of its own stop texts."""
    import torch

    def ended(tokens: Any, _scores: Any, **_: Any) -> Any:
        done = []
        for ask, row in zip(asks, tokens, strict=True):
            tail = row[max(width, len(row) - 8 - max(map(len, ask.stop), default=0)) :] if ask.stop else row[:0]
            done.append(bool(ask.stop) and cut_at(tokenizer.decode(tail), ask.stop)[1])
        return torch.tensor(done, device=tokens.device)

    return ended
