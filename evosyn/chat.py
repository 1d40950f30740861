"""What is asked of a teacher and what comes back: messages, requests, replies. The seam itself is `ports.Teacher`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeAlias, TypeVar

from evosyn.records import Json, Problem
from evosyn.text.reasoning import CUT

Purpose: TypeAlias = Literal["problem", "solution", "testing", "inputs"]
"""What a domain asks for; `inputs` are the large ones of a testing, whose outputs good solutions agree on."""
LENGTHS = ("max_tokens", "max_completion_tokens")
"""The parameters that bound a reply."""
WAS_CUT, REPEATS = ("truncated", CUT), "repeats-itself"
"""Failures of replies that lacked room, and of those that would never have enough."""
SAMPLE_STRIDE = 1000
"""Attempt `a` of slot `s` is sample `s + a * SAMPLE_STRIDE`: a redraw never takes another slot's cached reply."""
MORE_ROOM = 4
"""A reply that was cut is asked for once more with so many times the length."""


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True)
class Request:
    """One completion asked of a teacher.

    Attributes:
        messages: the chat.
        params: temperature, max_tokens, top_p, ...; JSON; one that is None is not sent.
        sample: which of several independent samples of the same chat; part of the cache key.
        purpose: what the reply is for: a `Purpose`, or what is evolved (`strategy`).
        schema: JSON schema of the reply, for providers that can hold a model to it; the prompt says the same in words.
        problem: the problem it is about. No model sees this field (what it may know stands in `messages`); letters and
            recorded replies are named by it.
    """

    messages: tuple[Message, ...]
    purpose: str
    params: Mapping[str, Json] = field(default_factory=dict)
    sample: int = 0
    problem: Problem | None = None
    schema: Mapping[str, Json] | None = None

    def followed_by(self, *texts: str) -> Request:
        """The same with further paragraphs at the end of its last message, so that what requests share comes first and
        is paid once where a provider keeps beginnings."""
        more = [text.strip() for text in texts if text.strip()]
        if not more:
            return self
        *before, last = self.messages
        text = "\n\n".join([last.content.rstrip(), *more]) + "\n"
        return replace(self, messages=(*before, Message(last.role, text)))


@dataclass(frozen=True)
class Reply:
    """What came back.

    Attributes:
        id: content id of (model, messages, params, sample): names the call in journals and provenance.
        failure: None, or why the text cannot be used: `empty`, `truncated`, `refused`, `bad-request`, `timeout`,
            `server`, `transport`, `repeats-itself`, or the name of a fault of `evosyn.text.reasoning.Thought`.
        reasoning: the model's reasoning, kept apart from `text`.
        cost: in dollars, 0.0 where free, None where the price is unknown.
        cached: answered from the cache, so nothing was spent this time.
        estimated: the endpoint did not count the tokens; they are estimated from the texts.
        detail: of the failure, in words of the server, say.
    """

    id: str
    text: str
    model: str
    failure: str | None = None
    reasoning: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    cached: bool = False
    estimated: bool = False
    detail: str = ""
    seconds: float = field(default=0.0, compare=False)


@dataclass
class Refusals:
    """What an endpoint was found not to take.

    Attributes:
        parameters: by the name of a parameter the name that is taken in its place, empty for none.
    """

    parameters: dict[str, str] = field(default_factory=dict)


def roomier(request: Request, reply: Reply) -> Request:
    """The request to make after this reply to it: the same one, with more room where the reply was cut."""
    if reply.failure not in WAS_CUT:
        return request
    lengths = {name: request.params[name] for name in LENGTHS if isinstance(request.params.get(name), int)}
    return replace(request, params={**request.params, **{name: MORE_ROOM * one for name, one in lengths.items()}})


T = TypeVar("T")


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """A parsed reply, or the reason why there is none."""

    value: T | None
    reason: str = ""
