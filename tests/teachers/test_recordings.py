"""A recording holds what a model answered, and gives it again to the same questions, however they are worded."""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from simulation.scripted_server import ScriptedServer

from evosyn import registry
from evosyn.chat import SAMPLE_STRIDE, Message, Reply, Request
from evosyn.cli import group
from evosyn.errors import TeacherUnavailable, UsageError
from evosyn.ports import TeacherTools
from evosyn.records import Problem
from evosyn.teachers.recordings import Recording, prompts_digest
from evosyn.workbench import TeacherConfig, Workbench, WorkbenchConfig

PROBLEM = Problem("sum", "python-function", "Sum them.", payload={"entry_point": "f"})
KEY = "sk-a-key-that-is-long"


def asked(sample: int = 0, words: str = "q", problem: Problem | None = PROBLEM, purpose: str = "solution") -> Request:
    return Request((Message("user", words),), purpose, {"temperature": 0.5}, sample, problem)


def answers(teacher: str, *requests: Request) -> list[Reply]:
    async def ask() -> list[Reply]:
        made = registry.make("teachers", teacher, TeacherTools())
        return [await made.complete(one) for one in requests]

    return asyncio.run(ask())


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three samples about one problem and one about none, of a run, exported."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    run = tmp_path / "run"
    run.mkdir()

    async def record(url: str) -> None:
        tools = TeacherTools(replies=run / "replies.sqlite")
        teacher = registry.make("teachers", "litellm:openai/m", tools, {"base_url": url})
        for one in (*map(asked, range(3)), asked(7, problem=None, purpose="problem")):
            await teacher.complete(one)
        await teacher.aclose()

    with ScriptedServer(lambda _, occurrence: f"answer {occurrence}") as server:
        asyncio.run(record(server.base_url))
    out = tmp_path / "made.jsonl.gz"
    given = ["export", "replies", str(run), "--out", str(out), "--licence", "Apache-2.0", "--weights", "M 1B Q4"]
    result = CliRunner().invoke(group, given)
    assert result.exit_code == 0, result.output
    assert "4 replies of openai/m" in result.output
    return out


def test_a_recording_gives_the_same_replies_to_the_same_requests(recorded: Path) -> None:
    found = answers(f"replay:{recorded}", *map(asked, range(3)), asked(7, problem=None, purpose="problem"))
    assert len({one.text for one in found}) == 4
    assert all(one.cached and one.model == "openai/m" for one in found)


def test_reworded_prompts_find_their_replies_by_address_and_that_is_told_once(
    recorded: Path, caplog: pytest.LogCaptureFixture
) -> None:
    same = [one.text for one in answers(f"replay:{recorded}", asked(0), asked(1))]
    assert not caplog.records
    assert [one.text for one in answers(f"replay:{recorded}", asked(0, "r"), asked(1, "r"))] == same
    assert [one.message for one in caplog.records if "other prompts" in one.message] == [caplog.records[0].message]


@pytest.mark.parametrize(
    ("request_", "told"),
    {
        "sample": (asked(3), "3 samples were recorded of it, and this is sample 3"),
        "problem": (asked(0, "r", replace(PROBLEM, statement="Other")), "this problem is none of the 1 recorded"),
        "purpose": (asked(0, "t", purpose="testing"), "no request of purpose 'testing' was recorded"),
    }.values(),
)
def test_what_was_not_recorded_is_refused_by_name(request_: Request, told: str, recorded: Path) -> None:
    with pytest.raises(TeacherUnavailable, match=f"solution|testing.*'sum'.*{told}"):
        answers(f"replay:{recorded}", request_)


def test_a_further_attempt_that_was_not_recorded_leaves_its_slot_empty(recorded: Path) -> None:
    (reply,) = answers(f"replay:{recorded}", asked(1 + SAMPLE_STRIDE))
    assert reply.failure == "not-recorded"


def test_a_command_says_first_that_it_replays_and_whose_replies(
    recorded: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = WorkbenchConfig(teacher=TeacherConfig(name=f"replay:{recorded}"))
    with Workbench(config) as workbench:
        usage = workbench.check({None: ("solution", {})})
    assert usage.calls == 0
    assert [one.message for one in caplog.records] == [Recording(recorded).head.told]


def test_a_recording_says_whose_it_is_and_holds_no_prompt_and_no_key(recorded: Path) -> None:
    head = Recording(recorded).head
    assert (head.model, head.licence, head.prompts) == ("openai/m", "Apache-2.0", prompts_digest())
    assert head.told == f"REAL, replayed: M 1B Q4, recorded {head.recorded}"
    assert "with earlier prompts" in replace(head, prompts="0").told
    text = gzip.decompress(recorded.read_bytes()).decode()
    assert KEY not in text and '"q"' not in text and "127.0.0.1" not in text


WRONG = {
    "not gzip": (b"no recording", "not gzip|JSON"),
    "no head": (gzip.compress(b'{"id": "r_1"}\n'), "line 1|:1"),
    "a later version": (gzip.compress(b'{"recording": 2, "model": "m"}\n'), ":1"),
    "empty": (gzip.compress(b""), "is empty"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_no_recording_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    raw, told = WRONG[name]
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(raw)
    with pytest.raises(UsageError, match=rf"r\.jsonl\.gz.*({told})"):
        Recording(path)


def test_a_damaged_line_is_named(recorded: Path) -> None:
    lines = gzip.decompress(recorded.read_bytes()).decode().splitlines()
    lines[2] = json.dumps({**json.loads(lines[2]), "reply": None})
    recorded.write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(UsageError, match=r"made\.jsonl\.gz:3.*reply"):
        Recording(recorded)


def test_names_without_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        Recording(tmp_path / "none.gz")
    with pytest.raises(UsageError, match="there is no such recording; bundled: "):
        Recording("builtin:nothing")


def test_replies_of_several_models_need_a_name(recorded: Path, tmp_path: Path) -> None:
    run = recorded.parent / "run"
    given = ["export", "replies", str(run), "--out", str(tmp_path / "o.gz"), "--model", "openai/other"]
    result = CliRunner().invoke(group, given)
    assert isinstance(result.exception, UsageError)
    assert "holds no replies" in str(result.exception)
