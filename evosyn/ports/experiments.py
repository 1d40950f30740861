"""The seam of experiments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from evosyn.records import Json


class Comparison(NamedTuple):
    """What an experiment found: for programs, and for people."""

    report: Mapping[str, Json]
    text: str


class Experiment(Protocol):
    """A comparison of arms over seeds.

    The fields of its config are the options of `evosyn experiment NAME`, its docstring is the help. `create` raises a
    UsageError for what cannot be compared, before anything is made.
    """

    def run(self, out: Path) -> Comparison:
        """Do what is not yet done under `out`, and tell everything; the same call goes on after a kill."""
        ...
