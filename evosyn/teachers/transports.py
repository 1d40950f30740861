"""How one chat request reaches a provider: plain aiohttp for OpenAI-compatible endpoints; `_litellm` for all others.

Both end in the typed failures of `teachers.failures`, follow no redirect and read no endless answer. Keys are read from
the environment by name at the moment of the call.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from evosyn.chat import Request
from evosyn.lengths import with_length
from evosyn.records import Json
from evosyn.teachers.completions import LARGEST, Answer, Received, read
from evosyn.teachers.failures import (
    REDIRECTS,
    Endpoint,
    Failure,
    TransportError,
    redacted,
    redirected,
    too_long,
    unreachable,
)
from evosyn.text.tool_calls import as_chat

log = logging.getLogger(__name__)
CONNECT_S, TELLS_S = 10.0, 3.0
"""Seconds in which an endpoint must take a connection, and in which it may say what it serves."""
WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Names of a model's window in lists of models: of vLLM, OpenRouter and Together, Groq, Mistral."""
NO_KEY = "no-key"
"""What a served model is sent, which needs none."""


class Served(NamedTuple):
    """What a server says of itself: tokens of prompt and reply together, and calls that it works at at once."""

    window: int | None = None
    slots: int | None = None


class Transport(Protocol):
    """Sends one request, and waits until it is cancelled. Raises TransportError; never retries by itself."""

    async def send(self, request: Request) -> Answer: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class Serving(Protocol):
    """A transport to a server that may say something of itself. Asked once; never raises."""

    async def served(self) -> Served: ...


class CompatibleTransport:
    """An OpenAI-compatible endpoint (vLLM, SGLang, Ollama, a gateway): JSON over aiohttp, one pool of connections."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._model = endpoint.model.partition("/")[2] or endpoint.model
        self._endpoint = endpoint
        self._session: Any = None

    async def send(self, request: Request) -> Answer:
        import aiohttp

        params = with_length(request.params, request.length)
        body = {"model": self._model, "messages": messages_of(request), **params, **format_of(request)}
        try:
            async with self._open().post(self._endpoint.url, json=body, allow_redirects=False) as response:
                return read(await _received(response, self._endpoint), self._endpoint, request)
        except aiohttp.ConnectionTimeoutError:
            raise unreachable(f"took no connection in {CONNECT_S:g} s", self._endpoint) from None
        except aiohttp.ClientConnectorError as error:
            raise unreachable(_unconnected(error, self._endpoint), self._endpoint) from error
        except (aiohttp.ClientError, ConnectionError) as error:
            told = redacted(f"the connection broke: {type(error).__name__}: {error}", self._endpoint)
            raise TransportError(Failure.TRANSPORT, told) from error

    async def served(self) -> Served:
        base = (self._endpoint.base_url or "").rstrip("/")
        props = await self._told(f"{base.removesuffix('/v1')}/props")
        own = props.get("default_generation_settings")
        found = Served(_whole(own if isinstance(own, dict) else {}, "n_ctx"), _whole(props, "total_slots"))
        if found.window is not None:
            return found
        listed = (await self._told(f"{base}/models")).get("data")
        models = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        same = [one for one in models if one.get("id") == self._model] or models[:1] * (len(models) == 1)
        return found._replace(window=next((_whole(one, *WINDOWS) for one in same), None))

    async def _told(self, url: str) -> dict[str, Json]:
        """The JSON object at an address, empty where there is none."""
        import aiohttp

        try:
            async with asyncio.timeout(TELLS_S), self._open().get(url, allow_redirects=False) as response:
                value: Json = json.loads((await _received(response, self._endpoint)).raw)
        except (aiohttp.ClientError, OSError, TimeoutError, TransportError, ValueError, RecursionError) as error:
            log.debug("%s tells nothing of its window: %s", url, error)
            return {}
        return value if isinstance(value, dict) else {}

    async def aclose(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _open(self) -> Any:
        if self._session is None:
            import aiohttp

            key = self._endpoint.key() or NO_KEY
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                headers={"Authorization": f"Bearer {key}"},
            )
        return self._session


def _whole(told: Mapping[str, Json], *names: str) -> int | None:
    """The first of these that is a whole number above 0."""
    found = (told.get(name) for name in names)
    return next((one for one in found if isinstance(one, int) and not isinstance(one, bool) and one > 0), None)


async def _received(response: Any, endpoint: Endpoint) -> Received:
    """The response, its body read as far as one may be long; a redirect is not followed, or the key would go there.

    Raises:
        TransportError: it points elsewhere, or is longer.
    """
    if response.status in REDIRECTS:
        raise redirected(response.status, response.headers.get("Location", ""), endpoint)
    raw = bytearray()
    async for part in response.content.iter_any():
        raw += part
        if len(raw) > LARGEST:
            raise too_long(LARGEST, endpoint)
    return Received(response.status, response.headers, response.content_type, bytes(raw))


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


def messages_of(request: Request) -> list[dict[str, Json]]:
    """The messages as endpoints take them."""
    return as_chat(request.messages)


def format_of(request: Request) -> dict[str, Json]:
    """The schema as OpenAI, vLLM, SGLang, Ollama and litellm know it; nothing without one."""
    if request.schema is None:
        return {}
    schema = {"name": request.purpose, "schema": dict(request.schema), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}
