"""The stages that ask for the tools of a world, and for the tables under them. ScaleEnv section 4.1.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.chat import SAMPLE_STRIDE, Parsed, Reply, Request, roomier
from evosyn.ports import Teacher
from evosyn.records import Json
from evosyn.running.ledger import Ledger
from evosyn.synthesis.worlds.asking import (
    TABLES,
    TOOLS,
    WorldName,
    read_tables,
    read_tools,
    tables_request,
    tools_request,
)
from evosyn.synthesis.worlds.config import MakeWorldsConfig
from evosyn.synthesis.worlds.draft import WorldDraft


class HeardSchema(NamedTuple):
    """What a reply holds, None after all attempts; the draft with what was spent; the last reply."""

    value: dict[str, Json] | None
    draft: WorldDraft
    reply: Reply


@dataclass(frozen=True)
class WorldAsker:
    """Asks a teacher about drafts, through the ledger, until a reply can be read."""

    ledger: Ledger[WorldDraft]
    teacher: Teacher

    async def reply(self, draft: WorldDraft, kind: str, slot: int, attempt: int, request: Request) -> Reply:
        """One reply.

        Raises:
            BudgetSpent, TeacherUnavailable: from the teacher.
        """
        return await self.ledger.ask((draft.index, kind, slot, attempt), request, self.teacher)

    async def schema(
        self,
        draft: WorldDraft,
        kind: str,
        request: Request,
        read: Callable[[str], Parsed[dict[str, Json]]],
        attempts: int,
    ) -> HeardSchema:
        """
        Raises:
            BudgetSpent, TeacherUnavailable: from the teacher.
        """
        attempt = 0
        while True:
            asked = replace(request, sample=attempt * SAMPLE_STRIDE)
            reply = await self.reply(draft, kind, 0, attempt, asked)
            found: Parsed[dict[str, Json]] = (
                Parsed(None, f"reply-{reply.failure}") if reply.failure else read(reply.text)
            )
            draft = draft.heard(kind, reply, "" if found.value is not None else found.reason)
            attempt += 1
            if found.value is not None or attempt == attempts:
                return HeardSchema(found.value, draft, reply)
            request = roomier(request, reply)


class _Schema:
    """A stage that asks for one part of a schema."""

    name: str
    kind: str
    concurrency = None

    def __init__(self, config: MakeWorldsConfig, asker: WorldAsker) -> None:
        self._config, self._asker = config, asker

    async def run(self, draft: WorldDraft) -> WorldDraft:
        heard = await self._asker.schema(
            draft, self.kind, self.request(draft), lambda text: self.read(draft, text), self._config.attempts
        )
        if heard.value is None:
            return heard.draft.drop(self.name, heard.draft.rejects[-1].reason)
        return self.taken(heard.draft, heard.value, heard.reply)

    def request(self, draft: WorldDraft) -> Request:
        raise NotImplementedError

    def read(self, draft: WorldDraft, text: str) -> Parsed[dict[str, Json]]:
        raise NotImplementedError

    def taken(self, draft: WorldDraft, value: Mapping[str, Json], reply: Reply) -> WorldDraft:
        raise NotImplementedError


class AskTools(_Schema):
    """Tools, from the name of a domain alone."""

    name, kind = "tools", TOOLS

    def request(self, draft: WorldDraft) -> Request:
        return tools_request(WorldName(draft.name, draft.slug), self._config.sizes, self._config.sampling)

    def read(self, draft: WorldDraft, text: str) -> Parsed[dict[str, Json]]:  # noqa: ARG002
        return read_tools(text, self._config.sizes)

    def taken(self, draft: WorldDraft, value: Mapping[str, Json], reply: Reply) -> WorldDraft:
        return replace(draft, schema=value, author=reply.model, simulated=self._asker.teacher.simulated)


class AskTables(_Schema):
    """Tables, from the tools."""

    name, kind = "tables", TABLES

    def request(self, draft: WorldDraft) -> Request:
        world = WorldName(draft.name, draft.slug)
        return tables_request(world, draft.schema, self._config.sizes, self._config.sampling)

    def read(self, draft: WorldDraft, text: str) -> Parsed[dict[str, Json]]:
        return read_tables(text, draft.slug, draft.schema, self._config.sizes)

    def taken(self, draft: WorldDraft, value: Mapping[str, Json], reply: Reply) -> WorldDraft:  # noqa: ARG002
        return replace(draft, tables=value)
