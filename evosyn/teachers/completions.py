"""What stands in the body of a chat completion, whatever form an endpoint gives it: text, reasoning, refusal, tokens.

Servers differ in all of it: content in parts or null, no choices, an error inside, token counts that are missing or
are none. Nothing here sends anything; what a failure means stands in `failures`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evosyn.chat import Request
from evosyn.records import Json
from evosyn.teachers.failures import STREAM, Endpoint, TransportError, masked, not_chat, not_text, refused
from evosyn.text.logprobs import Logprobs, aligned
from evosyn.text.tool_calls import said_with, storable

LOGPROBS = "logprobs"
ASKED: Mapping[str, Json] = {LOGPROBS: True, "top_logprobs": 1}
"""How log-probabilities are asked for; without the second llama.cpp sends twenty tokens in place of each."""
LARGEST = 16 * 2**20
"""Bytes of one answer that are read at most."""
READ = 1 << 18
"""Bytes of an answer that is no completion which are looked at."""
BYTES_PER_TOKEN = 4
"""About, where an endpoint does not count."""
MOST_TOKENS = 10**8
"""A count beyond this is none."""
CUT = ("length", "max_tokens", "max_output_tokens", "model_length")
KEPT_BACK = ("content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist", "prohibited_content")
_APIS = {
    "the Responses API": {"output"},
    "Anthropic's Messages API": {"content", "role"},
    "Gemini's own API": {"candidates"},
    "Ollama's own API": {"message", "done"},
    "Ollama's own API for prompts": {"response", "done"},
}
"""Of answers of other forms, by the fields that tell them."""
BROKEN = ("error", "abort", "network_error", "insufficient_system_resource")
"""Ends of a reply, in the words of many servers: cut, refused, broken off."""


@dataclass(frozen=True)
class Answer:
    """What a provider sent back, before any judgement of it.

    Attributes:
        finish_reason: `stop`, `length`, `content_filter`, or what the endpoint says.
        cost: in dollars; None where the price is unknown.
        estimated: the tokens are not counted by the endpoint, but estimated from the texts.
        logprobs: of the tokens of the text; None where they are not known.
    """

    text: str
    finish_reason: str
    reasoning: str | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    estimated: bool = False
    logprobs: Logprobs | None = None


@dataclass(frozen=True)
class Received:
    """A response as it came: status, headers, content type, and at most `LARGEST` bytes of its body."""

    status: int
    headers: Mapping[str, Json]
    kind: str
    raw: bytes

    @property
    def start(self) -> str:
        return self.raw[:READ].decode(errors="replace")


def read(received: Received, endpoint: Endpoint, request: Request) -> Answer:
    """The answer in a response.

    Raises:
        TransportError: there is none in it.
    """
    if received.status >= 400:
        raise refused(received.status, received.start, endpoint, received.headers, request.purpose)
    try:
        body: Json = json.loads(received.raw)
    except UnicodeDecodeError as error:
        raise not_text(received.status, error, endpoint) from error
    except (ValueError, RecursionError):
        body = None
    if (status := _error_inside(body)) is not None:
        raise refused(status, received.start, endpoint, received.headers, request.purpose)
    other = _other_api(received, body)
    if other or not _is_completion(body):
        raise not_chat(received.status, received.kind, received.start, endpoint, other)
    return answer_of(body, endpoint, request)


def answer_of(body: Mapping[str, Json], endpoint: Endpoint, request: Request) -> Answer:
    """The answer in a chat completion; whatever is missing in it is empty, and tokens that it does not count are
    estimated.

    Raises:
        TransportError: it says that the reply was broken off.
    """
    choice = _first(body.get("choices"))
    message = _mapping(choice.get("message"))
    text = said_with(words(message.get("content")), message.get("tool_calls"))
    thought = [words(message.get(name)) for name in ("reasoning_content", "reasoning")]
    reasoning = next(filter(None, thought), "") or thoughts(message.get("content"))
    finish = _ending(choice.get("finish_reason"))
    if finish in BROKEN or choice.get("error"):
        raise _broken_off(choice, endpoint, request)
    refusal = words(message.get("refusal"))
    if refusal.strip() and not text.strip():
        text, finish = refusal, "content_filter"
    kept = masked(text, endpoint)
    likely = _logprobs_of(choice.get(LOGPROBS), kept)
    answer = Answer(kept, finish, masked(reasoning, endpoint) or None, 0, 0, None, logprobs=likely)
    return _with_tokens(answer, _mapping(body.get("usage")), request)


def about_tokens(text: str) -> int:
    """The tokens of a text, roughly; none in an empty one."""
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def words(content: Json) -> str:
    """The text of a content: itself, or that of its parts that are no reasoning."""
    if isinstance(content, str):
        return storable(content)
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Sequence):
        return "" if content is None else json.dumps(content)
    return "".join(words(part) if isinstance(part, str) else _of_part(part) for part in content)


def thoughts(content: Json) -> str:
    """The reasoning in the parts of a content."""
    parts = content if isinstance(content, list) else []
    return "".join(words(_held(part, "thinking", "reasoning")) for part in parts if isinstance(part, Mapping))


def _of_part(part: Json) -> str:
    """A part that says what it is: a text, or a refusal; some wrap the text once more."""
    return words(_held(part, "text", "refusal", "value")) if isinstance(part, Mapping) else ""


def _held(part: Mapping[str, Json], *names: str) -> Json:
    return next((part[name] for name in names if part.get(name)), None)


def _first(choices: Json) -> Mapping[str, Json]:
    return _mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _ending(value: Json) -> str:
    word = str(value or "stop").lower()
    return "length" if word in CUT else "content_filter" if word in KEPT_BACK else word


def _with_tokens(answer: Answer, usage: Mapping[str, Json], request: Request) -> Answer:
    prompt = about_tokens("".join(message.content for message in request.messages))
    written = about_tokens(answer.text) + about_tokens(answer.reasoning or "")
    read_tokens, written_tokens = (_counted(usage.get(f"{name}_tokens")) for name in ("prompt", "completion"))
    missing = (read_tokens or 0) == 0 < prompt, (written_tokens or 0) == 0 < written
    return replace(
        answer,
        input_tokens=prompt if missing[0] else read_tokens or 0,
        output_tokens=written if missing[1] else written_tokens or 0,
        estimated=any(missing),
    )


def _logprobs_of(told: Json, text: str) -> Logprobs | None:
    """What is said of the tokens of a text; None where that does not add up to it."""
    listed = _mapping(told).get("content")
    found = [_token_of(_mapping(one)) for one in listed] if isinstance(listed, list) else []
    known = [one for one in found if one is not None]
    return aligned(known, text) if len(known) == len(found) else None


def _token_of(entry: Mapping[str, Json]) -> tuple[bytes, float] | None:
    token, raw, value = entry.get("token"), entry.get("bytes"), entry.get("logprob")
    if not isinstance(value, int | float) or not isinstance(token, str):
        return None
    try:
        return bytes(raw) if isinstance(raw, list) else token.encode("utf-8", "surrogatepass"), float(value)
    except (ValueError, TypeError, OverflowError):
        return None


def _counted(value: Json) -> int | None:
    """A count of tokens; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS:
        return None
    return int(value) if int(value) == value else None


def _other_api(received: Received, body: Json) -> str:
    """Another form of answer that a body is of; "" where it is of none that is known."""
    if received.kind == "text/event-stream" or received.raw.lstrip()[:5] == b"data:":
        return STREAM
    given = _mapping(body)
    named, choice = str(given.get("object") or given.get("type") or ""), _first(given.get("choices"))
    if named.startswith("text_completion") or ("text" in choice and "message" not in choice):
        return "the legacy completions API"
    if named == "chat.completion.chunk" or ("delta" in choice and "message" not in choice):
        return STREAM
    return next((name for name, fields in _APIS.items() if "choices" not in given and fields <= given.keys()), "")


def _is_completion(body: Json) -> bool:
    """Whether it is one at all, with or without a choice in it."""
    if not isinstance(body, dict):
        return False
    named = str(body.get("object") or "").startswith("chat.completion")
    return "choices" in body or named or isinstance(body.get("usage"), dict)


def _error_inside(body: Json) -> int | None:
    """The status that an error inside a good response stands for: a gateway that says 200 to everything."""
    if not isinstance(body, dict) or _first(body.get("choices")):
        return None
    error = body if body.get("object") == "error" else body.get("error")
    if not error:
        return None
    return _status(error)


def _status(error: Json) -> int:
    code = _mapping(error).get("code") or _mapping(error).get("status")
    status = int(code) if isinstance(code, int | str) and str(code).isdecimal() and len(str(code)) == 3 else 500
    return status if 400 <= status < 600 else 500


def _broken_off(choice: Mapping[str, Json], endpoint: Endpoint, request: Request) -> TransportError:
    """What a choice means that the server did not finish."""
    error = choice.get("error") or f"the reply was broken off (finish_reason {choice.get('finish_reason')!r})"
    return refused(_status(error), json.dumps({"error": error}), endpoint, {}, request.purpose)
