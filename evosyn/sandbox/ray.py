"""A sandbox on every node of a Ray cluster, used as one: an actor a node around the sandbox of that machine.

Jobs are what travels to a node, and contexts, each once; verdicts, human testings that we compare ourselves,
references and keys stay with whoever asks (docs/scale.md). How jobs are spread is `_spread`; how Ray is joined,
`running.cluster`.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from pydantic import Field, field_validator

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import HarnessJob, ItemOutcome, Job, Protection
from evosyn.ports import Argument, PluginConfig, SandboxTools
from evosyn.records import Json
from evosyn.running.cluster import join, nodes_of, unlike
from evosyn.sandbox._contexts import SharedContexts
from evosyn.sandbox._ray_node import Hello, NodeSandbox
from evosyn.sandbox._spread import Answered, NodeFailed, Pulse, Spreader
from evosyn.sources import code_version

log = logging.getLogger(__name__)

START_S, STARTS = 120.0, 5
"""Seconds that the sandbox of a node may take to start, and how often in a row it may fail to."""
LOOK_S, BEAT_S = 5.0, 2.0
"""Between looks at which nodes there are, and between questions to one whether it is there."""
LEVELS = ("strong", "medium", "weak")


class RayConfig(PluginConfig):
    """`--runner ray[:HOST:PORT]`.

    Attributes:
        address: head of the cluster; empty for RAY_ADDRESS, or a cluster on this machine.
        backend, options: the sandbox of each node, and its options.
        batch_s: seconds that a batch should take.
        hung_s: seconds for which a node may be silent before it is killed.
        patience_s: seconds to wait where no node is left.
    """

    address: Annotated[str, Argument("HOST:PORT")] = ""
    backend: str = "local"
    options: dict[str, Json] = Field(default_factory=dict)
    batch_s: float = Field(default=0.5, gt=0)
    hung_s: float = Field(default=30.0, gt=0)
    patience_s: float = Field(default=60.0, ge=0)

    @field_validator("address")
    @classmethod
    def _is_address(cls, given: str) -> str:
        if given and not re.fullmatch(r"[^\s/]+:\d{1,5}", given):
            raise ValueError("write it as HOST:PORT, the address of the head of the cluster (no ray://)")
        return given

    @field_validator("backend")
    @classmethod
    def _is_of_one_machine(cls, given: str) -> str:
        if given.partition(":")[0] == "ray":
            raise ValueError("is the sandbox of one machine")
        return given


@dataclass(eq=False)
class _Actor:
    """An actor of ours; one that is begun anew is another.

    Attributes:
        hello: the reference to what it says of itself; `admitted`: it may be sent jobs.
        beat: the reference to an answer that it owes; `asked`: since when.
        idle_s: what it said last.
    """

    node_id: str
    cpus: int
    handle: Any
    hello: Any
    admitted: bool = False
    workers: int = 0
    beat: Any = None
    asked: float = field(default_factory=time.monotonic)
    idle_s: float = 0.0


class SentBatch(NamedTuple):
    """A batch on its way: the reference to its answer, its node, and the actor that has it."""

    answer: Any
    node: str
    actor: _Actor


class RayNodes:
    """Implements `_spread.Carrier` over the nodes of a cluster.

    Args:
        ray: the module, connected.
    """

    def __init__(self, ray: Any, config: RayConfig, tools: SandboxTools) -> None:
        self._ray, self._config, self._tools = ray, config, tools
        self._lock = threading.RLock()
        self._actors: dict[str, _Actor] = {}
        self._refused: set[str] = set()
        self._before: dict[str, str] = {}
        self._starts: Counter[str] = Counter()
        self._contexts = SharedContexts(keep=ray.put)
        self._looked = 0.0
        self.protection = self._open()

    def nodes(self) -> dict[str, int]:
        with self._lock:
            if time.monotonic() - self._looked > LOOK_S:
                self._look()
            for name, actor in list(self._actors.items()):
                if not actor.admitted and self._ready(actor.hello):
                    self._admit(name, actor)
            return {name: actor.workers for name, actor in self._actors.items() if actor.admitted}

    def send(self, node: str, jobs: Sequence[Job]) -> SentBatch:
        keys = {job.context for job in jobs if isinstance(job, HarnessJob) and job.context is not None}
        with self._lock:
            if node not in self._actors:
                raise NodeFailed("has no actor now")
            actor = self._actors[node]
            contexts = [(str(key), self._contexts.get(key)) for key in sorted(keys)]
        return SentBatch(actor.handle.run.remote(pickle.dumps(list(jobs), 5), contexts), node, actor)

    def wait(self, tickets: Collection[SentBatch], seconds: float) -> Sequence[SentBatch]:
        by_answer = {ticket.answer: ticket for ticket in tickets}
        done, left = self._ray.wait(list(by_answer), num_returns=1, timeout=seconds, fetch_local=False)
        if done and left:
            done += self._ray.wait(left, num_returns=len(left), timeout=0, fetch_local=False)[0]
        return [by_answer[answer] for answer in done]

    def answer(self, ticket: SentBatch) -> Answered:
        try:
            raw = self._ray.get(ticket.answer)
        except self._ray.exceptions.RayError as error:
            raise self._failure(ticket, error) from error
        how, what = pickle.loads(raw)
        if how == "failed":
            raise NodeFailed(what, by_itself=True)
        if how == "raised":
            raise ValueError(what)
        return Answered(what, len(raw))

    def pulse(self, node: str) -> Pulse:
        with self._lock:
            actor = self._actors.get(node)
            if actor is None:
                return Pulse()
            now = time.monotonic()
            if actor.beat is not None and self._ready(actor.beat):
                with contextlib.suppress(self._ray.exceptions.RayError):  # its batches say so themselves
                    actor.idle_s = self._ray.get(actor.beat)
                actor.beat = None
            if actor.beat is None and now - actor.asked > BEAT_S:
                actor.beat, actor.asked = actor.handle.pulse.options(concurrency_group="pulse").remote(), now
            return Pulse(now - actor.asked if actor.beat is not None else 0.0, actor.idle_s)

    def renew(self, ticket: SentBatch) -> None:
        with self._lock:
            if self._actors.get(ticket.node) is ticket.actor:
                self._end(ticket.node)
                self._looked = 0.0

    def share(self, value: Json) -> str:
        return self._contexts.add(value)

    def close(self) -> None:
        with self._lock:
            for name in list(self._actors):
                self._end(name)

    def _open(self) -> Protection:
        """Start an actor on every node, and agree on what all of them must hold.

        Raises:
            SandboxUnavailable: none of them can be used.
        """
        self._look()
        if not self._actors:
            raise SandboxUnavailable("the Ray cluster has no node with a CPU: start one with `ray start --address ...`")
        self._ray.wait([one.hello for one in self._actors.values()], num_returns=len(self._actors), timeout=START_S)
        ready = {name: actor for name, actor in self._actors.items() if self._ready(actor.hello)}
        said = [hello for actor in ready.values() if isinstance(hello := self._said(actor), Hello)]
        held = [one.protection for one in said if one.protection is not None and one.version == code_version()]
        best = min(held, key=lambda one: (LEVELS.index(one.level), -held.count(one), one.version), default=None)
        self.protection = best or Protection("", "weak", "")
        reasons = [reason for name, actor in ready.items() if (reason := self._admit(name, actor))]
        if best is None:
            raise SandboxUnavailable(
                f"no node of the Ray cluster can be used: {'; '.join(reasons) or f'none answered in {START_S:.0f} s'}"
            )
        return best

    def _look(self) -> None:
        """Actors for nodes that came, none for those that went."""
        there = nodes_of(self._ray)
        for name in self._actors.keys() - there.keys():
            del self._actors[name]
        for name in sorted(there.keys() - self._actors.keys() - self._refused):
            self._actors[name] = self._begun(*there[name], self._before.get(name, ""))
        self._looked = time.monotonic()

    def _begun(self, node_id: str, cpus: int, before: str) -> _Actor:
        """Start the actor of a node. It reserves no CPU: programs of the sandbox are bounded by its own workers."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        workers = self._tools.workers or cpus
        kind = self._ray.remote(
            num_cpus=0,
            max_restarts=0,  # we begin it anew ourselves, so that its start can be seen
            max_task_retries=0,
            max_concurrency=2 * workers + 8,
            concurrency_groups={"pulse": 1},
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
        )(NodeSandbox)
        handle = kind.remote(self._config.backend, self._config.options, self._tools, cpus, before)
        return _Actor(node_id, cpus, handle, handle.hello.remote())

    def _said(self, actor: _Actor) -> Hello | str:
        """What an actor says of itself, or why it says nothing."""
        try:
            found: Hello = self._ray.get(actor.hello)
        except self._ray.exceptions.RayError as error:
            return _short(error)
        return found

    def _admit(self, name: str, actor: _Actor) -> str:
        """Let a node take part, or refuse it by name; the reason. One that did not start is begun again later."""
        hello = self._said(actor)
        if isinstance(hello, str):
            self._starts[name] += 1
            reason = hello if self._starts[name] >= STARTS else ""
        else:
            reason = hello.trouble or unlike(hello.version, hello.protection, self.protection)
            if not reason:
                actor.admitted, actor.workers, self._before[name] = True, hello.workers, hello.process
                del self._starts[name]
                return ""
        if reason:
            log.warning("node %s is not used: %s", name, reason)
            self._refused.add(name)
        self._end(name)
        return reason

    def _end(self, name: str) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError, RuntimeError, ValueError):  # it may be gone
            self._ray.kill(self._actors.pop(name).handle, no_restart=True)

    def _failure(self, ticket: SentBatch, error: Exception) -> NodeFailed:
        if not any(node["Alive"] for node in self._ray.nodes() if node["NodeID"] == ticket.actor.node_id):
            with self._lock:
                self._actors.pop(ticket.node, None)
            return NodeFailed("is gone", gone=True)
        if isinstance(error, self._ray.exceptions.ActorDiedError):
            self.renew(ticket)  # an actor that is merely out of reach is found by its pulse
        return NodeFailed(_short(error))

    def _ready(self, reference: Any) -> bool:
        return bool(self._ray.wait([reference], timeout=0, fetch_local=False)[0])


class RaySandbox:
    """Implements `ports.Sandbox` over the nodes of a cluster. Made by `open_sandbox`."""

    def __init__(self, nodes: RayNodes, config: RayConfig) -> None:
        self._nodes = nodes
        self._spreader = Spreader(nodes, target_s=config.batch_s, hung_s=config.hung_s, patience_s=config.patience_s)

    @property
    def protection(self) -> Protection:
        """What every node holds."""
        return self._nodes.protection

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        """See `ports.Sandbox.run`; `on_done` hears of a job when its batch has come back."""
        return self._spreader.run(jobs, on_done)

    def share(self, value: Json) -> str:
        return self._nodes.share(value)

    def close(self) -> None:
        self._nodes.close()

    def __enter__(self) -> RaySandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def create(tools: SandboxTools, config: RayConfig) -> RaySandbox:
    """A sandbox on each node; `tools.workers` is of one node, by default one for each CPU that Ray counts there.

    Raises:
        MissingExtra: Ray is not installed.
        UsageError: nothing says whether the cluster has a token.
        UnavailableError: no such cluster, or none of its nodes can be used.
    """
    return RaySandbox(RayNodes(join(config.address), config, tools), config)


def _short(error: Exception) -> str:
    cause = getattr(error, "cause", None) or error
    first = next(iter(str(cause).strip().splitlines()), "")
    return f"{type(error).__name__}: {first}"[:200]
