"""How one chat request reaches a provider: litellm for all of them, plain aiohttp for OpenAI-compatible endpoints.

Both end in the same typed failures. Keys are read from the
environment by name at the moment of the call; litellm never fetches its price map and sends no telemetry.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
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


class CompatibleTransport:
    """An OpenAI-compatible endpoint (vLLM, SGLang, Ollama, a gateway): JSON over aiohttp, one pool of connections."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._model = endpoint.model.partition("/")[2] or endpoint.model
        self._endpoint = endpoint
        self._session: Any = None

    async def send(self, request: Request) -> Answer:
        import aiohttp

        body = {"model": self._model, "messages": _messages(request), **dict(request.params), **_format(request)}
        try:
            async with self._open().post(f"{self._endpoint.base_url}/chat/completions", json=body) as response:
                if response.status >= 400:
                    text = await response.text(errors="replace")
                    raise TransportError(
                        _kind(response.status),
                        _redacted(f"HTTP {response.status}: {text}", self._endpoint),
                        _retry_after(response.headers),
                    )
                return _answer_of(await response.json(content_type=None))
        except TimeoutError as error:
            raise TransportError(Failure.TIMEOUT, f"no answer in {self._endpoint.timeout_s:g} s") from error
        except (aiohttp.ClientError, ConnectionError, ValueError, TypeError, AttributeError) as error:
            shown = _redacted(f"{type(error).__name__}: {error}", self._endpoint)
            raise TransportError(Failure.TRANSPORT, shown) from error

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _open(self) -> Any:
        if self._session is None:
            import aiohttp

            key = self._endpoint.key() or os.environ.get("OPENAI_API_KEY") or "no-key"
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self._endpoint.timeout_s),
                headers={"Authorization": f"Bearer {key}"},
            )
        return self._session


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
                **(_format(request) if self._structured() else {}),
            )
        except Exception as error:
            raise _typed(error, self._endpoint) from error
        return replace(_answer_of(response.model_dump()), cost=self._cost(response))

    async def aclose(self) -> None:
        await self._litellm.close_litellm_async_clients()

    def _structured(self) -> bool:
        """Does litellm know that the model can be held to a schema?"""
        return bool(self._litellm.supports_response_schema(model=self._endpoint.model))

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


def _format(request: Request) -> dict[str, Json]:
    """The schema as OpenAI, vLLM, SGLang, Ollama and litellm know it; nothing without one."""
    if request.schema is None:
        return {}
    schema = {"name": request.purpose, "schema": dict(request.schema), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _answer_of(body: Json) -> Answer:
    """The answer in a chat completion; whatever is missing is empty or zero."""
    choice: Json = (body.get("choices") or [{}])[0]
    message, usage = choice.get("message") or {}, body.get("usage") or {}
    return Answer(
        text=str(message.get("content") or ""),
        finish_reason=str(choice.get("finish_reason") or "stop"),
        reasoning=message.get("reasoning_content") or message.get("reasoning"),
        input_tokens=int(usage.get("prompt_tokens") or 0),
        output_tokens=int(usage.get("completion_tokens") or 0),
        cost=None,
    )


def _typed(error: Exception, endpoint: Endpoint) -> Exception:
    """litellm raises the exceptions of the openai SDK, which it depends on."""
    import openai

    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return TransportError(Failure.TIMEOUT, "no answer in time")
    if not isinstance(error, openai.APIError):
        return error
    shown = _redacted(f"{type(error).__name__}: {error}", endpoint)
    status = getattr(error, "status_code", None)
    if isinstance(error, openai.APIConnectionError) or not isinstance(status, int):
        return TransportError(Failure.TRANSPORT, shown)
    headers = getattr(getattr(error, "response", None), "headers", None)
    return TransportError(_kind(status), shown, _retry_after(headers or {}))


def _kind(status: int) -> Failure:
    return _KINDS.get(status, Failure.BAD_REQUEST if 400 <= status < 500 else Failure.SERVER)


_KINDS: Mapping[int, Failure] = {
    401: Failure.AUTH,
    403: Failure.AUTH,
    404: Failure.NO_MODEL,
    408: Failure.TIMEOUT,
    409: Failure.SERVER,
    429: Failure.RATE,
}


def _retry_after(headers: Mapping[str, Json]) -> float:
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers.get("retry-after", 0.0)))
    except ValueError:
        return 1.0  # an HTTP date: wait a little and ask again


def _redacted(text: str, endpoint: Endpoint) -> str:
    """The first line, shortened, without the endpoint's key and the value of anything else in the environment that
    could be one."""
    line = (text.splitlines() or [""])[0]
    for name, value in os.environ.items():
        secret = len(value) > 7 and any(word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD"))
        if secret or (name == endpoint.api_key_env and value):
            line = line.replace(value, f"<{name}>")
    return line[:200]
