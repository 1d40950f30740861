"""Calls of tools are read however a family of models writes them, repaired where that has one meaning, not guessed."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.chat import Message
from evosyn.text.tool_calls import ToolCall, as_chat, heard, heard_all, said_with, spoken
from evosyn.text.tool_dialects import SPELLINGS, TOOL_DIALECTS
from evosyn.thinking import without_thinking
from tests.text.tool_forms import ARGS, EXPECTED, FORMS, HERMES, TOOLS, WRITERS

CALL = ToolCall("renew", ARGS)
NONE = ToolCall("", {})
NAMED = [name for name in TOOL_DIALECTS if name != "auto"]
FIRST, SECOND = {**ARGS, "loan": "L1"}, {**ARGS, "loan": "L2"}


def read(text, dialect="auto", tools=TOOLS):
    return [one and one._replace(say="") for one in heard_all(text, dialect, tools)]


def two_in(dialect):
    first, second = (WRITERS[dialect]("renew", args) for args in (FIRST, SECOND))
    return f"{first[:-1]}, {second[1:]}" if dialect == "pythonic" else f"{first}\n{second}"


def test_every_dialect_is_in_the_table_and_can_be_written():
    assert {one.dialect for one in SPELLINGS} == set(NAMED) == set(WRITERS)


@pytest.mark.parametrize("form", FORMS)
def test_a_call_in_a_form_of_todays_families_is_read(form):
    assert read(FORMS[form]) == [ToolCall("renew", EXPECTED[form])]


@pytest.mark.parametrize("dialect", NAMED)
def test_a_dialect_is_read_by_its_name_and_by_its_marks(dialect):
    one = WRITERS[dialect]("renew", ARGS)
    for name in (dialect, "auto"):
        assert read(one, name) == [CALL]
        assert read(two_in(dialect), name) == [ToolCall("renew", FIRST), ToolCall("renew", SECOND)]
        assert read(f"I renew it now.\n\n{one}\n\nThen we shall see.", name) == [CALL]
        assert read(WRITERS[dialect]("list_loans", {}), name) == [ToolCall("list_loans", {})]
    assert heard(f"Now.\n```\n{one}\n```", dialect, TOOLS).say == "Now."
    assert read(f"Now.\n{one}".replace("\n", "\r\n")) == [CALL]
    first, second = (WRITERS[dialect]("renew", args) for args in (FIRST, SECOND))
    quoted = f"<think>I could write\n{first}\nbut no.</think>\n{second}"
    assert read(without_thinking(quoted).answer) == [ToolCall("renew", SECOND)]


@pytest.mark.parametrize("dialect", NAMED)
def test_a_call_that_is_cut_anywhere_is_no_call(dialect):
    whole = WRITERS[dialect]("renew", ARGS)
    last = whole.rindex("true" if dialect != "pythonic" else "True")  # with the last value all of it may be there
    for end in range(last + 1):
        assert not [one for one in read(whole[:end]) if one and one.name], whole[:end]
        good = read(f"{two_in(dialect)[: -len(whole) - 1]}\n{whole[:end]}") if dialect != "pythonic" else []
        assert [one for one in good if one and one.name] in ([], [ToolCall("renew", FIRST)])


@pytest.mark.parametrize("other", NAMED)
@pytest.mark.parametrize("dialect", NAMED)
def test_a_dialect_that_was_named_reads_no_other(dialect, other):
    if dialect != other and (dialect, other) != ("llama3_json", "hermes"):  # an object alone on its line
        assert not any(one and one.name for one in read(WRITERS[other]("renew", ARGS), dialect))


BAD = (
    '<tool_call>{"name": "renew", "arguments": {"loan": nothing}}</tool_call>',
    '<tool_call>{"name": "renew", "arguments": {"loan": "L1}}\n</tool_call>',
    '<tool_call>\n{"name": "renew", "arguments": {"loan": "L1"}\n<tool_call>\n{"name": "renew",'.rpartition("\n<")[0],
    "<tool_call>\nrenew it\n</tool_call>",
    '<tool_call>{"name": "renew", "arguments": {}, "parameters": {}}</tool_call>',
    '<tool_call>{"name": "renew", "name": "list_loans", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "renew", "loan": "L1"}</tool_call>',
    '<tool_call>{"name": "renew", "arguments": {}}}</tool_call>',
    '<tool_call>{"name": "renew", "arguments": {"loan": {1: 2}}}</tool_call>',
    "<tool_call>\n<function=renew>\n<parameter=loan>\nL1\n</function>\n</tool_call>",
    "<function=renew>\n<parameter=loan>\nL1\n<parameter=weeks>\n2\n</parameter>\n</function>",
    "<tool_call>\n<function=renew>\n<parameter=loan>\n1\n</parameter>\n<parameter=loan>\n2\n</parameter>\n</function>\n</tool_call>",
)  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_an_unreadable_call_keeps_its_place_and_those_behind_it_count(bad):
    assert read(f"{HERMES}\n{bad}\n{HERMES}") == [CALL, NONE, CALL]
    assert heard(f"{bad}\n{HERMES}", "auto", TOOLS) is None, "the first action counts"


def test_a_line_that_is_no_call_costs_none_of_the_lines_beside_it():
    good = json.dumps({"name": "renew", "parameters": ARGS})
    bad = '{"name": "renew", "parameters": {"loan": }}'
    assert read(f'{good}\n{bad}\n{{"name": "Blue"}}\n{good}') == [CALL, NONE, CALL]
    assert read(f"{good}\n{bad[:-4]}") == [CALL, None]


@pytest.mark.parametrize("dialect", ["qwen3_coder", "glm45", "minimax_m2", "deepseek_v32"])
def test_a_value_with_tags_of_parameters_has_two_meanings_and_is_no_call(dialect):
    inner = f"cat <<E\n{WRITERS[dialect]('renew', FIRST)}\n{WRITERS[dialect]('list_loans', {})}\nE"
    assert not [one for one in read(WRITERS[dialect]("renew", {**ARGS, "loan": inner})) if one and one.name]


def test_of_two_objects_none_is_dropped():
    first, second = (json.dumps({"name": "renew", "arguments": args}) for args in (FIRST, SECOND))
    for between in ("\n", "; ", ", ", ""):
        text = f"<tool_call>{first}{between}{second}</tool_call>"
        assert read(text) == [ToolCall("renew", FIRST), ToolCall("renew", SECOND)]


def test_a_call_that_ends_the_text_too_early_is_told_apart_from_one_that_is_wrong():
    assert read(f'{HERMES}\n<tool_call>\n{{"name": "renew", "arguments": {{"loan": "rm -rf FOLDER') == [CALL, None]
    assert read(f"{HERMES}\n<tool_call>\nrenew it\n</tool_call>") == [CALL, NONE]
    assert heard('<tool_call>{"name": "bash", "arguments": {"script": "rm -rf FOLDER', "auto", TOOLS) is None


def test_a_call_in_the_values_of_one_that_is_cut_is_none():
    inner = WRITERS["qwen3_coder"]("list_loans", {})
    for dialect in ("qwen3_coder", "glm45", "hermes", "minimax_m2"):
        text = WRITERS[dialect]("renew", {**ARGS, "loan": f"cat <<E\n{inner}\nE"})
        assert read(text) == [ToolCall("renew", {**ARGS, "loan": f"cat <<E\n{inner}\nE"})]
        assert not [one for one in read(text[: text.index("E", text.index("list_loans"))]) if one and one.name]
    text = WRITERS["hermes"]("renew", {"loan": "LOAN"}).replace("LOAN", f"cat\n{inner}\n")
    assert read(text) == [ToolCall("renew", {"loan": f"cat\n{inner}\n"})]
    assert not [one for one in read(text[:-20]) if one and one.name]


MENTIONS = (
    "<tool_call>", "In `<tool_call>` tags.", "<tool_call>JSON</tool_call>", "<tool_call> and </tool_call>",
    'Rooms: {"name": "Blue", "beds": 2}', "[1, 2]", "[print(1)]", '```json\n{"name": "Blue"}\n```', "[TOOL_CALLS]",
    "to=functions.", "<invoke name=",
)  # fmt: skip


@pytest.mark.parametrize("text", MENTIONS)
def test_what_only_looks_like_a_call_is_none(text):
    assert not [one for one in read(text) if one]
    assert read(f"{text} {HERMES}")[-1] == CALL


TYPED = (
    ("weeks", "907", 907), ("weeks", "907.0", 907.0), ("weeks", "nine", "nine"), ("weeks", "null", None),
    ("weeks", '"907"', '"907"'), ("fast", "true", True), ("fast", "False", False), ("fast", "yes", "yes"),
    ("loan", "907", "907"), ("loan", "true", "true"), ("loan", '{"a": 1}', '{"a": 1}'), ("loan", "  x ", "  x "),
)  # fmt: skip


@pytest.mark.parametrize(("name", "text", "value"), TYPED)
@pytest.mark.parametrize("dialect", ["qwen3_coder", "glm45", "minimax_m2"])
def test_a_parameter_in_tags_has_the_type_of_its_schema(dialect, name, text, value):
    (call,) = heard_all(WRITERS[dialect]("renew", {name: text}), dialect, TOOLS)
    assert call.arguments == {name: value} and type(call.arguments[name]) is type(value)


@pytest.mark.parametrize("dialect", [one for one in NAMED if one not in ("qwen3_coder", "glm45", "minimax_m2")])
def test_a_text_stays_a_text_where_the_dialect_has_types(dialect):
    (call,) = heard_all(WRITERS[dialect]("renew", {"weeks": "907"}), dialect, TOOLS)
    assert call.arguments == {"weeks": "907"}


texts = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
arguments = st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), values, max_size=4)


@given(st.lists(st.tuples(st.sampled_from(["renew", "list_loans", "a.b-c"]), arguments), min_size=1, max_size=4))
def test_what_is_spoken_is_read_as_it_was(calls):
    wanted = [ToolCall(name, args) for name, args in calls]
    text = "\n".join(map(spoken, wanted))
    assert read(text) == read(text, "hermes", ()) == wanted
    (turn,) = as_chat([Message("assistant", text)])
    assert read(said_with("", turn["tool_calls"])) == wanted


@pytest.mark.parametrize("dialect", ["mistral", "llama3_json", "deepseek_v3", "deepseek_v31", "kimi_k2", "openai"])
@given(args=arguments)
def test_all_that_json_has_is_read_in_the_dialects_of_json(dialect, args):
    assert read(WRITERS[dialect]("renew", args)) == [ToolCall("renew", args)]


def _leaves(value):
    if isinstance(value, dict):
        return [leaf for name, one in value.items() for leaf in (name, *_leaves(one))]
    return [leaf for one in value for leaf in _leaves(one)] if isinstance(value, list) else [value]


def _stands_in(leaf, text):
    ways = {repr(leaf), str(leaf), json.dumps(leaf), json.dumps(leaf, ensure_ascii=False), json.dumps(leaf)[1:-1]}
    return isinstance(leaf, float) or any(way in text for way in ways)


PIECES = st.sampled_from([
    *(one.mark for one in SPELLINGS), *(one.closes for one in SPELLINGS), *FORMS.values(),
    '{"name": "renew", "arguments": ', '{"loan": "a', '"b"', "'c'", "1", "true", *"{}[]\"',:\\\n", "<parameter=loan>",
    "</parameter>", "renew", "(loan=", "<arg_key>loan</arg_key>", "<arg_value>", "</arg_value>", "```json\n", "```",
])  # fmt: skip


@settings(max_examples=400)
@given(st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join), st.sampled_from(TOOL_DIALECTS))
def test_no_text_raises_and_every_value_that_is_read_stands_in_it(text, dialect):
    for call in heard_all(text, dialect, TOOLS):
        for leaf in _leaves(dict(call.arguments)) if call else []:
            assert _stands_in(leaf, text), (leaf, text)


HOSTILE = (
    "<tool_call>", "<tool_call>{", '<tool_call>{"', "<tool_call>[", "<tool_call>x\n", "<tool_call>a</tool_call>",
    "<tool_call>x<arg_key>a</arg_key><arg_value>", "<function=a><parameter=b>", "<function=a>", "[TOOL_CALLS]a{",
    '<invoke name="a"><parameter name="b">', "to=functions.a ", "to=functions.a<|message|>{", "[TOOL_CALLS][", "{[",
    '\n{"', "\n{'", '\n{"a": ', "\n[{\n", "\n[f(", "\n[f(a=1,", "\n[[],", *"'\" \n\\", '"\\', "```json\n{", "\n ",
    '<tool_call>{"</tool_call>', "<tool_call>['</tool_call>,\"", "<｜tool▁call▁begin｜>a<｜tool▁sep｜>{", "a.b",
    "<|tool_call_begin|>a", '\n{"name": "renew", "arguments": {"a": [1, 1, 1, 1, 1, 1, 1], "b":', *BAD, *FORMS.values(),
    '\n{"name":"renew","loan":"',
)  # fmt: skip


def _seconds(text):
    begun = time.process_time()
    heard_all(text, "auto", TOOLS)
    return time.process_time() - begun


@pytest.mark.parametrize("piece", HOSTILE)
def test_reading_takes_linear_time(piece):
    marks = "".join(one.mark for one in SPELLINGS)
    for begins in ("", marks):
        few, many = (_seconds(begins + piece * (size // len(piece))) for size in (2**15, 2**18))
        assert many < 24 * few + 0.2  # eight times the text


def test_depth_is_bounded():
    for opens in ('{"a":', "["):
        for deep, readable in ((40, True), (200, False), (50_000, False)):
            closes = {"[": "]", '{"a":': "}"}[opens]
            text = HERMES.replace("2", opens * deep + "1" + closes * deep)
            assert (read(text)[0].name == "renew") is readable
