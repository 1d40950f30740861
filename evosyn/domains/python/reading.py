"""From the reply of a teacher to a problem, a solution or a testing; shared by the Python domains.

Every failure is a reason `name: detail` (the name is what reports count), never an exception.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evosyn.chat import Parsed
from evosyn.codeblocks import MAX_BLOCKS, CodeBlock, binding, completed, last_answer, without_uses
from evosyn.domains.python.annotations import fits
from evosyn.domains.python.payload import completions, entry_point, starter_code
from evosyn.domains.python.shapes import checked
from evosyn.domains.replies import (
    PYTHON,
    answers,
    defines,
    fences,
    json_values,
    python_blocks,
    read_json,
    sets_of_blocks,
    whole_objects,
)
from evosyn.errors import FormatError
from evosyn.names import BUILTINS, bound_names, free_names
from evosyn.parsing import tree_or_none
from evosyn.records import Json, Problem, Solution, Testing, canonical_json

_INPUT_NAMES = ("input", "inputs", "args", "arguments")
_OUTPUT_NAMES = ("output", "outputs", "expected", "expected_output", "answer", "result")
_BEGUN = re.compile(rf"""["'](?:{"|".join(_INPUT_NAMES)})["'][ \t]*:""")
LOST, NOT_WHOLE = "cases-lost", "is not whole"
NO_CASES = "no-cases: neither cases nor code that makes or checks them"
_LIST_NAMES = ("cases", "test_cases", "testcases", "tests", "unit_tests", "testing")


class Signature(NamedTuple):
    """The parameters of the function under test.

    Attributes:
        names: positional parameters in order.
        required: how many of them have no default.
        open: takes any number of arguments (`*args` or `**kwargs`).
        types: of each parameter its annotation; None for one that has none, or whose default is None.
    """

    names: tuple[str, ...]
    required: int
    open: bool
    types: tuple[ast.expr | None, ...] = ()

    def takes(self, given: Json) -> bool:
        """Whether a list of positional or an object of keyword arguments can be bound."""
        if self.open:
            return True
        if isinstance(given, dict):
            return set(given) <= set(self.names) and set(self.names[: self.required]) <= set(given)
        return self.required <= len(given) <= len(self.names)

    def misfit(self, given: Json) -> str:
        """Why arguments are none of this function, by their number and by the plain types of the signature; or ""."""
        if not self.takes(given):
            return f"does not fit the parameters ({', '.join(self.names)})"
        types = dict(zip(self.names, self.types, strict=False))
        named = given if isinstance(given, dict) else dict(zip(self.names, given, strict=False))
        wrong = next((name for name, value in named.items() if not fits(value, types.get(name))), None)
        return "" if wrong is None else f"does not fit the type of the parameter {wrong}"


def signature_of(problem: Problem) -> Signature | None:
    """The signature that the starter code (or else the reference) gives the entry point; None where neither says."""
    for source in (*completions(starter_code(problem)), problem.reference_solution):
        tree = tree_or_none(source or "")
        name = entry_point(problem).rpartition(".")[2]
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                given = node.args
                every = [*given.posonlyargs, *given.args]
                if every and every[0].arg == "self" and "." in entry_point(problem):
                    del every[0]
                names, required = tuple([one.arg for one in every]), len(every) - len(given.defaults)
                may_be_none = [isinstance(one, ast.Constant) and one.value is None for one in given.defaults]
                optional = [*[False] * required, *may_be_none]
                types = [None if none else one.annotation for one, none in zip(every, optional, strict=True)]
                is_open = bool(given.vararg or given.kwarg or given.kwonlyargs)
                return Signature(names, required, is_open, tuple(types))
    return None


def owner_of(problem: Problem) -> str | None:
    """The class in whose body the starter code defines the entry point, where it defines no such function outside of
    classes; None where it does, or does not say."""
    name = entry_point(problem)
    for source in completions(starter_code(problem)):
        tree = tree_or_none(source)
        body = tree.body if tree else []
        if name in {node.name for node in body if isinstance(node, ast.FunctionDef)}:
            return None
        for node in body:
            if isinstance(node, ast.ClassDef) and name in {
                one.name for one in node.body if isinstance(one, ast.FunctionDef)
            }:
                return node.name
    return None


def read_solution(text: str, entry_point: str = "", starter_code: str = "") -> Parsed[Solution]:
    """The program of a reply, with what it needs of the other blocks: the last block that defines the entry point, a
    body that completes the starter code, or all blocks together; a block that imports it or leaves its body out, where
    there is no other. Without an entry point, the last block that does something."""
    name = entry_point.partition(".")[0]
    names = [name] if name else []
    for blocks in sets_of_blocks(text) if name else [python_blocks(text)]:  # a part of a script acts as well
        own = without_uses(_last_blocks(blocks), names)
        answer = _answer(own, names, starter_code)
        if answer is not None:
            return Parsed(Solution(with_helpers(answer, own) + "\n"))
    blocks = _last_blocks(python_blocks(text))
    if not blocks:
        return Parsed(None, "no-code: no fenced block")
    trees = [tree_or_none(block.text) for block in blocks]
    naming = [block for block, tree in zip(blocks, trees, strict=True) if tree and binding(tree, names)]
    if naming:
        return Parsed(Solution(with_helpers(naming[-1], blocks) + "\n"))
    if any(trees) and name:
        return Parsed(None, f"no-entry-point: no block defines {name}")
    if any(trees):
        return Parsed(None, "no-code: a word or a value, which does nothing")
    return Parsed(None, "does-not-parse: no block is Python")


def _last_blocks(blocks: Sequence[CodeBlock]) -> list[CodeBlock]:
    return [block for block in blocks if block.text.strip()][-MAX_BLOCKS:]


def _answer(own: Sequence[CodeBlock], names: Sequence[str], starter_code: str) -> CodeBlock | None:
    """The last block that defines the entry point, a body that completes the starter code, or all blocks together."""
    bodies = [
        block._replace(text=f"{starter_code.rstrip()}\n{block.text.rstrip()}\n")
        for block in own
        if names and starter_code and block.text[:1].isspace()
    ]
    together = [CodeBlock("\n".join([block.text for block in own]), 0)]
    answers = (last_answer(one, names) if names else _last_acting(one) for one in (own, bodies, together))
    return next((answer for answer in answers if answer is not None), None)


def _last_acting(blocks: Sequence[CodeBlock]) -> CodeBlock | None:
    """The last block that calls something at its top, or else the last that does anything: `no` and `yes, 5` are
    Python too, and a sample of output may be (`x = 5`)."""
    acting: CodeBlock | None = None
    for block in reversed(blocks):
        tree = tree_or_none(block.text)
        if tree is not None and any(map(_calls, tree.body)):
            return block
        if tree is not None and not all(isinstance(node, ast.Expr) for node in tree.body):
            acting = acting or block
    return acting


def _calls(node: ast.stmt) -> bool:
    inert = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return not inert and any(isinstance(part, ast.Call) for part in ast.walk(node))


def with_helpers(answer: CodeBlock, blocks: Sequence[CodeBlock]) -> str:
    """A program behind what it reads and does not define: definitions of later blocks, and whole earlier blocks, which
    may fill a table or set a limit besides."""
    program = completed(answer.text, [block.text for block in reversed(blocks) if block.start > answer.start])
    whole = tree_or_none(program)
    wanted = free_names(whole) - BUILTINS if whole is not None else set()
    kept = [program]
    for earlier in reversed([block.text for block in blocks if block.start < answer.start]):
        tree = tree_or_none(earlier) if wanted else None
        if tree is None:
            continue
        given = set().union(*(bound_names(node) for node in tree.body)) & wanted
        if given:
            kept.insert(0, earlier)
            wanted = (wanted - given) | (free_names(tree) - BUILTINS)
    return "\n\n".join([text.strip("\n") for text in kept])


def read_cases(
    text: str, kind: str, repair: Callable[[Json], Json], output: Callable[[Json], Json] | None = None
) -> Parsed[Testing]:
    """The last block that is a JSON list of cases, or Python that defines `build_cases()`, with its helpers; each case
    counts by itself.

    Args:
        kind: `cases` or `stdin`.
        repair: brings a case's input into the form of the format, or raises FormatError.
        output: the same for what it expects; None where any value will do.
    """
    for block in answers(text):
        if block.language in (*PYTHON, "") and defines(block.text, "build_cases"):
            return Parsed(_built(kind, CodeBlock(block.text, block.start), python_blocks(text)))
        value = read_json(block.text)
        cases = [one for one in reversed(json_values(text)) if _is_case(one)] if _is_case(value) else _case_list(value)
        if cases is not None:
            return those_that_fit(kind, cases, repair, output)
    for blocks in sets_of_blocks(text):
        builders = [block for block in blocks if defines(block.text, "build_cases")]
        if builders:
            return Parsed(_built(kind, builders[-1], blocks))
    return Parsed(None, NO_CASES)


def read_whole_cases(
    text: str, kind: str, repair: Callable[[Json], Json], output: Callable[[Json], Json] | None = None
) -> Parsed[Testing]:
    """The cases that stand whole in the last block that has any, where its JSON as a whole is none: it was cut, or a
    line of it is broken."""
    for block in [one.text for one in fences(text)][::-1] or [text]:
        cases = whole_objects(block, _is_case)
        if cases:
            begun = max(len(cases), len(_BEGUN.findall(block)))
            return those_that_fit(kind, cases, repair, output, begun - len(cases))
    return Parsed(None, NO_CASES)


def without_lost(testing: Testing, lost: Mapping[str, int]) -> Parsed[Testing]:
    """A testing, with how many of its cases are lost, and why."""
    number = sum(lost.values())
    told = ", ".join(f"{count} x {reason}" for reason, count in lost.items() if count)
    kept = len(next(iter(testing.body.values())))
    return Parsed(testing, f"{LOST}: {number} of {kept + number}: {told}" if number else "")


def those_that_fit(
    kind: str,
    cases: Sequence[Json],
    repair: Callable[[Json], Json],
    output: Callable[[Json], Json] | None,
    broken: int = 0,
) -> Parsed[Testing]:
    """The cases that can be used, each of them once; `broken` more are not whole."""
    kept: dict[str, Json] = {}
    wrong: list[FormatError] = []
    for index, case in enumerate(cases):
        try:
            made = _repaired(case, repair, output)
            checked({"kind": kind, "cases": [made]})
            kept.setdefault(canonical_json(made), made)
        except FormatError as error:
            wrong.append(FormatError(error.field.removeprefix("cases[0].").removeprefix("cases[0]"), error.reason))
            wrong[-1] = wrong[-1].inside(f"cases[{index}]")
    if not kept:
        return Parsed(None, f"bad-cases: {wrong[0] if wrong else 'there is none'}")
    reasons = Counter(f"{error.field.rpartition('.')[2]} {error.reason}" for error in wrong)
    return without_lost(Testing(kind, {"cases": list(kept.values())}), {NOT_WHOLE: broken, **reasons})


def _built(kind: str, builder: CodeBlock, blocks: Sequence[CodeBlock]) -> Testing:
    return checked({"kind": kind, "cases": {"python": with_helpers(builder, blocks) + "\n"}})


def _case_list(value: Json) -> list[Json] | None:
    if isinstance(value, dict):
        if any(name in value for name in _INPUT_NAMES):
            return [value]
        value = next((value[name] for name in _LIST_NAMES if name in value), None)
    if isinstance(value, list) and all(isinstance(case, dict) for case in value):
        return value if any(name in case for case in value for name in (*_INPUT_NAMES, *_OUTPUT_NAMES)) else None
    return None


def _is_case(value: Json) -> bool:
    names = value.keys() if isinstance(value, dict) else ()
    return any(name in names for name in _INPUT_NAMES) and any(name in names for name in _OUTPUT_NAMES)


def _repaired(
    case: Mapping[str, Json], repair: Callable[[Json], Json], output: Callable[[Json], Json] | None
) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, names in (("input", _INPUT_NAMES), ("output", _OUTPUT_NAMES)):
        name = next((name for name in names if name in case), None)
        if name is None:
            raise FormatError(key, "is missing")
        made[key] = case[name]
    try:
        made["input"] = repair(made["input"])
    except FormatError as error:
        raise FormatError("input", error.reason, error.value) from error
    made["output"] = made["output"] if output is None else output(made["output"])
    if "tolerance" in case:
        made["tolerance"] = case["tolerance"]
    return made
