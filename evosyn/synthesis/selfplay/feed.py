"""The feed of a pool of environments: its questions go to the student, and drafts that suit the student come in.

Where the student is the author, requests for drafts are rows too, for which the feed pays. A report is one line of the
journal with the drafts that were due and the questions of the next step, whole, so that going on runs no generator.
`ports.PayingFeed`; EvoEnv, sections 3.1 to 3.3.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from evosyn.domains import domain
from evosyn.domains.environment import KIND as TESTING
from evosyn.domains.environment import NAME
from evosyn.environments.asking import shown_request
from evosyn.environments.calibration import Rate
from evosyn.environments.contract import LEVELS, Environment
from evosyn.environments.fresh import Fits, FreshRow, FreshRows, feed_row
from evosyn.environments.novelty import MIX, NoveltyPool
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.ports import FeedRow, GroupOutcome
from evosyn.records import Json, Problem, Testing
from evosyn.reported_steps import by_row
from evosyn.synthesis.environments.climbing import compared
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.selfplay.drafting import DraftsUnderWay, StudentTrial, WantedDraft, fitting_texts, stands
from evosyn.synthesis.selfplay.state import (
    BEFORE,
    SHARE,
    DraftFate,
    DraftOrder,
    EnvironmentPool,
    PoolPlan,
    PoolStep,
    ends,
    pool_steps,
)
from evosyn.synthesis.selfplay.worth import batch_alike, worth_of
from evosyn.tasks import Task

log = logging.getLogger(__name__)
KIND = "environment-pool"
TRIES = 4
"""Draws of questions before fewer than were wanted are asked, some of them twice."""
NOTHING_IN = 16
"""Drafts of which none came in, before a warning."""
DRAFT_ROW = "draft-"
TOO_LONG = "request-too-long"
UNASKED = -1
"""Number in the ledger of a draft that nobody was asked for."""


@dataclass(frozen=True)
class PoolParts:
    """What a feed works with.

    Attributes:
        under_way: None where nothing is drafted.
        about: who writes; goes into the summary.
        fits: whether a request for a draft is short enough for the student that is to write.
        questions: of an environment, one a level: what novelty is measured by.
    """

    plan: PoolPlan
    journal: Journal
    fresh: FreshRows
    trial: StudentTrial
    under_way: DraftsUnderWay | None = None
    about: Mapping[str, Json] = field(default_factory=dict)
    fits: Fits = lambda _: True
    questions: Callable[[Environment], Sequence[str]] = lambda _: ()


class EvolvingEnvironments:
    """Implements `ports.PayingFeed`. What its journal holds already is taken up.

    Raises:
        UsageError: the journal is of another run; no question fits the student.
    """

    def __init__(self, parts: PoolParts) -> None:
        self._parts, self._plan = parts, parts.plan
        self._paid: dict[str, list[float | None]] = {}
        self._steps = pool_steps(parts.journal)
        self._steps.begin(header_of(self._plan, parts.about))
        if not self._steps.standing():
            told = tuple(tuple(parts.questions(one)) for one in self._plan.seeds) if parts.under_way else ()
            self._steps.append(PoolStep(BEFORE, asked=self._asked(EnvironmentPool(self._plan)), prompts=told))
        self._refold()

    def rows(self, step: int, groups: int) -> Sequence[FeedRow]:  # noqa: ARG002
        drafts = [self._draft_row(one) for one in self._orders()][: max(1, groups // SHARE)]
        asked = [feed_row(self._state.members[one.environment].environment, one) for one in self._state.asked]
        return [*drafts, *(asked[at % len(asked)] for at in range(groups - len(drafts)))][:groups]

    def report(self, step: int, outcomes: Sequence[GroupOutcome]) -> None:
        groups = by_row(one for one in outcomes if not one.row.startswith(DRAFT_ROW))
        under_way = self._parts.under_way
        wanted = [] if under_way is None else self._wanted(outcomes)
        drafts = [] if under_way is None else under_way.collect(wanted)
        fates, alike = self._judged(wanted, drafts, step)
        found = PoolStep(step, groups, (*fates, *self._unasked()), alike)
        found = replace(found, asked=self._asked(self._state.after(found)))
        self._steps.append(found)
        self._fold(found)
        self._paid = self._rewards(outcomes, wanted, fates)
        self._begin()
        self._warn()

    def paid(self) -> Mapping[str, Sequence[float | None]]:
        """Drafts by what they are worth, None where their solve rate is unknown; answers by the majority
        where no verifier pays."""
        return self._paid

    def rewind(self, step: int) -> None:
        if self._steps.rewind(step):
            self._refold()
        self._begin()

    def state(self) -> Json:
        return self._state.state()

    def figures(self) -> Mapping[str, float]:
        """Environments in the pool, those that came in with the last report, the mean level of the questions, and what
        the drafts of the last report were worth."""
        state = self._state
        last = [one for one in state.fates if one.number in self._last]
        worth = [one.reward for one in last if one.reward is not None]
        return {
            "pool": float(len(state.active)),
            "admitted": float(sum(bool(one.source) for one in last)),
            "level": sum(one.level for one in state.asked) / max(len(state.asked), 1),
            "draft_worth": sum(worth) / max(len(worth), 1),
        }

    def summary(self) -> Json:
        """Who wrote, what became of the drafts, and what the pool holds."""
        found = {**self._parts.about, **told_of(self._state), "warnings": warnings_of(self._state)}
        under_way = self._parts.under_way
        return found if under_way is None else {**found, **under_way.spent().told()}

    def _orders(self) -> list[DraftOrder]:
        """The drafts that the student is asked for at this step."""
        return [] if self._plan.wait else [one for one in self._state.due() if self._texts(one)]

    def _unasked(self) -> list[DraftFate]:
        """What becomes of those that it cannot be asked for."""
        left = [one for one in self._state.due() if not self._texts(one)]
        return [DraftFate(one.number, UNASKED, "author", TOO_LONG, reward=None) for one in left]

    def _texts(self, order: DraftOrder) -> tuple[str, ...]:
        """The programs that a request shows; () where it is too long for the student."""
        texts = tuple(self._state.texts(order))
        if self._plan.wait:
            return texts
        return fitting_texts(texts, order.category, self._plan.config.drafting, self._parts.fits)

    def _draft_row(self, order: DraftOrder) -> FeedRow:
        name = f"{DRAFT_ROW}{order.number}"
        drafting = self._plan.config.drafting
        request = shown_request(self._texts(order), order.category, drafting.sampling)
        problem = Problem(name, NAME, request.messages[-1].content)
        task = Task(name, problem, Testing(TESTING, {"program": "", "instance": None}))
        return FeedRow(request.messages, task, drafting.weight, judged=False)

    def _wanted(self, outcomes: Sequence[GroupOutcome]) -> list[WantedDraft]:
        """The drafts that are due: those of a teacher, or one for each completion of the student."""
        due = [(one, self._texts(one)) for one in self._state.due()]
        if self._plan.wait:
            return [WantedDraft(one, texts) for one, texts in due]
        said = {one.row: one.texts for one in outcomes}
        return [
            WantedDraft(one, texts, place, text)
            for one, texts in due
            for place, text in enumerate(said.get(f"{DRAFT_ROW}{one.number}", ()))
        ]

    def _judged(
        self, wanted: Sequence[WantedDraft], drafts: Sequence[Draft], step: int
    ) -> tuple[list[DraftFate], float | None]:
        """What becomes of drafts, in order, so that of two that are alike the first comes in; and how much alike they
        are."""
        by_student = not self._plan.wait  # its reward needs the rate of what a review refuses, too
        tried = [one for one in drafts if stands(one) and (by_student or one.ended is None)]
        rates = dict(zip((one.index for one in tried), self._parts.trial.rates(tried, step), strict=True))
        up = [one for one in drafts if stands(one)]
        alike, fates = batch_alike(up), list[DraftFate]()
        pressure, batch = self._state.alike, NoveltyPool()
        for order, draft in zip(wanted, drafts, strict=True):
            rate = rates.get(draft.index, Rate(self._plan.config.band.level, 0, 0))
            come = {fate.environment for fate in fates if fate.source}
            one = self._placed(draft, rate, come) if stands(draft) else draft
            novelty = _novelty(one, batch)
            share = rate.solved / rate.n if rate.n else None
            ended, came = one.ended, one.ended is None
            if came:
                self._kept.add(one.environment, one.prompts)
            fates.append(
                DraftFate(
                    order.order.number, draft.index,
                    "" if ended is None else ended.stage, "" if ended is None else ended.reason,
                    one.level, rate.solved, rate.n, novelty,
                    worth_of(one.level, share, novelty, pressure, self._plan.arm),
                    one.environment.id if stands(one) else "", one.source or "" if came else "",
                    one.prompts if came else (),
                )
            )  # fmt: skip
        return fates, alike

    def _placed(self, draft: Draft, rate: Rate, come: Collection[str]) -> Draft:
        """A draft against what was in the pool before it, whatever ended it, and against the band."""
        if draft.environment.id in {*self._state.members, *come}:
            draft = draft.drop("novelty", "same-program")
        found = compared(draft, self._kept)
        draft = found if self._plan.arm.novelty else replace(draft, nearest=found.nearest)
        if draft.ended is not None:
            return draft
        if not rate.n:
            return draft.drop("band", "unmeasured")
        if rate.solved in (0, rate.n):
            return draft.drop("band", "saturated" if rate.solved else "too-hard")
        return draft

    def _asked(self, state: EnvironmentPool) -> tuple[FreshRow, ...]:
        """Questions for the step that a state is at.

        Raises:
            UsageError: there is none that fits.
        """
        found: list[FreshRow] = []
        for tries in range(TRIES):
            wanted: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
            for at, (name, level) in enumerate(state.cells(self._plan.prompts - len(found), tries)):
                wanted[name].append((level, at, f"{name}/{level}/fresh-{state.steps}-{tries}-{at}"))
            tree = self._plan.tree.child("instance", state.steps, tries)
            for name, cells in wanted.items():
                made = self._parts.fresh.made(state.members[name].environment, cells, tree)
                found += [one for one in made if one is not None]
            if len(found) >= self._plan.prompts:
                break
        if not found:
            raise UsageError(
                "no question of the pool can be made, or fits the student: raise --set rollout.max_prompt, or start "
                "from other environments"
            )
        return tuple(found)

    def _rewards(
        self, outcomes: Sequence[GroupOutcome], wanted: Sequence[WantedDraft], fates: Sequence[DraftFate]
    ) -> dict[str, list[float | None]]:
        found: defaultdict[str, list[float | None]] = defaultdict(list)
        if not self._plan.wait:
            for one, fate in zip(wanted, fates, strict=True):
                found[f"{DRAFT_ROW}{one.order.number}"].append(fate.reward)
        if not self._plan.arm.verifies:
            for group in outcomes:
                if not group.row.startswith(DRAFT_ROW):
                    found[group.row] += agreement(group.texts)
        return dict(found)

    def _fold(self, event: PoolStep) -> None:
        self._state.fold(event)
        self._last = {one.number for one in event.drafts}

    def _refold(self) -> None:
        self._state, self._kept, self._last = EnvironmentPool(self._plan), NoveltyPool(), set[int]()
        for event in self._steps.standing():
            self._fold(event)
            for seed, prompts in zip(self._plan.seeds, event.prompts, strict=False):
                self._kept.add(seed, prompts)
            for one in event.drafts:
                if one.source:
                    member = self._state.members[one.environment]
                    self._kept.add(member.environment, one.prompts)
        self._warned = bool(warnings_of(self._state))

    def _begin(self) -> None:
        if self._parts.under_way is not None and self._plan.wait:
            state = self._state
            self._parts.under_way.begin([WantedDraft(one, tuple(state.texts(one))) for one in state.launched])

    def _warn(self) -> None:
        if not self._warned and (said := warnings_of(self._state)):
            self._warned = True
            log.warning("%s", said[0])


def _novelty(draft: Draft, batch: NoveltyPool) -> float:
    """How new a draft is beside what it was compared with and the earlier ones of its batch, which it joins."""
    if not stands(draft):
        return 0.0
    near = compared(draft, batch).nearest
    batch.add(draft.environment, draft.prompts)
    return 1.0 if near is None else round(1 - MIX * near.prompt - (1 - MIX) * near.code, 6)


def agreement(texts: Sequence[str]) -> list[float]:
    """1 for each completion whose answer is the one that most of them give (the first of several such), 0 for the
    others and for what cannot be read."""
    read = map(partial(domain(NAME).read, "solution", problem=None), texts)
    answers = [None if one.value is None else " ".join(one.value.text.split()).lower() for one in read]
    given = Counter(one for one in answers if one is not None)
    best = max(given, key=given.__getitem__, default=None)
    return [float(best is not None and one == best) for one in answers]


def header_of(plan: PoolPlan, about: Mapping[str, Json]) -> dict[str, Json]:
    """All that decides the course of a run beside what it is told of the student."""
    seeds = [one.id for one in plan.seeds]
    own = {"config": plan.config.model_dump(mode="json"), "seeds": seeds, "seed": plan.tree.root}
    return {**about, "kind": KIND, **own, "prompts": plan.prompts, "steps": plan.steps}


def told_of(state: EnvironmentPool) -> dict[str, Json]:
    """The figures of a state."""
    fates = state.fates
    rates = [one.solved / one.known for one in fates if one.known]
    return {
        "drafts": len(fates),
        "kept": sum(bool(one.source) for one in fates),
        "dropped": dict(sorted(ends(fates).items())),
        "stood": sum(one.level == LEVELS for one in fates),
        "student_rate": round(sum(rates) / len(rates), 4) if rates else None,
        "alike": round(state.alike, 4),
        "pool": {
            "active": len(state.active),
            "new": sum(name in state.active for name in state.arrived),
            "retired": dict(sorted(Counter(one.retired for one in state.members.values() if one.retired).items())),
        },
    }


def warnings_of(state: EnvironmentPool) -> list[str]:
    """What a reader must know: that nothing, of enough drafts, came in."""
    if len(state.fates) < NOTHING_IN or any(one.source for one in state.fates):
        return []
    worst = ", ".join(f"{count} x {reason}" for reason, count in list(ends(state.fates).items())[:3])
    told = f"none of {len(state.fates)} drafts came into the pool ({worst})"
    return [f"{told}; without any the student trains on the seeds alone"]
