"""How answers are compared, what testings may say, and that a trajectory is read as it was written."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.agents.dialects import read_action, written
from evosyn.chat import Message
from evosyn.domains import domain, load_pools
from evosyn.domains.os_compare import same_answer
from evosyn.domains.os_testings import ObserveBody, ScriptBody, StateBody, verdict_of_check
from evosyn.errors import FormatError
from evosyn.jobs import ItemOutcome, Limits, Status
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.teachers.completions import words
from evosyn.text.tool_calls import ToolCall, as_chat, heard, said_with, spoken
from evosyn.trajectories import ToolUse, Trajectory, of_script, told, trajectory_of
from evosyn.worlds.shell.rooms import cleaned

SHELL = domain("os-shell")
WORLD = {"image": "host"}
QUESTION = Problem("q", "os-shell", "How many are there?", {"world": WORLD, "asks": "answer"})


@pytest.mark.parametrize(
    ("compare", "expected", "given_", "same"),
    [
        ("exact", "a\n", "a", False), ("string", "a\r\nb ", " a\nb", True), ("integer", "042", "42", True),
        ("integer", "42", "The answer is 42", False), ("integer", "x", "x", False), ("number", "0.5", ".5", True),
        ("number", "1", "1.1", False), ("size", "2K", "2048B", True), ("size", "1MB", "1024 KB", True),
        ("lines", "a\nb", "a \n\n b", True), ("set", "a\nb", "b\na\na", True), ("yesno", "yes", "Y.", True),
        ("contains", "b", "abc", True), ("contains", "", "abc", False), ("string", "a", "a" * 70_000, False),
    ],
)  # fmt: skip
def test_answers_are_compared_strictly(compare, expected, given_, same):
    assert same_answer(compare, expected, given_) is same


@given(
    st.sampled_from(["exact", "string", "integer", "number", "size", "lines", "set", "yesno", "contains"]),
    st.text(),
    st.text(),
)
def test_comparing_never_raises_and_a_text_is_itself(compare, one, other):
    assert same_answer(compare, one, other) in (True, False)
    assert same_answer("string", one, one)


@given(st.lists(st.tuples(st.text(), st.text())), st.sampled_from(["answer", "finish", "limit"]), st.text())
def test_a_trajectory_is_read_as_it_was_written(turns, end, answer):
    calls = tuple(ToolUse("bash", {"script": script}, out, 0, "so") for script, out in turns)
    run = Trajectory(calls, end, answer, "st_" + 32 * "0")
    assert trajectory_of(run.text) == run
    assert told(run.text)


def test_what_is_no_trajectory_is_refused_by_its_field_or_is_a_script():
    assert trajectory_of("echo 1") == of_script("echo 1")
    assert trajectory_of('{"a": 1').unrun
    for text in (
        '{"v": 2, "calls": []}',
        '{"v": 1, "calls": 3, "end": "limit"}',
        '{"v":1,"calls":[],"end":"finish","state":"../x"}',
    ):
        with pytest.raises(FormatError):
            trajectory_of(text)


@given(st.text(), st.text())
def test_a_call_is_heard_as_it_was_spoken(script, say):
    if "<tool_call>" not in say and "<tool_call>" not in script:
        call = ToolCall("bash", {"script": script}, say.strip())
        assert heard(spoken(call)) == call
    heard(say)


BROKEN_CALLS = (
    "{}", "[]", "null", '"name"', "{", '{"arguments": {}}', '{"name": "bash", "script": "ls"}',
    '{"name": 1, "arguments": {}}',
    '{"name": "bash", "arguments": 1}', '{"name": "bash", "arguments": []}', '{"name": "bash", "arguments": "[1]"}',
    '{"name": "bash", "arguments": {"script": NaN}}', '{"name": "bash", "arguments": {"script": 1e999}}',
    '{"name": "bash", "arguments": {"script": ' + "9" * 5000 + "}}",
    '{"name": "bash", "arguments": ' + '{"a":' * 400 + "1" + "}" * 400 + "}",
    '{"name": "bash", "arguments": {"script": ' + "[" * 100_000 + "]" * 100_000 + "}}",
)  # fmt: skip


@pytest.mark.parametrize("body", BROKEN_CALLS)
def test_what_is_no_call_is_none_and_ends_nobody(body):
    assert heard(f"<tool_call>{body}</tool_call>") is None
    assert read_action(f"<tool_call>{body}</tool_call>") is None


ODD_MESSAGES = (
    {"content": 1}, {"content": {"text": "x"}}, {"content": ["x", None, {"type": "text", "text": 3}]},
    {"tool_calls": "bash"}, {"tool_calls": {"0": 1}}, {"tool_calls": [None]}, {"tool_calls": [{"function": None}]},
    {"tool_calls": [{"function": {"name": None}}]}, {"tool_calls": [{"function": {"name": "a", "arguments": 7}}]},
    {"tool_calls": [{"function": {"name": "a", "arguments": '{"script": 1e999}'}}]},
)  # fmt: skip


def _said(message):
    return said_with(words(message.get("content")), message.get("tool_calls"))


@pytest.mark.parametrize("message", ODD_MESSAGES)
def test_an_endpoint_that_says_odd_things_is_read_as_a_text(message):
    assert heard(_said(message)) is None


def test_arguments_that_an_endpoint_gives_as_an_object_are_heard():
    said = _said({"tool_calls": [{"function": {"name": "bash", "arguments": {"script": "ls"}}}]})
    assert heard(said) == ToolCall("bash", {"script": "ls"})


def test_a_call_without_arguments_has_none():
    assert heard(_said({"tool_calls": [{"function": {"name": "list_rooms"}}]})) == ToolCall("list_rooms", {})


@pytest.mark.parametrize(
    "reply",
    [
        'x \ud800<tool_call>{"name": "bash", "arguments": {"script": "echo \\ud800", "\\udfff": 1}}</tool_call>',
        "x \ud800\n\nAct: bash\n\n```bash\necho \ud800\n```",
        "\ud800",
    ],
)
def test_half_of_a_surrogate_pair_goes_into_no_request_and_no_file(reply):
    act = read_action(reply)
    chat = [
        Message("user", "\ud800"),
        Message("assistant", reply),
        Message("assistant", written(act, "tools") if act else ""),
    ]
    json.dumps(as_chat(chat), ensure_ascii=False).encode("utf-8")
    if act:
        Trajectory((ToolUse(act.name, act.arguments, say=act.say),), "finish").text.encode("utf-8")


def test_a_record_that_cannot_be_written_again_is_no_trajectory():
    text = '{"v":1,"calls":[{"tool":"bash","args":{"script":1e999},"out":"","status":0}],"end":"finish"}'
    assert trajectory_of(text) == of_script(text)


def test_control_characters_of_both_kinds_are_not_shown():
    data = "a\x1b[31mb\x9b31mc\x1b]0;title\x07d\x9d0;title\x9ce\x85f\x00g\x7fh\ti\n".encode()
    assert cleaned(data) == "abcdefgh\ti\n"


# ------------------------------------------------------------------------------------------------- what is cut
@pytest.mark.parametrize(
    "check",
    [
        StateBody(script=ScriptBody(code="x")),
        StateBody(script=ScriptBody(code="x"), accept="exit"),
        ObserveBody(observe=ScriptBody(code="x"), expect="true", compare="contains"),
    ],
)
def test_output_of_which_the_end_was_not_read_passes_nobody(check):
    def verdict(truncated):
        value = {"out": "true\n", "err": "", "exit": 0, "truncated": truncated}
        return verdict_of_check(check, "", ItemOutcome(Status.OK, value)).verdict

    assert (verdict(truncated=False), verdict(truncated=True)) == (Verdict.PASS, Verdict.KILLED)


@pytest.mark.parametrize("answer", ["two\0", "two\ud800", "two" + " " * 70_000, "\u20ac" * 30_000])
def test_an_answer_that_is_no_text_or_without_end_is_wrong_and_nothing_is_asked_of_it(answer):
    run = Trajectory((ToolUse("answer", {"answer": answer}),), "answer", answer, "st_" + 32 * "0")
    testings = (
        Testing("value", {"expected": "two", "compare": "contains"}),
        Testing("state", {"script": {"code": "exit 0"}, "accept": "exit"}),
    )
    task = replace(QUESTION, payload={"world": WORLD, "asks": "state"})
    plan = SHELL.plan(task, Solution(run.text), testings, Limits())
    assert not plan.jobs
    assert [one.verdict for one in plan.judge(())] == [Verdict.FAIL, Verdict.FAIL]


def test_an_answer_that_was_printed_and_cut_is_wrong():
    testing = Testing("value", {"expected": "two", "compare": "contains"})
    plan = SHELL.plan(QUESTION, Solution("yes two"), (testing,), Limits())
    for truncated, wanted in ((False, Verdict.PASS), (True, Verdict.FAIL)):
        said = ItemOutcome(Status.OK, {"out": "two", "err": "", "exit": 0, "truncated": truncated})
        assert [one.verdict for one in plan.judge([(said,)])] == [wanted]


def test_rows_for_training_hold_calls_of_tools_with_what_they_gave():
    run = Trajectory((ToolUse("bash", {"script": "ls"}, "a", 0), ToolUse("answer", {"answer": "1"})), "answer", "1")
    said, shown, last = as_chat(SHELL.show(QUESTION, Solution(run.text)), encoded=False)
    assert said["tool_calls"][0]["function"] == {"name": "bash", "arguments": {"script": "ls"}}
    assert shown == {"role": "tool", "content": "a"}
    assert last["tool_calls"][0]["function"]["arguments"] == {"answer": "1"}


def test_a_question_is_not_judged_by_what_is_left_behind():
    state = Testing("state", {"script": {"code": "echo true"}})
    assert "wrong-kind" in SHELL.check_testing(QUESTION, state)
    nested = Testing("checks", {"checks": [{"kind": "state", "body": state.body}]})
    assert "wrong-kind" in SHELL.check_testing(QUESTION, nested)
    with pytest.raises(FormatError, match=r"checks\[0\]"):
        SHELL.check_shape(Testing("checks", {"checks": [{"kind": "value", "body": {}}]}))


def test_solutions_with_the_same_answer_or_state_are_one():
    def run(answer, state):
        return Solution(Trajectory((ToolUse("bash", {"script": answer}, "", 0),), "answer", answer, state).text)

    change = Problem("c", "os-shell", "Change it.", {"world": WORLD, "asks": "state"})
    one, other = "st_" + 32 * "1", "st_" + 32 * "2"
    assert SHELL.same(QUESTION, run("2", one)) == SHELL.same(QUESTION, run(" 2\n", other))
    assert SHELL.same(change, run("2", one)) != SHELL.same(change, run("2", other))
    assert SHELL.same(QUESTION, Solution(Trajectory((), "limit").text)) != SHELL.same(QUESTION, run("2", one))


def test_the_bundled_seeds_are_what_their_families_make_and_hold_twelve_of_them():
    from simulation.seeds import HOME
    from simulation.shell_author.tasks import seed_problems

    from evosyn.pools import problem_to_json

    written = [json.loads(line) for line in (HOME / "os_seeds" / "seeds.jsonl").read_text().splitlines()]
    assert written == [problem_to_json(problem) for problem in seed_problems()], "run python -m simulation.seeds"
    seeds = load_pools("builtin:os-seeds")
    assert len({pool.problem.meta["family"] for pool in seeds}) >= 12
    assert {pool.problem.payload["asks"] for pool in seeds} == {"answer", "state"}
