"""How tokens are recognized in bytes and objects: sent in front of `scanner`, and used by the tests themselves.

It imports nothing of evosyn and reaches modules past any guard around imports, since it is part of a hostile program.
"""

from __future__ import annotations

import collections
from typing import Any

SYS = collections._sys  # type: ignore[attr-defined]
OS = SYS.modules["os"]
ENOUGH = 12
"""Digits behind a marker that make it a token, though the rest be overwritten."""
PLAIN = frozenset(("str", "bytes", "int", "bytearray", "memoryview", "array", "mmap", "ndarray"))


def load(name: str) -> Any:
    """A module, by the importer itself."""
    SYS.modules["_frozen_importlib"]._gcd_import(name)
    return SYS.modules[name]


suppress = load("contextlib").suppress


class Finder:
    """Finds tokens, in every form that `planting` gives them.

    A token has 32 hexadecimal digits: 8 of the marker, 5 of its number, 11 random ones, 8 of a checksum of the rest.
    Where a form has no digits to recognize it by, the checksum tells.

    Attributes:
        found: numbers of tokens, with the channels that found them.
        checks: numbers of tokens, with a checksum of the digits that stood behind the marker: others than the token's
            stood there by chance, since bytes that are zero are passed over.
        channel: the one that finds now.
        bytes: that were searched.
    """

    def __init__(self, marker: str) -> None:
        self.crc = load("binascii").crc32
        self.marker, self.backwards = marker, marker[::-1]
        self.found: dict[int, set[str]] = {}
        self.checks: dict[int, set[int]] = {}
        self.channel, self.bytes = "", 0
        raw, number = bytes.fromhex(marker), int(marker, 16)
        self.head, self.start = raw, self.crc(marker.encode())
        long = ((number & 0xFFFFFF) >> 2).to_bytes(3, "little")
        short = bytes([(number & 0x1FF) >> 2]) + (number >> 9 & 0x7FFF).to_bytes(2, "little")
        self.texts = [(marker.encode(), self.text), (self.backwards.encode(), self.reversed_text)]
        self.raws = [(raw, self.raw), (raw[::-1], self.reversed_raw)]
        self.raws += [(long + raw[:1], self.integer), (short + raw[:1], self.marshalled)]

    def search(self, data: bytes) -> None:
        """Search bytes of any meaning."""
        self.bytes += len(data)
        narrow = data.translate(None, b"\0")  # text of two or four bytes a letter becomes plain
        for text, needles in ((narrow, self.texts), (data, self.raws)):
            for needle, reader in needles:
                at = text.find(needle)
                while at >= 0:
                    reader(text, at)
                    at = text.find(needle, at + 1)

    def look(self, value: Any) -> None:
        """Search a plain value."""
        kind = type(value)
        if kind is str:
            if self.marker in value or self.backwards in value:
                self.search(value.encode("utf-8", "surrogatepass"))
        elif kind is int:
            if 96 < value.bit_length() <= 128:
                self.whole(value.to_bytes(16, "big"))
        elif kind.__name__ in PLAIN:
            with suppress(TypeError, ValueError, BufferError):
                self.search(bytes(memoryview(value)))

    def text(self, data: bytes, at: int) -> None:
        self.keep(data[at + 8 : at + 32])

    def reversed_text(self, data: bytes, at: int) -> None:
        self.keep(data[max(at - 24, 0) : at][::-1])

    def raw(self, data: bytes, at: int) -> None:
        self.whole(data[at : at + 16])

    def reversed_raw(self, data: bytes, at: int) -> None:
        self.whole(data[max(at - 12, 0) : at + 4][::-1])

    def integer(self, data: bytes, at: int) -> None:
        """An int object: digits of 30 bits, of which the needle is the end."""
        self.digits(data[max(at - 13, 0) : at + 7], 30, 4)

    def marshalled(self, data: bytes, at: int) -> None:
        """An integer as it is sent: digits of 15 bits."""
        self.digits(data[max(at - 13, 0) : at + 5], 15, 2)

    def digits(self, part: bytes, bits: int, size: int) -> None:
        value = 0
        for place in range(0, len(part), size):
            value |= int.from_bytes(part[place : place + size], "little") << place // size * bits
        if value < 1 << 128:
            self.whole(value.to_bytes(16, "big"))

    def whole(self, raw: bytes) -> None:
        """Note a token of which all is there, and nothing else; makes no text that would pass for one."""
        rest = raw[4:].hex().encode()
        if len(raw) == 16 and raw[:4] == self.head and self.crc(rest[:16], self.start) == int(rest[16:], 16):
            self.keep(rest)

    def keep(self, rest: bytes) -> None:
        """Note the number of a token, of which this stands behind the marker."""
        length = 0
        while length < len(rest) and rest[length] in b"0123456789abcdef":
            length += 1
        if length >= ENOUGH:
            number = int(rest[:5], 16)
            self.found.setdefault(number, set()).add(self.channel)
            self.checks.setdefault(number, set()).add(self.crc(rest[:ENOUGH]) & 0xFFFF)
