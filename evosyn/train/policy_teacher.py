"""The model in training as a teacher (`evosyn coevolve --teacher self`): it answers between steps, in the thread that
trains, with the weights that it has then.

Each reply draws from a stream of its own, so it depends on weights and request alone; the streams of the trainer stay
as they are. Its replies are not cached, since the weights change: whoever asks keeps them. DejaQ (2601.01931), 4.3.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from evosyn.chat import Reply, Request
from evosyn.errors import UsageError
from evosyn.lengths import given_length, start_of
from evosyn.records import content_id
from evosyn.text.tokenizers import reasoning_of
from evosyn.thinking import settled
from evosyn.train.config import RlvrConfig
from evosyn.train.generation import TokenSampling, TransformersGenerator
from evosyn.train.models import context_of

SELF = "self"
WAIT_S = 0.005
BATCH = 32
"""Requests that are answered at once, where somebody asks several."""


class _Waiting(NamedTuple):
    request: Request
    answer: asyncio.Future[Reply]
    loop: asyncio.AbstractEventLoop


class PolicyTeacher:
    """Implements `ports.Teacher`; `attend` is what answers.

    Args:
        model: the one that is trained, with its tokenizer.
        seed: of the run.
    """

    name, simulated = SELF, False

    def __init__(self, model: Any, tokenizer: Any, seed: int) -> None:
        self._model, self._tokenizer, self._seed = model, tokenizer, seed
        self._form = reasoning_of(tokenizer, SELF)
        self._waiting: deque[_Waiting] = deque()

    async def complete(self, request: Request) -> Reply:
        """Waits until somebody attends."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        self._waiting.append(_Waiting(request, answer, loop))
        return await answer

    async def aclose(self) -> None:
        return None

    def attend(self) -> None:
        """Answer what waits; in the thread that owns the model."""
        if not self._waiting:
            time.sleep(WAIT_S)
        while self._waiting:
            request, answer, loop = self._waiting.popleft()
            loop.call_soon_threadsafe(_give, answer, self.replies([request])[0])

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """Answers to requests of the same sampling, several in a batch; in the thread that owns the model. They depend
        on the weights and on all of the requests.
        """
        if not requests:
            return []
        params, context = requests[0].params, context_of(self._model)
        shown = [[{"role": one.role, "content": one.content} for one in request.messages] for request in requests]
        sizes = [
            len(self._tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False))
            for turns in shown
        ]
        names = [
            content_id("r_", [self._seed, turns, dict(request.params), request.sample])
            for turns, request in zip(shown, requests, strict=True)
        ]
        fitting = [at for at, size in enumerate(sizes) if size < context]
        wanted = start_of(requests[0].purpose, given_length(params) or TokenSampling.max_tokens)
        sampling = TokenSampling(
            temperature=float(params.get("temperature", 1.0)),
            top_p=float(params.get("top_p", 1.0)),
            max_tokens=min(wanted, context - max((sizes[at] for at in fitting), default=0)),
            seed=self._seed,
        )
        generator = TransformersGenerator(self._model, self._tokenizer, sampling, at_once=BATCH, reasoning=self._form)
        trained = self._model.training
        self._model.eval()
        try:
            drawn = generator.generate([requests[at] for at in fitting], [names[at] for at in fitting])
        finally:
            self._model.train(trained)
        texts = {at: text for at, (text,) in zip(fitting, drawn, strict=True)}
        return [
            Reply(name, "", SELF, failure="bad-request") if at not in texts else settled(Reply(
                name, texts[at], SELF,
                input_tokens=sizes[at], output_tokens=len(self._tokenizer(texts[at])["input_ids"]),
            ), self._form)
            for at, name in enumerate(names)
        ]  # fmt: skip


def check_policy_teacher(config: RlvrConfig) -> None:
    """
    Raises:
        UsageError: completions are drawn elsewhere than in this process, where the weights of now are.
    """
    if config.rollout.engine != "transformers" or config.memory.deepspeed is not None:
        told = f"rollout.engine={config.rollout.engine}, memory.deepspeed={config.memory.deepspeed}"
        raise UsageError(
            f"--teacher self: the model in training mutates with the transformers engine and no deepspeed ({told}); "
            "leave them as they are, or name another teacher, such as litellm:provider/name"
        )


def _give(answer: asyncio.Future[Reply], reply: Reply) -> None:
    if not answer.done():
        answer.set_result(reply)
