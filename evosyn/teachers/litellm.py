"""`--model provider/name`: a real model as a teacher.

litellm reaches every provider; an OpenAI-compatible endpoint given by `base_url` is reached by plain aiohttp, at
a tenth of the processor time for each call. Neither is imported before it is needed.
"""

from __future__ import annotations

import os
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from evosyn.addresses import fault_of, is_this_machine
from evosyn.budget import unpriced
from evosyn.chat import Refusals
from evosyn.configs.loading import SECRET
from evosyn.errors import UsageError
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.teachers._litellm import LitellmTransport
from evosyn.teachers.adapting import Adapting
from evosyn.teachers.cache import ReplyCache
from evosyn.teachers.chat import ChatConfig, ChatTeacher, Price
from evosyn.teachers.failures import Endpoint, warn_of_short_key
from evosyn.teachers.transports import CompatibleTransport, Transport

COMPATIBLE = ("openai", "hosted_vllm", "ollama_chat", "lm_studio", "llamafile")
ADDRESSES = {
    "hosted_vllm": "HOSTED_VLLM_API_BASE",
    "lm_studio": "LM_STUDIO_API_BASE",
    "openai_like": "OPENAI_LIKE_API_BASE",
}
"""Servers of one's own, which have no address unless one is given, and the variable in which litellm looks for it: it
would ask OpenAI."""


class LitellmConfig(PluginConfig):
    """
    Attributes:
        model: `provider/name` in litellm's words, such as `openai/gpt-4o-mini` or `hosted_vllm/Qwen/Qwen3-8B`.
        base_url: endpoint, where it is not the provider's own; without a key in it.
        api_key_env: name of the environment variable with the key; by default the provider's usual one; empty: no key
            is sent.
        transport: `auto` takes plain aiohttp for a compatible endpoint with a `base_url`, litellm otherwise.
        timeout_s: of one call at least: it is longer where its tokens take longer at the usual rate, or calls before it
            are being answered.
        retries: further attempts after a server error, a time-out or a broken connection.
        hedge: ask again where a call hangs; null does, but not on this machine, where a second call would take its
            time from the others.
        requests_per_minute, tokens_per_minute: limits of the account.
        price_in, price_out: dollars for a million tokens, over those of litellm's list.
    """

    model: Annotated[str, Argument("provider/name")]
    base_url: str | None = None
    api_key_env: str | None = None
    transport: Literal["auto", "litellm", "compatible"] = "auto"
    timeout_s: float = Field(default=300.0, gt=0)
    retries: int = Field(default=4, ge=0)
    hedge: bool | None = None
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, url: str | None) -> str | None:
        if url is not None and (fault := fault_of(url)):
            raise PydanticCustomError(SECRET, "--base-url {fault}", {"fault": fault})
        return url


def create(tools: TeacherTools, config: LitellmConfig) -> ChatTeacher:
    """A teacher for `config.model`.

    Raises:
        UsageError: no provider in the model, no address of a server of one's own, the key's variable is not set, or a
            limit in money and no price.
    """
    model = config.model
    provider, slash, _ = model.partition("/")
    if not slash:
        raise UsageError(
            f"--model {model!r}: write it as provider/name, for example openai/{model} or hosted_vllm/{model}"
        )
    place = ADDRESSES.get(provider)
    if place is not None and config.base_url is None and not os.environ.get(place):
        raise UsageError(
            f"--model {model!r}: {provider} is a server of yours and has no address: give --base-url (such as "
            f"http://localhost:8000/v1), or student.base_url for a student alone, or set {place}"
        )
    endpoint = Endpoint(model, config.base_url, config.api_key_env)
    warn_of_short_key(endpoint.variable, endpoint.key())
    compatible = config.base_url is not None and provider in COMPATIBLE
    chosen: Transport
    listed: Price | None = None
    if config.transport == "compatible" or (config.transport == "auto" and compatible):
        chosen = CompatibleTransport(endpoint)
    else:
        chosen = LitellmTransport(endpoint)
        chosen.require_key()
        listed = chosen.price
    chat = ChatConfig(
        concurrency=tools.calls,
        retries=config.retries,
        timeout_s=config.timeout_s,
        requests_per_minute=config.requests_per_minute,
        tokens_per_minute=config.tokens_per_minute,
        price_in=config.price_in,
        price_out=config.price_out,
    )
    price = chat.price(listed) or listed
    if tools.budget.limits.max_cost is not None and (price is None or price(1, 1) is None):
        raise UsageError(unpriced(model))
    hedges = not is_this_machine(config.base_url) if config.hedge is None else config.hedge
    chat = chat if hedges else chat.model_copy(update={"hedge": None})
    known = tools.refusals.setdefault(f"{model} at {endpoint.url}", Refusals())
    kept = ReplyCache(tools.replies)
    return ChatTeacher(
        model, Adapting(chosen, known), chat, kept, tools.budget, endpoint.url, listed, reasoning=tools.reasoning,
        known=known,
    )  # fmt: skip
