"""What every teacher must keep to, whatever answers behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from unittest import SkipTest

from evosyn.chat import Message, Reply, Request
from evosyn.contracts.base import PluginContract
from evosyn.ports import Teacher

FAILURES = {"empty", "truncated", "refused", "timeout", "server", "transport"}
ODD = Request((Message("user", "naïve \U0001f40d \x00 </s> {{x}} ```"),), "solution", {"max_tokens": 4})


class TeacherContract(PluginContract):
    """Subclass it, and set `create`; where the teacher remembers replies, `tools` names the file.

    Attributes:
        requests: two that differ in their `sample` alone, both of which it can answer.
        takes_any_text: False for one that knows its own problems or recordings only.
    """

    kind = "teachers"
    requests: Sequence[Request] = tuple(Request((Message("user", "Say hello."),), "solution", sample=n) for n in (0, 1))
    takes_any_text = True

    def test_it_has_a_name_and_says_whether_it_only_pretends(self) -> None:
        teacher = self.make()
        assert isinstance(teacher, Teacher), f"{teacher!r} lacks a method of ports.Teacher"
        assert teacher.name.strip() and teacher.name.isprintable(), f"name: {teacher.name!r}"
        assert isinstance(teacher.simulated, bool), "simulated: True where it only pretends to be a model, else False"
        assert complete(teacher, []) == []

    def test_each_request_is_answered_under_its_own_id_and_the_same_one_alike(self) -> None:
        teacher, asked = self.make(), list(self.requests)
        before = repr(asked)
        first, second, *again = complete(teacher, [*asked, *asked])
        assert repr(asked) == before, "complete: it changed a request"
        assert first.id != second.id, "Reply.id: another sample is another call"
        same = [(reply.id, reply.text) for reply in (first, second)]
        assert same == [(reply.id, reply.text) for reply in again], "complete: equal requests, unequal replies"
        later = [(reply.id, reply.text) for reply in complete(self.make(), asked)]
        assert later == same, "complete: asked again later, it says something else; a run could not be resumed"

    def test_a_reply_says_who_wrote_it_and_what_it_cost_or_why_there_is_none(self) -> None:
        teacher = self.make()
        for reply in complete(teacher, self.requests):
            usable(reply)
            assert teacher.name.split("/")[0] in reply.model, f"Reply.model: {reply.model!r}, by {teacher.name!r}"
            spent = (reply.cost or 0.0, reply.input_tokens, reply.output_tokens, reply.seconds)
            assert min(spent) >= 0, f"Reply: cost, tokens and seconds are {spent}"

    def test_a_request_can_be_given_up_without_harm_to_the_others(self) -> None:
        async def main() -> object:
            teacher: Teacher = self.make()
            try:
                lost, kept = [asyncio.create_task(teacher.complete(request)) for request in self.requests[:2]]
                await asyncio.sleep(0)
                lost.cancel()
                return (await asyncio.gather(lost, kept, return_exceptions=True))[1]
            finally:
                await teacher.aclose()

        found = asyncio.run(main())
        assert isinstance(found, Reply), f"complete: when another request is given up, this one ends in {found!r}"
        usable(found)

    def test_a_message_of_any_text_is_taken(self) -> None:
        if not self.takes_any_text:
            raise SkipTest("it answers what it knows only")
        (reply,) = complete(self.make(), [ODD])
        usable(reply)

    def test_it_closes_twice(self) -> None:
        teacher = self.make()
        complete(teacher, self.requests[:1])
        complete(teacher, [])


def usable(reply: Reply) -> None:
    """There is a text, or one of the known failures."""
    assert reply.failure in FAILURES if reply.failure else reply.text, f"{reply}: no text, and no failure of {FAILURES}"


def complete(teacher: Teacher, requests: Sequence[Request]) -> list[Reply]:
    """The replies to requests that are asked at once; closes the teacher."""

    async def main() -> list[Reply]:
        try:
            return list(await asyncio.gather(*(teacher.complete(request) for request in requests)))
        finally:
            await teacher.aclose()

    return asyncio.run(main())
