"""What a proposer is given by the loop, and how the loop hears of one that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from evosyn.evolve.evaluating import EvaluationMessage
from evosyn.evolve.islands import Ask
from evosyn.ports import ProposalContext
from evosyn.records import Elite


@runtime_checkable
class Connected(Protocol):
    """A proposer that holds connections of an event loop; they end with the search."""

    async def aclose(self) -> None: ...


def context_of(ask: Ask, index: int, *, seed: int, task: str, start: Sequence[Elite]) -> ProposalContext:
    """What proposal `index` is shown.

    Args:
        seed: root of the run's tree; task: what is evolved, in words; start: what the search began from.
    """
    return ProposalContext(
        index=index,
        seed=seed,
        parent=ask.parent,
        inspirations=ask.inspirations,
        top=ask.top,
        task=task,
        start=tuple(start),
        attempts=ask.attempts,
        before=ask.before,
        reached=ask.reached,
        around=ask.around,
    )


def report_failure(inbox: asyncio.Queue[EvaluationMessage], task: asyncio.Task[None]) -> None:
    """The error of a task that has ended with one, as a message."""
    if not task.cancelled() and (error := task.exception()) is not None:
        inbox.put_nowait(EvaluationMessage(error=error))
