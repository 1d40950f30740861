"""What a final answer is worth: a number, a polynomial, an equation, several, or words. Any text is one of these.

None raises and none costs much. What is not understood is words, which equal only themselves.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from evosyn.domains.answers import polynomials, units
from evosyn.domains.answers.exact import Arithmetic, Exact, Unreadable, letter
from evosyn.domains.answers.plain import LONGEST, MONEY, plain
from evosyn.domains.answers.polynomials import CLOSING, LETTER, NUMBER, Reader

MOST_ITEMS = 32
DEEPEST = 3
"""Lists within lists."""
FEWEST_DIGITS = 6
"""Significant, of a right rounding that may stand for a number that is declared exactly and is not whole."""
_TEN = r"\s*\*\s*10\s*\^\s*\{?\s*([+-]?\d{1,3})\s*\}?"
_DECIMAL = re.compile(rf"([+-]?)\s*({NUMBER})(?:[eE]([+-]?\d{{1,3}})|{_TEN})?", re.A)
_PERCENT = re.compile(r"\s*(?:%|per ?cent\b)", re.I)
_JOINED = re.compile(
    rf"(?as)(?!(\d+)-\1$)(?:[a-z]{{3}}\s+)?(?:(?:{NUMBER})(?:\s*-\s*(?:{NUMBER}))+|\d+/\d+(?:/\d+|\s*-\s*\d+/\d+))"
    r"\s*(?:(?!sqrt)[a-zA-Z%].*)?"
)
"""A range, a date, a score or a number of a telephone: no differences and no fractions."""
_COMPOUND = re.compile(rf"(?:(?:{NUMBER})\s*[a-zA-Z]+\.?\s*){{2,}}", re.A)
_MATRIX = re.compile(r"\\begin\{([a-zA-Z]?matrix)\}(.*)\\end\{\1\}", re.S)
_GLUED = re.compile(r"/?[A-Za-z](?![A-Za-z])")
_DENIED = re.compile(r":=|\\(?:not|equiv)(?![a-zA-Z])|\bnot\b", re.I)
_RELATION = re.compile(r"[<>≠≤≥]")
_HEDGE = re.compile(r"^\s*(?:≈|(?:approximately|approx\.?|about|roughly|only|exactly)\s)\s*", re.I)
_BETWEEN = re.compile(r"\s+(?:and|or)\s+|;", re.I)
_RATIO = re.compile(r"\s*:\s*|\s+to\s+", re.I)
_OPTION = re.compile(
    r"(?:\(([A-Z])\)|(?:option|choice)\s+\(?([A-Z])(?:\)|(?!\w))|([A-Z])[.):](?!\w))\.?(?:\s+(\S.*))?", re.I | re.S
)
_ANOTHER = re.compile(r"(?:or|and|nor|not|but)\b|[-+,;/&=^*∪]|.*\([A-Z]\)", re.I | re.S)
"""Behind an option: it is not the only one, or none at all."""
_NAME = re.compile(
    rf"{LETTER}|(?:[fghpqFGHPQRSTVACEN](?:_\w|\^\{{?-1\}}?|')*|gcd|lcm|max|min|area)\([^()=]*\)|[A-Z]{{2,4}}|\|[A-Z]{{2}}\|"
    r"|\\overline\s*\{?[A-Z]{2}\}?|m?\s*(?:\\angle|∠|\\triangle)\s*[A-Z]{1,3}|sum|age|gcd|lcm|max|min|tax|tip|ans|d[a-z]/d[a-z]"
    r"|\\frac\s*\{\s*d\s*[a-z]\s*\}\s*\{\s*d\s*[a-z]\s*\}",
    re.A,
)
_FOLDED = re.compile(r"(?<![^\W\d_])(?<![\\\d])(?<!\d )(?:[^\W\d_][a-z]+|[A-Z]{3,}|NO)(?![^\W\d_])")
"""Words whose case says nothing; that of units, letters and commands does."""
_IN = re.compile(rf"{LETTER}\s*∈(.+)", re.S)
_NAMES = re.compile(r"\(\s*[A-Za-z](?:\s*,\s*[A-Za-z])+\s*\)")


@dataclass(frozen=True)
class Number:
    """
    Attributes:
        percent: written with a percent sign.
        label: what stands behind it, or the sign of money before it.
        zeros: its places, where it is a decimal of `FEWEST_DIGITS` digits or more that ends in a 0 and is not whole.
        last: the power of ten of its last digit, where it is written as a decimal, which is a rounding; None: exact.
        glued: its unit is one letter behind the last digit, so that it may be a factor.
    """

    value: Exact
    percent: bool = False
    label: units.Label = field(default_factory=units.Label)
    zeros: int = 0
    last: int | None = field(default=None, compare=False, repr=False)
    glued: bool = field(default=False, compare=False, repr=False)

    @property
    def share(self) -> Exact:
        """Its value; of p% a hundredth of p."""
        return self.value if not self.percent else Exact(tuple([(unit, part / 100) for unit, part in self.value.terms]))


@dataclass(frozen=True)
class Polynomial:
    """What has letters; one letter may be an option."""

    value: Exact


@dataclass(frozen=True)
class Words:
    """What is not understood, without blanks and dress, and the capital of the option that it tells (`(B) seven`)."""

    text: str
    option: str = ""


@dataclass(frozen=True)
class Several:
    """Items in brackets, or with signs or words between them, or the rows of a matrix."""

    brackets: str
    items: tuple[Answer, ...]


@dataclass(frozen=True)
class Equation:
    """
    Attributes:
        name: what it tells the value of; "" for none.
        value: its last side, where it has a name, or where all sides are equal numbers.
        apart: the difference of its two sides, up to a factor.
        text: its words, where it is nothing else.
    """

    name: str = ""
    value: Answer | None = None
    apart: Exact | None = None
    text: str = ""


Text = TypeVar("Text")
Found = TypeVar("Found")
Answer: TypeAlias = Number | Polynomial | Several | Equation | Words


@functools.lru_cache(maxsize=4096)
def _read_short(text: str) -> Answer:
    bare = plain(text)
    return _whole(bare, Arithmetic(), DEEPEST) if len(bare) <= 2 * LONGEST else Words(text)


def read_answer(text: str) -> Answer:
    """What a final answer is worth."""
    return _read_short(text) if len(text) <= LONGEST else Words(text)


def option_of(answer: Answer) -> str:
    """The option that an answer is or begins with, a capital; "" for none."""
    if isinstance(answer, Polynomial):
        name = min(answer.value.letters)
        return name.upper() if len(name) == 1 and answer.value == letter(name) else ""
    return answer.option if isinstance(answer, Words) else ""


def _words(text: str, option: str = "") -> Words:
    text = re.sub(r"([\^_])\s*(\d+|[^\W\d_])", r"\1{\2}", text)
    text = re.sub(r"(?<![\^_])\{(\w)\}", r" \1 ", text)
    text = _FOLDED.sub(lambda found: found[0].casefold(), text)
    return Words(re.sub(r"(?<!\w)\s+|\s+(?!\w)", "", text), option)


def _whole(text: str, work: Arithmetic, deep: int) -> Answer:
    """One answer or several, at most so many lists `deep`."""
    within = _IN.fullmatch(text)
    text = within[1].strip() if within else text
    option = _OPTION.fullmatch(text)
    if option is not None and option[4] is None:
        text = next(filter(None, option.groups()))
    elif option is not None and not _ANOTHER.match(option[4]):
        return _words(text, next(filter(None, option.groups())).upper())
    if (matrix := _MATRIX.fullmatch(text)) is not None and deep:
        rows = [row.split("&") for row in re.split(r"\\\\(?:\[\w+\])?", matrix[2]) if row.strip()]
        read = [Several("&", tuple([_whole(cell.strip(), work, deep - 1) for cell in row])) for row in rows]
        return Several(matrix[1], tuple(read))
    brackets, inside = _bracketed(text)
    parts, unions = _parts(inside, bool(brackets)), text.split("∪")
    if len(parts) == 1 and len(unions) > 1:
        brackets, parts = "∪", [part.strip() for part in unions]
    elif len(parts) == 1 and text.count("±") == 1:
        brackets, parts = "", [text.replace("±", sign).strip() for sign in "+-"]
    elif len(parts) == 1 and _COMPOUND.fullmatch(text):
        brackets, parts = " ", re.split(r"(?<=[a-zA-Z.])\s*(?=\d)", text)
    if len(parts) == 1 or len(parts) > MOST_ITEMS or not deep:
        return _one(text, work, deep) if len(parts) == 1 else _words(text)
    items = tuple([_whole(part, work, deep - 1) for part in parts])
    if brackets == " " and not all(isinstance(item, Number) for item in items):
        return _one(text, work, deep)
    unordered = brackets == "{}" or all(isinstance(item, Equation) for item in items)
    if not brackets and any(isinstance(item, Several) and _RELATION.match(item.brackets) for item in items):
        joined = re.findall(r"\b(?:and|or)\b", text.lower())
        brackets = " ".join(joined) if "or" in joined else ""
    return Several("" if unordered else brackets, items)


def _one(text: str, work: Arithmetic, deep: int) -> Answer:
    try:
        if _DENIED.search(text):
            return _words(text)
        if _RELATION.search(text):
            return _relation(text, work)
        if "=" in text or "≈" in _HEDGE.sub("", text):
            return _equation(text, work, deep)
        found = _ratio(text, work) if _RATIO.search(text) else _value(text, work)
        return _words(text) if isinstance(found, Number) and _JOINED.fullmatch(text) else found
    except (Unreadable, RecursionError):
        return _words(text)


def _relation(text: str, work: Arithmetic) -> Several:
    """Inequalities, the smaller side first: `3 > x` is `x < 3`."""
    sides, signs = [side.strip() for side in _RELATION.split(text)], "".join(_RELATION.findall(text))
    if set(signs) <= set(">≥"):
        sides, signs = sides[::-1], signs[::-1].replace(">", "<").replace("≥", "≤")
    if not all(sides) or "=" in text or not (signs == "≠" or set(signs) <= set("<≤")):
        raise Unreadable("a side is missing, or signs of two directions")
    return Several(signs, tuple([_or_none(_value, side, work) or _words(side) for side in sides]))


def _bracketed(text: str) -> tuple[str, str]:
    """The outer brackets, "" for none, and what they hold."""
    if len(text) < 2 or text[0] not in CLOSING or text[-1] not in CLOSING.values():
        return "", text
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in CLOSING) - (sign in CLOSING.values())
        if depth == 0 and place < len(text) - 1:
            return "", text
    return text[0] + text[-1], text[1:-1]


def _parts(text: str, bracketed: bool) -> list[str]:
    """What commas, semicolons and the words between them part, outside of brackets."""
    spaced = re.search(r",\s", text) is not None
    comma = re.compile(r",(?!\d{3}(?!\d))" if spaced or not bracketed else ",")
    depth, start, found, place = 0, 0, list[str](), 0
    while place < len(text):
        sign = text[place]
        depth += (sign in CLOSING) - (sign in CLOSING.values())
        gap = None if depth else (_BETWEEN.match(text, place) or comma.match(text, place))
        if gap is not None:
            found.append(text[start:place])
            start = place = gap.end()
        else:
            place += 1
    found.append(text[start:])
    return [part for part in map(str.strip, found) if part] or [text]


def _equation(text: str, work: Arithmetic, deep: int) -> Answer:
    finer, sign, coarser = text.partition("≈")
    if sign:
        first = _one(finer.strip(), work, deep)
        worth = first.value if isinstance(first, Equation) else first
        if isinstance(worth, Number):
            near = _number(coarser, work)
            if near.value.rational is None or not worth.value.rounds_to(near.value.rational, near.last or 0):
                raise Unreadable("is rounded to another number")
            return first
    sides = [side.strip() for side in re.split("[=≈]", text)]
    if not all(sides) or len(sides) > MOST_ITEMS:
        raise Unreadable("a side is missing, or too many")
    if _NAMES.fullmatch(sides[0]) and len(sides) == 2 and _bracketed(sides[1])[0] == "()":
        names, worths = (_parts(_bracketed(side)[1], True) for side in sides)
        if len(names) == len(worths):
            return Several("", tuple([_one("=".join(pair), work, deep) for pair in zip(names, worths, strict=True)]))
    found = [_or_none(_value, side, work) for side in sides]
    numbers = [one for one in found if isinstance(one, Number)]
    if len({one.share for one in numbers}) > 1:
        raise Unreadable("sides that differ")
    if len(numbers) == len(sides):
        return Equation("", found[-1], None, _words(text).text)
    if len(sides) == 2 and isinstance(found[0], Number) and not _named(sides[0]):
        sides.reverse()
    name, parting = _named(sides[0]), _or_none(polynomials.apart, sides, work)
    if not name and parting is None:
        raise Unreadable("no equation of polynomials, and no name")
    return Equation(name, _whole(sides[-1], work, max(deep - 1, 0)) if name else None, parting)


def _named(text: str) -> str:
    """The name that a side is, without blanks; "" for none."""
    words = text.lower().split() if re.fullmatch(r"[A-Za-z\s-]+", text) else []
    told = any(len(word) > 3 for word in words) and all(len(one) == 1 or units.may_be_counted(one) for one in words)
    return re.sub(r"[\s{}]", "", text.lower() if told else text) if told or _NAME.fullmatch(text) else ""


def _ratio(text: str, work: Arithmetic) -> Several:
    """A ratio or a time of the day: numbers in their order; 7:05 is not 7:5."""
    texts = _RATIO.split(text)
    if len(texts) > MOST_ITEMS:
        raise Unreadable("too many")
    padded = any(re.match(r"0\d", one) for one in texts[1:])
    return Several(":0" if padded else ":", tuple([_number(one, work) for one in texts]))


def _or_none(read: Callable[[Text, Arithmetic], Found], text: Text, work: Arithmetic) -> Found | None:
    try:
        return read(text, work)
    except Unreadable:
        return None


def _value(text: str, work: Arithmetic) -> Number | Polynomial:
    try:
        return _number(text, work)
    except Unreadable:
        if re.fullmatch(r"[A-Za-z](?:\s*[-/]\s*[A-Za-z]){2,}|(?=.*[A-Za-z].*[A-Za-z])[A-Za-z\s]*", text):
            raise  # an order, or a word
        found = polynomials.polynomial(text, work)
        return Polynomial(found) if found.letters else Number(found)


def _number(text: str, work: Arithmetic) -> Number:
    text, behind = _HEDGE.sub("", text).strip(), ""
    for name in MONEY.values():
        before = re.match(rf"([+-]?)\s*{name}\b\s*", text, re.I)
        if before:
            text, behind = before[1] + text[before.end() :], name
    reader = Reader(text, work)
    value, rest = reader.expression(), text[reader.place :]
    percent = _PERCENT.match(rest)
    glued = not behind and _GLUED.match(rest) is not None
    if re.match(r"[KkB](?!\w)" if not behind else r"\w", rest):
        raise Unreadable("5K may be 5000")
    label = units.label(f"{behind} {rest[percent.end() :] if percent else rest}", few=-1 <= (value.rational or 2) <= 1)
    if percent and label.units:
        raise Unreadable("percent of a unit")
    decimal = _DECIMAL.fullmatch(text[: reader.place].strip())
    if decimal is None or "." not in decimal[2]:
        return Number(value, percent is not None, label, glued=glued)
    last = int(decimal[3] or decimal[4] or 0) - len(decimal[2].partition(".")[2])
    digits = decimal[2].replace(",", "").replace(".", "").lstrip("0")
    told = last < 0 and digits[FEWEST_DIGITS - 1 :].endswith("0") and digits.strip("0") and not value.is_whole
    return Number(value, percent is not None, label, -last if told else 0, last, glued)
