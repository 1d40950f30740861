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
DEEPEST = 60
"""Of lists and objects in a body; arguments have fewer (`tool_calls`)."""
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
    """What stands there is no value or no call; its argument is the place where that shows."""

    @property
    def at(self) -> int:
        return int(self.args[0])


class WrittenCall(NamedTuple):
    """A call as it stands in a text: its arguments are an object, or that as a JSON text, or None."""

    name: str
    arguments: Json


class FoundCall(NamedTuple):
    """A call in a text.

    Attributes:
        start: where its mark begins.
        call: None where it cannot be read.
        cut: the text ends within it.
    """

    start: int
    call: WrittenCall | None
    cut: bool = False


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
    """Parameters in tags; a value ends where a tag of the call follows its own, so that it may speak of such tags."""
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
    Spelling("llama3_json", "<|python_tag|>", r"<\|python_tag\|>(?=\s*[\[{])", "<|eom_id|>"),
    Spelling("pythonic", "<|python_start|>", r"<\|python_start\|>\s*(?=\[)", "<|python_end|>"),
    Spelling("deepseek_v3", "<｜tool▁call▁begin｜>",
             rf"{_DEEPSEEK}function<｜tool▁sep｜>{_NAME}\s*(?=```)", "<｜tool▁call▁end｜>"),
    Spelling("deepseek_v31", "<｜tool▁call▁begin｜>",
             rf"{_DEEPSEEK}{_NAME}<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    _tagged("deepseek_v32", f"<{_DSML}invoke",
            rf'(?:<{_DSML}(?:function|tool)_calls>\s*)?<{_DSML}invoke name="([^"\n]+)">',
            f"</{_DSML}invoke>", f"<{_DSML}parameter", rf"{_ATTRIBUTES}(.*?)</{_DSML}parameter>"),
    Spelling("kimi_k2", "<|tool_call_begin|>",
             rf"(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*{_NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>",
             "<|tool_call_end|>"),
    _tagged("minimax_m2", "<invoke name=", r'(?:<minimax:tool_call>\s*)?<invoke name="([^"\n]+)">', "</invoke>",
            "<parameter", rf"{_ATTRIBUTES}(.*?)</parameter>"),
    Spelling("openai", "to=functions.",
             rf"(?:<\|start\|>assistant\s*)?(?:<\|channel\|>\w+\s*)?\bto=functions\.{_NAME}"
             r"(?:\s*<\|(?:channel|constrain)\|>\s*\w+|\s+\w+){0,3}\s*<\|message\|>", "<|call|>"),
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


def calls_in(text: str, spellings: tuple[Spelling, ...], tools: Tools, *, known: bool) -> Iterator[FoundCall]:
    """The calls in a text, in order; one that cannot be read keeps its place.

    Args:
        tools: the properties of each tool's arguments.
        known: what has no mark is a call only where it names one of these tools.
    """
    pattern, places = _pattern(spellings)
    at = 0
    while spellings and (found := pattern.search(text, at)):
        spelling, begin = places[found.lastindex or 0], found.end()
        name = found[(found.lastindex or 0) + 1] if re.compile(spelling.opens).groups else None
        calls: list[WrittenCall | None] = [None]
        cut = False
        try:
            calls, at = _read(text, begin, spelling, name, tools)
            named = {one.name for one in calls if one}
        except Unreadable as error:
            says = _NAMED.match(text, begin)
            named = {_bare_name(says[1])} if says else set()
            at, cut = (error.at, error.at >= len(text)) if not spelling.closes else _after(text, begin, spelling)
        at = max(at, begin + 1)
        surely = spelling.mark and (not spelling.pair or calls[0] is None or calls[0].arguments)
        if surely or not known or not named.isdisjoint(tools):
            yield from (FoundCall(found.start(), one, cut) for one in calls)


def _after(text: str, begin: int, spelling: Spelling) -> tuple[int, bool]:
    """Where a text goes on behind a call that cannot be read, and whether it ends within it. A call in the values of
    another one is none, so what has values of several lines ends at its own closing mark alone."""
    closing = text.find(spelling.closes, begin)
    again = -1 if spelling.pair else text.find(f"\n{spelling.mark}", begin, None if closing < 0 else closing)
    if again >= 0:
        return again, False
    return (len(text), True) if closing < 0 else (closing + len(spelling.closes), False)


def _read(
    text: str, at: int, spelling: Spelling, name: str | None, tools: Tools
) -> tuple[list[WrittenCall | None], int]:
    """The calls behind an opening mark, and where they end.

    Raises:
        Unreadable: they are none.
    """
    at = _match(_FENCE, text, at).end()
    calls: list[WrittenCall | None] = []
    if spelling.pair and not text.startswith("{", at):
        told, at = _parameters(text, at, spelling, tools.get(_bare_name(name or ""), {}))
        calls.append(WrittenCall(_bare_name(name or ""), told))
        if not text.startswith(spelling.closes, at):
            raise Unreadable(at)
    elif name is not None:
        value, at = value_at(text, at)
        calls.append(WrittenCall(_bare_name(name), value))
    elif spelling.dialect == "pythonic":
        calls, at = _python_calls(text, at)
    else:
        while (sign := _match(_SIGN, text, at))[1] in ("{", "[") or (calls and sign[1] in (";", ",")):
            if sign[1] in ("{", "["):
                value, at = value_at(text, at)
                calls += [call_of(one) for one in (value if isinstance(value, list) else [value])]
            else:
                at = sign.end()
    end = _match(_FENCE, text, at).end()
    if spelling.closes and text.startswith(spelling.closes, end):
        return calls, end + len(spelling.closes)
    if not calls or _match(_SIGN, text, at)[1] in tuple("{}])\"',:"):
        raise Unreadable(at)
    return calls, at


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    """
    Raises:
        Unreadable: something else stands there.
    """
    found = pattern.match(text, at)
    if found is None:
        raise Unreadable(len(text) if _LAST.fullmatch(text, at) else at)
    return found


def _sign(text: str, at: int, signs: str) -> tuple[str, int]:
    """The next sign, which is one of these.

    Raises:
        Unreadable: it is none.
    """
    found = _match(_SIGN, text, at)
    if not found[1] or found[1] not in signs:
        raise Unreadable(found.start(1))
    return found[1], found.end()


def value_at(text: str, at: int, left: int = DEEPEST) -> tuple[Json, int]:
    """A value of JSON, or of Python where both have it, and where it ends. A text may hold control characters, a list
    or an object a last comma; a name stands once in an object.

    Raises:
        Unreadable: there is none.
    """
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
    return (_WORDS[word], found.end()) if word else _items(text, found.end(), sign, left - 1)


def _items(text: str, at: int, opened: str, left: int) -> tuple[Json, int]:
    if not left:
        raise Unreadable(at)
    closes, items, fields = "]" if opened == "[" else "}", list[Json](), dict[str, Json]()
    while (after := _match(_SIGN, text, at))[1] != closes:
        if opened == "{":
            name, at = value_at(text, at, left)
            at = _sign(text, at, ":")[1]
            if not isinstance(name, str) or name in fields:
                raise Unreadable(at)
            fields[name], at = value_at(text, at, left)
        else:
            item, at = value_at(text, at, left)
            items.append(item)
        if _sign(text, at, f",{closes}")[0] == ",":
            at = _sign(text, at, ",")[1]
    return (items if opened == "[" else fields), after.end()


def whole(text: str) -> Json:
    """The value that a text is.

    Raises:
        Unreadable: it is none.
    """
    value, at = value_at(text, 0)
    if text[at:].strip():
        raise Unreadable(at)
    return value


def _python_calls(text: str, at: int) -> tuple[list[WrittenCall | None], int]:
    calls, at = list[WrittenCall | None](), _sign(text, at, "[")[1]
    while (after := _match(_SIGN, text, at))[1] != "]":
        called = _match(_CALLED, text, at)
        told, at = dict[str, Json](), called.end()
        while (last := _match(_SIGN, text, at))[1] != ")":
            keyword = _match(_KEYWORD, text, at)
            if keyword[1] in told:
                raise Unreadable(at)
            told[keyword[1]], at = value_at(text, keyword.end())
            if _sign(text, at, ",)")[0] == ",":
                at = _sign(text, at, ",")[1]
        calls.append(WrittenCall(_bare_name(called[1]), told))
        at = last.end()
        if _sign(text, at, ",]")[0] == ",":
            at = _sign(text, at, ",")[1]
    return calls, after.end()


def _parameters(text: str, at: int, spelling: Spelling, properties: Mapping[str, Json]) -> tuple[dict[str, Json], int]:
    told: dict[str, Json] = {}
    pair = re.compile(spelling.pair, re.DOTALL)
    while found := pair.match(text, at):
        name, typed, value = found.groups()
        if name in told:
            raise Unreadable(at)
        told[name] = _typed(value.removeprefix("\n").removesuffix("\n"), properties.get(name), typed)
        at = found.end()
    return told, _match(_FENCE, text, at).end()


def _typed(text: str, shape: Json, typed: str) -> Json:
    """A parameter that stands in tags, where nothing but the schema of its tool, or an attribute, says what it is."""
    shape = shape if isinstance(shape, Mapping) else {}
    kinds = shape.get("type") or []
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if typed == "true" or (typed != "false" and kinds in ([], ["string"])):
        return text
    try:
        value = whole(text)
    except Unreadable:
        return text
    fits = not kinds or value is None or _KINDS[type(value)] in kinds or not {"number", "integer"}.isdisjoint(kinds)
    return value if fits and not (isinstance(value, str) and kinds) else text


def call_of(value: Json) -> WrittenCall | None:
    """The call that a value of JSON is, in whatever it is wrapped."""
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    given = [value[name] for name in ("arguments", "parameters") if name in value]
    if len(given) > 1 or (not given and value.keys() - {"name", "id", "type", "index"}):
        return None
    return WrittenCall(_bare_name(value["name"]), given[0] if given else None)


def _bare_name(name: str) -> str:
    return name.strip().removeprefix("functions.")
