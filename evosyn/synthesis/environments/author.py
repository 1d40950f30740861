"""The stage that asks for a draft, and what it is asked with: a keyword in turn, or environments that exist.

ReSyn (section 2.2) asks 8 times for each of about 100 keywords, EvoEnv shows environments; which ones, the categories
and the angles of a keyword are ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Generic, NamedTuple, TypeVar

from evosyn.chat import SAMPLE_STRIDE, Parsed, Reply, Request, roomier
from evosyn.environments import bundled
from evosyn.environments.asking import DRAFT, about, keyword_request, shown_request
from evosyn.environments.contract import CATEGORIES
from evosyn.environments.replies import read_draft
from evosyn.errors import UsageError
from evosyn.ports import Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.running.ledger import Ledger
from evosyn.synthesis.environments.config import AuthorConfig
from evosyn.synthesis.environments.draft import Draft

T = TypeVar("T")


class RequestSlot(NamedTuple):
    """Which request of a draft: its kind, and its number among these."""

    kind: str
    number: int = 0


class Heard(NamedTuple, Generic[T]):
    """What a reply holds, None after all attempts; the draft with what was spent; the last reply, and its sample."""

    value: T | None
    draft: Draft
    reply: Reply
    sample: int


@dataclass(frozen=True)
class EnvironmentAsker:
    """Asks a teacher about drafts, through the ledger, until a reply can be read."""

    ledger: Ledger[Draft]
    teacher: Teacher

    async def ask(
        self, draft: Draft, slot: RequestSlot, request: Request, read: Callable[[str], Parsed[T]], attempts: int
    ) -> Heard[T]:
        """
        Args:
            attempts: one at least.

        Raises:
            BudgetSpent, TeacherUnavailable: from the teacher.
        """
        wanted = replace(request, problem=about(draft.name, draft.brief, draft.source))
        attempt = 0
        while True:
            asked = replace(wanted, sample=request.sample + slot.number + attempt * SAMPLE_STRIDE)
            reply = await self.ledger.ask((draft.index, slot.kind, slot.number, attempt), asked, self.teacher)
            found: Parsed[T] = Parsed(None, f"reply-{reply.failure}") if reply.failure else read(reply.text)
            draft = draft.heard(slot.kind, reply, "" if found.value is not None else found.reason)
            attempt += 1
            if found.value is not None or attempt == attempts:
                return Heard(found.value, draft, reply, asked.sample)
            wanted = roomier(wanted, reply)


class AuthorDraft:
    """Asks until a reply holds a program; what that is worth the ladder says."""

    name = "author"
    concurrency = None

    def __init__(self, config: AuthorConfig, keywords: Sequence[str], tree: SeedTree, asker: EnvironmentAsker) -> None:
        self._config, self._keywords, self._tree, self._asker = config, keywords, tree, asker

    async def run(self, draft: Draft) -> Draft:
        return await written(draft, *self.asked(draft.index), self._asker, self._config.attempts)

    def asked(self, index: int) -> tuple[Mapping[str, Json], Request]:
        """The brief of a draft, and its request."""
        if self._config.by == "keywords":
            draw, place = divmod(index, len(self._keywords))
            keyword = self._keywords[place]
            request = keyword_request(keyword, draw, self._config.sampling)
            return {"keyword": keyword, "draw": draw}, replace(request, sample=draw)
        rng = self._tree.child("shown", index).random()
        known = bundled("known")
        names = rng.sample(sorted(known), min(self._config.shown, len(known)))
        category = rng.choice(CATEGORIES)
        texts = [known[name].read_text(encoding="utf-8") for name in names]
        return {"shown": names, "category": category}, shown_request(texts, category, self._config.sampling)


async def written(
    draft: Draft, brief: Mapping[str, Json], request: Request, asker: EnvironmentAsker, attempts: int
) -> Draft:
    """A draft with its program, asked for until a reply holds one; dropped where none does.

    Raises:
        BudgetSpent, TeacherUnavailable: from the teacher.
    """
    draft = replace(draft, brief=brief, simulated=asker.teacher.simulated)
    heard = await asker.ask(draft, RequestSlot(DRAFT), request, read_draft, attempts)
    if heard.value is None:
        return heard.draft.drop("author", heard.draft.rejects[-1].reason)
    told = {**brief, "sample": heard.sample}
    by, call = heard.reply.model, heard.reply.id
    return replace(heard.draft, brief=told, source=heard.value, author=by, call=call)


def keywords_of(config: AuthorConfig) -> tuple[str, ...]:
    """The topics, in order, each once.

    Raises:
        UsageError: the file cannot be read, or holds none.
    """
    if config.keywords is None:
        text = resources.files("evosyn.environments").joinpath("prompts/keywords.txt").read_text(encoding="utf-8")
    else:
        try:
            text = config.keywords.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--keywords {config.keywords}: cannot be read: {error}") from error
    found = tuple(dict.fromkeys(one.strip() for one in re.split(r"[,\n]", text) if one.strip()))
    if not found:
        raise UsageError(f"--keywords {config.keywords}: holds no keyword; write one a line, or several with commas")
    return found
