"""Keep some words of a text, change each, bring them together: three steps in words."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

KEEP: dict[str, tuple[str, str]] = {
    "all": ("all words", "True"),
    "long": ("the words of at least {k} characters", "len(w) >= {k}"),
    "short": ("the words of fewer than {k} characters", "len(w) < {k}"),
    "vowel": ("the words that start with a vowel (a, e, i, o or u, in either case)", "w[0].lower() in 'aeiou'"),
    "digit": ("the words that contain at least one digit", "any(c.isdigit() for c in w)"),
    "letters": ("the words that consist of letters only", "w.isalpha()"),
    "capital": ("the words whose first character is an upper-case letter", "w[0].isupper()"),
    "repeat": ("the words in which some character occurs more than once (case matters)", "len(set(w)) < len(w)"),
    "every": ("the first word and after it every {k}-th word", "i % {k} == 0"),
    "ends": ("the words whose first and last character are equal, ignoring case", "w[0].lower() == w[-1].lower()"),
}
CHANGE: dict[str, tuple[str, str]] = {
    "same": ("Leave them as they are.", "w"),
    "reverse": ("Reverse each of them.", "w[::-1]"),
    "lower": ("Turn each of them into lower case.", "w.lower()"),
    "no-vowels": (
        "Remove the vowels (a, e, i, o, u, in either case) from each of them.",
        "''.join(c for c in w if c.lower() not in 'aeiou')",
    ),
    "rotate": ("Move the first character of each of them to its end.", "w[1:] + w[:1]"),
    "head": ("Cut each of them after its first {k} characters.", "w[:{k}]"),
    "squeeze": (
        "In each of them replace every run of equal characters by one such character.",
        "''.join(c for p, c in enumerate(w) if p == 0 or w[p - 1] != c)",
    ),
    "sorted": ("Sort the characters of each of them in ascending order of their code points.", "''.join(sorted(w))"),
    "numbered": ("Append to each of them its position among all words of the text, counted from 1.", "w + str(i + 1)"),
}
GATHER: dict[str, tuple[str, str]] = {
    "join": ("Return them joined by {s!r}.", "{s!r}.join(words)"),
    "backwards": ("Return them joined by {s!r}, the last one first.", "{s!r}.join(reversed(words))"),
    "longest": (
        "Return the longest one; of several longest ones the first; the empty string if there is none.",
        "max(words, key=len) if words else ''",
    ),
    "distinct": ("Return the number of different ones.", "len(set(words))"),
    "ordered": (
        "Return the list of the different ones, shorter ones first, those of equal length in alphabetical "
        "(code point) order.",
        "sorted(set(words), key=lambda w: (len(w), w))",
    ),
    "initials": (
        "Return the string of their first characters, skipping those that are empty.",
        "''.join(w[0] for w in words if w)",
    ),
    "lengths": ("Return the list of their lengths.", "[len(w) for w in words]"),
    "common": (
        "Return the one that occurs most often, of several such the one that comes first in alphabetical (code "
        "point) order; None if there is none.",
        "min(words, key=lambda w: (-words.count(w), w)) if words else None",
    ),
}
GENERATOR = """
def generate(rng, size):
    count = [rng.randint(0, 2), rng.randint(2, 5), rng.randint(5, 11), rng.randint(40, 90)][size]
    alphabet = "aAbBeEnNoOtT12"
    words = ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 6))) for _ in range(count)]
    words = [rng.choice(words) if rng.random() < 0.2 else word for word in words]
    return [(" " * (1 + (rng.random() < 0.1))).join(words)]
"""


def draw(rng: random.Random) -> Params:
    return {
        "keep": rng.choice(sorted(KEEP)),
        "change": rng.choice(sorted(CHANGE)),
        "gather": rng.choice(sorted(GATHER)),
        "k": rng.randint(2, 4),
        "s": rng.choice((" ", "-", ",", "", "; ")),
        "name": rng.choice(("transform_text", "rewrite_words", "word_digest", "edit_text")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    blanks = {"k": int(params["k"]), "s": str(params["s"])}
    keep_words, keep = (text.format(**blanks) for text in KEEP[params["keep"]])
    change_words, change = (text.format(**blanks) for text in CHANGE[params["change"]])
    gather_words, gather = (text.format(**blanks) for text in GATHER[params["gather"]])
    name = str(params["name"])
    return FamilyTask(
        title=f"Words {params['keep']}, {params['change']}, {params['gather']}",
        statement=f"Write a function `{name}(text)`. The words of `text` are its parts between blanks (one or more); "
        f"there may be none. Take {keep_words}. {change_words} {gather_words}",
        entry_point=name,
        starter_code=f"def {name}(text: str):\n    ...\n",
        reference=f"""
def {name}(text):
    words = []
    for i, w in enumerate(text.split()):
        if {keep}:
            words.append({change})
    return {gather}
""",
        alternatives=(
            f"""
def {name}(text):
    def keep(i, w):
        return {keep}

    def change(i, w):
        return {change}

    parts = text.split()
    chosen = [(i, w) for i, w in enumerate(parts) if keep(i, w)]
    words = [change(i, w) for i, w in chosen]
    return {gather}
""",
        ),
        generator=GENERATOR,
        difficulty=0.15
        + 0.12 * (params["keep"] in {"every", "repeat", "ends"})
        + 0.22 * (params["change"] in {"squeeze", "numbered", "no-vowels"})
        + 0.22 * (params["gather"] in {"ordered", "common", "backwards"}),
        topic="strings",
    )
