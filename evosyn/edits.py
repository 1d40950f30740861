"""Changes of a program as models write them: SEARCH/REPLACE blocks and unified diffs, found and applied.

The first form is that of AlphaEvolve (Novikov 2025, section 2.3) and OpenEvolve. Lines are looked for letter by letter,
then more and more leniently; nothing is guessed that does not stand there. Arbitrary text never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from evosyn.fences import BLANKS, ReplyLine, lines_of, markdown_fences

MAX_COMPARED = 1_000_000
"""Lines that are compared while the edits of a reply look for their places."""
_FEWEST_SIGNS = 5
_LENIENCES = 4
_Same: TypeAlias = Callable[[Sequence[str], Sequence[str]], bool]
_OLD, _NEW = ("SEARCH", "ORIGINAL", "HEAD"), ("REPLACE", "UPDATED", "NEW")


class Edit(NamedTuple):
    """Replace the lines `search` by the lines `replace`; an empty `search` puts them at the top.

    Attributes:
        start: where it begins in the reply.
    """

    search: str
    replace: str
    start: int = 0


class Edited(NamedTuple):
    """A program with its edits applied, as far as they were found.

    Attributes:
        applied, missed: edits by whether their place was found.
    """

    text: str
    applied: int
    missed: int


def extract_edits(reply: str) -> tuple[Edit, ...]:
    """The SEARCH/REPLACE blocks of a reply in order, or else the hunks of its unified diffs."""
    return tuple(_search_and_replace(reply)) or tuple(_hunks(reply))


def apply_edits(program: str, edits: Sequence[Edit]) -> Edited | None:
    """`program` with `edits` applied one after the other; None where finding their places would take long.

    A SEARCH part is looked for letter by letter, then without trailing blanks, then at any other indentation, then
    without comments and whatever the blanks are. Of edits of one place the last one counts, as in a reply that corrects
    itself.
    """
    lines, left, applied, missed = program.splitlines(), MAX_COMPARED, 0, 0
    for edit in _final(edits, program):
        search = edit.search.splitlines()
        left -= _LENIENCES * len(lines) * (1 + len(search))
        if left < 0:
            return None
        found = _find(lines, search)
        if found is None:
            missed += 1
            continue
        start, stop, shift = found
        lines[start:stop] = [_shifted(line, shift) for line in edit.replace.splitlines()]
        applied += 1
    return Edited("\n".join(lines) + "\n", applied, missed)


def _search_and_replace(text: str) -> Iterator[Edit]:
    search = replace = -1  # where the two parts begin
    middle = 0  # where the first of them ends
    for line in lines_of(text):
        bare = line.text.strip(BLANKS)
        if search < 0 and _is_mark(bare, "<", _OLD):
            search = line.after
        elif search >= 0 > replace and _is_mark(bare, "=", ("",)):
            middle, replace = line.start, line.after
        elif replace >= 0 and _is_mark(bare, ">", _NEW):
            yield Edit(text[search:middle], text[replace : line.start], search)
            search = replace = -1


def _is_mark(bare: str, sign: str, words: Sequence[str]) -> bool:
    said = bare.lstrip(sign)
    return len(bare) - len(said) >= _FEWEST_SIGNS and said.strip(BLANKS) in words


def _hunks(reply: str) -> Iterator[Edit]:
    """The hunks of fenced diffs, or where nothing is fenced of a diff that stands in the open."""
    fences = markdown_fences(reply)
    for fence in fences:
        if fence.language in ("diff", "patch") or (not fence.language and "\n@@" in "\n" + fence.text):
            yield from _hunks_of(fence.text, fence.start)
    if not fences:
        yield from _hunks_of(reply, 0, headed=True)


def _hunks_of(text: str, start: int, *, headed: bool = False) -> Iterator[Edit]:
    """
    Args:
        headed: a hunk begins with its `@@` line only, and ends with the first line that is none of a diff.
    """
    held: list[str] = []
    inside = not headed
    for line in lines_of(text):
        if line.text.startswith("@@"):
            yield from _edit_of(held, start)
            held, inside = [], True
        elif line.text.startswith("\\ ") or (not held and line.text.startswith(("--- ", "+++ ", "diff ", "index "))):
            continue
        elif inside and (not headed or line.text[:1] in ("", " ", "+", "-")):
            held.append(_of_diff(line))
        else:
            inside = not headed
    yield from _edit_of(held, start)


def _of_diff(line: ReplyLine) -> str:
    """A line with its sign; one that lacks it (models forget it on context lines) gets a blank."""
    return line.text if line.text[:1] in (" ", "+", "-") else " " + line.text


def _edit_of(lines: Sequence[str], start: int) -> Iterator[Edit]:
    lines = _without_blank_ends(lines)
    if any(line[0] in "+-" for line in lines):
        search = "\n".join([line[1:] for line in lines if line[0] != "+"])
        yield Edit(search, "\n".join([line[1:] for line in lines if line[0] != "-"]), start)


def _final(edits: Sequence[Edit], program: str) -> Iterator[Edit]:
    """Without those that a later edit of the same lines replaces; lines that stand in several places are not one."""
    last = {edit.search: number for number, edit in enumerate(edits)}
    for number, edit in enumerate(edits):
        if last[edit.search] == number or not edit.search.strip() or program.count(edit.search.strip()) > 1:
            yield edit


def _find(lines: Sequence[str], search: Sequence[str]) -> tuple[int, int, int] | None:
    """Where the lines stand, and by how much they stand further to the right there."""
    wanted = _without_blank_ends(search)
    if not wanted:
        top = 1 + max((at for at, line in enumerate(lines) if line.startswith("from __future__")), default=-1)
        return top, top, 0
    bare = [list(map(_bare, part)) for part in (lines, wanted)]
    leniences: list[tuple[Sequence[str], Sequence[str], _Same]] = [
        (lines, wanted, _exactly),
        (lines, wanted, _without_trailing_blanks),
        (lines, wanted, _at_any_indentation),
        (bare[0], bare[1], _exactly),
    ]
    for have, sought, same in leniences:
        for start in range(len(lines) - len(wanted) + 1):
            if same(have[start : start + len(wanted)], sought):
                return start, start + len(wanted), _indent(lines[start]) - _indent(wanted[0])
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


def _bare(line: str) -> str:
    """A line without its comment (one that no quote follows) and with single blanks."""
    comment = line.find("#", max(line.rfind("'"), line.rfind('"')) + 1)
    return " ".join((line if comment < 0 else line[:comment]).split())


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
