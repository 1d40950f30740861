"""Where the strategy of a synthesis reads evidence that the matrices here do not hold, and what to do about it.

Counted as the problems are judged, since an instance keeps no values. docs/synthesize.md, "When the matrices are of
another kind".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evosyn.records import Invalid, Json
from evosyn.strategies.lacking import Lacking
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.shift import EvolvedOn

NEXT = (
    "Evolve on matrices without it (`evosyn evolve` on seeds of the domains that are made here), or choose a rule that "
    "does not read it (`evosyn synthesize RULE.py --seeds POOL`)"
)
HELD = "What the strategy scored on its held-out problems it scored with that in view"


@dataclass
class LackCount:
    """Counts over the instances of a run; `see` adds one, `merge` those of another part of the run.

    Attributes:
        problems: that were ranked, or should have been.
        unknown: those that do not hold what the strategy reads, by its name.
        invalid: those on which it has no ranking, and had read what is unknown.
    """

    problems: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    invalid: int = 0

    def see(self, instance: Instance) -> None:
        if instance.ranking is None:
            return
        failed_over = instance.ranking.unknown if isinstance(instance.ranking, Invalid) else ()
        self.merge(LackCount(1, Counter({*instance.lacking, *failed_over}), bool(failed_over)))

    def merge(self, other: LackCount) -> None:
        self.problems += other.problems
        self.unknown.update(other.unknown)
        self.invalid += other.invalid

    def to_json(self, strategy: str, known: EvolvedOn | None) -> dict[str, Json] | None:
        """What is lacking here and was there, what comes of it, and that in words with what to do; None where nothing
        is. Nothing is said of what the search did without as often, unless the strategy is invalid for it.

        Args:
            strategy: the text of the program.
            known: what it was evolved on.
        """
        if not self.unknown:
            return None
        whole = Lacking.of(strategy, self.unknown, self.problems, self.invalid)._replace(unknown=self.unknown)
        there = {name: None if known is None else known.lacked(name) for name in sorted(self.unknown)}
        new = {
            name: self.unknown[name]
            for name, share in there.items()
            if self.invalid or share is None or self.unknown[name] > share * self.problems
        }
        return {
            "problems": self.problems,
            "unknown": {name: self.unknown[name] for name in there},
            "evolved_without": there,
            "invalid": self.invalid,
            "neutral": whole.neutral,
            "said": self._said(whole._replace(unknown=new), there) if new else [],
        }

    def _said(self, found: Lacking, there: dict[str, float | None]) -> list[str]:
        held = [name for name in found.unknown if there[name] == 0.0]
        return [f"the strategy {found}", *([HELD] if held else []), NEXT]
