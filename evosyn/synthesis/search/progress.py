"""Who watches a search for strategies: told of the preparation, of every proposal and of the end."""

from __future__ import annotations

from evosyn.evolve.events import Fate, Step
from evosyn.evolve.islands import Archipelago
from evosyn.evolve.stopping import StopConfig

DRAWING = "asking"
"""The step in which pools are drawn."""


class SearchProgress:
    """Told what happens, and shows nothing of it; what is derived from it must be quick and never fail."""

    def step(self, what: str, done: int, total: int) -> None: ...

    def committed(self, state: Archipelago, step: Step, fates: tuple[Fate, ...]) -> None: ...

    def said(self, line: str) -> None: ...

    def limited(self, limits: StopConfig) -> None:
        """How far the search may go in all, before it goes on."""

    def ended(self, why: str) -> None:
        """The search has ended; what it made is scored."""
