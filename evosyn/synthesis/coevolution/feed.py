"""The feed of a co-evolution: what its state says goes to the student, what the student makes of it goes to the state.

A report is one line of the journal with the mutations that were due: it is waited for, written, and folded. What is
drawn is a function of the state, so the same reports and replies lead to the same rows. `ports.Feed`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evosyn.chat import Message
from evosyn.journal import Journal
from evosyn.ports import FeedRow, GroupOutcome
from evosyn.records import Json
from evosyn.reported_steps import by_row
from evosyn.synthesis.coevolution.contested import contested
from evosyn.synthesis.coevolution.seeds import SeedProblems
from evosyn.synthesis.coevolution.state import (
    Coevolution,
    CoevolutionPlan,
    CoevolutionStep,
    Launched,
    coevolution_steps,
    kept,
)
from evosyn.synthesis.coevolution.under_way import MutationsUnderWay
from evosyn.synthesis.mutations.mutator import Mutation

log = logging.getLogger(__name__)
KIND = "coevolution"
ALL_LOST = 24
"""Mutations of which none came to anything, before a warning."""


class FeedParts(NamedTuple):
    """What a feed works with.

    Attributes:
        under_way: None where nothing is mutated.
        fits: whether a prompt is short enough for the student.
        about: who mutates; goes into the summary.
    """

    plan: CoevolutionPlan
    journal: Journal
    under_way: MutationsUnderWay | None = None
    fits: Callable[[tuple[Message, ...]], bool] = lambda _: True
    about: Mapping[str, Json] = {}


class EvolvingProblems:
    """Implements `ports.Feed`. What its journal holds already is taken up.

    Raises:
        UsageError: the journal is of another run.
    """

    def __init__(self, parts: FeedParts) -> None:
        self._parts, self._plan = parts, parts.plan
        self._seeds: SeedProblems = parts.plan.seeds
        self._steps = coevolution_steps(parts.journal)
        self._steps.begin(header_of(self._plan, parts.about))
        self._refold()

    def rows(self, step: int, groups: int) -> Sequence[FeedRow]:
        return [self._seeds.row(one) for one in self._state.rows(step, groups)]

    def report(self, step: int, outcomes: Sequence[GroupOutcome]) -> None:
        found = CoevolutionStep(step, by_row(outcomes), tuple(self._due()), tuple(self._contested(outcomes)))
        self._steps.append(found)
        self._state.fold(found)
        self._begin()
        self._warn()

    def rewind(self, step: int) -> None:
        if self._steps.rewind(step):
            self._refold()
        self._begin()

    def state(self) -> Json:
        return self._state.state()

    def figures(self) -> Mapping[str, float]:
        """Share of places that are taken, mean learnability and mutations behind them, newcomers kept by the last
        report."""
        slots, state = [*self._state.curriculum.slots.values()], self._state
        places = len(state.curriculum.cells) * state.curriculum.config.cell_size
        come = [one for one in state.arrivals if one.step == state.steps - 1]
        return {
            "archive": len(slots) / places,
            "learnability": sum(map(state.curriculum.score, slots)) / max(len(slots), 1),
            "depth": sum(slot.depth for slot in slots) / max(len(slots), 1),
            "arrived": float(sum(map(kept, come))),
        }

    def summary(self) -> Json:
        """Who mutated, what became of mutations and newcomers, and what the curriculum holds."""
        found = {**self._parts.about, **told_of(self._state), "warnings": self._warnings()}
        under_way = self._parts.under_way
        return found if under_way is None else {**found, **under_way.spent().told()}

    def _contested(self, outcomes: Sequence[GroupOutcome]) -> Iterator[str]:
        """The newcomers whose declared answer the student's answers speak against (counted, never acted on)."""
        new = {one.candidate.id: one.candidate for one in self._state.newcomers()}
        for row in dict.fromkeys(one.row for one in outcomes if one.row in new):
            texts = [text for one in outcomes if one.row == row for text in one.texts]
            if contested(self._seeds.problem(new[row]), texts):
                yield row

    def _refold(self) -> None:
        self._state = Coevolution(self._plan)
        for event in self._steps.standing():
            self._state.fold(event)
        self._warned = bool(self._warnings())

    def _due(self) -> list[Mutation]:
        """The mutations that come in with this report, as far as they fit; waits for them."""
        due, under_way = _mutations(self._state.due()), self._parts.under_way
        if not due or under_way is None:
            return []
        made = under_way.collect([self._state.order(one) for one in due])
        return [self._fitting(one, item.mutation) for one, item in zip(due, made, strict=True)]

    def _fitting(self, one: Launched, made: Mutation) -> Mutation:
        if made.lost or self._parts.fits(self._seeds.row(self._seeds.mutant(one.parent, made)).prompt):
            return made
        return replace(made, statement="", answer="", wasted=(*made.wasted, "mutant:too-long"))

    def _begin(self) -> None:
        if self._parts.under_way is not None:
            self._parts.under_way.begin([self._state.order(one) for one in _mutations(self._state.launched)])

    def _warn(self) -> None:
        if not self._warned and (said := self._warnings()):
            self._warned = True
            log.warning("%s", said[0])

    def _warnings(self) -> list[str]:
        lost = self._state.lost.total()
        made = sum(bool(one.newcomer.candidate.parents) for one in self._state.arrivals) + sum(
            bool(one.candidate.parents) for one in self._state.waiting
        )
        if made or lost < ALL_LOST:
            return []
        worst = ", ".join(f"{count} x {reason}" for reason, count in self._state.lost.most_common(3))
        return [f"none of {lost} mutations came to anything ({worst}): the run goes on with seeds alone, as `resample`"]


def header_of(plan: CoevolutionPlan, about: Mapping[str, Json]) -> dict[str, Json]:
    """All that decides the course of a run beside what it is told of the student."""
    own = {
        "config": plan.config.model_dump(mode="json", exclude={"selfplay"}),
        "seeds": plan.seeds.digest,
        "seed": plan.tree.root,
    }
    return {**about, "kind": KIND, **own, "prompts": plan.prompts, "steps": plan.steps}


def told_of(state: Coevolution) -> dict[str, Json]:
    """The figures of a state."""
    slots = [*state.curriculum.slots.values()]
    arrived = [one for one in state.arrivals if one.newcomer.number >= 0]
    refused = Counter(one.fate.value for one in arrived if not kept(one))
    mutants = [one for one in arrived if one.newcomer.candidate.parents]
    return {
        "proposals": state.proposed,
        "kept": sum(map(kept, arrived)),
        "dropped": dict(sorted({**refused, **state.lost}.items())),
        "mutants": {"tried": len(mutants), "kept": sum(map(kept, mutants)), "lost": state.lost.total()},
        "contested": {
            "tried": sum(one.contested for one in arrived),
            "kept": sum(kept(one) and one.contested for one in arrived),
        },
        "wasted": dict(sorted(state.wasted.items())),
        "archive": {
            "held": len(slots),
            "mutants": sum(bool(slot.depth) for slot in slots),
            "learnability": round(sum(map(state.curriculum.score, slots)) / max(len(slots), 1), 4),
            "depth": round(sum(slot.depth for slot in slots) / max(len(slots), 1), 3),
        },
    }


def _mutations(launched: Sequence[Launched]) -> list[Launched]:
    return [one for one in launched if one.links]
