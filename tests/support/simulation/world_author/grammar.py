"""Offices of one grammar (grammar.yaml): people, things, places, dealings, with words and limits of their own.

An office is a pure function of the seed and its name; a name without words of its own gets those of another. What is
drawn here is right: replies are spoiled elsewhere.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

import yaml

from evosyn.randomness import SeedTree
from evosyn.records import Json

_WORD = re.compile(r"<(\w+)>")
LEFT_OUT = 0.35
"""Of the tools that an office may do without."""


class Office(NamedTuple):
    """A world without mistakes: the two replies that describe it, and the programs of its tools."""

    tools: dict[str, Json]
    tables: dict[str, Json]
    sources: Mapping[str, str]


@functools.cache
def _grammar() -> Mapping[str, Json]:
    text = resources.files(__package__).joinpath("grammar.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Json] = yaml.safe_load(text)
    return found


def office(tree: SeedTree, slug: str) -> Office:
    """The office of a name.

    Args:
        tree: of the author.
    """
    known, rng = _grammar()["words"], tree.child("office", slug).random()
    drawn = known[rng.choice(sorted(known))]
    return furnished(known.get(slug, drawn), rng)


def furnished(given_words: Mapping[str, Json], rng: random.Random) -> Office:
    """An office of these words (those of grammar.yaml); its limits, and which tools it does without, are drawn."""
    given = _grammar()
    words = {**given_words, "most": rng.choice(given["most"]), "stock": rng.choice(given["stock"])}
    tools = [one for one in given["tools"] if not one.get("optional") or rng.random() >= LEFT_OUT]
    filled = [_filled(one, words) for one in tools]
    told = ("name", "description", "parameters", "raises", "before", "after", "request")
    shown = [
        {name: one.get(name, _EMPTY.get(name)) for name in told if name in one or name in _EMPTY} for one in filled
    ]
    uses = {one["name"]: {kind: one.get(kind, []) for kind in ("reads", "writes")} for one in filled}
    used = {name for one in uses.values() for some in one.values() for name in some}
    tables = [one for one in _filled(given["tables"], words) if one["name"] in used]
    return Office(
        {"title": words["title"], "tools": shown},
        {"tables": tables, "uses": uses},
        {one["name"]: one["source"] for one in filled},
    )


_EMPTY: Mapping[str, Json] = {"raises": [], "before": ""}


def _filled(value: Json, words: Mapping[str, Json]) -> Json:
    if isinstance(value, dict):
        return {_filled(name, words): _filled(one, words) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, words) for one in value]
    if not isinstance(value, str):
        return value
    if (whole := _WORD.fullmatch(value)) and isinstance(words[whole[1]], int):
        return words[whole[1]]
    return _WORD.sub(lambda found: str(words[found[1]]), value)
