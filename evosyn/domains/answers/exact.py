"""Exact numbers and polynomials: sums of rational multiples of square roots, powers of pi and of letters. Bounded work.

Square roots of distinct square-free integers are linearly independent over the rationals (Besicovitch 1940), pi is
transcendental and letters are free, so values are equal whose terms are; other roots are letters to themselves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple, TypeAlias

BITS = 1024
"""Of a numerator and of a denominator."""
LARGEST_ROOT = 10**12
"""Of what a root that does not come out is taken of: its part that is a power is found by trial division."""
LARGEST_FACTORIAL = 100
LARGEST_EXPONENT, LARGEST_ROOT_DEGREE, LARGEST_LOG_DENOMINATOR = 4096, 50, 12
LARGEST_POWER = 100
"""Of pi."""
MOST_LETTERS, LARGEST_DEGREE, MOST_TERMS = 6, 12, 200
"""Of a polynomial; a degree counts negative powers as positive ones."""
WORK = 800
"""Products of two fractions that one answer may cost; those with letters count twice."""
ROOT_WORK, DIVISIONS = 40, 25
"""What a root costs beside, and the trial divisions that cost as much as one product."""
Letters: TypeAlias = tuple[tuple[str, int | Fraction], ...]
_PRECISION = 80
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534")
_COMPARED = Decimal(10) ** 40
"""Of larger numbers that are not rational no digits are known here."""


class Unreadable(ValueError):
    """A text that is no number, or one that would cost too much."""


class Unit(NamedTuple):
    """What a rational number is multiplied by: the root of a square-free integer, and powers of pi and of letters."""

    root: int
    pi: int
    letters: Letters = ()


@dataclass(frozen=True)
class Exact:
    """A number, or a polynomial: terms by unit, none of them 0, sorted, so that equal numbers have equal terms."""

    terms: tuple[tuple[Unit, Fraction], ...]

    @property
    def rational(self) -> Fraction | None:
        if not self.terms:
            return Fraction(0)
        (unit, factor), *more = self.terms
        return factor if unit == ONE and not more else None

    @property
    def is_whole(self) -> bool:
        return self.rational is not None and self.rational.denominator == 1

    @property
    def letters(self) -> frozenset[str]:
        return frozenset([letter for unit, _ in self.terms for letter, _ in unit.letters])

    def rounds_to(self, written: Fraction, last: int) -> bool:
        """Whether it is `written` where it is rounded to 10 ** last, halves away from zero; False where that cannot be
        told."""
        value, half = approximate(self), Fraction(10) ** last / 2
        if value is None or not written:
            return value is not None and abs(value) < half
        beyond = (value - written) * (1 if written > 0 else -1)
        return -half <= beyond < half


@functools.lru_cache(maxsize=4096)
def approximate(value: Exact) -> Fraction | None:
    """A rational number itself, of others some 40 digits; None for polynomials, and where no digits are known."""
    if value.rational is not None or value.letters:
        return value.rational
    with localcontext() as context:
        context.prec = _PRECISION
        units = [Decimal(unit.root).sqrt() * _PI**unit.pi for unit, _ in value.terms]
        parts = [
            part * factor.numerator / factor.denominator for part, (_, factor) in zip(units, value.terms, strict=True)
        ]
        return None if any(abs(part) > _COMPARED for part in parts) else Fraction(sum(parts))


ONE = Unit(1, 0)
PI = Exact(((Unit(1, 1), Fraction(1)),))


def letter(name: str, power: int | Fraction = 1) -> Exact:
    return Exact(((Unit(1, 0, ((name, power if power % 1 else int(power)),)), Fraction(1)),))


def exact(value: Fraction | int) -> Exact:
    """Raises `Unreadable` where it has too many digits."""
    return _sum([(ONE, Fraction(value))])


class Arithmetic:
    """Works within one budget; every method raises `Unreadable` where that is spent or there is no such number."""

    def __init__(self) -> None:
        self._left = WORK

    def plus(self, *values: Exact) -> Exact:
        terms = [term for value in values for term in value.terms]
        self._pay(len(terms))
        return _sum(terms)

    def times(self, a: Exact, b: Exact) -> Exact:
        self._pay(len(a.terms) * len(b.terms) * (1 + bool(a.letters or b.letters)))
        return _sum(_products(a, b))

    def over(self, a: Exact, b: Exact) -> Exact:
        if not b.terms:
            raise Unreadable("division by zero")
        if len(b.terms) == 1:
            ((unit, factor),) = b.terms
            letters = tuple((name, -power) for name, power in unit.letters)
            return self.times(a, Exact(((Unit(unit.root, -unit.pi, letters), 1 / (factor * unit.root)),)))
        if len(b.terms) == 2 and b.terms[0][0][1:] == b.terms[1][0][1:]:
            turned = Exact((b.terms[0], (b.terms[1][0], -b.terms[1][1])))
            return self.over(self.times(a, turned), self.times(b, turned))
        raise Unreadable("a quotient by a sum")

    def power(self, a: Exact, by: Exact) -> Exact:
        exponent = by.rational
        if exponent is None or abs(exponent) > LARGEST_EXPONENT:
            raise Unreadable("an exponent")
        if exponent < 0:
            return self.over(exact(1), self.power(a, exact(-exponent)))
        found, square, left = exact(1), a, exponent.numerator
        while left:
            if left % 2:
                found = self.times(found, square)
            left //= 2
            if left:
                square = self.times(square, square)
        return found if exponent.denominator == 1 else self.root(found, exponent.denominator)

    def root(self, a: Exact, degree: int) -> Exact:
        """Of what is no number and no product with letters, and does not come out, it is a letter of its own."""
        ((unit, factor), *more) = a.terms or ((ONE, Fraction(0)),)
        below = factor < 0 and not more
        if not 2 <= degree <= LARGEST_ROOT_DEGREE or "(" in "".join(a.letters) or (below and degree % 2 == 0):
            raise Unreadable("a large degree, a root within a root, or one of what is below 0")
        self._pay(ROOT_WORK)
        if below:
            return self.times(exact(-1), self.root(Exact(((unit, -factor),)), degree))
        if unit.letters and not more:
            found = self.root(Exact(((unit._replace(letters=()), factor),)), degree)
            for name, power in unit.letters:
                if power.numerator % 2 < (Fraction(power) / degree).numerator % 2:
                    raise Unreadable("an absolute value")
                found = self.times(found, letter(name, Fraction(power) / degree))
            return found
        if unit != ONE or more:
            return letter(repr(a.terms), Fraction(1, degree))
        self._pay(round(min(factor.numerator * factor.denominator, LARGEST_ROOT) ** (1 / 3)) // DIVISIONS)
        above, rest = _power_part(factor.numerator, degree)
        by, more_rest = _power_part(factor.denominator, degree)
        outside, inside = _power_part(rest * more_rest ** (degree - 1), degree)
        number = exact(Fraction(above * outside, by * more_rest))
        if degree == 2 or inside == 1:
            return self.times(number, Exact(((Unit(inside, 0), Fraction(1)),)))
        return self.times(number, letter(f"({inside})", Fraction(1, degree)))

    def factorial(self, a: Exact) -> Exact:
        value = a.rational
        if value is None or not a.is_whole or not 0 <= value <= LARGEST_FACTORIAL:
            raise Unreadable("a factorial")
        return exact(math.factorial(int(value)))

    def logarithm(self, base: Exact, a: Exact) -> Exact:
        self._pay(ROOT_WORK)
        by, value = base.rational, a.rational
        if not by or not value or min(by, value) < 0:
            raise Unreadable("no real logarithm")
        bits = (by.numerator * by.denominator).bit_length()
        log, of_base = (math.log(one.numerator) - math.log(one.denominator) for one in (value, by))
        for below in range(1, LARGEST_LOG_DENOMINATOR + 1) if of_base else ():
            above = round(below * log / of_base)
            if abs(above) * bits <= 2 * BITS * below and by**above == value**below:
                return exact(Fraction(above, below))
        raise Unreadable("a logarithm that is not rational")

    def _pay(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise Unreadable("too much work")


def _products(a: Exact, b: Exact) -> Iterator[tuple[Unit, Fraction]]:
    for one, x in a.terms:
        for other, y in b.terms:
            common = math.gcd(one.root, other.root)
            root = (one.root // common) * (other.root // common)
            yield Unit(root, one.pi + other.pi, _powers(one.letters, other.letters)), x * y * common


def _powers(one: Letters, other: Letters) -> Letters:
    if not one or not other:
        return one or other
    found = dict(one)
    for name, power in other:
        power += found.get(name, 0)
        found[name] = power if power % 1 else int(power)
    return tuple(sorted((name, power) for name, power in found.items() if power))


def _sum(parts: Iterable[tuple[Unit, Fraction]]) -> Exact:
    found: dict[Unit, Fraction] = {}
    for unit, factor in parts:
        total = found.get(unit, Fraction(0)) + factor
        bits = max(total.numerator.bit_length(), total.denominator.bit_length())
        if bits > BITS or unit.root > LARGEST_ROOT or abs(unit.pi) > LARGEST_POWER:
            raise Unreadable("too many digits")
        if unit.letters and sum(max(power, -power) for _, power in unit.letters) > LARGEST_DEGREE:
            raise Unreadable("a degree")
        found[unit] = total
    value = Exact(tuple(sorted((unit, factor) for unit, factor in found.items() if factor)))
    if len(value.terms) > MOST_TERMS or len(value.letters) > MOST_LETTERS:
        raise Unreadable("a long polynomial")
    return value


def _power_part(value: int, degree: int) -> tuple[int, int]:
    """Integers a and b with a**degree * b == value and b without such a power (0 and 1 for 0)."""
    whole = math.isqrt(value)
    if degree == 2 and whole * whole == value:
        return whole, 1
    if value > LARGEST_ROOT:
        raise Unreadable("a root of a large number")
    outside, inside, by = 1, 1, 2
    while by * by * by <= value:
        times = 0
        while value % by == 0:
            value, times = value // by, times + 1
        outside, inside, by = outside * by ** (times // degree), inside * by ** (times % degree), by + 1
    whole = math.isqrt(value)  # what is left has two prime factors at most
    return (outside * whole, inside) if degree == 2 and whole * whole == value else (outside, inside * value)
