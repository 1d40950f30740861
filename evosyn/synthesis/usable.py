"""What of a reply can be used: it is read by its domain and checked, or there is a named reason why not."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from evosyn.chat import Parsed, Reply
from evosyn.domains.replies import complete_part
from evosyn.ports import Domain
from evosyn.records import Json, Problem, Solution, Testing, outside_json
from evosyn.synthesis.examples import NO_EXAMPLE, Example

Kind: TypeAlias = Literal["solution", "testing", "inputs"]


class ReadReply(NamedTuple):
    """What a reply holds, or why it cannot be used: the name that is counted, and a detail for people."""

    value: Solution | Testing | None
    reason: str = ""
    detail: str = ""


class Reason(NamedTuple):
    """Why a reply cannot be used: a short name that is counted, and a detail for people."""

    name: str
    detail: str


def read_reply(problem: Problem, domain: Domain, kind: Kind, reply: Reply, example: Example = NO_EXAMPLE) -> ReadReply:
    """Read and check a reply; never raises for what it holds. Of a testing that did not come whole what is complete
    counts, whatever ended it."""
    text, lost = reply.text, None
    if reply.failure is not None:
        lost = ReadReply(None, f"reply-{reply.failure}", reply.detail)
        text = complete_part(text) if kind == "testing" else ""
        if not text.strip():
            return lost
    parsed: Parsed[Solution | Testing] = domain.read(kind, text, problem)
    value = parsed.value
    if value is None:
        return lost or ReadReply(None, *named_reason(parsed.reason, "unparsable"))
    detail = "; ".join([*([lost.reason] if lost else []), *([parsed.reason] if parsed.reason else [])])
    if isinstance(value, Testing):
        misfit = domain.check_testing(problem, value)
        if misfit is not None:
            return lost or ReadReply(None, *named_reason(misfit, "misfit"))
        value = example.without(problem, domain, value)
        if value is None:
            return ReadReply(None, "only-the-example", "every case is one that the prompt shows")
        flaw = unstorable(value.to_json())
    else:
        flaw = unstorable(value.text)
    return ReadReply(None, *named_reason(flaw, "unstorable")) if flaw else ReadReply(value, "", detail)


def unstorable(value: Json) -> str:
    """Why a value that was read from a reply cannot be written to a file; empty where it can."""
    try:
        outside_json(value).encode("utf-8")
    except UnicodeEncodeError:
        return "not-text: holds a lone surrogate"
    except (ValueError, TypeError) as error:
        return f"not-json: {error}"
    return ""


def named_reason(text: str, fallback: str) -> Reason:
    """Split a parser's reason into the name that is counted and the detail for people: `name: detail`.

    A reason without a short name before its first colon is counted under `fallback`.
    """
    name, colon, rest = text.partition(":")
    if name and len(name) <= 40 and name.replace("-", "").replace("_", "").isalnum():
        return Reason(name, rest.strip() if colon else "")
    return Reason(fallback, text)
