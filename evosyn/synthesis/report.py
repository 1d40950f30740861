"""The figures of a finished synthesis: counts by stage and reason for each setting, distributions, and what it cost.

Everything here is computed from the finished instances and the columns of the rows, so it is the same after a resume.
The keys are a contract (DESIGN.md section 4); more may be added.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.dataset import SETTINGS, Columns
from evosyn.records import Json
from evosyn.running.progress import Usage
from evosyn.synthesis.examples import shown_with
from evosyn.synthesis.instance import Instance

STAGES = (
    "problem",
    "decontaminate",
    "dedup",
    "solution",
    "testing",
    "crossexec",
    "rank",
    "prune",
    "behaviour",
    "reward",
)
"""In the order in which an instance can be dropped."""


class Variety(NamedTuple):
    """Of one kept instance: different solutions among the M, and lines of the best (Du 2025, appendix A.4)."""

    different: int
    lines: int


@dataclass
class Varieties:
    """Sums over kept instances; `alike` have one solution only."""

    rows: int = 0
    different: int = 0
    alike: int = 0
    lines: int = 0

    def see(self, one: Variety) -> None:
        self.merge(Varieties(1, one.different, one.different == 1, one.lines))

    def merge(self, other: Varieties) -> None:
        self.rows += other.rows
        self.different += other.different
        self.alike += other.alike
        self.lines += other.lines

    def to_json(self) -> dict[str, Json]:
        return {
            "rows": self.rows,
            "different_solutions": _mean(self.different, self.rows),
            "all_alike": self.alike,
            "lines": _mean(self.lines, self.rows),
        }


def variety_of(instance: Instance) -> Variety | None:
    """None where no setting keeps it."""
    pool, matrix, decision = instance.pool, instance.matrix, instance.decision
    if pool is None or matrix is None or decision is None or decision.chosen is None:
        return None
    if instance.dropped("relaxed") is not None:
        return None
    groups = matrix.solution_ids if matrix.groups_M is None else matrix.groups_M.tolist()
    return Variety(len(set(groups)), len(pool.solutions[decision.chosen.best].text.strip().splitlines()))


def _mean(total: int, count: int) -> float | None:
    return round(total / count, 3) if count else None


@dataclass
class Figures:
    """Sums over the instances of a run; `see` adds one, `merge` those of another part of the run."""

    asked: int = 0
    usage: Usage = field(default_factory=Usage)
    ended_at: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, Counter[str]] = field(default_factory=lambda: {setting: Counter() for setting in SETTINGS})
    replies: Counter[str] = field(default_factory=Counter)
    in_part: Counter[str] = field(default_factory=Counter)
    examples: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    different: dict[str, Varieties] = field(
        default_factory=lambda: {"evosyn": Varieties(), "relaxed only": Varieties()}
    )
    simulated: bool = False

    def see(self, instance: Instance) -> None:
        """Count one finished instance."""
        self.asked += 1
        self.usage = self.usage.plus(instance.usage)
        if instance.problem is not None:
            self.models[instance.problem.provenance.source] += 1
            self.simulated = self.simulated or instance.problem.provenance.simulated
        reject = instance.dropped("evosyn")
        self.ended_at["kept" if reject is None else reject.stage] += 1
        for setting in SETTINGS:
            cause = instance.dropped(setting)
            if cause is None:
                self.kept[setting] += 1
            else:
                self.dropped[setting][cause.reason] += 1
        variety = variety_of(instance)
        if variety is not None:
            self.different["evosyn" if instance.dropped("evosyn") is None else "relaxed only"].see(variety)
        for one in instance.rejects:
            if one.item in ("reply", "case"):
                (self.replies if one.item == "reply" else self.in_part)[f"{one.stage}: {one.reason}"] += 1
        self.examples.update(shown_with(instance.testings or ()))

    def merge(self, other: Figures) -> None:
        """Count the instances that another one has seen."""
        self.asked += other.asked
        self.usage = self.usage.plus(other.usage)
        for mine, more in (
            (self.ended_at, other.ended_at),
            (self.kept, other.kept),
            (self.replies, other.replies),
            (self.in_part, other.in_part),
            (self.examples, other.examples),
            (self.models, other.models),
        ):
            mine.update(more)
        for setting in SETTINGS:
            self.dropped[setting].update(other.dropped[setting])
        for name, varieties in other.different.items():
            self.different[name].merge(varieties)
        self.simulated = self.simulated or other.simulated

    def stages(self) -> dict[str, Json]:
        """For each stage how many instances entered it, were dropped in it and left it."""
        table: dict[str, Json] = {}
        entering = self.asked
        for stage in STAGES:
            dropped = self.ended_at[stage]
            table[stage] = {"entered": entering, "dropped": dropped, "left": entering - dropped}
            entering -= dropped
        return table

    def to_json(self) -> dict[str, Json]:
        """The counts of `report.json`."""
        return {
            "asked": self.asked,
            "kept": self.kept["evosyn"],
            "dropped": dict(sorted(self.dropped["evosyn"].items())),
            "settings": {
                setting: {"kept": self.kept[setting], "dropped": dict(sorted(self.dropped[setting].items()))}
                for setting in SETTINGS
            },
            "stages": self.stages(),
            "unusable_replies": dict(sorted(self.replies.items())),
            "read_in_part": dict(sorted(self.in_part.items())),
            "examples": dict(sorted(self.examples.items())),
            **self.usage.told(),
            "executions": self.usage.cells,
            "kept_per_1000_calls": _rate(self.kept["evosyn"], self.usage.calls, 1000),
            "kept_per_million_executions": _rate(self.kept["evosyn"], self.usage.cells, 1_000_000),
            "relaxed_adds": {name: found.to_json() for name, found in self.different.items()},
            "models": dict(sorted(self.models.items())),
            "simulated": self.simulated,
        }


def distributions(columns: Columns) -> dict[str, Json]:
    """Mean, deviation and deciles of what a setting holds: tests, difficulty, lengths in characters."""
    names = {"statement": "statement_characters", "solution": "solution_characters"}
    return {names.get(name, name): _summary(values) for name, values in columns._asdict().items()}


def _summary(array: NDArray[np.float64]) -> dict[str, Json] | None:
    if not array.size:
        return None
    tenths = np.quantile(array, [0.0, 0.1, 0.5, 0.9, 1.0])
    return {
        "mean": round(float(array.mean()), 4),
        "sd": round(float(array.std()), 4),
        **{name: round(float(at), 4) for name, at in zip(("min", "p10", "median", "p90", "max"), tenths, strict=True)},
    }


def _rate(kept: int, spent: int, per: int) -> float | None:
    return None if spent == 0 else round(kept / spent * per, 3)
