"""How one chat request reaches a provider: plain aiohttp for OpenAI-compatible endpoints; `_litellm` for all others.

Both end in the typed failures of `teachers.failures`, follow no redirect and read no endless answer. Keys are read from
the environment by name at the moment of the call.
"""

from __future__ import annotations

from typing import Any, Protocol

from evosyn.chat import Request
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

CONNECT_S = 10.0
"""Seconds in which an endpoint must take a connection."""
NO_KEY = "no-key"
"""What a served model is sent, which needs none."""


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

        body = {"model": self._model, "messages": messages_of(request), **dict(request.params), **format_of(request)}
        try:
            async with self._open().post(self._endpoint.url, json=body, allow_redirects=False) as response:
                return read(await _received(response, self._endpoint), self._endpoint, request)
        except aiohttp.ConnectionTimeoutError:
            raise unreachable(f"took no connection in {CONNECT_S:g} s", self._endpoint) from None
        except TimeoutError as error:
            raise TransportError(Failure.TIMEOUT, f"no answer in {self._endpoint.timeout_s:g} s") from error
        except aiohttp.ClientConnectorError as error:
            raise unreachable(_unconnected(error, self._endpoint), self._endpoint) from error
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

            key = self._endpoint.key() or NO_KEY
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self._endpoint.timeout_s, sock_connect=CONNECT_S),
                headers={"Authorization": f"Bearer {key}"},
            )
        return self._session


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
