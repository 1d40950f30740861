"""Drafts of a pool: written and looked at while the student trains, then tried on the student as it is now.

The stages are those of `evosyn env make`; a draft that the student itself wrote begins at the ladder. The student's
answers to all drafts of a step are drawn in one batch. EvoEnv (sections 3.2 and 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeGuard

from evosyn.chat import Reply, Request
from evosyn.dataset import Reject
from evosyn.environments.asking import shown_request
from evosyn.environments.calibration import Rate
from evosyn.environments.contract import LEVELS
from evosyn.environments.fresh import Fits
from evosyn.environments.replies import read_draft
from evosyn.environments.rows import EnvironmentRow, rows_at
from evosyn.environments.runner import EnvironmentRunner
from evosyn.ports import Teacher
from evosyn.ports.stages import Stage
from evosyn.randomness import SeedTree
from evosyn.records import Json, content_id
from evosyn.running.ledger import Ledger
from evosyn.running.under_way import UnderWay
from evosyn.synthesis.environments.author import EnvironmentAsker, written
from evosyn.synthesis.environments.calibrating import AnswerSheet
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.selfplay.config import BandConfig, DraftingConfig
from evosyn.synthesis.selfplay.state import DraftOrder

ATTEMPTS = 2
"""How often a teacher is asked for a draft."""


class LiveStudent(Protocol):
    """The model in training."""

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """Answers to requests of the same sampling, in the thread that trains."""
        ...


@dataclass(frozen=True)
class WantedDraft:
    """A draft to make.

    Attributes:
        texts: the programs that its request shows.
        place, said: which completion of the student it is read from, and its text; None where a teacher is asked.
    """

    order: DraftOrder
    texts: tuple[str, ...]
    place: int = 0
    said: str | None = None

    @property
    def brief(self) -> Mapping[str, Json]:
        return {"shown": list(self.order.shown[: len(self.texts)]), "category": self.order.category}

    @property
    def label(self) -> str:
        return f"env-{self.order.number:06}" + ("" if self.said is None else f"-{self.place}")


def fitting_texts(texts: Sequence[str], category: str, config: DraftingConfig, fits: Fits) -> tuple[str, ...]:
    """The programs that a request shows a student: the first ones, as many as fit; () where not even one does."""
    counts = range(len(texts), 0, -1)
    fit = (count for count in counts if fits(shown_request(texts[:count], category, config.sampling).messages))
    return tuple(texts[: next(fit, 0)])


class DraftMaker(NamedTuple):
    """Who is asked, and what every draft goes through, cheap first; a teacher's draft begins with its author."""

    teacher: Teacher
    ledger: Ledger[Draft]
    config: DraftingConfig
    stages: Sequence[Stage[Draft]]


class DraftsUnderWay(UnderWay[WantedDraft, Draft]):
    """Begins drafts and gives them back when they are due. Belongs to one thread; close it.

    Args:
        maker: its teacher is closed with it.
    """

    def __init__(self, maker: DraftMaker) -> None:
        super().__init__(maker.teacher, maker.ledger)
        self._maker, self._asker = maker, EnvironmentAsker(maker.ledger, maker.teacher)

    def index(self, order: WantedDraft) -> int:
        told = [order.order.number, order.place, order.said, list(order.texts), order.order.category]
        return int(content_id("k_", told).removeprefix("k_"), 16)

    async def make(self, order: WantedDraft) -> Draft:
        draft = Draft(self.index(order), order.brief, label=order.label, simulated=self._maker.teacher.simulated)
        if order.said is None:
            request = shown_request(order.texts, order.order.category, self._maker.config.sampling)
            draft = await written(draft, order.brief, request, self._asker, ATTEMPTS)
        else:
            found = read_draft(order.said)
            draft = replace(draft, source=found.value, author=self._maker.teacher.name)
            draft = draft if found.value is not None else draft.drop("author", found.reason)
        for stage in self._maker.stages:
            draft = draft if draft.ended is not None else await stage.run(draft)
        return draft


class StudentTrial:
    """Has a student answer drafts: how often it is right at one level.

    Args:
        fits: whether a question is short enough for the student; others are not asked.
    """

    def __init__(
        self,
        config: BandConfig,
        student: LiveStudent,
        sheet: AnswerSheet,
        runner: EnvironmentRunner,
        tree: SeedTree,
        fits: Fits = lambda _: True,
    ) -> None:
        self._config, self._student, self._sheet, self._runner, self._tree = config, student, sheet, runner, tree
        self._fits = fits

    def rates(self, drafts: Sequence[Draft], step: int) -> list[Rate]:
        """Of each draft, which stands on the ladder; `n` is what could be judged.

        Raises:
            SandboxUnavailable: the sandbox is gone for good.
        """
        level, tree = self._config.level, self._tree.child(step)
        cells = [(level, at) for at in range(self._config.answers)]
        rows = [
            [one for one in rows_at(draft.environment, self._runner, cells, tree) if self._is_asked(one)]
            for draft in drafts
        ]
        flat = [row for some in rows for row in some]
        replies = self._student.replies([self._sheet.request(row) for row in flat])
        passed = iter(self._sheet.judged(flat, replies).passed)
        found = []
        for some in rows:
            known = [one for one in (next(passed) for _ in some) if one is not None]
            found.append(Rate(level, len(known), sum(known)))
        return found

    def _is_asked(self, row: EnvironmentRow | Reject) -> TypeGuard[EnvironmentRow]:
        return isinstance(row, EnvironmentRow) and self._fits(self._sheet.request(row).messages)


def stands(draft: Draft) -> bool:
    """Whether it came up all rungs."""
    return draft.level == LEVELS
