"""A teacher that is a person, or any model without an API: each prompt becomes a file, the answer is awaited as a file.

`DIR/<id>.prompt.md` is written; whoever answers writes `DIR/<id>.reply.md`. Prompts that were answered before are
answered again from there, so a run can be stopped and resumed at any time.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from evosyn.chat import Reply, Request
from evosyn.errors import UsageError
from evosyn.rundir import write_atomic
from evosyn.teachers.cache import request_key


class MailboxTeacher:
    """Implements `ports.Teacher` over a directory.

    Args:
        directory: where prompts and replies lie.
        poll_s: seconds between looks for a reply.
    """

    def __init__(self, directory: Path, poll_s: float = 0.5) -> None:
        self._directory, self._poll_s = directory, poll_s

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


def create(*, directory: str | Path, poll_s: float = 0.5) -> MailboxTeacher:
    """A mailbox in `directory`, made if absent.

    Raises:
        UsageError: it cannot be made.
    """
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"mailbox {path}: {error.strerror}") from error
    return MailboxTeacher(path, poll_s)
