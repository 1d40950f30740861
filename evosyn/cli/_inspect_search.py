"""The answers about a directory of `evosyn evolve` as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evosyn.cli._evolve_view import print_leaderboard, spent
from evosyn.cli._output import echo
from evosyn.cli._tables import print_table
from evosyn.cli._texts import head, print_conclusion, print_matrix

if TYPE_CHECKING:
    from evosyn.ports import Axis
    from evosyn.reading.search_answers import (
        CandidateRow,
        CandidateStory,
        CommitDecision,
        Difference,
        Grids,
        IslandGrid,
        PromptAndReplies,
        SearchOverview,
    )
    from evosyn.reading.search_duels import Rival
    from evosyn.records import Json

COLUMNS = ("name", "proposals", "candidates", "duplicate", "same behaviour", "invalid", "kept", "wasted", "gain",
           "cost")  # fmt: skip


def print_overview(run: SearchOverview) -> None:
    """What was searched, the leaderboard, the curve, and what each proposer wasted, repeated and won."""
    simulated = " (simulated teacher)" if run.simulated else ""
    head(f"{run.path}: strategy evolved on {run.manifest['source']}{simulated}")
    print_conclusion(run.conclusion)
    print_counts(run)
    if run.report is not None:
        print_leaderboard(run.report)
        echo(f"ended by {run.report['stopped']}; {spent(run.report)}")
    print_proposers(run.proposers)


def print_counts(run: SearchOverview) -> None:
    """How far a search has come, and the best by evaluations."""
    counts = run.counts
    if not counts["candidates"]:  # the conclusion says what is done before the first
        return
    echo(
        f"{_counted(counts['evaluations'], 'evaluation')} in {_counted(counts['proposals'], 'proposal')}, "
        f"{_counted(counts['cells'], 'cell')} of {counts['capacity']}, "
        f"{_counted(counts['migrations'], 'migration')}, {_counted(counts['restarts'], 'restart')}"
    )
    steps = ", ".join(f"{point.score:.4f} at {point.evaluations}" for point in run.curve[-6:])
    echo(f"best so far (evaluations): {steps or 'none has a score'}")


def print_islands(shown: Grids) -> None:
    """Each island's grid over the first two axes, the best score of each cell in hundredths."""
    for grid in shown.grids:
        _grid(grid, shown.axes)


def print_program(one: CandidateStory) -> None:
    """One candidate: its figures, its evidence, its source, and the difference to its parent."""
    _candidate(one, one.why)
    detail = {key: value for key, value in one.detail.items() if key not in ("prompt", "idea")}
    if one.idea:
        echo(f"  what the model said: {one.idea}")
    if detail:
        echo(f"  {json.dumps(detail)}")
    if one.evaluation is not None:
        echo("  " + ", ".join(f"{key} {value:.3f}" for key, value in one.evaluation.metrics.items()))
        for line in one.evaluation.feedback:
            echo(f"  {line}")
    echo(f"\n{one.text}")
    if one.difference is not None:
        head(f"difference to its parent {one.difference.before} ({_score(one.lineage[1].score)})")
        print_difference(one.difference)
    _rivals(one.rivals)


def print_lineage(rows: tuple[CandidateRow, ...]) -> None:
    """The ancestors of a candidate, one a line, the initial program last."""
    for row in rows:
        others = f"  with {', '.join(row.parents[1:])}" if row.parents[1:] else ""
        made = f"{row.proposer} {row.operator}"
        when = "at the start   " if row.proposal < 0 else f"proposal {row.proposal:>5} "
        echo(f"{row.id}  {_score(row.score):>8}  {when} {made}{others}")


def print_why(one: CommitDecision) -> None:
    """Every decision about one candidate, with the numbers that caused it."""
    _candidate(one, one.why)
    if one.cell is not None:
        values = ", ".join(f"{axis} {value:.3f}" for axis, value in one.behaviour.items())
        where = "every island" if one.proposal < 0 else f"island {one.island}"
        echo(f"  its behaviour ({values}) is cell {one.cell} of {where}")
        held = "was empty" if one.holder is None else f"was held by {one.holder} with {_score(one.holder_score)}"
        echo(f"  the cell {held}")
    if one.best_before is not None:
        echo(f"  best of the search before it: {one.best_before:.4f}")
    _rivals(one.rivals)


def print_prompt(one: PromptAndReplies) -> None:
    """The exact prompt and replies behind a candidate."""
    head("prompt")
    echo(one.prompt)
    for reply in one.replies:
        head(f"reply {reply.id}")
        echo(reply.text if reply.text is not None else "(not in the reply cache of this run)")


def print_difference(one: Difference) -> None:
    """The difference between the sources of two candidates."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in one.lines:
        echo(line, fg=colours.get(line[:1]))


PRINTERS: Mapping[str, Callable[[Any], None]] = {
    "overview": print_overview,
    "islands": print_islands,
    "program": print_program,
    "lineage": print_lineage,
    "why": print_why,
    "prompt": print_prompt,
    "matrix": print_matrix,
    "diff": print_difference,
}

__all__ = ["PRINTERS", "print_counts", "print_proposers", "print_why", "spent"]


def print_proposers(proposers: Mapping[str, Json]) -> None:
    """What each proposer wasted, repeated and won."""
    if not proposers:  # nothing is proposed yet
        return
    rows = []
    for name, row in proposers.items():
        fates, total = row["fates"], max(row["candidates"], 1)
        kept = fates.get("new", 0) + fates.get("improved", 0)
        invalid = fates.get("invalid", 0) + fates.get("no-program", 0)
        shares = (fates.get("duplicate", 0), fates.get("same-behaviour", 0), invalid, kept)
        told = (f"{row['gain']:.4f}", f"${row['cost']:.4f}" if row["cost"] else "")
        percents = (f"{100 * count / total:.1f} %" for count in shares)
        rows.append((name, row["proposals"], row["candidates"], *percents, sum(row["wasted"].values()), *told))
    print_table("proposers", COLUMNS, rows)
    for name, row in proposers.items():
        for reason, count in sorted(row["wasted"].items(), key=lambda item: -item[1]):
            echo(f"  {name}: {count} x {reason}")


def _grid(grid: IslandGrid, axes: tuple[Axis, ...]) -> None:
    best: dict[tuple[int, ...], float] = {}
    for elite in grid.cells:
        place = (*elite.cell, 0, 0)[:2]
        best[place] = max(best.get(place, 0.0), elite.score or 0.0)
    head(f"{grid.name}: {grid.filled} of {grid.capacity} cells")
    down, right = axes[0], axes[1] if len(axes) > 1 else None
    columns = 1 if right is None else right.bins
    for row in reversed(range(down.bins)):
        low = down.low + row * (down.high - down.low) / down.bins
        cells = "".join(f"{100 * best[(row, at)]:4.0f}" if (row, at) in best else "   ." for at in range(columns))
        echo(f"  {low:6.2f} |{cells}")
    echo(
        f"  rows: {down.name} from its lower bound up"
        + ("" if right is None else f"; columns: {right.name}, {right.low:g} to {right.high:g}")
        + "; best score of each cell in hundredths"
    )


def _rivals(rivals: Sequence[Rival]) -> None:
    """Seeds won and lost against the parent and the initial program, with what decided them where that is known."""
    from evosyn.evaluators.duel import told

    if rivals:
        echo("\nby the draws of the search; tables and card are of fresh ones:")
    for rival in rivals:
        tally, name = rival.tally, "its parent" if rival.role == "parent" else "the initial program"
        echo()
        counted = f"{_counted(tally.won, 'seed')} won, {tally.lost} lost, {tally.even} even"
        head(f"against {name} {rival.id} ({_score(rival.score)}): {counted}")
        shown = {duel.problem: told(duel, "it", name) for duel in rival.duels}
        for seed in rival.seeds:
            what = "won" if seed.ours > seed.theirs else "lost"
            lines = shown.get(seed.problem, [f"{what} {seed.problem}: {seed.ours:.2f} against {seed.theirs:.2f}"])
            echo("\n".join([f"  {lines[0]}", *(f"    {line}" for line in lines[1:])]))


def _candidate(row: CandidateRow, why: str) -> None:
    head(f"{row.id}  score {_score(row.score)}  {row.fate}")
    if row.proposal < 0:
        echo("  one of the programs that the search started from, on every island")
    else:
        echo(f"  proposal {row.proposal} on island {row.island} by {row.proposer}")
    echo(f"  parents: {', '.join(row.parents) or 'none'}")
    echo(f"  {why}")


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def _score(score: float | None) -> str:
    return "none" if score is None else f"{score:.4f}"
