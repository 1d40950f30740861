"""The flags and keys that choose a teacher: each reaches the part that it is for, and is refused where it means
nothing."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel
from simulation import TEACHER
from simulation.scripted_server import ScriptedServer

from evosyn import registry
from evosyn.cli._command import ConfiguredCommand, config_options, sandbox_options, teacher_options
from evosyn.errors import RunLocked, UsageError
from evosyn.rundir import RunDir
from evosyn.synthesis.environments.config import StudentConfig
from evosyn.teachers.chat import ChatTeacher
from evosyn.workbench import Workbench, WorkbenchConfig


class Configured(BaseModel):
    """The configuration of some command."""

    workbench: WorkbenchConfig = WorkbenchConfig()


SERVED = ("--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1")


def config_of(*line: str) -> WorkbenchConfig:
    """The section of a command line."""
    found: list[WorkbenchConfig] = []

    @click.command(cls=ConfiguredCommand, kind=Configured)
    @teacher_options
    @sandbox_options
    @config_options("seed=1")
    def command(config: Configured) -> None:
        found.append(config.workbench)

    assert CliRunner().invoke(command, line, catch_exceptions=False).exit_code == 0
    return found[0]


def opened(tmp_path: Path, *line: str):
    with Workbench(config_of(*line), out=tmp_path, seed=3) as workbench:
        return workbench.teacher()


def test_flags_are_keys_of_the_section() -> None:
    config = config_of(*SERVED, "--max-cost", "2.5", "--sandbox", "docker", "--workers", "3", "--allow-weak-sandbox")
    assert (config.teacher.model, config.budget.max_cost) == ("openai/m", 2.5)
    assert (config.sandbox.backend, config.sandbox.workers, config.sandbox.allow_weak) == ("docker", 3, True)
    assert config_of() == WorkbenchConfig()


PLUGINS = {
    "sandbox": ("sandboxes", "local"),
    "teacher": ("teachers", "litellm:provider/name"),
    "agent": ("agents", "loop"),
}


@pytest.mark.parametrize("section", PLUGINS)
def test_a_mistyped_key_of_a_section_is_told_the_nearest_of_section_and_plug_in(section: str) -> None:
    own = set(WorkbenchConfig.model_fields[section].annotation.model_fields)
    for key in own | set(registry.find(*PLUGINS[section]).config.model_fields):
        with pytest.raises(UsageError, match=f"unknown key '{key}x'; did you mean .*'{key}'"):
            Workbench(config_of("--set", f"workbench.{section}.{key}x=1"))


@pytest.mark.parametrize("strength", ["weak", "mixed", "strong"])
def test_the_strength_is_that_of_the_offline_teacher(strength: str, tmp_path: Path) -> None:
    assert (
        opened(tmp_path, "--teacher", TEACHER, "--set", f"workbench.teacher.strength={strength}")._profile.name
        == strength
    )


def test_limits_of_the_account_and_hedging_reach_the_teacher_of_a_model(tmp_path: Path) -> None:
    keys = ("requests_per_minute=50", "tokens_per_minute=9000", "calls=7", "hedge=false")
    config = opened(
        tmp_path, *SERVED, *(word for key in keys for word in ("--set", f"workbench.teacher.{key}"))
    )._config
    assert (config.requests_per_minute, config.tokens_per_minute, config.concurrency) == (50.0, 9000.0, 7)
    assert config.hedge is None
    assert opened(tmp_path, *SERVED)._config.hedge is not None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("--model", "openai/m", "--teacher", TEACHER), "exclude each other"),
        (("--model", "openai/m", "--set", "workbench.teacher.strength=weak"), "strength"),
        (("--teacher", "mailbox:x", "--set", "workbench.teacher.strength=weak"), "strength"),
        (("--model", "openai/m", "--set", "workbench.teacher.device=cpu"), "device"),
        (("--teacher", TEACHER, "--set", "workbench.teacher.dtype=float32"), "dtype"),
        (("--model", "openai/m", "--set", "workbench.teacher.engine=vllm"), "engine"),
        (("--model", "local:/x", "--base-url", "http://h/v1"), "base_url"),
        (("--model", "local:/nowhere/at/all"), "no such directory"),
        ((), "no model is named"),
    ],
)
def test_a_key_of_another_teacher_is_refused(line, says, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=says):
        opened(tmp_path, *line)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter2@host/v1", "http://host/v1?api_key=sk-1", "http://h/v1?Token=x",
        "me:hunter2@host/v1", "http://[me:hunter2@host/v1",
    ],
)  # fmt: skip
def test_an_address_with_a_secret_in_it_is_refused_before_it_is_written_anywhere(url: str) -> None:
    with pytest.raises(UsageError, match="holds a secret") as refused:
        config_of("--model", "openai/m", "--base-url", url)
    assert url not in str(refused.value)


def test_a_directory_in_which_another_process_is_at_work_costs_no_question(tmp_path: Path) -> None:
    with ScriptedServer(lambda _body, _occurrence: "ready") as server:
        config = config_of("--model", "openai/m", "--base-url", server.base_url)
        with Workbench(config, out=tmp_path / "run") as workbench:
            with RunDir(tmp_path / "run"), pytest.raises(RunLocked, match="another process"):
                workbench.check({None: ("solution", {})})
            assert server.counts.requests == 0
            assert workbench.check({None: ("solution", {})}).calls == 1


def test_what_is_not_asked_for_is_not_opened(tmp_path: Path) -> None:
    with Workbench(config_of("--sandbox", "no.such:thing"), out=tmp_path) as workbench:
        assert set(workbench.domains) >= {"python-function", "python-stdin"}
        with pytest.raises(UsageError, match="cannot load"):
            _ = workbench.sandbox
    assert list(tmp_path.iterdir()) == []


def test_all_models_of_a_run_spend_from_one_budget(tmp_path: Path) -> None:
    with Workbench(config_of(*SERVED, "--max-calls", "9"), out=tmp_path) as workbench:
        assert workbench.teacher().budget is workbench.teacher("openai/other").budget is workbench.budget


@pytest.mark.parametrize("provider", ["hosted_vllm", "lm_studio", "openai_like"])
def test_a_server_without_an_address_is_refused_before_anything_is_sent(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(f"{provider.upper()}_API_BASE", raising=False)
    with ScriptedServer(lambda _body, _occurrence: "yes") as server:
        config = config_of("--model", "openai/m", "--base-url", server.base_url)
        alone = {f"{provider}/m": {"base_url": None}}
        with Workbench(config, out=tmp_path, own=alone) as workbench, pytest.raises(UsageError, match="no address"):
            workbench.check({None: ("solution", {}), f"{provider}/m": ("solution", {})})
        assert not server.counts.requests


def test_who_was_opened_is_closed_where_another_one_cannot_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HOSTED_VLLM_API_BASE", raising=False)
    closed: list[str] = []

    async def aclose(teacher: ChatTeacher) -> None:
        closed.append(teacher.name)

    monkeypatch.setattr(ChatTeacher, "aclose", aclose)
    config = config_of("--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1")
    alone = {"hosted_vllm/m": {"base_url": None}}
    with Workbench(config, out=tmp_path, own=alone) as workbench, pytest.raises(UsageError, match="no address"):
        workbench.check({None: ("solution", {}), "hosted_vllm/m": ("solution", {})})
    assert closed == ["openai/m"]


def test_a_model_with_an_address_of_its_own_is_asked_there_and_sent_no_key_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    monkeypatch.setenv("AUTHOR_KEY", "key-of-the-author")
    monkeypatch.setenv("STUDENT_KEY", "key-of-the-student")
    author = config_of("--model", "anthropic/m", "--api-key-env", "AUTHOR_KEY")
    with ScriptedServer(lambda _body, _occurrence: "yes") as server:
        for variable in (None, "STUDENT_KEY"):
            own = StudentConfig(model="hosted_vllm/s", base_url=server.base_url, api_key_env=variable).own
            with Workbench(author, own=own) as workbench:
                workbench.check({"hosted_vllm/s": ("solution", {})})
        assert {one for one in server.counts.authorizations if "key-" in one} == {"key-of-the-student"}


def test_no_provider_is_sent_the_key_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTHOR_KEY", "key-of-the-author")
    author = config_of("--model", "openai/m", "--api-key-env", "AUTHOR_KEY")
    with Workbench(author) as workbench:
        lent = [
            workbench._lent_to(registry.find("teachers", f"litellm:{name}")) for name in ("openai/o", "hosted_vllm/s")
        ]
    assert lent == [{"api_key_env": "AUTHOR_KEY"}, {}]
    served = config_of(*SERVED, "--api-key-env", "AUTHOR_KEY")
    with Workbench(served) as workbench:
        assert "api_key_env" in workbench._lent_to(registry.find("teachers", "litellm:hosted_vllm/s"))


def test_the_address_of_a_student_is_no_part_of_what_it_is() -> None:
    bare = StudentConfig(model="hosted_vllm/s")
    assert bare.told() == StudentConfig(model="hosted_vllm/s", base_url="http://gpu:8000/v1").told()
    with pytest.raises(ValueError, match="name it with --student"):
        StudentConfig(base_url="http://gpu:8000/v1")
    with pytest.raises(ValueError, match=r"student\.base_url"):
        StudentConfig(model="hosted_vllm/s", base_url="http://me:secret@gpu:8000/v1")
