"""Cases as completions: scored in one batch, large enough that plain programs share a process.

The honest neighbours of a hostile completion are other completions of the same prompt, as in GRPO.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from evosyn.train.scoring import Score, Scorer, Task, reward_judge
from hostile_suite import fitting, tasks
from hostile_suite.arenas import ALONE, DOMAINS, Place, limits_of, look_around, span, warm_up
from hostile_suite.backends import Backend
from hostile_suite.findings import Kind, Tally
from hostile_suite.host import Host
from hostile_suite.model import REWARD, TABLE, Case, Role, letters
from hostile_suite.scenes import RIGHT, Column, Row, Scene, function_scenes
from hostile_suite.watching import Watched

ROLES = (Role.SOLUTION, Role.COMPANY, Role.HONEST, Role.STARTER)
FILLERS = 40
"""Plain honest completions among the hostile ones."""


@dataclass(frozen=True)
class _Entry:
    """One completion."""

    case: Case
    task: Task
    source: str
    allowed: frozenset[str]
    honest: bool


def run_rewards(backend: Backend, host: Host, cases: Sequence[Case], tally: Tally) -> None:
    """Every case that makes sense as a completion."""
    chosen = [case for case in cases if case.family.role in ROLES and case.fits(REWARD)]
    entries = [entry for case in chosen for entry in _entries(case, host)]
    if not entries:
        return
    began = time.monotonic()
    _score(backend, host, _mixed(entries, chosen[0]), tally)
    warm_up(backend)
    tally.seconds += time.monotonic() - began


def _entries(case: Case, host: Host) -> list[_Entry]:
    """The rows of one of the case's scenes, under one honest testing."""
    scenes = [] if case.attack.body is not None else function_scenes(case, host.fill)
    if case.family.role is Role.COMPANY:  # what may share a process is judged by data
        scenes = [scene for scene in scenes if scene.columns[0].mode == TABLE]
    choices = [(scene, column) for scene in scenes for column in scene.columns if not column.asked]
    if not choices:
        return []
    scene, column = case.random("reward").choice(choices)
    if case.family.role is Role.STARTER:
        column = Column(column.mode, column.testing, case.words(REWARD))
    task = Task(case.name, scene.problem, column.testing)
    return [_Entry(case, task, row.source, _allowed(scene, row, column), row.honest is not None) for row in scene.rows]


def _allowed(scene: Scene, row: Row, column: Column) -> frozenset[str]:
    if column.claims is not None:
        return column.claims
    return scene.case.words(REWARD) if row.honest is None else row.honest


def _mixed(entries: Sequence[_Entry], first: Case) -> list[_Entry]:
    """The completions with plain honest ones between them."""
    stream = first.random("fillers")
    task = tasks.draw_task(stream, ("number",))
    asked = Task("filler", tasks.function_problem(task, "filler"), tasks.as_cases(task))
    fillers = []
    for place in range(FILLERS):
        source = task.honest(style=place, pad=f"{place} {tasks.draw_pad(stream)[:5000]}")
        fillers.append(_Entry(first, asked, source, RIGHT, True))
    mixed = list(entries)
    for filler in fillers:
        mixed.insert(stream.randrange(len(mixed) + 1), filler)
    return mixed


def _score(backend: Backend, host: Host, entries: Sequence[_Entry], tally: Tally) -> None:
    ours = [entry.source for entry in entries if entry.honest and entry.case.family.role in ALONE]
    watched = Watched(backend.sandbox(), host.secret, ours)
    names = span([entry.case for entry in entries])
    scorer = Scorer(reward_judge(watched, DOMAINS, limits_of([entry.case for entry in entries])))
    try:
        with backend.meter() as meter:
            scores = scorer.score([entry.task for entry in entries], [fitting.fenced(one.source) for one in entries])
    except Exception as error:  # noqa: BLE001 - whatever a text makes of a batch is a finding
        backend.reopen()
        if len(entries) == 1:
            tally.find(Kind.ENDED, REWARD, names, f"{type(error).__name__}: {error}")
        else:
            half = len(entries) // 2
            _score(backend, host, entries[:half], tally)
            _score(backend, host, entries[half:], tally)
        return
    for entry, score in zip(entries, scores, strict=True):
        _judge(entry, score, tally)
    look_around(host, watched, meter, Place(REWARD, names), tally)


def _judge(entry: _Entry, score: Score, tally: Tally) -> None:
    tally.cases.add(entry.case.name)
    tally.cell(REWARD)
    letter = score.verdict.value
    allowed = letters(entry.allowed)
    if letter in allowed:
        if score.share > 0 and not entry.honest and "P" not in allowed and not entry.case.attack.computes:
            tally.find(Kind.FALSE_PASS, REWARD, entry.case.name, f"share {score.share} for {entry.source[-160:]!r}")
        return
    kind = Kind.UNEXPECTED
    if not score.known:
        kind = Kind.INFRASTRUCTURE
    elif entry.honest:
        kind = Kind.FALSE_FAIL
    elif score.passed:
        kind = Kind.FALSE_PASS
    elif letter in "BN":
        kind = Kind.CHOSEN
    detail = f"{letter} ({score.detail}), allowed {sorted(allowed)}: {entry.source[-160:]!r}"
    tally.find(kind, REWARD, entry.case.name, detail)
