"""A directory of `evosyn env make`: its report, and each draft with all that became of it, finished or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.reading.base import Fresh
from evosyn.reading.conclusions import Conclusion, of_environments
from evosyn.reading.summaries import SummaryReading, TableShown
from evosyn.records import Json
from evosyn.running.ledger import Ledger
from evosyn.synthesis.environments.draft import Draft


class DraftStep(NamedTuple):
    """A step on the way of a draft."""

    what: str
    detail: str


class MadeEnvironmentsReading(SummaryReading):
    """Drafts are named by their number, as `env-000012` or by the id of their environment."""

    made_by = "`evosyn env make`"
    asks = {"overview": (), "why": ("ID",), "candidate": ("ID",), "lineage": ("ID",)}  # noqa: RUF012

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._ledger = Fresh(self.dir.journal.path, lambda: Ledger(self.dir.journal, Draft))

    def progress(self) -> str:
        return f"not finished, {len(self._ledger.get().done)} drafts have ended; the same command goes on"

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        return of_environments(report, self.progress())

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:
        return environment_tables(values)

    def highlights(self, most: int) -> Iterator[str]:
        yield "overview"
        kept = (self.report or {}).get("environments", ())
        yield from (f"why/{row['id']}" for row in kept[:most])

    def lineage(self, name: str) -> tuple[DraftStep, ...]:
        """How a draft came to be, the latest first."""
        draft = self.why(name)
        told = ", ".join(f"{key} {value}" for key, value in draft.brief.items())
        steps = [
            DraftStep("asked for", told),
            DraftStep("written", f"by {draft.author or 'nobody'}, {draft.call or 'no'} reply"),
        ]
        steps += [DraftStep("revised", "after a judge's no") for _ in range(draft.revised)]
        chosen = next((at for at, one in enumerate(draft.verifiers) if one.chosen), None)
        if chosen is not None:
            steps.append(DraftStep("verifier chosen", f"number {chosen} of {len(draft.verifiers)}"))
        ended = draft.ended
        steps.append(
            DraftStep("kept", "") if ended is None else DraftStep("dropped", f"at {ended.stage}: {ended.reason}")
        )
        return tuple(reversed(steps))

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


def environment_tables(report: Mapping[str, Json]) -> tuple[TableShown, ...]:
    """What is kept, and where the others went; nothing of an unfinished run."""
    if "environments" not in report:
        return ()
    rows = tuple((one["id"], one["title"], one["category"], one["kind"]) for one in report["environments"])
    stages = tuple((one["stage"], one["dropped"], one["left"]) for one in report["stages"] if one["dropped"])
    reasons = sorted(report["dropped"].items(), key=lambda item: -item[1])
    return (
        TableShown("environments", ("id", "what is asked", "category", "kind"), rows),
        TableShown("where they went", ("stage", "dropped", "left"), stages),
        TableShown("why", ("stage and reason", "count"), tuple(reasons)),
    )
