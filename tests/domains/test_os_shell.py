"""How answers are compared, what testings may say, and that a trajectory is read as it was written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.domains import domain, load_pools
from evosyn.domains.os_compare import same_answer
from evosyn.errors import FormatError
from evosyn.records import Problem, Solution, Testing
from evosyn.toolcalls import ToolCall, as_chat, heard, spoken
from evosyn.trajectories import ToolUse, Trajectory, of_script, told, trajectory_of

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
    from docs.seeds import HOME
    from evosyn.pools import problem_to_json
    from evosyn.simulation.shell_author.tasks import seed_problems

    written = [json.loads(line) for line in (HOME / "os_seeds" / "seeds.jsonl").read_text().splitlines()]
    assert written == [problem_to_json(problem) for problem in seed_problems()], "run python -m docs.seeds"
    seeds = load_pools("builtin:os-seeds")
    assert len({pool.problem.meta["family"] for pool in seeds}) >= 12
    assert {pool.problem.payload["asks"] for pool in seeds} == {"answer", "state"}
