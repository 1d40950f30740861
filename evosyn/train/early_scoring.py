"""Scoring completions while others are still being generated.

A batch is generated until its longest completion ends; most end earlier. Each goes to the sandbox the moment its end
token appears, so that at the end of generation nearly all verdicts are there and the trainer hardly waits. It only
fills the scorer's cache: a completion that it missed, or read differently from the trainer, is simply scored later.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import StoppingCriteria, StoppingCriteriaList

from evosyn.text.tokenizers import completion_texts
from evosyn.train.scoring import Scorer, Task

log = logging.getLogger(__name__)


class EarlyScorer:
    """One background thread that scores what has ended, in batches of whatever has gathered.

    Args:
        scorer: its cache is filled; must be safe for two threads.
        tokenizer: turns ids to text as the trainer does.
    """

    def __init__(self, scorer: Scorer, tokenizer: Any) -> None:
        self._scorer, self._tokenizer = scorer, tokenizer
        self._waiting: list[tuple[Task, list[int]]] = []
        self._wake = threading.Condition()
        self._busy = False
        self._thread: threading.Thread | None = None
        self.offered = 0

    @contextmanager
    def watching(self, model: Any, tasks: Sequence[Task], prompt_length: int, end_ids: Sequence[int]) -> Iterator[None]:
        """While it is open, `model.generate` reports the ends of the completions of `tasks`, one row each."""
        plain = model.generate
        criteria = StoppingCriteriaList([_Ends(self, tasks, prompt_length, end_ids)])

        def generate(*arguments: Any, **options: Any) -> Any:
            return plain(*arguments, stopping_criteria=criteria, **options)

        model.generate = generate
        try:
            yield
        finally:
            del model.generate

    def offer(self, items: Sequence[tuple[Task, list[int]]]) -> None:
        """Take completions (ids without padding) that have ended."""
        with self._wake:
            self._waiting += items
            self.offered += len(items)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="early-scorer", daemon=True)
                self._thread.start()
            self._wake.notify_all()

    def drain(self) -> None:
        """Wait until everything offered has been scored (or has failed: then the trainer's own call tells)."""
        with self._wake:
            self._wake.wait_for(lambda: not self._waiting and not self._busy)

    def _work(self) -> None:
        while True:
            with self._wake:
                self._busy = False
                self._wake.notify_all()
                self._wake.wait_for(lambda: bool(self._waiting))
                batch, self._waiting, self._busy = self._waiting, [], True
            try:
                texts = completion_texts(self._tokenizer, [ids for _, ids in batch])
                self._scorer.score([task for task, _ in batch], texts)
            except Exception as error:  # noqa: BLE001  the sandbox boundary: the trainer's own call meets it again
                log.debug("early scoring failed: %s", error)


class _Ends(StoppingCriteria):  # type: ignore[misc]
    """Stops nothing; tells which rows have just ended."""

    def __init__(self, early: EarlyScorer, tasks: Sequence[Task], prompt_length: int, end_ids: Sequence[int]) -> None:
        self._early, self._tasks, self._start = early, tasks, prompt_length
        self._end_ids = torch.tensor(list(end_ids))
        self._ended = torch.zeros(len(tasks), dtype=torch.bool)

    def __call__(self, input_ids: torch.Tensor, scores: Any, **rest: Any) -> torch.Tensor:
        del scores, rest
        last = input_ids[:, -1].cpu()
        new = torch.isin(last, self._end_ids) & ~self._ended
        if bool(new.any()):
            self._ended |= new
            rows = new.nonzero().flatten().tolist()
            self._early.offer([(self._tasks[row], input_ids[row, self._start :].tolist()) for row in rows])
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)
