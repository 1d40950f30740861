"""`evosyn quickstart` ends where a step could not be done, and not where what it found is bad news."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

import pytest
from click.testing import CliRunner

from evosyn.cli.quickstart import command
from evosyn.errors import EXIT_BUDGET, EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, CheckFailed


def _steps(codes: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], object]:
    """The commands that were run, when they end with these codes, and what the whole ended with."""
    ran: list[str] = []

    def run(words: list[str], *, check: bool) -> subprocess.CompletedProcess[bytes]:
        assert not check
        ran.append(words[3])
        return subprocess.CompletedProcess(words, codes[len(ran) - 1])

    monkeypatch.setattr(subprocess, "run", run)
    ended = CliRunner().invoke(command, shlex.split("--model openai/local"), standalone_mode=False)
    return ran, ended.exception


@pytest.mark.parametrize("codes", [(EXIT_DONE, EXIT_DONE), (EXIT_FAILED, EXIT_DONE), (EXIT_FAILED, EXIT_FAILED)])
def test_bad_news_are_shown_and_not_the_end(codes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert _steps(codes, monkeypatch) == (["evolve", "synthesize"], None)


@pytest.mark.parametrize(
    ("code", "kind"), [(EXIT_BUDGET, CheckFailed), (EXIT_INTERRUPTED, BaseException), (-9, BaseException)]
)
def test_a_step_that_was_not_done_ends_it(
    code: int, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, error = _steps((code, EXIT_DONE), monkeypatch)
    assert ran == ["evolve"] and isinstance(error, kind)
