"""A teacher that is a person, or any model without an API: each prompt becomes a file, the answer is awaited as a file.

`DIR/<id>.prompt.md` is written; whoever answers writes `DIR/<id>.reply.md`. Prompts that were answered before are
answered again from there, so a run can be stopped and resumed at any time.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from pydantic import Field

from evosyn.chat import Reply, Request
from evosyn.errors import UsageError
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.rundir import write_atomic
from evosyn.teachers.cache import request_key


class MailboxConfig(PluginConfig):
    """
    Attributes:
        directory: where prompts and replies lie.
        poll_s: seconds between looks for a reply.
    """

    directory: Annotated[Path, Argument("DIR")] = Path("mailbox")
    poll_s: float = Field(default=0.5, gt=0)


class MailboxTeacher:
    """Implements `ports.Teacher` over a directory."""

    def __init__(self, config: MailboxConfig) -> None:
        self._directory, self._poll_s = config.directory, config.poll_s

    @property
    def name(self) -> str:
        return "mailbox"

    @property
    def simulated(self) -> bool:
        return False

    async def complete(self, request: Request) -> Reply:
        """Write the prompt, wait for the reply; waits as long as it takes."""
        key = request_key(self.name, request)
        prompt, answer = self._directory / f"{key}.prompt.md", self._directory / f"{key}.reply.md"
        if not answer.exists() and not prompt.exists():
            text = "\n\n".join(message.content for message in request.messages)
            await asyncio.to_thread(write_atomic, prompt, text)
        while not answer.exists():
            await asyncio.sleep(self._poll_s)
        text = await asyncio.to_thread(answer.read_text, encoding="utf-8", errors="replace")
        return Reply(key, text, self.name, failure=None if text.strip() else "empty")

    async def aclose(self) -> None:
        return None


def create(tools: TeacherTools, config: MailboxConfig) -> MailboxTeacher:  # noqa: ARG001
    """A mailbox in a directory, made if absent.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        config.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"mailbox {config.directory}: {error.strerror}") from error
    return MailboxTeacher(config)
