"""Answers about a dataset of `evosyn synthesize`: where problems went, samples, rejects, one problem. Reads only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evosyn.cli._inspect_data import _order
from evosyn.codec import dump
from evosyn.dataset import SETTINGS, iterate_dataset, parquet_path, read_rejects
from evosyn.errors import UsageError
from evosyn.records import Invalid, Ranking
from evosyn.rundir import RunDir
from evosyn.synthesis.instance import Instance, ledger_of
from evosyn.view.answers import DETAILED, Fresh, cut, listing

if TYPE_CHECKING:
    from evosyn.dataset import Sample
    from evosyn.records import Json, PassMatrix, Pool
    from evosyn.running.ledger import Ledger

SEARCHED = ("id", "problem_id", "domain", "title", "model", "statement")
REJECTS_SEARCHED = ("stage", "reason", "item", "problem_id", "detail", "settings")


class DataView:
    """One dataset directory, finished or not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._dir = RunDir(path)
        self._dir.read_json("manifest.json")
        self._ledger: Fresh[Ledger[Instance]] = Fresh(path / "journal.jsonl", lambda: ledger_of(path))
        self._rows: dict[str, Fresh[list[dict[str, Json]]]] = {
            setting: Fresh(parquet_path(path, setting), lambda setting=setting: self._read(setting))  # type: ignore[misc]
            for setting in SETTINGS
        }

    def answer(self, question: str, query: Mapping[str, str]) -> Json:
        """`overview`, `samples/SETTING` (query: q), `rejects` (query: q) or `problem/INDEX`."""
        what, _, name = question.partition("/")
        if question == "overview":
            return self._overview()
        if what == "samples" and name in SETTINGS:
            return listing(self._rows[name].get(), query, SEARCHED)
        if question == "rejects":
            return listing(self._rejects(), query, REJECTS_SEARCHED)
        if what == "problem" and name.isdecimal() and len(name) < 10:
            return self._problem(int(name))
        raise UsageError(f"{question!r}: no such question; one of overview, samples/SETTING, rejects, problem/INDEX")

    def contents(self) -> Iterator[str]:
        """The lists, then problems: the kept ones first."""
        yield from ("overview", *(f"samples/{setting}" for setting in SETTINGS), "rejects")
        kept = [row["index"] for setting in SETTINGS for row in self._rows[setting].get()]
        names = list(dict.fromkeys([*kept, *sorted(self._ledger.get().done)]))[:DETAILED]
        yield from (f"problem/{name}" for name in names)

    def _overview(self) -> dict[str, Json]:
        manifest = self._dir.read_json("manifest.json")
        done = self._dir.file("report.json").exists()
        return {
            "kind": "synthesize",
            "path": str(self.path),
            "finished": done,
            "simulated": bool(manifest.get("simulated")),
            "manifest": manifest,
            "ended": len(self._ledger.get().done),
            "settings": list(SETTINGS),
            "report": self._dir.read_json("report.json") if done else None,
        }

    def _rejects(self) -> Sequence[Mapping[str, Json]]:
        if not self._dir.file("rejects.jsonl").exists():
            return []
        return [dump(reject, defaults=True) for reject in read_rejects(self.path)]

    def _read(self, setting: str) -> list[dict[str, Json]]:
        if not parquet_path(self.path, setting).exists():
            return []
        return [_row(sample) for sample in iterate_dataset(self.path, setting)]

    def _problem(self, index: int) -> dict[str, Json]:
        ledger = self._ledger.get()
        if index not in ledger.done:
            raise UsageError(f"{self.path}: has no finished problem {index}; it has {len(ledger.done)}")
        instance = ledger.item(index)
        problem = instance.problem
        unusable = Counter(f"{one.stage}: {one.reason}" for one in instance.rejects if one.item == "reply")
        value: dict[str, Json] = {
            "index": index,
            "brief": dict(instance.brief),
            "unusable": dict(unusable.most_common(50)),
            "settings": {setting: _fate(instance, setting) for setting in SETTINGS},
            "usage": {"calls": instance.usage.calls, "cells": instance.usage.cells, "cost": instance.usage.cost},
            "matrix": _matrix(instance),
            "ranking_invalid": instance.ranking.reason if isinstance(instance.ranking, Invalid) else None,
        }
        if problem is not None:
            value |= {
                "problem_id": problem.problem_id,
                "domain": problem.domain,
                "statement": cut(problem.statement),
                "payload": dict(problem.payload),
                "meta": dict(problem.meta),
                "model": problem.provenance.source,
                "simulated": problem.provenance.simulated,
            }
        return value


def _row(sample: Sample) -> dict[str, Json]:
    return {
        "id": sample.id,
        "problem_id": sample.problem_id,
        "index": json.loads(sample.lineage)["index"],
        "domain": sample.domain,
        "title": str(json.loads(sample.meta).get("title", ""))[:120],
        "statement": sample.statement[:160],
        "tests": sample.tests,
        "difficulty": sample.difficulty,
        "model": sample.model,
        "simulated": sample.simulated,
    }


def _fate(instance: Instance, setting: str) -> dict[str, Json] | None:
    reject = instance.dropped(setting)
    return None if reject is None else {"stage": reject.stage, "reason": reject.reason, "detail": cut(reject.detail)}


def _matrix(instance: Instance) -> dict[str, Json] | None:
    """The matrix with its best rows and columns first, their texts, and what was chosen."""
    matrix, pool = instance.matrix, instance.pool
    if matrix is None or pool is None:
        return None
    ranked = instance.ranking if isinstance(instance.ranking, Ranking) else None
    choice = None if instance.decision is None else instance.decision.chosen
    best, testing = (None, None) if choice is None else (choice.best, choice.testing)
    rows, columns = matrix.verdicts_MN.shape
    solution_scores = None if ranked is None else ranked.solution_scores_M.tolist()
    testing_scores = None if ranked is None else ranked.testing_scores_N.tolist()
    order_M = _order(solution_scores, rows, best)
    order_N = _order(testing_scores, columns, testing)
    return {
        "digest": matrix.digest,
        "rows": rows,
        "columns": columns,
        "solutions": _solutions(matrix, pool, order_M, order_N, solution_scores, best),
        "testings": [
            {
                "n": n,
                "score": None if testing_scores is None else testing_scores[n],
                "chosen": n == testing,
                "text": cut(pool.testings[n].text),
            }
            for n in order_N
        ],
    }


def _solutions(
    matrix: PassMatrix,
    pool: Pool,
    order_M: Sequence[int],
    order_N: Sequence[int],
    scores: Sequence[float] | None,
    best: int | None,
) -> list[dict[str, Json]]:
    return [
        {
            "m": m,
            "score": None if scores is None else scores[m],
            "chosen": m == best,
            "verdicts": "".join(str(matrix.verdicts_MN[m, n]) for n in order_N),
            "source": cut(pool.solutions[m].text),
        }
        for m in order_M
    ]
