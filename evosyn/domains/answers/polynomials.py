"""Expressions in numbers and letters as exact values, and equations of polynomials up to a factor that is not 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from evosyn.domains.answers.exact import PI, Arithmetic, Exact, Unreadable, approximate, exact, letter
from evosyn.domains.answers.units import unit

DEEPEST = 24
"""Brackets within each other."""
CLOSING = {"(": ")", "[": "]", "{": "}"}
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d*)?|\.\d+"
_GREEK = "alpha|beta|gamma|[dD]elta|(?:var)?epsilon|z?eta|theta|lambda|mu|nu|xi|rho|sigma|tau|phi|chi|psi|[oO]mega"
LETTER = rf"(?:[A-Za-z]|\\(?:{_GREEK})(?![A-Za-z]))(?:_(?:[A-Za-z0-9]|\{{[A-Za-z0-9]+\}}))?"
_LETTER = re.compile(LETTER, re.A)
_WRITTEN = rf"\s*(?:((?:{NUMBER})(?:[eE][+-]?\d{{1,3}}(?!\w))?)"
_TOKEN = re.compile(rf"{_WRITTEN}|(\\[A-Za-z]+|[A-Za-z]+|\S))", re.A)
_WITH_LETTERS = re.compile(rf"{_WRITTEN}|(sqrt|{LETTER}|\\[A-Za-z]+|\S))", re.A)
_HALF = re.compile(r"(\d+)\s*/\s*(\d+)", re.A)
_WHOLE_FRACTION = re.compile(r"\s*\\frac\s*\{\s*\d+\s*\}\s*\{\s*\d+\s*\}", re.A)
_OF_WORDS = re.compile(r"\s*(?:\\frac\s*\{|/)\s*(?!sqrt)[A-Za-z]")
LONGEST_PRODUCT = 3
"""Letters side by side that are a product, and no word."""
_RUN = re.compile(r"(?<![\\A-Za-z{_])[A-Za-z]{2,}")
_WORD = re.compile(
    r"sin|cos|tan|cot|sec|csc|log|ln|exp|lim|max|min|mod|det|gcd|lcm|and|or|if|is|it|as|at|of|to|the|for|not?|all|any|arc|sum|yes",
    re.I,
)
_FUNCTION = re.compile(
    rf"(?<![\\A-Za-z_])(?:[fgh]\s*\(|[A-Za-z]\s*\(\s*[A-Za-z]\s*\)|[A-Za-z]*d\s*{LETTER})|\\[dD]elta\s*{LETTER}"
)
"""Of something, or a change of it: `f(x)`, `dx`, `\\Delta x`; no product."""
_FACTORS = ("(", "π", "√", "sqrt", "\\sqrt", "\\frac", "\\binom", "\\log")


class Reader:
    """Reads one expression from the left, as far as it goes: up to its `place`; every method raises `Unreadable`."""

    def __init__(self, text: str, work: Arithmetic, *, letters: bool = False) -> None:
        self.place, self._text, self._work, self._depth = 0, text, work, 0
        self._letters, self._token = letters, _WITH_LETTERS if letters else _TOKEN

    def expression(self) -> Exact:
        return self._deeper(self._sum)

    def _deeper(self, read: Callable[[], Exact]) -> Exact:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable("too many brackets or powers")
        found = read()
        self._depth -= 1
        return found

    def _sum(self) -> Exact:
        parts = [self._product()]
        while (sign := self._next()) in ("+", "-"):
            self._take()
            part = self._product()
            parts.append(part if sign == "+" else self._work.times(exact(-1), part))
        return self._work.plus(*parts) if len(parts) > 1 else parts[0]

    def _product(self) -> Exact:
        found, divided = self._factor(), False
        while True:
            sign = self._next()
            if sign in ("*", "/"):
                self._take()
                divided = sign == "/"
                found = (self._work.over if divided else self._work.times)(found, self._factor())
            elif sign in _FACTORS or self._is_letter(sign):
                if divided and self._letters:
                    raise Unreadable("1/2x may be two things")
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
            found = self._work.power(found, self._deeper(self._factor))
        return found if signs > 0 else self._work.times(exact(-1), found)

    def _atom(self) -> Exact:
        start = self._take()
        if start in CLOSING:
            return self._closed(CLOSING[start])
        if start == "π":
            return PI
        if start == "\\frac":
            return self._work.over(self._group(), self._group())
        if start in ("√", "sqrt", "\\sqrt"):
            degree = self._group().rational if self._next() == "[" else Fraction(2)
            if degree is None or degree.denominator != 1:
                raise Unreadable("a degree")
            return self._work.root(self._atom() if start == "√" else self._group(), int(degree))
        if start == "\\binom":
            a, b, work = self._group(), self._group(), self._work
            rest = work.plus(a, work.times(exact(-1), b))
            return work.over(work.factorial(a), work.times(work.factorial(b), work.factorial(rest)))
        if start == "|":
            found = self._closed("|")
            size = approximate(found)
            if size is None or 0 < abs(size) < Fraction(1, 10**30):
                raise Unreadable("has no sign")
            return found if size >= 0 else self._work.times(exact(-1), found)
        if start in ("log", "\\log") and self._take() == "_":
            found = self._work.logarithm(self._group(), self._atom())
            if self._next() in ("^", "!", "*", "/", *_FACTORS) or self._is_letter(self._next()):
                raise Unreadable("a logarithm of one factor or of more")
            return found
        if start[:1].isdecimal() or (start[:1] == "." and len(start) > 1):
            return self._mixed(start)
        if self._is_letter(start):
            return letter(re.sub(r"[{}]", "", start))
        raise Unreadable(f"no number begins with {start!r}")

    def _mixed(self, digits: str) -> Exact:
        """A number, with the fraction behind it where there is one: 3 1/2."""
        found = exact(Fraction(digits.replace(",", "")))
        if not digits.isdecimal():
            return found
        behind = _HALF.match(self._text, self.place + 1) if self._text[self.place : self.place + 1] == " " else None
        if behind is not None:
            self.place = behind.end()
            return self._work.plus(found, self._work.over(exact(int(behind[1])), exact(int(behind[2]))))
        return self._work.plus(found, self._atom()) if _WHOLE_FRACTION.match(self._text, self.place) else found

    def _group(self) -> Exact:
        """What stands in brackets, or one digit or letter."""
        if self._is_letter(self._next()):
            return self._atom()
        sign = self._take()
        if sign in CLOSING:
            return self._closed(CLOSING[sign])
        if len(sign) == 1 and sign.isdecimal():
            return exact(int(sign))
        raise Unreadable("a command without its brackets")

    def _closed(self, closing: str) -> Exact:
        found = self.expression()
        if self._take() != closing:
            raise Unreadable("brackets that are not closed")
        return found

    def _is_letter(self, sign: str) -> bool:
        return self._letters and sign != "sqrt" and _LETTER.fullmatch(sign) is not None

    def _next(self) -> str:
        found = self._token.match(self._text, self.place)
        if found is None or (not self._letters and _OF_WORDS.match(self._text, self.place)):
            return ""
        return found[1] or found[2]

    def _take(self) -> str:
        found = self._token.match(self._text, self.place)
        if found is None:
            raise Unreadable("ends too early")
        self.place = found.end()
        return found[1] or found[2]


def polynomial(text: str, work: Arithmetic) -> Exact:
    """Raises `Unreadable` where a text is none."""
    for run in _RUN.findall(text):
        if run != "sqrt" and (len(run) > LONGEST_PRODUCT or _WORD.fullmatch(run) or unit(run)):
            raise Unreadable("a word")
    if _FUNCTION.search(text):
        raise Unreadable("a function")
    reader = Reader(text, work, letters=True)
    found = reader.expression()
    if text[reader.place :].strip():
        raise Unreadable("more than a polynomial")
    return found


def apart(sides: Sequence[str], work: Arithmetic) -> Exact:
    """The difference of two sides, equal for equations that differ by a numeric factor; raises `Unreadable` where these
    are not two polynomials, or there is no letter in it."""
    left, right, *more = [polynomial(side, work) for side in sides]
    found = work.plus(left, work.times(exact(-1), right))
    if more or not found.letters:
        raise Unreadable("not two sides, or without letters")
    most, factor = max(found.terms, key=lambda term: (term[0].letters, term[0]))
    return work.over(found, Exact(((most._replace(letters=()), factor),)))
