"""The state of a pool of environments: what is in it, how often the student solves it, and the drafts under way.

State = fold of steps; all that is drawn depends on it alone. The rules of leaving are ours; EvoEnv (section 3) names
rotation and gives none. docs/coevolve.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.environments.contract import CATEGORIES, LEVELS, Environment, read_environment
from evosyn.environments.fresh import Cell, FreshRow, LevelRate, rates_after, signal
from evosyn.journal import Journal
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.reported_steps import ReportedSteps
from evosyn.synthesis.selfplay.config import EnvironmentArm, SelfplayConfig
from evosyn.synthesis.selfplay.worth import alike_after

SHARE = 4
"""At most one in so many prompts of a step asks for a draft, and at least one (ours)."""
BEFORE = -1
"""The step of the event that holds the questions of the first."""


@dataclass(frozen=True)
class DraftFate:
    """What became of a draft.

    Attributes:
        index: in the ledger.
        stage, reason: what kept it out; "" where it came in.
        level: the last rung that it stands on.
        solved, known: right answers of the student, and those that could be judged.
        reward: what it is worth to its author; None where nobody knows.
        source, prompts: of one that came in.
    """

    number: int
    index: int
    stage: str = ""
    reason: str = ""
    level: int = 0
    solved: int = 0
    known: int = 0
    novelty: float = 0.0
    reward: float | None = 0.0
    environment: str = ""
    source: str = ""
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True)
class PoolStep:
    """Event: what the groups of a step came to, as (row, passed, known), the drafts that were due, and the questions of
    the next step.

    Attributes:
        alike: how much alike those drafts are; None where there is nothing to compare.
        prompts: questions of each seed, by which drafts are compared with it, in the event before the first step.
    """

    step: int
    groups: tuple[tuple[str, int, int], ...] = ()
    drafts: tuple[DraftFate, ...] = ()
    alike: float | None = None
    asked: tuple[FreshRow, ...] = ()
    prompts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class DraftOrder:
    """A request for a draft: the environments that it shows, the category wanted, and the step when it is due."""

    number: int
    due: int
    shown: tuple[str, ...]
    category: str


@dataclass(frozen=True)
class PoolMember:
    """An environment of the pool.

    Attributes:
        born: the step after which it came in; `BEFORE` for a seed.
        streak: looks in a row that found it solved (above 0) or unsolved (below).
        retired: why it has left; "" while it is in.
    """

    environment: Environment
    born: int = BEFORE
    streak: int = 0
    retired: str = ""


class PoolPlan(NamedTuple):
    """What decides the course beside the reports.

    Attributes:
        prompts: of a step; `steps`: of the whole run.
        wait: steps from a request to its draft; 0 where the student itself writes.
    """

    config: SelfplayConfig
    arm: EnvironmentArm
    seeds: Sequence[Environment]
    tree: SeedTree
    prompts: int
    steps: int
    wait: int

    @property
    def per_step(self) -> int:
        """Requests for drafts in a step."""
        return min(self.config.drafting.per_step, max(1, self.prompts // SHARE))


class EnvironmentPool:
    """The state. `fold` alone changes it.

    Attributes:
        members: all environments that ever were in the pool, by id.
        rates: by environment and level; `seen`: of this epoch by environment.
        launched: drafts under way; `asked`: the questions of the step at hand.
        fates: what became of drafts; `alike`: how much alike they are, a moving average.
    """

    def __init__(self, plan: PoolPlan) -> None:
        self._plan, self._rules = plan, plan.config.pool
        self.members = {one.id: PoolMember(one) for one in plan.seeds}
        self.rates: dict[Cell, LevelRate] = {}
        self.seen: dict[str, tuple[int, int]] = {}
        self.steps = self.proposed = 0
        self.alike = 0.0
        self.launched: list[DraftOrder] = []
        self.asked: tuple[FreshRow, ...] = ()
        self.fates: list[DraftFate] = []
        self._launch()

    def fold(self, event: PoolStep) -> None:
        """Take in what a step came to."""
        if event.step != BEFORE:
            self._learn(event.groups)
            self.alike = alike_after(self.alike, event.alike)
            self.launched = [one for one in self.launched if one.due != self.steps]
            self.fates += event.drafts
            self.steps += 1
            for one in event.drafts:
                if one.source:
                    self._admit(one)
            if self._plan.arm.rotates and self.steps % self._rules.epoch == 0:
                self._look()
            self._launch()
        self.asked = event.asked

    def after(self, event: PoolStep) -> EnvironmentPool:
        """Another state, with what a step came to."""
        found = copy(self)
        found.members, found.seen = dict(self.members), dict(self.seen)
        found.launched, found.fates = list(self.launched), list(self.fates)
        found.fold(event)
        return found

    @property
    def active(self) -> list[str]:
        """The environments that questions are drawn from, in the order in which they came in."""
        return [name for name, one in self.members.items() if not one.retired]

    @property
    def arrived(self) -> list[str]:
        """Those that are no seeds, the ones that have left included."""
        return [name for name, one in self.members.items() if one.born != BEFORE]

    def due(self) -> list[DraftOrder]:
        """The drafts that come in with the next report."""
        return [one for one in self.launched if one.due == self.steps]

    def texts(self, order: DraftOrder) -> list[str]:
        """The programs that a request shows."""
        return [self.members[name].environment.source for name in order.shown]

    def cells(self, count: int, tries: int) -> list[Cell]:
        """Where the questions of the step at hand come from."""
        rng, names = self._plan.tree.child("question", self.steps, tries).random(), self.active
        levels = range(1, LEVELS + 1)
        if not self._plan.arm.rotates:
            return [(rng.choice(names), rng.choice(levels)) for _ in range(count)]
        rules = self._rules
        worth = {name: [signal(self.rates.get((name, one))) + rules.floor for one in levels] for name in names}
        drawn = rng.choices(names, [max(worth[name]) for name in names], k=count)
        return [(name, rng.choices(levels, worth[name])[0]) for name in drawn]

    def state(self) -> Json:
        """All that decides what comes."""
        return {
            "steps": self.steps,
            "members": {name: [one.born, one.streak, one.retired] for name, one in self.members.items()},
            "rates": {f"{name}/{level}": list(rate) for (name, level), rate in sorted(self.rates.items())},
            "seen": {name: list(found) for name, found in sorted(self.seen.items())},
            "alike": self.alike,
            "launched": [[one.number, one.due, list(one.shown), one.category] for one in self.launched],
            "asked": [one.row for one in self.asked],
        }

    def _learn(self, groups: Sequence[tuple[str, int, int]]) -> None:
        cells = {one.row: one.cell for one in self.asked}
        outcomes = [(cells[row], passed, known) for row, passed, known in groups if row in cells]
        self.rates = rates_after(self.rates, outcomes, self._rules.memory)
        for (name, _), passed, known in outcomes:
            before = self.seen.get(name, (0, 0))
            self.seen[name] = before[0] + passed, before[1] + known

    def _admit(self, one: DraftFate) -> None:
        found = read_environment(one.source).value
        if found is None or found.id in self.members:
            return
        self.members[found.id] = PoolMember(found, self.steps - 1)
        self.rates[found.id, self._plan.config.band.level] = LevelRate(one.solved, one.known)
        if self._plan.arm.rotates and len(self.active) > self._rules.active:
            self._retire(self.active[0], "full")

    def _look(self) -> None:
        """The end of an epoch: who is worn leaves, but never the last one."""
        for name in self.active:
            one = self.members[name]
            passed, known = self.seen.get(name, (0, 0))
            rate = passed / known if known else None
            worn = 0 if rate is None else (rate >= self._rules.solved) - (rate <= self._rules.unsolved)
            streak = one.streak + worn if worn * one.streak > 0 else worn
            self.members[name] = replace(one, streak=one.streak if rate is None else streak)
            if abs(self.members[name].streak) > 1:
                self._retire(name, "saturated" if worn > 0 else "too-hard")
            elif self.steps - one.born > self._rules.age * self._rules.epoch:
                self._retire(name, "age")
        self.seen = {}

    def _retire(self, name: str, reason: str) -> None:
        if len(self.active) > 1:
            self.members[name] = replace(self.members[name], retired=reason)

    def _launch(self) -> None:
        """Ask for the drafts of this step, unless no step is left that they could be trained on."""
        due = self.steps + self._plan.wait
        if due + 1 >= self._plan.steps:
            return
        for _ in range(self._plan.per_step):
            self.launched.append(self._drawn(self.proposed, due))
            self.proposed += 1

    def _drawn(self, number: int, due: int) -> DraftOrder:
        rng, drafting = self._plan.tree.child("shown", number).random(), self._plan.config.drafting
        seeds, left, shown = [one.id for one in self._plan.seeds], list(self.members), list[str]()
        for _ in range(min(drafting.shown, len(left))):
            some = [name for name in seeds if name in left] if rng.random() < drafting.floor else left
            shown.append(rng.choice(some or left))
            left.remove(shown[-1])
        return DraftOrder(number, due, tuple(shown), rng.choice(CATEGORIES))


def pool_steps(journal: Journal) -> ReportedSteps[PoolStep]:
    """The reports of a run."""
    return ReportedSteps(journal, PoolStep)


def ends(fates: Sequence[DraftFate]) -> Mapping[str, int]:
    """What kept drafts out, by stage and reason, the most frequent first."""
    return dict(Counter(f"{one.stage}: {one.reason}" for one in fates if one.stage).most_common())
