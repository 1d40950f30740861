"""`--model provider/name`: a real model as a teacher.

litellm reaches every provider; an OpenAI-compatible endpoint given by `base_url` is reached by plain aiohttp, at
a tenth of the processor time for each call. Neither is imported before it is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from evosyn.errors import UsageError
from evosyn.teachers.budget import Budget, BudgetConfig
from evosyn.teachers.cache import ReplyCache
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.structured import Structured
from evosyn.teachers.transports import CompatibleTransport, Endpoint, LitellmTransport, Transport

COMPATIBLE = ("openai", "hosted_vllm", "ollama_chat", "lm_studio", "llamafile")


def create(
    *,
    model: str,
    base_url: str | None = None,
    api_key_env: str | None = None,
    transport: Literal["auto", "litellm", "compatible"] = "auto",
    timeout_s: float = 300.0,
    cache: Path | None = None,
    config: ChatConfig | None = None,
    budget: Budget | None = None,
) -> ChatTeacher:
    """A teacher for `model`.

    Args:
        model: `provider/name` in litellm's words, such as `openai/gpt-4o-mini` or `hosted_vllm/Qwen/Qwen3-8B`.
        base_url: endpoint, where it is not the provider's own.
        api_key_env: name of the environment variable with the key; by default the provider's usual one.
        transport: `auto` takes plain aiohttp for a compatible endpoint with a `base_url`, litellm otherwise.
        timeout_s: seconds for one call.
        cache: SQLite file of replies; None keeps them in memory only.

    Raises:
        UsageError: no provider in `model`, or the named variable is not set.
    """
    provider, slash, _ = model.partition("/")
    if not slash:
        raise UsageError(
            f"--model {model!r}: write it as provider/name, for example openai/{model} or hosted_vllm/{model}"
        )
    endpoint = Endpoint(model, base_url, api_key_env, timeout_s)
    endpoint.key()
    compatible = base_url is not None and provider in COMPATIBLE
    chosen: Transport
    if transport == "compatible" or (transport == "auto" and compatible):
        chosen = CompatibleTransport(endpoint)
    else:
        chosen = LitellmTransport(endpoint)
    return ChatTeacher(
        model, Structured(chosen), config or ChatConfig(), ReplyCache(cache), budget or Budget(BudgetConfig())
    )
