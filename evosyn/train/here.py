"""What the functions for other trainers work with in their process: a workbench, whose scorer and worlds are opened at
the first use and closed when the process ends. A fork has its own."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from evosyn.tasks import Task
from evosyn.text.reasoning import form_named
from evosyn.train.client import RewardClient
from evosyn.train.scoring import Scorer, domains_of, reward_judge
from evosyn.workbench import SandboxConfig, Workbench, WorkbenchConfig
from evosyn.worlds.shell.kind import ShellWorlds
from evosyn.worlds.tools.kind import ToolWorlds

_lock = threading.Lock()


@dataclass
class _Opened:
    """Of one process."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    clients: dict[tuple[str, str | None], RewardClient] = field(default_factory=dict)

    @cached_property
    def workbench(self) -> Workbench:
        weak = os.environ.get("EVOSYN_ALLOW_WEAK_SANDBOX") == "1"
        opened = Workbench(WorkbenchConfig(sandbox=SandboxConfig(allow_weak=weak)))
        atexit.register(opened.close)
        return opened

    @cached_property
    def scorer(self) -> Scorer:
        return Scorer(reward_judge(self.workbench.sandbox, {}))


_opened: dict[int, _Opened] = {}
"""By process: a fork must not use its parent's."""


def reasoning_named(named: str | None = None) -> str | None:
    """The form of all completions: what is named, else EVOSYN_REASONING; None where each task says its own.

    Raises:
        UsageError: there is no such form.
    """
    form = named or os.environ.get("EVOSYN_REASONING")
    return form and form_named(form, "reasoning" if named else "EVOSYN_REASONING")


def scorer_of(tasks: Iterable[Task]) -> Scorer:
    """The scorer of this process, which serves the domains of these tasks.

    Raises:
        SandboxUnavailable: the sandbox does not work here.
    """
    mine = _mine()
    with mine.lock:
        judge = mine.scorer.judge
        judge.serve(domains_of([task for task in tasks if task.problem.domain not in judge.domains]))
    return mine.scorer


def client_of(url: str, token_env: str | None) -> RewardClient:
    """The client of this process for a service or several, which knows those that are gone."""
    mine = _mine()
    with mine.lock:
        return mine.clients.setdefault((url, token_env), RewardClient(url, token_env=token_env))


def shells() -> ShellWorlds:
    """The shell worlds of this process.

    Raises:
        SandboxUnavailable: rooms do not work here.
    """
    mine = _mine()
    with mine.lock:
        return mine.workbench.shells


def tool_worlds() -> ToolWorlds:
    """The tool worlds of this process.

    Raises:
        SandboxUnavailable: the sandbox does not work here.
    """
    mine = _mine()
    with mine.lock:
        return ToolWorlds(mine.workbench.sandbox)


def _mine() -> _Opened:
    with _lock:
        return _opened.setdefault(os.getpid(), _Opened())


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
