"""What is asked of a teacher and what comes back: messages, requests, replies. The seam itself is `ports.Teacher`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from evosyn.lengths import with_more_room
from evosyn.records import Json, Problem
from evosyn.text.logprobs import Logprobs
from evosyn.text.reasoning import CUT

Purpose: TypeAlias = Literal["problem", "solution", "testing", "inputs"]
"""What a domain asks for; `inputs` are the large ones of a testing, whose outputs good solutions agree on."""
Form: TypeAlias = Literal["asserts", "json", "program"]


class Manner(NamedTuple):
    """How a domain asks.

    Attributes:
        form: of testings: `asserts` (of texts in and out: blocks of both), a list of cases in `json`, or a `program`.
            What comes is read in any form.
        brief: in the short words for models that do not reason first, where a domain has them.
    """

    form: Form = "asserts"
    brief: bool = False


USUAL = Manner()


WAS_CUT, REPEATS, FULL = ("truncated", CUT), "repeats-itself", "window-full"
"""Failures of replies that lacked room, of those that would never have enough, and of those that had all there is."""
TOO_LONG = "too-long"
"""Failure of a prompt that does not fit the window of the model."""
SAMPLE_STRIDE = 1000
"""Attempt `a` of slot `s` is sample `s + a * SAMPLE_STRIDE`: a redraw never takes another slot's cached reply."""


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
        optional: passages of its messages that are left out where it would not fit a window, the first of them first.
        length: tokens that the reply may take where the teacher says so; set when it is sent, and in no key.
    """

    messages: tuple[Message, ...]
    purpose: str
    params: Mapping[str, Json] = field(default_factory=dict)
    sample: int = 0
    problem: Problem | None = None
    schema: Mapping[str, Json] | None = None
    optional: tuple[str, ...] = ()
    length: int | None = None

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
            `server`, `transport`, `repeats-itself`, `window-full`, `too-long`, or the name of a fault of
            `evosyn.text.reasoning.Thought`.
        reasoning: the model's reasoning, kept apart from `text`.
        cost: in dollars, 0.0 where free, None where the price is unknown.
        cached: answered from the cache, so nothing was spent this time.
        estimated: the endpoint did not count the tokens; they are estimated from the texts.
        detail: of the failure, in words of the server, say.
        length: tokens that it was allowed; None where nothing limited it.
        logprobs: of the tokens of `text`; None where they are not known.
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
    length: int | None = None
    logprobs: Logprobs | None = None
    seconds: float = field(default=0.0, compare=False)


@dataclass
class Refusals:
    """What an endpoint was found to take, and what not.

    Attributes:
        parameters: by the name of a parameter the name that is taken in its place, empty for none.
        window: tokens of prompt and reply together; None where that is not known.
        longest: tokens of a reply, likewise.
        slots: calls that it works at at once, likewise.
        asked: it was asked for these.
        tried: a request with log-probabilities was answered, or refused for something else.
    """

    parameters: dict[str, str] = field(default_factory=dict)
    window: int | None = None
    longest: int | None = None
    slots: int | None = None
    asked: bool = False
    tried: bool = False


def roomier(request: Request, reply: Reply) -> Request:
    """The request to make after this reply to it: the same one, with more room where the reply was cut."""
    if reply.failure not in WAS_CUT:
        return request
    return replace(request, params=with_more_room(request.params))


def without_passage(request: Request, passage: str) -> Request:
    """The request without this part of its messages, and without the blank lines around it."""
    return replace(
        request, messages=tuple(replace(one, content=_cut(one.content, passage)) for one in request.messages)
    )


def _cut(text: str, passage: str) -> str:
    if not passage.strip() or passage.strip() not in text:
        return text
    before, _, after = text.rpartition(passage.strip())
    return before + (after.lstrip("\n") if before.endswith("\n\n") else after.removeprefix("\n"))


T = TypeVar("T")


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """A parsed reply, or the reason why there is none; of a testing that was read in part, what of it is lost."""

    value: T | None
    reason: str = ""
