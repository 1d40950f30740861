"""When a search ends: budgets, a target, a plateau, or a model that only fails. The reason is a word in the journal.

Every rule but the clock looks at committed state alone, so a resumed run stops where the undisturbed one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from evosyn.configs.section import Section
from evosyn.evolve.islands import Archipelago


class Stop(StrEnum):
    """Why a search ended."""

    EVALUATIONS = "evaluations"
    PROPOSALS = "proposals"
    REPLIES = "model-calls"
    COST = "cost"
    TIME = "time"
    TARGET = "target"
    PLATEAU = "plateau"
    FAILING = "proposers-failing"


BUDGETS = frozenset({Stop.REPLIES, Stop.COST, Stop.TIME})
"""Limits that cut a search short of what was planned."""


class StopConfig(Section):
    """The limits of a search; whichever comes first. None = no such limit. At least one of the first two is set.

    Attributes:
        proposals: numbered proposals; evaluations: candidates evaluated (the last proposal is finished, so that a few
            more may be).
        model_calls, cost: replies used, and dollars. Proposers that cost nothing go on when these are spent.
        seconds: wall time of this process.
        target: a score that is good enough.
        plateau: evaluations without a better best.
        failures: wasted proposals of one proposer in a row that end the search as failing.
    """

    proposals: int | None = Field(default=None, ge=0)
    evaluations: int | None = Field(default=None, ge=0)
    model_calls: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)
    target: float | None = Field(default=None, ge=0, le=1)
    plateau: int | None = Field(default=None, ge=1)
    failures: int = Field(default=30, ge=1)


class Grant(NamedTuple):
    """What `--continue` added: `more` proposals or evaluations, and how many of each were made by then.

    Attributes:
        ended: the search had ended by itself.
        planned: the limits of the command that asked for it; None in journals that do not say.
    """

    more: int
    evaluations: int
    proposals: int
    ended: bool = False
    planned: tuple[int | None, int | None] | None = None


def extended(config: StopConfig, grants: Sequence[Grant]) -> StopConfig:
    """The limits with every grant: on top of what was made where the search had ended, else of what was allowed. A
    command that asks for another limit than the last one did gets it where it is more than what is allowed."""
    limits = (config.evaluations, config.proposals)
    planned = [grant.planned or limits for grant in grants]
    made = [(grant.evaluations, grant.proposals) for grant in grants]
    evaluations, proposals = (
        _allowed(limits[axis], grants, [one[axis] for one in planned], [one[axis] for one in made]) for axis in (0, 1)
    )
    return config.model_copy(update={"proposals": proposals, "evaluations": evaluations})


def _allowed(
    limit: int | None, grants: Sequence[Grant], planned: Sequence[int | None], made: Sequence[int]
) -> int | None:
    if limit is None:
        return None
    allowed = asked = 0
    for grant, plan, count in zip(grants, planned, made, strict=True):
        if plan is not None and plan != asked:
            allowed = max(allowed, plan)
        asked = asked if plan is None else plan
        allowed = (count if grant.ended else max(allowed, count)) + grant.more
    return max(allowed, limit) if limit != asked else allowed


def spent(config: StopConfig, state: Archipelago) -> Stop | None:
    """Which limit of what is paid is reached."""
    if config.model_calls is not None and state.replies >= config.model_calls:
        return Stop.REPLIES
    return Stop.COST if config.cost is not None and state.cost >= config.cost else None


def reason_to_stop(
    config: StopConfig, state: Archipelago, seconds: float, continued_at: int = 0, *, has_free: bool = False
) -> Stop | None:
    """Why the search should end now, or None.

    Args:
        state: after a commit.
        seconds: wall time of this process so far.
        continued_at: evaluations when `--continue` was last asked for; a plateau is counted from there.
        has_free: there are proposers that cost nothing.
    """
    best = state.best_score or 0.0
    paid = spent(config, state)
    since = state.evaluations - max(continued_at, state.curve[-1].evaluations if state.curve else 0)
    rules = (
        (Stop.TARGET, config.target is not None and best >= config.target),
        (Stop.EVALUATIONS, config.evaluations is not None and state.evaluations >= config.evaluations),
        (Stop.PROPOSALS, config.proposals is not None and state.steps >= config.proposals),
        (paid or Stop.COST, paid is not None and not has_free),
        (Stop.PLATEAU, config.plateau is not None and since >= config.plateau),
        (Stop.FAILING, any(tally.streak >= config.failures for tally in state.tallies.values())),
        (Stop.TIME, config.seconds is not None and seconds >= config.seconds),
    )
    return next((stop for stop, holds in rules if holds), None)
