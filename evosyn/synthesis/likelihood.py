"""How likely a model found what it wrote: of a solution its code, of each case of a testing its expected value.

A reply is read by its domain, which says nothing of places; they are found again by the texts of what was read, without
blanks and in one spelling. What is not found is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from evosyn.chat import Reply
from evosyn.records import Json, ParsedCall, ParsedCalls
from evosyn.text.logprobs import Logprobs, Span, mean, piece_of, values_in

_BEGINS, _SIGNS = r"(?<![\w.-])", r"[^\w\[\]{}]{0,40}"
_WORDS = r"(?i:expected(?:_?output)?|outputs?|answer|result|returns?|is)"
_BETWEEN = rf"{_SIGNS}(?:{_WORDS}{_SIGNS})?(?<![-\d.])"
"""Between what goes into a call and what must come out: `==`, `,`, `, "output":`, the fences of two blocks."""
_JSON = json.JSONEncoder(ensure_ascii=False).encode
_ENDS = r"(?!\d|\.\d|[eE][-+\d]|[*/+%-])"


def solution_details(drawn: Sequence[tuple[Reply, str]]) -> list[dict[str, Json]]:
    """What the provenance of each solution of one problem says: of its code, or where that is not found in one of the
    replies, of the whole replies of all, so that they compare.

    Args:
        drawn: replies, and what was read from each; empty where a reply is not all that it came from.
    """
    whole = [reply.logprobs if text and reply.failure is None else None for reply, text in drawn]
    parts = [piece_of(known, reply.text, text.strip()) for known, (reply, text) in zip(whole, drawn, strict=True)]
    found = all(known is None or part is not None for known, part in zip(whole, parts, strict=True))
    return [_detail(one) for one in (parts if found else whole)]


def testing_detail(reply: Reply, calls: ParsedCalls | None) -> dict[str, Json]:
    """What the provenance of a testing says: for each of its cases the mean over its expected value, or None.

    Args:
        calls: what its cases ask.
    """
    if reply.failure is not None or reply.logprobs is None or calls is None:
        return {}
    spans = expected_spans(reply.text, calls)
    return {"logprobs": [None if span is None else mean(values_in(reply.logprobs, span)) for span in spans]}


def expected_spans(text: str, calls: Sequence[ParsedCall | None]) -> list[Span | None]:
    """Where a reply says what must come out of each call, in the order of the calls; None where that is not found. What
    stands there several times, in drafts, counts where it stands last."""
    plain, places = _one_spelling(text)
    found, end = list[Span | None](), len(plain)
    for call in reversed(calls):
        at = None if call is None else _last(plain, call, end)
        found.append(None if at is None else Span(places[at.start], places[at.end - 1] + 1))
        end = end if at is None else at.start
    return found[::-1]


def _last(plain: str, call: ParsedCall, end: int) -> Span | None:
    """The last place before `end` where the call stands with what it expects, in the one spelling."""
    if call.expected is None:
        return None
    texts = (call.arguments, call.expected)
    plainly, quoted = ([_one_spelling(as_written(one))[0] for one in texts] for as_written in (str, _JSON))
    for before, after in (plainly, quoted):
        begins = _BEGINS if before[:1].isalnum() else ""
        said = f"(?={begins}{re.escape(before)}{_BETWEEN}({re.escape(after)}){_ENDS})"
        pattern = re.compile(said) if after else None
        matches = [one.span(1) for one in pattern.finditer(plain, 0, end)] if pattern else []
        if matches:
            return Span(*matches[-1])
    return None


def _one_spelling(text: str) -> tuple[str, list[int]]:
    """Without blanks, with one kind of quotes and of brackets, names as JSON has them, no comma before a bracket; and
    where each character stood."""
    found, places = list[str](), list[int]()
    for place, sign in enumerate(text.translate(_SAME)):
        if sign.isspace():
            continue
        if sign in "]}" and found and found[-1] == ",":
            del found[-1], places[-1]
        found.append(sign)
        places.append(place)
    return "".join(found).replace("True", "true").replace("False", "false").replace("None", "null"), places


_SAME = str.maketrans("'()", '"[]')


def _detail(values: Logprobs | None) -> dict[str, Json]:
    if not values:
        return {}
    total = sum(value for _, value in values)
    return {"logprob": {"mean": round(total / len(values), 4), "sum": round(total, 4), "tokens": len(values)}}
