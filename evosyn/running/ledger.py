"""The ledger of a run: every reply as it arrives, every item as it ends; the only way in which stages persist.

A reply that stands in the journal is never asked for again; an item that has ended is never touched again. So the same
command after a kill at any instant does only what was not done, and ends in the same state. Replies are kept with the
digest of their request: a reply to another prompt (other config, other version) is not taken. DESIGN.md section 7.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from evosyn.chat import TOO_LONG, Message, Reply, Request
from evosyn.codec import dump, load
from evosyn.errors import CorruptRun
from evosyn.journal import Events, Journal
from evosyn.ports import Teacher
from evosyn.ports.stages import Item
from evosyn.records import Json, content_id
from evosyn.running.progress import ReplyCounts
from evosyn.text.reasoning import AUTO, Answer
from evosyn.thinking import settled

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Item)
Key: TypeAlias = tuple[int, str, int, int]
"""(index, kind, slot, attempt): names one request of a run."""
TRANSIENT = frozenset({"timeout", "server", "transport", "rate"})
"""Failures that say nothing about the request; a resumed run asks again."""
UNPAID = TRANSIENT | {TOO_LONG}
"""Failures of calls that came to nothing: not kept, since the next start may have another window."""
NEVER_CAME = UNPAID | {"bad-request"}
"""Failures after which there is no answer of the model's: nothing is known of it."""
LOST = frozenset(f"reply-{failure}" for failure in TRANSIENT)
"""The same as reasons why nothing came of a request."""
DRAIN_S = 300.0
"""Seconds that a run whose budget is spent waits for the calls in flight."""


@dataclass(frozen=True)
class PaidReply:
    """Event: a reply has come.

    Attributes:
        request: digest of what was asked.
        messages, params: what was asked, of the first request of each kind only; the others are made from the same.
    """

    key: Key
    request: str
    reply: Reply
    messages: tuple[Message, ...] = ()
    params: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """Event: an item has ended, dropped by a stage or by none."""

    index: int
    stage: str | None
    item: Json


class Closed(NamedTuple):
    """Where the journal has a finished item, and the stage that dropped it, if one did."""

    position: int
    stage: str | None


class Ledger(Generic[T]):
    """Replies and items of a run. Making one reads the journal once; finished items stay on disk.

    Args:
        kind: record class of the items.
        counts: told each reply that stages are given; stages tell of slots.

    Attributes:
        done: the finished items by index.
    """

    def __init__(self, journal: Journal, kind: type[T], *, counts: ReplyCounts | None = None) -> None:
        self._events = Events[PaidReply | Finished](journal, {"reply": PaidReply, "item": Finished})
        self._kind, self.counts = kind, counts or ReplyCounts()
        self._synced = time.monotonic()
        self._replies: defaultdict[int, dict[Key, PaidReply]] = defaultdict(dict)
        self._places: defaultdict[int, list[int]] = defaultdict(list)
        self._calls: set[asyncio.Task[Reply]] = set()
        self.done: dict[int, Closed] = {}
        for position, event in self._events.positions():
            if isinstance(event, Finished):
                self._close(event.index, Closed(position, event.stage))
            else:
                self._replies[event.key[0]][event.key] = event
                self._places[event.key[0]].append(position)

    def begin(self, header: Mapping[str, Json]) -> None:
        """Begin the run, or see that it began so.

        Args:
            header: `kind` and all that decides what becomes of an item; JSON.

        Raises:
            UsageError: the journal is of another run; names what differs.
        """
        self._events.begin(header)

    async def ask(self, key: Key, request: Request, teacher: Teacher) -> Reply:
        """The reply in the journal, or the teacher's, which is then written before it is returned.

        Raises:
            BudgetSpent, TeacherUnavailable: from the teacher.
        """
        known = self._replies[key[0]].pop(key, None)
        if known is not None and known.request == _digest(request):
            reply = replace(known.reply, text=Answer(known.reply.text), cached=True)
        else:
            # A task of its own: who asks may be cancelled by another's error, the paid reply is still written.
            call = asyncio.create_task(self._pay(key, request, teacher))
            self._calls.add(call)
            call.add_done_callback(self._forget)
            reply = await asyncio.shield(call)
        self.counts.reply(reply)
        return reply

    async def settle(self) -> None:
        """Wait for the calls in flight, whoever asked; they are paid."""
        flying = [call for call in self._calls if not call.done()]
        if flying:
            log.warning("the budget is spent: waiting for %d calls in flight (%.0f s at most)", len(flying), DRAIN_S)
            await asyncio.wait(flying, timeout=DRAIN_S)

    def give_up(self) -> None:
        """Cancel the calls in flight."""
        for call in list(self._calls):
            call.cancel()

    def finish(self, item: T, stage: str | None) -> None:
        """Write an item that has ended, whatever became of it.

        Args:
            stage: the one that dropped it.
        """
        position = self._write(Finished(item.index, stage, dump(item)))
        self._close(item.index, Closed(position, stage))

    def item(self, index: int) -> T:
        """A finished item.

        Raises:
            CorruptRun: the journal has no such item.
        """
        event = self._events.at(self.done[index].position) if index in self.done else None
        if not isinstance(event, Finished):
            raise CorruptRun(f"{self._events.journal.path}: item {index} is not finished; repeat the command")
        return load(self._kind, event.item)

    def items(self, indices: Iterable[int]) -> Iterator[T]:
        """Finished items in the given order, one in memory at a time."""
        return (self.item(index) for index in indices)

    def replies(self, index: int) -> Iterator[PaidReply]:
        """The replies of one item, in the order in which they came."""
        found = (self._events.at(position) for position in self._places.get(index, ()))
        return (event for event in found if isinstance(event, PaidReply))

    def paid(self) -> Iterator[PaidReply]:
        """The replies of all items, in the order in which they came."""
        return (event for event in self._events if isinstance(event, PaidReply))

    async def _pay(self, key: Key, request: Request, teacher: Teacher) -> Reply:
        reply = settled(await teacher.complete(request), AUTO)
        if reply.failure in UNPAID:
            return reply
        paid = PaidReply(key, _digest(request), replace(reply, seconds=round(reply.seconds, 3)))
        first = key[2:] == (0, 0)
        shown = replace(paid, messages=request.messages, params=dict(request.params)) if first else paid
        self._places[key[0]].append(self._write(shown))
        return reply

    def _forget(self, call: asyncio.Task[Reply]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # seen: whoever asked may be gone

    def _close(self, index: int, ended: Closed) -> None:
        self._replies.pop(index, None)
        self.done[index] = ended

    def _write(self, event: PaidReply | Finished) -> int:
        # A killed process loses nothing that was written; the flush to the disk is for power cuts, so once a second.
        due = time.monotonic() - self._synced >= 1.0
        if due:
            self._synced = time.monotonic()
        return self._events.append(event, sync=due)


def _digest(request: Request) -> str:
    messages = [[message.role, message.content] for message in request.messages]
    return content_id("q_", [messages, dict(request.params), request.sample])
