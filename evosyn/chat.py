"""What is asked of a teacher and what comes back: messages, requests, replies. The seam itself is `ports.Teacher`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeAlias, TypeVar

from evosyn.records import Json, Problem

Purpose: TypeAlias = Literal["problem", "solution", "testing", "inputs"]
"""What a domain asks for; `inputs` are the large ones of a testing, whose outputs good solutions agree on."""


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Request:
    """One completion asked of a teacher.

    Attributes:
        messages: the chat.
        params: temperature, max_tokens, top_p, ...; JSON.
        sample: which of several independent samples of the same chat; part of the cache key.
        purpose: what the reply is for: a `Purpose`, or what is evolved (`strategy`).
        schema: JSON schema of the reply, for providers that can hold a model to it; the prompt says the same in words.
        problem: the problem it is about. A real model never sees this field (what it may know stands in `messages`);
            the offline teacher, a simulation, works from it.
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
        failure: None, or why the text cannot be used: `empty`, `truncated`, `refused`, `timeout`, `server`,
        `transport`.
        reasoning: the model's reasoning, kept apart from `text`.
        cost: in dollars, 0.0 where free, None where the price is unknown.
        cached: answered from the cache, so nothing was spent this time.
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
    seconds: float = field(default=0.0, compare=False)


T = TypeVar("T")


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """A parsed reply, or the reason why there is none."""

    value: T | None
    reason: str = ""
