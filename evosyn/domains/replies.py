"""Reading model replies: fences, Python, JSON with the usual blemishes. Arbitrary text never raises.

What a reply means is for the domains; here a text becomes candidates, best first. A reply is hostile input: sizes are
bounded, nothing is evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from evosyn.codeblocks import CodeBlock, binding, is_defining, may_bind, open_blocks, tagged
from evosyn.fences import Fence, markdown_fences, without_fences
from evosyn.parsing import literal, tree_or_none
from evosyn.records import Json, json_text
from evosyn.text.reasoning import Answer

MAX_REPLY = 1_000_000
"""Characters of a reply that are read."""
PYTHON = ("python", "py", "python3")
_SIGNS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SIGNS_OF_LINES = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+(?:"|\\?$)|[\[\]{}]', re.MULTILINE)
LOOKED_AT = 8
"""How often each character of a broken text may be read as a part of an object, in the mean."""
_CLOSES = {"[": "]", "{": "}"}
_BLEMISH = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|//[^\n]*+|,(?=(?:\s|//[^\n]*+)*+[\]}])', re.DOTALL)
"""One match for each quoted text and each remark, so that a quote or a comma in them is none; a quote that is never
closed quotes the rest, so that none is looked at twice."""


def fences(text: str) -> list[Fence]:
    """Every fenced block in order; an unclosed last one (a reply that was cut) counts."""
    return markdown_fences(text[:MAX_REPLY])


def python_blocks(text: str) -> list[CodeBlock]:
    """What may be Python, in order: fences that say so and unmarked ones; without a fence what stands between
    the tags with which the text begins, else the whole text."""
    found = fences(text)
    blocks = [CodeBlock(fence.text, fence.start) for fence in found if fence.language in (*PYTHON, "")]
    between = list(tagged(text[:MAX_REPLY])) if text.lstrip()[:1] == "<" else []
    return blocks if found else between or [CodeBlock(text[:MAX_REPLY], 0)]


def sets_of_blocks(text: str) -> Iterator[Sequence[CodeBlock]]:
    """What may be Python, one reading of the reply after the other: `python_blocks`, then what stands in the open
    beside its fences, as programs and as lines. The first set that holds an answer counts."""
    yield python_blocks(text)
    yield from open_blocks(text[:MAX_REPLY])
    yield [CodeBlock(without_fences(text[:MAX_REPLY]), 0)]


def answers(text: str) -> list[Fence]:
    """What may be the answer of a reply, the last block first: drafts, and the form repeated, come before the answer.
    Without any block, what stands in brackets and the text itself."""
    whole = Fence("", text[:MAX_REPLY].strip(), 0)
    if whole.text[:1] in ("{", "[") and read_json(whole.text) is not None:
        return [whole]
    return fences(text)[::-1] or [
        *(Fence("json", one, 0) for one in _bracketed(whole.text)),
        Fence(PYTHON[0], whole.text, 0),
    ]


def json_values(text: str) -> list[Json]:
    """Every JSON value that the reply holds, the last one first."""
    values = [read_json(one.text) for one in answers(text)]
    return [value for value in values if value is not None]


def complete_part(text: str) -> str:
    """A reply that was broken off, without its last line, or in one of objects without what follows the last of them: a
    value that was cut may be another value."""
    return Answer(text[: max(text.rfind("\n"), text.rfind("}")) + 1])


def before_cut(text: str) -> str:
    """A reply that was cut with the whole objects of the list that its JSON is, closed as it would have been; "" where
    there is none."""
    found = fences(text)
    body = found[-1].text if found else text[:MAX_REPLY]
    opened: list[str] = []
    whole, closers = 0, ""
    for sign in _SIGNS.finditer(body):
        if sign[0] in _CLOSES:
            opened.append(_CLOSES[sign[0]])
        elif opened and sign[0] == opened[-1]:
            opened.pop()
            if sign[0] == "}" and (not opened or (opened[-1] == "]" and opened.count("]") == 1)):
                whole, closers = sign.end(), "".join(reversed(opened))
    return Answer(body[:whole] + closers if opened else text) if whole else ""


def whole_objects(text: str, wanted: Callable[[Json], bool]) -> list[Json]:
    """The objects that are wanted and stand whole in a text, none inside another, whatever else of it is cut or broken:
    with quoted texts of several lines, or where a quote is missing with texts that end with their line."""
    body = text[:MAX_REPLY]
    return max((_wanted_in(body, signs, wanted) for signs in (_SIGNS, _SIGNS_OF_LINES)), key=len)


def _wanted_in(body: str, signs: re.Pattern[str], wanted: Callable[[Json], bool]) -> list[Json]:
    opened: list[tuple[str, int]] = []
    spans: list[tuple[int, int]] = []
    braces = 0
    for sign in signs.finditer(body):
        if sign[0] in _CLOSES:
            opened.append((_CLOSES[sign[0]], sign.start()))
            braces += sign[0] == "{"
        elif sign[0] == "}" and braces:
            while opened:
                closer, start = opened.pop()
                if closer == "}":
                    braces -= 1
                    spans.append((start, sign.end()))
                    break
        elif opened and sign[0] == opened[-1][0]:
            opened.pop()
    found, taken, looked_at = list[Json](), 0, 0
    for start, end in sorted(spans):
        if start < taken or looked_at > LOOKED_AT * len(body):
            continue
        looked_at += end - start
        value = read_json(body[start:end])
        if wanted(value):
            found.append(value)
            taken = end
    return found


def read_json(text: str) -> Json | None:
    """A JSON value; forgives trailing commas, raw line breaks in texts, remarks behind `//`, Python literals, and
    objects line by line, which are a list. None if it is none."""
    text = text.strip()
    bare = _bare(text).strip()
    attempts = [text, bare]
    if bare[:1] == "{":
        lines = [line.strip().rstrip(",") for line in bare.split("\n") if line.strip()]
        attempts += [f"[{','.join(lines)}]"] if all(map(_is_object, lines)) else []
    for attempt in attempts:
        try:
            value = json.loads(attempt, strict=False)
        except (ValueError, RecursionError):
            continue
        return None if json_text(value) is None else value
    try:
        value = literal(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    kept = json_text(value)
    return None if kept is None else json.loads(kept)


def defines(source: str, name: str) -> bool:
    """Whether a text is a module that says at its top what `name` stands for; see `codeblocks.is_defining`."""
    tree = tree_or_none(source) if may_bind(source, {name}) else None
    node = None if tree is None else binding(tree, {name})
    return node is not None and is_defining(node)


def _is_object(line: str) -> bool:
    """Whether a line may be a whole object."""
    return line[:1] == "{" and line[-1:] == "}"


def _bare(text: str) -> str:
    """JSON without remarks behind `//` and without commas before a closing bracket, but for those in quoted texts."""
    return _BLEMISH.sub(lambda found: found[1] or "", text)


def _bracketed(text: str) -> list[str]:
    """The text from the first opening bracket of each kind to the last closing one, the earlier opening first."""
    spans = []
    for start, end in (("[", "]"), ("{", "}")):
        first, last = text.find(start), text.rfind(end)
        if 0 <= first < last:
            spans.append((first, text[first : last + 1]))
    return [span for _, span in sorted(spans)]
