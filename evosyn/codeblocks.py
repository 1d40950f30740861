"""From a model's reply to a program: code fences, SEARCH/REPLACE edits, functions spliced in by name.

Replies are untrusted text: they are searched and parsed, never executed, and arbitrary text never raises. The edit
format is that of AlphaEvolve (Novikov 2025, section 2.3) and OpenEvolve.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from evosyn.chat import Parsed
from evosyn.fences import BLANKS, lines_of, plain_fences
from evosyn.parsing import parsed

MAX_REPLY = 200_000
MAX_COMPARED = 5_000_000
"""Lines that are compared while the edits of a reply look for their places."""
_FEWEST_SIGNS = 5


class Edit(NamedTuple):
    """Replace the lines `search` by the lines `replace`."""

    search: str
    replace: str


def read_program(reply: str, parent: str, entry_points: Collection[str]) -> Parsed[str]:
    """The program of a reply about `parent`: its edits applied, or where it has none the program that it gives."""
    edits = extract_edits(reply)
    return apply_edits(parent, edits) if edits else extract_program(reply, parent, entry_points)


def extract_program(reply: str, parent: str, entry_points: Collection[str]) -> Parsed[str]:
    """The program that a reply gives: the last Python block that defines a function of `entry_points`.

    A block that defines only some functions of `parent` replaces these in it; an unclosed last fence is accepted.
    """
    if len(reply) > MAX_REPLY:
        return Parsed(None, "too-long")
    if not reply.strip():
        return Parsed(None, "empty")
    blocks = list(_blocks(reply, entry_points))
    for block in reversed(blocks):
        if _defines(block, entry_points):
            return Parsed(block)
    whole = _parse(parent) if blocks else None
    for block in reversed(blocks):
        spliced = None if whole is None else _spliced(parent, whole, block)
        if spliced is not None:
            return Parsed(spliced)
    if any(_parse(block) is None for block in blocks):
        return Parsed(None, "does-not-parse")
    return Parsed(None, "no-entry-point" if blocks else "prose")


def extract_edits(reply: str) -> tuple[Edit, ...]:
    """The SEARCH/REPLACE blocks of a reply, in order."""
    text = reply[:MAX_REPLY].replace("\r\n", "\n")
    found: list[Edit] = []
    search = replace = -1  # where the two parts begin
    middle = 0  # where the first of them ends
    for line in lines_of(text):
        bare = line.text.strip(BLANKS)
        if search < 0 and _is_mark(bare, "<", "SEARCH"):
            search = line.after
        elif search >= 0 > replace and _is_mark(bare, "=", ""):
            middle, replace = line.start, line.after
        elif replace >= 0 and _is_mark(bare, ">", "REPLACE"):
            found.append(Edit(text[search:middle], text[replace : line.start]))
            search = replace = -1
    return tuple(found)


def _is_mark(bare: str, sign: str, word: str) -> bool:
    said = bare.lstrip(sign)
    return len(bare) - len(said) >= _FEWEST_SIGNS and said.lstrip(BLANKS) == word


def apply_edits(program: str, edits: Sequence[Edit]) -> Parsed[str]:
    """`program` with all `edits` applied one after the other.

    A SEARCH part is looked for letter by letter, then without trailing blanks, then at any other indentation. Edits
    that would take long to find are refused.
    """
    lines, left = program.splitlines(), MAX_COMPARED
    for edit in edits:
        search = edit.search.splitlines()
        left -= 3 * len(lines) * (1 + len(search))
        if left < 0:
            return Parsed(None, "too-long")
        found = _find(lines, search)
        if found is None:
            return Parsed(None, "diff-does-not-apply")
        start, stop, shift = found
        lines[start:stop] = [_shifted(line, shift) for line in edit.replace.splitlines()]
    return Parsed("\n".join(lines) + "\n")


def _spliced(program: str, whole: ast.Module, block: str) -> str | None:
    """`program` with the top-level functions replaced that `block` defines anew, or None if it defines none of them."""
    part = _parse(block)
    if part is None:
        return None
    new = {node.name: node for node in part.body if isinstance(node, ast.FunctionDef)}
    old = [node for node in whole.body if isinstance(node, ast.FunctionDef) and node.name in new]
    if not old:
        return None
    lines, source = program.splitlines(), block.splitlines()
    for node in reversed(old):
        replacement = new[node.name]
        lines[_first(node) - 1 : node.end_lineno] = source[_first(replacement) - 1 : replacement.end_lineno]
    return "\n".join(lines) + "\n"


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _blocks(reply: str, entry_points: Collection[str]) -> Iterator[str]:
    text = reply.replace("\r\n", "\n")
    fences, rest = plain_fences(text)
    yield from [fence.text for fence in fences if fence.language in ("", "python", "py", "python3")]
    if rest is not None:
        yield rest
    elif not fences and _defines(text, entry_points):
        yield text


def _defines(block: str, names: Collection[str]) -> bool:
    tree = _parse(block)
    return tree is not None and any(isinstance(node, ast.FunctionDef) and node.name in names for node in tree.body)


def _parse(text: str) -> ast.Module | None:
    try:
        return parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _find(lines: Sequence[str], search: Sequence[str]) -> tuple[int, int, int] | None:
    wanted = _without_blank_ends(search)
    if not wanted:
        return None
    count = len(wanted)
    for same in (_exactly, _without_trailing_blanks, _at_any_indentation):
        for start in range(len(lines) - count + 1):
            if same(lines[start : start + count], wanted):
                return start, start + count, _indent(lines[start]) - _indent(wanted[0])
    return None


def _exactly(have: Sequence[str], wanted: Sequence[str]) -> bool:
    return list(have) == list(wanted)


def _without_trailing_blanks(have: Sequence[str], wanted: Sequence[str]) -> bool:
    return [line.rstrip() for line in have] == [line.rstrip() for line in wanted]


def _at_any_indentation(have: Sequence[str], wanted: Sequence[str]) -> bool:
    shift = _indent(have[0]) - _indent(wanted[0])
    return all(
        mine.strip() == other.strip() and (not mine.strip() or _indent(mine) - _indent(other) == shift)
        for mine, other in zip(have, wanted, strict=True)
    )


def _without_blank_ends(lines: Sequence[str]) -> list[str]:
    kept = list(lines)
    while kept and not kept[0].strip():
        kept.pop(0)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _shifted(line: str, shift: int) -> str:
    if not line.strip() or shift == 0:
        return line
    return " " * shift + line if shift > 0 else line[min(-shift, _indent(line)) :]
