"""How model families write calls of tools in a text: a table of their marks, and four readers for what stands in them.

Names as those of vLLM's `--tool-call-parser`. A body is JSON calls, arguments of a call whose name the mark holds,
parameters in tags, or calls as Python writes them. What is repaired has one meaning (docs/worlds.md); nothing is
guessed: a body that ends too early is no call. Linear time.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from evosyn.parsing import literal
from evosyn.records import Json

ToolDialect = Literal[
    "auto", "hermes", "qwen3_coder", "glm45", "mistral", "llama3_json", "pythonic", "deepseek_v3", "deepseek_v31",
    "deepseek_v32", "kimi_k2", "minimax_m2", "openai",
]  # fmt: skip
TOOL_DIALECTS: tuple[ToolDialect, ...] = get_args(ToolDialect)
DEEPEST = 50
"""Of lists and objects in arguments."""
_STRING = json.JSONDecoder(strict=False)
_TOKEN = re.compile(
    r"\s*(?:(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])"
    r"|(true|false|null|True|False|None)\b|('(?:[^'\\]|\\.)*')|([\"\[{]))",
    re.DOTALL,
)
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
_LAST = re.compile(r"\s*[\w.+-]*")
_SIGN = re.compile(r"\s*(\S?)")
_FENCE = re.compile(r"\s*(?:```\w*\s*)?")
_CALLED = re.compile(r"\s*([A-Za-z_][\w.]*)\s*\(")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=")
_NAMED = re.compile(r"""[\[{\s]*["'](?:type["']\s*:\s*["']function["']\s*,\s*["'])?name["']\s*:\s*["']([^"']*)["']""")


class Unreadable(ValueError):
    """What stands `at` a place is no value or no call."""

    def __init__(self, at: int) -> None:
        self.at = at


class WrittenCall(NamedTuple):
    """A call as it stands in a text, without a name where it cannot be read; its arguments are an object, that as a
    JSON text, or None."""

    name: str
    arguments: Json


UNREADABLE = WrittenCall("", None)
Tools: TypeAlias = Mapping[str, Mapping[str, Json]]
"""The properties of the arguments of each tool, by its name."""


class Spelling(NamedTuple):
    """One way of a dialect to write calls.

    Attributes:
        mark: stands in every text that has such a call; empty where a call looks like other data.
        opens: an expression; its group, if it has one, is the name of the tool.
        closes: what ends a call; empty where nothing does.
        pair: an expression of one parameter: name, perhaps how it is typed, value.
    """

    dialect: ToolDialect
    mark: str
    opens: str
    closes: str = ""
    pair: str = ""


def _tagged(dialect: ToolDialect, mark: str, opens: str, closes: str, begins: str, pair: str) -> Spelling:
    """Parameters in tags: a value ends where a tag of the call follows its own, and holds no tag of another parameter,
    which would have two meanings; a line break at its begin and end is not of it."""
    pair = pair.replace("(.*?)", rf"(?:\r?\n)?((?:(?!{begins}).)*?)(?:\r?\n)?")
    ends = rf"(?=\s*(?:{begins}|{closes}))"
    return Spelling(dialect, mark, rf"{opens}(?=\s*(?:{begins}|{closes}|[{{]|\Z))", closes, rf"\s*{begins}{pair}{ends}")


_NAME = r"([\w.-]+)"
_DEEPSEEK = r"(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>"
_DSML = "｜DSML｜"
_ATTRIBUTES = r' name="([^"\n]+)"(?: string="(true|false)")?\s*>'
SPELLINGS = (
    _tagged("qwen3_coder", "<function=", r"(?:<tool_call>\s*)?<function=([^>\n]+)>", "</function>", "<parameter=",
            r"([^>\n]+)()>(.*?)</parameter>"),
    _tagged("glm45", "<tool_call>", rf"<tool_call>\n?{_NAME}", "</tool_call>", "<arg_key>",
            r"([^<\n]+)()</arg_key>\s*<arg_value>(.*?)</arg_value>"),
    Spelling("hermes", "<tool_call>",
             r"<tool_call>(?=\s*(?:```\w*\s*)?[\[{])|(?<![^\n])<tool_call>(?=[ \t]*(?:\n|\Z))", "</tool_call>"),
    Spelling("mistral", "[TOOL_CALLS]", r"\[TOOL_CALLS\]\s*(?=[\[{])"),
    Spelling("mistral", "[TOOL_CALLS]",
             rf"\[TOOL_CALLS\]\s*{_NAME}(?:\[CALL_ID\][^\[\s]*)?(?:\[ARGS\])?(?=\s*(?:\{{|\Z))"),
    Spelling("llama3_json", "<|python_tag|>", r"<\|python_tag\|>(?=\s*[\[{])"),
    Spelling("pythonic", "<|python_start|>", r"<\|python_start\|>\s*(?=\[)", "<|python_end|>"),
    Spelling("deepseek_v3", "<｜tool▁call▁begin｜>",
             rf"{_DEEPSEEK}function<｜tool▁sep｜>{_NAME}\s*(?=```)", "<｜tool▁call▁end｜>"),
    Spelling("deepseek_v31", "<｜tool▁call▁begin｜>",
             rf"{_DEEPSEEK}{_NAME}(?:<｜tool▁sep｜>|\Z)", "<｜tool▁call▁end｜>"),
    _tagged("deepseek_v32", f"<{_DSML}invoke",
            rf'(?:<{_DSML}(?:function|tool)_calls>\s*)?<{_DSML}invoke name="([^"\n]+)">',
            f"</{_DSML}invoke>", f"<{_DSML}parameter", rf"{_ATTRIBUTES}(.*?)</{_DSML}parameter>"),
    Spelling("kimi_k2", "<|tool_call_begin|>",
             rf"(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*{_NAME}(?::\d+)?\s*"
             r"(?:<\|tool_call_argument_begin\|>|\Z)", "<|tool_call_end|>"),
    _tagged("minimax_m2", "<invoke name=", r'(?:<minimax:tool_call>\s*)?<invoke name="([^"\n]+)">', "</invoke>",
            "<parameter", rf"{_ATTRIBUTES}(.*?)</parameter>"),
    Spelling("openai", "to=functions.",
             rf"(?:<\|start\|>assistant\s*)?(?:<\|channel\|>\w+\s*)?\bto=functions\.{_NAME}"
             r"(?:\s*<\|(?:channel|constrain)\|>\s*\w+|\s+\w+){0,3}\s*(?:<\|message\|>|(?=\{)|\Z)", "<|call|>"),
    Spelling("pythonic", "", r"^[ \t]*(?=\[\s*[A-Za-z_][\w.]*\s*\()"),
    Spelling("llama3_json", "", r"""^[ \t]*(?:```\w*[ \t]*)?(?=(?:\[\s*)?\{\s*["'])"""),
)  # fmt: skip


def spellings_in(text: str, dialect: ToolDialect) -> tuple[tuple[Spelling, ...], ...]:
    """The ways of writing a call that a text may hold: those with marks of their own, then those without."""
    mine = [one for one in SPELLINGS if dialect in (one.dialect, "auto") and one.mark in text]
    return tuple([one for one in mine if one.mark]), tuple([one for one in mine if not one.mark])


@functools.lru_cache(maxsize=64)
def _pattern(spellings: tuple[Spelling, ...]) -> tuple[re.Pattern[str], Mapping[int, Spelling]]:
    places, count = {}, 1
    for one in spellings:
        places[count] = one
        count += 1 + re.compile(one.opens).groups
    return re.compile("|".join(f"({one.opens})" for one in spellings), re.MULTILINE), places


def calls_in(
    text: str, spellings: tuple[Spelling, ...], tools: Tools, *, known: bool
) -> Iterator[tuple[int, WrittenCall | None]]:
    """The calls in a text, in order, and where each begins; None for one in which the text ends.

    Args:
        tools: the properties of each tool's arguments.
        known: what has no mark is a call only where it names one of these tools.
    """
    pattern, places = _pattern(spellings)
    at = 0
    while spellings and (found := pattern.search(text, at)):
        spelling, begin = places[found.lastindex or 0], found.end()
        name = found[(found.lastindex or 0) + 1] if re.compile(spelling.opens).groups else None
        calls: list[WrittenCall | None] = [UNREADABLE]
        try:
            read, at = _read(text, begin, spelling, name, tools)
            calls, named = [*read], {one.name for one in read}
        except Unreadable as error:
            said = _NAMED.match(text, begin)
            named = {_bare_name(said[1])} if said else set()
            at = _after(text, begin, spelling, error.at)
            calls = [None] if at > len(text) else calls
        at = max(at, begin + 1)
        bare = not spelling.mark or (spelling.pair and calls[0] and calls[0].arguments == {})
        if not bare or not known or not named.isdisjoint(tools):
            yield from ((found.start(), one) for one in calls)


def _after(text: str, begin: int, spelling: Spelling, wrong: int) -> int:
    """Where a text goes on behind a call that is `wrong` somewhere; beyond its end where it ends within, or nobody can
    say where the next one begins. What stands in the values of a call is none: a mark ends it that is wrong before."""
    if not spelling.closes:
        return wrong if wrong < len(text) else len(text) + 1
    closing = text.find(spelling.closes, begin)
    mark = spelling.mark if spelling.pair else f"\n{spelling.mark}"
    again = text.find(mark, begin, None if closing < 0 else closing)
    if again >= 0 and not spelling.pair and wrong <= again + 1:
        return again
    return len(text) + 1 if closing < 0 or again >= 0 else closing + len(spelling.closes)


def _read(text: str, at: int, spelling: Spelling, name: str | None, tools: Tools) -> tuple[list[WrittenCall], int]:
    """The calls behind an opening mark, and where they end; raises where they are `Unreadable`."""
    at = _match(_FENCE, text, at).end()
    calls: list[WrittenCall] = []
    if name is not None:
        name = _bare_name(name)
        pairs = spelling.pair and not text.startswith("{", at)
        value, at = _parameters(text, at, spelling, tools.get(name, {})) if pairs else value_at(text, at)
        calls.append(WrittenCall(name, value))
    elif spelling.dialect == "pythonic":
        calls, at = _python_calls(text, at)
    else:
        while (sign := _match(_SIGN, text, at))[1] in tuple("{[") or (calls and sign[1] in tuple(";,")):
            if calls and not spelling.mark and "\n" in sign[0]:
                return calls, at
            value, at = value_at(text, at) if sign[1] in "{[" else ([], sign.end())
            calls += [call_of(one) for one in (value if isinstance(value, list) else [value])]
    end = _match(_FENCE, text, at).end()
    if spelling.closes and text.startswith(spelling.closes, end):
        return calls, end + len(spelling.closes)
    if spelling.pair or not calls or _match(_SIGN, text, at)[1] in tuple("{}])\"',:"):
        raise Unreadable(at)
    return calls, at


def _match(pattern: re.Pattern[str], text: str, at: int, signs: str = "") -> re.Match[str]:
    """What stands there; raises where it is something else, or a sign that is none of these."""
    found = pattern.match(text, at)
    if found is None or (signs and (not found[1] or found[1] not in signs)):
        raise Unreadable(len(text) if _LAST.fullmatch(text, at) else at)
    return found


def value_at(text: str, at: int, left: int = DEEPEST + 4) -> tuple[Json, int]:
    """A value of JSON, or of Python where both have it, and where it ends. A text may hold control characters, a list
    or an object a last comma; a name stands once in an object. Raises where there is none."""
    found = _match(_TOKEN, text, at)
    number, word, quoted, sign = found.groups()
    try:
        if number:
            value = json.loads(number)
            if not math.isfinite(value):
                raise Unreadable(at)
            return value, found.end()
        if quoted:
            return literal(f"''{quoted}''") if "\\" in quoted else quoted[1:-1], found.end()
        if sign == '"':
            return _STRING.raw_decode(text, found.start(4))
    except json.JSONDecodeError as error:
        raise Unreadable(len(text) if error.msg.startswith("Unterminated") else error.pos) from error
    except (ValueError, OverflowError, SyntaxError, MemoryError) as error:
        raise Unreadable(found.end()) from error
    if word:
        return _WORDS[word], found.end()
    if not left:
        raise Unreadable(at)
    return _members(text, found.end(), "]" if sign == "[" else "}", left - 1)


def _members(text: str, at: int, closes: str, left: int) -> tuple[Json, int]:
    """The values of a list, those of an object or of a call of Python by their names, and where it ends."""
    items, fields, name = list[Json](), dict[str, Json](), None
    while (last := _match(_SIGN, text, at))[1] != closes:
        if closes == ")":
            keyword = _match(_KEYWORD, text, at)
            name, at = keyword[1], keyword.end()
        elif closes == "}":
            name, at = value_at(text, at, left)
            at = _match(_SIGN, text, at, ":").end()
        if name in fields or (closes == "}" and not isinstance(name, str)):
            raise Unreadable(at)
        value, at = value_at(text, at, left)
        items.append(value)
        fields |= {name: value} if name is not None else {}
        at = _behind(text, at, closes)
    return (items if closes == "]" else fields), last.end()


def _behind(text: str, at: int, closes: str) -> int:
    """Where a series goes on behind a member: at its end, or behind a comma."""
    sign = _match(_SIGN, text, at, f",{closes}")
    return sign.end() if sign[1] == "," else at


def whole(text: str) -> Json:
    """The value that a text is; raises where it is none."""
    value, at = value_at(text, 0)
    if text[at:].strip():
        raise Unreadable(at)
    return value


def _python_calls(text: str, at: int) -> tuple[list[WrittenCall], int]:
    calls, at = list[WrittenCall](), _match(_SIGN, text, at, "[").end()
    while (last := _match(_SIGN, text, at))[1] != "]":
        called = _match(_CALLED, text, at)
        told, at = _members(text, called.end(), ")", DEEPEST)
        calls.append(WrittenCall(_bare_name(called[1]), told))
        at = _behind(text, at, "]")
    return calls, last.end()


def _parameters(text: str, at: int, spelling: Spelling, properties: Mapping[str, Json]) -> tuple[Json, int]:
    told, pair = dict[str, Json](), re.compile(spelling.pair, re.DOTALL)
    while found := pair.match(text, at):
        name, typed, value = found.groups()
        if name in told:
            raise Unreadable(at)
        told[name], at = _typed(value, properties.get(name), typed), found.end()
    return told, at


def _typed(text: str, shape: Json, typed: str) -> Json:
    """A parameter in tags: nothing but its tool's schema says what it is, where an attribute does not."""
    kinds = shape.get("type", []) if isinstance(shape, dict) else []
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if typed == "true" or (typed != "false" and kinds in ([], ["string"])):
        return text
    try:
        value = whole(text)
    except Unreadable:
        return text
    if isinstance(value, str):
        return value if not kinds else text
    fits = not kinds or value is None or _KINDS[type(value)] in kinds or "number" in kinds or "integer" in kinds
    return value if fits else text


def call_of(value: Json) -> WrittenCall:
    """The call that a value of JSON is, in whatever it is wrapped."""
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return UNREADABLE
    given = [value[name] for name in ("arguments", "parameters") if name in value]
    if len(given) == 1 or not (given or value.keys() - {"name", "id", "type", "index"}):
        return WrittenCall(_bare_name(value["name"]), given[0] if given else None)
    return UNREADABLE


def _bare_name(name: str) -> str:
    return name.strip().removeprefix("functions.")
