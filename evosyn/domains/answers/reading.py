"""What a final answer is worth: a number, several, or words. Any text is one of these; none raises, none costs much."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from evosyn.domains.answers.exact import PI, Arithmetic, Exact, Unreadable, exact
from evosyn.domains.answers.plain import LONGEST, MONEY, plain

MOST_ITEMS = 32
DEEPEST = 24
"""Brackets within each other."""
LONGEST_EXPONENT = 3
"""Digits, of a number such as 1e3."""
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d*)?|\.\d+"
_TOKEN = re.compile(rf"\s*(?:((?:{_NUMBER})(?:e[+-]?\d{{1,{LONGEST_EXPONENT}}}(?!\w))?)|(\\[a-z]+|[a-z]+|\S))", re.A)
_TEN = r"\s*\*\s*10\s*\^\s*\{?\s*([+-]?\d{1,3})\s*\}?"
_DECIMAL = re.compile(rf"([+-]?)\s*({_NUMBER})(?:e([+-]?\d{{1,3}})|{_TEN})?", re.A)
_HALF = re.compile(r"(\d+)\s*/\s*(\d+)", re.A)
_UNIT = re.compile(r"[a-z\s/.*-]*", re.A)
_NAMED = re.compile(r"(?=.*[aeiouy])[a-z]{3,}", re.A)
"""What may be a unit that is not known here; an abbreviation may be as well a product of letters."""
_SHORT = "sq cu pcs rpm psi hz khz mhz ghz kb mb gb tb am pm of in a an"
_KNOWN_SHORT = frozenset(_SHORT.split())
_NO_UNIT = re.compile(
    r"[a-z]*illi(?:on|ard)s?|googol\w*|(?:ten|(?:[a-z]+teen)|twelf|[a-z]+tie|hundred|thousand|[a-z]*illion)ths?|halves|half|thirds?"
    r"|quarters?|squared?|cubed?|factorial|times|plus|minus|less|more|fewer|than|not?|nor|or|and|sine?|cos(?:ine)?|tan(?:gent)?|log|exp|mod"
    r"|modulo|roots?|over|infin\w+",
    re.A,
)
"""What says that it is another number."""
_DENIED = re.compile(r"[<>≠≤≥]|(?<![\d)])!$|\\(?:neq?|leq?|geq?|lt|gt|not)(?![a-z])|\bnot\b")
_POWER_OF_UNIT = re.compile(r"(?<=[a-z])\s*\^\s*(?:\{\s*-?\d\s*\}|-?\d)", re.A)
_HEDGE = re.compile(r"(?:approximately|approx\.?|about|roughly|only|exactly)\s+")
_BETWEEN = re.compile(r"\s+(?:and|or)\s+|;")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_SAME_UNITS = """usd dollar dollars|cent cents|euro euros eur|pound sterling|yen|percent
mm millimeter millimetre|cm centimeter centimetre|m meter metre|km kilometer kilometre|inch inches|foot feet ft|mile
mg milligram|g gram|kg kilogram|ton tonne|lb|ounce oz|ml milliliter millilitre|l liter litre|gallon
s sec second|min minute|h hr hour|day|week|month|year|degree|radian|mph|kwh|watt"""
_UNITS = {
    spelling: names.split()[0]
    for names in re.split(r"[|\n]", _SAME_UNITS)
    for one in ([names] if names == "pound sterling" else names.split())
    for spelling in (one, f"{one}s")
}


@dataclass(frozen=True)
class Number:
    """
    Attributes:
        last: the power of ten of its last digit, where it is written as a decimal, which is a rounding; None: exact.
        digits: significant ones, of a decimal.
        percent: written with a percent sign.
        unit: one that is known here, "" otherwise.
    """

    value: Exact
    last: int | None = None
    digits: int = 0
    percent: bool = False
    unit: str = ""


@dataclass(frozen=True)
class Words:
    """What is no number, without blanks and dress."""

    text: str


@dataclass(frozen=True)
class Several:
    """
    Attributes:
        brackets: the two; "" where the order is of no matter.
    """

    brackets: str
    items: tuple[Number | Words, ...]


Answer: TypeAlias = Number | Several | Words


@functools.lru_cache(maxsize=4096)
def _read_short(text: str) -> Answer:
    bare = plain(text)
    if len(bare) > 2 * LONGEST:
        return _words(text)
    brackets, inside = _bracketed(bare)
    parts = _parts(inside, bool(brackets))
    if len(parts) == 1:
        return _one(bare)
    if len(parts) > MOST_ITEMS:
        return _words(bare)
    return Several("" if brackets == "{}" else brackets, tuple(map(_one, parts)))


def read_answer(text: str) -> Answer:
    """What a final answer is worth."""
    return _read_short(text) if len(text) <= LONGEST else _words(text)


def _words(text: str) -> Words:
    text = re.sub(r"\{(\w)\}", r"\1", text.casefold())
    return Words("".join(text.split()).strip("$.*`'\""))


def _one(text: str) -> Number | Words:
    try:
        return _number(text)
    except (Unreadable, RecursionError):
        return _words(text)


def _bracketed(text: str) -> tuple[str, str]:
    """The outer brackets, "" for none, and what they hold."""
    if len(text) < 2 or text[0] not in _CLOSING or text[-1] not in _CLOSING.values():
        return "", text
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in _CLOSING) - (sign in _CLOSING.values())
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
        depth += (sign in _CLOSING) - (sign in _CLOSING.values())
        gap = None if depth else (_BETWEEN.match(text, place) or comma.match(text, place))
        if gap is not None:
            found.append(text[start:place])
            start = place = gap.end()
        else:
            place += 1
    found.append(text[start:])
    return [part for part in map(str.strip, found) if part] or [text]


def _number(text: str) -> Number:
    left, _, right = text.rpartition("=")
    if _DENIED.search(left):
        raise Unreadable("is said to be another number, or a bound")
    text = _HEDGE.sub("", right.strip(), count=1).strip()
    unit = ""
    for name in MONEY.values():
        before = re.match(rf"([+-]?)\s*{name}\s*", text)
        if before:
            text, unit = before[1] + text[before.end() :], _UNITS[name]
    reader = _Reader(text)
    value, rest = reader.expression(), text[reader.place :].strip()
    written = text[: reader.place].strip()
    percent = re.fullmatch(r"%|percent|per cent", rest) is not None
    unit = unit if percent else _unit_of(rest) or unit
    decimal = _DECIMAL.fullmatch(written)
    if decimal is None or "." not in decimal[2]:
        return Number(value, percent=percent, unit=unit)
    digits = decimal[2].replace(",", "")
    last = int(decimal[3] or decimal[4] or 0) - len(digits.partition(".")[2])
    return Number(value, last, len(digits.replace(".", "").lstrip("0")), percent, unit)


def _unit_of(text: str) -> str:
    """The unit that a text is, "" for one that is not known here."""
    if not text:
        return ""
    bare = _POWER_OF_UNIT.sub("", text)
    name = " ".join(bare.split()).rstrip(".")
    parts = [part for part in re.split(r"[\s/.*-]+", bare) if part]
    if not _UNIT.fullmatch(bare) or (name not in _UNITS and not all(map(_may_be_a_unit, parts))):
        raise Unreadable("more than a number and a unit")
    return _UNITS.get(name, "") if bare == text else ""


def _may_be_a_unit(word: str) -> bool:
    return word in _UNITS or word in _KNOWN_SHORT or bool(_NAMED.fullmatch(word) and not _NO_UNIT.fullmatch(word))


class _Reader:
    """Reads one expression from the left, as far as it goes.

    Attributes:
        place: where what is not read yet begins.
    """

    def __init__(self, text: str) -> None:
        self.place, self._text, self._work, self._depth = 0, text, Arithmetic(), 0

    def expression(self) -> Exact:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable("too many brackets")
        found = self._product()
        while (sign := self._next()) in ("+", "-"):
            self._take()
            found = self._work.plus(found, self._signed(sign, self._product()))
        self._depth -= 1
        return found

    def _product(self) -> Exact:
        found = self._factor()
        while True:
            sign = self._next()
            if sign in ("*", "/"):
                self._take()
                found = (self._work.times if sign == "*" else self._work.over)(found, self._factor())
            elif sign in ("(", "π", "√", "sqrt", "\\sqrt", "\\frac"):
                found = self._work.times(found, self._factor())
            else:
                return found

    def _factor(self) -> Exact:
        signs = 1
        while (sign := self._next()) in ("+", "-"):
            self._take()
            signs = -signs if sign == "-" else signs
        found = self._atom()
        if self._next() == "!":
            self._take()
            found = self._work.factorial(found)
        if self._next() == "^":
            self._take()
            found = self._work.power(found, self._exponent())
        return found if signs > 0 else self._work.times(exact(-1), found)

    def _exponent(self) -> Exact:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable("too many powers")
        found = self._factor()
        self._depth -= 1
        return found

    def _atom(self) -> Exact:
        start = self._take()
        if start in _CLOSING:
            return self._closed(_CLOSING[start])
        if start == "π":
            return PI
        if start == "\\frac":
            return self._work.over(self._group(), self._group())
        if start in ("√", "sqrt", "\\sqrt"):
            degree = 2
            if self._next() == "[":
                self._take()
                degree = _small(self._closed("]"))
            return self._work.root(self._atom() if start == "√" else self._group(), degree)
        if start[:1].isdecimal() or start[:1] == ".":
            return self._mixed(start)
        raise Unreadable(f"no number begins with {start!r}")

    def _mixed(self, digits: str) -> Exact:
        """A number, with the fraction behind it where there is one: 3 1/2."""
        found = exact(_written(digits))
        if not digits.isdecimal():
            return found
        behind = _HALF.match(self._text, self.place + 1) if self._text[self.place : self.place + 1] == " " else None
        if behind is not None:
            self.place = behind.end()
            return self._work.plus(found, self._work.over(exact(int(behind[1])), exact(int(behind[2]))))
        if self._next() == "\\frac":
            return self._work.plus(found, self._atom())
        return found

    def _group(self) -> Exact:
        """What stands in brackets, or one digit."""
        sign = self._next()
        if sign in _CLOSING or (len(sign) == 1 and sign.isdecimal()):
            return self._atom_alone()
        raise Unreadable("a command without its brackets")

    def _atom_alone(self) -> Exact:
        sign = self._take()
        return self._closed(_CLOSING[sign]) if sign in _CLOSING else exact(int(sign))

    def _closed(self, closing: str) -> Exact:
        found = self.expression()
        if self._take() != closing:
            raise Unreadable("brackets that are not closed")
        return found

    def _signed(self, sign: str, value: Exact) -> Exact:
        return value if sign == "+" else self._work.times(exact(-1), value)

    def _next(self) -> str:
        found = _TOKEN.match(self._text, self.place)
        return (found[1] or found[2]) if found else ""

    def _take(self) -> str:
        found = _TOKEN.match(self._text, self.place)
        if found is None:
            raise Unreadable("ends too early")
        self.place = found.end()
        return found[1] or found[2]


def _written(digits: str) -> Fraction:
    return Fraction(digits.replace(",", ""))


def _small(value: Exact) -> int:
    degree = value.rational
    if degree is None or degree.denominator != 1 or not 2 <= degree <= 50:
        raise Unreadable("a degree")
    return int(degree)
