"""The local sandbox: a pool of warm jails, one per core.

`run` may be called from several threads; each gets its own results. DESIGN.md section 5, "Sandbox"; docs/sandbox.md
says what it promises.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import ItemOutcome, Job, Protection
from evosyn.ports import PluginConfig, SandboxTools
from evosyn.records import Json
from evosyn.sandbox import _jail, _memory
from evosyn.sandbox._memory import Memory
from evosyn.sandbox._pool import WorkerPool
from evosyn.sandbox._tasks import Batch, make_task
from evosyn.sandbox._worker import Launch
from evosyn.sandbox.packages import find_packages


class LocalSandbox:
    """`ports.Sandbox` over jails on this machine. Made by `open_sandbox`."""

    def __init__(
        self,
        launch: Launch,
        protection: Protection,
        workers: int,
        memory: Memory | None = None,
        guards: tuple[str, ...] = (),
    ) -> None:
        self._protection = protection
        self._pool = WorkerPool(launch, workers, memory or Memory(workers), guards)
        self._finalizer = weakref.finalize(self, WorkerPool.close, self._pool)

    @property
    def protection(self) -> Protection:
        return self._protection

    @property
    def guards(self) -> tuple[str, ...]:
        """What its workers say that they could set up; empty before one runs."""
        return self._pool.guards

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        """See `ports.Sandbox.run`."""
        batch = Batch()
        results: list[tuple[ItemOutcome, ...]] = [()] * len(jobs)
        try:
            left = self._pool.submit([make_task(batch, index, job) for index, job in enumerate(jobs)])
            for _ in range(left):
                task = batch.done.get()
                if isinstance(task, BaseException):
                    raise task
                results[task.index] = task.outcomes()
                if on_done is not None:
                    on_done(task.index, results[task.index])
        except BaseException:
            self._pool.cancel(batch)
            raise
        finally:
            self._pool.open.pop(id(batch), None)
        return results

    def share(self, value: Json) -> str:
        """See `ports.Sandbox.share`."""
        return self._pool.contexts.add(value)

    def close(self) -> None:
        self._finalizer()

    def __enter__(self) -> LocalSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def create(tools: SandboxTools, config: PluginConfig) -> LocalSandbox:  # noqa: ARG001
    """The best local sandbox that works here; see `ports.SandboxTools`.

    Raises:
        SandboxUnavailable: none starts, or all protect too little and `allow_weak` is not set.
        UsageError: a package cannot be shown.
    """
    from evosyn.sandbox import _probe

    if sys.platform != "linux":
        raise SandboxUnavailable(
            f"the local sandbox needs Linux, this is {sys.platform}: use --sandbox docker (Docker Desktop, Colima)"
        )
    count, packages = _memory.chosen_workers(tools.workers), find_packages(tools.packages, tools.packages_from)
    reasons, advice = [], "see `evosyn doctor`, or use --sandbox docker"
    kinds: tuple[_jail.JailKind, ...] = ("bwrap", "bare") if _jail.bwrap_path() else ("bare",)
    for kind in kinds:
        try:
            protection = _probe.protection_of(kind)
        except SandboxUnavailable as error:
            reasons.append(f"{kind}: {error}")
            continue
        if protection.level != "weak" or (tools.allow_weak and kind == kinds[-1]):
            memory = _memory.open_memory(count)
            spec, guards = _jail.JailSpec(kind, packages, tools.hash_seed), _probe.guards_of("local", kind)
            held = replace(protection, packages=packages.labels(), programs=packages.digest(tools.hash_seed))
            sandbox = LocalSandbox(_jail.launcher(spec, memory.enter), held, count, memory, guards)
            return _probe.with_packages(sandbox, _jail.shown(spec))
        reasons.append(f"{kind}: does not hold: {', '.join(protection.lacks)}")
        advice = "install bubblewrap, use --sandbox docker, or accept the risk with --allow-weak-sandbox"
    raise SandboxUnavailable(f"no local sandbox can be used on this machine ({'; '.join(reasons)}): {advice}")
