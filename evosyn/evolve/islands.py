"""K archives side by side, with migration and restart: the whole state of a search, folded from its committed steps.

`ask` is pure: which parent, inspirations and proposer proposal number `index` gets depends on the state, the seed and
the index alone. `commit` is the only thing that changes the state, and it uses nothing but the step it is given, so
replaying the steps of a journal gives the state again. DESIGN.md section 5; Romera-Paredes et al. 2024.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from evosyn.configs.section import Section
from evosyn.evolve import selection
from evosyn.evolve.archive import AddStatus, Archive
from evosyn.evolve.events import Fate, Reassessed, Step, Trial, untold
from evosyn.evolve.proposer_tally import Tally
from evosyn.ports import Axis, Merit, Tried
from evosyn.randomness import SeedTree
from evosyn.records import Elite, Evaluation, Json
from evosyn.running.progress import Usage

REMEMBERED_ATTEMPTS = 20
POOL = 24
"""Elites among which the inspirations of a model are chosen."""


class IslandsConfig(Section):
    """How the islands are run.

    Attributes:
        count: islands.
        exploration: chance that a parent is any elite of the island; `best`: that it is the best of all islands; the
            rest is exploitation by `selection`.
        selection: how exploitation draws a parent.
        inspirations: elites of other cells and islands shown beside the parent.
        migrate_every: additions to islands between two migrations; migrants: elites that each island sends on.
        restart_after: proposals of an island without a better best of its own, after which it starts anew from the
            initial candidates and one elite of another island; 0 = never.
        search: `evolve`, or a baseline without inspirations: parents are any of the initial candidates (`iid`), the
            latest valid one (`sequential`), the best so far (`hillclimb`).
    """

    count: int = Field(default=4, ge=1, le=64)
    exploration: float = Field(default=0.2, ge=0.0, le=1.0)
    best: float = Field(default=0.1, ge=0.0, le=1.0)
    selection: Literal["fitness", "lexicase"] = "fitness"
    inspirations: int = Field(default=3, ge=0, le=16)
    migrate_every: int = Field(default=60, ge=1)
    migrants: int = Field(default=2, ge=0)
    restart_after: int = Field(default=400, ge=0)
    search: Literal["evolve", "iid", "sequential", "hillclimb"] = "evolve"


class Ask(NamedTuple):
    """What proposal number `index` works from."""

    island: int
    parent: Elite
    inspirations: tuple[Elite, ...]
    top: tuple[Elite, ...]
    attempts: tuple[Tried, ...] = ()
    before: tuple[float, ...] = ()
    reached: tuple[float, ...] = ()
    around: bool = False


class Best(NamedTuple):
    """A point of the best-so-far curve: after so many evaluations this candidate was the best."""

    evaluations: int
    id: str
    score: float


class Archipelago:
    """K islands, a record of everything ever kept, and what the search has seen and spent.

    Args:
        merit: the order among elites (`Evolved.merit`).

    Attributes:
        islands: the archives that parents are drawn from.
        record: one archive over the same axes that no restart empties.
        steps: committed proposals (initial candidates not counted).
        latest: the last one with a score; `sequential` makes it a parent, and has its feedback and notes.
        fresh: the text of a model that the last step brought, if it has a score; the next free proposal is about it.
            None in baselines, which do without that.
        tallies: counts by proposer.
        curve: the best-so-far curve; where an epoch begins it may fall.
        epoch: the standard that all members were evaluated by.
        assessing: what evaluating took of models; reassessed: members evaluated anew, over all epochs.
    """

    def __init__(
        self, axes: Sequence[Axis], merit: Callable[[Elite], Merit], config: IslandsConfig, seed: SeedTree
    ) -> None:
        self.axes, self._merit, self.config, self.seed = tuple(axes), merit, config, seed
        self.islands = [Archive(axes, merit) for _ in range(config.count)]
        self.record = Archive(axes, merit)
        self.initial: list[Elite] = []
        self.latest: Elite | None = None
        self.fresh: Elite | None = None
        self.steps = self.additions = self.evaluations = 0
        self.migrations = self.restarts = 0
        self.tallies: dict[str, Tally] = {}
        self.curve: list[Best] = []
        self.epoch, self.reassessed, self.assessing = "", 0, Usage()
        self._keys: dict[str, str] = {}
        self._signatures: dict[str, str] = {}
        self._invalid: dict[str, str] = {}
        self._per_seed: dict[str, tuple[float, ...]] = {}
        self._attempts: tuple[Tried, ...] = ()
        self._reached: tuple[float, ...] = ()
        self._improved_at = [0] * config.count

    def ask(self, index: int, *, free: bool = False, around: bool = False) -> Ask:
        """What proposal `index` gets; pure.

        Args:
            free: for a proposer without a model.
            around: its parent is what a model has just written, if one has.

        Raises:
            ValueError: no valid candidate has been committed yet.
        """
        if not self.initial:
            raise ValueError("the archipelago is empty: commit the initial candidates first")
        rng = self.seed.child("ask", index).random()
        island = index % len(self.islands)
        parent = self._parent(self.islands[island], rng)
        if self.config.search != "evolve":
            return Ask(island, parent, (), (), () if free else self._attempts)
        if free:
            around = around and self.fresh is not None
            parent = self.fresh if around and self.fresh is not None else parent
            others, top = self._inspirations(island, parent, rng), self.islands[island].top(3)
            return Ask(island, parent, others, top, around=around)
        best = self.record.top(1)
        before = self._per_seed.get(parent.candidate.parents[0], ()) if parent.candidate.parents else ()
        others = self._complements(parent, best, rng) if parent.evaluation.per_seed else ()
        others = others or self._inspirations(island, parent, rng)[:1]
        return Ask(island, parent, others, best, self._attempts, before, self._reached)

    def seen(self, key: str) -> str | None:
        """The id of the committed candidate with this key."""
        return self._keys.get(key)

    def why_invalid(self, key: str) -> str | None:
        """Why the committed candidate with this key has no score; None where there is none, or it has one."""
        return self._invalid.get(key)

    def behaves_like(self, signature: str) -> str | None:
        """The id of the committed candidate with this signature."""
        return self._signatures.get(signature)

    def commit(self, step: Step) -> tuple[Fate, ...]:
        """Fold one step into the state.

        Returns:
            What became of each trial, in order.
        """
        if not self.initial:
            self.epoch = next((one.evaluation.epoch for one in step.trials if one.evaluation is not None), "")
        before, self.fresh = self.best_score, None
        fates = tuple(self._enter(step, trial) for trial in step.trials)
        self._remember(step, fates)
        gain = 0.0 if before is None else max(0.0, (self.best_score or 0.0) - before)
        self.tallies.setdefault(step.asked or step.proposer, Tally()).count(step, fates, gain)
        if step.index >= 0:
            self.steps += 1
            self._migrate()
            self._restart(step)
        return fates

    def members(self) -> dict[str, Elite]:
        """Every elite that can be drawn, shown or compared, by id."""
        last = (one for one in (self.latest, self.fresh) if one is not None)
        held = (one for archive in (self.record, *self.islands) for one in archive)
        return {one.candidate.id: one for one in (*self.initial, *held, *last)}

    def parents_apart(self) -> set[str]:
        """Ids of what can be a parent without a place in an archive: what the search began from, and what came last."""
        latest = self.latest if self.config.search == "sequential" else None
        return {one.candidate.id for one in (*self.initial, latest, self.fresh) if one is not None}

    def reassess(self, event: Reassessed) -> None:
        """Go on with all members as they were evaluated anew; those without a score leave.

        What no longer compares is forgotten: the best scores on each seed problem, and what was tried.
        """

        def renewed(elites: Iterable[Elite]) -> list[Elite]:
            found = (Elite(one.candidate, event.evaluations[one.candidate.id]) for one in elites)
            return [one for one in found if one.evaluation.score is not None]

        def rebuilt(elites: Iterable[Elite]) -> Archive:
            fresh = Archive(self.axes, self._merit)
            for elite in renewed(elites) or self.initial:
                fresh.add(elite)
            return fresh

        every = list(self.members().values())
        self.latest, self.fresh = (next(iter(renewed([one] if one else [])), None) for one in (self.latest, self.fresh))
        self.initial = renewed(self.initial)
        self.islands, self.record = [rebuilt(island) for island in self.islands], rebuilt(every)
        self.epoch, self._attempts, self._reached = event.epoch, (), ()
        self.reassessed += len(event.evaluations)
        for name, found in event.evaluations.items():
            self._pay(found)
            if found.score is not None:
                self._per_seed[name] = found.per_seed
                self._reached = tuple(map(max, self._reached or found.per_seed, found.per_seed))
        self._improved_at = [self.steps] * len(self.islands)
        if self.best is not None:
            self.curve.append(Best(self.evaluations, self.best.candidate.id, self.best_score or 0.0))

    def forget_streaks(self) -> None:
        """Waste in a row ends where a search stops: repeating its command tries again."""
        for tally in self.tallies.values():
            tally.streak = 0

    @property
    def best(self) -> Elite | None:
        return self.record.best

    @property
    def best_score(self) -> float | None:
        return None if self.record.best is None else self.record.best.evaluation.score

    @property
    def replies(self) -> int:
        """Of models, for proposals and evaluations."""
        return sum(tally.replies for tally in self.tallies.values()) + self.assessing.calls

    @property
    def cost(self) -> float:
        return sum(tally.cost for tally in self.tallies.values()) + (self.assessing.cost or 0.0)

    @property
    def tokens(self) -> tuple[int, int]:
        """In and out, of proposals."""
        read, written = zip((0, 0), *(tally.tokens for tally in self.tallies.values()), strict=True)
        return sum(read), sum(written)

    def top(self, count: int) -> tuple[Elite, ...]:
        """See `ports.SearchState.top`."""
        return self.record.top(count)

    def report(self) -> dict[str, Json]:
        """See `ports.SearchState.report`."""
        return {
            "evaluations": self.evaluations,
            "proposals": self.steps,
            "model_calls": self.replies,
            "cost": self.cost,
            "proposers": {name: tally.to_json() for name, tally in sorted(self.tallies.items())},
            "curve": [list(point) for point in self.curve],
            **({"epoch": self.epoch, "reassessed": self.reassessed} if self.epoch else {}),
        }

    def _enter(self, step: Step, trial: Trial) -> Fate:
        candidate = trial.candidate
        if trial.key is None:
            return Fate.NO_PROGRAM
        if trial.key in self._keys:
            return Fate.DUPLICATE
        if trial.evaluation is None:
            raise ValueError(f"step {step.index}: candidate {candidate.id} is new and has no evaluation")
        if trial.evaluation.epoch != self.epoch:
            raise ValueError(f"step {step.index}: epoch {trial.evaluation.epoch!r}, and members are of {self.epoch!r}")
        self._keys[trial.key] = candidate.id
        self.evaluations += 1
        evaluation = trial.evaluation
        self._pay(evaluation)
        if evaluation.score is None:
            self._invalid[trial.key] = evaluation.invalid or "it has no score"
            return Fate.INVALID
        self._reached = tuple(map(max, self._reached or evaluation.per_seed, evaluation.per_seed))
        elite = Elite(candidate, evaluation)
        self.latest = elite if self.config.search == "sequential" else Elite(candidate, untold(evaluation))
        if step.replies and self.config.search == "evolve":
            self.fresh = elite
        twin = self._signatures.setdefault(evaluation.signature, candidate.id) if evaluation.signature else candidate.id
        if twin != candidate.id and step.index >= 0:
            return Fate.SAME_BEHAVIOUR
        return self._place(step, elite)

    def _pay(self, evaluation: Evaluation) -> None:
        self.assessing = self.assessing.plus(Usage(evaluation.calls, *evaluation.tokens, cost=evaluation.cost))

    def _place(self, step: Step, elite: Elite) -> Fate:
        before = self.best_score
        self.record.add(elite)
        score = elite.evaluation.score or 0.0
        if before is None or score > before:
            self.curve.append(Best(self.evaluations, elite.candidate.id, score))
        if step.index < 0:
            self.initial.append(elite)
            self._per_seed[elite.candidate.id] = elite.evaluation.per_seed
            statuses = [island.add(elite) for island in self.islands]
            return Fate(statuses[0].value)
        island = self.islands[step.island]
        status = island.add(elite)
        if island.best is elite:
            self._improved_at[step.island] = self.steps
        if status is not AddStatus.NOT_BETTER:
            self.additions += 1
            self._per_seed[elite.candidate.id] = elite.evaluation.per_seed
        return Fate(status.value)

    def _remember(self, step: Step, fates: Sequence[Fate]) -> None:
        """What a model was paid for, and what came of it: the last of its texts, where one was repaired."""
        if not step.replies or not step.trials:
            return
        trial, fate = step.trials[-1], fates[-1]
        candidate, evaluation = trial.candidate, trial.evaluation or Evaluation(None)
        parent = next(iter(candidate.parents), None)
        gaps = [new - old for new, old in zip(evaluation.per_seed, self._per_seed.get(parent or "", ()), strict=False)]
        attempt = Tried(
            id=candidate.id,
            parent=parent,
            idea=str(candidate.detail.get("idea", "")),
            score=evaluation.score,
            outcome=f"invalid: {evaluation.invalid}" if fate is Fate.INVALID else fate.value,
            won=sum(gap > selection.WON for gap in gaps),
            lost=sum(gap < -selection.WON for gap in gaps),
        )
        self._attempts = (*self._attempts, attempt)[-REMEMBERED_ATTEMPTS:]

    def _parent(self, archive: Archive, rng: random.Random) -> Elite:
        config, best, draw = self.config, self.best, rng.random()
        if config.search == "iid":
            return rng.choice(self.initial)
        if config.search == "sequential" and self.latest is not None:
            return self.latest
        if config.search == "hillclimb" or draw < config.best:
            return best if best is not None else self.initial[0]
        if draw < config.best + config.exploration:
            return selection.uniform(archive, rng)
        if config.selection == "lexicase":
            return selection.lexicase(archive, rng)
        return selection.by_rank(archive, rng)

    def _inspirations(self, island: int, parent: Elite, rng: random.Random) -> tuple[Elite, ...]:
        """Elites of other cells of this island and, every other one, of another island; no repeats."""
        chosen: dict[str, Elite] = {}
        for number in range(3 * self.config.inspirations):
            if len(chosen) == self.config.inspirations:
                break
            other = rng.randrange(len(self.islands)) if number % 2 else island
            elite = selection.uniform(self.islands[other], rng)
            if elite.candidate.id != parent.candidate.id:
                chosen.setdefault(elite.candidate.id, elite)
        return tuple(chosen.values())

    def _complements(self, parent: Elite, best: Sequence[Elite], rng: random.Random) -> tuple[Elite, ...]:
        """For a model: elites that win most where the parent and the best lose, one after the other; none that is worse
        than what the search began from."""
        drawn = [selection.uniform(self.islands[number % len(self.islands)], rng) for number in range(POOL)]
        least = self.initial[0].evaluation.score or 0.0
        left = {one.candidate.id: one for one in drawn if (one.evaluation.score or 0.0) >= least}
        return selection.complements(left, (parent, *best), self.config.inspirations)

    def _migrate(self) -> None:
        if self.additions < (self.migrations + 1) * self.config.migrate_every or len(self.islands) == 1:
            return
        self.migrations = self.additions // self.config.migrate_every
        leaving = [island.top(self.config.migrants) for island in self.islands]
        for number, elites in enumerate(leaving):
            for elite in elites:
                self.islands[(number + 1) % len(self.islands)].add(elite)

    def _restart(self, step: Step) -> None:
        patience, island = self.config.restart_after, self.islands[step.island]
        if not patience or len(self.islands) == 1:
            return
        if self.steps - self._improved_at[step.island] < patience * len(self.islands):
            return
        self._improved_at[step.island] = self.steps
        if island.best is None or self.best is None or island.best.candidate.id == self.best.candidate.id:
            return
        rng = self.seed.child("restart", step.index).random()
        fresh = Archive(self.axes, self._merit)
        for elite in (*self.initial, selection.by_rank(self.record, rng)):
            fresh.add(elite)
        self.islands[step.island] = fresh
        self.restarts += 1
