"""What models are asked for a world, and how their replies are read: tools first, then the tables under them.

A model writes no SQL: tables come as data, and are written by `worlds.tools.ddl`. Texts of models are only read here.
ScaleEnv section 4.1.1; the words are ours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import ValidationError

from evosyn.chat import Message, Parsed, Request
from evosyn.domains.replies import json_values
from evosyn.domains.world_tool import NAME
from evosyn.records import Json, Problem, canonical_json
from evosyn.synthesis.worlds.config import SizesConfig
from evosyn.synthesis.worlds.draft import world_of_parts
from evosyn.templates import render
from evosyn.thinking import answer_in
from evosyn.worlds.tools.loose_ends import TAKES, tool_faults
from evosyn.worlds.tools.records import ToolSpec, ToolWorld
from evosyn.worlds.tools.words import WORDS

TOOLS, TABLES, DEBUG = "world-tools", "world-tables", "world-debug"
"""Purposes of requests."""
LONGEST = 2000
"""Characters of one text of a schema."""
_TOLD = ("before", "after")
_USED = ("reads", "writes")


class WorldName(NamedTuple):
    """A world that is asked for: its name as people gave it, and as worlds have it."""

    name: str
    slug: str


def about(world: WorldName) -> Problem:
    """What a request is about, never shown to a model; for the names of letters."""
    return Problem(world.slug, NAME, world.name, meta={"world": world.slug})


def tools_request(world: WorldName, sizes: SizesConfig, params: Mapping[str, Json]) -> Request:
    text = render(
        "evosyn.synthesis",
        "prompts/world_tools.md",
        domain=world.name,
        least=str(sizes.least_tools),
        most=str(sizes.most_tools),
        kinds=", ".join(WORDS),
    )
    return Request((Message("user", text),), TOOLS, params, problem=about(world))


def tables_request(
    world: WorldName, schema: Mapping[str, Json], sizes: SizesConfig, params: Mapping[str, Json]
) -> Request:
    text = render(
        "evosyn.synthesis",
        "prompts/world_tables.md",
        tools=json.dumps(schema, indent=1, ensure_ascii=False),
        least=str(sizes.least_tables),
        most=str(sizes.most_tables),
        kinds=", ".join(WORDS),
        operators=" ".join(sorted(TAKES)),
    )
    return Request((Message("user", text),), TABLES, params, problem=about(world))


def read_tools(text: str, sizes: SizesConfig) -> Parsed[dict[str, Json]]:
    """A title and tools; whether they fit their tables is seen when there are some."""
    found = _object(text, "tools")
    if isinstance(found, str):
        return Parsed(None, found)
    title, tools = found.get("title"), found["tools"]
    if not isinstance(title, str) or not isinstance(tools, list) or not all(isinstance(one, dict) for one in tools):
        return Parsed(None, "no-tools: a text `title` and a list `tools` of objects")
    if not sizes.least_tools <= len(tools) <= sizes.most_tools:
        return Parsed(None, f"too-many-or-few: {len(tools)} tools, not {sizes.least_tools} to {sizes.most_tools}")
    for tool in tools:
        if lacking := [one for one in ("name", *_TOLD) if not isinstance(tool.get(one), str)]:
            return Parsed(None, f"bad-tool: {str(tool.get('name'))[:40]}: no text {lacking[0]}")
        if sum(len(canonical_json(one)) for one in tool.values()) > 4 * LONGEST:
            return Parsed(None, f"bad-tool: {tool['name'][:40]}: too long")
    if reason := next(_strange_words([one for tool in tools for one in _objects(tool.get("parameters"))]), ""):
        return Parsed(None, reason)
    if reason := next(_pairs_that_differ(tools), "") or next(_unsound(tools), ""):
        return Parsed(None, reason)
    return Parsed({"title": title[:200], "tools": tools})


def _pairs_that_differ(tools: list[dict[str, Json]]) -> Iterator[str]:
    names = Counter(one["name"] for one in tools)
    yield from (f"bad-tool: {name[:40]}: stands twice" for name, count in names.items() if count > 1)
    for tool in tools:
        declared = tool.get("raises", [])
        if isinstance(declared, list):
            missing = [one for one in declared if str(one) not in tool["before"]]
            yield from (f"bad-tool: {tool['name'][:40]}: `before` does not say when {one}" for one in missing)


def _unsound(tools: list[dict[str, Json]]) -> Iterator[str]:
    """What no tables could mend."""
    for tool in tools:
        try:
            spec = ToolSpec.model_validate({name: one for name, one in tool.items() if name not in _TOLD})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            yield f"bad-tool: {tool['name'][:40]}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        else:
            yield from (f"bad-tool: {reason}" for reason in tool_faults(spec))


def read_tables(text: str, slug: str, schema: Mapping[str, Json], sizes: SizesConfig) -> Parsed[dict[str, Json]]:
    """Tables and uses that fit the tools; the world that they make keeps together."""
    found = _object(text, "tables")
    if isinstance(found, str):
        return Parsed(None, found)
    uses = found.get("uses")
    if not isinstance(uses, dict):
        return Parsed(None, "no-uses: an object `uses` with the tables of each tool")
    try:
        world = world_of_parts(slug, schema, found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return Parsed(None, f"bad-world: {place}: {first['msg'].removeprefix('Value error, ')}")
    except (TypeError, AttributeError, KeyError) as error:
        return Parsed(None, f"bad-world: {type(error).__name__}: {error}")
    reason = next(_unfit(world, found["tables"], uses, sizes), "")
    if reason:
        return Parsed(None, reason)
    kept = {tool.name: {kind: uses[tool.name][kind] for kind in _USED} for tool in world.tools}
    return Parsed({"tables": found["tables"], "uses": kept})


def _unfit(world: ToolWorld, tables: Json, uses: Mapping[str, Json], sizes: SizesConfig) -> Iterator[str]:
    if not sizes.least_tables <= len(world.tables) <= sizes.most_tables:
        yield f"too-many-or-few: {len(world.tables)} tables, not {sizes.least_tables} to {sizes.most_tables}"
    used: set[str] = set()
    for tool in world.tools:
        one = uses.get(tool.name)
        kinds = [one.get(kind) for kind in _USED] if isinstance(one, dict) else [None]
        if not all(isinstance(some, list) and set(map(str, some)) <= set(world.table) for some in kinds):
            yield f"bad-uses: {tool.name}: lists of tables `reads` and `writes`"
            return
        used |= {str(name) for some in kinds if isinstance(some, list) for name in some}
    if idle := sorted(set(world.table) - used):
        yield f"bad-uses: no tool uses the table {idle[0]}"
    prefixes = [one.prefix for one in world.tables]
    if len(set(prefixes)) < len(prefixes):
        yield "bad-world: two tables have one prefix"
    columns = [one for table in _objects(tables) for one in _objects(table.get("columns"))]
    yield from _strange_words(columns)
    yield from (f"bad-world: {one['name']}: a policy is only ever `hard`" for one in columns
                if one.get("policy") not in (None, "hard"))  # fmt: skip
    kept = {name: [str(one.get(name, "")) for one in _objects(tables)] for name in ("called", "made")}
    if any(len(text) > LONGEST for texts in kept.values() for text in texts):
        yield "bad-world: a text is too long"


def _strange_words(forms: list[dict[str, Json]]) -> Iterator[str]:
    for one in forms:
        if one.get("draw") is not None and str(one["draw"]) not in WORDS:
            told = f"{str(one.get('name'))[:40]}: draw {str(one['draw'])[:40]!r}"
            yield f"bad-world: {told} is none of {', '.join(WORDS)}"


def _objects(value: Json) -> list[dict[str, Json]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list | tuple) else []


def _object(text: str, field: str) -> dict[str, Json] | str:
    """The last JSON object with a field, or why there is none."""
    found = [one for one in json_values(answer_in(text)) if isinstance(one, dict) and field in one]
    if not found:
        return f"no-json: no JSON object with `{field}`"
    try:
        canonical_json(found[0]).encode()
    except UnicodeEncodeError:
        return "bad-json: a text with half of a surrogate pair, which is none in UTF-8"
    return found[0]
