"""The answers about a directory of `evosyn env evolve` as text: those of a search, and the checks of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosyn.cli import _inspect_search as search
from evosyn.cli._inspect_environments import print_checks
from evosyn.cli._inspect_summary import print_tables
from evosyn.cli._output import echo
from evosyn.cli._texts import head, print_conclusion

if TYPE_CHECKING:
    from evosyn.reading.environment_search import EnvironmentDecision, EnvironmentSearchOverview


def print_overview(run: EnvironmentSearchOverview) -> None:
    """What was searched for whom, what is kept, where the others went, and what each proposer brought."""
    student = run.manifest.get("student")
    head(f"{run.path}: environments evolved for {student}{' (SIMULATED)' if run.simulated else ''}")
    print_conclusion(run.conclusion)
    search.print_counts(run)
    if run.report is not None:
        echo(f"ended by {run.report['stopped']}; {search.spent(run.report)}")
    print_tables(run.tables)
    search.print_proposers(run.proposers)


def print_why(one: EnvironmentDecision) -> None:
    """What the archive decided, then each check with what it found."""
    search.print_why(one.decision)
    if one.draft is not None:
        print_checks(one.draft)


PRINTERS = {**search.PRINTERS, "overview": print_overview, "why": print_why}
