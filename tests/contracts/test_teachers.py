"""Every teacher keeps the contract of `ports.Teacher`, whatever answers behind it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from evosyn.chat import Message, Reply, Request
from evosyn.domains import load_pools
from evosyn.domains.python_function import PythonFunction
from evosyn.ports import Teacher
from evosyn.registry import factory
from evosyn.sandbox import open_sandbox
from evosyn.simulation.scripted_server import ScriptedServer
from evosyn.teachers.cache import request_key

PROBLEM = next(pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == "python-function")
ASKED = [PythonFunction().ask("solution", PROBLEM, sample, {"temperature": 1.0, "max_tokens": 8}) for sample in (0, 1)]
Opened = Callable[[], Teacher]


def echo(body: object, occurrence: int) -> str:
    return f"reply {occurrence} to {len(str(body))} characters"


@contextmanager
def offline(_folder: Path) -> Iterator[Opened]:
    with open_sandbox(workers=1) as sandbox:
        yield lambda: factory("teachers", "offline")(seed=0, sandbox=sandbox)


@contextmanager
def served(transport: str, folder: Path) -> Iterator[Opened]:
    with ScriptedServer(echo) as server:
        yield lambda: factory("teachers", "litellm")(
            model="openai/m", base_url=server.base_url, transport=transport, cache=folder / "replies.sqlite"
        )


@contextmanager
def compatible(folder: Path) -> Iterator[Opened]:
    with served("compatible", folder) as opened:
        yield opened


@contextmanager
def litellm(folder: Path) -> Iterator[Opened]:
    with served("litellm", folder) as opened:
        yield opened


@contextmanager
def replay(folder: Path) -> Iterator[Opened]:
    with compatible(folder) as opened:
        complete(opened(), ASKED)
    yield lambda: factory("teachers", "replay")(file=folder / "replies.sqlite", model="openai/m")


@contextmanager
def mailbox(folder: Path) -> Iterator[Opened]:
    for number, request in enumerate(ASKED):
        (folder / f"{request_key('mailbox', request)}.reply.md").write_text(f"by hand {number}")
    yield lambda: factory("teachers", "mailbox")(directory=folder, poll_s=0.01)


@contextmanager
def local(folder: Path) -> Iterator[Opened]:
    pytest.importorskip("torch")
    from tests.teachers.test_local import build

    build(folder / "model", context=4096)
    yield lambda: factory("teachers", "local")(path=folder / "model", device="cpu", cache=folder / "replies.sqlite")


KINDS = [
    offline,
    compatible,
    replay,
    mailbox,
    pytest.param(litellm, marks=pytest.mark.slow),
    pytest.param(local, marks=pytest.mark.slow),
]


def complete(teacher: Teacher, requests: list[Request]) -> list[Reply]:
    async def main() -> list[Reply]:
        try:
            return list(await asyncio.gather(*(teacher.complete(request) for request in requests)))
        finally:
            await teacher.aclose()

    return asyncio.run(main())


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    with ExitStack() as stack:
        yield stack.enter_context(request.param(tmp_path))


def test_a_teacher_answers_each_request_under_its_own_id_and_the_same_one_alike(opened: Opened) -> None:
    teacher = opened()
    assert isinstance(teacher, Teacher)
    first, second, *again = complete(teacher, [*ASKED, *ASKED])
    assert (first.id, second.id) == tuple(reply.id for reply in again)
    assert first.id != second.id, "another sample is another call"
    assert [reply.text for reply in again] == [first.text, second.text]
    assert all(reply.text or reply.failure for reply in (first, second))
    assert all(teacher.name.split("/")[0] in reply.model for reply in (first, second))
    later = complete(opened(), ASKED)
    assert [(reply.id, reply.text) for reply in later] == [(first.id, first.text), (second.id, second.text)]


def test_only_the_simulation_says_that_it_is_one(opened: Opened) -> None:
    teacher = opened()
    assert teacher.simulated == (teacher.name == "offline-teacher")
    complete(teacher, [])


def test_a_request_can_be_given_up_without_harm_to_the_others(opened: Opened) -> None:
    async def main() -> Reply:
        teacher = opened()
        try:
            lost = asyncio.create_task(teacher.complete(ASKED[0]))
            kept = asyncio.create_task(teacher.complete(ASKED[1]))
            await asyncio.sleep(0)
            lost.cancel()
            return await kept
        finally:
            await teacher.aclose()

    reply = asyncio.run(main())
    assert reply.text or reply.failure


def test_a_message_of_any_text_is_taken(opened: Opened, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["opened"]
    if kind in (offline, replay, mailbox):
        pytest.skip("knows its own problems, recordings or letters only")
    odd = Request((Message("user", "naïve \U0001f40d \x00 </s> {{x}} ```"),), "solution", {"max_tokens": 4})
    (reply,) = complete(opened(), [odd])
    assert reply.failure in (None, "truncated", "empty")
