"""`evosyn experiment curriculum`: does a curriculum keep to what a student can learn? With a SIMULATED student.

The student solves a problem with chance 1 / (1 + exp(difficulty - skill)), and its skill rises by the same amount at
every step whatever it is given: it shows what is drawn, not that anybody learns more. DejaQ (2601.01931) section 4.
"""

from __future__ import annotations

import functools
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from pydantic import Field

from evosyn.evolve.curriculum import (
    Curriculum,
    CurriculumConfig,
    CurriculumEvent,
    Offered,
    Trained,
    curriculum_events,
)
from evosyn.journal import Journal
from evosyn.ports import Comparison, ExperimentTools, GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Json, canonical_json
from evosyn.rundir import write_atomic
from evosyn.simulation.experiment.config import ExperimentConfig, see_arms
from evosyn.train.stats import t_interval

SETTINGS = ("personal", "work", "economy", "leisure", "events", "science", "technology", "nature")
STEPS = {"smoke": 20, "cpu": 300, "gpu": 300}
BATCH, GROUP, SEEDS, MUTANTS, RISE, WARM = 16, 8, 96, 8, 0.05, 30
"""Problems a step, completions a problem, seed problems, mutants a step, skill a step, steps that are not judged."""
BAND = (0.25, 0.75)
RESAMPLED = 0.25
"""Of the proposals, those that are another problem of the seeds' kind (section 4.3)."""


class CurriculumExperiment(ExperimentConfig):
    """What a student whose skill rises is given, by a curriculum and without one. The student is simulated.

    Arms: dr draws uniformly from the seeds' kind; resample is a curriculum without mutations; dejaq-s mutates settings,
    dejaq-a difficulty too; still is dejaq-a whose scores do not age.
    """

    steps: int | None = Field(default=None, ge=1, description="Of the student. [300; smoke: 20]")


class CurriculumArm(NamedTuple):
    """
    Attributes:
        changes: how a mutant's difficulty differs from its parent's: mean and standard deviation; None: no mutants.
    """

    draws: bool = True
    changes: tuple[float, float] | None = None
    decay: float = 0.95


ARMS = {
    "dr": CurriculumArm(draws=False),
    "resample": CurriculumArm(),
    "dejaq-s": CurriculumArm(changes=(0.0, 0.2)),
    "dejaq-a": CurriculumArm(changes=(0.3, 0.8)),
    "still": CurriculumArm(changes=(0.3, 0.8), decay=1.0),
}


def create(tools: ExperimentTools, config: CurriculumExperiment) -> SimulatedCurricula:
    """The experiment.

    Raises:
        UsageError: an unknown arm.
    """
    arms = see_arms(config.arms, ARMS)
    return SimulatedCurricula(tools, arms, config.seed_numbers, config.steps or STEPS[config.size])


@dataclass(frozen=True)
class SimulatedCurricula:
    """Implements `ports.Experiment`: a journal for each arm and seed, whose fold is the state."""

    tools: ExperimentTools
    arms: Sequence[str]
    seeds: Sequence[int]
    steps: int

    def run(self, out: Path) -> Comparison:
        rows: list[dict[str, Json]] = []
        for arm in self.arms:
            found = [self._one(out / f"{arm}-{seed}", arm, seed) for seed in self.seeds]
            self.tools.say(f"{arm}: {len(found)} seeds done")
            figures = {key: t_interval([one[key] for one in found]) for key in found[0]}
            rows.append({"arm": arm, **{key: list(map(_rounded, one)) for key, one in figures.items()}})
        report: dict[str, Json] = {"simulated": True, "steps": self.steps, "seeds": list(self.seeds), "arms": rows}
        write_atomic(out / "report.json", json.dumps(report, indent=1) + "\n")
        return Comparison(report, _table(rows, self.steps, len(self.seeds)))

    def _one(self, out: Path, arm: str, seed: int) -> dict[str, float]:
        run = StudentRun(arm, seed)
        journal = Journal(out / "journal.jsonl")
        events = curriculum_events(journal)
        events.begin({"kind": "simulated curriculum", "arm": arm, "seed": seed})
        for held in events:
            run.take(held)
        while (event := run.next_event(self.steps)) is not None:
            events.append(event)
            run.take(event)
        journal.close()
        return run.figures()


class StudentRun:
    """One arm with one student: its next event is a function of the state, so a run that was killed goes on alike."""

    watched: ClassVar[float] = 2 / 3
    """Groups with signal are counted from this share of the steps on."""

    def __init__(self, arm: str, seed: int) -> None:
        self.arm, self._tree = ARMS[arm], SeedTree(seed).child("simulated curriculum")
        config = CurriculumConfig(decay=self.arm.decay)
        self.state = Curriculum(config, SETTINGS, self._tree.child(arm))
        self._seeded, self._chances, self._signal = 0, list[float](), list[float]()

    def take(self, event: CurriculumEvent) -> None:
        """Fold an event, and keep what the figures are made of."""
        if isinstance(event, Trained):
            batch = self._batch()
            skill = self._skill()
            self._chances.append(sum(_chance(skill, one) for one in batch) / len(batch))
            self._signal.append(sum(0 < one.passed < one.known for one in event.outcomes) / len(event.outcomes))
        else:
            self._seeded += event.number < 0 and not event.out
        self.state.fold(event)

    def next_event(self, steps: int) -> CurriculumEvent | None:
        """What comes next, in a run of so many steps; None at its end."""
        state = self.state
        if self.arm.draws and self._seeded < SEEDS:
            return self._offer(-1, _seed(self._tree, self._seeded), 0)
        if self.arm.draws and state.offered < MUTANTS * state.step:
            return self._mutant(state.offered)
        for old in state.renewed() if self.arm.draws else ():
            fresh = _seed(self._tree, SEEDS + MUTANTS * steps + state.step * MUTANTS + state.renewals)
            return self._offer(-1, fresh, 0, old.candidate.id)
        if state.step >= steps:
            return None
        rng = self._tree.child(repr(self.arm), "rollouts", state.step).random()
        return Trained(tuple(GroupOutcome(one.id, self._tried(one, rng), GROUP) for one in self._batch()))

    def figures(self) -> dict[str, float]:
        """Shares of steps and of groups, in [0, 1]."""
        judged = self._chances[WARM:] or self._chances
        late = self._signal[int(len(self._signal) * self.watched) :]
        stale = [slot for slot in self.state.slots.values() if self.state.score(slot) > self._now(slot.candidate) + 0.1]
        return {
            "in_band": sum(BAND[0] <= one <= BAND[1] for one in judged) / len(judged),
            "late_signal": sum(late) / len(late),
            "end_chance": self._chances[-1],
            "stale": len(stale) / max(len(self.state.slots), 1),
        }

    def _batch(self) -> list[Candidate]:
        if self.arm.draws:
            return [slot.candidate for slot in self.state.draw(BATCH)]
        rng = self._tree.child("uniform", self.state.step).random()
        return [_seed(self._tree, rng.randrange(SEEDS)) for _ in range(BATCH)]

    def _mutant(self, number: int) -> Offered:
        rng = self._tree.child("mutation", number).random()
        if self.arm.changes is None or rng.random() < RESAMPLED:
            return self._offer(number, _seed(self._tree, SEEDS + number), 0)
        parent, target = self.state.parent(number), self.state.target(number)
        difficulty = _difficulty(parent.candidate.text) + rng.gauss(*self.arm.changes)
        made = _problem(target, difficulty, f"mutant {number}", (parent.candidate.id,))
        return self._offer(number, made, parent.depth + 1)

    def _offer(self, number: int, candidate: Candidate, depth: int, out: str = "") -> Offered:
        rng = self._tree.child("probe", candidate.id).random()
        cell = json.loads(candidate.text)["setting"]
        return Offered(number, cell, candidate, self._tried(candidate, rng), GROUP, depth, out)

    def _tried(self, candidate: Candidate, rng: random.Random) -> int:
        return sum(rng.random() < _chance(self._skill(), candidate) for _ in range(GROUP))

    def _skill(self) -> float:
        return RISE * self.state.step

    def _now(self, candidate: Candidate) -> float:
        chance = _chance(self._skill(), candidate)
        return chance * (1 - chance)


def _problem(setting: str, difficulty: float, name: str, parents: tuple[str, ...] = ()) -> Candidate:
    text = canonical_json({"setting": setting, "difficulty": round(difficulty, 6), "statement": name})
    return Candidate(text, parents, "mutation" if parents else "seed")


@functools.lru_cache(maxsize=8192)
def _seed(tree: SeedTree, number: int) -> Candidate:
    rng = tree.child("seed", number).random()
    return _problem(rng.choice(SETTINGS), rng.gauss(0.0, 1.0), f"seed {number}")


@functools.lru_cache(maxsize=8192)
def _difficulty(text: str) -> float:
    return float(json.loads(text)["difficulty"])


def _chance(skill: float, candidate: Candidate) -> float:
    return 1 / (1 + math.exp(min(_difficulty(candidate.text) - skill, 50.0)))


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _table(rows: Sequence[dict[str, Json]], steps: int, seeds: int) -> str:
    low, high = BAND
    lines = [
        f"SIMULATED student: {steps} steps, {seeds} seeds; means with 95 % intervals (Student) over seeds",
        f"{'arm':10}  {f'steps in {low} to {high}':>24}  {'late groups with signal':>24}  {'chance at the end':>24}  "
        f"{'stale at the end':>24}",
    ]
    for row in rows:
        told = [_interval(*row[key]) for key in row if key != "arm"]
        lines.append(f"{row['arm']:10}  " + "  ".join(f"{one:>24}" for one in told))
    return "\n".join(lines)


def _interval(mean: float, low: float | None, high: float | None) -> str:
    return f"{mean:.3f}" if low is None or high is None else f"{mean:.3f} ({low:.3f} to {high:.3f})"
