"""Between a feed and the trainer: rows go in, outcomes go back, and each checkpoint keeps the feed's state.

The trainer asks for the rows of a step where TRL would take them from its data set, and the reward function says what
they came to. `ports.Feed`; TRL 1.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from evosyn.errors import CorruptRun
from evosyn.ports import Feed, FeedRow, GroupOutcome, PayingFeed
from evosyn.records import canonical_json
from evosyn.rundir import write_atomic
from evosyn.train.rewards import Recorded
from evosyn.train.scoring import Score, Task

STATE = "feed.json"


class LiveRows(TrainerCallback):  # type: ignore[misc]
    """The rows of a run that come from a feed.

    Args:
        tasks: what the reward looks up; it holds the rows of the step at hand.
        group: completions per row, which follow each other.
        shown: a row's prompt in a form that TRL takes.
    """

    def __init__(
        self, feed: Feed, tasks: dict[str, Task], group: int, shown: Callable[[FeedRow], Any] | None = None
    ) -> None:
        self.feed, self._tasks, self._group, self._shown = feed, tasks, group, shown or _messages
        self._step, self._weights = 0, dict[str, float]()

    def draw(self, step: int, groups: int) -> list[dict[str, Any]]:
        """A row of TRL's for each completion of a step."""
        self._step, rows = step, self.feed.rows(step, groups)
        self._tasks.clear()
        self._tasks.update({row.task.row_id: row.task for row in rows if row.judged})
        self._weights = {row.task.row_id: row.weight for row in rows}
        shown = [{"prompt": self._shown(row), "row_id": row.task.row_id} for row in rows]
        return [row for row in shown for _ in range(self._group)]

    def weights(self, rows: Sequence[str]) -> list[float]:
        """By how much the advantages of these rows count."""
        return [self._weights[row] for row in rows]

    def record(self, rows: Sequence[str], scores: Sequence[Score], texts: Sequence[str]) -> Recorded:
        """Tell the feed what the step's completions came to."""
        outcomes = []
        for start in range(0, len(rows), self._group):
            some = slice(start, start + self._group)
            known = [one for one in scores[some] if one.known]
            passed = sum(one.passed for one in known)
            outcomes.append(GroupOutcome(rows[start], passed, len(known), tuple(texts[some])))
        self.feed.report(self._step, outcomes)
        paid = self.feed.paid() if isinstance(self.feed, PayingFeed) else {}
        left = {row: iter(values) for row, values in paid.items()}
        worth = {place: next(left[row]) for place, row in enumerate(rows) if row in left}
        return Recorded(self.feed.figures(), worth)

    def go_on(self, checkpoint: Path | None, step: int) -> None:
        """Take the feed back to where training goes on.

        Raises:
            CorruptRun: the journal does not lead to the state that the checkpoint keeps.
        """
        self.feed.rewind(step)
        if checkpoint is None:
            return
        file = checkpoint / STATE
        held = file.read_text(encoding="utf-8") if file.is_file() else ""
        if held != canonical_json(self.feed.state()):
            raise CorruptRun(
                f"{file}: is not what the journal of the run leads to at step {step}; start again with another --out"
            )

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Before the checkpoint is marked whole: callbacks are called in the order in which they were added."""
        del control, rest
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            write_atomic(folder / STATE, canonical_json(self.feed.state()))


def _messages(row: FeedRow) -> list[dict[str, str]]:
    return [{"role": one.role, "content": one.content} for one in row.prompt]
