"""The door of the reward service: who may ask, how many at once, for how long; over real sockets of this machine."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import pytest

from evosyn.domains import domains_named
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.train._http import HttpAnswer, HttpServer, ServiceLimits
from evosyn.train.scoring import Scorer, reward_judge
from evosyn.train.service import RewardService

RIGHT = "```python\ndef total(xs):\n    return sum(xs)\n```"
TASK = {"entry_point": "total", "testing": {"kind": "cases", "cases": [{"input": [[1, 2]], "output": 3}]}}


@contextmanager
def answering(server: HttpServer | RewardService) -> Iterator[int]:
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server.port
    finally:
        server.close()
        thread.join(timeout=10)
        assert not thread.is_alive()


def counting(limits: ServiceLimits | None = None, *, seconds: float = 0.0, token: str | None = None) -> HttpServer:
    """A server whose work is to wait, and to count the items."""

    def score(body: bytes) -> HttpAnswer:
        time.sleep(seconds)
        return HttpAnswer(HTTPStatus.OK, {"bytes": len(body), "threads": threading.active_count()})

    return HttpServer("127.0.0.1", 0, token, limits or ServiceLimits(), health=lambda: {"status": "ok"}, score=score)


def head(length: int, **fields: str) -> bytes:
    given = {"Host": "127.0.0.1:1", "Content-Type": "application/json", "Content-Length": str(length)}
    given |= {name.replace("_", "-"): value for name, value in fields.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return f"POST /score HTTP/1.1\r\n{lines}\r\n".encode()


def request(body: bytes = b"{}", **fields: str) -> bytes:
    return head(len(body), **fields) + body


def ask(port: int, data: bytes) -> tuple[int, bytes]:
    """Status and everything that came, until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
        link.sendall(data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
        reply = b"".join(iter(lambda: link.recv(65536), b""))
    return int(reply.split(b" ", 2)[1]), reply


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:8765"}, 200),
        ({"Host": "evil.example:8765"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": " "}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:8765"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content_Type": ""}, 415),
        ({"Content_Type": "application/json; charset=utf-8"}, 200),
        ({"Content_Encoding": "gzip"}, 415),
        ({"Content_Length": "", "Transfer_Encoding": "chunked"}, 411),
        ({"Content_Length": "99000000"}, 413),
        ({"Content_Length": "9" * 5000}, 400),
        ({"Content_Length": "-1"}, 400),
    ],
)
def test_only_a_trainers_requests_are_answered(fields: dict[str, str], status: int) -> None:
    with answering(counting()) as port:
        assert ask(port, request(b"" if "Transfer_Encoding" in fields else b"{}", **fields))[0] == status
        assert ask(port, request())[0] == 200


def test_health_too_is_told_to_nobody_who_names_another_machine() -> None:
    with answering(counting()) as port:
        assert ask(port, b"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n")[0] == 403
        status, reply = ask(port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (status, reply.endswith(b'{"status": "ok"}')) == (200, True)


def test_other_paths_and_methods_are_told_what_there_is() -> None:
    with answering(counting()) as port:
        for line, status in (
            (b"GET /score", 405),
            (b"PUT /score", 405),
            (b"GET /", 404),
            (b"GET /../../etc/passwd", 404),
        ):
            found, reply = ask(port, line + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (found, b"POST /score" in reply) == (status, True)
        assert ask(port, b"\x16\x03\x01 nonsense\r\n\r\n")[0] == 400


def test_a_bound_name_is_a_name_of_the_service_and_an_address_of_all_relies_on_the_token() -> None:
    for host in ("0.0.0.0", "127.0.0.2"):
        with pytest.raises(UsageError, match="token"):
            HttpServer(host, 0, None, ServiceLimits(), health=dict, score=lambda _: HttpAnswer(HTTPStatus.OK, {}))
    anywhere = HttpServer(
        "0.0.0.0", 0, "s", ServiceLimits(), health=dict, score=lambda _: HttpAnswer(HTTPStatus.OK, {})
    )
    with answering(anywhere) as port:
        assert ask(port, request(Host="trainer-7.cluster"))[0] == 401
        assert ask(port, request(Host="trainer-7.cluster", Authorization="Bearer s"))[0] == 200
    other = HttpServer("127.0.0.2", 0, "s", ServiceLimits(), health=dict, score=lambda _: HttpAnswer(HTTPStatus.OK, {}))
    with answering(other), socket.create_connection(("127.0.0.2", other.port), timeout=20) as link:
        link.sendall(request(Host=f"127.0.0.2:{other.port}", Authorization="Bearer s"))
        assert link.recv(100).startswith(b"HTTP/1.1 200")


def test_half_sent_requests_hold_no_thread_and_end_in_time() -> None:
    before = threading.active_count()
    with answering(counting(ServiceLimits(socket_s=1.0))) as port:
        halves = [b"", b"POST /sco", head(10)[:-2], head(10), head(10) + b"12345"]
        links = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(60)]
        for number, link in enumerate(links):
            link.sendall(halves[number % len(halves)])
        status, reply = ask(port, request())
        assert status == 200
        assert threading.active_count() <= before + 1 + ServiceLimits().batches
        ends = [b"".join(iter(lambda link=link: link.recv(4096), b"")) for link in links]
        for link in links:
            link.close()
    assert all(end == b"" or b" 408 " in end.splitlines()[0] for end in ends)
    assert reply


@pytest.mark.slow
def test_who_does_not_read_the_answer_is_let_go() -> None:
    answer = {"long": "x" * 50_000_000}
    server = HttpServer(
        "127.0.0.1", 0, None, ServiceLimits(batches=1, waiting=0, socket_s=0.5),
        health=dict, score=lambda _: HttpAnswer(HTTPStatus.OK, answer),
    )  # fmt: skip
    with answering(server) as port, socket.create_connection(("127.0.0.1", port), timeout=20) as link:
        link.sendall(request())
        deadline = time.monotonic() + 20
        while ask(port, request(b"{}", Host="localhost"))[0] == 503:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_connection_too_many_is_answered_and_not_reset() -> None:
    with answering(counting(ServiceLimits(connections=4, socket_s=20.0))) as port:
        idle = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(4)]
        deadline = time.monotonic() + 10
        while (found := ask(port, request(b"x" * 300_000)))[0] != 503:
            assert time.monotonic() < deadline
        assert b"Retry-After: 1" in found[1]
        for link in idle:
            link.close()
        while ask(port, request())[0] != 200:
            assert time.monotonic() < deadline


def test_bodies_in_memory_are_bounded_together() -> None:
    limits = ServiceLimits(body_mb=1.0, held_mb=1.5, socket_s=20.0)
    with answering(counting(limits)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
            link.sendall(head(900_000))
            deadline = time.monotonic() + 10
            while (found := ask(port, request(b"x" * 900_000)))[0] != 503:
                assert time.monotonic() < deadline
            assert b"hold 1 MB" in found[1]
            assert ask(port, request())[0] == 200
        while ask(port, request(b"x" * 900_000))[0] != 200:
            assert time.monotonic() < deadline


@pytest.mark.slow
def test_five_hundred_at_once_all_get_an_answer_and_in_the_end_their_score(sandbox: Sandbox) -> None:

    scorer = Scorer(reward_judge(sandbox, domains_named(["python-function"])))
    service = RewardService(scorer, {}, port=0, limits=ServiceLimits(batches=4, waiting=100))
    body = json.dumps({"items": [{"task": TASK, "completion": RIGHT}]}).encode()
    statuses: Counter[int] = Counter()

    async def one(port: int, start: asyncio.Event) -> float:
        await start.wait()
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request(body, Connection="close"))
            reply = await reader.read()
            writer.close()
            status = int(reply.split(b" ", 2)[1])
            statuses[status] += 1
            if status == 200:
                return float(json.loads(reply.partition(b"\r\n\r\n")[2])["scores"][0]["reward"])
            assert status == 503
            assert b"Retry-After: 1" in reply
            await asyncio.sleep(0.2)

    async def everyone(port: int) -> list[float]:
        start = asyncio.Event()
        asked = [asyncio.create_task(one(port, start)) for _ in range(500)]
        start.set()
        async with asyncio.timeout(60):
            return await asyncio.gather(*asked)

    with answering(service) as port:
        assert asyncio.run(everyone(port)) == [1.0] * 500
    assert statuses[200] == 500
    assert set(statuses) <= {200, 503}


def test_closing_before_serving_at_once_after_it_or_twice_is_harmless() -> None:
    server = counting()
    server.close()
    server.close()
    server.serve()  # returns at once
    for _ in range(20):
        other = counting()
        with answering(other):
            pass
        other.close()
