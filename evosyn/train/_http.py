"""The HTTP around the reward service: who may ask, how much at a time, for how long. It knows nothing of rewards.

aiohttp parses and keeps the connections, one event loop serves them all, and a fixed number of threads does the work:
a client that sends half a request costs a file descriptor until `socket_s` has passed, never a thread. What is too much
gets 503 with Retry-After. Host, Origin and Content-Type are checked, so that no page of a browser can have programs
run, not even one whose name was pointed at this address. docs/reward.md, "As a service".
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import resource
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

from aiohttp import web

from evosyn.hosts import is_ours, listening_socket, named_host, require_token
from evosyn.records import Json

BACKLOG = 1024
USAGE = "GET /health or POST /score"
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
    b'Content-Length: 35\r\n\r\n{"error": "too many connections"}\r\n'
)
LINGER_S = 2.0


@dataclass(frozen=True)
class ServiceLimits:
    """What clients may ask for.

    Attributes:
        body_mb: size of one request.
        items: completions in one request.
        batches: requests that are scored at the same time.
        waiting: requests that wait for their turn; further ones get 503.
        held_mb: bodies in memory, of all requests together; further ones get 503.
        connections: that are open at the same time, at most half of what the process may open; further ones get 503.
        socket_s: seconds that a client may take to send its request or to read the answer, or keep an idle connection.
    """

    body_mb: float = 32.0
    items: int = 4096
    batches: int = 8
    waiting: int = 256
    held_mb: float = 256.0
    connections: int = 1024
    socket_s: float = 30.0


class HttpAnswer(NamedTuple):
    """A status and the JSON that goes with it."""

    status: HTTPStatus
    value: Json


class HttpServer:
    """Answers GET /health and POST /score on one address.

    Args:
        host, port: port 0 takes a free one; see `port`.
        token: required in `Authorization: Bearer` where it is given.
        health: what GET /health says; quick.
        score: called in a thread, at most `limits.batches` at a time, with the body of a request.

    Raises:
        UsageError: no token for an address that others can reach, or the address is taken.
    """

    def __init__(
        self,
        host: str,
        port: int,
        token: str | None,
        limits: ServiceLimits,
        *,
        health: Callable[[], Json],
        score: Callable[[bytes], HttpAnswer],
    ) -> None:
        require_token(host, token, "--token-env NAME")
        self._host, self._token, self._limits, self._health, self._answer = host, token, limits, health, score
        self._socket = listening_socket(host, port, BACKLOG)
        self.port = int(self._socket.getsockname()[1])
        self._turn = asyncio.Semaphore(limits.batches)
        self._requests, self._held = 0, 0
        self._threads = ThreadPoolExecutor(limits.batches, thread_name_prefix="evosyn-reward")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()
        self._state = threading.Lock()
        self._started = self._closing = False

    def serve(self) -> None:
        """Answer until `close`."""
        with self._state:
            if self._closing:
                return
            self._started = True
        asyncio.run(self._serve())

    def close(self) -> None:
        with self._state:
            self._closing = True
            if not self._started:
                self._socket.close()
        if self._loop is not None:  # else `_serve` sees that it has to end
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._ended.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        app = web.Application(client_max_size=self._most_bytes, middlewares=[self._guard])
        app.add_routes([web.get("/health", self._get_health), web.post("/score", self._post_score)])
        logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # a traceback for each request that is none
        runner = web.AppRunner(
            app, access_log=None, keepalive_timeout=self._limits.socket_s, lingering_time=LINGER_S, shutdown_timeout=1.0
        )
        await runner.setup()
        assert runner.server is not None
        most = min(self._limits.connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._door = _Door(runner.server, most, self._limits.socket_s)
        listening = await self._loop.create_server(self._door, sock=self._socket, backlog=BACKLOG)
        try:
            if not self._closing:
                await self._ended.wait()
        finally:
            listening.close()
            await runner.cleanup()
            self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def _most_bytes(self) -> int:
        return int(self._limits.body_mb * 1e6)

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self._door.spoke(request.protocol)
        refusal = self._foreign(request)
        if refusal is not None:
            return refusal
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return _said(HTTPStatus.NOT_FOUND, USAGE)
        except web.HTTPMethodNotAllowed:
            return _said(HTTPStatus.METHOD_NOT_ALLOWED, USAGE)
        except web.HTTPRequestEntityTooLarge:
            return self._too_large()

    def _foreign(self, request: web.Request) -> web.Response | None:
        """Why a request is none of a trainer's: another machine's name in it, or a browser behind it."""
        named = named_host(request.headers.get("Host", ""))
        if not is_ours(named, self._host, token=bool(self._token)):
            reason = f"the Host header names {named[:80]!r}, which is not this service; ask {self._host}:{self.port}"
            return _said(HTTPStatus.FORBIDDEN, reason)
        if "Origin" in request.headers:
            return _said(HTTPStatus.FORBIDDEN, "pages of a browser are not served (the request has an Origin)")
        return None

    async def _get_health(self, _request: web.Request) -> web.Response:
        return web.json_response(self._health())

    async def _post_score(self, request: web.Request) -> web.StreamResponse:
        length = request.content_length
        if not self._allowed(request.headers.get("Authorization", "")):
            return _said(HTTPStatus.UNAUTHORIZED, "Authorization: Bearer TOKEN")
        if request.content_type != "application/json" or "Content-Encoding" in request.headers:
            return _said(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type: application/json, not encoded further")
        if length is None:
            return _said(HTTPStatus.LENGTH_REQUIRED, "Content-Length")
        if length > self._most_bytes:
            return self._too_large()
        if self._requests >= self._limits.batches + self._limits.waiting:
            return _busy(f"{self._requests} requests are running or waiting; try again")
        if self._requests and self._held + length > self._limits.held_mb * 1e6:
            return _busy(f"the running and waiting requests hold {self._held / 1e6:.0f} MB; try again")
        self._requests += 1
        self._held += length
        try:
            return await self._score(request)
        finally:
            self._requests -= 1
            self._held -= length

    async def _score(self, request: web.Request) -> web.StreamResponse:
        try:
            async with asyncio.timeout(self._limits.socket_s):
                body = await request.read()
        except TimeoutError:
            return _said(HTTPStatus.REQUEST_TIMEOUT, f"the request took more than {self._limits.socket_s:g} s to send")
        async with self._turn:
            status, answer = await asyncio.get_running_loop().run_in_executor(self._threads, self._encoded, body)
        headers = {"Retry-After": "1"} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
        response = web.Response(body=answer, status=status, content_type="application/json", headers=headers)
        try:
            async with asyncio.timeout(self._limits.socket_s):
                await response.prepare(request)
                await response.write_eof()
        except TimeoutError:  # it does not read what it asked for
            request.protocol.force_close()
        return response

    def _encoded(self, body: bytes) -> tuple[HTTPStatus, bytes]:
        status, value = self._answer(body)
        return status, json.dumps(value).encode()

    def _allowed(self, header: str) -> bool:
        if self._token is None:
            return True
        given = header.removeprefix("Bearer ").encode("utf-8", "surrogatepass")
        return hmac.compare_digest(given, self._token.encode())

    def _too_large(self) -> web.Response:
        return _said(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {self._limits.body_mb:g} MB in one request")


class _Door:
    """Makes the protocol of each new connection; closes those that send no whole request head in time."""

    def __init__(self, server: web.Server, most: int, patience_s: float) -> None:
        self._server, self._most, self._patience_s = server, most, patience_s
        self._silent: set[object] = set()

    def __call__(self) -> asyncio.Protocol:
        if len(self._server.connections) >= self._most:
            return _Full()
        protocol = self._server()
        self._silent.add(protocol)
        asyncio.get_running_loop().call_later(self._patience_s, self._close_if_silent, protocol)
        return protocol

    def spoke(self, protocol: object) -> None:
        self._silent.discard(protocol)

    def _close_if_silent(self, protocol: web.RequestHandler) -> None:
        if protocol in self._silent:
            self._silent.discard(protocol)
            protocol.force_close()


class _Full(asyncio.Protocol):
    """A connection too many. What it still sends is dropped, so that it reads the answer and no reset."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(FULL)
        transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, transport.close)


def _said(status: HTTPStatus, reason: str, **headers: str) -> web.Response:
    return web.json_response({"error": reason}, status=status, headers=headers)


def _busy(reason: str) -> web.Response:
    return web.json_response({"error": reason}, status=HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": "1"})
