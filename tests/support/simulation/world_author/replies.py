"""What the simulated author says: the source of a tool, or a testing. A pure function of the study and the sample."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.worlds.tools.faults import plantings
from evosyn.worlds.tools.playing import Played
from evosyn.worlds.tools.records import Rows, ToolWorld
from simulation.author.replies import REFUSALS, DrawnReply, cases_text, solution_text
from simulation.author.style import WORDINGS, worded
from simulation.world_author.study import ToolExample, ToolMistake, ToolStudy, rates

AUTHOR = "offline-worlds"
POPULAR = 0.7
"""Of the replies of one class of mistakes those with the popular one."""
BELIEVED = 0.6
"""Of the wrong expectations those that a wrong program would meet; the others are slips."""
FREEDOM = 0.4
_AS_IT_IS = ("unparsable", "impure")
"""Classes of mistakes that are not put in other words; no reader takes them."""


def draw_tool(study: ToolStudy, strength: str, tree: SeedTree, sample: int) -> DrawnReply:
    """The `sample`-th program for a tool; `tree` is the node of its problem."""
    rng, scale = tree.child("solution", sample).random(), rates()["strength"][strength]
    if study.tempting is not None and rng.random() < rates()["pull"] * scale:
        return _program(study.tempting.source, f"tempting/{study.tempting.kind}", rng)
    roll = rng.random()
    for kind, share in rates()["solutions"].items():
        roll -= share * scale
        if roll < 0:
            places = study.faulty[kind]
            if not places:
                break
            popular = tree.child("popular", kind).random().choice(places)
            return _program(popular if rng.random() < POPULAR else rng.choice(places), kind, rng)
    return _program(study.source, "right", rng)


def writable_tools(world: ToolWorld, source: str) -> Iterator[str]:
    """All that `draw_tool` may write for a tool, as it is read, the right program first; not what never ends or cannot
    be read.

    Args:
        world: of the tool; its tables.
        source: a right program.
    """
    yield from _in_words(source)
    for kind, texts in plantings(world, source).items():
        for text in () if kind in (*_AS_IT_IS, "hang") else texts:
            yield from _in_words(text)


def _in_words(source: str) -> Iterator[str]:
    return (f"{worded(source, FREEDOM, wording).strip()}\n" for wording in range(WORDINGS))


def _program(source: str, truth: str, rng: random.Random) -> DrawnReply:
    text = source if truth in _AS_IT_IS else worded(source, FREEDOM, rng.randrange(WORDINGS))
    return DrawnReply(solution_text(text, rng), truth, AUTHOR)


class _Chosen(NamedTuple):
    """An example of a testing, and what is expected of it."""

    example: ToolExample
    expected: Played


def draw_tool_testing(study: ToolStudy, strength: str, tree: SeedTree, sample: int) -> DrawnReply:
    """The `sample`-th testing of a tool; `tree` is the node of its problem."""
    rng, scale = tree.child("testing", sample).random(), rates()["strength"][strength]
    places = _places(study, rng)
    chosen = [_Chosen(study.examples[at], study.examples[at].right) for at in places]
    truth = "right"
    if study.tempting is not None and rng.random() < rates()["pull"] * scale:
        truth, chosen = "tempting", _believed(study, study.tempting, places)
    roll = rng.random()
    for kind, share in rates()["testings"].items():
        roll -= share * scale
        if roll < 0:
            return _spoiled(study, kind, places, chosen, rng)
    return DrawnReply(_text(study, chosen, rng), truth, AUTHOR)


def draw_right_testing(study: ToolStudy, rng: random.Random) -> DrawnReply:
    """A testing without a mistake."""
    chosen = [_Chosen(study.examples[at], study.examples[at].right) for at in _places(study, rng)]
    return DrawnReply(_text(study, chosen, rng), "right", AUTHOR)


def _spoiled(
    study: ToolStudy, kind: str, places: Sequence[int], chosen: list[_Chosen], rng: random.Random
) -> DrawnReply:
    """A testing with one thing wrong."""
    if kind == "malformed":
        text = _text(study, chosen, rng)
        return DrawnReply(rng.choice([text[: len(text) * 2 // 3], rng.choice(REFUSALS)]), kind, AUTHOR)
    if kind == "breaks-schema":
        body = _body(study.world, chosen)
        _break(study.world, body, rng)
        return DrawnReply(cases_text(json.dumps(body, indent=1), "json", rng), kind, AUTHOR)
    if kind == "wrong-change" and study.mistakes and rng.random() < BELIEVED:
        mistake = study.mistakes[0] if rng.random() < POPULAR else rng.choice(study.mistakes)
        return DrawnReply(_text(study, _believed(study, mistake, places), rng), f"believed/{mistake.kind}", AUTHOR)
    body = _body(study.world, chosen)
    cases = body["cases"]
    working = [one for one in cases if "refuses" not in one]
    refused = [one for one in cases if "refuses" in one]
    if kind == "wrong-exception" and refused and len(study.tool.raises) > 1:
        one = rng.choice(refused)
        one["refuses"] = rng.choice([name for name in study.tool.raises if name != one["refuses"]])
    elif kind == "trivial":
        ends = {one.get("refuses", ""): one for one in cases}
        body["cases"] = list(ends.values())
    elif kind == "blind":
        for one in working:
            one.pop("changes", None)
    elif working:
        _slip(rng.choice(working), rng)
    return DrawnReply(cases_text(json.dumps(body, indent=1), "json", rng), kind, AUTHOR)


def _places(study: ToolStudy, rng: random.Random) -> list[int]:
    """Examples of each way to end, and some more; 4 to 10."""
    by_end: dict[str, list[int]] = {}
    for at, one in enumerate(study.examples):
        by_end.setdefault(one.ends, []).append(at)
    found = [rng.choice(places) for places in by_end.values()]
    rest = [at for at in range(len(study.examples)) if at not in found]
    found += rng.sample(rest, min(len(rest), max(0, rng.randint(5, 10) - len(found))))
    return sorted(found)


def _believed(study: ToolStudy, mistake: ToolMistake, places: Sequence[int]) -> list[_Chosen]:
    """What the wrong program says, where it says anything."""
    found = []
    for at in places:
        run = mistake.does[at]
        speaks = not run.lost and run.calls[0].outcome != "failed"
        found.append(_Chosen(study.examples[at], run if speaks else study.examples[at].right))
    return found


def _text(study: ToolStudy, chosen: Sequence[_Chosen], rng: random.Random) -> str:
    return cases_text(json.dumps(_body(study.world, chosen), indent=1), "json", rng)


def _body(world: ToolWorld, chosen: Sequence[_Chosen]) -> dict[str, Json]:
    states: dict[str, Rows] = {}
    cases = []
    for example, expected in chosen:
        name = next((name for name, rows in states.items() if rows == example.rows), f"s{len(states) + 1}")
        states[name] = example.rows
        case: dict[str, Json] = {"state": name, "args": dict(example.args)}
        call = expected.calls[0]
        if call.outcome == "rejected":
            case["refuses"] = call.exception
        else:
            case |= {"returns": call.value, "changes": patch_between(world, example.rows, expected.rows)}
        cases.append(case)
    whole = {name: {table: listed for table, listed in rows.items() if listed} for name, rows in states.items()}
    return copy.deepcopy({"states": whole, "cases": cases})  # others look at the same rows


def patch_between(world: ToolWorld, before: Rows, after: Rows) -> dict[str, Json]:
    """What changes one state into another; times of the call are left out."""
    found: dict[str, Json] = {}
    for table in world.tables:
        held = [{str(row[table.key]): row for row in rows.get(table.name, ())} for rows in (before, after)]
        clock = {one.name for one in table.columns if table.policy(one) == "clock"}
        patch: dict[str, Json] = {key: None for key in held[0] if key not in held[1]}
        for key, row in held[1].items():
            old: Mapping[str, Json] = held[0].get(key, {})
            new = {name: value for name, value in row.items()
                   if name != table.key and name not in clock and old.get(name, ...) != value}  # fmt: skip
            patch |= {key: new} if new else {}
        found |= {table.name: patch} if patch else {}
    return found


def _break(world: ToolWorld, body: dict[str, Json], rng: random.Random) -> None:
    """A reference to nobody, a value that is none, or a row that lacks a column; where there is no row, of no table."""
    places = [(table, row) for rows in body["states"].values() for table, listed in rows.items() for row in listed]
    if not places:
        body["states"]["s1"] = {"nothing": [{"nothing_id": "X0000"}]}
        return
    table, row = rng.choice(places)
    columns = [one for one in world.table[table].columns if one.references or one.values]
    if columns and rng.random() < 0.7:
        row[rng.choice(columns).name] = "X0000"
    else:
        row.pop(rng.choice([name for name in row if name != world.table[table].key] or list(row)))


def _slip(case: dict[str, Json], rng: random.Random) -> None:
    """One expected value is another."""
    patches = [row for rows in case.get("changes", {}).values() for row in rows.values() if row]
    if patches and rng.random() < 0.7:
        row = rng.choice(patches)
        name = rng.choice(sorted(row))
        row[name] = _other(row[name], rng)
    else:
        case["returns"] = _other(case["returns"], rng)


def _other(value: Json, rng: random.Random) -> Json:
    if isinstance(value, dict) and value:
        name = rng.choice(sorted(value))
        return {**value, name: _other(value[name], rng)}
    if isinstance(value, list):
        return value[:-1] if value else [{"id": "X0001"}]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value + rng.choice((-1, 1))
    return f"{value} too" if isinstance(value, str) else "something"
