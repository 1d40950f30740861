"""Testings written as Python: asserts in any writing, or a `check(candidate)`. What is plain becomes cases.

`assert f(literals) == literal` is a case where JSON says both as they are, and no longer than they are written: it is
then compared by the rules of `compare`. A reply of which all is plain is a testing of cases, any other one of asserts,
the plain ones among them. Each assert counts by itself: one that is not whole, cannot run, calls another function or
does not fit the signature is lost alone. Nothing is executed.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from evosyn.chat import Parsed
from evosyn.codeblocks import CodeBlock
from evosyn.domains.python.budget import WorkBudget
from evosyn.domains.python.context import Broken, Context, context_of, source_of
from evosyn.domains.python.expressions import NotLiftable
from evosyn.domains.python.lifting import Lifted, call_key, lift_assert
from evosyn.domains.python.reading import NOT_WHOLE, Signature, signature_of, with_helpers, without_lost
from evosyn.domains.python.showing import is_json
from evosyn.domains.python.stated import said_calls
from evosyn.domains.replies import defines, fences, json_values, sets_of_blocks
from evosyn.parsing import tree_or_none
from evosyn.records import Json, Problem, Testing, json_text

MAX_ASSERTS, MOST_LINES, MOST_PARTS, MOST_NAMES = 1000, 60, 60, 50
"""Of one block, of one assert, of what a name in it stands for, and of names that stand for something."""
CANDIDATE = "candidate"
_BEGINS = re.compile(r"(?<![\w.])(?:assert\b|self\.assert\w+\()")
_QUOTED = re.compile(r"""("|')(?:(?!\1)[^\\\n]|\\.)*+(?:\1|$)""", re.M)
_CURLY = str.maketrans("\u201c\u201d\u2018\u2019", "\"\"''")
_METHODS = (
    "Equal ==|Equals ==|ListEqual ==|TupleEqual ==|SetEqual ==|DictEqual ==|SequenceEqual ==|MultiLineEqual =="
    "|NotEqual !=|Is is|IsNot is not|In in|NotIn not in|Greater >|GreaterEqual >=|Less <|LessEqual <="
)
_SIGNED = (method.split(" ", 1) for method in _METHODS.split("|"))
_UNITTEST = {f"assert{name}": f"{{0}} {sign} {{1}}" for name, sign in _SIGNED}
_UNITTEST |= {"assertTrue": "{0}", "assertFalse": "not {0}", "assertAlmostEqual": "round({0} - {1}, 7) == 0"}
_UNITTEST |= {"assertIsNone": "{0} is None", "assertIsNotNone": "{0} is not None"}
"""What the methods of `unittest.TestCase` of these names assert."""
Written: TypeAlias = ast.Assert | str
"""An assert, or why one cannot be read."""


class _Read(NamedTuple):
    """One assert that can be used: what it asks, its text, and as a case where it is one."""

    asks: bytes | str
    text: str
    case: Json


def read_asserts(text: str, problem: Problem) -> Parsed[Testing] | None:
    """The asserts of all blocks, of two about one call those of the later block, or a program where the last block
    defines `check` with more than plain asserts; then calls with what is said that they give. None where no reading of
    the reply has any."""
    context, signature = context_of(problem), signature_of(problem)
    lost: Parsed[Testing] | None = None
    if not re.search(rf"\b(?:{re.escape(context.function)}|{CANDIDATE})\s*\(", text):
        return None
    readings = list({tuple(blocks): None for blocks in _readings(text)})
    for blocks in readings:
        written = [list(itertools.islice(_written(block.text, context.function), MAX_ASSERTS)) for block in blocks]
        for block, own in zip(reversed(blocks), reversed(written), strict=True):
            if defines(block.text, "check"):
                plain = _testing([own], context, signature)
                if plain is None or plain.value is None or plain.value.kind != "cases" or plain.reason:
                    return Parsed(Testing("program", {"code": with_helpers(block, blocks) + "\n"}))
                break
            if own:
                break
        found = _testing(written, context, signature)
        if found is not None and found.value is not None:
            return found
        lost = lost or found
    for blocks in readings:
        said = [[*_nodes(said_calls(block.text, context.function))] for block in blocks]
        found = _testing(said, context, signature)
        if found is not None and found.value is not None:
            return found
    return lost


def _readings(text: str) -> Iterator[Sequence[CodeBlock]]:
    """What may hold asserts: lists of texts in JSON, programs, blocks of any language, and the whole text."""
    for value in json_values(text)[:1]:
        for one in [value, *value.values()] if isinstance(value, dict) else [value]:
            if isinstance(one, list) and one and all(isinstance(line, str) for line in one):
                yield [CodeBlock("\n".join(one), 0)]
    yield from sets_of_blocks(text)
    yield [CodeBlock(one.text, one.start) for one in fences(text)]


def _testing(
    written: Sequence[Sequence[Written]], context: Context, signature: Signature | None
) -> Parsed[Testing] | None:
    """The testing of what stands in some blocks; None where nothing does."""
    lost: Counter[str] = Counter()
    budget, seen, kept = WorkBudget(), set[bytes | str](), list[_Read]()
    for block in reversed(written):
        read = [_read(one, context, signature, budget) for one in block]
        lost.update(one for one in read if isinstance(one, str))
        fresh = [one for one in read if not isinstance(one, str) and one.asks not in seen]
        seen.update(one.asks for one in fresh)
        kept = [*fresh, *kept]
    kept = list({one.text: one for one in kept}.values())
    if not kept:
        return Parsed(None, f"bad-cases: {lost.most_common(1)[0][0]}") if lost else None
    if all(one.case is not None for one in kept):
        return without_lost(Testing("cases", {"cases": [one.case for one in kept]}), lost)
    return without_lost(Testing("asserts", {"asserts": [one.text for one in kept]}), lost)


def _read(written: Written, context: Context, signature: Signature | None, budget: WorkBudget) -> _Read | str:
    """One assert as it can be used, or why it cannot."""
    if isinstance(written, str):
        return written
    if not any(isinstance(part, ast.Name) and part.id == context.function for part in ast.walk(written)):
        return f"does not call {context.function}"
    try:
        text = source_of(written)
        lifted = lift_assert(text, context, budget)
    except NotLiftable:
        return _Read(text, text, None)
    except (Broken, ValueError, RecursionError) as error:
        return f"cannot run: {str(error)[:80]}"
    for call in lifted.calls if signature is not None else ():
        given = (
            [*call.args, *call.kwargs.values()] if call.kwargs and call.args else dict(call.kwargs) or list(call.args)
        )
        if call.python is None and (misfit := signature.misfit(given)):  # type: ignore[union-attr]
            return misfit
    asks = call_key(lifted.calls[0]) if len(lifted.calls) == 1 else text
    return _Read(asks, text, case_of(lifted, len(text)))


def case_of(lifted: Lifted, longest: int) -> dict[str, Json] | None:
    """An assert as an input and an output; None where it is more, JSON says them otherwise, or much longer."""
    if lifted.expected is None or lifted.calls[0].python is not None:
        return None
    call, output = lifted.calls[0], lifted.expected[0]
    if call.args and call.kwargs:
        return None
    case: dict[str, Json] = {"input": dict(call.kwargs) or list(call.args), "output": output}
    text = json_text(case) if is_json(case) else None
    return case if text is not None and len(text) <= 2 * longest else None


def _written(block: str, function: str) -> Iterator[Written]:
    """The asserts of a block: of its statements, or where it is no program line by line."""
    tree = tree_or_none(block) if function in block or CANDIDATE in block else None
    whole = [] if tree is None else list(_of_statements(tree.body, {}, function))
    yield from whole or _line_by_line(block, function)


def _nodes(texts: Iterable[str]) -> Iterator[Written]:
    for text in texts:
        tree = tree_or_none(text)
        yield from [node for node in tree.body if isinstance(node, ast.Assert)] if tree else ()


def _of_statements(body: Sequence[ast.stmt], known: Mapping[str, ast.expr], function: str) -> Iterator[Written]:
    """The asserts at the top, in classes and in functions that need no arguments, with the names filled in that stand
    for something at once. What else a statement names is no longer known."""
    names = dict(known)
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _of_statements(node.body, names, function)
        elif isinstance(node, ast.FunctionDef):
            needed = {argument.arg for argument in node.args.args} - {"self", CANDIDATE}
            if not needed and node.name != function:
                yield from _of_statements(node.body, names, function)
        elif isinstance(node, ast.If) and ast.unparse(node.test).startswith("__name__"):
            yield from _of_statements(node.body, names, function)
        elif (test := _asserted(node)) is not None:
            yield ast.Assert(_filled(test, names, function), node.msg if isinstance(node, ast.Assert) else None)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = _filled(node.value, names, function)
            parts = sum(1 for _ in itertools.islice(ast.walk(value), MOST_PARTS + 1))
            names.pop(node.targets[0].id, None)
            if parts <= MOST_PARTS and len(node.targets) == 1:
                names[node.targets[0].id] = value
        else:
            for part in ast.walk(node):
                names.pop(getattr(part, "id", ""), None)


def _asserted(node: ast.stmt) -> ast.expr | None:
    """What a statement asserts: an assert, a method of unittest, an equation that stands alone or is printed."""
    if isinstance(node, ast.Assert):
        return node.test
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Compare):
        return value
    if not isinstance(value, ast.Call):
        return None
    match value.func:
        case ast.Name(id="print") if len(value.args) == 1 and isinstance(value.args[0], ast.Compare):
            return value.args[0]
        case ast.Attribute(attr=name) if name in _UNITTEST:
            form = _UNITTEST[name]
            if len(value.args) < form.count("{"):
                return None
            filled = ast.parse(form.format("_0", "_1"), mode="eval").body
            return _filled(filled, {f"_{at}": one for at, one in enumerate(value.args)}, "")
    return None


def _filled(node: ast.expr, names: Mapping[str, ast.expr], function: str) -> ast.expr:
    """An expression with what its names stand for, if those are few, and calls of the function by its name."""
    used = sum(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node)) if names else 0
    return _Plainly(names if used <= MOST_NAMES else {}, function).visit(node)  # type: ignore[no-any-return]


class _Plainly(ast.NodeTransformer):
    """See `_filled`."""

    def __init__(self, names: Mapping[str, ast.expr], function: str) -> None:
        self._names, self._function = names, function

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == CANDIDATE and self._function:
            return ast.Name(self._function, node.ctx)
        return self._names.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name() | ast.Call(func=ast.Name(), args=[], keywords=[]), attr=name):
                if name == self._function:
                    node.func = ast.Name(name, ast.Load())
        return node


def _line_by_line(block: str, function: str) -> Iterator[Written]:
    """The asserts of a text that is not Python as a whole: it was cut, a line of it is broken, prose stands between."""
    lines = block.split("\n")
    begins = [(at, found.start()) for at, line in enumerate(lines) if (found := _BEGINS.search(line))]
    ends = [at for at, _ in begins[1:]] + [len(lines)]
    for (at, start), end in zip(begins[:MAX_ASSERTS], ends, strict=False):
        text = lines[at][start:]
        for line in lines[at + 1 : min(end, at + MOST_LINES)]:
            if _is_balanced(text):
                break
            text += "\n" + line
        tree = _parsed_in_some_way(text, lines[at][:start], function)
        if tree is None:
            yield NOT_WHOLE
        else:
            yield from _of_statements(tree.body, {}, function)


def _is_balanced(text: str) -> bool:
    bare = _QUOTED.sub("", text)
    return sum(map(bare.count, "([{")) <= sum(map(bare.count, ")]}"))


def _parsed_in_some_way(text: str, before: str, function: str) -> ast.Module | None:
    """An assert without what stands around it on its line: quotes, backticks, remarks in words."""
    quote = before.rstrip(" *")[-1:]
    if quote and quote in "`\"'":
        text = text[: text.rfind(quote)] if quote in text else text
    for form in (text, text.translate(_CURLY)):
        for one in (form, form.rstrip(" .,;:*`\"'|")):
            tree = tree_or_none(one)
            if tree is not None:
                return tree
    for said in said_calls(text.translate(_CURLY), function)[:1]:
        return tree_or_none(said)
    return None
