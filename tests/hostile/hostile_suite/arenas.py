"""Cases against solutions and testings: cross-executed in one run, judged by an oracle that knows no attack.

Each case is a run of its own, on one worker that lives on from case to case, so that it has neighbours before and behind
it, and whatever is found belongs to it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from evosyn.crossexec.executor import CrossexecConfig, CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domains_named
from evosyn.jobs import CallsJob, ItemOutcome, Limits, Status
from evosyn.records import PassMatrix, Solution
from hostile_suite.backends import HONEST, PATIENT, QUICK, Backend
from hostile_suite.findings import Kind, Tally
from hostile_suite.host import Host, forget_own_memory, own_memory_mb, settled
from hostile_suite.meter import Meter
from hostile_suite.model import LETTER_OF, TABLE, Case, Role, letters
from hostile_suite.scenes import Column, Row, Scene, function_scenes, stdin_scenes
from hostile_suite.watching import Watched

DOMAINS = domains_named(("python-function", "python-stdin"))
CONFIG = CrossexecConfig(canaries=False)
OWN_MEMORY_MB = 800
"""What texts may add to the size of our own process."""
ALONE = (Role.SOLUTION, Role.COMPANY, Role.VALUE, Role.STRATEGY)
"""Roles of texts beside which everything else takes no time."""
SPARE_PROCESSES = 4
"""Processes that a worker may keep for later beside those of its start."""
_STATUS_KINDS = {
    Status.INFRASTRUCTURE: Kind.INFRASTRUCTURE,
    Status.TESTING_BROKEN: Kind.CHOSEN,
    Status.NOT_RUN: Kind.CHOSEN,
}
_WORD_OF = {"P": "pass", "F": "wrong", "E": "exception", "T": "timeout", "K": "killed", "B": "broken", "N": "not-run"}


def limits_of(cases: Sequence[Case]) -> Limits:
    """The limits for cases that run together: those of one family, or of quick ones."""
    if any(case.family.slow for case in cases):
        return PATIENT
    return HONEST if any(case.family.role is Role.HONEST for case in cases) else QUICK


def run_cells(backend: Backend, host: Host, cases: Sequence[Case], tally: Tally) -> None:
    """Every case that has the form of a matrix, over functions and over standard input."""
    scenes = [scene for case in cases for scene in (*function_scenes(case, host.fill), *stdin_scenes(case, host.fill))]
    if not scenes:
        return
    began = time.monotonic()
    forget_own_memory()
    memory = own_memory_mb()
    warm_up(backend)
    before = backend.processes()
    limits = limits_of(cases)
    for scene in scenes:
        _run(backend, host, scene, limits, tally)
    warm_up(backend)
    after = settled(backend.processes, before + SPARE_PROCESSES)
    if after > before + SPARE_PROCESSES:
        tally.find(Kind.HOST, "all", span(cases), f"{after - before} processes were left")
    if own_memory_mb() - memory > OWN_MEMORY_MB:
        tally.find(Kind.HOST, "all", span(cases), f"our own process grew by {own_memory_mb() - memory} MB")
    tally.seconds += time.monotonic() - began


def _run(backend: Backend, host: Host, scene: Scene, limits: Limits, tally: Tally) -> None:
    """Run one scene and judge it."""
    ours = [row.source for row in scene.rows if row.honest is not None and scene.case.family.role in ALONE]
    watched = Watched(backend.sandbox(), host.secret, ours)
    executor = CrossExecutor(Judge(watched, DOMAINS, limits, retries=0, recheck=False), config=CONFIG)
    solutions, testings = [Solution(row.source) for row in scene.rows], [column.testing for column in scene.columns]
    name, mode = scene.case.name, scene.columns[0].mode
    tally.cases.add(name)
    try:
        with backend.meter() as meter:
            (matrix,) = executor.matrices([(scene.problem, solutions, testings)])
    except Exception as error:  # noqa: BLE001 - whatever a text makes of a run is a finding
        tally.find(Kind.ENDED, mode, name, f"{type(error).__name__}: {str(error)[:200]}")
        backend.reopen()
        return
    judge(scene, matrix, watched, tally)
    look_around(host, watched, meter, Place(mode, name), tally)


class Place(NamedTuple):
    """Where something was found, when it is no single cell: a mode, and cases."""

    mode: str
    names: str


def look_around(host: Host, watched: Watched, meter: Meter, place: Place, tally: Tally) -> None:
    """What was touched on our side, whether our secret came out, and whether it took longer than it may."""
    late, names = watched.late(meter), place.names
    if late:
        tally.find(Kind.LATE, place.mode, names, late)
    for effect in host.effects():
        tally.find(Kind.HOST, "all", names, effect)
    for leak in watched.leaks:
        tally.find(Kind.HOST, "all", names, f"our secret came out of {leak!r}")


def judge(scene: Scene, matrix: PassMatrix, watched: Watched, tally: Tally) -> None:
    """Compare every cell, every case of a cell and every status with what the scene allows."""
    tally.cases.add(scene.case.name)
    for m, row in enumerate(scene.rows):
        for n, column in enumerate(scene.columns):
            tally.cell(column.mode)
            letter = str(matrix.verdicts_MN[m, n])
            allowed = scene.allowed(row, column)
            parts = matrix.cases_NMC[n][m] if matrix.cases_NMC is not None else ()
            _judge_cell(scene, (row, column), letter, [str(part) for part in parts], tally)
            if letter in letters(allowed) and column.mode == TABLE and column.claims is None:
                _judge_statuses(scene, row, column, allowed, watched, tally)
            if matrix.durations_MN is not None and not _sane(float(matrix.durations_MN[m, n])):
                tally.find(Kind.LATE, column.mode, scene.case.name, f"{matrix.durations_MN[m, n]} s are told")


def _judge_cell(scene: Scene, cell: tuple[Row, Column], letter: str, parts: Sequence[str], tally: Tally) -> None:
    row, column = cell
    allowed = letters(scene.allowed(row, column))
    name, honest = scene.case.name, row.honest is not None and not column.asked
    if letter in allowed:
        computes = scene.case.attack.computes or honest or column.claims is not None or "P" in allowed
        if "P" in parts and not computes:
            tally.find(
                Kind.FALSE_PASS, column.mode, name, f"cases {''.join(parts)} of solution {scene.rows.index(row)}"
            )
        return
    which = f"solution {scene.rows.index(row)} under testing {scene.columns.index(column)}"
    detail = f"{_WORD_OF.get(letter, 'unknown')}, allowed {''.join(sorted(allowed))}: {which}"
    kind = Kind.UNEXPECTED
    if letter == LETTER_OF["unknown"]:
        kind = Kind.INFRASTRUCTURE
    elif honest:
        kind = Kind.FALSE_FAIL
    elif letter == LETTER_OF["pass"]:
        kind = Kind.FALSE_PASS
    elif letter in (LETTER_OF["broken"], LETTER_OF["not-run"]):
        kind = Kind.CHOSEN
    tally.find(kind, column.mode, name, detail)


def _judge_statuses(
    scene: Scene, row: Row, column: Column, allowed: frozenset[str], watched: Watched, tally: Tally
) -> None:
    """The statuses of the calls, where the words of a case tell more than letters do."""
    if row.honest is not None or column.asked:
        return
    for seen in watched.seen:
        if isinstance(seen.job, CallsJob) and seen.program == row.source:
            for outcome in seen.outcomes:
                word = _status_word(outcome)
                if word and word not in allowed:
                    detail = f"status {outcome.status.value} ({outcome.detail}), allowed {sorted(allowed)}"
                    kind = _STATUS_KINDS.get(outcome.status, Kind.UNEXPECTED)
                    tally.find(kind, column.mode, scene.case.name, detail)
                    return


def _status_word(outcome: ItemOutcome) -> str:
    return "" if outcome.status is Status.OK else outcome.status.value


def span(cases: Sequence[Case]) -> str:
    """The first and the last of cases that ran together."""
    return cases[0].name if len(cases) == 1 else f"{cases[0].name} ... {cases[-1].name}"


def warm_up(backend: Backend) -> None:
    """One honest job of each kind, so that what a worker keeps is there before and after."""
    from hostile_suite.warming import warm

    try:
        warm(backend.sandbox())
    except Exception:  # noqa: BLE001 - what broke it is reported by the run that did
        backend.reopen()
        warm(backend.sandbox())


def _sane(seconds: float) -> bool:
    return math.isfinite(seconds) and 0.0 <= seconds < 600.0


def _short(text: str) -> str:
    return repr(text[-160:])
