"""Where a final answer stands: in the last box or tag of a reply, behind `####` on its last line, or behind "answer".

All is linear in the text.
"""

from __future__ import annotations

import re

from evosyn.domains.answers.plain import LONGEST
from evosyn.domains.answers.reading import Number, Words, read_answer

MARK = "####"
_BRACES = re.compile(r"\\(?:boxed|fbox)(?:\s*\{|\s+(-?\d+(?:[.,]\d+)*)(?=[.,]?\s*(?:$|\n|\$|\\[)\]])))|\\.|[{}]", re.S)
"""`\\boxed 72` sets a box around 7; a number of its own that ends the line or the formula is meant as a whole."""
_MARKED = re.compile(rf"[ \t]*{MARK}(?!#)[ \t]*(.*)")
_SAID = re.compile(r"\banswer(?:[ \t]+is\b[ \t]*:?|(?:\*\*|__)?[ \t]*:)", re.I)
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}|\*\*|__)[ \t]*(?:the[ \t]+)?(?:final[ \t]+)?answer[ \t]*:?[ \t]*(?:\*\*|__)?[ \t]*:?[ \t]*$",
    re.I | re.M,
)
_REASONS = "because since as so which where when after given therefore thus hence"
_ENDS = re.compile(
    rf"\s*(?:(?:;\s*|,\s+|\s[-–—]\s+|\s\()(?=[A-Za-z]{{2}})|\s(?=(?:{'|'.join(_REASONS.split())})\b))"
    r"(?!(?:or|and|nor|but|mod|to|if|unless|plus|minus|times|over|less|more|fewer|either|about|approximately|percent)\b)",
    re.I,
)
"""Where an answer in a sentence may end."""


def last_box(text: str) -> str | None:
    """What the last `\\boxed{...}` whose brackets close holds, "" where that is nothing, None where there is none."""
    opened: list[int] = []  # where each open bracket begins to hold; below 0 for those that are no box
    box = None
    for sign in _BRACES.finditer(text):
        if sign[0] == "}":
            start = opened.pop() if opened else -1
            box = text[start : sign.start()] if start >= 0 else box
        elif sign[1]:
            box = sign[1]
        elif sign[0][-1] == "{" and sign[0] != "\\{":
            opened.append(-1 if sign[0] == "{" else sign.end())
    return None if box is None else box.strip()


def last_answer(text: str) -> str | None:
    """The text of the last answer, "" where that is empty, None where there is none."""
    box = last_box(text)
    if box is not None:
        return box
    before, closed, _ = text.rpartition("</answer>")
    if closed and "<answer>" in before:
        inside = before.rpartition("<answer>")[2].strip()
        return last_answer(inside) or inside
    marked = _MARKED.fullmatch(text.rstrip().rpartition("\n")[2])
    if marked and not _HEADING.fullmatch(marked[0]):
        said = _SAID.search(marked[1])
        return (marked[1][said.end() :] if said else marked[1]).strip(" \t*")
    ends = [found.end() for form in (_SAID, _HEADING) for found in form.finditer(text)]
    if not ends:
        return None
    line = text[max(ends) :].lstrip(": \t\r\n*_").partition("\n")[0]
    found = _sentence(line.strip())
    return "" if "\\boxed" in found else found  # a reply that was cut inside of its box


def _sentence(line: str) -> str:
    """The answer that a line begins with: to where it ends if it is understood, else to the end of the sentence."""
    sentence = re.split(r"\.(?:\s|$)", line, maxsplit=1)[0].strip()
    if len(sentence) > LONGEST or isinstance(read_answer(sentence), Number):
        return sentence
    for end in _ENDS.finditer(sentence):
        if not isinstance(read_answer(sentence[: end.start()]), Words):
            return sentence[: end.start()]
    return sentence
