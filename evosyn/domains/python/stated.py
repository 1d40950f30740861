"""The examples that stand in a statement, read as cases: calls of the entry point, or texts in and out.

The prompts for a new problem ask for exactly these forms, and people write them too. What cannot be read is left out;
nothing is executed here. Statements are model-written: bounded work, nothing is evaluated but literals.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import dedent
from typing import NamedTuple

from evosyn.domains.python.payload import entry_point
from evosyn.parsing import literal, parsed
from evosyn.records import Json, Problem, Testing, canonical_json

MOST_EXAMPLES, LONGEST_LINE, MOST_LINES, MOST_MARKS, MOST_BLOCKS = 20, 2000, 100, 3, 200
"""Read of one statement, of one line, of what a line may mean, and of one reply: a text is hostile input."""
_GIVES = re.compile(r"->|→|=>|==|\breturns?\b|\bgives\b")
_REMARKED = re.compile(
    rf"{_GIVES.pattern}|#(?:[ \t]*(?:expected|output|result|should|is|be)\b)*[ \t]*(?:->|=>|→|[:=]*)", re.I
)
"""The same in replies, where a remark behind a call says what it gives as well."""
_PRINTED = re.compile(r"\bprint\((.*)\)[ \t]*(?=#|$)")
_REMARK = re.compile(r"(?<=\s)(?:#|//|\(|because\b|since\b)")
_BLOCK = re.compile(
    r"[ \t#*]*(?:(?:example|sample)[ \t]{0,4})?(?:\d{1,3}[ \t]?,?[ \t]?)?(input|output)\b[^:]{0,20}:[ \t*]*(.*)", re.I
)
_SAID_BLOCK = re.compile(
    r"\W*+(?:(?:example|sample|test|case|expected)\b[\W_]*+)*(?:\d{1,3}\b\W*+)?(?:expected\W++)?(?:std)?(input|output)\b"
    r"(?:[ \t]*#?\d{0,3}[^:\w]*+$|[^:]{0,20}:[ \t*]*(.*))",
    re.I,
)
_NAMED_FENCE = re.compile(r"^([ \t]*)(```+|~~~+)[ \t]*(?:std)?(input|output)\b.*$", re.I | re.M)
NAMED = "\0"
"""What announces an input or an output in a reply, and a fence that says so as its language: that is then read as
an announcement, marked so, above a fence."""
_EXAMPLES = re.compile(r"[ \t#*]*(?:example|sample)", re.I)


def stated_calls(problem: Problem) -> Testing | None:
    """`name(args) -> value`, also with `==`, `returns` and as `>>> name(args)` above its value."""
    name = entry_point(problem)
    if not name.isidentifier():
        return None
    found = list(itertools.islice(_stated(problem.statement.split("\n"), name, _GIVES), MOST_EXAMPLES))
    cases = [case for one in found if (case := _as_case(one)) is not None]
    return Testing("cases", {"cases": cases}) if cases else None


def said_calls(text: str, name: str) -> list[str]:
    """What a text says of calls of a function, as asserts: the same forms, and remarks behind a call or its print."""
    lines = [_PRINTED.sub(r"\1 ", line) if len(line) <= LONGEST_LINE else "" for line in text.split("\n")]
    return [f"assert {ast.unparse(call)} == {value!r}" for call, value in _stated(lines, name, _REMARKED)]


def stated_texts(problem: Problem) -> Testing | None:
    """`Example input:` and `Example output:`, each with an indented or fenced block below, or a text on its line."""
    lines = problem.statement.split("\n")
    begin = next((at for at, line in enumerate(lines) if _EXAMPLES.match(line[:LONGEST_LINE])), len(lines))
    cases = _pairs(_blocks(lines[begin:], _BLOCK, 2 * MOST_EXAMPLES))
    return Testing("stdin", {"cases": cases[:MOST_EXAMPLES]}) if cases else None


class SaidTexts(NamedTuple):
    """The cases of a reply, and how many inputs it announces."""

    cases: list[Json]
    begun: int


def said_texts(text: str) -> SaidTexts:
    """Of a reply the texts below lines that announce an input and an output, or in fences named so, pair by pair."""
    plain = _NAMED_FENCE.sub(rf"\1{NAMED}\3:\n\1\2", text)
    blocks = list(_blocks(plain.split("\n"), _SAID_BLOCK, MOST_BLOCKS))
    return SaidTexts(_pairs(blocks), sum(what == "input" for what, _ in blocks))


def _pairs(blocks: Iterable[tuple[str, str]]) -> list[Json]:
    return [
        {"input": given, "output": output}
        for (first, given), (second, output) in itertools.pairwise(blocks)
        if (first, second) == ("input", "output") and given and output
    ]


class _Stated(NamedTuple):
    call: ast.Call
    value: Json


def _stated(lines: Sequence[str], name: str, gives: re.Pattern[str]) -> Iterator[_Stated]:
    read = 0
    called = re.compile(rf"(?<![\w.]){name}\(")
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        begins = called.search(line) if len(line) <= LONGEST_LINE else None
        if begins is not None and read < MOST_LINES:
            read += 1
            found = _of_line(line, begins.start(), below, gives)
            if found is not None and ast.unparse(found.call.func) == name:
                yield found


def _of_line(line: str, start: int, below: str, gives: re.Pattern[str]) -> _Stated | None:
    if line.lstrip().startswith(">>>"):
        return _call_and_value(line.lstrip()[3:].strip(), below.strip())
    marks = itertools.islice(gives.finditer(line, start), MOST_MARKS)
    found = (_call_and_value(line[start : mark.start()], line[mark.end() :]) for mark in marks)
    return next((one for one in found if one is not None), None)


def _call_and_value(call: str, value: str) -> _Stated | None:
    try:
        node = parsed(call.strip(" `*")).body[0]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
            return _Stated(node.value, _first_plain(value))
    except (SyntaxError, ValueError, TypeError, IndexError, MemoryError, RecursionError):
        pass
    return None


def _as_case(stated: _Stated) -> dict[str, Json] | None:
    args, keywords = stated.call.args, stated.call.keywords
    if args and keywords:
        return None
    try:
        given: Json = [_plain(ast.unparse(one)) for one in args]
        if keywords:
            given = {str(one.arg): _plain(ast.unparse(one.value)) for one in keywords}
        return {"input": given, "output": stated.value}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None


def _first_plain(text: str) -> Json:
    """The value that a line begins with; remarks may follow it.

    Raises:
        ValueError, SyntaxError: it begins with none.
    """
    text = text.strip().strip("`*").strip()
    ends = [len(text), *(found.start() for found in itertools.islice(_REMARK.finditer(text), MOST_MARKS))]
    for end in ends:
        for cut in (text[:end].rstrip(" .,;`*"), text[:end]):
            try:
                return _plain(cut)
            except (ValueError, SyntaxError, TypeError):
                continue
    raise ValueError("no value")


def _plain(text: str) -> Json:
    """A literal as JSON has it: tuples are lists.

    Raises:
        ValueError, SyntaxError, TypeError: it is none, or JSON cannot say it.
    """
    words = {"true": True, "false": False, "null": None}
    return words[text] if text in words else json.loads(canonical_json(literal(text)))


def _blocks(lines: Sequence[str], announces: re.Pattern[str], most: int) -> Iterator[tuple[str, str]]:
    """What stands below (or behind) each line that announces an input or an output; "" where it is not whole."""
    at, heads = 0, 0
    while at < len(lines) and heads < most:
        line = lines[at][:LONGEST_LINE]
        at += 1
        head = announces.fullmatch(line)
        if head is None:
            continue
        heads += 1
        said = (head[2] or "").strip().strip("`")
        taken, at = (said + "\n", at) if said else _below(lines, at)
        yield head[1].lower(), taken


def _below(lines: Sequence[str], at: int) -> tuple[str, int]:
    """A fenced or indented block that begins at a line, and the line after it; "" where there is none."""
    while at < len(lines) and not lines[at].strip():
        at += 1
    begin = lines[at].lstrip() if at < len(lines) else ""
    mark = begin[: len(begin) - len(begin.lstrip(begin[:1]))] if begin[:3] in ("```", "~~~") else ""
    if mark:
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == mark), None)
        if end is not None and lines[end - 1].lstrip().startswith(NAMED):  # another one opens before it is closed
            return ("", end - 1)
        inside = "" if end is None else "\n".join(lines[at + 1 : end]) + "\n"
        return (dedent(inside) if lines[at][0] != mark[0] else inside, at if end is None else end + 1)
    end = at
    while end < len(lines) and (lines[end].startswith(("    ", "\t")) or not lines[end].strip()):
        end += 1
    block = "\n".join(lines[at:end]).rstrip()
    return (dedent(block) + "\n" if block else "", end)
