"""Tokens that the memory test plants, the values that carry them, and what a scanner says of those it found.

A token has 32 hexadecimal digits: 8 of the run's marker, 5 of its number (the first tells its kind), 11 random ones, 8
of a checksum. Values carry it as text, as wide text, reversed, as 16 raw bytes or as an integer, several times, among
100 bytes to 300 kB of padding: freed memory of equal sizes is used again at once and hides a leak.
"""

from __future__ import annotations

import math
import random
import re
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from evosyn.records import Json
from tests.memory.finding import ENOUGH


class Kind(IntEnum):
    """What a token stands in."""

    TESTING = 0
    EXPECTED = 1
    HUMAN_TESTING = 2
    PROGRAM = 3
    ANSWER = 4
    ARGUMENT = 5
    INPUT = 6
    OUTPUT = 7
    STRATEGY = 8
    RANKING = 9
    CONTEXT = 10
    HARNESS_ARGUMENT = 11
    HARNESS_RESULT = 12
    ENVIRONMENT = 13
    FILE = 14


class Form(StrEnum):
    """How a value holds its token."""

    TEXT = "text"
    WIDE = "wide text"
    REVERSED = "reversed text"
    RAW = "raw bytes"
    INTEGER = "integer"


JSON_FORMS = (Form.TEXT, Form.WIDE, Form.REVERSED, Form.INTEGER)
TEXT_FORMS = (Form.TEXT, Form.WIDE, Form.REVERSED)
SMALLEST, LARGEST = 100, 300_000
SPACING = 4000
"""A larger value holds its token about once in so many bytes, so that a part of it tells as well."""


@dataclass(frozen=True)
class Token:
    """One token; `owner` names the job that it was planted in."""

    digits: str
    number: int
    kind: Kind
    owner: str

    @property
    def raw(self) -> bytes:
        return bytes.fromhex(self.digits)

    @property
    def integer(self) -> int:
        return int(self.digits, 16)

    @property
    def check(self) -> int:
        """Of the digits behind the marker that make a token, as `finding.Finder` takes it."""
        return zlib.crc32(self.digits[8:][:ENOUGH].encode()) & 0xFFFF

    @property
    def halves(self) -> tuple[str, str]:
        """The marker and the rest, neither of which is the token."""
        return self.digits[:8], self.digits[8:]


@dataclass(frozen=True)
class Value:
    """Plain data that holds a token, and Python source that makes the same without holding it whole."""

    token: Token
    data: Json
    assembly: str


@dataclass
class Planting:
    """All tokens of one sandbox's life, and where the numbers come from."""

    rng: random.Random
    marker: str = ""
    tokens: dict[int, Token] = field(default_factory=dict)

    def __post_init__(self) -> None:
        while not self.marker or "0" in self.marker:  # no byte of it is zero, in any form
            self.marker = f"{self.rng.getrandbits(32):08x}"
        self._count: Counter[Kind] = Counter()
        self._padding = "".join(self.rng.choices("ghijklmnopqrstuvwxyz ", k=1 << 12))

    def token(self, kind: Kind, owner: str) -> Token:
        number = kind << 16 | self._count[kind]
        self._count[kind] += 1
        head = f"{self.marker}{number:05x}{self.rng.getrandbits(44):011x}"
        token = Token(f"{head}{zlib.crc32(head.encode()):08x}", number, kind, owner)
        self.tokens[number] = token
        return token

    def size(self, most: int = LARGEST) -> int:
        """Bytes of a value, drawn so that each order of magnitude is as likely as the next."""
        return int(math.exp(self.rng.uniform(math.log(SMALLEST), math.log(max(most, SMALLEST)))))

    def value(self, kind: Kind, owner: str, *, forms: Sequence[Form] = tuple(Form), most: int = LARGEST) -> Value:
        """Plain data with a new token, in one of these forms, of up to about so many bytes."""
        token, form, size = self.token(kind, owner), self.rng.choice(forms), self.size(most)
        if form is Form.INTEGER:
            return self._integers(token, size)
        if form is Form.RAW:
            return self._bytes(token, size)
        needle = token.digits[::-1] if form is Form.REVERSED else token.digits
        text = f" {needle} ".join(self._pads(size))
        text = ("\u4e2d" if form is Form.WIDE else "") + text
        split = self.marker[::-1] if form is Form.REVERSED else self.marker
        return Value(token, text, f"{split!r}.join({text.split(split)!r})")

    def _pads(self, size: int) -> list[str]:
        """Padding of `size` letters in all, cut where tokens go: once at least, at random places."""
        start = self.rng.randrange(len(self._padding))
        text = (self._padding * (2 + size // len(self._padding)))[start : start + size]
        places = sorted(self.rng.randrange(size) for _ in range(1 + size // SPACING))
        return [text[low:high] for low, high in zip([0, *places], [*places, size], strict=True)]

    def _bytes(self, token: Token, size: int) -> Value:
        data = token.raw.join([pad.encode() for pad in self._pads(size)])
        head = bytes.fromhex(self.marker)
        return Value(token, data, f"{head!r}.join({data.split(head)!r})")

    def _integers(self, token: Token, size: int) -> Value:
        count, copies = 1 + size // 32, 1 + size // SPACING
        data = [self.rng.getrandbits(20 + 35 * (place % 3)) for place in range(count)]
        for _ in range(copies):
            data.insert(self.rng.randrange(len(data) + 1), token.integer)
        pairs = [(number >> 64, number & (1 << 64) - 1) for number in data]
        return Value(token, data, f"[a << 64 | b for a, b in {pairs!r}]")


@dataclass(frozen=True)
class Report:
    """What a scanner said.

    Attributes:
        found: of the program's own tokens, the channels that found them.
        others: how many other tokens there were, `kinds`: of which kinds, `examples`: some of them with the channels
            that found them.
        megabytes: of memory that were read.
        saw_file: a file of the interpreter could be read.
    """

    found: Mapping[int, frozenset[str]]
    others: int
    kinds: Counter[str]
    examples: Mapping[int, str]
    megabytes: int
    saw_file: bool


_REPORT = re.compile(r"M1;([^;']*);(\d+);([^;']*);([^;']*);(\d+),(\d);END")


def read_reports(text: str, own: Collection[int], planted: Mapping[int, Token]) -> list[Report]:
    """All reports that stand in a text, of scanners that were told of these own tokens, where those were planted."""
    return [_report(match.groups(), list(own), planted) for match in _REPORT.finditer(text)]


def _report(parts: tuple[str, ...], own: list[int], planted: Mapping[int, Token]) -> Report:
    masks = {part[0]: int(part[1:], 16) for part in parts[0].split(",") if part}
    found = {
        number: frozenset(channel for channel, mask in masks.items() if mask >> bit & 1)
        for bit, number in enumerate(own)
    }
    pairs = [part.split(":") for part in parts[2].split(",") if part]
    names = dict(enumerate(kind.name for kind in Kind))
    kinds = Counter({names.get(int(kind, 16), "NEVER PLANTED"): int(count) for kind, count in pairs})
    listed = [(int(part[:5], 16), int(part[5:9], 16), part[9:]) for part in parts[3].split(",") if part]
    real = {number: ways for number, check, ways in listed if number in planted and planted[number].check == check}
    if len(listed) == int(parts[1]):  # none was left out
        kinds = Counter([planted[number].kind.name for number in real])
    return Report(found, kinds.total(), kinds, real, int(parts[4]), parts[5] == "1")
