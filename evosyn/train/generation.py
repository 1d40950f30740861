"""Where completions come from in an evaluation: a local model through transformers, or a teacher behind an endpoint.

Both give the same for the same seed, as far as the model allows it. No sandbox, no scores here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from evosyn.chat import Reply, Request
from evosyn.ports import Teacher
from evosyn.randomness import SeedTree
from evosyn.running.ledger import NEVER_CAME
from evosyn.running.progress import ReplyCounts
from evosyn.text.reasoning import AUTO
from evosyn.text.tokenizers import completion_texts, reasoning_of

log = logging.getLogger(__name__)

GPU_BATCH = 64
"""Completions that a GPU draws at once."""


@dataclass(frozen=True)
class TokenSampling:
    """How completions are drawn. `temperature` 0 is greedy (and then one sample says all)."""

    samples: int = 1
    temperature: float = 0.8
    top_p: float = 0.95
    max_tokens: int = 512
    batch: int = 16
    seed: int = 0


class Generator(Protocol):
    """Draws `sampling.samples` completions for each request; an empty text where the model gave nothing usable, None
    where it said nothing because its endpoint failed.

    Attributes:
        chunk: how many requests a caller should give at once; what is lost at most when it is killed.
        reasoning: the form in which its texts, which are as they came, mark reasoning.
    """

    chunk: int
    reasoning: str

    def generate(self, requests: Sequence[Request], names: Sequence[str]) -> Sequence[Sequence[str | None]]: ...


class TransformersGenerator:
    """A model and tokenizer in this process.

    Args:
        at_once: requests in one padded batch. With 1, each draws from its own stream, whatever else is run; with
            more, those of a batch share one.
        reasoning: as of `text.tokenizers.reasoning_of`.
    """

    def __init__(
        self, model: Any, tokenizer: Any, sampling: TokenSampling, *, at_once: int = 1, reasoning: str = AUTO
    ) -> None:
        self._model, self._tokenizer, self._sampling = model, tokenizer, sampling
        self.chunk, self.reasoning = at_once, reasoning

    def generate(self, requests: Sequence[Request], names: Sequence[str]) -> list[list[str]]:
        found: list[list[str]] = []
        for start in range(0, len(requests), self.chunk):
            found += self._several(requests[start : start + self.chunk], names[start : start + self.chunk])
        return found

    def _several(self, requests: Sequence[Request], names: Sequence[str]) -> list[list[str]]:
        import torch

        sampling = self._sampling
        turns = [
            [{"role": message.role, "content": message.content} for message in request.messages] for request in requests
        ]
        encoded = self._tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True
        ).to(self._model.device)
        width = encoded["input_ids"].shape[1]
        greedy = sampling.temperature == 0
        options: dict[str, Any] = {"do_sample": False} if greedy else {
            "do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0
        }  # fmt: skip
        wanted = 1 if greedy else sampling.samples
        texts: list[list[str]] = [[] for _ in requests]
        devices = [self._model.device] if self._model.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), torch.inference_mode():
            torch.manual_seed(SeedTree(sampling.seed).child("generate", *names).integer() % 2**63)
            while len(texts[0]) < wanted:
                count = min(sampling.batch, wanted - len(texts[0]))
                output = self._model.generate(
                    **encoded,
                    **options,
                    num_return_sequences=count,
                    max_new_tokens=sampling.max_tokens,
                    pad_token_id=self._tokenizer.pad_token_id,
                )
                drawn = completion_texts(self._tokenizer, output[:, width:].tolist())
                for place, mine in enumerate(texts):
                    mine += drawn[place * count : (place + 1) * count]
        return [mine * (sampling.samples if greedy else 1) for mine in texts]


def local_generator(name: str, sampling: TokenSampling, reasoning: str = AUTO) -> TransformersGenerator:
    """A model of this machine or the hub, ready to draw; on the GPU where there is one."""
    from evosyn.train.config import MemoryConfig
    from evosyn.train.models import check_model, load_model, load_tokenizer

    check_model(name)
    log.info("loading torch, and %s", name)
    import torch

    cuda = torch.cuda.is_available()
    if not cuda:
        torch.set_num_threads(1)
    tokenizer = load_tokenizer(name)
    model = load_model(name, MemoryConfig(), bf16=cuda, frozen=True).eval()
    form, at_once = reasoning_of(tokenizer, name, reasoning), max(1, GPU_BATCH // sampling.samples) if cuda else 1
    return TransformersGenerator(
        model.to("cuda") if cuda else model, tokenizer, sampling, at_once=at_once, reasoning=form
    )


class TeacherGenerator:
    """A model behind the teacher port: cached, budgeted and retried there. All requests go out at once. It gives
    texts as they came, which mark reasoning in a form."""

    chunk = 1_000_000

    def __init__(
        self, teacher: Teacher, sampling: TokenSampling, reasoning: str = AUTO, counts: ReplyCounts | None = None
    ) -> None:
        """
        Args:
            counts: told of each reply as it comes.
        """
        self._teacher, self._sampling, self.reasoning = teacher, sampling, reasoning
        self._counts = counts or ReplyCounts()

    def generate(self, requests: Sequence[Request], names: Sequence[str]) -> list[list[str | None]]:
        del names
        sampling = self._sampling
        params = {"temperature": sampling.temperature, "top_p": sampling.top_p, "max_tokens": sampling.max_tokens}

        async def one(request: Request) -> str | None:
            reply = await self._teacher.complete(request)
            self._counts.reply(reply)
            self._counts.end_slot([reply], reply.failure is not None)
            return _text_of(reply)

        async def draw_all() -> list[list[str | None]]:
            asked = [
                one(replace(request, params=params, sample=sample))
                for request in requests
                for sample in range(sampling.samples)
            ]
            self._counts.expect(len(asked))
            try:
                texts = await asyncio.gather(*asked)
            finally:
                await self._teacher.aclose()
            return [texts[at : at + sampling.samples] for at in range(0, len(texts), sampling.samples)]

        return asyncio.run(draw_all())


def _text_of(reply: Reply) -> str | None:
    if reply.failure in NEVER_CAME:
        return None
    return str(reply.text) if reply.failure is None else ""
