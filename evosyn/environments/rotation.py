"""Pool rotation: rows whose groups all end alike leave, and fresh instances come in at a level that suits the student.

A `ports.Feed` over rows of environments. EvoEnv (sections 1 and 3) names pool rotation and does not give its rule; the
one here is ours. A row that all completions of a group solve, or none, teaches nothing (its advantage is zero): an
instance of the same environment that nobody has seen takes its place, at a level drawn by `fresh.signal` plus a floor.
Where an environment is worn (its questions are solved always or never, at every level), the place goes to one drawn by
the best of its levels; the floor lets worn ones come back. docs/train.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from evosyn.configs.section import Section
from evosyn.dataset import Sample
from evosyn.domains import check_task
from evosyn.domains.environment import NAME
from evosyn.environments.contract import LEVELS, Environment, read_environment
from evosyn.environments.fresh import (
    Cell,
    Fits,
    FreshRow,
    FreshRows,
    LevelRate,
    feed_row,
    rates_after,
    share_of,
    signal,
)
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.ports import FeedRow, GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Json, content_id
from evosyn.reported_steps import ReportedSteps, by_row
from evosyn.tasks import task_of

WORN = 0.2
"""Signal below which a level has none to speak of: that of solve rates below .05 or above .95."""
TRIES = 3
"""Instances that are made for a place before its row stays."""


class RotationConfig(Section):
    """Pool rotation in training.

    Attributes:
        active: rows of the pool; None for no rotation.
        memory: weight of what was known of a level when new outcomes come, in (0, 1).
        floor: weight of a level that has no signal, beside at most 1 of one that has.
    """

    active: int | None = Field(default=None, ge=1)
    memory: float = Field(default=0.5, gt=0, lt=1)
    floor: float = Field(default=0.05, gt=0, le=1)


@dataclass(frozen=True)
class EnteredRow(FreshRow):
    """A fresh instance, and the row whose place it has."""

    out: str = ""


@dataclass(frozen=True)
class RotationStep:
    """Event: what the groups of a step came to, as (row, passed, known), and what came in for those that left."""

    step: int
    groups: tuple[tuple[str, int, int], ...]
    entered: tuple[EnteredRow, ...] = ()


@dataclass(frozen=True)
class _Place:
    """A row of the pool; `used` is the step that drew it last, -1 for none."""

    row: FeedRow
    cell: Cell
    used: int = -1


class RotatingPool:
    """Implements `ports.Feed`.

    Args:
        samples: rows of environments; the first pool is drawn of them, environments in turn.
        runner: makes fresh instances.
        journal: its events; what it holds already is taken up.
        fits: whether a prompt is short enough for the student.

    Raises:
        UsageError: a row is of another domain; the journal is of another run.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        config: RotationConfig,
        runner: EnvironmentRunner,
        journal: Journal,
        seeds: SeedTree,
        fits: Fits = lambda _: True,
    ) -> None:
        self._config, self._seeds, self._fresh_rows = config, seeds, FreshRows(runner, fits)
        rows = {sample.id: sample for sample in samples}
        cells = {name: _cell_of(sample) for name, sample in rows.items()}
        one_each = {cell[0]: rows[name] for name, cell in cells.items()}
        self._environments = {name: _environment_of(name, sample) for name, sample in one_each.items()}
        self._first = {
            name: _Place(FeedRow(rows[name].prompt, task_of(rows[name], check_task)), cells[name])
            for name in self._drawn_first(cells)
        }
        self._steps = ReportedSteps(journal, RotationStep)
        header = {"rows": content_id("data_", sorted(rows)), **config.model_dump(mode="json"), "seed": seeds.root}
        self._steps.begin({"kind": "rotation", **header})
        self._refold()

    def __len__(self) -> int:
        return len(self._places)

    def rows(self, step: int, groups: int) -> Sequence[FeedRow]:
        """Those that were never drawn, then those that were not for longest."""

        def turn(name: str) -> tuple[int, int]:
            return self._places[name].used, self._seeds.child("turn", step, name).integer()

        order = sorted(self._places, key=turn)
        return [self._places[order[at % len(order)]].row for at in range(groups)]

    def report(self, step: int, outcomes: Sequence[GroupOutcome]) -> None:
        groups = by_row(outcomes)
        leaving = [row for row, passed, known in groups if known > 1 and passed in (0, known) and row in self._places]
        rates = self._updated(groups)
        found = RotationStep(step, groups, tuple(self._entering(step, leaving, rates)))
        self._steps.append(found)
        self._fold(found)

    def rewind(self, step: int) -> None:
        if self._steps.rewind(step):
            self._refold()

    def state(self) -> Json:
        rates = {f"{name}/{level}": list(rate) for (name, level), rate in sorted(self._rates.items())}
        return {"rows": {name: place.used for name, place in sorted(self._places.items())}, "rates": rates}

    def figures(self) -> Mapping[str, float]:
        """Share of the groups whose row left, and the mean level of the pool."""
        levels = [place.cell[1] for place in self._places.values()]
        return {"rotated": self._rotated, "level": sum(levels) / len(levels)}

    def summary(self) -> Json:
        """For each environment its rows in the pool at the end, those that came in, and its solve rate by level."""
        pool = [place.cell[0] for place in self._places.values()]
        return [
            {
                "environment": name,
                "title": one.title,
                "pool": pool.count(name),
                "fresh": self._fresh[name],
                "rates": " ".join(
                    f"{level}:{share_of(self._rates.get((name, level))):.2f}" for level in range(1, LEVELS + 1)
                ),
            }
            for name, one in sorted(self._environments.items())
        ]

    def _drawn_first(self, cells: Mapping[str, Cell]) -> list[str]:
        """Rows of the first pool: of each environment in turn one, in an order of its own."""
        piles: defaultdict[str, list[str]] = defaultdict(list)
        for row in self._seeds.child("first").random().sample(sorted(cells), len(cells)):
            piles[cells[row][0]].append(row)
        turns = sorted((at, name, row) for name, pile in piles.items() for at, row in enumerate(pile))
        return [row for _, _, row in turns[: self._config.active]]

    def _entering(self, step: int, leaving: Sequence[str], rates: Mapping[Cell, LevelRate]) -> Iterator[EnteredRow]:
        """Fresh instances for the places of rows; one that cannot be had leaves its row where it is."""
        wanted = list(enumerate(leaving))
        for tries in range(TRIES):
            asked: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
            for at, row in wanted:
                seeds = self._seeds.child("cell", step, tries, row)
                name, level = self._suited(self._places[row].cell[0], rates, seeds)
                asked[name].append((level, at, row))
            wanted = []
            tree = self._seeds.child("fresh", step, tries)
            for name, some in asked.items():
                cells = [(level, at, f"{name}/{level}/fresh-{step}-{at}") for level, at, _ in some]
                made = self._fresh_rows.made(self._environments[name], cells, tree)
                for (_, at, row), one in zip(some, made, strict=True):
                    if one is None:
                        wanted.append((at, row))
                    else:
                        yield EnteredRow(**vars(one), out=row)

    def _suited(self, own: str, rates: Mapping[Cell, LevelRate], seeds: SeedTree) -> Cell:
        """Where the next instance comes from: the same environment, or another one where that is worn."""
        rng, levels = seeds.random(), range(1, LEVELS + 1)

        def weight(name: str, level: int) -> float:
            return signal(rates.get((name, level))) + self._config.floor

        if all(signal(rates.get((own, level))) < WORN for level in levels):
            names = sorted(self._environments)
            (own,) = rng.choices(names, [max(weight(name, level) for level in levels) for name in names])
        (level,) = rng.choices(levels, [weight(own, level) for level in levels])
        return own, level

    def _refold(self) -> None:
        self._places = dict(self._first)
        self._rates: dict[Cell, LevelRate] = {}
        self._fresh: defaultdict[str, int] = defaultdict(int)
        self._rotated = 0.0
        for event in self._steps.standing():
            self._fold(event)

    def _fold(self, event: RotationStep) -> None:
        self._rates = self._updated(event.groups)
        for row, _, _ in event.groups:
            if row in self._places:
                self._places[row] = replace(self._places[row], used=event.step)
        for one in event.entered:
            del self._places[one.out]
            self._places[one.row] = _Place(feed_row(self._environments[one.environment], one), one.cell)
            self._fresh[one.environment] += 1
        self._rotated = len(event.entered) / len(event.groups) if event.groups else 0.0

    def _updated(self, groups: Sequence[tuple[str, int, int]]) -> dict[Cell, LevelRate]:
        """The rates with the outcomes of a step; older ones weigh less. A row counts when it is drawn first and not
        again: it stayed since its answers differed, and would make its level look better than it is."""
        new = [(self._places.get(row), passed, known) for row, passed, known in groups]
        outcomes = [(place.cell, passed, known) for place, passed, known in new if place and place.used < 0]
        return rates_after(self._rates, outcomes, self._config.memory)


def _cell_of(sample: Sample) -> Cell:
    meta = sample.held("meta")
    level = meta.get("level")
    if sample.domain != NAME or type(level) is not int or level not in range(1, LEVELS + 1):
        raise UsageError(
            f"rotation.active: the row {sample.id} ({sample.domain}) is of no environment with levels; rotate rows "
            "that `evosyn env rows` made, and train on other data without --rotate"
        )
    return str(meta["environment"]), level


def _environment_of(name: str, sample: Sample) -> Environment:
    found = read_environment(sample.chosen_testing.body["program"], sample.chosen_testing.provenance)
    if found.value is None or found.value.id != name:
        raise UsageError(f"rotation.active: the row {sample.id} holds no program of {name}: {found.reason}")
    return found.value
