"""Asking a model, measured against a scripted server on loopback.

    PYTHONPATH=tests/support python benchmarks/teachers.py [--quick]

Prints one table: what, ours, bound. The server has a process of its own and adds a fixed latency; it is not a model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from simulation.scripted_server import Faults, ScriptedServer

from evosyn.chat import Message, Reply, Request
from evosyn.ports import TeacherTools
from evosyn.teachers._litellm import LitellmTransport
from evosyn.teachers.chat import ChatTeacher
from evosyn.teachers.failures import Endpoint
from evosyn.teachers.litellm import LitellmConfig, create
from evosyn.teachers.transports import CompatibleTransport, Transport

ANSWER = "def solve(x):\n    return x * 7 + 3\n" * 8


@contextmanager
def server(**options: Any) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """A scripted server in a process of its own: its URL, and a way to ask for its counts."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", json.dumps(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    url = process.stdout.readline().strip()

    asked, told = process.stdin, process.stdout

    def counts() -> dict[str, Any]:
        asked.write("\n")
        asked.flush()
        found: dict[str, Any] = json.loads(told.readline())
        return found

    try:
        yield url, counts
    finally:
        process.kill()
        process.wait()


def serve(options: dict[str, Any]) -> None:
    faults = Faults(**options.pop("faults", {}))
    with ScriptedServer(lambda _body, _occurrence: ANSWER, faults=faults, **options) as running:
        print(running.base_url, flush=True)
        for _ in sys.stdin:
            counts = running.counts
            print(json.dumps({"requests": counts.requests, "answers": counts.answers}), flush=True)


def requests(count: int, word: str = "q") -> list[Request]:
    text = "Write a Python function that solves this problem, with all its edge cases. " * 5
    return [
        Request((Message("user", f"{text}{word}{index}"),), "solution", {"temperature": 1.0}) for index in range(count)
    ]


def timed(make: Callable[[], Awaitable[Any]]) -> tuple[Any, float, float]:
    """Result, wall seconds, processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result: Any = asyncio.run(make())  # type: ignore[arg-type]
    return result, time.perf_counter() - wall, time.process_time() - cpu


async def ask(teacher: ChatTeacher, asked: list[Request]) -> list[Reply]:
    try:
        return list(await asyncio.gather(*(teacher.complete(request) for request in asked)))
    finally:
        await teacher.aclose()


async def bare(url: str, asked: list[Request], concurrency: int) -> None:
    """The bare limit: aiohttp and a semaphore, no cache, no accounting."""
    import aiohttp

    gate = asyncio.Semaphore(concurrency)

    async def one(session: aiohttp.ClientSession, request: Request) -> None:
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": request.messages[0].content}],
            "temperature": 1.0,
        }
        async with gate, session.post(f"{url}/chat/completions", json=body) as response:
            await response.json()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(one(session, request) for request in asked))


async def transport_only(transport: Transport, asked: list[Request], concurrency: int) -> None:
    gate = asyncio.Semaphore(concurrency)

    async def one(request: Request) -> None:
        async with gate:
            await transport.send(request)

    await asyncio.gather(*(one(request) for request in asked))
    await transport.aclose()


def row(what: str, value: str, bound: str) -> None:
    print(f"{what:<78} {value:>22}   {bound}", flush=True)


def made(url: str, cache: Path, *, calls: int = 64, timeout_s: float = 300.0) -> ChatTeacher:
    config = LitellmConfig(model="openai/m", base_url=url, timeout_s=timeout_s)
    return create(TeacherTools(calls=calls, replies=cache), config)


def throughput(count: int, folder: Path) -> None:
    asked = requests(count)
    for concurrency, bound in ((64, "1.06x"), (256, "1.30x")):
        ideal = count * 0.5 / concurrency
        for name in ("evosyn", "bare aiohttp", "transport alone", "litellm alone"):
            with server(latency_s=0.5) as (url, _):
                endpoint = Endpoint("openai/m", url, None, 60.0)
                run: Callable[[], Awaitable[Any]]
                if name == "evosyn":
                    teacher = made(url, folder / f"{concurrency}.sqlite", calls=concurrency)
                    run = partial(ask, teacher, asked)
                elif name == "bare aiohttp":
                    run = partial(bare, url, asked, concurrency)
                else:
                    transport = (
                        CompatibleTransport(endpoint) if name.startswith("transport") else LitellmTransport(endpoint)
                    )
                    run = partial(transport_only, transport, asked, concurrency)
                _, wall, cpu = timed(run)
            what = f"{count} generations, 0.5 s latency, {concurrency} at once: {name}: wall against ideal"
            row(what, f"{wall / ideal:.2f}x, {1000 * cpu / count:.2f} ms CPU", bound if name == "evosyn" else "")


def reruns(count: int, folder: Path) -> None:
    with server() as (url, counts):

        def teacher() -> ChatTeacher:
            return made(url, folder / "rerun.sqlite")

        asked = requests(count)
        timed(lambda: ask(teacher(), asked))
        before = counts()["requests"]
        _, wall, _ = timed(lambda: ask(teacher(), asked))
        row(
            f"fully cached rerun of {count} generations",
            f"{wall:.2f} s, {counts()['requests'] - before} calls",
            "3 s, 0 calls",
        )
        changed = [*asked[:-1], *requests(1, "changed")]
        before = counts()["requests"]
        timed(lambda: ask(teacher(), changed))
        row(f"one prompt of {count} changed, rerun", f"{counts()['requests'] - before} calls", "1 call")


def admitted(count: int, folder: Path) -> None:
    with server(latency_s=0.5, admitted_per_s=50.0) as (url, counts):
        teacher = made(url, folder / "rate.sqlite")
        _, wall, _ = timed(lambda: ask(teacher, requests(count)))
        refused = counts()["answers"].get("429", 0)
    row(
        f"{count} generations, 50 requests/s admitted",
        f"{refused} rejected, {wall / (count / 50):.2f}x ideal",
        "100, 1.1x",
    )


def faulty(count: int, folder: Path) -> None:
    faults = {"rate_limited": 0.1, "server_error": 0.02, "hang": 0.02, "empty": 0.05, "retry_after_s": 1.0}
    walls = {}
    well: dict[str, float] = {}
    for name, bad in (("well", well), ("faulty", faults)):
        with server(latency_s=0.5, faults=bad) as (url, counts):
            teacher = made(url, folder / f"{name}.sqlite", timeout_s=5.0)
            replies, walls[name], _ = timed(partial(ask, teacher, requests(count)))
            answers = counts()["answers"]
    usable = sum(reply.failure is None for reply in replies)
    named = sum(reply.failure is not None for reply in replies)
    spent = teacher.budget.spent
    row(
        f"{count} with 10 % 429, 2 % 500, 2 % hung (5 s limit), 5 % empty: against ideal, against the same without",
        f"{usable}+{named} named, {walls['faulty'] / (count * 0.5 / 64):.2f}x, {walls['faulty'] / walls['well']:.2f}x",
        f"all {count}, 1.5x",
    )
    row(f"  of these the server saw {answers}", f"{spent.repeated} asked twice, {spent.abandoned} given up", "")


def killed(count: int, folder: Path) -> None:
    with server(latency_s=0.2) as (url, counts):
        cache = folder / "killed.sqlite"
        process = subprocess.Popen([sys.executable, __file__, "--ask", url, str(count), str(cache)])
        while counts()["requests"] < count // 2:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        teacher = made(url, cache)
        timed(lambda: ask(teacher, requests(count)))
        repeated = counts()["requests"] - count
    row(f"kill -9 in the middle of {count}, rerun: calls repeated", f"{repeated}", "at most 64 in flight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--only", action="store_true", help="leave out the throughput rows")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(json.loads(arguments.serve))
        return
    if arguments.ask:
        url, count, cache = arguments.ask
        timed(lambda: ask(made(url, Path(cache)), requests(int(count))))
        return
    scale = 10 if arguments.quick else 1
    row("what", "measured", "bound")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not arguments.only:
            throughput(2000 // scale, folder)
        reruns(2000 // scale, folder)
        admitted(1000 // scale, folder)
        faulty(2000 // scale, folder)
        killed(2000 // scale, folder)


if __name__ == "__main__":
    main()
