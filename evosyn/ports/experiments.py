"""The seam of experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from evosyn.ports.judging import Sandbox
from evosyn.records import Json


class OpenSandbox(Protocol):
    """Opens the sandbox that the user chose, a new one at each call; travels between processes, as a sandbox cannot."""

    def __call__(self, *, workers: int | None, numpy: bool = False) -> Sandbox: ...


class ExperimentTools(NamedTuple):
    """What an experiment is lent: where programs run, and where it tells in words how far it is."""

    open_sandbox: OpenSandbox
    say: Callable[[str], None]


class Comparison(NamedTuple):
    """What an experiment found: for programs, and for people."""

    report: Mapping[str, Json]
    text: str


class Experiment(Protocol):
    """A comparison of arms over seeds. The registry's kind `experiments` makes it: `create(tools, config)`.

    `config` is a pydantic model; its fields are the options of `evosyn experiment NAME`, its docstring is the help.
    `create` raises a UsageError for what cannot be compared, before anything is made.
    """

    def run(self, out: Path) -> Comparison:
        """Do what is not yet done under `out`, and tell everything; the same call goes on after a kill."""
        ...
