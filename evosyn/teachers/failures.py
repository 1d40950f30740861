"""What can go wrong between us and an endpoint: kinds, each with a policy in `chat`, and what a person can do about it.

A kind is read from the status, the words that came back and the way in which a connection failed; nothing is asked or
retried here.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from urllib.parse import quote

from evosyn.addresses import without_secrets
from evosyn.errors import UsageError
from evosyn.lengths import setting
from evosyn.records import Json

log = logging.getLogger(__name__)
SHOWN = 240
"""Characters of an answer that a message repeats."""
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
SECRET_FROM = 8
"""Letters from which the value of a variable may be a secret; a shorter one is a word such as `EMPTY`."""
_BEFORE = r"(?:(?<![A-Za-z0-9_])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
"""Where a word begins, behind an escape of a URL or of JSON too."""
DRAWN = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[^\s/~.]\S{15,}")
"""What somebody drew by chance, and no word or path, which a reply may well say (`POSTGRES_PASSWORD=postgres`)."""
LATER = "Look at the log of the server, or run `evosyn doctor --model ...`, and repeat the command when it answers"
CORRECT = "Correct --base-url: it ends before /chat/completions, usually with /v1, and no login page stands before it"
STREAM = "a stream of events"
WHOLE = "Have the server, or what stands before it, answer as a whole: evosyn does not ask for a stream, and reads none"
OTHER_PATH = "Give the address of the chat API as --base-url: it ends before /chat/completions, usually with /v1"
REDIRECTS = frozenset({300, 301, 302, 303, 305, 307, 308})
QUOTA = re.compile(
    r"insufficient[_ ](quota|balance|credit|funds)|credit balance is too low|billing_(hard_limit|not_active)", re.I
)
MODERATED = re.compile(r"moderat|flagged|content[_ ](filter|management)", re.I)
STREAMS = re.compile(r"\bstream", re.I)
CONTEXT = re.compile(
    r"context[ _](length|window|size|limit)|too many tokens|prompt is too long|"
    r"max(imum|_tokens|_completion_tokens)\b[^.]{0,60}(too large|exceed|at most|greater than)|"
    r"> ?\d+, which is the maximum",
    re.I,
)


class Failure(StrEnum):
    """Why a call gave no answer; each has its own policy in `chat`."""

    AUTH = "auth"  # ends the run
    PAYMENT = "payment"  # ends the run
    NO_MODEL = "no-model"  # ends a run that had no answer yet, else retried: a server that starts anew
    UNREACHABLE = "unreachable"  # likewise
    NOT_CHAT = "not-chat"  # likewise
    BAD_REQUEST = "bad-request"  # this request alone, never retried
    RATE = "rate"  # slows down, retried
    SERVER = "server"  # retried
    TIMEOUT = "timeout"  # retried
    TRANSPORT = "transport"  # retried


class TransportError(Exception):
    """A call without an answer.

    Attributes:
        kind: which policy applies.
        retry_after: seconds that the endpoint asked for, 0.0 if it did not say.
        body: what came back, without secrets; empty where nothing did.
        advice: what a person can do about it.
    """

    def __init__(
        self, kind: Failure, message: str, retry_after: float = 0.0, *, body: str = "", advice: str = LATER
    ) -> None:
        super().__init__(message)
        self.kind, self.retry_after, self.body, self.advice = kind, retry_after, body, advice


@dataclass(frozen=True)
class Endpoint:
    """Where to send: model name, base URL (None: the provider's own), name of the key's variable (empty: no key is
    sent)."""

    model: str
    base_url: str | None
    api_key_env: str | None

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]

    @property
    def url(self) -> str:
        """Where requests go, for people."""
        if self.base_url is None:
            return f"the API of {self.provider}"
        return f"{self.base_url.rstrip('/')}/chat/completions"

    @property
    def variable(self) -> str:
        """The environment variable that the key is read from; where none is named and there is no base URL, litellm may
        read another one."""
        usual = "OPENAI_API_KEY" if self.base_url else f"{self.provider.upper()}_API_KEY"
        return self.api_key_env or usual

    def key(self) -> str | None:
        """The key in that variable, read now, without blanks around it: a file that it was read from ends a line.

        Raises:
            UsageError: a variable was named and is not set, or what it holds can be no key.
        """
        if self.api_key_env == "":
            return None
        value = os.environ.get(self.variable, "").strip()
        if not value and self.api_key_env is not None:
            raise UsageError(f"api_key_env: the environment variable {self.api_key_env} is not set")
        if any(not "!" <= letter <= "~" for letter in value):
            raise UsageError(
                f"the key in {self.variable} holds a blank, a line end or a letter that is not ASCII: set it to the "
                "key alone"
            )
        return value or None


def refused(
    status: int, text: str, endpoint: Endpoint, headers: Mapping[str, Json], purpose: str = ""
) -> TransportError:
    """What an answer with this status means.

    Args:
        text: body of the answer.
        purpose: of the request.
    """
    wait = retry_after(headers)
    kind = _kind(status, text, asked_to_wait=wait > 0)
    body = redacted(text, endpoint)
    told = f"HTTP {status}: {shown(body)}"
    return TransportError(kind, told, wait, body=body, advice=_advice(kind, status, body, endpoint, purpose))


def unreachable(why: str, endpoint: Endpoint) -> TransportError:
    """No connection could be made."""
    advice = "Start the server, or correct --base-url" if endpoint.base_url else "Check the network of this machine"
    if "certificate" in why or "TLS" in why:
        advice = "Correct --base-url: http:// for a server without TLS, else a host that its certificate is valid for"
    return TransportError(Failure.UNREACHABLE, why, advice=advice)


def not_chat(status: int, kind: str, text: str, endpoint: Endpoint, other: str = "") -> TransportError:
    """An answer that is no chat completion, whatever its status says, but of another form."""
    body = redacted(text, endpoint)
    what = f", but of {other}" if other else ""
    told = f"HTTP {status} with {kind or 'no content type'}, which is no chat completion{what}: {shown(body)}"
    advice = WHOLE if other == STREAM else OTHER_PATH if other else CORRECT
    return TransportError(Failure.NOT_CHAT, told, body=body, advice=advice)


def not_text(status: int, error: UnicodeDecodeError, endpoint: Endpoint) -> TransportError:
    """An answer with bytes that are no UTF-8: this one is lost, and another may be whole."""
    told = f"HTTP {status}: the answer is not UTF-8, byte {error.object[error.start]:#04x} at {error.start}"
    body = redacted(error.object[:SHOWN].decode(errors="replace"), endpoint)
    return TransportError(
        Failure.SERVER, told, body=body, advice="JSON is UTF-8: look at the server, or at what is before it"
    )


def redirected(status: int, location: str, endpoint: Endpoint) -> TransportError:
    """An answer that points to another address."""
    where = redacted(without_secrets(location), endpoint)[:SHOWN] or "nowhere"
    told = f"HTTP {status} points to {where}, and no redirect is followed: the key would go there"
    advice = "Give the address that is meant as --base-url, without /chat/completions"
    return TransportError(Failure.NOT_CHAT, told, advice=advice)


def too_long(bound: int, endpoint: Endpoint) -> TransportError:
    """An answer that does not end."""
    told = f"the answer is longer than {bound // 2**20} MiB, so it is no chat completion"
    return TransportError(Failure.NOT_CHAT, told, advice=CORRECT if endpoint.base_url else LATER)


def _kind(status: int, text: str, *, asked_to_wait: bool) -> Failure:
    if status == 402 or (QUOTA.search(text) and not asked_to_wait and status < 500):
        return Failure.PAYMENT
    if status == 403 and MODERATED.search(text):
        return Failure.BAD_REQUEST
    return _KINDS.get(status, Failure.BAD_REQUEST if 400 <= status < 500 else Failure.SERVER)


_KINDS: Mapping[int, Failure] = {
    401: Failure.AUTH,
    403: Failure.AUTH,
    404: Failure.NO_MODEL,
    408: Failure.TIMEOUT,
    409: Failure.SERVER,
    429: Failure.RATE,
}


def _advice(kind: Failure, status: int, body: str, endpoint: Endpoint, purpose: str) -> str:
    name = endpoint.model.partition("/")[2]
    models = f"curl {endpoint.base_url.rstrip('/')}/models" if endpoint.base_url else "the provider's list of models"
    if kind is Failure.AUTH:
        return _about_key(status, endpoint)
    if kind is Failure.PAYMENT:
        spent = f"The account of the key {_whence(endpoint)} has no credit left"
        return f"{spent}: add some, or name another variable with --api-key-env"
    if kind is Failure.NO_MODEL:
        wrong = "; --base-url usually ends with /v1" if endpoint.base_url else ""
        return f"It was asked for the model {name!r} ({endpoint.model!r} without its provider); see {models}{wrong}"
    if kind is Failure.BAD_REQUEST and CONTEXT.search(body):
        return f"Ask for less ({setting(purpose, 'max_tokens')}), or serve the model with a longer context"
    if kind is Failure.BAD_REQUEST and MODERATED.search(body):
        return "The provider's filter refuses such prompts: change them, or name another model"
    if kind is Failure.BAD_REQUEST and STREAMS.search(body):
        return WHOLE
    if kind is Failure.BAD_REQUEST:
        return f"Change the sampling parameters ({setting(purpose)}; null sends none)"
    if kind is Failure.RATE:
        return "Lower workbench.teacher.calls, or give requests_per_minute"
    return LATER


def _about_key(status: int, endpoint: Endpoint) -> str:
    if endpoint.api_key_env == "":
        return "No key was sent: name its variable with api_key_env (--api-key-env, or student.api_key_env)"
    if endpoint.base_url and not _is_set(endpoint.variable):
        return (
            f"{endpoint.variable} is not set, so no key was sent: set it, or name another variable with --api-key-env"
        )
    what = "is not valid there" if status == 401 else "may not use this model there"
    return f"The key {_whence(endpoint)} {what}: correct it, or name another variable with --api-key-env"


def _whence(endpoint: Endpoint) -> str:
    """Where the key that was sent comes from. A provider's own variable is known to litellm alone, and may have any
    name."""
    if endpoint.base_url or _is_set(endpoint.variable):
        return f"in {endpoint.variable}"
    return f"that litellm read for {endpoint.provider}"


def _is_set(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def shown(body: str) -> str:
    """What came back, in one short line: the message of an error in JSON, the words of a page."""
    text = _message(body) or re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", body, flags=re.S | re.I)
    text = " ".join(text.split())
    return f"{text[:SHOWN]}..." if len(text) > SHOWN else text or "(nothing)"


def _message(body: str) -> str:
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    return value if isinstance(value, str) else json.dumps(value)


def retry_after(headers: Mapping[str, Json]) -> float:
    """Seconds to wait, as the headers of an answer say."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers.get("retry-after", 0.0)))
    except ValueError:
        return 1.0  # an HTTP date: wait a little and ask again


def redacted(text: str, endpoint: Endpoint) -> str:
    """The first 4,000 characters, without the value of any variable that may hold a secret."""
    for name, value in _secrets(endpoint):
        text = _without(text, name, value)
    return text[:4000]


def masked(text: str, endpoint: Endpoint) -> str:
    """A reply as it is kept, without the endpoint's key and the value of anything else in the environment that is a
    key by its name or its looks: which variable litellm reads is its own affair."""
    for name, value in _secrets(endpoint):
        if name == endpoint.variable or name.upper().endswith(("_API_KEY", "_TOKEN")) or DRAWN.fullmatch(value):
            text = _without(text, name, value)
    return text


@cache
def warn_of_short_key(variable: str, key: str | None) -> None:
    """Say once that a key is so short that it can be any word."""
    if key and len(key) < SECRET_FROM:
        log.warning(
            "the key in %s has fewer than %d letters: it cannot be told from a word, and is not taken out of messages "
            "and replies", variable, SECRET_FROM,
        )  # fmt: skip


def _secrets(endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    """Variables that could hold a secret, with their values."""
    for name, value in os.environ.items():
        value = value.strip()
        named = name == endpoint.variable or any(word in name.upper() for word in SECRET_WORDS)
        if named and len(value) >= SECRET_FROM:
            yield name, value


def _without(text: str, name: str, value: str) -> str:
    """Whole words alone; also as JSON and as a URL spell it."""
    for spelled in {value, json.dumps(value)[1:-1], quote(value, safe="")}:
        if spelled in text:
            text = re.sub(rf"{_BEFORE}{re.escape(spelled)}(?![A-Za-z0-9_])", lambda _: f"<{name}>", text)
    return text
