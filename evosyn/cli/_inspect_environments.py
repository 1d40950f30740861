"""The answers about environments that were made as text. What models wrote is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosyn.cli._inspect_summary import print_summary
from evosyn.cli._output import echo
from evosyn.cli._texts import LETTERS, head

if TYPE_CHECKING:
    from evosyn.reading.made_environments import DraftStep
    from evosyn.synthesis.environments.draft import Draft


def print_why(draft: Draft) -> None:
    """Each check with what it found, and each judge's words."""
    _name(draft)
    print_checks(draft)


def print_lineage(steps: tuple[DraftStep, ...]) -> None:
    """How a draft came to be, the latest first."""
    for step in steps:
        echo(f"  {step.what:16} {step.detail}".rstrip())


def print_checks(draft: Draft) -> None:
    """Each check with what it found."""
    shares = ", ".join(f"{name} {share:.2f}" for name, share in draft.figures.items() if share)
    echo(f"  ladder: stands on L{draft.level}; accepted: {shares or 'nothing was tried'}")
    for one in draft.judgements:
        said = "accepts" if one.accepts else f"refuses ({one.reason})"
        echo(f"  {one.of}: {said}{': ' if one.issues else ''}{'; '.join(one.issues)}")
    if draft.crosscheck is not None:
        found = draft.crosscheck
        echo(f"  crosscheck: {found.verdict}; {found.accepted} programs accepted, {found.agree} others agree")
        for row in found.rows:
            echo(f"    {row}")
        echo(f"    ({found.groups} groups of each verifier, then the answers of each program; {LETTERS})")
    for number, verifier in enumerate(draft.verifiers):
        score = "" if verifier.score is None else f"score {verifier.score:.4g}"
        told = "chosen" if verifier.chosen else verifier.reason
        echo(f"  verifier {number}: {', '.join(part for part in (score, told) if part)}")
    if draft.nearest is not None:
        echo(f"  nearest: {draft.nearest.of}, question {draft.nearest.prompt:.2f}, code {draft.nearest.code:.2f}")
    if draft.rates:
        echo(f"  student: right at level {', '.join(f'{one.level}: {one.solved} of {one.n}' for one in draft.rates)}")
    for wrong in draft.wrong:
        echo(f"    wrong at {wrong}")
    for reject in draft.rejects:
        echo(f"  {reject.item} dropped at {reject.stage}: {reject.reason} {reject.detail}")


def print_program(draft: Draft) -> None:
    """The program, and a question of each level."""
    _name(draft)
    echo(draft.source or "(no reply could be read as a program)")
    for level, prompt in enumerate(draft.prompts, 1):
        echo(f"\nlevel {level}: {prompt}")


def _name(draft: Draft) -> None:
    kept = "kept" if draft.ended is None else "dropped"
    brief = ", ".join(f"{name} {value}" for name, value in draft.brief.items())
    head(f"{draft.name}: {kept}; {brief}; by {draft.author or 'nobody'}{' (SIMULATED)' if draft.simulated else ''}")


PRINTERS = {"overview": print_summary, "why": print_why, "program": print_program, "lineage": print_lineage}
