"""What the domains share when they plan: the testings of a problem are prepared once for all its solutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from evosyn.domains.python.generators import has_generators
from evosyn.jobs import ItemOutcome
from evosyn.records import Problem, Testing, Verdict

PreparedT = TypeVar("PreparedT")
MOST_KEPT = 32


class Recent(Generic[PreparedT]):
    """The last few preparations, found by the identity of the problem and of each testing, which are kept alive for it.
    Safe for several threads: the worst race prepares twice."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[Problem, tuple[Testing, ...], PreparedT]] = {}

    def get(self, problem: Problem, testings: Sequence[Testing]) -> PreparedT | None:
        found = self._kept.get((id(problem), *map(id, testings)))
        return None if found is None else found[2]

    def put(self, problem: Problem, testings: Sequence[Testing], prepared: PreparedT) -> PreparedT:
        while len(self._kept) >= MOST_KEPT:
            self._kept.pop(next(iter(self._kept), ()), None)
        self._kept[id(problem), *map(id, testings)] = (problem, tuple(testings), prepared)
        return prepared


def decided(judge: Callable[[Sequence[ItemOutcome]], Verdict], outcomes: Sequence[ItemOutcome]) -> Verdict:
    """The verdict of a check. This is the boundary to untrusted values: whatever one of them does to the check, it does
    not fit what is asserted of it, and no other cell notices."""
    try:
        return judge(outcomes)
    except Exception:  # noqa: BLE001 - the sandbox boundary
        return Verdict.FAIL


def refuse_generators(testings: Sequence[Testing]) -> None:
    """
    Raises:
        ValueError: a testing still holds generators.
    """
    for index, testing in enumerate(testings):
        if has_generators(testing):
            raise ValueError(f"testings[{index}] holds generators: expand() and run its jobs before plan()")
