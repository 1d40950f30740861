"""From a model's reply to a program: the last answer that it gives, as a whole or as a change of one that it was shown.

Replies are untrusted text: they are searched and parsed, never executed, and arbitrary text never raises. What a block
only uses is completed from the blocks before it and from the programs that the model was shown. The forms that are
read, one by one: tests/test_forms_of_replies.py.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from textwrap import dedent
from typing import NamedTuple

from evosyn.chat import Parsed
from evosyn.edits import Edit, apply_edits, extract_edits
from evosyn.fences import lines_of, markdown_fences, without_fences
from evosyn.names import BUILTINS, bound_names, free_names
from evosyn.parsing import tree_or_none
from evosyn.thinking import answer_in, without_first_thought

MAX_REPLY = 200_000
MAX_BLOCKS = 64
"""Blocks of a reply that are looked at, the last ones."""
_TAGS = re.compile(r"<(program|code|answer|solution)>")
_TYPE = r"(?:int|float|str|bool|bytes|list|dict|set|tuple|frozenset|type|[A-Z]\w*|\w+\.[\w.]+)(?: *[\[|][^=\n]*+)?"
"""What a name may be said to be in a program: `Result: x = 5` is prose."""
_CODE_LINE = re.compile(rf"[ \t]|$|(?:def|class|import|from) |[@#)\]}}]|\w+(?:, *\w+)* *+(?:: *{_TYPE} *+)?=")
_BEGIN = re.compile(r"^(?:def|class|import|from) ", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{4,}")
_USUAL = "import numpy as np\n" + "".join(
    f"import {name}\n" for name in ("numpy", "math", "itertools", "functools", "collections", "statistics", "re")
)
"""What a name stands for that nobody imported."""
_TOP = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
_VALUES = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, type(None))


class CodeBlock(NamedTuple):
    """What may be Python in a reply, and where it begins there."""

    text: str
    start: int


class _Definition(NamedTuple):
    """A statement at the top of a program, and what it reads."""

    place: tuple[int, int]
    text: str
    reads: set[str]
    imports: bool


def read_program(reply: str, shown: Sequence[str], entry_points: Collection[str]) -> Parsed[str]:
    """The program that a reply comes to: its last answer, completed from its other blocks and from what was shown.

    An answer is a block that defines one of `entry_points`, edits, or blocks with new versions of what stands in it.

    Args:
        shown: the programs that it may refer to; the first is the one to change.
    """
    if len(reply) > MAX_REPLY:
        return Parsed(None, "too-long")
    if not reply.strip():
        return Parsed(None, "empty")
    said = answer_in(reply)
    if not said.strip():
        return Parsed(None, "only-thinking")
    edits = extract_edits(said)
    blocks = list(code_blocks(said))[-MAX_BLOCKS:]
    whole = last_answer(blocks, entry_points, shown)
    known = {text.strip() for text in shown}
    if not edits and (whole is None or whole.text.strip() in known):
        opened = next((one for part in open_blocks(said) if (one := last_answer(part, entry_points, shown))), None)
        if opened is not None and (whole is None or not any(opened.text.strip() in text for text in known)):
            whole, blocks = opened, sorted([*blocks, opened], key=lambda block: block.start)
    at_hand = [*(block.text for block in reversed(without_uses(blocks, entry_points))), *shown, _USUAL]
    late = [edit for edit in edits if whole is None or edit.start > whole.start]
    for base in ([] if whole is None else [whole.text], list(shown[:1])):
        for program in base if late else []:
            changed = _changed(program, late, at_hand)
            if changed is not None:
                return Parsed(changed)
    if whole is not None and whole.text.strip() not in known:
        return Parsed(completed(whole.text, at_hand))
    spliced: str | None = None
    for block in blocks if shown else []:
        spliced = (None if block == whole else _spliced(spliced or shown[0], block.text)) or spliced
    if spliced is not None:
        return Parsed(completed(spliced, at_hand))
    if whole is not None:
        return Parsed(whole.text)
    if edits:
        return Parsed(None, "diff-does-not-apply")
    if any(tree_or_none(block.text) is None for block in blocks):
        return Parsed(None, "does-not-parse")
    return Parsed(None, "no-entry-point" if blocks else "prose")


def code_blocks(text: str) -> Iterator[CodeBlock]:
    """What may be Python, in order: fenced blocks of that language or of none, the text of a JSON object or between
    tags; where there are none of these, what stands in the open between lines of prose."""
    fences = markdown_fences(text)
    for fence in fences:
        if not fence.language or fence.language.startswith(("py", "text", "plain", "code")):
            yield CodeBlock(fence.text, fence.start)
        elif fence.language == "json":
            yield from _of_json(fence.text, fence.start)
    if not fences:
        yield from list(_of_json(text, 0)) or list(tagged(text)) or _in_the_open(text)


def open_blocks(text: str) -> tuple[list[CodeBlock], list[CodeBlock]]:
    """What may be Python between lines of prose: beside the fenced blocks, which may be a use or an output of it; and
    as if there were none, since what is taken for a fence may stand in its docstring."""
    return list(_in_the_open(text, without_fences(text))), list(_in_the_open(text))


def last_answer(blocks: Sequence[CodeBlock], names: Collection[str], shown: Sequence[str] = ()) -> CodeBlock | None:
    """The last block that defines one of `names`, rather than one that quotes what was shown.

    A method of that name, in a class that needs no arguments, becomes a function.
    """
    quoted: CodeBlock | None = None
    known = {text.strip() for text in shown}
    for block in reversed(blocks):
        found = _with_entry_point(block, names)
        if found is not None and found.text.strip() not in known:
            return found
        quoted = quoted or found
    return quoted


def without_uses(blocks: Sequence[CodeBlock], names: Collection[str]) -> list[CodeBlock]:
    """The blocks but for those that import one of `names`: they use the program (a test, say) and are no part of it."""
    return [block for block in blocks if not _uses(block.text, names)]


def _uses(text: str, names: Collection[str]) -> bool:
    tree = tree_or_none(text) if may_bind(text, names) else None
    return tree is not None and _is_lead(binding(tree, names))


def may_bind(text: str, names: Collection[str]) -> bool:
    """Whether one of `names` stands in a program at all: what need not be parsed does not. Letters beyond ASCII may
    stand for others (PEP 3131)."""
    return not text.isascii() or any(name in text for name in names)


def binding(tree: ast.Module, names: Collection[str]) -> ast.stmt | None:
    """The last statement at the top of a program that binds one of `names`."""
    found = (node for node in reversed(tree.body) if isinstance(node, _TOP))
    return next((node for node in found if not bound_names(node).isdisjoint(names)), None)


def is_defining(node: ast.stmt) -> bool:
    """Whether a statement says what the name that it binds stands for; imports, outlines and plain values do not."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not isinstance(node.value, _VALUES)
    if isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        return not methods or not all(map(_is_left_out, methods))
    return not _is_lead(node) and not _is_left_out(node)


def completed(program: str, sources: Sequence[str]) -> str:
    """`program` with what it reads and nothing in it binds: definitions of the earliest source that has them."""
    tree = tree_or_none(program)
    missing = set() if tree is None else free_names(tree) - BUILTINS
    if tree is None or not missing:
        return program
    known: dict[str, _Definition] = {}
    for number, source in enumerate(sources):
        for name, definition in _definitions(source, number):
            known.setdefault(name, definition)
    had = {name for node in tree.body for name in bound_names(node)}
    added: dict[str, _Definition] = {}
    while missing:
        name = missing.pop()
        found = known.get(name)
        if found is not None:
            added[name] = found
            missing |= found.reads - BUILTINS - had - set(added)
    if not added:
        return program
    ordered = sorted(added.values(), key=lambda one: one.place)
    imports = list(dict.fromkeys(one.text for one in ordered if one.imports))
    code = list(dict.fromkeys(one.text for one in ordered if not one.imports))
    lines, top, lead = program.splitlines(), _end_of(tree, _is_header), _end_of(tree, _is_lead)
    rest = "\n".join(lines[lead:]).strip("\n")
    head = "\n".join([*lines[:top], *([""] if top and imports else []), *imports, *lines[top:lead]])
    return "\n\n\n".join(part for part in (head.strip("\n"), *code, rest) if part) + "\n"


def without_repeats(programs: Sequence[str]) -> list[str]:
    """The programs in order, each without the functions and the docstring that one before it has letter by letter."""
    seen: set[str] = set()
    found = []
    for program in programs:
        tree, lines, left_out = tree_or_none(program), program.splitlines(), []
        parts = [
            node for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef) or _is_constant(node)
        ]
        for node in reversed(parts):
            place = slice(_first(node) - 1, node.end_lineno)
            text = "\n".join(lines[place])
            if text in seen:
                lines[place] = []
                left_out += [node.name] if isinstance(node, ast.FunctionDef) else []
            seen.add(text)
        if left_out:
            lines = [f"# as above: {', '.join(reversed(left_out))}", *lines]
        found.append(_BLANK_LINES.sub("\n\n\n", "\n".join(lines)).lstrip("\n") + "\n")
    return found


def _with_entry_point(block: CodeBlock, names: Collection[str]) -> CodeBlock | None:
    tree = tree_or_none(block.text) if may_bind(block.text, names) else None
    bound = None if tree is None else binding(tree, names)
    if bound is not None:
        return block if is_defining(bound) else None
    for one in reversed(tree.body if tree else ()):
        method = next((name for name in names if isinstance(one, ast.ClassDef) and _has_method(one, name)), None)
        if isinstance(one, ast.ClassDef) and method is not None:
            return block._replace(text=f"{block.text.rstrip()}\n\n\n{method} = {one.name}().{method}\n")
    return None


def _has_method(node: ast.ClassDef, name: str) -> bool:
    methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    made = methods.get("__init__")
    bare = made is None or len(made.args.args) - len(made.args.defaults) == 1
    return name in methods and not _is_left_out(methods[name]) and bare


def _is_left_out(node: ast.stmt) -> bool:
    """Whether it is a function in which nothing stands but words and `...`."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and all(
        isinstance(part, ast.Pass) or _is_constant(part) for part in node.body
    )


def _is_constant(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _changed(program: str, edits: Sequence[Edit], sources: Sequence[str]) -> str | None:
    """`program` with the edits that apply, if what they come to can run: all names that it reads are at hand."""
    edited = apply_edits(program, edits)
    if edited is None or not edited.applied:
        return None
    text = completed(edited.text, sources)
    tree, before = tree_or_none(text), tree_or_none(program)
    if tree is None or (edited.missed and (before is None or free_names(tree) - free_names(before) - BUILTINS)):
        return None
    return text


def _spliced(program: str, block: str) -> str | None:
    """`program` with the functions and constants replaced that `block` defines anew, or None if there are none."""
    whole, part = tree_or_none(program), tree_or_none(block)
    if whole is None or part is None:
        return None
    new = {_defined(one): one for one in part.body if not _is_left_out(one)}
    old = [node for node in whole.body if (name := _defined(node)) and name in new]
    if not old:
        return None
    lines, source = program.splitlines(), block.splitlines()
    for node in reversed(old):
        replacement = new[_defined(node)]
        lines[_first(node) - 1 : node.end_lineno] = source[_first(replacement) - 1 : replacement.end_lineno]
    return "\n".join(lines) + "\n"


def _defined(node: ast.stmt) -> str:
    """The name of the function or constant that a statement is the whole of; "" for any other."""
    if isinstance(node, ast.FunctionDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else ""


def _definitions(source: str, number: int) -> Iterator[tuple[str, _Definition]]:
    """What the top of a program binds, by name."""
    tree, lines = tree_or_none(source), source.splitlines()
    for node in [] if tree is None else tree.body:
        if isinstance(node, _TOP) and not _is_left_out(node):
            text = "\n".join(lines[_first(node) - 1 : node.end_lineno])
            definition = _Definition((number, node.lineno), text, free_names(node), imports=_is_lead(node))
            yield from ((name, definition) for name in bound_names(node))


def _end_of(tree: ast.Module, belongs: Callable[[ast.stmt], bool]) -> int:
    """The line after the last of the first statements that belong to it; a docstring always does."""
    end = 0
    for number, node in enumerate(tree.body):
        if not belongs(node) and not (number == 0 and _is_constant(node)):
            break
        end = node.end_lineno or end
    return end


def _is_header(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_lead(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _first(node: ast.stmt) -> int:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return node.lineno


def _of_json(text: str, start: int) -> Iterator[CodeBlock]:
    """Texts of several lines in a JSON object."""
    try:
        value = json.loads(text, strict=False) if text.lstrip()[:1] == "{" else None
    except (ValueError, RecursionError):
        return
    for one in value.values() if isinstance(value, dict) else ():
        if isinstance(one, str) and "\n" in one:
            yield CodeBlock(without_first_thought(one), start)


def tagged(text: str) -> Iterator[CodeBlock]:
    """What stands between tags that say it is a program or an answer, in order."""
    at = 0
    while (opened := _TAGS.search(text, at)) is not None:
        closed = text.find(f"</{opened[1]}>", opened.end())
        at = len(text) if closed < 0 else closed
        yield CodeBlock(text[opened.end() : at].strip("\n") + "\n", opened.end())


def _in_the_open(text: str, seen: str = "") -> Iterator[CodeBlock]:
    """Runs of lines that look like Python; `seen` is the text as it is looked at, line by line."""
    whole = tree_or_none(text)
    if whole is not None:
        if any(isinstance(node, _TOP) for node in whole.body):
            yield CodeBlock(text, 0)
        return
    run: list[str] = []
    start = 0
    for line, looked_at in zip(lines_of(text), lines_of(seen or text), strict=True):
        if _CODE_LINE.match(looked_at.text):
            start = start if run else line.start
            run.append(line.text)
        else:
            yield from _run(run, start)
            run = []
    yield from _run(run, start)


def _run(lines: Sequence[str], start: int) -> Iterator[CodeBlock]:
    text = dedent("\n".join(lines)).strip("\n") + "\n"
    if _BEGIN.search(text):
        yield CodeBlock(text, start)
