"""What `evosyn inspect RUN` shows of a run of `evosyn evolve`. Texts of candidates are escaped: models wrote them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from evosyn.cli._inspect_data import safe
from evosyn.cli._run_reader import Entry, Run
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.evolve.archive import Archive
    from evosyn.records import Json


def show_overview(run: Run, as_json: bool) -> None:
    """What was searched, the leaderboard, the curve, and what each proposer wasted, repeated and won."""
    state = run.state()
    proposers = {name: tally.to_json() for name, tally in sorted(state.tallies.items())}
    report = run.report
    if as_json:
        curve = [list(point) for point in state.curve]
        counts = {"evaluations": state.evaluations, "proposals": state.steps, "cells": len(state.record)}
        _json({"manifest": run.manifest, **counts, "curve": curve, "proposers": proposers, "report": report})
        return
    simulated = " (simulated teacher)" if run.manifest.get("simulated") else ""
    click.secho(f"{run.path}: strategy evolved on {run.manifest['source']}{simulated}", bold=True)
    click.echo(
        f"{state.evaluations} evaluations in {state.steps} proposals, {len(state.record)} cells of "
        f"{state.record.capacity}, {state.migrations} migrations, {state.restarts} restarts"
    )
    if report is None:
        best = "none" if state.best is None else f"{state.best.candidate.id} {state.best_score:.4f}"
        click.echo(f"not finished; best so far: {best}. Repeat the `evosyn evolve` command to go on")
    else:
        from evosyn.cli._evolve_view import leaderboard, report_console

        report_console().print(leaderboard(report))
        click.echo(f"ended by {report['stopped']}; winner {report['best']['id']}")
    _curve(state.curve)
    _proposers(proposers)


def show_islands(run: Run, as_json: bool) -> None:
    """Each island's grid over the first two axes, the best score of each cell in hundredths."""
    state = run.state()
    if as_json:
        _json(
            [
                {"cell": list(cell), "id": elite.candidate.id, "score": elite.evaluation.score, "island": number}
                for number, island in enumerate([*state.islands, state.record])
                for cell, elite in sorted(island.cells().items())
            ]
        )
        return
    for number, island in enumerate(state.islands):
        _grid(f"island {number}", island)
    _grid("everything ever kept", state.record)


def show_program(run: Run, name: str, as_json: bool) -> None:
    """One candidate: its figures, its evidence, its source, and the difference to its parent."""
    entry = run.find([name])[0]
    if as_json:
        _json(_entry_json(entry))
        return
    _head(entry)
    if entry.trial.evaluation is not None:
        for line in entry.trial.evaluation.feedback:
            click.echo(f"  {safe(line)}")
    click.echo()
    click.echo(safe(entry.trial.candidate.text))
    if entry.trial.candidate.parents:
        parent = run.find([entry.trial.candidate.parents[0]])[0]
        click.secho(f"difference to its parent {parent.id} ({_score(parent)})", bold=True)
        _print_diff(parent, entry)


def show_diff(run: Run, first: str, second: str, as_json: bool) -> None:
    """The difference between the sources of two candidates."""
    entries = run.find([first, second]) if first != second else run.find([first]) * 2
    if as_json:
        _json({"from": entries[0].id, "to": entries[1].id, "diff": list(_diff(*entries))})
        return
    _print_diff(*entries)


def show_lineage(run: Run, name: str, as_json: bool) -> None:
    """The ancestors of a candidate, one a line, the initial program last."""
    chain = run.lineage(run.find([name])[0])
    if as_json:
        _json([_entry_json(entry, text=False) for entry in chain])
        return
    for entry in chain:
        operator = entry.trial.candidate.detail.get("operator", entry.trial.candidate.detail.get("name", ""))
        others = ", ".join(entry.trial.candidate.parents[1:])
        click.echo(
            f"{entry.id}  {_score(entry):>8}  proposal {entry.step.index:>5}  {entry.step.proposer} {operator}"
            + (f"  with {others}" if others else "")
        )


def show_why(run: Run, name: str, as_json: bool) -> None:
    """Every decision about one candidate, with the numbers that caused it."""
    entry = run.find([name])[0]
    decision = run.decision(entry)
    lines = [_fate_line(entry, decision.same_program, decision.same_behaviour)]
    if decision.cell is not None:
        axes = [axis.name for axis in run.state().axes]
        evaluation = entry.trial.evaluation
        values = () if evaluation is None else evaluation.descriptor
        shown = ", ".join(f"{axis} {value:.3f}" for axis, value in zip(axes, values, strict=True))
        lines.append(f"its behaviour ({shown}) is cell {decision.cell} of island {entry.step.island}")
        holder = decision.holder
        lines.append(
            "the cell was empty" if holder is None else f"the cell was held by {holder.id} with {_score(holder)}"
        )
    if decision.best_before is not None:
        lines.append(f"best of the search before it: {decision.best_before:.4f}")
    if as_json:
        _json({**_entry_json(entry), "cell": decision.cell, "decisions": lines})
        return
    _head(entry)
    for line in lines:
        click.echo(f"  {line}")


def show_prompt(run: Run, name: str, as_json: bool) -> None:
    """The exact prompt and replies behind a candidate.

    Raises:
        UsageError: no model made it.
    """
    entry = run.find([name])[0]
    prompt = entry.trial.candidate.detail.get("prompt")
    if prompt is None:
        raise UsageError(
            f"{entry.id} was made by {entry.step.proposer!r}, which asks no model; see --lineage and --diff"
        )
    replies = _replies(run, entry)
    if as_json:
        _json({"id": entry.id, "prompt": prompt, "replies": replies})
        return
    click.secho("prompt", bold=True)
    click.echo(safe(str(prompt)))
    for number, reply in replies.items():
        click.secho(f"reply {number}", bold=True)
        click.echo(safe(reply if reply is not None else "(not in the reply cache of this directory)"))


def _replies(run: Run, entry: Entry) -> dict[str, str | None]:
    from evosyn.teachers.cache import ReplyCache

    file = run.path / "replies.sqlite"
    if not file.exists():
        return dict.fromkeys(entry.step.replies)
    cache = ReplyCache(file)
    try:
        found = {number: cache.get(number) for number in entry.step.replies}
    finally:
        cache.close()
    return {number: None if reply is None else reply.text for number, reply in found.items()}


def _fate_line(entry: Entry, same_program: str | None, same_behaviour: str | None) -> str:
    from evosyn.evolve.events import Fate
    from evosyn.program_identity import why_not

    evaluation = entry.trial.evaluation
    told = {
        Fate.NEW: "kept: the first in its cell",
        Fate.IMPROVED: "kept: better than what held its cell",
        Fate.NOT_BETTER: "not kept: its cell holds a better one (score, then testing, then brevity)",
        Fate.DUPLICATE: f"not evaluated: the same program as {same_program or 'another of the same proposal'}",
        Fate.SAME_BEHAVIOUR: f"not kept: ranks everything like {same_behaviour or 'another of the same proposal'}",
        Fate.INVALID: f"invalid: {'' if evaluation is None else evaluation.invalid}",
        Fate.NO_PROGRAM: f"not evaluated: {why_not(entry.trial.candidate.text)}",
    }
    return safe(told[entry.fate])


def _head(entry: Entry) -> None:
    candidate, evaluation = entry.trial.candidate, entry.trial.evaluation
    click.secho(f"{entry.id}  score {_score(entry)}  {entry.fate.value}", bold=True)
    click.echo(f"  proposal {entry.step.index} on island {entry.step.island} by {entry.step.proposer}")
    click.echo(f"  parents: {', '.join(candidate.parents) or 'none'}")
    detail = {key: value for key, value in candidate.detail.items() if key != "prompt"}
    if detail:
        click.echo(f"  {safe(json.dumps(detail))}")
    if evaluation is not None and evaluation.metrics:
        click.echo("  " + ", ".join(f"{key} {value:.3f}" for key, value in evaluation.metrics.items()))


def _entry_json(entry: Entry, *, text: bool = True) -> dict[str, Json]:
    evaluation = entry.trial.evaluation
    candidate = entry.trial.candidate
    value: dict[str, Json] = {
        "id": entry.id,
        "score": entry.score,
        "fate": entry.fate.value,
        "proposal": entry.step.index,
        "island": entry.step.island,
        "proposer": entry.step.proposer,
        "parents": list(candidate.parents),
        "detail": dict(candidate.detail),
    }
    if evaluation is not None:
        value |= {"invalid": evaluation.invalid, "metrics": dict(evaluation.metrics)}
        value |= {"descriptor": list(evaluation.descriptor), "feedback": list(evaluation.feedback)}
    return {**value, "text": candidate.text} if text else value


def _diff(first: Entry, second: Entry) -> list[str]:
    before, after = (entry.trial.candidate.text.splitlines() for entry in (first, second))
    return list(difflib.unified_diff(before, after, first.id, second.id, lineterm=""))


def _print_diff(first: Entry, second: Entry) -> None:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in _diff(first, second):
        click.secho(safe(line), fg=colours.get(line[:1]))


def _curve(curve: list[Json]) -> None:
    steps = ", ".join(f"{point.score:.4f} at {point.evaluations}" for point in curve[-6:])
    click.echo(f"best so far (evaluations): {steps}")


def _proposers(proposers: Mapping[str, Mapping[str, Json]]) -> None:
    from rich.table import Table

    from evosyn.cli._evolve_view import report_console

    table = Table(title="proposers", title_justify="left")
    table.add_column("name")
    for column in (
        "proposals",
        "candidates",
        "duplicate",
        "same behaviour",
        "invalid",
        "kept",
        "wasted",
        "gain",
        "cost",
    ):
        table.add_column(column, justify="right")
    for name, row in proposers.items():
        fates, total = row["fates"], max(row["candidates"], 1)
        kept = fates.get("new", 0) + fates.get("improved", 0)
        invalid = fates.get("invalid", 0) + fates.get("no-program", 0)
        wasted = sum(row["wasted"].values())
        shares = (fates.get("duplicate", 0), fates.get("same-behaviour", 0), invalid, kept)
        table.add_row(
            name,
            str(row["proposals"]),
            str(row["candidates"]),
            *(f"{100 * count / total:.1f} %" for count in shares),
            str(wasted),
            f"{row['gain']:.4f}",
            f"${row['cost']:.4f}" if row["cost"] else "",
        )
    report_console().print(table)
    for name, row in proposers.items():
        for reason, count in sorted(row["wasted"].items(), key=lambda item: -item[1]):
            click.echo(f"  {name}: {count} x {safe(reason)}")


def _grid(title: str, archive: Archive) -> None:
    best: dict[tuple[int, ...], float] = {}
    for cell, elite in archive.cells().items():
        place = (*cell, 0, 0)[:2]
        best[place] = max(best.get(place, 0.0), elite.evaluation.score or 0.0)
    click.secho(f"{title}: {len(archive)} of {archive.capacity} cells", bold=True)
    down, right = archive.axes[0], archive.axes[1] if len(archive.axes) > 1 else None
    columns = 1 if right is None else right.bins
    for row in reversed(range(down.bins)):
        low = down.low + row * (down.high - down.low) / down.bins
        cells = "".join(f"{100 * best[(row, at)]:4.0f}" if (row, at) in best else "   ." for at in range(columns))
        click.echo(f"  {low:6.2f} |{cells}")
    click.echo(
        f"  rows: {down.name} from its lower bound up"
        + ("" if right is None else f"; columns: {right.name}, {right.low:g} to {right.high:g}")
        + "; best score of each cell in hundredths"
    )


def _score(entry: Entry) -> str:
    return "none" if entry.score is None else f"{entry.score:.4f}"


def _json(value: Json) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
