"""The language of `evosyn experiment worlds`: a whole plan is a line of words, and values are pointers.

Who writes it reads the names of the tools and the request: each value of it as `@1`, and each name of a table as a
symbol (`#1`), another one in each naming, so that what a symbol means must be seen from the tools. A call is the words
of a tool's name and an argument for each parameter: a value of the request, a word of it, `-` for none, or the key that
an earlier call gives, in a list (`$1`) or alone (`&1`). After `say` stands what is told of it. Nothing is run here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from evosyn.records import Json
from evosyn.simulation.experiment.toy_tokens import GO
from evosyn.worlds.tools.playing import ToolCalled, minutes
from evosyn.worlds.tools.records import Parameter, ToolSpec, ToolWorld
from evosyn.worlds.tools.tasks import WorldTask
from evosyn.worlds.tools.words import WORDS

NEXT, SAY, NOTHING = ";", "say", "-"
VALUES, CALLS, TABLES = 8, 5, 6
"""Of a request, of a plan, and with symbols, at most."""
SYMBOLS = tuple(f"#{at}{end}" for at in range(1, 1 + TABLES) for end in ("", "s"))
POINTERS = tuple(
    f"{sign}{at}" for sign, most in (("@", VALUES), ("$", CALLS), ("&", CALLS)) for at in range(1, 1 + most)
)
_OPENING = re.compile(r"\b(?:Please|Then|Dr\.)")
_VALUE = re.compile(r'"[^"]*"|\d{4}-\d{2}-\d{2}|[A-Z]\w*(?: [A-Z]\w*)*(?: \d+)?|\d+')
_WORD = re.compile(r"@\d|[a-z]+")


class PosedTask(NamedTuple):
    """A task and its world, whose tables are named in one of many ways."""

    world: ToolWorld
    task: WorldTask
    naming: int = 0


class ReadRequest(NamedTuple):
    """A request as it is read: its words, values masked, and the values."""

    words: tuple[str, ...]
    values: tuple[str, ...]


class ToolPlan(NamedTuple):
    """What an answer does, and what it says of it."""

    calls: tuple[ToolCalled, ...]
    said: tuple[str, ...]


def read_request(text: str) -> ReadRequest:
    """The words of a request."""
    values: list[str] = []

    def masked(found: re.Match[str]) -> str:
        value = found[0].strip('"')
        if value not in values:
            values.append(value)
        return f" @{values.index(value) + 1} "

    shown = _VALUE.sub(masked, _OPENING.sub(lambda found: found[0].lower(), text))
    return ReadRequest(tuple(_WORD.findall(shown)), tuple(values))


@lru_cache(maxsize=4096)
def symbols_of(world: ToolWorld, naming: int) -> Mapping[str, str]:
    """What stands for the name of each table, and for many of it."""
    order = random.Random(f"naming {naming}").sample(range(1, 1 + TABLES), TABLES)
    pairs = list(zip(world.table, order, strict=False))
    return {f"{table}{end}": f"#{at}{end}" for table, at in pairs for end in ("", "s")}


def prompt_of(posed: PosedTask) -> str:
    """What is shown: the tools, and the request."""
    words = [word for name in posed.task.shown for word in name.split("_")]
    return " ".join([*_symbolic(posed, [*words, NEXT, *read_request(posed.task.instruction).words]), GO])


def _symbolic(posed: PosedTask, words: Sequence[str]) -> list[str]:
    symbols = symbols_of(posed.world, posed.naming)
    return [symbols.get(word, word) for word in words]


def words_of(worlds: Sequence[ToolWorld]) -> list[str]:
    """All words that prompts and answers in these worlds are made of."""
    known = {NEXT, SAY, NOTHING, "please", "then", *POINTERS, *SYMBOLS}
    for world in worlds:
        for tool in world.tools:
            known.update(tool.name.split("_"), _shown_words(tool.request))
            known.update(
                str(value) for one in tool.parameters for value in (*one.values, *WORDS.get(one.draw or "", ()))
            )
        for table in world.tables:
            known.update(_shown_words(f"{table.called} {table.made}"))
    named = {name for world in worlds for table in world.table for name in (table, f"{table}s")}
    return sorted(word for word in known - named if " " not in word)


def _shown_words(template: str) -> list[str]:
    return _WORD.findall(_OPENING.sub(lambda found: found[0].lower(), template))


def message_of(posed: PosedTask) -> tuple[str, ...]:
    """What is told of the reference: the names of the tools that change something, in words."""
    writes = [name for name, _ in posed.task.chain if posed.world.tool[name].request]
    return tuple(_symbolic(posed, [word for name in writes for word in name.split("_")]))


def answer_of(posed: PosedTask) -> str | None:
    """The reference as an answer; None where the language has no words for it."""
    request, steps = read_request(posed.task.instruction), list[str]()
    if len(request.values) > VALUES or len(posed.task.chain) > CALLS:
        return None
    for name, given in posed.task.chain:
        tool = posed.world.tool[name]
        told = [_word_of(posed.world, one, given.get(one.name), request) for one in tool.parameters]
        if None in told:
            return None
        steps.append(" ".join([*_symbolic(posed, name.split("_")), *map(str, told)]))
    return f" {NEXT} ".join([*steps, " ".join([SAY, *message_of(posed)])])


def _word_of(
    world: ToolWorld, parameter: Parameter, given: Mapping[str, Json] | None, request: ReadRequest
) -> str | None:
    if given is None:
        return NOTHING
    if "from" in given:
        key = world.table[parameter.ref].key if parameter.ref else ""
        call, path = given["from"]
        sign = {f"0.{key}": "$", key: "&"}.get(path)
        return None if sign is None else f"{sign}{call + 1}"
    value = str(given.get("is", given.get("say")))
    if value in request.values:
        return f"@{request.values.index(value) + 1}"
    return value if value in request.words else None


def plan_of(posed: PosedTask, text: str) -> ToolPlan | None:
    """What an answer does; None where it is no plan."""
    body, _, said = f" {text} ".partition(f" {SAY} ")
    meant = {symbol: word for word, symbol in symbols_of(posed.world, posed.naming).items()}
    values, calls = read_request(posed.task.instruction).values, list[tuple[str, dict[str, Json]]]()
    for part in filter(str.split, f"{body} ".split(f" {NEXT} ")):
        words = [meant.get(word, word) for word in part.split()]
        tool = next(_tools_named(posed, words), None)
        if tool is None:
            return None
        given = words[len(tool.name.split("_")) :]
        if len(given) != len(tool.parameters):
            return None
        found = [_value_of(posed.world, *pair, values) for pair in zip(tool.parameters, given, strict=True)]
        if any(one is _Unreadable for one in found):
            return None
        args = {one.name: value for one, value in zip(tool.parameters, found, strict=True) if value is not None}
        calls.append((tool.name, args))
    return ToolPlan(minutes(calls), tuple(said.split()))


def _tools_named(posed: PosedTask, words: Sequence[str]) -> Iterator[ToolSpec]:
    """The tool with which these words begin; the longest name first."""
    for size in range(len(words), 0, -1):
        if (name := "_".join(words[:size])) in posed.task.shown:
            yield posed.world.tool[name]


class _Unreadable:
    """Stands for an argument that is none."""


def _value_of(world: ToolWorld, parameter: Parameter, word: str, values: Sequence[str]) -> Json:
    sign, number = word[0], word[1:]
    if word == NOTHING:
        return None
    if sign in "$&" and number.isdigit():
        key = world.table[parameter.ref].key if parameter.ref else ""
        return {"from": [int(number) - 1, f"0.{key}" if sign == "$" else key]}
    if sign == "@":
        if not number.isdigit() or not 0 < int(number) <= len(values):
            return _Unreadable
        word = values[int(number) - 1]
    if parameter.type == "string":
        return word
    try:
        return int(word) if parameter.type == "integer" else float(word)
    except ValueError:
        return _Unreadable
