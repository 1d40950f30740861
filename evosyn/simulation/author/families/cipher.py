"""Letter ciphers in two stages: a substitution of letters, then a rearrangement of the text."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

LETTERS: dict[str, tuple[str, str, float]] = {
    "shift": ("is moved {k} places on in the alphabet (after z comes a)", "(p + {k}) % 26", 0.0),
    "back": ("is moved {k} places back in the alphabet (before a comes z)", "(p - {k}) % 26", 0.0),
    "mirror": (
        "is replaced by the one at the same distance from the end of the alphabet (a by z, b by y)",
        "25 - p",
        0.0,
    ),
    "growing": (
        "at position i of the text (from 0, all characters counted) is moved i places on in the alphabet "
        "(after z comes a)",
        "(p + i) % 26",
        0.12,
    ),
    "affine": (
        "with the number p (a is 0, z is 25) is replaced by the one with the number {a} * p + {k} modulo 26",
        "({a} * p + {k}) % 26",
        0.08,
    ),
    "halves": (
        "of the first half of the alphabet (a to m) is moved 13 places on, every other stays as it is",
        "p + 13 if p < 13 else p",
        0.05,
    ),
}
ORDER: dict[str, tuple[str, str, str, float]] = {
    "none": ("The order stays.", "out", "out", 0.0),
    "reverse": ("Then the text is reversed.", "out[::-1]", "''.join(reversed(out))", 0.05),
    "blocks": (
        "Then the text is cut into blocks of {b} characters (the last may be shorter) and each block is reversed.",
        "''.join(out[j:j + {b}][::-1] for j in range(0, len(out), {b}))",
        "''.join(''.join(reversed(out[j * {b}:(j + 1) * {b}])) for j in range((len(out) + {b} - 1) // {b}))",
        0.15,
    ),
    "columns": (
        "Then come first the characters at the positions 0, {b}, {c} and so on, then those at 1, {b} + 1 and "
        "so on, up to those at {b} - 1.",
        "''.join(out[j::{b}] for j in range({b}))",
        "''.join(out[q] for j in range({b}) for q in range(len(out)) if q % {b} == j)",
        0.15,
    ),
    "rotate": (
        "Then the first {b} characters move to the end (if there are fewer, nothing changes).",
        "out[{b}:] + out[:{b}]",
        "''.join([*out[{b}:], *out[:{b}]])",
        0.06,
    ),
}
GENERATOR = """
def generate(rng, size):
    length = [rng.randint(0, 2), rng.randint(3, 7), rng.randint(8, 18), rng.randint(100, 300)][size]
    return ["".join(rng.choice("abcmnxyzABMZ .1") for _ in range(length))]
"""


def draw(rng: random.Random) -> Params:
    return {
        "letters": rng.choice(sorted(LETTERS)),
        "order": rng.choice(sorted(ORDER)),
        "k": rng.randint(1, 12),
        "a": rng.choice((3, 5, 7, 9, 11)),
        "b": rng.randint(2, 5),
        "upper": rng.choice(("keep", "lower", "skip")),
        "name": rng.choice(("encrypt", "scramble", "encode_message")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    blanks = {"k": int(params["k"]), "a": int(params["a"]), "b": int(params["b"]), "c": 2 * int(params["b"])}
    words, number, harder = LETTERS[params["letters"]]
    order_words, order, other_order, order_harder = ORDER[params["order"]]
    number, order, other_order = (text.format(**blanks) for text in (number, order, other_order))
    name, upper = str(params["name"]), str(params["upper"])
    case = {
        "keep": "Upper-case letters are treated likewise and stay upper case.",
        "lower": "Upper-case letters are first turned into lower case.",
        "skip": "Upper-case letters stay as they are.",
    }[upper]
    prepare = "text.lower()" if upper == "lower" else "text"
    also_upper = (
        f"        elif 'A' <= c <= 'Z':\n            p = ord(c) - ord('A')\n"
        f"            out += chr(ord('A') + ({number}))\n"
        if upper == "keep"
        else ""
    )
    alphabet = "(ALPHABET, ALPHABET.upper())" if upper == "keep" else "(ALPHABET,)"
    return FamilyTask(
        title=f"Cipher: {params['letters']}, {params['order']}",
        statement=f"Write a function `{name}(text)` that codes a text. Every lower-case letter from a to z "
        f"{words.format(**blanks)}. {case} Other characters stay as they are. {order_words.format(**blanks)} Return "
        "the resulting string.",
        entry_point=name,
        starter_code=f"def {name}(text: str) -> str:\n    ...\n",
        reference=f"""
def {name}(text):
    out = ""
    for i, c in enumerate({prepare}):
        if 'a' <= c <= 'z':
            p = ord(c) - ord('a')
            out += chr(ord('a') + ({number}))
{also_upper}        else:
            out += c
    return {order}
""",
        alternatives=(
            f"""
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def {name}(text):
    out = []
    for i, c in enumerate({prepare}):
        for letters in {alphabet}:
            p = letters.find(c)
            if p >= 0:
                c = letters[{number}]
                break
        out.append(c)
    out = "".join(out)
    return {other_order}
""",
        ),
        generator=GENERATOR,
        difficulty=0.26 + harder + order_harder + 0.06 * (upper == "keep"),
        topic="strings",
    )
