"""Who watches a search for strategies: told of the preparation, of every proposal and of the end."""

from __future__ import annotations

from typing import Protocol

from evosyn.evolve.events import Fate, Step
from evosyn.evolve.islands import Archipelago


class SearchProgress(Protocol):
    """Told what happens; must be quick and never fail."""

    def step(self, what: str, done: int, total: int) -> None: ...

    def committed(self, state: Archipelago, step: Step, fates: tuple[Fate, ...]) -> None: ...

    def said(self, line: str) -> None: ...


class Quiet:
    """No progress."""

    def step(self, what: str, done: int, total: int) -> None: ...

    def committed(self, state: Archipelago, step: Step, fates: tuple[Fate, ...]) -> None: ...

    def said(self, line: str) -> None: ...
