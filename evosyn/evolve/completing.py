"""A search in its run directory, from wherever it stands to its report: what all recipes that evolve something share.

The recipe chooses what is evolved and who proposes (`SearchParts`); this runs the search, has the thing evolved write
what it found, and writes `report.json` (DESIGN.md section 4).
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

from evosyn import __version__
from evosyn.errors import BudgetSpent, CorruptRun, TeacherUnavailable
from evosyn.evolve.islands import Archipelago
from evosyn.evolve.loop import Search
from evosyn.evolve.stopping import Stop, StopConfig
from evosyn.lengths import remedy_of
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.running.progress import Usage

log = logging.getLogger(__name__)


def complete(
    search: Search,
    run: RunDir,
    *,
    more: int = 0,
    began: float | None = None,
    on_limits: Callable[[StopConfig], None] | None = None,
    on_end: Callable[[Stop], None] | None = None,
    before: Mapping[str, Usage] | None = None,
    settings: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Go on with a search over `run.journal` until it ends; returns the value of `report.json`.

    Where that is already of this very state, and its files are as they were written, it is shown, and nothing is scored
    or written again. What a person made of a file is kept beside it, and said, before the run writes its own.

    Args:
        more: proposals or evaluations (whichever are limited) to add.
        began: when the command began (`time.monotonic`), for the report; by default now.
        before: what was spent before the search, by phase; it is part of what the report says.
        settings: what decides how the search is finished, beside its header.
        on_limits: told how far the search may go; on_end: why it ended, before anything is written, if anything is.

    Raises:
        UsageError: the journal belongs to another configuration, or the first initial candidate is invalid.
        BudgetSpent: the report of what was found until then is written; the same command goes on.
        TeacherUnavailable: from proposers, or one of them made nothing usable for too long; nothing is written.
    """
    began = time.monotonic() if began is None else began
    if more:
        search.continue_for(more)
    if on_limits is not None:
        on_limits(search.limits)
    spent: BudgetSpent | None = None
    try:
        stopped = search.run()
    except BudgetSpent as error:
        spent, stopped = error, Stop.COST
    if stopped is Stop.FAILING:
        raise TeacherUnavailable(_failing(search.state, search.limits.failures))
    made = {"evosyn": __version__, **(settings or {})}
    report, altered = _held_report(run)
    if altered or not _is_whole(run, report, {**_course(search.state, stopped), "finished_by": made}):
        if on_end is not None:
            on_end(stopped)
        _keep([run.file(name) for name in altered])
        run.written.clear()
        report = {
            **search.evolved.finish(search.state, run),
            **_course(search.state, stopped),
            **_spent(search.state, before or {}),
            "wall_s": round(time.monotonic() - began, 2),
            "finished_by": made,
            **_files(run),
        }
        run.write_json("report.json", report)
    if spent := spent or search.spent:
        raise spent
    return report


def _course(state: Archipelago, stopped: Stop) -> dict[str, Json]:
    return {**state.report(), "seed": state.seed.root, "stopped": stopped.value}


def _held_report(run: RunDir) -> tuple[dict[str, Json], list[str]]:
    """The report that an earlier command wrote, and files of it that were altered; empty where it is lost or damaged.

    Raises:
        UsageError: it is of another version.
    """
    if not run.file("report.json").exists():
        return {}, []
    try:
        known: dict[str, Json] = run.read_json("report.json")
        altered = run.altered(known)
    except (CorruptRun, OSError):
        return {}, []
    known.pop("v", None)
    return known, altered


def _is_whole(run: RunDir, known: Mapping[str, Json], told: Mapping[str, Json]) -> bool:
    """Whether a report says the same, and each of its files is there."""
    same = {name: value for name, value in told.items() if name not in ("model_calls", "cost")}  # with what came before
    files = known.get("files")
    if json.loads(json.dumps(same)) != {name: known.get(name) for name in same} or not isinstance(files, list):
        return False
    return all(isinstance(name, str) and run.file(name).is_file() for name in files)


def _files(run: RunDir) -> dict[str, Json]:
    """What was written: the names, and digests of those that are files."""
    names = sorted(run.written)
    return {"files": names, "digests": {name: run.digest(name) for name in names if run.file(name).is_file()}}


def _keep(altered: Sequence[Path]) -> None:
    """Give each file a name that is free, and say so; whatever it is, it is not read."""
    for path in altered:
        names = (path.with_name(f"{path.name}.altered{number or ''}") for number in count())
        copy = next(name for name in names if not os.path.lexists(name))
        path.replace(copy)
        told = "is not as this run wrote it (it was altered, or cut off)"
        log.warning("%s: %s; %s keeps it, and the run writes its own again", path, told, copy.name)


def _spent(state: Archipelago, before: Mapping[str, Usage]) -> dict[str, Json]:
    """Model calls and dollars in all, and with tokens by phase; dollars are None where a price is unknown."""
    judged = state.assessing
    search = Usage(state.replies - judged.calls, *state.tokens, cost=state.cost - (judged.cost or 0.0))
    every = {**before, "search": search, "evaluation": judged}
    phases = {phase: usage for phase, usage in every.items() if usage.calls}
    total = Usage()
    for usage in phases.values():
        total = total.plus(usage)
    by_phase = {phase: usage.told() for phase, usage in phases.items()}
    return {"model_calls": total.calls, "cost": total.cost, "spent": by_phase}


def _failing(state: Archipelago, times: int) -> str:
    name, worst = max(state.tallies.items(), key=lambda item: sum(item[1].wasted.values()))
    reasons = sorted(worst.wasted.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{count} x {reason}" for reason, count in reasons)
    remedy = remedy_of(worst.wasted, "proposal") or "repair the model"
    return (
        f"the proposer {name!r} made nothing usable {times} times in a row ({listed}); "
        f"nothing is lost: {remedy} and repeat the command"
    )
