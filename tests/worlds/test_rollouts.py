"""Agents in tool worlds: the acceptance table, users, rows to learn from, and what our own failures do not do."""

import asyncio
import json

import pytest
from simulation.agents import ScriptedConfig, create
from tool_shop import FIND, rows, shop

from evosyn.agents.tool_ways import RULES, ToolWays
from evosyn.chat import Reply
from evosyn.crossexec.judge import Cell
from evosyn.dataset import read_dataset
from evosyn.domains.tool_use import MOST_CALLS, PLAN, ToolTask, place_in, task_payload
from evosyn.errors import UsageError
from evosyn.jobs import ItemOutcome, Status
from evosyn.ports import AgentTools
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.synthesis.recipes import worlds as recipe
from evosyn.synthesis.recipes.worlds import (
    RolloutPlan,
    figures,
    plan_of,
    problem_of,
    roll_out,
    rows_of_world,
    write_rollout,
)
from evosyn.text.tool_calls import ToolCall, spoken
from evosyn.train.data import sft_rows, tasks_of
from evosyn.train.scoring import reward_judge
from evosyn.trajectories import ToolUse, Trajectory
from evosyn.workbench import Workbench
from evosyn.worlds.tools.files import bundled, read_tasks, read_world
from evosyn.worlds.tools.kind import ToolPlace
from evosyn.worlds.tools.playing import Play, Player, ToolCalled
from evosyn.worlds.tools.records import ToolWorld

FEW = 3


@pytest.fixture(scope="module")
def bench():
    with Workbench() as opened:
        yield opened


@pytest.fixture
def scripted(bench, monkeypatch):
    """The bench with an agent that follows a script."""

    def follow(script):
        made = create(AgentTools(), ScriptedConfig(script=script))
        monkeypatch.setattr(bench, "agent", lambda: made)
        return bench

    return follow


def planned(name="library", user="none", tasks=FEW, episodes=1):
    source = f"builtin:{name}"
    return RolloutPlan(read_world(source), read_tasks(source)[:tasks], user, episodes, 0)


@pytest.mark.parametrize("name", bundled())
@pytest.mark.parametrize(("agent", "worth"), [("gold", 1.0), ("noop", 0.0), ("greedy-distractor", 0.0)])
def test_scripted_agents_are_paid_what_they_deserve(scripted, name, agent, worth):
    plan = planned(name)
    report = figures(plan, roll_out(scripted(agent), plan), agent)
    assert report["avg@1"] == report["pass^1"] == worth
    assert report["unknown"] == report["invalid_calls"] == 0 and report["simulated"]


@pytest.mark.long
@pytest.mark.parametrize(("agent", "low", "high"), [("gold", 1, 1), ("noop", 0, 0), ("greedy-distractor", 0, 0), ("random", 0, 0.01), ("sloppy:0.2", 0.3, 0.9)])  # fmt: skip
def test_the_acceptance_table(scripted, agent, low, high):
    rates, bench = [], scripted(agent)
    for name in bundled():
        plan = planned(name, tasks=None, episodes=2)
        rates.append(figures(plan, roll_out(bench, plan), agent)["avg@2"])
    assert low <= sum(rates) / len(rates) <= high


def test_the_reference_is_paid_as_a_plan_and_with_its_tools_left_out_is_not(bench):
    world, (task, *_) = read_world("builtin:clinic"), read_tasks("builtin:clinic")
    problem = problem_of(world, task)
    calls = json.loads(plan_of(task).text)["calls"]
    half = Solution(Trajectory(tuple([ToolUse(one["tool"], one["args"]) for one in calls[:-1]]), "finish").text)
    unended = Solution(Trajectory(tuple([ToolUse(one["tool"], one["args"]) for one in calls]), "limit").text)
    odd = [("no_tool", {}), (calls[0]["tool"], {"x": 1}), *task.reference, ("no_tool", {})]
    odd = Solution(Trajectory(tuple([ToolUse(*one) for one in odd]), "finish").text)
    cells = [Cell(problem, one, recipe.testing_of(task)) for one in (plan_of(task), half, unended, odd)]
    wanted = [Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.PASS]  # a call that is none costs itself alone
    assert [one.verdict for one in bench.judge.verify(cells)] == wanted
    domain = bench.domains["tool-use"]
    said = "\n".join(spoken(ToolCall(one["tool"], one["args"])) for one in calls)
    told = json.loads(domain.read("solution", f"I will do it.\n{said}", problem).value.text)
    assert [(one["tool"], one["args"]) for one in told["calls"]] == [(one["tool"], one["args"]) for one in calls]
    assert domain.read("solution", "I did it.", problem).reason.startswith("no-call")


class Lost:
    """A sandbox that fails."""

    def run(self, jobs, **_):
        return [(ItemOutcome(Status.INFRASTRUCTURE, detail="gone"),) for _ in jobs]


def test_an_episode_that_our_own_machinery_spoils_is_unknown_and_never_zero(scripted, monkeypatch):
    bench = scripted("gold")
    assert bench.judge  # has its sandbox
    monkeypatch.setitem(bench.__dict__, "sandbox", Lost())
    plan = planned(tasks=1)
    rolled = roll_out(bench, plan)
    report = figures(plan, rolled, "gold")
    assert [one.reward for one in rolled] == [None] and rolled[0].episode.lost == "room"
    assert report["unknown"] == 1 and report["avg@1"] is None and report["dropped"] == {}


class Talker:
    """Asks what else there is, then does the reference."""

    def __init__(self, task):
        self._task = task

    async def run(self, work):
        ways = work.ways
        for _ in range(3):
            said = await work.do(ways.read_action("Is there anything else?"))
            self.last = said
        for name, args in self._task.reference:
            await work.do(ToolCall(name, args))
        await work.do(ToolCall("finish", {}))


def test_with_a_user_the_agent_is_told_the_rest_when_it_asks(bench):
    world = read_world("builtin:library")
    task = next(one for one in read_tasks("builtin:library") if len(one.sentences) > 1)
    problem = problem_of(world, task, user=True)
    assert problem.statement == task.sentences[0] and task.sentences[1] not in problem.statement
    domain, agent = bench.domains["tool-use"], Talker(task)
    actor = bench.tool_actor(agent)

    async def nobody(_number, _request):
        return Reply("r", "", "none")

    episode = asyncio.run(actor.solve(problem, domain.ask("solution", problem, 0, {}), nobody))
    run = episode.trajectory
    assert (
        run.calls[0].tool == "ask_user"
        and run.calls[0].out == task.sentences[1]
        and agent.last == "That is all, thank you."
    )
    (result,) = bench.judge.verify([Cell(problem, Solution(run.text), recipe.testing_of(task))])
    assert result.verdict is Verdict.PASS
    assert '"name": "ask_user"' in json.dumps(ToolWays(place_in(problem)).TOOLS)


class Speaker:
    """A model that writes the reference, a call a reply, in the text form."""

    name, simulated = "speaker", True

    def __init__(self, tasks):
        self._said = {
            task.instruction: [*[spoken(ToolCall(*one)) for one in task.reference], spoken(ToolCall("finish", {}))]
            for task in tasks
        }
        self.seen = []

    async def complete(self, request):
        self.seen.append(request)
        said = next(said for told, said in self._said.items() if told in request.messages[0].content)
        turn = sum(one.role == "assistant" for one in request.messages)
        return Reply(f"r{len(self.seen)}", said[turn], "speaker")

    async def aclose(self):
        pass


def test_a_model_in_plain_text_makes_rows_to_learn_from(bench, monkeypatch, tmp_path):
    plan = planned(tasks=2)
    speaker = Speaker(plan.tasks)
    monkeypatch.setattr(bench, "teacher", lambda: speaker)
    monkeypatch.setattr(Workbench, "has_model", True)
    rolled = roll_out(bench, plan)
    assert [one.reward for one in rolled] == [1.0, 1.0] and all(one.simulated for one in rolled)
    assert RULES in speaker.seen[0].messages[-1].content and PLAN not in speaker.seen[0].messages[-1].content
    write_rollout(tmp_path, plan, rolled, bench.domains["tool-use"], "speaker")
    samples = read_dataset(tmp_path)
    rows = sft_rows(samples, 1)
    assert len(samples) == 2 and len(rows) == sum(len(task.reference) + 1 for task in plan.tasks)
    assert all(RULES in row["prompt"][0]["content"] for row in rows)
    assert [one["role"] for one in rows[1]["prompt"]] == ["user", "assistant", "user"]


def test_rows_of_a_world_are_paid_through_the_same_seam(bench):
    world, tasks = read_world("builtin:parcel"), read_tasks("builtin:parcel")[:2]
    samples = rows_of_world(world, tasks, bench.domains["tool-use"])
    cells = [
        Cell(task.problem, Solution(sample.solution), task.testing)
        for sample, task in zip(samples, tasks_of(samples).values(), strict=True)
    ]
    assert [one.verdict for one in bench.judge.verify(cells)] == [Verdict.PASS, Verdict.PASS]
    assert all(PLAN in sample.prompt[-1].content for sample in samples)
    assert [len(sft_rows([one], 1)) for one in samples] == [1, 1]


def test_an_episode_is_judged_with_the_room_that_its_session_had(bench):
    """Eleven results of nearly 100,000 characters, each of which the session allowed, then the right call."""
    find = FIND.replace(
        '"SELECT item_id, name, stock', "\"SELECT item_id, replace(printed, 'x', 'yyyyyyyyyy') AS t, name, stock"
    )
    find = find.replace("printed", "'" + "x" * 9_900 + "'")
    given = shop().model_dump(mode="json")
    given["tools"][0]["source"] = find
    world = ToolWorld.model_validate(given)
    buy = ("buy", {"item_id": "I1000", "count": 2})
    gold = Player(bench.sandbox).one(world, Play(rows(), (ToolCalled(*buy, 12),))).rows
    calls = [*[("find_item", {"name": "Thing 0"})] * 11, buy]
    run = Trajectory(tuple([ToolUse(*one, out="{}", status=0) for one in calls]), "finish")
    problem = Problem("p", "tool-use", "Buy.", payload=task_payload(ToolPlace(world, rows(), ("buy", "find_item"))))
    judge = reward_judge(bench.sandbox, bench.domains)
    (result,) = judge.verify([Cell(problem, Solution(run.text), Testing("final-state", {"gold": gold}))])
    assert result.verdict is Verdict.PASS, result


def test_an_agent_has_no_more_replies_than_calls_that_are_judged():
    problem = problem_of(read_world("builtin:library"), read_tasks("builtin:library")[0])
    ToolTask.model_validate({**problem.payload, "rounds": MOST_CALLS})
    with pytest.raises(ValueError, match="rounds"):
        ToolTask.model_validate({**problem.payload, "rounds": MOST_CALLS + 1})


@pytest.mark.parametrize("name", ["golden", "sloppy:much", "noop:1", "sloppy:2"])
def test_an_agent_that_is_none_is_refused(name):
    with pytest.raises(UsageError, match="greedy-distractor"):
        create(AgentTools(), ScriptedConfig(script=name))
