"""A teacher over a transport: cache, budget, adaptive concurrency, retries with a policy for each failure.

It knows nothing of prompts or parsing. Paid replies are in the cache before anybody sees them, so a killed run repeats
at most what was in flight. DESIGN.md section 5, "Teacher".
"""

from __future__ import annotations

import asyncio
import logging
import re
from functools import partial

from pydantic import Field

from evosyn.budget import Budget
from evosyn.chat import Reply, Request
from evosyn.configs.section import Section
from evosyn.errors import TeacherUnavailable
from evosyn.randomness import SeedTree
from evosyn.teachers.cache import ReplyCache, request_key
from evosyn.teachers.hedge import Lateness
from evosyn.teachers.limits import AdaptiveLimit, Breaker, PerMinute
from evosyn.teachers.transports import Answer, Failure, Transport, TransportError

log = logging.getLogger(__name__)
_THINKING = re.compile(r"\A\s*<think>(.*?)</think>\s*", re.DOTALL)
SECOND_CALLS = 8
"""One second call is allowed for so many first ones in flight."""
REFUSED_AT_FIRST = 16
"""Bad requests before the first answer after which the requests are taken for the fault."""
_ENDS_THE_RUN = {Failure.AUTH, Failure.NO_MODEL}


class ChatConfig(Section):
    """How a model is asked.

    Attributes:
        concurrency: most calls in flight; the number in force adapts to what the endpoint admits.
        retries: further attempts after a server error, a timeout or a broken connection (a 429 does not count).
        hedge: a call that takes so many times longer than usual is asked a second time, beside at most an eighth of
            `concurrency`, and the first answer of the two counts; None never does.
        patience_s: seconds without one answer after which the endpoint is taken for dead.
        requests_per_minute, tokens_per_minute: limits of the account, None for none.
        price_in, price_out: dollars for a million tokens, where the provider's price is unknown.
    """

    concurrency: int = Field(default=64, ge=1, le=4096)
    retries: int = Field(default=4, ge=0)
    hedge: float | None = Field(default=3.0, gt=1)
    patience_s: float = Field(default=300.0, gt=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)


class ChatTeacher:
    """Implements `ports.Teacher`.

    Args:
        name: `provider/model`; goes into cache keys and provenance.
        transport: sends one request.
        config: limits and policy.
        cache: replies already paid for.
        budget: what may be spent.
    """

    def __init__(self, name: str, transport: Transport, config: ChatConfig, cache: ReplyCache, budget: Budget) -> None:
        self.budget = budget
        self._name, self._transport, self._config, self._cache = name, transport, config, cache
        self._limit = AdaptiveLimit(config.concurrency)
        self._requests, self._tokens = PerMinute(config.requests_per_minute), PerMinute(config.tokens_per_minute)
        self._late = Lateness(config.hedge, lambda: self._limit.size // SECOND_CALLS)
        self._breaker = Breaker(config.patience_s)
        self._refused_so_far, self._answered = 0, False
        self._in_flight: dict[str, asyncio.Future[Reply]] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def simulated(self) -> bool:
        return False

    async def complete(self, request: Request) -> Reply:
        """See `ports.Teacher.complete`; equal requests in flight share one call."""
        key = request_key(self._name, request)
        kept = self._cache.get(key)
        if kept is not None:
            self.budget.spent.cached += 1
            return kept
        if key in self._in_flight:
            return await asyncio.shield(self._in_flight[key])
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = future
        try:
            reply = await self._ask(key, request)
            future.set_result(reply)
            return reply
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
            future.exception()  # nobody may be waiting for it
            raise
        finally:
            del self._in_flight[key]

    async def aclose(self) -> None:
        spent = self.budget.spent
        if spent.repeated or spent.abandoned:
            log.warning(
                "%s: %d late calls were asked again, %d calls were given up; a provider may bill those too",
                self._name,
                spent.repeated,
                spent.abandoned,
            )
        await self._transport.aclose()
        self._cache.close()

    async def _ask(self, key: str, request: Request) -> Reply:
        jitter = SeedTree(0).child("jitter", key).random()
        attempt = 0
        while True:
            try:
                return await self._attempt(key, request)
            except TransportError as error:
                if error.kind in _ENDS_THE_RUN:
                    raise TeacherUnavailable(f"{self._name}: {error}") from error
                if error.kind is Failure.BAD_REQUEST:
                    self._bad(error)
                    return Reply(key, "", self._name, failure="bad-request", cost=0.0)
                self._breaker.failed(str(error))
                if error.kind is not Failure.RATE:
                    attempt += 1
                    if attempt > self._config.retries:
                        return Reply(key, "", self._name, failure=error.kind.value, cost=0.0)
                wait = max(error.retry_after, 0.25 * 2 ** min(attempt, 6))
                await asyncio.sleep(wait * (1.0 + jitter.random() * 0.25))

    def _bad(self, error: TransportError) -> None:
        """
        Raises:
            TeacherUnavailable: nothing but such requests so far.
        """
        log.warning("%s refused a request: %s", self._name, error)
        self._refused_so_far += 1
        if self._refused_so_far >= REFUSED_AT_FIRST and not self._answered:
            raise TeacherUnavailable(
                f"{self._name} refused all of the first {self._refused_so_far} requests ({error}); change the sampling "
                "parameters (--set draw.solution=..., draw.testing=..., problem.params=...) and repeat the command"
            ) from error

    async def _attempt(self, key: str, request: Request) -> Reply:
        await self._requests.take(1)
        place = await self._limit.acquire()
        started = asyncio.get_running_loop().time()
        try:
            reply = await self._late.first_answer(partial(self._call, key, request), partial(self._again, key, request))
        except BaseException as error:
            if isinstance(error, TransportError) and error.kind is Failure.RATE:
                self._limit.refused(place, asyncio.get_running_loop().time() - started)
            else:
                self._limit.failed()
            raise
        self._limit.succeeded(asyncio.get_running_loop().time() - started)
        self._breaker.succeeded()
        self._answered = True
        await self._tokens.take(reply.input_tokens + reply.output_tokens)
        return reply

    async def _again(self, key: str, request: Request) -> Reply:
        self.budget.spent.repeated += 1
        await self._requests.take(1)
        return await self._call(key, request)

    async def _call(self, key: str, request: Request) -> Reply:
        """One call, paid and kept as soon as it is answered."""
        self.budget.reserve()
        started = asyncio.get_running_loop().time()
        try:
            answer = await self._transport.send(request)
        except BaseException as error:
            self.budget.cancel(sent=not isinstance(error, TransportError) or error.kind is Failure.TIMEOUT)
            raise
        seconds = asyncio.get_running_loop().time() - started
        self._late.answered(seconds)
        reply = self._reply(key, answer, seconds)
        self._cache.put(reply)
        self.budget.settle(reply)
        return reply

    def _reply(self, key: str, answer: Answer, seconds: float) -> Reply:
        text, reasoning = answer.text, answer.reasoning
        thinking = _THINKING.match(text)
        if thinking is not None and reasoning is None:
            text, reasoning = text[thinking.end() :], thinking.group(1).strip()
        return Reply(
            id=key,
            text=text,
            model=self._name,
            failure=_failure(text, answer.finish_reason),
            reasoning=reasoning,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cost=self._cost(answer),
            seconds=seconds,
        )

    def _cost(self, answer: Answer) -> float | None:
        price_in, price_out = self._config.price_in, self._config.price_out
        if price_in is None and price_out is None:
            return answer.cost
        return (answer.input_tokens * (price_in or 0.0) + answer.output_tokens * (price_out or 0.0)) / 1e6


def _failure(text: str, finish_reason: str) -> str | None:
    if finish_reason == "content_filter":
        return "refused"
    if finish_reason == "length":
        return "truncated"
    return "empty" if not text.strip() else None
