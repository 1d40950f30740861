"""The thread that evaluates: one batch at a time, beside the event loop in which proposals are waited for."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from evosyn.errors import EvosynError, UsageError
from evosyn.evolve.events import rounded
from evosyn.ports import Evaluator, Proposal
from evosyn.records import Candidate, Evaluation

MAX_BATCH = 512


def epoch_of(evaluator: Evaluator) -> str:
    """The standard of an evaluator (`ports.ChangingEvaluator`); "" for one that never changes."""
    return str(getattr(evaluator, "epoch", ""))


def _of_epoch(found: Sequence[Evaluation], epochs: Collection[str]) -> None:
    """
    Raises:
        UsageError: an evaluation of an epoch that the evaluator did not declare: it would be made again for ever.
    """
    strange = sorted({one.epoch for one in found} - set(epochs))
    if strange:
        raise UsageError(f"the evaluator declares the epoch {' or '.join(map(repr, sorted(epochs)))} and gives "
                         f"evaluations of {strange[0]!r}; set Evaluation.epoch")  # fmt: skip


class EvaluationMessage(NamedTuple):
    """What reaches the loop: a proposal, a batch of results, or an error that ends the run."""

    number: int = -1
    proposal: Proposal | None = None
    results: Mapping[str, Evaluation] = MappingProxyType({})
    error: BaseException | None = None


class Evaluating:
    """A thread that evaluates one batch at a time; a daemon, so that an interrupt does not wait for a batch."""

    def __init__(
        self, evaluator: Evaluator, inbox: asyncio.Queue[EvaluationMessage], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._evaluator, self._inbox, self._loop = evaluator, inbox, loop
        self._batches: queue.SimpleQueue[list[tuple[str, Candidate]] | None] = queue.SimpleQueue()
        self._busy = False
        threading.Thread(target=self._work, name="evosyn-evaluate", daemon=True).start()

    def offer(self, waiting: list[tuple[str, Candidate]]) -> list[tuple[str, Candidate]]:
        """Start on (a part of) `waiting` if idle; returns what is still waiting."""
        if self._busy or not waiting:
            return waiting
        self._busy = True
        self._batches.put(waiting[:MAX_BATCH])
        return waiting[MAX_BATCH:]

    def close(self) -> None:
        self._batches.put(None)

    def _work(self) -> None:
        while (batch := self._batches.get()) is not None:
            message = EvaluationMessage(error=RuntimeError("the evaluator failed; its traceback stands above"))
            try:
                before = epoch_of(self._evaluator)
                found = self._evaluator.evaluate([candidate for _, candidate in batch])
                _of_epoch(found, {before, epoch_of(self._evaluator)})
                results = {key: rounded(result) for (key, _), result in zip(batch, found, strict=True)}
                message = EvaluationMessage(results=results)
            except EvosynError as error:
                message = EvaluationMessage(error=error)
            finally:
                if not self._loop.is_closed():
                    self._loop.call_soon_threadsafe(self._deliver, message)

    def _deliver(self, message: EvaluationMessage) -> None:
        self._busy = False
        self._inbox.put_nowait(message)
