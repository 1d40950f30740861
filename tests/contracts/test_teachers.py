"""Every teacher keeps the contract of `ports.Teacher`, whatever answers behind it, and one from outside as well."""

import json
from contextlib import closing

import pytest
from simulation import TEACHER
from simulation.scripted_server import ScriptedServer

from evosyn import registry
from evosyn.contracts import TeacherContract
from evosyn.contracts.teachers import complete
from evosyn.domains import load_pools
from evosyn.domains.python_function import PythonFunction
from evosyn.ports import TeacherTools
from evosyn.sandbox import open_sandbox
from evosyn.teachers.cache import RecordedReplies, request_key
from evosyn.teachers.recordings import write_recording

PROBLEM = next(pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == "python-function")


class Asked(TeacherContract):
    requests = [PythonFunction().ask("solution", PROBLEM, n, {"temperature": 1.0, "max_tokens": 8}) for n in (0, 1)]  # noqa: RUF012

    def made(self, name, tools=None, **options):
        self.create, self.options = registry.find("teachers", name).create, options
        self.tools = lambda: tools or TeacherTools()

    def served(self, folder, transport):
        with ScriptedServer(lambda body, occurrence: f"reply {occurrence} to {len(str(body))} characters") as server:
            tools = TeacherTools(replies=folder / "replies.sqlite")
            self.made("litellm", tools, model="openai/m", transport=transport, base_url=server.base_url)
            yield

    def test_only_the_simulation_says_that_it_is_one(self):
        assert self.make().simulated == (self.make().name in ("offline-teacher", "scripted"))


class TestOffline(Asked):
    takes_any_text = False

    @pytest.fixture(autouse=True)
    def _made(self):
        with open_sandbox(workers=1) as sandbox:
            self.made(TEACHER, TeacherTools(sandbox=lambda: sandbox))
            yield


class TestCompatible(Asked):
    @pytest.fixture(autouse=True)
    def _made(self, tmp_path):
        yield from self.served(tmp_path, "compatible")


@pytest.mark.slow
class TestLitellm(Asked):
    @pytest.fixture(autouse=True)
    def _made(self, tmp_path):
        yield from self.served(tmp_path, "litellm")


class TestReplay(TestCompatible):
    takes_any_text = False

    @pytest.fixture(autouse=True)
    def _replayed(self, _made, tmp_path):
        complete(self.make(), self.requests)
        with closing(RecordedReplies(tmp_path / "replies.sqlite")) as kept:
            write_recording(tmp_path / "replies.jsonl.gz", kept, "", "")
        self.made("replay", recording=str(tmp_path / "replies.jsonl.gz"))


class TestMailbox(Asked):
    takes_any_text = False

    @pytest.fixture(autouse=True)
    def _made(self, tmp_path):
        for number, request in enumerate(self.requests):
            (tmp_path / f"{request_key('mailbox', request)}.reply.md").write_text(f"by hand {number}")
        self.made("mailbox", directory=tmp_path, poll_s=0.01)


@pytest.mark.slow
class TestLocal(Asked):
    @pytest.fixture(autouse=True)
    def _made(self, tmp_path):
        pytest.importorskip("torch")
        from tests.teachers.test_local import build

        build(tmp_path / "model", context=4096)
        tools = TeacherTools(replies=tmp_path / "replies.sqlite")
        self.made("local", tools, path=tmp_path / "model", device="cpu")


class TestOutside(Asked):
    @pytest.fixture(autouse=True)
    def _made(self, tmp_path):
        (tmp_path / "script.json").write_text(json.dumps({"solution": ["14", "I would say {statement}"]}))
        self.made("scripted:create", script=tmp_path / "script.json")


def test_every_teacher_that_the_registry_finds_is_held_to_it():
    held = {"litellm", "local", "mailbox", "replay"}
    assert set(registry.names("teachers")) == held
