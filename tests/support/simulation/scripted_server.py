"""An OpenAI-compatible chat server on loopback whose replies are a function of ours: for tests, benchmarks, dry
rehearsals.

It is not a model. It can add latency, admit only so many requests a second, and misbehave in the ways that providers
do.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any

from evosyn.records import Json

READY_S = 120.0
"""Seconds in which the server must be up."""


@dataclass(frozen=True)
class Refusal:
    """An answer that is no completion.

    Attributes:
        text: the body; a mapping is sent as JSON.
        kind: its content type.
    """

    status: int
    text: str | Mapping[str, Json] = ""
    kind: str = "text/html"
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[Mapping[str, Json], int], str]
"""From the request's JSON body, and how often that very body came before, to the text of the reply."""
Refuse = Callable[[Mapping[str, Json]], Refusal | None]
"""From the request's JSON body to what is answered in place of a completion."""


@dataclass(frozen=True)
class Faults:
    """How often the server misbehaves: shares of the requests, drawn for each by its number.

    Attributes:
        rate_limited: 429 with `Retry-After`. server_error: 500. hang: never answers. empty: empty content.
        truncated: finish_reason `length`. cut: the connection is closed in the middle. no_choices: `choices: []`.
        once: a body that was refused once is answered the next time.
        seed: of the draws.
    """

    rate_limited: float = 0.0
    server_error: float = 0.0
    hang: float = 0.0
    empty: float = 0.0
    truncated: float = 0.0
    cut: float = 0.0
    no_choices: float = 0.0
    retry_after_s: float = 1.0
    once: bool = False
    seed: int = 0


@dataclass
class Counts:
    """What the server saw: requests, answers by kind, most requests in flight at once, headers' keys, requests with a
    schema, the tokens of its answers, and pages asked for."""

    requests: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0
    authorizations: set[str] = field(default_factory=set)
    structured: int = 0
    output_tokens: int = 0
    pages: int = 0


def _too_hot(body: Mapping[str, Json]) -> Refusal | None:
    hot = float(body.get("temperature") or 0.0) > 2.0
    return Refusal(400, {"error": {"message": "temperature is too high", "code": 400}}) if hot else None


def refuses(name: str, why: str = "Unsupported parameter: '{name}' is not supported with this model.") -> Refuse:
    """Refuses requests that hold the parameter, in the words of OpenAI."""
    error = {"message": why.format(name=name), "type": "invalid_request_error", "param": name}
    return lambda body: Refusal(400, {"error": error}) if name in body else None


class ScriptedServer:
    """Serves `POST /v1/chat/completions` from a thread of its own; a context manager.

    Args:
        script: makes the text of a reply.
        latency_s: seconds before each answer.
        tokens_per_s: of each reply; where `shared`, of all replies together that it works at.
        admitted_per_s: requests a second that are admitted (a bucket of one second); the rest get 429.
        faults: misbehaviour.
        required_key: refuse other keys with 401.
        refuse: what it refuses, asked one after the other; by default a temperature above 2.
        slots: requests that it works at at once; the others wait for their turn.
        pages: what it answers to GET, by path.
        port: 0 for any that is free.
    """

    def __init__(
        self,
        script: Script,
        *,
        latency_s: float = 0.0,
        tokens_per_s: float | None = None,
        shared: bool = False,
        admitted_per_s: float | None = None,
        faults: Faults | None = None,
        required_key: str | None = None,
        refuse: Sequence[Refuse] = (_too_hot,),
        slots: int = 4096,
        pages: Mapping[str, Json] | None = None,
        port: int = 0,
    ) -> None:
        self.counts = Counts()
        self._script, self._latency_s, self._admitted_per_s = script, latency_s, admitted_per_s
        self._tokens_per_s, self._shared, self._working = tokens_per_s, shared, 0
        self._faults, self._required_key = faults or Faults(), required_key
        self._refusers, self._slots, self._pages = refuse, asyncio.Semaphore(slots), pages or {}
        self._bucket, self._bucket_at = admitted_per_s or 0.0, 0.0
        self._faulty: Counter[str] = Counter()
        self._drawn = 0
        self._answered: Counter[bytes] = Counter()
        self._loop = asyncio.new_event_loop()
        self._ready, self._port = threading.Event(), port
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._stop: asyncio.Event | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        if not self._ready.wait(READY_S):
            raise TimeoutError(f"the scripted server is not up after {READY_S:g} s: the machine is too busy")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main())

    async def _main(self) -> None:
        from aiohttp import web

        self._stop = asyncio.Event()
        application = web.Application(client_max_size=64 * 2**20)
        application.router.add_post("/v1/chat/completions", self._handle)
        for path, page in self._pages.items():
            application.router.add_get(path, partial(self._page, page))
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._port, backlog=4096)
        await site.start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: Any) -> Any:
        self.counts.requests += 1
        self.counts.in_flight += 1
        self.counts.most_in_flight = max(self.counts.most_in_flight, self.counts.in_flight)
        try:
            return await self._answer(request, await request.read())
        finally:
            self.counts.in_flight -= 1

    async def _page(self, page: Json, _: Any) -> Any:
        from aiohttp import web

        self.counts.pages += 1
        return web.json_response(page)

    async def _answer(self, request: Any, raw: bytes) -> Any:
        from aiohttp import web

        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.counts.authorizations.add(key)
        if self._required_key is not None and key != self._required_key:
            return self._refuse(401, "invalid key")
        if not self._admit():
            return self._refuse(429, "slow down", {"Retry-After": f"{self._faults.retry_after_s:g}"})
        fault = self._fault(raw)
        if fault == "rate_limited":
            return self._refuse(429, "slow down", {"Retry-After": f"{self._faults.retry_after_s:g}"})
        if fault == "server_error":
            return self._refuse(500, "internal error")
        if fault == "hang":
            self.counts.answers["hang"] += 1
            await asyncio.sleep(3600)
        if self._latency_s:
            async with self._slots:
                await asyncio.sleep(self._latency_s)
        if fault == "cut":
            self.counts.answers["cut"] += 1
            request.transport.abort()
        body = json.loads(raw)
        self.counts.structured += "response_format" in body
        for refuser in self._refusers:
            if (refusal := refuser(body)) is not None:
                return self._told(refusal)
        occurrence = self._answered[raw]
        self._answered[raw] += 1
        text = "" if fault == "empty" else self._script(body, occurrence)
        self.counts.answers[fault or "ok"] += 1
        answer = _completion(body, text, fault)
        if self._tokens_per_s is not None:
            async with self._slots:
                await self._write(answer["usage"]["completion_tokens"], self._tokens_per_s)
        self.counts.output_tokens += answer["usage"]["completion_tokens"]
        return web.json_response(answer)

    async def _write(self, tokens: float, tokens_per_s: float) -> None:
        """Take the time that so many tokens need."""
        self._working += 1
        try:
            if not self._shared:
                return await asyncio.sleep(tokens / tokens_per_s)
            while tokens > 0:
                before = self._loop.time()
                await asyncio.sleep(0.01)
                tokens -= tokens_per_s * (self._loop.time() - before) / self._working
        finally:
            self._working -= 1

    def _told(self, refusal: Refusal) -> Any:
        from aiohttp import web

        self.counts.answers[str(refusal.status)] += 1
        plain = isinstance(refusal.text, str)
        text = refusal.text if isinstance(refusal.text, str) else json.dumps(refusal.text)
        kind = refusal.kind if plain else "application/json"
        return web.Response(status=refusal.status, text=text, content_type=kind, headers=refusal.headers)

    def _refuse(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> Any:
        from aiohttp import web

        self.counts.answers[str(status)] += 1
        return web.json_response({"error": {"message": message, "code": status}}, status=status, headers=headers)

    def _admit(self) -> bool:
        if self._admitted_per_s is None:
            return True
        now = self._loop.time()
        self._bucket = min(self._admitted_per_s, self._bucket + (now - self._bucket_at) * self._admitted_per_s)
        self._bucket_at = now
        if self._bucket < 1:
            return False
        self._bucket -= 1
        return True

    def _fault(self, raw: bytes) -> str | None:
        body = hashlib.sha256(raw).hexdigest()
        again, number = self._faulty[body], self._drawn
        self._drawn += 1
        if again and self._faults.once:
            return None
        digest = hashlib.sha256(f"{self._faults.seed}:{number}".encode()).digest()
        draw = int.from_bytes(digest[:8], "big") / 2**64
        for name in ("rate_limited", "server_error", "hang", "empty", "truncated", "cut", "no_choices"):
            share = getattr(self._faults, name)
            if draw < share:
                self._faulty[body] += 1
                return name
            draw -= share
        return None


def _completion(body: Mapping[str, Json], text: str, fault: str | None) -> dict[str, Json]:
    prompt = sum(len(str(message.get("content", ""))) for message in body.get("messages", []))
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "length" if fault == "truncated" else "stop",
    }
    usage = {"prompt_tokens": prompt // 4 + 1, "completion_tokens": len(text) // 4 + 1}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", ""),
        "choices": [] if fault == "no_choices" else [choice],
        "usage": {**usage, "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"]},
    }
