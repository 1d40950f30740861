"""A teacher that plays replies which were written by hand, one a file; README.md tells what is odd about each.

A file is `INDEX.KIND.SLOT.ATTEMPT.md`: the number of the item that a request is about, what is asked, which of several
such requests, and which attempt. Where there is none, the reply is nothing usable.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from evosyn.chat import Reply, Request
from evosyn.environments.asking import DRAFT
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.synthesis.generate import SAMPLE_STRIDE

RECORDED = Path(__file__).parent
CREATE = f"{__name__}:create"


class RecordedConfig(PluginConfig):
    """
    Attributes:
        directory: of the replies.
    """

    directory: Annotated[Path, Argument("DIR")] = RECORDED


class RecordedTeacher:
    """Implements `ports.Teacher`."""

    name, simulated = "recorded", False

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def complete(self, request: Request) -> Reply:
        name = file_of(request)
        file = self._directory / f"{name}.md"
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        return Reply(f"r_{name}", text, self.name, failure=None if text else "empty", reasoning=f"thoughts of {name}")

    async def aclose(self) -> None:
        return None


def file_of(request: Request) -> str:
    """The file that answers a request, without its ending."""
    if request.purpose == "problem":  # a new one: only the sample says which
        attempt, index = divmod(request.sample, SAMPLE_STRIDE * SAMPLE_STRIDE)
        return f"{index}.problem.0.{attempt}"
    if request.problem is None:  # a proposal of a search: a second call follows up on the first
        return f"{request.sample}.{request.purpose}.0.{int(len(request.messages) > 2)}"
    attempt, slot = divmod(request.sample, SAMPLE_STRIDE)
    number = re.search(r"\d+$", request.problem.problem_id)
    assert number is not None, request.problem.problem_id
    return f"{int(number[0])}.{request.purpose}.{0 if request.purpose == DRAFT else slot}.{attempt}"


def create(tools: TeacherTools, config: RecordedConfig) -> RecordedTeacher:  # noqa: ARG001
    return RecordedTeacher(config.directory)
