"""The hard limits of a run in money, tokens and calls: checked before each call, counted after it."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from evosyn.chat import Reply
from evosyn.configs.section import Section
from evosyn.errors import BudgetSpent, UsageError


class BudgetConfig(Section):
    """What a run may spend; None is no limit. Replies from the cache cost nothing.

    Attributes:
        max_cost: dollars.
        max_tokens: input and output tokens together.
        max_calls: calls sent to the endpoint.
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
            towards `max_calls`; what a provider bills for them is not known.
    """

    cost: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cached: int = 0
    repeated: int = 0
    abandoned: int = 0


class Budget:
    """Counts what is spent and refuses what is not covered."""

    def __init__(self, config: BudgetConfig) -> None:
        self.spent = Spent()
        self._config = config
        self._reserved = 0

    def reserve(self) -> None:
        """Ask leave for one more call.

        Raises:
            BudgetSpent: a limit is reached; what was received is kept.
        """
        limits, spent = self._config, self.spent
        tokens = spent.input_tokens + spent.output_tokens
        for name, limit, used in (
            ("max_cost", limits.max_cost, spent.cost),
            ("max_tokens", limits.max_tokens, tokens),
            ("max_calls", limits.max_calls, spent.calls + spent.abandoned + self._reserved),
        ):
            if limit is not None and used >= limit:
                raise BudgetSpent(
                    f"budget {name} = {limit} is spent (used {used:g}); raise it and repeat the command to go on: "
                    "replies received are kept"
                )
        self._reserved += 1

    def cancel(self, *, sent: bool) -> None:
        """Give a reserved call back that was not answered; `sent` if the endpoint may have worked on it."""
        self._reserved -= 1
        self.spent.abandoned += sent

    def settle(self, reply: Reply) -> None:
        """Turn a reserved call into a spent one.

        Raises:
            UsageError: a limit in money is set and the price of this model is unknown.
        """
        self._reserved -= 1
        self.spent.calls += 1
        self.spent.input_tokens += reply.input_tokens
        self.spent.output_tokens += reply.output_tokens
        if reply.cost is not None:
            self.spent.cost += reply.cost
        elif self._config.max_cost is not None:
            raise UsageError(
                f"max_cost is set but the price of {reply.model} is unknown; give price_in and price_out "
                "(dollars for a million tokens), or limit max_tokens instead"
            )
