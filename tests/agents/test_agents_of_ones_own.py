"""An agent by its dotted path, and what an endpoint speaks: through real rooms, and through a whole search."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from simulation import TEACHER
from simulation.scripted_server import ScriptedServer

from evosyn import registry
from evosyn.configs.sampling import SamplingConfig
from evosyn.errors import UsageError
from evosyn.pools import load_pools, write_pools
from evosyn.ports import AgentTools, PluginConfig
from evosyn.synthesis.search.drawing import Wanted, draw_seeds
from evosyn.text.tool_calls import ToolCall
from evosyn.trajectories import trajectory_of
from evosyn.workbench import AgentConfig, TeacherConfig, Workbench, WorkbenchConfig
from tests.agents.test_episodes import bash, episodes, says

ROOT = Path(__file__).parents[2]


def test_an_unknown_dialect_is_refused_once_with_all_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"^agents 'loop': dialect: must be 'text', .*'openai' \(got 'qwen'\)$"):
        registry.make("agents", "loop", AgentTools(), {"dialect": "qwen"})


class PlannerConfig(PluginConfig):
    closing: str = "finish"


class Planner:
    """Asks once for a whole plan, a line a command, does it, and answers with what it saw last."""

    def __init__(self, config):
        self.closing = config.closing

    async def run(self, work):
        assert work.problem.human_testing is None
        plan = (await work.ask(work.opening.followed_by("Write a plan."))).text
        seen = ""
        for line in plan.splitlines():
            seen = await work.do(ToolCall("bash", {"script": line}))
        closing = {"finish": ToolCall("finish", {"thought": ""}), "answer": ToolCall("answer", {"answer": seen})}
        await work.do(closing[self.closing])


def create(tools: AgentTools, config: PlannerConfig) -> Planner:  # noqa: ARG001
    return Planner(config)


class Explorer:
    """Does what the loop does, in words of its own."""

    async def run(self, work):
        from evosyn.agents.loop import LoopAgent, SpeechConfig

        await LoopAgent(SpeechConfig()).run(work)


def explorer(tools: AgentTools, config: PluginConfig) -> Explorer:  # noqa: ARG001
    return Explorer()


NAME = f"{__name__}:create"


def test_an_agent_of_ones_own_works_in_a_room_and_its_options_are_checked(problem):
    with ScriptedServer(lambda *_: "cd /root/d\nls -A | wc -l") as server:
        drawn = episodes(problem, server.base_url, agent={"name": NAME, "closing": "answer"})
        assert server.counts.requests == 1
    run = trajectory_of(drawn.pool.solutions[0].text)
    assert (run.actions, run.answer, run.end) == (("cd /root/d", "ls -A | wc -l"), "2", "answer")
    with pytest.raises(UsageError, match="closing"):
        Workbench(WorkbenchConfig(agent=AgentConfig(name=NAME, clsing="answer")))
    with pytest.raises(UsageError, match="nobody"):
        Workbench(WorkbenchConfig(agent=AgentConfig(name="nobody")))


@pytest.mark.parametrize(
    ("probed", "wanted"),
    [('<tool_call>{"name": "bash", "arguments": {"script": "true"}}</tool_call>', True), ("Sure!", False)],
)
def test_what_an_endpoint_speaks_is_asked_once_and_remembered(problem, tmp_path, probed, wanted):
    asked = []

    def reply(body, times):
        if "do nothing else" in body["messages"][-1]["content"]:
            asked.append("probe")
            return probed
        asked.append("tools" in body)
        return says(bash("true"), "Act: finish")(body, times)

    with ScriptedServer(reply) as server:
        episodes(problem, server.base_url, tmp_path, many=3, agent={"dialect": "auto"})
        assert asked.count("probe") == 1 and asked[0] == "probe"
        assert set(asked[1:]) == {wanted}
        before = server.counts.requests
        episodes(problem, server.base_url, tmp_path, many=3, agent={"dialect": "auto"})
        assert server.counts.requests == before, "a run that goes on asks nothing anew"


def test_a_problem_that_the_machine_cannot_pose_is_left_out_by_name(problem, monkeypatch):
    from evosyn.worlds.shell.kind import ShellWorlds

    monkeypatch.setattr(ShellWorlds, "lacks", lambda _, world: world.needs)
    world = {**problem.payload["world"], "needs": ["uids"]}
    needy = replace(problem, problem_id="needy", payload={**problem.payload, "world": world})
    told = []
    with ScriptedServer(says("Act: finish")) as server:
        teacher = TeacherConfig(model="openai/scripted", base_url=server.base_url, api_key_env="PATH", retries=0)
        with Workbench(WorkbenchConfig(teacher=teacher)) as bench:
            wanted = Wanted(2, 0, SamplingConfig(attempts=1), bench.actors([needy, problem]))
            found = draw_seeds([needy, problem], bench.teacher(), bench.domains, wanted, on_done=told.append)
    assert [len(pool.solutions) for pool in found.pools] == [0, 2] and len(told) == 2
    (row,) = found.rejects
    assert (row.reason, row.item, row.problem_id) == ("lacks-uids", "problem", "needy")
    assert found.unusable == {}


@pytest.mark.long
def test_an_agent_of_ones_own_goes_through_a_whole_search(tmp_path):
    seeds = tmp_path / "seeds.jsonl"
    write_pools(seeds, load_pools("builtin:os-seeds")[::4])
    line = [
        sys.executable,
        "-m",
        "evosyn",
        "evolve",
        str(seeds),
        "-M",
        "4",
        "-N",
        "4",
        "--evaluations",
        "40",
        "--quiet",
        "--teacher",
        TEACHER,
        "--proposer",
        "genetic",
    ]
    whole = []
    for agent in ("loop", f"{__name__}:explorer"):
        out = tmp_path / agent.partition(":")[0]
        done = subprocess.run(
            [*line, "--out", str(out), "--agent", agent],
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
            cwd=ROOT,
        )
        assert done.returncode in (0, 1), done.stderr
        whole.append([[one.text for one in pool.solutions] for pool in load_pools(out / "pools.jsonl.gz")])
        assert json.loads((out / "report.json").read_text())["best"]
    ended = [[[trajectory_of(text).answer for text in texts] for texts in pools] for pools in whole]
    assert ended[0] == ended[1]
