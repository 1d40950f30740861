"""Spreading jobs over nodes: batches sized by seconds, deadlines of ours, and what is lost done elsewhere.

It knows no cluster, only a `Carrier`. A job that is sent twice (a node died, or is much slower than one that has
nothing to do) counts once: the first answer does. What nodes fail again and again ends as INFRASTRUCTURE, which the
judge makes UNKNOWN, never FAIL. docs/scale.md.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import ItemOutcome, Job
from evosyn.sandbox._inside import wire
from evosyn.sandbox._inside.alarm import WAITING
from evosyn.sandbox._tasks import Batch, make_task

log = logging.getLogger(__name__)

Outcomes: TypeAlias = tuple[ItemOutcome, ...]
Ticket = TypeVar("Ticket", bound=Hashable)
"""Stands for a batch on its way."""
TICK_S = 1.0
"""Between looks at the pulses of nodes, while nothing arrives."""
ATTEMPTS = 3
"""Nodes that may be lost under a job that was sent alone."""
FRESH_FAILURES = 5
"""In a row, of one node: it is not asked again."""
LONGEST_PAUSE_S = 30.0
BATCH_BYTES = 16 << 20
"""Of answers, about, in one batch."""
SLOWER = 2.0
"""How much slower a node is than one without work, that its last batch is done there too."""


class NodeFailed(Exception):
    """A node did not do what it was sent.

    Attributes:
        gone: it will not come back.
        by_itself: whatever it was sent would have failed (its disk is full, its sandbox does not start).
    """

    def __init__(self, reason: str, *, gone: bool = False, by_itself: bool = False) -> None:
        super().__init__(reason)
        self.gone, self.by_itself = gone, by_itself


class Pulse(NamedTuple):
    """Seconds for which a node has owed an answer to "are you there", and for which, by its own word, no job has ended
    while it had some. Both 0.0 where nothing is owed."""

    unanswered_s: float = 0.0
    idle_s: float = 0.0


class Answered(NamedTuple):
    """The outcomes of a batch, one tuple for each job, and the bytes in which they came."""

    outcomes: Sequence[Outcomes]
    size: int


class Carrier(Protocol[Ticket]):
    """How batches reach nodes; thread-safe. Every method but `wait` returns at once."""

    def nodes(self) -> dict[str, int]:
        """Programs that run at the same time, by the name of each node that works now; those that came lately too."""
        ...

    def send(self, node: str, jobs: Sequence[Job]) -> Ticket:
        """
        Raises:
            NodeFailed: it cannot be sent anything.
        """
        ...

    def wait(self, tickets: Collection[Ticket], seconds: float) -> Sequence[Ticket]:
        """Those of the batches that have ended, as soon as one has; empty after so many seconds."""
        ...

    def answer(self, ticket: Ticket) -> Answered:
        """What became of a batch that has ended.

        Raises:
            NodeFailed: it was not done.
            Exception: what the sandbox of the node raised for the sake of one of the jobs.
        """
        ...

    def pulse(self, node: str) -> Pulse: ...

    def renew(self, ticket: Ticket) -> None:
        """Kill what has this batch, and begin anew on its node; nothing where somebody has done so."""
        ...


@dataclass
class _Node:
    """What is known of a node, over all runs.

    Attributes:
        seconds, size: of one job, about: from one answer to the next, and of its outcomes in bytes; None while unknown.
        failures: in a row; `resting`: until then it gets nothing.
        ended: when its last batch ended.
    """

    name: str
    workers: int
    seconds: float | None = None
    size: float = 0.0
    failures: int = 0
    resting: float = 0.0
    ended: float = 0.0

    def batch(self, target_s: float) -> int:
        """Jobs that it does in so many seconds, at least one."""
        if self.seconds is None:
            return self.workers
        most = BATCH_BYTES / self.size if self.size else target_s / self.seconds
        return max(1, int(min(target_s / self.seconds, most)))

    def did(self, jobs: int, size: int, sent: float, now: float) -> None:
        each = max(now - max(self.ended, sent), 1e-6) / jobs
        self.seconds = each if self.seconds is None else (self.seconds + each) / 2
        self.size = max(size / jobs, self.size / 2)
        self.ended, self.failures = now, 0

    def failed(self, now: float) -> None:
        """All batches that it had fail together, which counts once."""
        if now >= self.resting:
            self.failures += 1
            self.resting = now + min(2.0**self.failures, LONGEST_PAUSE_S)


class Spreader(Generic[Ticket]):
    """Runs jobs on nodes as one sandbox would. Thread-safe.

    Args:
        target_s: seconds that a batch should take.
        hung_s: seconds for which a node may be silent; then it is killed and its batches are sent elsewhere.
        patience_s: seconds to wait for a node where none is left.
    """

    def __init__(
        self, carrier: Carrier[Ticket], *, target_s: float = 0.5, hung_s: float = 30.0, patience_s: float = 60.0
    ) -> None:
        self.carrier, self.target_s, self.hung_s, self.patience_s = carrier, target_s, hung_s, patience_s
        self.lock = threading.Lock()
        self._nodes: dict[str, _Node] = {}
        self._refused: set[str] = set()

    def run(self, jobs: Sequence[Job], on_done: Callable[[int, Outcomes], None] | None = None) -> list[Outcomes]:
        """See `ports.Sandbox.run`.

        Raises:
            SandboxUnavailable: no node is left.
        """
        return _Run(self, jobs, on_done).results()

    def nodes(self) -> list[_Node]:
        """Those that may be sent something, now or after a rest."""
        there = self.carrier.nodes()
        with self.lock:
            for name, workers in there.items():
                if name not in self._refused:
                    self._nodes.setdefault(name, _Node(name, workers))
            return [node for name, node in self._nodes.items() if name in there]

    def failed(self, name: str, failure: NodeFailed) -> None:
        """A node has failed; it rests, or is not asked any more."""
        with self.lock:
            node = self._nodes.get(name)
            if node is None:
                return
            node.failed(time.monotonic())
            done = failure.gone or node.failures >= FRESH_FAILURES
            if done:
                del self._nodes[name]
                self._refused.add(name)
        log.warning("node %s: %s; %s", name, failure, "it gets no more work" if done else "its work is sent elsewhere")


@dataclass(frozen=True)
class _Sent:
    """A batch on its way: where, which jobs, since when."""

    node: _Node
    places: tuple[int, ...]
    at: float


@dataclass
class _Run(Generic[Ticket]):
    """One call of `run`."""

    owner: Spreader[Ticket]
    jobs: Sequence[Job]
    on_done: Callable[[int, Outcomes], None] | None
    found: dict[int, Outcomes] = field(default_factory=dict)
    waiting: deque[tuple[int, ...]] = field(default_factory=deque)
    flying: dict[Ticket, _Sent] = field(default_factory=dict)
    lost: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    doubled: set[Ticket] = field(default_factory=set)

    def results(self) -> list[Outcomes]:
        if self.jobs:
            self.waiting.append(tuple(range(len(self.jobs))))
        since: float | None = None
        while len(self.found) < len(self.jobs):
            nodes = self.owner.nodes()
            self._fill(nodes)
            if self.flying:
                since = None
                self._receive()
                continue
            since = since or time.monotonic()
            if not nodes and time.monotonic() - since > self.owner.patience_s:
                raise SandboxUnavailable(
                    f"no node of the cluster works any more, after {len(self.found)} of {len(self.jobs)} jobs; start "
                    "nodes, then repeat the command: it goes on where it stopped"
                )
            time.sleep(0.05 if nodes else TICK_S)
        return [self.found[place] for place in range(len(self.jobs))]

    def _receive(self) -> None:
        for ticket in self.owner.carrier.wait(list(self.flying), TICK_S):
            sent = self.flying.pop(ticket)
            try:
                answered = self.owner.carrier.answer(ticket)
            except NodeFailed as failure:
                self._again(sent, failure)
                continue
            with self.owner.lock:
                sent.node.did(len(sent.places), answered.size, sent.at, time.monotonic())
            for place, outcomes in zip(sent.places, answered.outcomes, strict=True):
                self._deliver(place, outcomes)
        self._bury()

    def _deliver(self, place: int, outcomes: Outcomes) -> None:
        if place not in self.found:
            self.found[place] = outcomes
            if self.on_done is not None:
                self.on_done(place, outcomes)

    def _fill(self, nodes: Sequence[_Node]) -> None:
        """Send each node a batch after the other, as long as it has room."""
        now = time.monotonic()
        ready = [node for node in nodes if node.resting <= now]
        while self.waiting:
            free = [node for node in ready if node.resting <= now and self._room(node)]
            if not free:
                return
            for node in free:
                if self.waiting:
                    self._send(node, self._take(node, len(ready)))
        for node in ready:
            self._double(node)

    def _room(self, node: _Node) -> bool:
        """Two batches at a time, or twice as many jobs as it runs at once: no worker waits for the next batch."""
        most = 2 * max(node.batch(self.owner.target_s), node.workers)
        return sum(len(sent.places) for sent in self.flying.values() if sent.node is node) < most

    def _take(self, node: _Node, nodes: int) -> tuple[int, ...]:
        """The next batch; smaller towards the end, so that no node has the last one alone."""
        left = sum(map(len, self.waiting))
        size = max(1, min(node.batch(self.owner.target_s), -(-left // (2 * nodes))))
        first = self.waiting.popleft()
        if len(first) > size:
            self.waiting.appendleft(first[size:])
        return first[:size]

    def _send(self, node: _Node, places: tuple[int, ...]) -> Ticket | None:
        sent = _Sent(node, places, time.monotonic())
        try:
            ticket = self.owner.carrier.send(node.name, [self.jobs[place] for place in places])
        except NodeFailed as failure:
            failure.by_itself = True
            self._again(sent, failure)
            return None
        self.flying[ticket] = sent
        return ticket

    def _double(self, node: _Node) -> None:
        """Give a node that has nothing to do what a much slower one has had for longest."""
        speed = node.seconds
        if speed is None or any(sent.node is node for sent in self.flying.values()):
            return
        late = time.monotonic() - self.owner.target_s
        for ticket, sent in self.flying.items():
            slow = sent.node.seconds is None or sent.node.seconds > SLOWER * speed
            if ticket not in self.doubled and sent.at < late and slow:
                left = tuple(place for place in sent.places if place not in self.found)
                copy = self._send(node, left) if left else None
                self.doubled |= {ticket} if copy is None else {ticket, copy}
                return

    def _again(self, sent: _Sent, failure: NodeFailed) -> None:
        """What a node has lost waits again, in halves: one job that ends nodes must not condemn its neighbours."""
        self.owner.failed(sent.node.name, failure)
        left = tuple(place for place in sent.places if place not in self.found)
        if not failure.by_itself:
            for place in left:
                self.lost[place] += 1
        if len(left) == 1 and self.lost[left[0]] >= ATTEMPTS:
            self._deliver(left[0], failed_outcomes(self.jobs[left[0]], f"{ATTEMPTS} nodes were lost: {failure}"))
            return
        half = len(left) // 2
        self.waiting.extendleft(part for part in (left[half:], left[:half]) if part)

    def _bury(self) -> None:
        """Kill nodes that hang, and send what they had elsewhere."""
        held: defaultdict[str, list[Ticket]] = defaultdict(list)
        for ticket, sent in self.flying.items():
            held[sent.node.name].append(ticket)
        for name, tickets in held.items():
            pulse = self.owner.carrier.pulse(name)
            jobs = (self.jobs[place] for ticket in tickets for place in self.flying[ticket].places)
            if pulse.unanswered_s > self.owner.hung_s:
                self._kill(tickets, f"has not answered for {pulse.unanswered_s:.0f} s")
            elif pulse.idle_s > self.owner.hung_s and pulse.idle_s > self.owner.hung_s + longest_s(jobs):
                self._kill(tickets, f"has ended no job for {pulse.idle_s:.0f} s")

    def _kill(self, tickets: Iterable[Ticket], reason: str) -> None:
        failure = NodeFailed(f"{reason} and was killed")
        for ticket in tickets:
            self.owner.carrier.renew(ticket)
            self._again(self.flying.pop(ticket), failure)


def longest_s(jobs: Iterable[Job]) -> float:
    """Seconds in which one of these jobs surely ends where it runs, by the limits of the local sandbox."""
    limits = [job.limits for job in jobs]
    return max((WAITING * (one.budget_s + one.cpu_s) + 4 * one.wall_s for one in limits), default=0.0)


def failed_outcomes(job: Job, reason: str) -> Outcomes:
    """Every item of a job that our infrastructure failed."""
    task = make_task(Batch(), 0, job)
    task.fill(wire.INFRA, reason.encode("utf-8", "replace"))
    return task.outcomes()
