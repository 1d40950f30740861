"""How one chat request reaches a provider: litellm for all of them, plain aiohttp for OpenAI-compatible endpoints.

Both end in the typed failures of `teachers.failures`. Keys are read from the environment by name at the moment of the
call; litellm never fetches its price map and sends no telemetry.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import Any, Protocol

from evosyn.chat import Request
from evosyn.errors import UsageError
from evosyn.records import Json
from evosyn.teachers.failures import Endpoint, Failure, TransportError, not_chat, redacted, refused, unreachable
from evosyn.toolcalls import as_chat, said_by

CONNECT_S = 10.0
"""Seconds in which an endpoint must take a connection."""
NO_CONNECTION = "Connection error"
"""What litellm says, under a status of its own, where no connection could be made."""
READ = 1 << 18
"""Bytes of an answer that is no completion which are looked at."""


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
            async with self._open().post(self._endpoint.url, json=body) as response:
                return _read(await response.read(), response, self._endpoint, request.purpose)
        except aiohttp.ConnectionTimeoutError:
            raise unreachable(f"took no connection in {CONNECT_S:g} s", self._endpoint) from None
        except TimeoutError as error:
            raise TransportError(Failure.TIMEOUT, f"no answer in {self._endpoint.timeout_s:g} s") from error
        except aiohttp.ClientConnectorError as error:
            raise unreachable(_unconnected(error, self._endpoint), self._endpoint) from error
        except aiohttp.InvalidURL:
            raise UsageError(
                f"--base-url {self._endpoint.base_url!r}: is no URL, such as http://localhost:8000/v1"
            ) from None
        except (aiohttp.ClientError, ConnectionError) as error:
            told = redacted(f"the connection broke: {type(error).__name__}: {error}", self._endpoint)
            raise TransportError(Failure.TRANSPORT, told) from error

    async def aclose(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _open(self) -> Any:
        if self._session is None:
            import aiohttp

            key = self._endpoint.key() or os.environ.get("OPENAI_API_KEY") or "no-key"
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self._endpoint.timeout_s, sock_connect=CONNECT_S),
                headers={"Authorization": f"Bearer {key}"},
            )
        return self._session


def _read(raw: bytes, response: Any, endpoint: Endpoint, purpose: str) -> Answer:
    """The answer in a response.

    Raises:
        TransportError: there is none in it.
    """
    if response.status >= 400:
        raise refused(response.status, raw[:READ].decode(errors="replace"), endpoint, response.headers, purpose)
    try:
        body: Json = json.loads(raw)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict) and isinstance(error := body.get("error"), dict) and "choices" not in body:
        code = error.get("code")  # a gateway that says 200 to everything
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        raise refused(status, raw[:READ].decode(errors="replace"), endpoint, response.headers, purpose)
    try:
        return _answer_of(body)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError):
        text = raw[:READ].decode(errors="replace")
        raise not_chat(response.status, response.content_type, text, endpoint) from None


def _unconnected(error: Any, endpoint: Endpoint) -> str:
    """Why there is no connection, in words."""
    import aiohttp

    host = f"{error.host}:{error.port}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"the host name {error.host!r} is not known"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return redacted(f"the certificate of {host} is not valid: {error.certificate_error}", endpoint)
    if isinstance(error, aiohttp.ClientSSLError):
        return redacted(f"no TLS connection to {host}: {error}", endpoint)
    if isinstance(error.os_error, ConnectionRefusedError):
        return f"{host} refused the connection: nothing listens there"
    return redacted(f"no connection to {host}: {error.os_error.strerror or error}", endpoint)


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
            raise _typed(error, self._endpoint, request.purpose) from error
        return replace(_answer_of(response.model_dump()), cost=self._cost(response))

    async def aclose(self) -> None:
        await self._litellm.close_litellm_async_clients()

    def require_key(self) -> None:
        """
        Raises:
            UsageError: litellm wants variables of the environment that are not set.
        """
        if self._endpoint.api_key_env or self._endpoint.base_url:
            return
        missing = self._litellm.validate_environment(model=self._endpoint.model)["missing_keys"]
        missing = [name for name in missing if "KEY" in name or "TOKEN" in name]  # an address has a default
        if missing:
            raise UsageError(
                f"--model {self._endpoint.model}: the environment variable {' and '.join(missing)} is not set; set it, "
                "or name another one with --api-key-env"
            )

    def price(self, read: int, written: int) -> float | None:
        """Dollars for so many input and output tokens by litellm's list; None where the model is not in it."""
        try:
            costs = self._litellm.cost_per_token(
                model=self._endpoint.model, prompt_tokens=read, completion_tokens=written
            )
        except Exception:  # noqa: BLE001  litellm raises a plain Exception for a model that it does not know
            return None
        return float(sum(costs))

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
    return as_chat(request.messages)


def _format(request: Request) -> dict[str, Json]:
    """The schema as OpenAI, vLLM, SGLang, Ollama and litellm know it; nothing without one."""
    if request.schema is None:
        return {}
    schema = {"name": request.purpose, "schema": dict(request.schema), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _answer_of(body: Json) -> Answer:
    """The answer in a chat completion; whatever is missing in a choice is empty or zero."""
    choice: Json = (body["choices"] or [{}])[0]
    message, usage = choice.get("message") or {}, body.get("usage") or {}
    return Answer(
        text=said_by(message),
        finish_reason=str(choice.get("finish_reason") or "stop"),
        reasoning=message.get("reasoning_content") or message.get("reasoning"),
        input_tokens=int(usage.get("prompt_tokens") or 0),
        output_tokens=int(usage.get("completion_tokens") or 0),
        cost=None,
    )


def _typed(error: Exception, endpoint: Endpoint, purpose: str) -> Exception:
    """litellm raises the exceptions of the openai SDK, which it depends on."""
    import openai

    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return TransportError(Failure.TIMEOUT, f"no answer in {endpoint.timeout_s:g} s")
    if not isinstance(error, openai.APIError):
        return error
    status = getattr(error, "status_code", None)
    if isinstance(error, openai.APIConnectionError) or not isinstance(status, int) or NO_CONNECTION in str(error):
        return unreachable(redacted(f"no connection: {error}", endpoint), endpoint)
    headers = getattr(getattr(error, "response", None), "headers", None)
    return refused(status, f"{error} {getattr(error, 'code', None) or ''}", endpoint, headers or {}, purpose)
