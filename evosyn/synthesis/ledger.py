"""The journal of one synthesis: every reply as it arrives, every instance as it ends; the only way the stages persist.

A reply that stands in the journal is never asked for again; an instance that has ended is never touched again. So the
same command after a kill at any instant does only what was not done, and ends in the same dataset. Replies are kept
with the digest of their request: a reply to another prompt (other config, other version) is not taken. DESIGN.md
section 4.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, replace
from typing import TypeAlias

from evosyn.chat import Reply, Request
from evosyn.errors import CorruptRun
from evosyn.records import Json, content_id
from evosyn.rundir import Journal
from evosyn.synthesis.instance import Instance, instance_from_json, instance_to_json

Key: TypeAlias = tuple[int, str, int, int]
"""(index, kind, slot, attempt): names one request of a run."""
TRANSIENT = frozenset({"timeout", "server", "transport", "rate"})
"""Failures that say nothing about the request: not kept, so that a resumed run asks again."""


class Ledger:
    """Replies and instances of a run. Making one reads the journal once; finished instances stay on disk.

    Attributes:
        done: for each finished index the position of its event.
        reused: replies that were taken from the journal instead of being asked for.
    """

    def __init__(self, journal: Journal, clock: Callable[[], float] = time.monotonic) -> None:
        self._journal = journal
        self._clock = clock
        self._synced = clock()
        self._replies: defaultdict[int, dict[Key, Json]] = defaultdict(dict)
        self.done: dict[int, int] = {}
        self.reused = 0
        for position, event in journal.positions():
            if event["event"] == "instance":
                index = event["instance"]["index"]
                self.done[index] = position
                self._replies.pop(index, None)
            elif event["event"] == "reply":
                self._replies[event["key"][0]][_key(event["key"])] = event

    async def ask(self, key: Key, request: Request, complete: Callable[[Request], Awaitable[Reply]]) -> Reply:
        """The reply in the journal, or the one that `complete` gives, which is then written before it is returned."""
        digest = _digest(request)
        known = self._replies[key[0]].pop(key, None)
        if known is not None and known["request"] == digest:
            self.reused += 1
            return replace(Reply(**known["reply"]), cached=True)
        reply = await complete(request)
        if reply.failure in TRANSIENT:
            return reply
        event: dict[str, Json] = {
            "event": "reply",
            "key": list(key),
            "request": digest,
            "reply": asdict(replace(reply, seconds=round(reply.seconds, 3))),
        }
        if key[2:] == (0, 0):
            event["messages"] = [asdict(message) for message in request.messages]
            event["params"] = dict(request.params)
        self._write(event)
        return reply

    def finish(self, instance: Instance) -> None:
        """Write an instance that has ended, whatever became of it."""
        self._replies.pop(instance.index, None)
        self.done[instance.index] = self._write({"event": "instance", "instance": instance_to_json(instance)})

    def instance(self, index: int) -> Instance:
        """A finished instance.

        Raises:
            CorruptRun: the journal has no such instance.
        """
        if index not in self.done:
            raise CorruptRun(f"{self._journal.path}: the instance {index} is not finished; repeat the command")
        return instance_from_json(self._journal.at(self.done[index])["instance"])

    def instances(self, count: int) -> Iterator[Instance]:
        """The finished instances 0 to `count - 1`, in order, one in memory at a time."""
        return (self.instance(index) for index in range(count))

    def replies(self, index: int) -> Iterator[Json]:
        """The reply events of one instance, in the order in which they came; reads the whole journal."""
        return (e for e in self._journal.events() if e["event"] == "reply" and e["key"][0] == index)

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
