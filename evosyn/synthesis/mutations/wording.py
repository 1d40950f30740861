"""What of a problem's words can be checked without understanding them: its numbers, its sentences, its language."""

from __future__ import annotations

import re
from collections import Counter

_TWO_TO_TWENTY = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_WORDS = {word: number for number, word in enumerate(_TWO_TO_TWENTY.split(), 2)} | _TENS
_ONES = {word: number for word, number in _WORDS.items() if number < 10} | {"one": 1}
_NUMBER = re.compile(
    rf"[0-9]+(?:,[0-9]{{3}})*(?:\.[0-9]+)?|\b({'|'.join(_TENS)})-({'|'.join(_ONES)})\b|\b({'|'.join(_WORDS)})\b",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
_COMMON = (
    "the a an of to and in is it that for on with as at by from are was be this have has had not or but each how many "
    "much does do if then all they he she his her their there will can which who when after before into out up than "
    "more left per every one"
)
ENGLISH = 0.15
"""Share of the commonest English words in an English problem at least; DejaQ's models drifted into Spanish (A.3)."""


def numbers_in(text: str) -> Counter[str]:
    """The numbers of a text with how often each stands there; "one" and ordinals are no numbers here."""
    return Counter(written_numbers(text))


def written_numbers(text: str) -> list[str]:
    """The numbers of a text in their order, however long; each in digits, spelled one way: 3, 0.5, 1250."""
    return [_number(match) for match in _NUMBER.finditer(text)]


def sentences_of(text: str) -> list[str]:
    """Its sentences, in order."""
    return [one.strip() for one in _END.split(text.strip()) if one.strip()]


def question_of(text: str) -> str:
    """The last sentence that asks; "" where none does."""
    return next((one for one in reversed(sentences_of(text)) if one.endswith("?")), "")


def is_english(text: str) -> bool:
    words, common = re.findall(r"[^\W\d_]+", text.lower()), set(_COMMON.split())
    return sum(word in common for word in words) >= ENGLISH * len(words)


def _number(match: re.Match[str]) -> str:
    tens, ones, word = (part.lower() if part else "" for part in match.groups())
    if tens:
        return str(_TENS[tens] + _ONES[ones])
    if word:
        return str(_WORDS[word])
    whole, _, rest = match[0].replace(",", "").partition(".")
    return f"{whole.lstrip('0') or '0'}.{rest.rstrip('0')}".removesuffix(".")
