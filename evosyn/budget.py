"""The hard limits of a run in money, tokens and calls: what a call may come to is reserved before it is sent.

A call that would pass a limit if it came to all that it may waits until those in flight have ended, which come to less
as a rule; where none is in flight, the limit is reached. So no limit is ever passed, whatever the concurrency.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Field

from evosyn.chat import Reply
from evosyn.configs.section import Section
from evosyn.errors import BudgetSpent, UsageError

log = logging.getLogger(__name__)


class BudgetConfig(Section):
    """What a run may spend; None is no limit. Replies from the cache cost nothing.

    Attributes:
        max_cost: dollars.
        max_tokens: input and output tokens together.
        max_calls: calls that the endpoint answered or may have worked on; one that it refused (429, 5xx) is none.
    """

    max_cost: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_calls: int | None = Field(default=None, ge=0)


@dataclass
class Spent:
    """What has been spent in this process.

    Attributes:
        cost: dollars, of the calls whose price is known.
        calls: answered calls.
        cached: replies from the cache.
        repeated: late calls that were asked a second time.
        abandoned: calls that were sent and not waited for to the end (a time-out, the slower of two): they count
            towards every limit with all that they may have come to; what a provider bills for them is not known.
    """

    cost: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cached: int = 0
    repeated: int = 0
    abandoned: int = 0


class Used(NamedTuple):
    """What counts towards the limits: what was spent, and all that calls may have come to which were given up."""

    max_cost: float = 0.0
    max_tokens: int = 0
    max_calls: int = 0


class Bound(NamedTuple):
    """The most that a call can come to, in dollars and in input and output tokens together."""

    cost: float = 0.0
    tokens: int = 0

    def plus(self, other: Bound) -> Bound:
        return Bound(self.cost + other.cost, self.tokens + other.tokens)

    def less(self, other: Bound) -> Bound:
        return Bound(self.cost - other.cost, self.tokens - other.tokens)


class Budget:
    """Counts what is spent and refuses what is not covered. Shared by teachers of several event loops.

    Attributes:
        limits: None in all of them where nothing is limited.
    """

    def __init__(self, config: BudgetConfig) -> None:
        self.spent = Spent()
        self.limits = config
        self._in_flight = 0
        self._held, self._given_up = Bound(), Bound()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._lock = threading.Lock()
        self._said = False

    @property
    def used(self) -> Used:
        spent, lost = self.spent, self._given_up
        tokens = spent.input_tokens + spent.output_tokens + lost.tokens
        return Used(spent.cost + lost.cost, tokens, spent.calls + spent.abandoned)

    async def reserve(self, bound: Bound = Bound()) -> None:  # noqa: B008  (it is frozen)
        """Ask leave for one more call; waits while calls in flight may use what is left.

        Raises:
            BudgetSpent: a limit is reached; what was received is kept.
        """
        while (turn := self._taken(bound)) is not None:
            await self._one_to_end(turn)

    def cancel(self, bound: Bound = Bound(), *, sent: bool) -> None:  # noqa: B008
        """Give a reserved call back that was not answered; `sent` if the endpoint may have worked on it."""
        with self._lock:
            if sent:
                self.spent.abandoned += 1
                self._given_up = self._given_up.plus(bound)
            self._end(bound)

    def settle(self, reply: Reply, bound: Bound = Bound()) -> None:  # noqa: B008
        """Turn a reserved call into a spent one.

        Raises:
            UsageError: a limit in money is set and the price of this model is unknown.
        """
        with self._lock:
            self.spent.calls += 1
            self.spent.input_tokens += reply.input_tokens
            self.spent.output_tokens += reply.output_tokens
            if reply.cost is not None:
                self.spent.cost += reply.cost
            self._end(bound)
        if reply.cost is None and self.limits.max_cost is not None:
            raise UsageError(unpriced(reply.model))

    def _taken(self, bound: Bound) -> asyncio.Future[None] | None:
        """Reserves a call; else what tells when to look again.

        Raises:
            BudgetSpent: there is nothing to wait for.
        """
        with self._lock:
            reached = self._reached(bound)
            if not reached:
                self._in_flight += 1
                self._held = self._held.plus(bound)
                self._wake()
                return None
            if not self._in_flight:
                self._wake()
                raise BudgetSpent(reached)
            if not self._said:
                log.warning("the rest of the budget is spoken for: waiting for %d calls in flight", self._in_flight)
                self._said = True
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            return turn

    def _reached(self, bound: Bound) -> str:
        """The limit that one more call of this bound might pass, in words; empty where there is none."""
        limits, taken, held = self.limits, self.used, self._held
        for name, limit, used, reserved, wanted in (
            ("max_cost", limits.max_cost, taken.max_cost, held.cost, bound.cost),
            ("max_tokens", limits.max_tokens, taken.max_tokens, held.tokens, bound.tokens),
            ("max_calls", limits.max_calls, taken.max_calls, self._in_flight, 1),
        ):
            if limit is not None and (used + reserved >= limit or used + reserved + wanted > limit):
                rest = "" if name == "max_calls" or used >= limit else f", and one more call may come to {wanted:.4g}"
                return (
                    f"budget {name} = {limit:g} is spent (used {used:.4g}{rest}): raise it and repeat the command to "
                    "go on, replies received are kept"
                )
        return ""

    def _end(self, bound: Bound) -> None:
        self._in_flight -= 1
        self._held = self._held.less(bound) if self._in_flight else Bound()
        self._wake()

    async def _one_to_end(self, turn: asyncio.Future[None]) -> None:
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                else:  # its turn had come: the one behind it looks in its place
                    self._wake()
            raise

    def _wake(self) -> None:
        """Let the next one that waits look again, in its own event loop; it lets the one behind it."""
        while self._waiting:
            turn = self._waiting.popleft()
            with contextlib.suppress(RuntimeError):  # its loop is gone
                turn.get_loop().call_soon_threadsafe(_look, turn)
                return


def _look(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def unpriced(model: str) -> str:
    """What is said where a limit in money cannot be kept."""
    return (
        f"max_cost is set but the price of {model} is unknown; give both workbench.teacher.price_in and price_out "
        "(dollars for a million tokens), or limit workbench.budget.max_tokens instead"
    )
