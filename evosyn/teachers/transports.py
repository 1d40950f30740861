"""How one chat request reaches a provider: litellm for all of them, the openai SDK (on aiohttp) for compatible ones.

Both raise the same family of exceptions, so one table turns them into typed failures. Keys are read from the
environment by name at the moment of the call; litellm never fetches its price map and sends no telemetry.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from evosyn.chat import Request
from evosyn.errors import UsageError
from evosyn.records import Json


class Failure(StrEnum):
    """Why a call gave no answer; each has its own policy in `chat`."""

    AUTH = "auth"  # ends the run
    NO_MODEL = "no-model"  # ends the run
    BAD_REQUEST = "bad-request"  # this request alone, never retried
    RATE = "rate"  # slows down, retried
    SERVER = "server"  # retried
    TIMEOUT = "timeout"  # retried
    TRANSPORT = "transport"  # retried


class TransportError(Exception):
    """A call without an answer.

    Attributes:
        kind: which policy applies.
        retry_after: seconds that the endpoint asked for, 0.0 if it did not say.
    """

    def __init__(self, kind: Failure, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.kind, self.retry_after = kind, retry_after


@dataclass(frozen=True)
class Answer:
    """What a provider sent back, before any judgement of it. `cost` is None where the price is unknown."""

    text: str
    finish_reason: str
    reasoning: str | None
    input_tokens: int
    output_tokens: int
    cost: float | None


class Transport(Protocol):
    """Sends one request. Raises TransportError; never retries by itself."""

    async def send(self, request: Request) -> Answer: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True)
class Endpoint:
    """Where to send: model name, base URL (None: the provider's own), name of the key's variable, seconds for one
    call."""

    model: str
    base_url: str | None
    api_key_env: str | None
    timeout_s: float

    def key(self) -> str | None:
        """The key, read now.

        Raises:
            UsageError: a variable was named and is not set.
        """
        if self.api_key_env is None:
            return None
        value = os.environ.get(self.api_key_env)
        if not value:
            raise UsageError(f"api_key_env: the environment variable {self.api_key_env} is not set")
        return value


class OpenAITransport:
    """An OpenAI-compatible endpoint (vLLM, SGLang, Ollama, a gateway) through the openai SDK on aiohttp."""

    def __init__(self, endpoint: Endpoint) -> None:
        import openai

        self._model = endpoint.model.partition("/")[2] or endpoint.model
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key() or os.environ.get("OPENAI_API_KEY") or "no-key",
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=endpoint.timeout_s,
            http_client=openai.DefaultAioHttpClient(timeout=endpoint.timeout_s),
        )

    async def send(self, request: Request) -> Answer:
        try:
            response = await self._client.chat.completions.create(
                model=self._model, messages=_messages(request), **dict(request.params)
            )
        except Exception as error:
            raise _typed(error) from error
        return _answer(response, None)

    async def aclose(self) -> None:
        await self._client.close()


class LitellmTransport:
    """Any provider that litellm knows, by `provider/model`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._litellm = _import_litellm()

    async def send(self, request: Request) -> Answer:
        extra: dict[str, Any] = {"base_url": self._endpoint.base_url} if self._endpoint.base_url else {}
        key = self._endpoint.key()
        if key or self._endpoint.base_url:
            extra["api_key"] = key or os.environ.get("OPENAI_API_KEY") or "no-key"
        try:
            response = await self._litellm.acompletion(
                model=self._endpoint.model,
                messages=_messages(request),
                timeout=self._endpoint.timeout_s,
                num_retries=0,
                max_retries=0,
                **extra,
                **dict(request.params),
            )
        except Exception as error:
            raise _typed(error) from error
        return _answer(response, self._cost(response))

    async def aclose(self) -> None:
        await self._litellm.close_litellm_async_clients()

    def _cost(self, response: Any) -> float | None:
        hidden = getattr(response, "_hidden_params", None) or {}
        cost = hidden.get("response_cost")
        return float(cost) if cost is not None else None


def _import_litellm() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def _messages(request: Request) -> Any:
    return [{"role": message.role, "content": message.content} for message in request.messages]


def _answer(response: Any, cost: float | None) -> Answer:
    usage = getattr(response, "usage", None)
    choices = getattr(response, "choices", None) or []
    message = choices[0].message if choices else None
    return Answer(
        text=(getattr(message, "content", None) or ""),
        finish_reason=(getattr(choices[0], "finish_reason", None) or "stop") if choices else "empty",
        reasoning=getattr(message, "reasoning_content", None),
        input_tokens=int(getattr(usage, "prompt_tokens", 0) or 0),
        output_tokens=int(getattr(usage, "completion_tokens", 0) or 0),
        cost=cost,
    )


def _typed(error: Exception) -> Exception:
    import openai

    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return TransportError(Failure.TIMEOUT, "no answer in time")
    status = getattr(error, "status_code", None) if isinstance(error, openai.APIError) else None
    if isinstance(error, openai.APIConnectionError) and not isinstance(status, int):
        return TransportError(Failure.TRANSPORT, _shown(error))
    if not isinstance(error, openai.APIError | ValueError):
        return error
    kind = _KINDS.get(status or 0)
    if kind is None:
        kind = Failure.BAD_REQUEST if status is not None and 400 <= status < 500 else Failure.SERVER
    return TransportError(kind, _shown(error), _retry_after(getattr(error, "response", None)))


_KINDS: Mapping[int, Failure] = {
    401: Failure.AUTH,
    403: Failure.AUTH,
    404: Failure.NO_MODEL,
    408: Failure.TIMEOUT,
    409: Failure.SERVER,
    429: Failure.RATE,
}


def _retry_after(response: Any) -> float:
    headers: Mapping[str, Json] = getattr(response, "headers", None) or {}
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers.get("retry-after", 0.0)))
    except ValueError:
        return 1.0  # an HTTP date: wait a little and ask again


def _shown(error: Exception) -> str:
    """The error without anything that could be a key: type and first line, shortened."""
    line = (str(error).splitlines() or [""])[0]
    for name, value in os.environ.items():
        if value and len(value) > 7 and ("KEY" in name or "TOKEN" in name or "SECRET" in name):
            line = line.replace(value, f"<{name}>")
    return f"{type(error).__name__}: {line[:200]}"
