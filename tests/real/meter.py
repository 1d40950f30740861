"""Between evosyn and a server of models: forwards what is asked, and counts what was answered to the end."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector, web

READY_S = 60.0


class Answered(NamedTuple):
    """A completion that reached who asked: the body of the request, and the tokens that the server counted."""

    body: Mapping[str, Any]
    input_tokens: int
    output_tokens: int


class Meter:
    """A context manager; whoever asks `base_url` is answered by the server behind it, as long as it is up.

    Attributes:
        answered: all completions so far, in the order in which they were delivered.
    """

    def __init__(self, base_url: str) -> None:
        self.base_url, self.answered = "", list[Answered]()
        self._root, self._ready = base_url.rstrip("/").removesuffix("/v1"), threading.Event()
        self._loop, self._end = asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def __enter__(self) -> Meter:
        self._thread.start()
        if not self._ready.wait(READY_S):
            raise TimeoutError(f"the meter is not up after {READY_S:g} s: the machine is too busy")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(20)

    async def _serve(self) -> None:
        application = web.Application(client_max_size=64 * 2**20)
        application.router.add_route("*", "/{path:.*}", self._forward)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        async with ClientSession(timeout=ClientTimeout(total=None), connector=TCPConnector(limit=0)) as self._session:
            self._ready.set()
            await self._end.wait()
            await runner.cleanup()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        asked = await request.read()
        sent = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        url = f"{self._root}{request.path_qs}"
        try:
            async with self._session.request(request.method, url, data=asked, headers=sent) as came:
                answer = web.Response(status=came.status, body=await came.read(), content_type=came.content_type)
        except ClientError:
            if request.transport is not None:
                request.transport.abort()  # a server that is down answers nothing
            return web.Response(status=502)
        await answer.prepare(request)
        await answer.write_eof()
        if request.method == "POST" and answer.status == 200:
            usage = json.loads(answer.body)["usage"]  # type: ignore[arg-type]
            self.answered.append(Answered(json.loads(asked), usage["prompt_tokens"], usage["completion_tokens"]))
        return answer
