"""A teacher that is a person, or any model without an API: each prompt becomes a file, the answer is awaited as a file.

`DIR/NAME.prompt.md` is written; whoever answers writes `DIR/NAME.reply.md`; `DIR/README.md` says so, or
`DIR/EVOSYN-MAILBOX.md` where the folder has a README of its own. Cache, budget and
the reading of replies are those of any model (`teachers.chat`); here is only how a request reaches a person.
"""

from __future__ import annotations

import asyncio
import logging
import re
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import Field

from evosyn.chat import Request
from evosyn.errors import UsageError
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.rundir import write_atomic
from evosyn.teachers.cache import ReplyCache, request_key
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.completions import Answer, about_tokens

log = logging.getLogger(__name__)
NAME = "mailbox"
GUIDES = ("README.md", "EVOSYN-MAILBOX.md")
"""Names for the file that says how to answer; the first that is free, or ours."""
SETTLED_S = 1.0
"""Seconds for which a reply must not have changed: whoever writes it may not have ended."""
SAY_EVERY_S = 60.0
"""Seconds between two lines that say how many prompts wait, where that number has changed."""


class MailboxConfig(PluginConfig):
    """
    Attributes:
        directory: where prompts and replies lie.
        poll_s: seconds between looks for a reply.
    """

    directory: Annotated[Path, Argument("DIR")] = Path("mailbox")
    poll_s: float = Field(default=0.5, gt=0)


class Mailbox:
    """Implements `transports.Transport` over a directory; waits as long as it takes.

    Args:
        guide: name of the file there that says how to answer.
    """

    def __init__(self, config: MailboxConfig, guide: str = GUIDES[0]) -> None:
        self._directory, self._poll_s, self._guide = config.directory, config.poll_s, guide
        self._open: set[Path] = set()
        self._count, self._count_at = 0, 0.0
        self._told, self._told_at = 0, -SAY_EVERY_S

    async def send(self, request: Request) -> Answer:
        """Write the prompt, wait for the reply."""
        key = request_key(NAME, request)
        name = f"{title(request)}.{key}"
        replies = [self._directory / f"{name}.reply.md", self._directory / f"{key}.reply.md"]
        if not any(file.exists() for file in replies):
            await asyncio.to_thread(write_atomic, self._directory / f"{name}.prompt.md", letter(request, name))
        self._open.add(replies[0])
        try:
            while not (text := await self._settled(replies)):
                self._say()
                await asyncio.sleep(self._poll_s)
        finally:
            self._open.discard(replies[0])
        prompt = about_tokens("".join(message.content for message in request.messages))
        return Answer(text, "stop", None, prompt, about_tokens(text), 0.0, estimated=True)

    async def aclose(self) -> None:
        return None

    async def _settled(self, files: list[Path]) -> str:
        """The text of the one that is there, once it has stopped changing; empty until then."""
        for file in files:
            try:
                before = file.stat()
                if before.st_size == 0:
                    continue
                await asyncio.sleep(min(SETTLED_S, 2 * self._poll_s))
                after = file.stat()
                if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                    text = await asyncio.to_thread(file.read_text, encoding="utf-8", errors="replace")
                    if text.strip():
                        return text
            except FileNotFoundError:
                continue
        return ""

    def _say(self) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._open) != self._count:
            self._count, self._count_at = len(self._open), now
        enough = now - self._count_at >= 2 * self._poll_s and now - self._told_at >= SAY_EVERY_S
        if enough and self._count != self._told:
            self._told, self._told_at = self._count, now
            log.warning(
                "%d %s in %s (%s there says how)",
                self._told,
                "prompt waits for a reply" if self._told == 1 else "prompts wait for replies",
                self._directory,
                self._guide,
            )


def title(request: Request) -> str:
    """What is asked, in the letters of a file name."""
    about = request.problem.problem_id if request.problem is not None and request.purpose != "problem" else ""
    about = re.sub(r"[^A-Za-z0-9_-]+", "-", about)[:60].strip("-")
    return f"{about}.{request.purpose}-{request.sample:03d}".lstrip(".")


def letter(request: Request, name: str) -> str:
    """The prompt as a file, which says where its answer belongs."""
    head = f"<!-- evosyn waits for the answer to this, as a file of this folder: {name}.reply.md -->"
    parts = [message.content.strip() for message in request.messages]
    if len(parts) > 1:
        parts = [f"<!-- {one.role} -->\n{part}" for one, part in zip(request.messages, parts, strict=True)]
    return "\n\n".join([head, *parts]) + "\n"


def create(tools: TeacherTools, config: MailboxConfig) -> ChatTeacher:
    """A mailbox in a directory, made if absent.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        config.directory.mkdir(parents=True, exist_ok=True)
        guide = _write_guide(config.directory)
    except OSError as error:
        raise UsageError(f"mailbox {config.directory}: {error.strerror}") from error
    chat = ChatConfig(concurrency=tools.calls, hedge=None, retries=0, lead=False)
    return ChatTeacher(
        NAME, Mailbox(config, guide), chat, ReplyCache(tools.replies), tools.budget, reasoning=tools.reasoning
    )


def _write_guide(folder: Path) -> str:
    """Say in the folder how to answer, in no file of somebody else's; its name.

    Raises:
        UsageError: all names are taken.
    """
    text = resources.files("evosyn.teachers").joinpath("mailbox.md").read_text(encoding="utf-8")
    head = text.splitlines()[0].encode()
    for name in GUIDES:
        path = folder / name
        if not path.exists() or (path.is_file() and path.read_bytes().split(b"\n", 1)[0].rstrip() == head):
            write_atomic(path, text)
            return name
    raise UsageError(f"mailbox {folder}: {' and '.join(GUIDES)} there are files of something else; name another folder")
