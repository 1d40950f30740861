"""When a search ends: budgets, a target, a plateau, or a model that only fails. The reason is a word in the journal.

Every rule but the clock looks at committed state alone, so a resumed run stops where the undisturbed one does.
"""

from __future__ import annotations

from enum import StrEnum

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
        model_calls, cost: replies used, and dollars.
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


def extended(config: StopConfig, more: int) -> StopConfig:
    """The limits with `more` proposals or evaluations (whichever are limited) on top: `--continue`."""
    return config.model_copy(
        update={
            "proposals": None if config.proposals is None else config.proposals + more,
            "evaluations": None if config.evaluations is None else config.evaluations + more,
        }
    )


def reason_to_stop(config: StopConfig, state: Archipelago, seconds: float, continued_at: int = 0) -> Stop | None:
    """Why the search should end now, or None.

    Args:
        state: after a commit.
        seconds: wall time of this process so far.
        continued_at: evaluations when `--continue` was last asked for; a plateau is counted from there.
    """
    best = state.best_score or 0.0
    since = state.evaluations - max(continued_at, state.curve[-1].evaluations if state.curve else 0)
    rules = (
        (Stop.TARGET, config.target is not None and best >= config.target),
        (Stop.EVALUATIONS, config.evaluations is not None and state.evaluations >= config.evaluations),
        (Stop.PROPOSALS, config.proposals is not None and state.steps >= config.proposals),
        (Stop.REPLIES, config.model_calls is not None and state.replies >= config.model_calls),
        (Stop.COST, config.cost is not None and state.cost >= config.cost),
        (Stop.PLATEAU, config.plateau is not None and since >= config.plateau),
        (Stop.FAILING, any(tally.streak >= config.failures for tally in state.tallies.values())),
        (Stop.TIME, config.seconds is not None and seconds >= config.seconds),
    )
    return next((stop for stop, holds in rules if holds), None)
