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
        unusable: replies of finished instances that could not be used.
    """

    kept: Counter[str] = field(default_factory=Counter)
    unusable: int = 0

    def end(self, item: Instance, *, resumed: bool = False) -> None:
        super().end(item, resumed=resumed)
        self.kept.update(setting for setting in SETTINGS if item.dropped(setting) is None)
        self.unusable += sum(reject.item == "reply" for reject in item.rejects)

    def fate(self, item: Instance) -> Reject | None:
        return item.dropped("evosyn")
