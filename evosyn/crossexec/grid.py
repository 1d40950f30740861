"""The distinct work of one problem, as rows for the judge, and the matrix that it becomes.

Solutions that are the same to their domain are one row, equal testings one column; the human testing is the first
column. It runs nothing. DESIGN.md section 2, `PassMatrix`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evosyn.crossexec.judge import Judge
from evosyn.crossexec.rows import guarded
from evosyn.errors import FormatError
from evosyn.jobs import CellResult
from evosyn.ports import Domain
from evosyn.records import Digests, Json, Letters, ParsedCalls, PassMatrix, Problem, Solution, Testing, Verdict
from evosyn.text.logprobs import means
from evosyn.textual import similarity

KeyT = TypeVar("KeyT")


class Place(NamedTuple):
    """One distinct cell: a row and a column of a grid."""

    row: int
    column: int


class Grid:
    """Rows are distinct programs, columns distinct testings.

    Attributes:
        index: position of the problem among the items.
        rows: distinct solutions in the order of appearance, with what is known of their cells; the human testing is
            column 0 if there is one.
        row_of_M, column_of_N: where each solution and testing of the item stands.
        canaries: the places of rows whose solutions are surely wrong, after all others.
        flaky: cells that gave different verdicts when they were repeated.
    """

    def __init__(
        self,
        index: int,
        item: tuple[Problem, Sequence[Solution], Sequence[Testing]],
        judge: Judge,
        *,
        canaries: bool = False,
    ) -> None:
        problem, solutions, testings = item
        self.domain = domain = judge.domains[problem.domain]
        self.index, self.problem = index, problem
        self.solutions, self.testings = tuple(solutions), tuple(testings)
        same = [guarded(domain.same, problem, solution) for solution in solutions]
        names = [
            f"{one.detail}: {text.text}" if isinstance(one, CellResult) else one
            for one, text in zip(same, solutions, strict=True)
        ]
        places, self.row_of_M = _numbered(names)
        distinct = {name: self.solutions[names.index(name)] for name in places}
        self.human = problem.human_testing is not None
        tested = [*([problem.human_testing] if problem.human_testing is not None else []), *testings]
        self.canaries = set[int]()
        for canary in canaries_of(domain, problem, tested) if canaries else ():
            name = guarded(domain.same, problem, canary)
            if isinstance(name, str):
                self.canaries.add(places.setdefault(name, len(places)))
                distinct.setdefault(name, canary)
        all_ids = [testing.id for testing in tested]
        ids, column_of = _numbered(all_ids)
        self.column_of_N = column_of[1:] if self.human else column_of
        self.testing_ids = list(ids)
        self.rows = judge.rows(problem, [tested[all_ids.index(testing_id)] for testing_id in ids], distinct)
        for row, found in zip(self.row_of_M, same, strict=True):
            if isinstance(found, CellResult):
                self.rows[row].trouble = found
        self.flaky: set[Place] = set()

    @property
    def cells(self) -> int:
        """Cells of the matrix, duplicates counted, the human testing not."""
        return len(self.row_of_M) * len(self.column_of_N)

    @property
    def human_cells(self) -> int:
        return len(self.row_of_M) if self.human else 0

    def matrix(self, meta: Mapping[str, Json]) -> PassMatrix:
        """The matrix; every cell must be known."""
        results = [[_known(result) for result in row.results] for row in self.rows]
        rows = [results[row] for row in self.row_of_M]
        columns = {column: [row[column] for row in rows] for column in self.column_of_N}
        cases = {column: _cases(found) for column, found in columns.items()}
        values = {column: _values(found, cases[column].shape[1]) for column, found in columns.items()}
        return PassMatrix(
            problem_id=self.problem.problem_id,
            verdicts_MN=_letters([[row[column].verdict.value for column in self.column_of_N] for row in rows]),
            human_M=np.array([row[0].verdict.value for row in rows], dtype="<U1") if self.human else None,
            cases_NMC=tuple(cases[column] for column in self.column_of_N),
            durations_MN=self._durations(rows),
            copies_M=self._copies(),
            groups_M=np.array(self.row_of_M, dtype=np.int64),
            solution_ids=tuple(solution.id for solution in self.solutions),
            testing_ids=tuple(self.testing_ids[column] for column in self.column_of_N),
            solution_texts=tuple(solution.text for solution in self.solutions),
            testing_texts=tuple(testing.text for testing in self.testings),
            statement=self.problem.statement,
            payload=self.problem.payload,
            calls_N=self._calls({column: found.shape[1] for column, found in cases.items()}),
            values_NMC=tuple(values[column] for column in self.column_of_N),
            solution_similarity_MM=similarity([solution.text for solution in self.solutions]),
            testing_similarity_NN=similarity([testing.text for testing in self.testings]),
            solution_logprob_M=self._solution_logprobs(),
            logprobs_NC=self._logprobs([cases[column].shape[1] for column in self.column_of_N]),
            meta={**meta, **self._findings()},
        )

    def _calls(self, widths: Mapping[int, int]) -> tuple[ParsedCalls | None, ...]:
        """What the cases of each testing ask, once for each distinct one, the human one's left out; None where they are
        not the cases that were judged."""
        testings = dict(zip(self.column_of_N, self.testings, strict=True))
        found = {column: self._calls_of(testing) for column, testing in testings.items()}
        fitting = {column: calls if len(calls or ()) == widths[column] else None for column, calls in found.items()}
        return tuple([fitting[column] for column in self.column_of_N])

    def _calls_of(self, testing: Testing) -> ParsedCalls | None:
        """None also of a text that is no testing of its kind, or too deep or too large for our process."""
        try:
            self.domain.check_shape(testing)
            return self.domain.calls(self.problem, testing)
        except (FormatError, RecursionError, MemoryError):
            return None

    def _solution_logprobs(self) -> NDArray[np.float64] | None:
        told = [solution.provenance.detail.get("logprob") for solution in self.solutions]
        found = _over_equal(self.solutions, [None if one is None else [one["mean"]] for one in told])
        return np.array([np.nan if one is None else one[0] for one in found]) if any(told) else None

    def _logprobs(self, widths: Sequence[int]) -> tuple[NDArray[np.float64] | None, ...] | None:
        """For the cases of each testing; None where they are not the cases that were judged."""
        found = _over_equal(self.testings, [one.provenance.detail.get("logprobs") for one in self.testings])
        fitting = [
            one if one is not None and len(one) == width else None for one, width in zip(found, widths, strict=True)
        ]
        return None if all(one is None for one in fitting) else tuple(fitting)

    def _durations(self, rows: Sequence[Sequence[CellResult]]) -> NDArray[np.float64]:
        seconds = [[row[column].seconds for column in self.column_of_N] for row in rows]
        return np.array(seconds, dtype=np.float64).reshape(len(rows), len(self.column_of_N))

    def _copies(self) -> NDArray[np.int64]:
        """Draws that gave the same program: as recorded with the problem, or else counted among the solutions."""
        recorded = recorded_copies(self.problem, len(self.row_of_M))
        if recorded is not None:
            return np.array(recorded, dtype=np.int64)
        return np.bincount(self.row_of_M)[self.row_of_M].astype(np.int64)

    def _findings(self) -> dict[str, Json]:
        """Flaky cells and vacuous testings in the numbering of the matrix (column -1 is the human testing); whether a
        stand-in for a model made it."""
        found: dict[str, Json] = {}
        makers = [*(one.provenance for one in self.solutions), *(one.provenance for one in self.testings)]
        if any(maker.simulated for maker in makers):
            found["simulated"] = True
        columns = [*enumerate(self.column_of_N), *([(-1, 0)] if self.human else [])]
        flaky = [
            [m, n]
            for m, row in enumerate(self.row_of_M)
            for n, column in columns
            if self.flaky and Place(row, column) in self.flaky
        ]
        if flaky:
            found["flaky"] = flaky
        rows = [self.rows[canary].results for canary in sorted(self.canaries)]
        vacuous = [n for n, column in columns if any(_known(row[column]).verdict is Verdict.PASS for row in rows)]
        if vacuous:
            found["vacuous"] = vacuous
        return found


def _over_equal(
    items: Sequence[Solution | Testing], told: Sequence[Sequence[float | None] | None]
) -> list[NDArray[np.float64] | None]:
    """What was told of each item, number by number the mean over all replies that gave the same; NaN is unknown."""
    said: dict[str, list[NDArray[np.float64]]] = {}
    for item, one in zip(items, told, strict=True):
        if one is not None:
            said.setdefault(item.id, []).append(np.array(one, dtype=np.float64))
    found = {name: means(some) for name, some in said.items()}
    return [found.get(item.id) for item in items]


def canaries_of(domain: Domain, problem: Problem, testings: Sequence[Testing]) -> tuple[Solution, ...]:
    """The canaries of a domain; none where it fails, as a domain of a stranger may."""
    found = guarded(domain.canaries, problem, testings)
    return found if isinstance(found, tuple) else ()


def recorded_copies(problem: Problem, solutions: int) -> list[int] | None:
    """How many draws gave each of the solutions, as recorded with the problem; None where that is not so said."""
    found = problem.meta.get("copies")
    said = isinstance(found, list) and len(found) == solutions and all(type(one) is int for one in found)
    return found if said else None


def _numbered(keys: Sequence[KeyT]) -> tuple[dict[KeyT, int], list[int]]:
    """Equal keys get equal numbers, in the order of appearance."""
    numbers: dict[KeyT, int] = {}
    return numbers, [numbers.setdefault(key, len(numbers)) for key in keys]


def _known(result: CellResult | None) -> CellResult:
    if result is None:
        raise RuntimeError("a cell of a finished grid has no result")
    return result


def _letters(rows: Sequence[Sequence[str]]) -> Letters:
    width = len(rows[0]) if rows else 0
    return np.array(rows, dtype="<U1").reshape(len(rows), width)


def _values(results: Sequence[CellResult], width: int) -> Digests | None:
    """What was given in one testing's cases, shape (M, C); None where no row says."""
    if not any(result.values for result in results):
        return None
    none = (0,) * width
    return np.array([result.values if len(result.values) == width else none for result in results], dtype=np.uint64)


def _cases(results: Sequence[CellResult]) -> Letters:
    """Letters of one testing's cases, shape (M, C); a row without cases of its own gets its verdict in every case."""
    width = max([len(result.cases) for result in results], default=0) or 1
    texts = [
        "".join(result.cases) if len(result.cases) == width else result.verdict.value * width for result in results
    ]
    return np.array(texts, dtype=f"<U{width}").view("<U1").reshape(len(texts), width)
