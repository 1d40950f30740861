"""The stage that drops a problem which asks for what a problem of a named benchmark asks for, in whatever words.

Its best solution is run on the human testings of the benchmark problems of the most similar texts; one that it passes
is the same task. Only benchmark files that are pools of evosyn have such testings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains.python.payload import entry_point
from evosyn.records import Problem, Solution, Verdict
from evosyn.running.batches import Batches
from evosyn.running.progress import Usage
from evosyn.synthesis.decontaminate import OverlapIndex
from evosyn.synthesis.instance import Instance

FEWEST_CASES = 3
"""Checks of a human testing below which passing it says nothing."""


class CompareBehaviour:
    """Runs best solutions on the testings of benchmarks.

    Args:
        batch: instances that are compared in one go.
    """

    name = "behaviour"
    concurrency = None

    def __init__(self, benchmarks: OverlapIndex, judge: Judge, batch: int) -> None:
        self._benchmarks, self._judge = benchmarks, judge
        self._compared = Batches(self._compare, batch)

    async def run(self, instance: Instance) -> Instance:
        if instance.decision is None or instance.decision.chosen is None or instance.ended is not None:
            return instance
        return await self._compared(instance)

    def _compare(self, batch: Sequence[Instance]) -> list[Instance]:
        cells = [self._cells(instance) for instance in batch]
        results = iter(self._judge.verify([cell for _, some in cells for cell in some]))
        found = []
        for instance, (names, some) in zip(batch, cells, strict=True):
            passed, unknown = [], []
            for name, cell in zip(names, some, strict=True):
                result = next(results)
                enough = cell.testing.kind == "program" or len(result.cases) >= FEWEST_CASES
                if result.verdict is Verdict.PASS and enough:
                    passed.append(name)
                elif result.verdict is Verdict.UNKNOWN:
                    unknown.append(f"{name}: {result.detail}")
            spent = replace(instance, usage=instance.usage.plus(Usage(cells=len(some))))
            if passed:
                detail = f"its best solution passes the human testing of {passed[0]}"
                spent = spent.drop("behaviour", "benchmark-behaviour", detail)
            elif unknown:
                spent = spent.drop("behaviour", "not-compared", f"could not be compared with {unknown[0]}")
            found.append(spent)
        return found

    def _cells(self, instance: Instance) -> tuple[list[str], list[Cell]]:
        problem, pool, decision = instance.asked, instance.pool, instance.decision
        if pool is None or decision is None or decision.chosen is None:
            return [], []
        text = pool.solutions[decision.chosen.best].text
        items = self._benchmarks.nearest(problem.statement, problem.domain)
        known = [(item.name, item.problem) for item in items if item.problem is not None]
        cells = [
            Cell(other, Solution(_renamed(text, problem, other)), other.human_testing)
            for _, other in known
            if other.human_testing is not None
        ]
        return [name for name, _ in known], cells


def _renamed(text: str, problem: Problem, other: Problem) -> str:
    """The program under the name that the other problem's testing calls."""
    mine, wanted = entry_point(problem), entry_point(other)
    plain = mine.isidentifier() and wanted.isidentifier() and mine != wanted
    return f"{text.rstrip()}\n\n\n{wanted} = {mine}\n" if plain else text
