"""The thread that evaluates: one batch at a time, beside the event loop in which proposals are waited for."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from evosyn.errors import EvosynError
from evosyn.evolve.events import rounded
from evosyn.ports import Evaluator, Proposal
from evosyn.records import Candidate, Evaluation

MAX_BATCH = 512


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
                found = self._evaluator.evaluate([candidate for _, candidate in batch])
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
