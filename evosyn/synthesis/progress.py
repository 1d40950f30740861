"""Live counts of a synthesis: those of any run, and what each setting keeps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evosyn.dataset import SETTINGS, Reject
from evosyn.running.progress import RunProgress
from evosyn.synthesis.instance import Instance


@dataclass
class SynthesisProgress(RunProgress[Instance]):
    """
    Attributes:
        kept: by setting; `dropped` is what the evosyn setting does not have.
        each: slots of an instance that goes all the way; 0 where rounds decide that.
    """

    kept: Counter[str] = field(default_factory=Counter)
    each: int = 0

    def begin(self, asked: int, each: int) -> None:
        """So many instances of so many slots are asked for."""
        self.asked, self.each = asked, each
        self.expect(asked * each)

    def end(self, item: Instance, *, resumed: bool = False) -> None:
        super().end(item, resumed=resumed)
        self.kept.update(setting for setting in SETTINGS if item.dropped(setting) is None)
        if resumed:  # what it took was counted then
            self.expected -= self.each
        elif item.solutions is None and self.each:
            self.expected -= self.each - 1

    def fate(self, item: Instance) -> Reject | None:
        return item.dropped("evosyn")
