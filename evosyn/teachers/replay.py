"""A teacher that answers from a recording only. What was not recorded ends the run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from evosyn.chat import Reply, Request
from evosyn.errors import TeacherUnavailable
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.records import Json
from evosyn.teachers.cache import Asked, request_key
from evosyn.teachers.recordings import Recording
from evosyn.text.reasoning import AUTO
from evosyn.thinking import settled

log = logging.getLogger(__name__)
NOT_RECORDED = "not-recorded"
"""The failure of a further attempt that the run which was recorded did not make."""


class ReplayTeacher:
    """Implements `ports.Teacher` over a recording.

    Args:
        reasoning: the form of its reasoning.
    """

    def __init__(self, recording: Recording, reasoning: str = AUTO) -> None:
        self._recording, self._form, self._said = recording, reasoning, False

    @property
    def name(self) -> str:
        return self._recording.head.model

    @property
    def simulated(self) -> bool:
        return False

    async def complete(self, request: Request) -> Reply:
        """
        Raises:
            TeacherUnavailable: nothing was recorded for its problem, purpose and sample.
        """
        key, asked = request_key(self.name, request), Asked.of(request)
        kept = self._recording.find(key, asked)
        if kept is None and self._recording.is_further_attempt(asked):
            return Reply(key, "", self.name, failure=NOT_RECORDED, detail="the recorded run asked no more for it")
        if kept is None:
            problem = "" if request.problem is None else f", problem {request.problem.problem_id!r}"
            raise TeacherUnavailable(
                f"the recording {self._recording.path} has no reply to {request.purpose} {asked.sample}{problem}: "
                f"{self._recording.lacks(asked)}. Ask for less (problems, -M, -N), or a model: --model provider/name"
            )
        if kept.reply.id != key and not self._said:
            self._said = True
            log.warning(
                "%s: recorded with other prompts or parameters; replies are those to the same questions", self.name
            )
        return settled(replace(kept.reply, cached=True), self._form)

    async def check(self, purpose: str, params: Mapping[str, Json]) -> None:  # noqa: ARG002
        """Asks nothing, and says first whose replies these are."""
        log.warning("%s", self._recording.head.told)

    async def aclose(self) -> None:
        """Nothing is open."""


class ReplayConfig(PluginConfig):
    """
    Attributes:
        recording: what `evosyn export replies` wrote, or `builtin:NAME`.
    """

    recording: Annotated[str, Argument("FILE")]


def create(tools: TeacherTools, config: ReplayConfig) -> ReplayTeacher:
    """Replay a recording.

    Raises:
        UsageError: no such file, or not a recording.
    """
    return ReplayTeacher(Recording(config.recording), tools.reasoning)
