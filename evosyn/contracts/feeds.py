"""What every feed must keep to: rows that its state decides, and a state that is a fold of what was reported."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evosyn.contracts.base import Contract
from evosyn.domains import check_task
from evosyn.ports import Feed, FeedRow, GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Json, canonical_json

GROUP, STEPS = 4, 5
"""Completions of a row, and the steps that a feed is led through."""


class FeedContract(Contract):
    """Subclass it, and set `make`, which gets a directory: the feed that begins there, or the one that goes on.

    Attributes:
        groups: rows that are asked for at each step.
        journal: the file in that directory which holds what was reported.
    """

    groups = 4
    journal = "journal.jsonl"

    def test_it_gives_as_many_rows_as_are_asked_for_each_a_prompt_and_a_task_of_its_domain(self) -> None:
        with self._begun() as (feed, _):
            assert isinstance(feed, Feed), f"{feed!r} lacks a part of ports.Feed"
            for groups in (1, self.groups):
                rows = feed.rows(0, groups)
                assert len(rows) == groups, f"rows: {len(rows)} for {groups}"
            for row in rows:
                assert row.prompt and any(one.content.strip() for one in row.prompt), "rows: a prompt without a word"
                check_task(row.task)

    def test_rows_depend_on_state_and_step_alone_and_asking_changes_nothing(self) -> None:
        with self._begun() as (feed, _):
            for step in range(STEPS):
                state, rows = _told(feed), _shown(feed.rows(step, self.groups))
                feed.rows(step + 7, self.groups)
                assert _shown(feed.rows(step, self.groups)) == rows, f"rows: others when step {step} is asked again"
                assert _told(feed) == state, "rows: asking changes the state"
                self._report(feed, step)

    def test_a_feed_that_is_taken_up_again_gives_the_same_rows(self) -> None:
        with self._begun() as (feed, folder):
            for step in range(STEPS):
                self._report(feed, step)
                again = self.make(folder)
                assert _told(again) == _told(feed), f"state: another one when it is taken up after step {step}"
                assert self._next(again, step + 1) == self._next(feed, step + 1), "rows: others when it is taken up"

    def test_a_report_that_a_kill_cut_off_has_not_happened(self) -> None:
        with self._begun() as (feed, folder):
            self._report(feed, 0)
            before = _told(feed)
            self._report(feed, 1)
            after, torn = _told(feed), folder.parent / "torn"
            shutil.copytree(folder, torn)
            file = torn / self.journal
            file.write_bytes(file.read_bytes()[:-5])
            cut = self.make(torn)
            assert _told(cut) == before, "report: one that was cut off in the journal has changed the state"
            self._report(cut, 1)
            assert _told(cut) == after, "report: made again after a kill, it leads elsewhere"

    def test_taken_back_to_a_step_it_goes_on_as_it_did(self) -> None:
        with self._begun() as (feed, folder):
            states = []
            for step in range(STEPS):
                states.append(_told(feed))
                self._report(feed, step)
            last = _told(feed)
            for back in (STEPS, 2, 0):
                feed.rewind(back)
                assert _told(feed) == [*states, last][back], f"rewind: not the state at step {back}"
                assert _told(self.make(folder)) == _told(feed), "rewind: is not in the journal"
                for step in range(back, STEPS):
                    self._report(feed, step)
                assert _told(feed) == last, f"rewind: from step {back} it goes on otherwise than before"

    def test_what_nobody_could_judge_is_taken_and_figures_are_numbers_of_the_same_names(self) -> None:
        with self._begun() as (feed, _):
            names = set(feed.figures())
            for step, known in enumerate((True, False, True)):
                rows = feed.rows(step, self.groups)
                count = GROUP if known else 0
                feed.report(step, [GroupOutcome(row.task.row_id, count, count, ("",) * GROUP) for row in rows])
                figures = feed.figures()
                assert set(figures) == names, f"figures: {sorted(figures)}, and before {sorted(names)}"
                assert all(map(math.isfinite, figures.values())), f"figures: {figures} are not all numbers"
            canonical_json(feed.summary())

    @contextmanager
    def _begun(self) -> Iterator[tuple[Feed, Path]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            path.mkdir()
            yield self.make(path), path

    def _report(self, feed: Feed, step: int) -> None:
        """Outcomes as chance has them, the same for the same rows of a step."""
        found = []
        for row in feed.rows(step, self.groups):
            rng = SeedTree(step).child("outcome", row.task.row_id).random()
            rate = rng.choice((0.0, 0.5, 1.0))
            known = sum(rng.random() >= 0.1 for _ in range(GROUP))
            passed = sum(rng.random() < rate for _ in range(known))
            found.append(GroupOutcome(row.task.row_id, passed, known, ("said",) * GROUP))
        feed.report(step, found)

    def _next(self, feed: Feed, step: int) -> list[Json]:
        return _shown(feed.rows(step, self.groups))


def _told(feed: Feed) -> str:
    return canonical_json(feed.state())


def _shown(rows: Sequence[FeedRow]) -> list[Json]:
    return [[row.task.row_id, row.task.key, [one.content for one in row.prompt]] for row in rows]
