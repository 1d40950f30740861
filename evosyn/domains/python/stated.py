"""The examples that stand in a statement, read as cases: calls of the entry point, or texts in and out.

The prompts for a new problem ask for exactly these forms, and people write them too. What cannot be read is left out;
nothing is executed here. Statements are model-written: bounded work, nothing is evaluated but literals.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from textwrap import dedent

from evosyn.domains.python.payload import entry_point
from evosyn.parsing import literal, parsed
from evosyn.records import Json, Problem, Testing, canonical_json

MOST_EXAMPLES, LONGEST_LINE, MOST_LINES, MOST_MARKS = 20, 2000, 100, 3
"""Read of one statement, of one line, and of what a line may mean: a statement is hostile input."""
_GIVES = re.compile(r"->|→|=>|==|\breturns?\b|\bgives\b")
_REMARK = re.compile(r"(?<=\s)(?:#|//|\(|because\b|since\b)")
_BLOCK = re.compile(
    r"[ \t#*]*(?:(?:example|sample)[ \t]{0,4})?(?:\d{1,3}[ \t]?,?[ \t]?)?(input|output)\b[^:]{0,20}:[ \t*]*(.*)", re.I
)
_EXAMPLES = re.compile(r"[ \t#*]*(?:example|sample)", re.I)


def stated_calls(problem: Problem) -> Testing | None:
    """`name(args) -> value`, also with `==`, `returns` and as `>>> name(args)` above its value."""
    name = entry_point(problem)
    if not name.isidentifier():
        return None
    lines = problem.statement.split("\n")
    cases, read = [], 0
    called = re.compile(rf"(?<![\w.]){name}\(")
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        begins = called.search(line) if len(line) <= LONGEST_LINE else None
        if begins is not None and read < MOST_LINES:
            read += 1
            cases += list(_calls_of(line, begins.start(), below, name))
    return Testing("cases", {"cases": cases[:MOST_EXAMPLES]}) if cases else None


def stated_texts(problem: Problem) -> Testing | None:
    """`Example input:` and `Example output:`, each with an indented or fenced block below, or a text on its line."""
    blocks = list(_blocks(problem.statement.split("\n")))
    cases = [
        {"input": given, "output": output}
        for (first, given), (second, output) in itertools.pairwise(blocks)
        if (first, second) == ("input", "output")
    ]
    return Testing("stdin", {"cases": cases[:MOST_EXAMPLES]}) if cases else None


def _calls_of(line: str, start: int, below: str, name: str) -> Iterator[dict[str, Json]]:
    if line.lstrip().startswith(">>>"):
        found = _case(line.lstrip()[3:].strip(), below.strip(), name)
        if found is not None:
            yield found
        return
    for mark in itertools.islice(_GIVES.finditer(line, start), MOST_MARKS):
        found = _case(line[start : mark.start()], line[mark.end() :], name)
        if found is not None:
            yield found
            return


def _case(call: str, value: str, name: str) -> dict[str, Json] | None:
    try:
        node = parsed(call.strip(" `*")).body[0]
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            return None
        function, args, keywords = node.value.func, node.value.args, node.value.keywords
        if not (isinstance(function, ast.Name) and function.id == name) or (args and keywords):
            return None
        given: Json = [_plain(ast.unparse(one)) for one in args]
        if keywords:
            given = {str(one.arg): _plain(ast.unparse(one.value)) for one in keywords}
        return {"input": given, "output": _first_plain(value)}
    except (SyntaxError, ValueError, TypeError, IndexError, MemoryError, RecursionError):
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


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What stands below (or behind) each line that announces an input or an output, from where examples begin."""
    at, begun, heads = 0, False, 0
    while at < len(lines) and heads < 2 * MOST_EXAMPLES:
        line = lines[at][:LONGEST_LINE]
        at += 1
        begun = begun or _EXAMPLES.match(line) is not None
        head = _BLOCK.fullmatch(line) if begun else None
        if head is None:
            continue
        heads += 1
        said = head[2].strip().strip("`")
        taken, at = (said + "\n", at) if said else _below(lines, at)
        if taken:
            yield head[1].lower(), taken


def _below(lines: Sequence[str], at: int) -> tuple[str, int]:
    """A fenced or indented block that begins at a line, and the line after it; "" where there is none."""
    while at < len(lines) and not lines[at].strip():
        at += 1
    if at < len(lines) and lines[at].lstrip().startswith("```"):
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == "```"), None)
        return ("", at) if end is None else (dedent("\n".join(lines[at + 1 : end]) + "\n"), end + 1)
    end = at
    while end < len(lines) and (lines[end].startswith(("    ", "\t")) or not lines[end].strip()):
        end += 1
    block = "\n".join(lines[at:end]).rstrip()
    return (dedent(block) + "\n" if block else "", end)
