"""Cases as strategies: ranked among honest ones in one call, over drawn evidence.

Honest strategies multiply by drawn constants, so that their scores can be recognized where another program gives them
back. What they must give is computed here, by the same arithmetic.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import numpy as np

from evosyn.rankings import Rankings
from evosyn.records import Evidence, Invalid, PassMatrix, Ranking
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.running.sandboxed import SandboxedRunner
from hostile_suite import fitting, tasks
from hostile_suite.arenas import Place, look_around, span
from hostile_suite.backends import STRATEGY as LIMITS
from hostile_suite.backends import Backend
from hostile_suite.findings import Kind, Tally
from hostile_suite.host import Host
from hostile_suite.model import STRATEGY, Case, Role
from hostile_suite.watching import Watched

HONEST = """
def rank(evidence):
    solutions = [{a} * count for count in evidence.passed.sum(1).tolist()]
    testings = [{b} * count for count in evidence.passed.sum(0).tolist()]
    return solutions, testings
"""
Scores = tuple[float, float]


def run_strategies(backend: Backend, host: Host, cases: Sequence[Case], tally: Tally) -> None:
    """Every case that makes sense as a strategy."""
    chosen = [case for case in cases if case.fits(STRATEGY) and case.family.role in (Role.SOLUTION, Role.STRATEGY)]
    if chosen:
        began = time.monotonic()
        _rank(backend, host, chosen, tally)
        tally.seconds += time.monotonic() - began


def _rank(backend: Backend, host: Host, cases: Sequence[Case], tally: Tally) -> None:
    stream = cases[0].random("strategies")
    evidences = _evidences(stream)
    honest: dict[str, Scores] = {}
    programs: list[tuple[str, Case | None]] = [(_honest(stream, honest), None)]
    for case in cases:
        task = tasks.draw_task(case.random("strategy"), case.attack.kinds)
        programs += [(fitting.strategy(case.attack, task, host.fill), case), (_honest(stream, honest), None)]
    watched = Watched(backend.sandbox(numpy=True), host.secret, honest)
    try:
        with backend.meter() as meter:
            results = SandboxedRunner(watched, LIMITS).rank([text for text, _ in programs], evidences)
    except Exception as error:  # noqa: BLE001 - whatever a program makes of a run is a finding
        backend.reopen(numpy=True)
        if len(cases) == 1:
            tally.cases.add(cases[0].name)
            tally.find(Kind.ENDED, STRATEGY, cases[0].name, f"{type(error).__name__}: {error}")
        else:
            half = len(cases) // 2
            _rank(backend, host, cases[:half], tally)
            _rank(backend, host, cases[half:], tally)
        return
    wanted = {text: _scores(scores, evidences) for text, scores in honest.items()}
    for (text, owner), result in zip(programs, results, strict=True):
        _judge(text, owner, result, wanted, span(cases), tally)
    look_around(host, watched, meter, Place(STRATEGY, span(cases)), tally)


def _judge(
    text: str,
    case: Case | None,
    result: Rankings | Invalid,
    wanted: dict[str, list[float]],
    names: str,
    tally: Tally,
) -> None:
    tally.cell(STRATEGY)
    flat = [] if isinstance(result, Invalid) else _flat(result)
    if case is None:
        if isinstance(result, Invalid) or flat != wanted[text]:
            shown = result.reason if isinstance(result, Invalid) else "other scores"
            tally.find(Kind.FALSE_FAIL, STRATEGY, names, f"an honest strategy came to: {shown}")
        return
    tally.cases.add(case.name)
    word = "invalid" if isinstance(result, Invalid) else "ranked"
    if word == "ranked" and any(flat == scores for scores in wanted.values()):
        tally.find(Kind.FALSE_PASS, STRATEGY, case.name, "gave another program's scores")
    allowed = case.words(STRATEGY)
    if allowed & {"ranked", "invalid"} and word not in allowed:
        shown = result.reason if isinstance(result, Invalid) else ""
        tally.find(Kind.UNEXPECTED, STRATEGY, case.name, f"{word} {shown}, allowed {sorted(allowed)}")


def _honest(stream: random.Random, known: dict[str, Scores]) -> str:
    scores = (stream.uniform(1.0, 9.0), stream.uniform(1.0, 9.0))
    text = HONEST.format(a=scores[0], b=scores[1])
    if stream.random() < 0.5:  # of a kind that shares no process
        text = f"import fractions\n{text}"
    known[text] = scores
    return text


def _scores(scores: Scores, evidences: Sequence[Evidence]) -> list[float]:
    found: list[float] = []
    for evidence in evidences:
        found += [scores[0] * count for count in evidence.passed_MN.sum(1).tolist()]
        found += [scores[1] * count for count in evidence.passed_MN.sum(0).tolist()]
    return found


def _flat(rankings: Sequence[Ranking]) -> list[float]:
    return [
        float(score)
        for ranking in rankings
        for scores in (ranking.solution_scores_M, ranking.testing_scores_N)
        for score in scores
    ]


def _evidences(stream: random.Random) -> tuple[Evidence, ...]:
    found = []
    for index in range(4):
        rows, columns = stream.randint(3, 6), stream.randint(3, 6)
        letters = np.array([[stream.choice("PF") for _ in range(columns)] for _ in range(rows)])
        letters[0, 0], letters[-1, -1] = "P", "F"
        texts = tuple(f"def f(x): return x + {stream.random()}" for _ in range(rows))
        found.append(evidence_of(PassMatrix(f"p{index}", letters, solution_texts=texts)))
    return tuple(found)
