"""A teacher that answers from files in which replies were written by hand; README.md says what is odd about each.

`INDEX.KIND.SLOT.ATTEMPT.md` is the reply of one call: INDEX of a new problem or environment or of a proposal, or the
name of a seed; a mutation counts its tries as SLOT. The turns of an agent are `NAME.turn.SLOT.TURN.md`, what who plays
the user of a tool world says `NAME.user.SLOT.TURN.ATTEMPT.md`. Where there is no file nothing usable comes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from evosyn.agents.users import TRIES
from evosyn.chat import Reply, Request
from evosyn.environments.asking import DRAFT
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.records import Problem
from evosyn.synthesis.generate import SAMPLE_STRIDE
from evosyn.synthesis.mutations.asking import MOST_TRIES, PURPOSES

HERE = Path(__file__).parent


class PlayedConfig(PluginConfig):
    """
    Attributes:
        directory: of replies.
    """

    directory: Annotated[Path, Argument("DIR")]


class PlayedTeacher:
    """Implements `ports.Teacher`."""

    name, simulated = "recorded", False

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def complete(self, request: Request) -> Reply:
        name = named(request)
        file = self._directory / f"{name}.md"
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        return Reply(f"r_{name}", text, self.name, failure=None if text else "empty", reasoning=f"thoughts of {name}")

    async def aclose(self) -> None:
        return None


def named(request: Request) -> str:
    """The file of a request, without its ending."""
    if request.purpose == "problem":
        attempt, index = divmod(request.sample, SAMPLE_STRIDE * SAMPLE_STRIDE)
        return f"{index}.problem.0.{attempt}"
    if request.purpose in PURPOSES.values():
        number, tried = divmod(request.sample, MOST_TRIES)
        return f"{number}.{request.purpose}.{tried}.0"
    if request.problem is None:  # a proposal of a search: a second call follows up on the first
        return f"{request.sample}.{request.purpose}.0.{int(len(request.messages) > 2)}"
    if request.problem.domain == "tool-use":
        return _in_tool_world(request, request.problem)
    attempt, slot = divmod(request.sample, SAMPLE_STRIDE)
    about = request.problem.problem_id
    made = re.search(r"(?:^(?:syn|env)-|/)(\d+)$", about)
    about = about if made is None else str(int(made[1]))
    if request.problem.domain == "os-shell" and request.purpose == "solution":
        return f"{about}.turn.{slot}.{sum(message.role == 'assistant' for message in request.messages)}"
    return f"{about}.{request.purpose}.{0 if request.purpose == DRAFT else slot}.{attempt}"


def _in_tool_world(request: Request, problem: Problem) -> str:
    """A turn of an agent, or what a model that plays the user says, which has said the first request before."""
    about = f"{problem.provenance.source.removeprefix('world ')}-{problem.provenance.detail['index']}"
    said = sum(message.role == "assistant" for message in request.messages)
    if request.purpose != "user":
        return f"{about}.turn.{request.sample}.{said}"
    slot, attempt = divmod(request.sample, TRIES)
    return f"{about}.user.{slot}.{said - 1}.{attempt}"


def create(tools: TeacherTools, config: PlayedConfig) -> PlayedTeacher:  # noqa: ARG001
    return PlayedTeacher(config.directory)


def teacher(directory: Path) -> str:
    """How a command names the teacher of these replies."""
    return f"{__name__}:create:{directory}"


def written(directory: Path, kind: str) -> int:
    """How many replies of a kind there are."""
    return len(list(directory.glob(f"*.{kind}.*.md")))
