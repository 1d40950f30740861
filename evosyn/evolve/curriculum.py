"""A curriculum: problems by setting, of which a student that learns is given those that it can learn from.

It is no `Archive`: a cell holds several problems, and their scores change while the student does. A score is the
learnability of the outcomes seen last, and ages with every step without new ones. State = fold of events; drawing
changes nothing and depends on state and step alone. DejaQ (2601.01931) sections 4.1 and 4.4; what is ours says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TypeAlias

from pydantic import Field

from evosyn.configs.section import Section
from evosyn.errors import UsageError
from evosyn.evolve.events import Fate
from evosyn.ports import GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, content_id
from evosyn.textual import jaccard, shingle_hashes, words

LEAST_SCORE = 1e-3
"""Of a parent: what nobody learns from now and then has children too (ours)."""
YOUTH = 10.0
"""Steps after which a problem's youth has halved (ours)."""
ALIKE, SHINGLE = 0.8, 3
"""Statements of a cell repeat each other from this Jaccard similarity of their runs of so many words on (ours)."""


class CurriculumConfig(Section):
    """What a curriculum is made of. The defaults are those of the paper, table 5, or ours where it is silent."""

    cell_size: int = Field(default=4, ge=1, description="Problems that a setting holds.")
    decay: float = Field(default=0.95, gt=0, le=1, description="Of a score, for each step without new outcomes.")
    alpha: float = Field(default=0.5, ge=0, le=1, description="Weight of learnability against youth in a draw.")
    ignore_top: int = Field(default=6, ge=0, description="Settings that need no new problems: the best ones.")
    depth_weight: float = Field(default=0.8, gt=0, le=1, description="Of a parent, for each mutation behind it (ours).")
    refresh_every: int = Field(default=25, ge=0, description="Steps between renewals by seeds; 0 for none (ours).")
    refresh_slots: int = Field(default=2, ge=1, description="Problems that are renewed then (ours).")


@dataclass(frozen=True)
class Offered:
    """Event: a problem with its first outcomes is offered to a cell.

    Attributes:
        number: of the proposal; -1 for a seed that it starts from.
        depth: mutations between it and its seed.
        out: id of the problem that it takes the place of whatever the scores (a seed's renews); "" to compete.
    """

    number: int
    cell: str
    candidate: Candidate
    passed: int
    known: int
    depth: int = 0
    out: str = ""


@dataclass(frozen=True)
class Trained:
    """Event: the student has taken one step on these problems, whose ids are the rows."""

    outcomes: tuple[GroupOutcome, ...]


CurriculumEvent: TypeAlias = Offered | Trained


@dataclass(frozen=True)
class HeldProblem:
    """One problem in its cell.

    Attributes:
        score: learnability when it was seen last; `Curriculum.score` is what it is worth now.
        born, seen: steps at which it came in, and at which its score was measured.
        words: what it is compared by, equal for equal ones.
        uses: steps that it was trained on.
    """

    cell: str
    candidate: Candidate
    score: float
    born: int
    seen: int
    words: str
    depth: int = 0
    uses: int = 0


@dataclass
class Curriculum:
    """The state. `fold` alone changes it.

    Attributes:
        cells: the settings that problems are made for; one of any other is held as well.
        tree: the node of its random streams.
        statement: reads what a candidate asks out of its text; None where texts say nothing in words, and equal ones
            alone repeat each other.
        step: steps that the student has taken.
        offered, renewals: proposals so far, seeds not counted; and renewals since the last step.
        slots: by id of the problem.
    """

    config: CurriculumConfig
    cells: tuple[str, ...]
    tree: SeedTree
    statement: Callable[[str], str] | None = None
    step: int = 0
    offered: int = 0
    renewals: int = 0
    slots: dict[str, HeldProblem] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.config.ignore_top >= len(self.cells):
            raise UsageError(
                f"ignore_top {self.config.ignore_top}: must be less than the {len(self.cells)} settings, or no setting "
                "is left to make problems for"
            )

    def fold(self, event: CurriculumEvent) -> Fate | None:
        """Take an event in; the fate of what was offered."""
        if isinstance(event, Trained):
            self._trained(event)
            return None
        self.offered += event.number >= 0
        self.renewals += bool(event.out) and event.number < 0
        score = learnability(event.passed, event.known)
        if score is None:
            return Fate.INVALID
        text = event.candidate.text
        told = same_words(text if self.statement is None else self.statement(text))
        if self._repeats(told, event):
            return Fate.DUPLICATE
        occupants = [slot for slot in self.slots.values() if slot.cell == event.cell]
        fate, out = Fate.NEW, self.slots.get(event.out)
        if out is None and len(occupants) >= self.config.cell_size:
            fate, out = Fate.IMPROVED, min(occupants, key=self._strength)
            if score <= self.score(out):
                return Fate.NOT_BETTER
        if out is not None:
            del self.slots[out.candidate.id]
        cell = out.cell if out is not None and event.out else event.cell
        self.slots[event.candidate.id] = HeldProblem(
            cell, event.candidate, score, self.step, self.step, told, event.depth
        )
        return fate

    def score(self, slot: HeldProblem) -> float:
        """What a problem is worth now."""
        return slot.score * self.config.decay ** (self.step - slot.seen)

    def draw(self, count: int) -> list[HeldProblem]:
        """The batch of this step: by learnability and youth, each problem once as long as there are enough.

        Raises:
            ValueError: it holds no problem.
        """
        slots = self._ordered()
        if not slots:
            raise ValueError("a curriculum without problems: offer it seeds first")
        rng, weights = self.tree.child("batch", self.step).random(), self._weights(slots)
        keys = [rng.random() ** (1 / weight) if weight else -rng.random() for weight in weights]
        found = [slot for _, slot in sorted(zip(keys, slots, strict=True), key=lambda pair: -pair[0])][:count]
        return found + rng.choices(slots, weights, k=count - len(found))

    def parent(self, number: int) -> HeldProblem:
        """The parent of proposal `number`: by learnability, less for what is many mutations old."""
        slots = self._ordered()
        weights = [max(self.score(slot), LEAST_SCORE) * self.config.depth_weight**slot.depth for slot in slots]
        return self.tree.child("parent", number).random().choices(slots, weights)[0]

    def target(self, number: int) -> str:
        """The setting that proposal `number` is wanted for: any but the best ones, a free place counting 0."""
        totals = dict.fromkeys(self.cells, 0.0)
        for slot in self._ordered():
            if slot.cell in totals:
                totals[slot.cell] += self.score(slot)
        left = sorted(self.cells, key=lambda cell: (-totals[cell], cell))[self.config.ignore_top :]
        return self.tree.child("target", number).random().choice(left)

    def renewed(self) -> list[HeldProblem]:
        """The problems that seeds are still to take the place of at this step, the deepest first; mostly none."""
        if not self.config.refresh_every or not self.step or self.step % self.config.refresh_every:
            return []
        old = [slot for slot in self._ordered() if slot.depth]
        due = max(self.config.refresh_slots - self.renewals, 0)
        return sorted(old, key=lambda slot: (-slot.depth, slot.born, slot.candidate.id))[:due]

    def fingerprint(self) -> str:
        """Equal for equal states."""
        return content_id("q_", [self.step, self.offered, self.renewals, [asdict(slot) for slot in self._ordered()]])

    def _repeats(self, told: str, event: Offered) -> bool:
        """Whether it says what one that is held does, or nearly so what one of its cell does that stays."""
        if any(slot.words == told for slot in self.slots.values()):
            return True
        out = self.slots.get(event.out)
        cell = event.cell if out is None else out.cell
        there = [slot for slot in self.slots.values() if slot.cell == cell and slot is not out]
        return self.statement is not None and any(_alike(slot.words, told) for slot in there)

    def _trained(self, event: Trained) -> None:
        self.step, self.renewals = self.step + 1, 0
        for outcome in event.outcomes:
            slot = self.slots.get(outcome.row)
            if slot is None:  # replaced since the batch was drawn
                continue
            score = learnability(outcome.passed, outcome.known)
            seen = {} if score is None else {"score": score, "seen": self.step}
            self.slots[outcome.row] = replace(slot, uses=slot.uses + 1, **seen)  # type: ignore[arg-type]

    def _ordered(self) -> list[HeldProblem]:
        return sorted(self.slots.values(), key=lambda slot: (slot.cell, slot.candidate.id))

    def _weights(self, slots: Sequence[HeldProblem]) -> list[float]:
        scores = [self.score(slot) for slot in slots]
        young = [1 / (1 + (self.step - slot.born) / YOUTH) for slot in slots]
        whole, alpha = sum(scores), self.config.alpha
        learn = [score / whole for score in scores] if whole else [1 / len(slots)] * len(slots)
        return [alpha * a + (1 - alpha) * b / sum(young) for a, b in zip(learn, young, strict=True)]

    def _strength(self, slot: HeldProblem) -> tuple[float, int, int, str]:
        """The order in which problems leave a full cell: total, so that it does not depend on who came first."""
        return self.score(slot), -slot.depth, slot.born, slot.candidate.id


def learnability(passed: int, known: int) -> float | None:
    """K / (K - 1) * p * (1 - p) with p = passed / K: unbiased; None for fewer than two outcomes (section 4.1)."""
    return None if known < 2 else passed * (known - passed) / (known * (known - 1))


def folded(curriculum: Curriculum, events: Iterable[CurriculumEvent]) -> Curriculum:
    """The state after these events; it is `curriculum` itself, which should be new."""
    for event in events:
        curriculum.fold(event)
    return curriculum


def _alike(one: str, other: str) -> bool:
    """Whether two statements share nearly all runs of words."""
    return jaccard(*(shingle_hashes(words(text), SHINGLE) for text in (one, other))) >= ALIKE


def same_words(text: str) -> str:
    """Equal for texts of the same words."""
    return " ".join(text.lower().split())
