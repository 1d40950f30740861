"""The ledger of a run: every reply as it arrives, every item as it ends; the only way in which stages persist.

A reply that stands in the journal is never asked for again; an item that has ended is never touched again. So the same
command after a kill at any instant does only what was not done, and ends in the same state. Replies are kept with the
digest of their request: a reply to another prompt (other config, other version) is not taken. DESIGN.md section 7.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from evosyn.chat import Reply, Request
from evosyn.errors import CorruptRun
from evosyn.ports import Teacher
from evosyn.ports.stages import Item
from evosyn.records import Json, content_id
from evosyn.rundir import Journal

T = TypeVar("T", bound=Item)
Key: TypeAlias = tuple[int, str, int, int]
"""(index, kind, slot, attempt): names one request of a run."""
TRANSIENT = frozenset({"timeout", "server", "transport", "rate"})
"""Failures that say nothing about the request: not kept, so that a resumed run asks again."""
DRAIN_S = 300.0
"""Seconds that a run whose budget is spent waits for the calls in flight."""


class Form(NamedTuple, Generic[T]):
    """How items are written: `read` is the reverse of `write`."""

    write: Callable[[T], Json]
    read: Callable[[Json], T]


class Ended(NamedTuple):
    """Where the journal has a finished item, and the stage that dropped it, if one did."""

    position: int
    stage: str | None


class Ledger(Generic[T]):
    """Replies and items of a run. Making one reads the journal once; finished items stay on disk.

    Args:
        form: of the items.
        on_reply: told each reply that stages are given.

    Attributes:
        done: the finished items by index.
        reused: replies that were taken from the journal instead of being asked for.
    """

    def __init__(
        self,
        journal: Journal,
        form: Form[T],
        *,
        on_reply: Callable[[Reply], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal, self._form, self._on_reply, self._clock = journal, form, on_reply, clock
        self._synced = clock()
        self._replies: defaultdict[int, dict[Key, Json]] = defaultdict(dict)
        self._calls: set[asyncio.Task[Reply]] = set()
        self.done: dict[int, Ended] = {}
        self.reused = 0
        for position, event in journal.positions():
            if event["event"] == "item":
                self._close(event["index"], Ended(position, event["stage"]))
            elif event["event"] == "reply":
                self._replies[event["key"][0]][_key(event["key"])] = event

    async def ask(self, key: Key, request: Request, teacher: Teacher) -> Reply:
        """The reply in the journal, or the teacher's, which is then written before it is returned.

        Raises:
            BudgetSpent, TeacherUnavailable: from the teacher.
        """
        known = self._replies[key[0]].pop(key, None)
        if known is not None and known["request"] == _digest(request):
            self.reused += 1
            reply = replace(Reply(**known["reply"]), cached=True)
        else:
            # A task of its own: who asks may be cancelled by another's error, the paid reply is still written.
            call = asyncio.create_task(self._pay(key, request, teacher))
            self._calls.add(call)
            call.add_done_callback(self._forget)
            reply = await asyncio.shield(call)
        self._on_reply(reply)
        return reply

    async def settle(self) -> None:
        """Wait for the calls in flight, whoever asked."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=DRAIN_S)

    def give_up(self) -> None:
        """Cancel the calls in flight."""
        for call in list(self._calls):
            call.cancel()

    def finish(self, item: T, stage: str | None) -> None:
        """Write an item that has ended, whatever became of it.

        Args:
            stage: the one that dropped it.
        """
        position = self._write({"event": "item", "index": item.index, "stage": stage, "item": self._form.write(item)})
        self._close(item.index, Ended(position, stage))

    def item(self, index: int) -> T:
        """A finished item.

        Raises:
            CorruptRun: the journal has no such item.
        """
        if index not in self.done:
            raise CorruptRun(f"{self._journal.path}: item {index} is not finished; repeat the command")
        return self._form.read(self._journal.at(self.done[index].position)["item"])

    def items(self, indices: Iterable[int]) -> Iterator[T]:
        """Finished items in the given order, one in memory at a time."""
        return (self.item(index) for index in indices)

    def replies(self, index: int) -> Iterator[Json]:
        """The reply events of one item, in the order in which they came; reads the whole journal."""
        return (e for e in self._journal.events() if e["event"] == "reply" and e["key"][0] == index)

    async def _pay(self, key: Key, request: Request, teacher: Teacher) -> Reply:
        reply = await teacher.complete(request)
        if reply.failure in TRANSIENT:
            return reply
        event: dict[str, Json] = {
            "event": "reply",
            "key": list(key),
            "request": _digest(request),
            "reply": asdict(replace(reply, seconds=round(reply.seconds, 3))),
        }
        if key[2:] == (0, 0):
            event["messages"] = [asdict(message) for message in request.messages]
            event["params"] = dict(request.params)
        self._write(event)
        return reply

    def _forget(self, call: asyncio.Task[Reply]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # seen: whoever asked may be gone

    def _close(self, index: int, ended: Ended) -> None:
        self._replies.pop(index, None)
        self.done[index] = ended

    def _write(self, event: Json) -> int:
        # A killed process loses nothing that was written; the flush to the disk is for power cuts, so once a second.
        due = self._clock() - self._synced >= 1.0
        if due:
            self._synced = self._clock()
        return self._journal.append(event, sync=due)


def _key(value: Json) -> Key:
    index, kind, slot, attempt = value
    return index, kind, slot, attempt


def _digest(request: Request) -> str:
    messages = [[message.role, message.content] for message in request.messages]
    return content_id("q_", [messages, dict(request.params), request.sample])
