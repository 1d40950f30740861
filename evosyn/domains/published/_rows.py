"""What the formats share: fields that are JSON in a text, `class Solution`, the parts of a pool's line."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence

from evosyn.domains.answers.marks import last_answer
from evosyn.domains.math_answer import KIND, NAME, boxed
from evosyn.domains.python.payload import LIVECODEBENCH, completions
from evosyn.parsing import tree_or_none
from evosyn.records import Json

OWNER = "Solution"
CONTEST = 1e-6
"""The difference of floats, absolute or relative, that contests commonly allow."""
TYPING = ("List", "Dict", "Set", "Tuple", "Optional", "Union", "Any", "Callable", "Iterable", "Iterator", "Deque")


class NotUsable(Exception):
    """A row that cannot become a problem; the message is `name: detail`.

    Attributes:
        date: of the row, where it has one.
    """

    def __init__(self, reason: str, date: str | None = None) -> None:
        super().__init__(reason)
        self.date = date


def text_of(row: Mapping[str, Json], *names: str) -> str:
    """The first of these fields that is a text with something in it.

    Raises:
        NotUsable: there is none.
    """
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value
    raise NotUsable(f"no-{names[0].replace('_', '-')}: the row has no text in {' or '.join(names)}")


def decoded(value: Json, field: str) -> Json:
    """A field that holds JSON as a text, or the value itself; None where it is empty.

    Raises:
        NotUsable: it is not JSON.
    """
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise NotUsable(f"bad-{field.replace('_', '-')}: {field} is not JSON: {error}") from error


def line_of(name: str, domain: str, statement: str, human_testing: Json, **more: Json) -> dict[str, Json]:
    """A line of a pool; fields of `more` that are None are left out."""
    given = {key: value for key, value in more.items() if value is not None}
    line = {"problem_id": name, "domain": domain, "statement": statement, "human_testing": human_testing}
    return {**line, "meta": {}, **given}


def of_contest(line: dict[str, Json], how: str) -> dict[str, Json]:
    """The same line, whose programs have what LiveCodeBench's grader runs before them, and whose testing, of cases or
    texts, is compared as `contest` (floats nearly) or as `official` (as that grader does) says."""
    return {**line, "prelude": LIVECODEBENCH, "human_testing": _compared(line["human_testing"], how)}


def _compared(testing: dict[str, Json], how: str) -> dict[str, Json]:
    if testing["kind"] == "stdin":
        return {**testing, **({"tolerance": CONTEST} if how == "contest" else {"compare": "livecodebench"})}
    if how == "official":
        return testing
    close = {"tolerance": CONTEST}
    return {**testing, "cases": [{**one, **close} if _of_floats(one["output"]) else one for one in testing["cases"]]}


def _of_floats(value: Json) -> bool:
    """Whether it is a float, or a list of nothing else: a tolerance would take integers for each other."""
    return bool(value) and all(type(one) is float for one in (value if isinstance(value, list) else [value]))


def answer_line(
    row: Mapping[str, Json], question: str, answer: str, working: str = "", **meta: Json
) -> dict[str, Json]:
    """A line of a pool of problems with a final answer; the working is the reference where it ends in the answer.

    Raises:
        NotUsable: there is no answer.
    """
    if not answer.strip():
        raise NotUsable("no-answer: the row says no final answer")
    if (last_answer(working) or "").strip() != answer.strip():
        working = boxed(answer.strip())
    names = (str(row.get(key) or "") for key in ("unique_id", "id", "task_id", "url"))
    return line_of(
        next(filter(None, names), ""),
        NAME,
        question.strip() + "\n",
        {"kind": KIND, "answer": answer.strip()},
        reference_solution=working.strip(),
        meta=meta or None,
    )


def method_of(starter: str, function: str, programs: Sequence[str] = ()) -> str:
    """The entry point: `Solution.function` where starter code or programs define it in a class of that name, which is
    then made before each call, else the function itself.

    Raises:
        NotUsable: a class that must be made with arguments.
    """
    for source in (*completions(starter), *programs):
        for node in body_of(source):
            if isinstance(node, ast.ClassDef) and node.name == OWNER:
                methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
                made = methods.get("__init__")
                if made is not None and len(made.args.args) - len(made.args.defaults) > 1:
                    raise NotUsable(f"class-with-arguments: {OWNER} cannot be made without arguments")
                if function in methods:
                    return f"{OWNER}.{function}"
    return function


def whole_starter(starter: str, domain_entry: str) -> str | None:
    """Starter code that parses, with the names of `typing` that it uses imported; None where it defines nothing."""
    owner = domain_entry.partition(".")[0]
    for source in completions(starter):
        body = body_of(source)
        if any(isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == owner for node in body):
            used = {one.id for node in body for one in ast.walk(node) if isinstance(one, ast.Name)}
            names = [name for name in TYPING if name in used]
            known = any(isinstance(node, ast.ImportFrom) and node.module == "typing" for node in body)
            return (f"from typing import {', '.join(names)}\n\n\n" if names and not known else "") + source
    return None


def body_of(source: str) -> list[ast.stmt]:
    """The statements of a module; none where it does not parse."""
    tree = tree_or_none(source)
    return tree.body if tree else []


def first_that_defines(programs: Sequence[Json], entry: str) -> str | None:
    """The first program that parses and defines the entry point (any, where that is empty)."""
    owner = entry.partition(".")[0]
    for program in programs:
        body = body_of(program) if isinstance(program, str) else []
        names = {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        if body and (not owner or owner in names):
            return str(program)
    return None
