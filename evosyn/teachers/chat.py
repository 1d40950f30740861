"""A teacher over a transport: cache, budget, adaptive concurrency, retries with a policy for each failure.

It knows nothing of prompts or parsing. Paid replies are in the cache before anybody sees them, so a killed run repeats
at most what was in flight. DESIGN.md section 5, "Teacher".
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from pydantic import Field

from evosyn.budget import Bound, Budget
from evosyn.chat import LENGTHS, Message, Reply, Request, roomier
from evosyn.configs.section import Section
from evosyn.errors import TeacherUnavailable
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.teachers.cache import ReplyCache, request_key
from evosyn.teachers.completions import Answer
from evosyn.teachers.failures import Failure, TransportError, setting
from evosyn.teachers.hedge import Lateness
from evosyn.teachers.limits import SAID_AFTER_S, AdaptiveLimit, Breaker, PerMinute
from evosyn.teachers.transports import Transport
from evosyn.text.reasoning import AUTO, CUT, OTHER
from evosyn.text.tool_calls import heard
from evosyn.thinking import settled

log = logging.getLogger(__name__)
Price: TypeAlias = Callable[[int, int], float | None]
"""Dollars for so many input and output tokens; None where that is not known."""
SECOND_CALLS = 8
"""One second call is allowed for so many first ones in flight."""
USELESS_AT_FIRST = 16
"""Requests that were refused or answered by nothing before the first text, after which the endpoint is taken for the
fault."""
NO_ANSWER = ("empty", CUT, OTHER)
"""Failures of replies that came and hold nothing for a reader."""
ENDS_THE_RUN = frozenset({Failure.AUTH, Failure.PAYMENT})
ENDS_AT_FIRST = frozenset({Failure.NO_MODEL, Failure.UNREACHABLE, Failure.NOT_CHAT})
"""Before the first answer the set-up is taken for the fault, after it an outage, which may pass."""
QUESTION = "Reply with the single word: ready"
UNKNOWN_LENGTH = 16_384
"""Tokens that a reply may come to where nothing limits it, until a longer one was seen."""
BYTES_PER_TOKEN = 2
"""At least, of a prompt."""


class ChatConfig(Section):
    """How a model is asked.

    Attributes:
        concurrency: most calls in flight; the number in force adapts to what the endpoint admits.
        retries: further attempts after a server error, a timeout or a broken connection (a 429 does not count). When
            they are used up and others are answered, or a short question in its place is, the request is given up;
            else the endpoint is down: that ends a run which had no answer yet, and is waited for in any other.
        hedge: a call that takes so many times longer than usual is asked a second time, beside at most an eighth of
            `concurrency`, and the first answer of the two counts; None never does.
        patience_s: seconds without one answer after which the endpoint is taken for dead.
        requests_per_minute, tokens_per_minute: limits of the account, None for none.
        lead: the first request goes alone, and the others when it is answered: what is wrong with key, address or
            parameters costs one call. Not for a model of this machine, nor for a person.
        price_in, price_out: dollars for a million tokens, in place of what the provider says; where one alone is given
            the other is that of its list.
    """

    concurrency: int = Field(default=64, ge=1, le=4096)
    retries: int = Field(default=4, ge=0)
    hedge: float | None = Field(default=3.0, gt=1)
    patience_s: float = Field(default=300.0, gt=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    lead: bool = True
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)

    def price(self, listed: Price | None) -> Price | None:
        """What a call costs, where a price is given.

        Args:
            listed: what the provider's price list says.
        """
        if self.price_in is None and self.price_out is None:
            return None

        def cost(read: int, written: int) -> float | None:
            asked = listed(read, 0) if self.price_in is None and listed else _dollars(read, self.price_in)
            said = listed(0, written) if self.price_out is None and listed else _dollars(written, self.price_out)
            return None if asked is None or said is None else asked + said

        return cost


class ChatTeacher:
    """Implements `ports.Teacher`.

    Args:
        name: `provider/model`; goes into cache keys and provenance.
        transport: sends one request.
        config: limits and policy.
        cache: replies already paid for.
        budget: what may be spent.
        place: where the model is, for messages.
        listed: what the provider's price list says beforehand.
        reasoning: the form of its reasoning (`evosyn.text.reasoning.FORMS`). Replies are kept as they came.
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        config: ChatConfig,
        cache: ReplyCache,
        budget: Budget,
        place: str = "",
        listed: Price | None = None,
        *,
        reasoning: str = AUTO,
    ) -> None:
        self.budget = budget
        self._name, self._transport, self._config, self._cache = name, transport, config, cache
        self._form = reasoning
        self._place = f"{name} at {place}" if place else name
        self._own = config.price(listed)
        self._price = self._own or listed
        self._limit = AdaptiveLimit(config.concurrency)
        self._requests, self._tokens = PerMinute(config.requests_per_minute), PerMinute(config.tokens_per_minute)
        self._late = Lateness(config.hedge, lambda: self._limit.size // SECOND_CALLS)
        self._breaker = Breaker(config.patience_s, self._place)
        self._first, self._over = asyncio.Lock(), ""
        self._useless: Counter[str] = Counter()
        self._answers, self._texts, self._longest, self._uncounted = 0, 0, 0, 0
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
            return settled(kept, self._form)
        if key in self._in_flight:
            return await asyncio.shield(self._in_flight[key])
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = future
        try:
            reply = await self._in_turn(key, request)
            future.set_result(reply)
            return reply
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
            future.exception()  # nobody may be waiting for it
            raise
        finally:
            del self._in_flight[key]

    async def check(self, purpose: str, params: Mapping[str, Json]) -> Reply | None:
        """See `ports.Checked.check`."""
        if not self._config.lead:
            return None
        request = Request((Message("user", QUESTION),), purpose, params)
        for _ in range(2):
            reply = await self._ask(request_key(self._name, request), request, strict=True)
            if heard(reply.text) is not None:
                told = "answers a plain question with a call of a tool, and none was offered"
                raise TeacherUnavailable(f"{self._place}: {told}. Start the server without its parser of tool calls")
            if reply.failure is None:
                return reply
            request = replace(roomier(request, reply), sample=1)
        raise self._gives_nothing(Counter({reply.failure or "": 2}), reply, purpose)

    async def aclose(self) -> None:
        spent = self.budget.spent
        told = ((spent.repeated, "late calls were asked again"), (spent.abandoned, "calls were given up"))
        if listed := ", ".join(f"{count} {what}" for count, what in told if count):
            log.warning("%s: %s; a provider may bill those too", self._name, listed)
        if self._uncounted and self._config.lead:  # of a person nobody expects a count
            rule = "%s did not count the tokens of %d replies: they are estimated from the texts, and so is their cost"
            log.warning(rule, self._place, self._uncounted)
        await self._transport.aclose()
        self._cache.close()

    async def _in_turn(self, key: str, request: Request) -> Reply:
        """The reply; until there was an answer, one request at a time."""
        if self._config.lead and not self._answers:
            async with self._first:
                if self._over:
                    raise TeacherUnavailable(self._over)
                if not self._answers:
                    try:
                        return await self._ask(key, request)
                    except TeacherUnavailable as error:
                        self._over = str(error)
                        raise
        return await self._ask(key, request)

    async def _ask(self, key: str, request: Request, *, strict: bool = False) -> Reply:
        """A reply after the retries that its failures are worth.

        Args:
            strict: a refused request ends the run.
        """
        told = self._say_that_it_waits()
        try:
            return await self._persist(key, request, strict=strict)
        finally:
            if told is not None:
                told.cancel()

    def _say_that_it_waits(self) -> asyncio.TimerHandle | None:
        """A line after some seconds without the first answer."""
        if self._answers or not self._config.lead:
            return None
        said = "%s: no answer in %.0f s; waiting for the first one"
        return asyncio.get_running_loop().call_later(SAID_AFTER_S, log.warning, said, self._place, SAID_AFTER_S)

    async def _persist(self, key: str, request: Request, *, strict: bool) -> Reply:
        jitter = SeedTree(0).child("jitter", key).random()
        attempt, answers = 0, self._answers
        while True:
            try:
                return await self._attempt(key, request)
            except TransportError as error:
                if error.kind in ENDS_THE_RUN or (error.kind in ENDS_AT_FIRST and not self._answers):
                    raise self._unavailable(error) from error
                if error.kind is Failure.BAD_REQUEST:
                    self._refused(error, strict=strict)
                    return Reply(key, "", self._name, failure="bad-request", cost=0.0, detail=str(error))
                self._breaker.failed(error)
                if error.kind is not Failure.RATE:
                    attempt += 1
                    if attempt > self._config.retries:
                        if self._answers > answers or (not strict and await self._answers_others(request)):
                            return Reply(key, "", self._name, failure=_kept_name(error.kind), cost=0.0)
                        if not self._answers or error.kind is Failure.NO_MODEL:
                            raise self._unavailable(error, f" ({attempt} times)") from error
                wait = max(error.retry_after, 0.25 * 2 ** min(attempt, 6))
                await asyncio.sleep(wait * (1.0 + jitter.random() * 0.25))

    async def _answers_others(self, request: Request) -> bool:
        """Whether it is this request, and not the endpoint: one short question in its place."""
        question = replace(request, messages=(Message("user", QUESTION),), schema=None)
        try:
            await self._attempt(request_key(self._name, question), question)
        except TransportError:
            return False
        return True

    def _unavailable(self, error: TransportError, times: str = "") -> TeacherUnavailable:
        return TeacherUnavailable(f"{self._place}: {error}{times}. {error.advice}")

    def _refused(self, error: TransportError, *, strict: bool) -> None:
        """
        Raises:
            TeacherUnavailable: nothing but such requests so far.
        """
        if not self._useless["bad-request"]:
            log.warning("%s refused a request: %s; further ones are counted only", self._name, error)
        self._useless["bad-request"] += 1
        if strict or (not self._texts and self._useless["bad-request"] >= USELESS_AT_FIRST):
            times = "" if strict else f" (all of the first {self._useless['bad-request']} requests)"
            raise self._unavailable(error, times) from error

    def _gives_nothing(self, failures: Counter[str], last: Reply, purpose: str = "") -> TeacherUnavailable:
        listed = ", ".join(f"{count} x {failure}" for failure, count in failures.items())
        if last.failure == "truncated":
            told = f"every reply was cut (finish_reason length) after {last.output_tokens} tokens"
            return TeacherUnavailable(f"{self._place}: {told}. Give more room: {setting(purpose, 'max_tokens')}")
        told = f"no text in the first {failures.total()} answers ({listed}; {last.output_tokens} tokens in the last)"
        if last.failure == OTHER:
            told += f": {last.detail}; name it with --set workbench.teacher.reasoning=NAME"
        elif last.reasoning:
            told += ": there is reasoning alone; give more room, or start the server without its reasoning parser"
        return TeacherUnavailable(
            f"{self._place}: {told}. Try `evosyn doctor --model {self._name} ...`, look at the server's log, or name "
            "another model"
        )

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
        self._answers += 1
        self._see(reply)
        await self._tokens.take(reply.input_tokens + reply.output_tokens)
        return reply

    async def _again(self, key: str, request: Request) -> Reply:
        self.budget.spent.repeated += 1
        await self._requests.take(1)
        return await self._call(key, request)

    async def _call(self, key: str, request: Request) -> Reply:
        """One call, paid and kept as soon as it is answered."""
        sent = replace(request, params={name: value for name, value in request.params.items() if value is not None})
        bound = self._bound(sent)
        await self.budget.reserve(bound)
        started = asyncio.get_running_loop().time()
        try:
            answer = await self._transport.send(sent)
        except BaseException as error:
            self.budget.cancel(bound, sent=not isinstance(error, TransportError) or error.kind is Failure.TIMEOUT)
            raise
        seconds = asyncio.get_running_loop().time() - started
        self._late.answered(seconds)
        reply = self._reply(key, answer, seconds)
        try:
            if reply.failure != "empty" or reply.output_tokens:  # an empty one that took no tokens was paid by nobody
                self._cache.put(reply, request)
        finally:  # paid, whether the disk takes it or not: nobody waits for its part of the budget
            self.budget.settle(reply, bound)
        return settled(reply, self._form)

    def _see(self, reply: Reply) -> None:
        """
        Raises:
            TeacherUnavailable: all answers so far are empty.
        """
        self._longest = max(self._longest, reply.output_tokens)
        self._uncounted += reply.estimated
        if reply.failure not in NO_ANSWER:
            self._texts += 1
            return
        self._useless[reply.failure] += 1
        useless = Counter({name: self._useless[name] for name in NO_ANSWER if self._useless[name]})
        if not self._texts and useless.total() >= USELESS_AT_FIRST:
            raise self._gives_nothing(useless, reply)

    def _bound(self, request: Request) -> Bound:
        """What a call can come to at most: nobody else counts the tokens of a prompt before it is sent."""
        letters = sum(len(message.content.encode(errors="replace")) for message in request.messages)
        rooms = [room for name in LENGTHS if isinstance(room := request.params.get(name), int)]
        limit = min(rooms, default=max(UNKNOWN_LENGTH, self._longest))
        prompt = letters // BYTES_PER_TOKEN + 64
        cost = None if self._price is None else self._price(prompt, limit)
        return Bound(cost or 0.0, prompt + limit)

    def _reply(self, key: str, answer: Answer, seconds: float) -> Reply:
        return Reply(
            id=key,
            text=answer.text,
            model=self._name,
            failure=_failure(answer.text, answer.finish_reason),
            reasoning=answer.reasoning,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cost=self._cost(answer),
            estimated=answer.estimated,
            seconds=seconds,
        )

    def _cost(self, answer: Answer) -> float | None:
        return answer.cost if self._own is None else self._own(answer.input_tokens, answer.output_tokens)


def _dollars(tokens: int, price: float | None) -> float | None:
    return None if price is None else tokens * price / 1e6


def _kept_name(kind: Failure) -> str:
    """The failure of a reply as journals know it."""
    return Failure.TRANSPORT.value if kind in ENDS_AT_FIRST else kind.value


def _failure(text: str, finish_reason: str) -> str | None:
    if finish_reason == "content_filter":
        return "refused"
    if finish_reason == "length":
        return "truncated"
    return "empty" if not text.strip() else None
