"""A directory of `evosyn env make`: its report, and each draft with all that became of it, finished or not."""

from __future__ import annotations

from pathlib import Path

from evosyn.errors import UsageError
from evosyn.reading.base import Fresh
from evosyn.reading.conclusions import Conclusion
from evosyn.reading.summaries import SummaryReading
from evosyn.running.ledger import Ledger
from evosyn.synthesis.environments.draft import Draft


class MadeEnvironmentsReading(SummaryReading):
    """Drafts are named by their number, as `env-000012` or by the id of their environment."""

    made_by = "`evosyn env make`"
    asks = {"overview": (), "why": ("ID",), "candidate": ("ID",)}  # noqa: RUF012

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._ledger = Fresh(self.dir.journal.path, lambda: Ledger(self.dir.journal, Draft))

    def progress(self) -> str:
        return f"not finished, {len(self._ledger.get().done)} drafts have ended; the same command goes on"

    def conclude(self, report: object) -> Conclusion:
        if report is None:
            return Conclusion("open", f"{self.progress()}.")
        found = self.report or {}
        told = f"{found['kept']} of {found['asked']} drafts are kept"
        return Conclusion("done" if found["kept"] else "no", f"{told}. Ask of one with --why ID or --program ID.")

    def why(self, name: str) -> Draft:
        """A draft that has ended.

        Raises:
            UsageError: there is none of that name.
        """
        ledger = self._ledger.get()
        number = name.removeprefix("env-")
        if number.isdecimal() and int(number) in ledger.done:
            return ledger.item(int(number))
        if len(name) > 4 and name.startswith("e_"):
            for draft in ledger.items(sorted(ledger.done)):
                if draft.source is not None and draft.level and draft.environment.id.startswith(name):
                    return draft
        raise UsageError(
            f"{name!r}: no draft of {self.path} that has ended; name one as env-000012 or by its id (e_...)"
        )

    def candidate(self, name: str) -> Draft:
        """The same, for its program."""
        return self.why(name)
