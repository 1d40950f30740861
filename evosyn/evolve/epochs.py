"""Members of a search that are evaluated anew where the standard of their evaluator has changed.

An archive compares scores of one epoch only: when the evaluator declares another, every member is evaluated again
before anything is compared with it, and the search goes on from the new scores (`Archipelago.reassess`). Rejected
candidates are not looked at again. DESIGN.md section 5, "Epochs".
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from evosyn.errors import UsageError
from evosyn.evolve.evaluating import Evaluating, EvaluationMessage, epoch_of
from evosyn.evolve.events import Reassessed, rounded
from evosyn.evolve.islands import Archipelago
from evosyn.ports import Evaluator
from evosyn.records import Candidate, Evaluation


class Reassessing:
    """Sees that the members of a state are those of the evaluator's epoch; holds nothing that a journal does not."""

    def __init__(self, evaluator: Evaluator, state: Archipelago) -> None:
        self._evaluator, self._state = evaluator, state

    @property
    def due(self) -> bool:
        """Whether the members are of another epoch."""
        return epoch_of(self._evaluator) != self._state.epoch

    def wanted(self) -> dict[str, Candidate]:
        """What has to be evaluated, by a key that no candidate has."""
        epoch, members = epoch_of(self._evaluator), self._state.members()
        return {f"{name}@{epoch}": elite.candidate for name, elite in members.items()}

    def now(self) -> Reassessed:
        """Evaluates the members here and now, where nothing else is under way."""
        wanted = self.wanted()
        found = self._evaluator.evaluate(list(wanted.values()))
        return self.done(dict(zip(wanted, map(rounded, found), strict=True)))

    async def gathered(self, evaluating: Evaluating, inbox: asyncio.Queue[EvaluationMessage]) -> Reassessed:
        """The same beside a running loop; what else comes in is of no account any more.

        Raises:
            EvosynError: from the evaluator.
        """
        wanted = self.wanted()
        waiting, found = list(wanted.items()), dict[str, Evaluation]()
        while not wanted.keys() <= found.keys():
            waiting = evaluating.offer(waiting)
            message = await inbox.get()
            if message.error is not None:
                raise message.error
            found.update(message.results)
        return self.done(found)

    def done(self, results: Mapping[str, Evaluation]) -> Reassessed:
        """The event, once all that was wanted is there.

        Raises:
            UsageError: nothing that the search started from has a score.
        """
        epoch = epoch_of(self._evaluator)
        found = {candidate.id: results[key] for key, candidate in self.wanted().items()}
        if all(found[one.candidate.id].score is None for one in self._state.initial):
            first = found[self._state.initial[0].candidate.id]
            raise UsageError(f"epoch {epoch!r}: nothing that the search started from has a score: {first.invalid}")
        return Reassessed(epoch, found)
