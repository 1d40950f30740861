"""A teacher that answers from a recording only: a cache file of replies. What was not recorded ends the run."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator

from evosyn.chat import Reply, Request
from evosyn.errors import CorruptRun, TeacherUnavailable, UsageError
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.teachers.cache import RecordedReplies, request_key
from evosyn.text.reasoning import AUTO
from evosyn.thinking import settled


class ReplayTeacher:
    """Implements `ports.Teacher` over a recording.

    Args:
        cache: the recording.
        model: whose replies these are.
        reasoning: the form of their reasoning.
    """

    def __init__(self, cache: RecordedReplies, model: str, reasoning: str = AUTO) -> None:
        self._cache, self._model, self._form = cache, model, reasoning

    @property
    def name(self) -> str:
        return self._model

    @property
    def simulated(self) -> bool:
        return False

    async def complete(self, request: Request) -> Reply:
        """
        Raises:
            TeacherUnavailable: this request was not recorded.
        """
        key = request_key(self._model, request)
        reply = self._cache.get(key)
        if reply is None:
            raise TeacherUnavailable(
                f"the recording has no reply of {self._model} to request {key} ({request.purpose}, sample "
                f"{request.sample}); it was made with other prompts, parameters or seeds: record again with --model"
            )
        return settled(reply, self._form)

    async def aclose(self) -> None:
        self._cache.close()


class Recording(NamedTuple):
    """A file of replies, and the model that they are of."""

    file: Path
    model: str


def _recording(text: str) -> Recording:
    file, _, model = text.partition("@")
    if not model:
        raise ValueError("write it as replay:FILE@provider/name, naming the recorded model")
    return Recording(Path(file), model)


class ReplayConfig(PluginConfig):
    """
    Attributes:
        recording: the reply cache of an earlier run, and the model that it asked.
    """

    recording: Annotated[Recording, BeforeValidator(_recording), Argument("FILE@provider/name")]


def create(tools: TeacherTools, config: ReplayConfig) -> ReplayTeacher:
    """Replay a recording.

    Raises:
        UsageError: no such file, or not a recording.
    """
    path, model = config.recording
    if not path.is_file():
        raise UsageError(f"replay {path}: no such file; a recording is the replies file of an earlier run")
    try:
        recorded = RecordedReplies(path)
    except (CorruptRun, sqlite3.DatabaseError) as error:
        raise UsageError(f"replay {path}: is not a recording of replies: {error}") from error
    if not len(recorded):
        recorded.close()
        raise UsageError(f"replay {path}: holds no recorded replies; a recording is the replies file of an earlier run")
    return ReplayTeacher(recorded, model, tools.reasoning)
