"""What `evosyn experiment coevolve` estimates of its records: the worst tasks, equal cost, and what is valid. Exact.

CVaR is the success of the worst share of the tasks (Rutherford 2024). Who is worst is told by one half of the samples
and how they do by the other, both ways: ranked and averaged on the same samples it would be too low (ours).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from evosyn.evolve.curriculum import learnability
from evosyn.records import Json
from evosyn.simulation.experiment.coevolve_arms import TriedMutant

FEWEST_SAMPLES = 8
SHARES = (0.01, 0.03, 0.1, 0.25, 0.5, 1.0)
"""Of the tasks, the worst."""
THRESHOLDS, DEPTHS_SHOWN = (0.0, 0.1, 0.15, 0.2, 0.25), (1, 2, 3, 4)
WINDOW = 20
"""Steps, of what is told along the way."""
CHECKS: Mapping[str, Callable[[TriedMutant], bool]] = {
    "numbers kept": lambda one: one.numbers,
    "contested": lambda one: one.contested,
    "program": lambda one: one.program,
    "any of them": lambda one: one.numbers or one.contested or one.program,
}


def cross_fitted_cvar(outcomes: Sequence[Sequence[int]], share: float) -> Fraction:
    """Mean success of the worst `share` of the tasks, in (0, 1]; tasks that are alike share the last places.

    Args:
        outcomes: of each task, 1 for a success and 0; `FEWEST_SAMPLES` of each at least.

    Raises:
        ValueError: no task, too few samples, or not as many of each.
    """
    samples = {len(one) for one in outcomes}
    if len(samples) != 1 or min(samples) < FEWEST_SAMPLES:
        raise ValueError(f"CVaR needs tasks with {FEWEST_SAMPLES} samples and more, as many of each")
    (size,) = samples
    left, right = [sum(one[: size // 2]) for one in outcomes], [sum(one[size // 2 :]) for one in outcomes]
    count = math.ceil(share * len(outcomes))
    told_right = _worst(left, right, count) / (size - size // 2)
    return (told_right + _worst(right, left, count) / (size // 2)) / 2


def _worst(ranks: Sequence[int], values: Sequence[int], count: int) -> Fraction:
    """The mean value of so many with the lowest ranks; those at the last rank share what is left."""
    last = sorted(ranks)[count - 1]
    below = [value for rank, value in zip(ranks, values, strict=True) if rank < last]
    alike = [value for rank, value in zip(ranks, values, strict=True) if rank == last]
    return (sum(below) + Fraction((count - len(below)) * sum(alike), len(alike))) / count


def at_completions(curve: Sequence[Mapping[str, float]], spent: float, name: str) -> float:
    """A figure where so many completions were spent: between two measurements on the line that joins them."""
    for before, after in pairwise(curve):
        if spent <= after["completions"]:
            way = max(0.0, spent - before["completions"]) / (after["completions"] - before["completions"])
            return before[name] + way * (after[name] - before[name])
    return curve[-1][name]


def by_window(values: Sequence[float]) -> list[float]:
    """Means of the windows of steps."""
    parts = [values[at : at + WINDOW] for at in range(0, len(values), WINDOW)]
    return [sum(part) / len(part) for part in parts]


def validity(mutants: Sequence[TriedMutant]) -> list[dict[str, Json]]:
    """P(invalid | at least so much) and P(at least so much | invalid), of learnability when tried and of depth."""
    tried = [(one, learnability(one.passed, one.known)) for one in mutants]
    known = [(one, score) for one, score in tried if score is not None]
    rows = [
        _given("learnability", least, [(one.invalid, score >= least) for one, score in known]) for least in THRESHOLDS
    ]
    return rows + [
        _given("depth", least, [(one.invalid, one.depth >= least) for one, _ in known]) for least in DEPTHS_SHOWN
    ]


def _given(of: str, least: float, pairs: Sequence[tuple[bool, bool]]) -> dict[str, Json]:
    reached = [invalid for invalid, enough in pairs if enough]
    wrong = [enough for invalid, enough in pairs if invalid]
    return {
        "of": of, "least": least, "mutants": len(reached), "invalid": sum(reached),
        "invalid_given_least": share(sum(reached), len(reached)), "least_given_invalid": share(sum(wrong), len(wrong)),
    }  # fmt: skip


def check_figures(mutants: Sequence[TriedMutant]) -> list[dict[str, Json]]:
    """What each free check would remove: of the invalid ones, of the right ones, and how much of it is invalid."""
    wrong = [one for one in mutants if one.invalid]
    found = []
    for name, says in CHECKS.items():
        removed, caught = sum(map(says, mutants)), sum(map(says, wrong))
        found.append(
            {
                "check": name, "removed": removed, "precision": share(caught, removed),
                "recall": share(caught, len(wrong)),
                "right_removed": share(removed - caught, len(mutants) - len(wrong)),
                "invalid_before": share(len(wrong), len(mutants)),
                "invalid_after": share(len(wrong) - caught, len(mutants) - removed),
            }
        )  # fmt: skip
    return found


def contested_by_window(mutants: Sequence[TriedMutant]) -> list[dict[str, Json]]:
    """Precision and recall of contested answers against the truth, along the way."""
    found = []
    for start in range(0, 1 + max((one.step for one in mutants), default=-1), WINDOW):
        some = [one for one in mutants if start <= one.step < start + WINDOW]
        caught = sum(one.invalid and one.contested for one in some)
        found.append(
            {
                "steps": [start, start + WINDOW], "mutants": len(some), "invalid": sum(one.invalid for one in some),
                "precision": share(caught, sum(one.contested for one in some)),
                "recall": share(caught, sum(one.invalid for one in some)),
            }
        )  # fmt: skip
    return found


def share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
