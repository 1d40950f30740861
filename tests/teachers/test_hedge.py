"""A late call is asked a second time: the first answer counts, both are paid, none is waited for in vain."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from simulation.scripted_server import Faults, ScriptedServer

from evosyn.addresses import is_this_machine
from evosyn.budget import Budget, BudgetConfig
from evosyn.chat import Message, Request
from evosyn.teachers.cache import ReplyCache
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.completions import Answer
from evosyn.teachers.failures import Failure, TransportError
from evosyn.teachers.hedge import ENOUGH, Lateness, Pace
from tests.teachers.asking import made, many
from tests.teachers.test_limits import VirtualLoop


def known(seconds: float = 1.0, places: int = 1, factor: float | None = 4.0) -> Lateness:
    return Lateness(factor, lambda: places, paced(seconds))


def paced(seconds: float, tokens: int = 10) -> Pace:
    """A pace that enough answers have shown."""
    pace = Pace(clock=lambda: 0.0)
    for _ in range(ENOUGH):
        pace.answered(pace.begun(), seconds, tokens)
    return pace


def after(seconds: float, value: str | Exception) -> Callable[[], Awaitable[str]]:
    async def call() -> str:
        await asyncio.sleep(seconds)
        if isinstance(value, Exception):
            raise value
        return value

    return call


def in_virtual_time(work: Callable[[], Awaitable[object]]) -> float:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(work())  # type: ignore[arg-type]
        return loop.time()
    finally:
        loop.close()


@pytest.mark.parametrize(
    ("first", "second", "wanted", "seconds"),
    [
        ((1.0, "first"), (0.0, "second"), "first", 1.0),
        ((60.0, "first"), (1.0, "second"), "second", 5.0),
        ((4.5, "first"), (1.0, "second"), "first", 4.5),
        ((60.0, "first"), (1.0, ValueError("no")), "first", 60.0),
        ((5.0, ValueError("no")), (2.0, "second"), "second", 6.0),
    ],
)
def test_the_first_answer_of_the_two_counts(first, second, wanted, seconds) -> None:
    got = []

    async def work() -> None:
        got.append(await known().first_answer(after(*first), after(*second)))

    assert in_virtual_time(work) == pytest.approx(seconds, abs=0.3)
    assert got == [wanted]


def test_where_both_fail_the_error_is_that_of_the_first_call() -> None:
    async def work() -> None:
        with pytest.raises(ValueError, match="first"):
            await known().first_answer(after(6.0, ValueError("first")), after(1.0, ValueError("second")))

    in_virtual_time(work)


def test_no_more_second_calls_than_allowed_are_in_flight() -> None:
    late, begun = known(places=3), []

    async def again() -> str:
        begun.append(asyncio.get_running_loop().time())
        await asyncio.sleep(10.0)
        return "second"

    async def work() -> None:
        await asyncio.gather(*(late.first_answer(after(1000.0, "first"), again) for _ in range(9)))

    in_virtual_time(work)
    assert len(begun) == 9
    assert all(sum(at <= other < at + 10.0 for other in begun) <= 3 for at in begun)


def test_nothing_is_late_before_the_usual_time_is_known_or_where_it_is_switched_off() -> None:
    assert Lateness(4.0, lambda: 1, Pace()).after_s() is None
    assert known(factor=None).after_s() is None
    assert known().after_s() == 4.0


def test_a_slow_answer_among_the_recent_ones_moves_the_bound() -> None:
    pace = paced(1.0)
    pace.answered(pace.begun(), 30.0, 10)
    assert Lateness(4.0, lambda: 1, pace).after_s() == pytest.approx(37.5)


class Hanging:
    """Answers in one second; the calls whose number is in `late` take so many seconds, or fail."""

    def __init__(self, late: dict[int, float | Exception]) -> None:
        self.late, self.sent, self.closed = late, 0, 0

    async def send(self, request: Request) -> Answer:
        number, self.sent = self.sent, self.sent + 1
        seconds = self.late.get(number, 1.0)
        try:
            await asyncio.sleep(1.0 if isinstance(seconds, Exception) else seconds)
        except asyncio.CancelledError:
            self.closed += 1
            raise
        if isinstance(seconds, Exception):
            raise seconds
        return Answer(f"{request.messages[0].content} {number}", "stop", None, 10, 10, 0.01)

    async def aclose(self) -> None:
        return None


def ask(number: int) -> Request:
    return Request((Message("user", f"q{number}"),), "solution")


def test_a_hung_call_is_closed_counted_and_paid_once_and_its_reply_is_the_one_in_the_cache() -> None:
    transport, budget, cache = Hanging({40: 300.0}), Budget(BudgetConfig()), ReplyCache()
    teacher = ChatTeacher("m", transport, ChatConfig(concurrency=8), cache, budget)
    replies = []

    async def work() -> None:
        replies.extend(await asyncio.gather(*(teacher.complete(ask(number)) for number in range(48))))
        assert [(await teacher.complete(ask(number))).text for number in range(48)] == [one.text for one in replies]

    assert in_virtual_time(work) < 12.0
    assert (transport.sent, transport.closed) == (49, 1)
    spent = budget.spent
    assert (spent.calls, spent.repeated, spent.abandoned, spent.cached) == (48, 1, 1, 48)
    assert spent.cost == pytest.approx(0.48)
    assert all(reply.failure is None for reply in replies)


def test_two_answers_to_one_request_are_both_paid_and_the_first_is_kept() -> None:
    transport, budget = Hanging({40: 5.0}), Budget(BudgetConfig())
    teacher = ChatTeacher("m", transport, ChatConfig(concurrency=8), ReplyCache(), budget)

    async def work() -> None:
        replies = await asyncio.gather(*(teacher.complete(ask(number)) for number in range(48)))
        assert [(await teacher.complete(ask(number))).text for number in range(48)] == [one.text for one in replies]

    in_virtual_time(work)
    assert budget.spent.calls + budget.spent.abandoned == transport.sent == 49


def test_second_calls_never_pass_the_limit_in_calls() -> None:
    transport, budget = Hanging({40: 20.0}), Budget(BudgetConfig(max_calls=48))
    teacher = ChatTeacher("m", transport, ChatConfig(concurrency=8), ReplyCache(), budget)

    async def work() -> None:
        await asyncio.gather(*(teacher.complete(ask(number)) for number in range(48)))

    in_virtual_time(work)
    assert transport.sent == 48


def test_a_call_that_timed_out_counts_towards_the_limit_in_calls() -> None:
    transport = Hanging({0: TransportError(Failure.TIMEOUT, "no answer")})
    budget = Budget(BudgetConfig(max_calls=2))
    teacher = ChatTeacher("m", transport, ChatConfig(concurrency=1), ReplyCache(), budget)

    async def work() -> None:
        assert (await teacher.complete(ask(0))).failure is None

    in_virtual_time(work)
    assert (budget.spent.calls, budget.spent.abandoned) == (1, 1)


def long(number: int, tokens: int) -> Request:
    return Request((Message("user", f"q{number}"),), "solution", {"max_tokens": tokens})


class Queue:
    """Works at so many calls at once, at so many tokens a second each; the calls in `hung` are never answered."""

    def __init__(self, slots: int, rate: float, tokens: int, hung: tuple[int, ...] = ()) -> None:
        self._slots, self._rate, self._tokens, self._hung = asyncio.Semaphore(slots), rate, tokens, hung
        self.sent = 0

    async def send(self, request: Request) -> Answer:
        self.sent += 1
        if self.sent in self._hung:
            await asyncio.sleep(1e9)
        async with self._slots:
            await asyncio.sleep(self._tokens / self._rate)
        return Answer(request.messages[0].content, "stop", None, 10, self._tokens, 0.0)

    async def aclose(self) -> None:
        return None


@pytest.mark.parametrize(("slots", "tokens"), [(1, 1000), (4, 4000), (16, 1470)])
def test_no_call_is_given_up_that_stands_in_a_queue_or_that_its_tokens_take_so_long(slots: int, tokens: int) -> None:
    transport, budget = Queue(slots, 4.9, tokens), Budget(BudgetConfig())
    config = ChatConfig(concurrency=48, hedge=None, timeout_s=900.0, retries=0)
    teacher = ChatTeacher("m", transport, config, ReplyCache(), budget)

    async def work() -> None:
        replies = await asyncio.gather(*(teacher.complete(long(number, 4096)) for number in range(48)))
        assert {reply.failure for reply in replies} == {None}

    seconds = in_virtual_time(work)
    assert seconds > 900.0 and transport.sent == 48 and budget.spent.abandoned == 0


def test_a_call_that_hangs_is_given_up_and_told_by_its_tokens(caplog: pytest.LogCaptureFixture) -> None:
    transport, budget = Queue(16, 4.9, 500, hung=(20,)), Budget(BudgetConfig())
    config = ChatConfig(concurrency=16, hedge=None, timeout_s=300.0)
    teacher = ChatTeacher("m", transport, config, ReplyCache(), budget)

    async def work() -> None:
        replies = await asyncio.gather(*(teacher.complete(long(number, 512)) for number in range(200)))
        assert {reply.failure for reply in replies} == {None}

    assert in_virtual_time(work) < 3000.0
    assert (transport.sent, budget.spent.abandoned) == (201, 1)
    said = [one.getMessage() for one in caplog.records if "answered nothing" in one.getMessage()]
    assert not said, "that one call was given up says nothing of the endpoint, which answers others"


def test_what_was_given_up_is_told_with_its_rate() -> None:
    pace = paced(100.0, 490)
    assert pace.told(300.0, 4096) == "given up after 300 s at 4.9 tokens/s, about 1,470 of 4,096 tokens"
    assert Pace(clock=lambda: 0.0).told(300.0, 4096) == "no answer in 300 s"


def test_a_call_is_late_with_respect_to_its_tokens() -> None:
    late = Lateness(3.0, lambda: 1, paced(1.0, 50))
    assert late.after_s(50) == 3.0 and late.after_s(4096) == pytest.approx(1.25 * 4096 / 50)


@pytest.mark.parametrize(("hedge", "again"), [({}, False), ({"hedge": True}, True)])
def test_a_server_of_this_machine_is_asked_a_second_time_only_where_that_is_wanted(hedge: dict, again: bool) -> None:  # type: ignore[type-arg]
    faults = Faults(hang=0.05, once=True, seed=2)
    with ScriptedServer(lambda _body, _times: "yes", faults=faults) as server:
        teacher = made(base_url=server.base_url, calls=16, timeout_s=3.0, **hedge)
        replies = many(teacher, [long(number, 16) for number in range(100)])
        assert server.counts.answers["hang"] > 0
    assert {reply.failure for reply in replies} == {None}
    assert (teacher.budget.spent.repeated > 0) is again


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://127.8.8.8/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://0.0.0.0:8000", True),
        ("https://127.example.com/v1", False),
        ("https://api.openai.com/v1", False),
        ("http://192.168.0.4:8000/v1", False),
        (None, False),
    ],
)
def test_an_address_of_this_machine_is_known(url: str | None, here: bool) -> None:
    assert is_this_machine(url) is here
