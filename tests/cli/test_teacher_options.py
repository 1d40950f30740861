"""The options that choose a teacher: each reaches the part that it is for, and is refused where it means nothing."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from evosyn.cli._teacher import TeacherOptions, open_teacher, teacher_options
from evosyn.errors import UsageError
from evosyn.sandbox import open_sandbox


def options_of(*line: str) -> TeacherOptions:
    found = []

    @click.command()
    @teacher_options
    def command(**values: object) -> None:
        found.append(TeacherOptions.take_from(values))
        assert not values

    assert CliRunner().invoke(command, line, catch_exceptions=False).exit_code == 0
    return found[0]


def opened(tmp_path: Path, *line: str):
    with open_sandbox(workers=1) as sandbox:
        return open_teacher(options_of(*line), seed=3, sandbox=sandbox, replies=tmp_path / "replies.sqlite")


@pytest.mark.parametrize("strength", ["weak", "mixed", "strong"])
def test_the_strength_is_that_of_the_offline_teacher(strength: str, tmp_path: Path) -> None:
    assert opened(tmp_path, "--teacher", "offline", "--strength", strength)._profile.name == strength


def test_limits_of_the_account_and_hedging_reach_the_teacher_of_a_model(tmp_path: Path) -> None:
    served = ("--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1")
    limits = ("--requests-per-minute", "50", "--tokens-per-minute", "9000", "--model-calls", "7")
    config = opened(tmp_path, *served, *limits, "--no-hedge")._config
    assert (config.requests_per_minute, config.tokens_per_minute, config.concurrency) == (50.0, 9000.0, 7)
    assert config.hedge is None
    assert opened(tmp_path, *served)._config.hedge is not None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("--model", "openai/m", "--strength", "weak"), "--strength"),
        (("--teacher", "mailbox:x", "--strength", "weak"), "--strength"),
        (("--model", "openai/m", "--device", "cpu"), "--device"),
        (("--teacher", "offline", "--dtype", "float32"), "--dtype"),
        (("--model", "openai/m", "--local-engine", "vllm"), "--local-engine"),
        (("--model", "local:/x", "--base-url", "http://h/v1"), "--base-url"),
        (("--model", "local:/nowhere/at/all"), "no such directory"),
    ],
)
def test_an_option_of_another_teacher_is_refused(line, says, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=says):
        opened(tmp_path, *line)
