"""Turns of agents and of users, written by hand to the requests of `evosyn world rollout`, through the whole command."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.agents.users import LONGEST_SAID, PROFILES, ModelUser, leak
from evosyn.chat import Reply
from evosyn.cli import group
from evosyn.dataset import read_dataset
from evosyn.domains import domain
from evosyn.domains.tool_tasks import problem_of
from evosyn.domains.tool_use import place_in
from evosyn.randomness import SeedTree
from evosyn.synthesis.exports import export_dataset
from evosyn.worlds.tools.files import read_tasks, read_world
from evosyn.worlds.tools.users import DONE
from tests.recorded.playing import HERE, teacher, written

RECORDED = HERE / "world-turns"
GOLDEN = Path(__file__).parents[1] / "golden" / "prompts" / "tool-use.user.md"
TASKS = read_tasks("builtin:library")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    place = tmp_path_factory.mktemp("world-turns") / "r"
    line = ["world", "rollout", "builtin:library", "--limit", "3", "--episodes", "2", "--user", "model"]
    ended = CliRunner().invoke(group, [*line, "--teacher", teacher(RECORDED), "--out", str(place)])
    assert not ended.exception, (ended.output, ended.exception)
    return place


@pytest.fixture
def episodes(out):
    lines = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
    return {(next(task.index for task in TASKS if task.id == one["task"]), one["sample"]): one for one in lines}


def test_there_are_twelve_replies_of_each_kind():
    assert written(RECORDED, "turn") >= 12 and written(RECORDED, "user") >= 12


def test_right_work_is_paid_and_careless_work_is_not(out, episodes):
    assert {name: one["reward"] for name, one in episodes.items()} == {
        (0, 0): 1.0, (1, 0): 1.0, (2, 0): 1.0, (0, 1): 0.0, (1, 1): 0.0, (2, 1): 0.0,
    }  # fmt: skip
    report = json.loads((out / "report.json").read_text())
    assert report["avg@2"] == 0.5 and report["pass@2"] == 1.0 and report["pass^2"] == 0.0 and report["unknown"] == 0
    assert report["invalid_calls"] == 1, "days as a text"


def test_what_the_user_may_not_say_is_drawn_again(out, episodes):
    report = json.loads((out / "report.json").read_text())
    assert report["user"]["kind"] == "model" and report["user"]["redrawn"] == {"empty": 1, "key": 1, "tool": 1}
    told = [
        call["out"] for one in episodes.values() for call in one["trajectory"]["calls"] if call["tool"] == "ask_user"
    ]
    assert len(told) == report["user"]["asked"] == written(RECORDED, "user") - 2
    assert not any("M3601" in one or "list_copies" in one or "###" in one or "<think>" in one for one in told)
    assert told.count(DONE) == 2


def test_a_reply_without_a_call_is_a_word_to_the_user(episodes):
    calls = episodes[0, 1]["trajectory"]["calls"]
    assert calls[0]["tool"] == "ask_user" and calls[0]["args"]["message"].startswith("I'm sorry")
    assert calls[0]["out"].startswith("You are the desk.")


def test_every_reply_is_played(episodes):
    calls = sum(len(one["trajectory"]["calls"]) for one in episodes.values())
    assert calls == written(RECORDED, "turn") - 1, "each turn of an agent is a call, but for the one that is cut off"


def test_episodes_with_a_user_are_rows_to_learn_from(out, tmp_path):
    samples = read_dataset(out)
    assert len(samples) == 3
    export_dataset(samples, "sft", tmp_path, name="turns")
    rows = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    names = {one["function"]["name"] for one in rows[0]["tools"]}
    assert {"ask_user", "finish", "charge_fine"} <= names and "bash" not in names
    said = [turn["tool_calls"][0]["function"]["name"] for turn in rows[2]["messages"] if "tool_calls" in turn]
    assert said.count("ask_user") == 3 and "Write all calls in one reply" not in rows[0]["messages"][0]["content"]


class Speaks:
    """A model that says one thing."""

    name, simulated = "speaks", True

    def __init__(self, text):
        self.text, self.seen = text, []

    async def complete(self, request):
        self.seen.append(request)
        return Reply("r", self.text, "speaks")

    async def aclose(self):
        pass


def asked(text):
    import asyncio
    from collections import Counter

    speaks, redrawn = Speaks(text), Counter()
    problem = problem_of(read_world("builtin:library"), TASKS[2], user=True)
    user = ModelUser(speaks, SeedTree(0), redrawn)
    return asyncio.run(user.answer(problem, 0, (), "What else?")), speaks


def test_the_prompt_of_a_user_is_what_it_was():
    _, speaks = asked("Nothing.")
    first, said, heard = speaks.seen[0].messages
    assert first.content == GOLDEN.read_text(encoding="utf-8")
    assert (said.content, heard.content) == (TASKS[2].sentences[0], "What else?")
    assert any(profile in first.content for profile in PROFILES)


def test_a_user_is_told_nothing_of_keys_tools_or_what_is_paid():
    _, speaks = asked("Nothing.")
    place = place_in(problem_of(read_world("builtin:library"), TASKS[2], user=True))
    assert all(not leak(place, message.content) for message in speaks.seen[0].messages)
    assert domain("tool-use").name == "tool-use" and speaks.seen[0].problem.human_testing is None


def test_what_a_user_says_is_capped():
    assert len(asked("ab " * 5000)[0]) <= LONGEST_SAID


@pytest.mark.parametrize("text", ["It is M3601.", "Use place_hold.", '<tool_call>{"name": "finish"}</tool_call>'])
def test_a_user_that_always_gives_something_away_makes_the_episode_unknown_and_never_zero(text):
    from evosyn.agents.episodes import ReplyLost

    with pytest.raises(ReplyLost, match="user: "):
        asked(text)
