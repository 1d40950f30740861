"""Limits are never passed, whatever the concurrency, and calls are not refused for what others might have cost."""

import asyncio
import errno
import random

import pytest
from simulation.scripted_server import Faults, ScriptedServer

from evosyn.budget import Bound, Budget, BudgetConfig
from evosyn.chat import Reply, Request
from evosyn.errors import BudgetSpent, UsageError
from evosyn.teachers.cache import ReplyCache
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.failures import Endpoint
from evosyn.teachers.transports import CompatibleTransport
from tests.teachers.asking import ask, echo, made, many, run


@pytest.mark.parametrize("seed", range(20))
def test_no_limit_is_passed_and_what_is_left_is_used(seed: int) -> None:
    rng = random.Random(seed)
    limits = BudgetConfig(
        max_cost=rng.uniform(1, 5), max_tokens=rng.randrange(1000, 5000), max_calls=rng.randrange(5, 60)
    )
    budget, bound, seen = Budget(limits), Bound(0.2, 150), []

    async def call(number: int) -> None:
        await budget.reserve(bound)
        await asyncio.sleep(rng.random() / 1000)
        if rng.random() < 0.2:
            budget.cancel(bound, sent=rng.random() < 0.5)
            return
        used = rng.uniform(0.0, 1.0)
        reply = Reply(str(number), "x", "m", input_tokens=50, output_tokens=int(100 * used), cost=0.2 * used)
        budget.settle(reply, bound)
        seen.append(reply)

    async def main() -> list[BaseException | None]:
        return await asyncio.gather(*(call(number) for number in range(300)), return_exceptions=True)

    ended = asyncio.run(asyncio.wait_for(main(), 60))
    assert {type(one) for one in ended} <= {type(None), BudgetSpent} and BudgetSpent in {type(one) for one in ended}
    spent = budget.spent
    calls = spent.calls + spent.abandoned
    cost, tokens = (
        sum(reply.cost or 0 for reply in seen),
        sum(reply.input_tokens + reply.output_tokens for reply in seen),
    )
    assert (spent.cost, spent.calls) == (pytest.approx(cost), len(seen))
    assert cost <= limits.max_cost and tokens <= limits.max_tokens and calls <= limits.max_calls
    given_up = Bound(0.2 * spent.abandoned, 150 * spent.abandoned)
    assert (
        calls == limits.max_calls
        or cost + given_up.cost + bound.cost > limits.max_cost
        or tokens + given_up.tokens + bound.tokens > limits.max_tokens
    ), "it was not spent"


def test_a_cancelled_wait_does_not_hold_up_the_others() -> None:
    async def main() -> int:
        budget = Budget(BudgetConfig(max_calls=2))
        await budget.reserve()
        await budget.reserve()
        waiting = [asyncio.create_task(budget.reserve()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        budget.cancel(sent=False)
        waiting[1].cancel()
        await asyncio.wait([waiting[2]], timeout=5)
        return sum(one.done() and not one.cancelled() for one in waiting)

    assert asyncio.run(main()) == 1


def test_dollars_are_a_hard_stop_over_http() -> None:
    with ScriptedServer(lambda body, _: "x" * 4 * body["max_tokens"], faults=Faults(), latency_s=0.01) as server:
        budget = Budget(BudgetConfig(max_cost=1.0))
        teacher = made(base_url=server.base_url, price_in=0.0, price_out=1000.0, budget=budget)

        async def all_of_them(teacher: object) -> None:
            await asyncio.gather(*(teacher.complete(ask(f"q{n}", max_tokens=40)) for n in range(200)))  # type: ignore[attr-defined]

        with pytest.raises(BudgetSpent, match="max_cost = 1 is spent"):
            run(teacher, all_of_them)
    assert 0.9 < budget.spent.cost <= 1.0


def test_a_call_that_may_cost_more_than_is_allowed_is_not_made() -> None:
    with ScriptedServer(echo) as server:
        budget = Budget(BudgetConfig(max_cost=0.01))
        teacher = made(base_url=server.base_url, price_in=0.0, price_out=10.0, budget=budget)
        with pytest.raises(BudgetSpent, match=r"used 0, and one more call may come to 0\.04"):
            run(teacher, lambda teacher: teacher.complete(ask("q", max_tokens=4096)))
        assert server.counts.requests == 0


def test_the_price_that_is_not_given_is_that_of_the_list_and_nothing_is_free_by_omission(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    limited = Budget(BudgetConfig(max_cost=1.0))
    with pytest.raises(UsageError, match=r"give both workbench\.teacher\.price_in and price_out"):
        made(base_url="http://localhost:1/v1", price_in=5.0, budget=limited)
    with ScriptedServer(echo) as server:
        (reply,) = many(made(base_url=server.base_url, price_in=5.0), [ask("q")])
        assert reply.cost is None
        known = {"model": "openai/gpt-4o-mini", "transport": "litellm", "base_url": server.base_url}
        (both,) = many(made(**known, price_in=1e6, price_out=0.0), [ask("q")])
        (half,) = many(made(**known, price_in=1e6), [ask("q")])
    assert both.cost == both.input_tokens
    assert half.cost is not None and 0 < half.cost - both.cost < 0.01


class FullDisk(ReplyCache):
    """Keeps nothing."""

    def put(self, reply: Reply, request: Request) -> None:  # noqa: ARG002
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_reply_that_the_disk_does_not_take_is_paid_for_and_nobody_waits_for_its_part() -> None:
    with ScriptedServer(echo) as server:
        endpoint = Endpoint("openai/m", server.base_url, None, 10.0)
        budget = Budget(BudgetConfig(max_calls=1))
        teacher = ChatTeacher("openai/m", CompatibleTransport(endpoint), ChatConfig(), FullDisk(), budget)
        with pytest.raises(OSError, match="No space"):
            run(teacher, lambda teacher: teacher.complete(ask("q")))
    assert budget.spent.calls == 1 and budget.used.max_calls == 1
    with pytest.raises(BudgetSpent):
        asyncio.run(asyncio.wait_for(budget.reserve(), 5))
