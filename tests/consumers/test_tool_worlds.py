"""Tasks of tool worlds in others' hands: verifiers' own tool finds them valid, MCP's own client solves one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from simulation import AGENT

from evosyn.worlds.tools.files import read_tasks

pytestmark = pytest.mark.consumers
WORLD, FEW = "builtin:parcel", 4
EVOSYN = [sys.executable, "-P", "-m", "evosyn"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of the written package, installed with pip beside the packages that it asks for."""
    home = tmp_path_factory.mktemp("worlds")
    options = ["--allow-weak-sandbox", "--out", str(home / "world"), "--tasks", str(FEW)]
    subprocess.run([*EVOSYN, "world", "tasks", WORLD, *options], check=True, capture_output=True)
    line = [*EVOSYN, "export", str(home / "world"), "--format", "verifiers", "--out", str(home / "out")]
    subprocess.run([*line, "--name", "parcel tasks"], check=True, capture_output=True)
    line = [sys.executable, "-m", "pip", "install", "-qq", "--no-index", "--no-build-isolation", str(home / "out")]
    subprocess.run(line, check=True, capture_output=True, text=True)
    return "parcel-tasks"


def test_verifiers_own_tool_finds_every_task_valid(package: str, tmp_path: Path) -> None:
    line = [str(Path(sys.executable).with_name("vf-validate")), package, "-n", str(FEW)]
    ended = subprocess.run(
        [*line, "--runtime.type", "subprocess", "-o", str(tmp_path / "run")],
        env={**os.environ, "EVOSYN_ALLOW_WEAK_SANDBOX": "1"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    results = [json.loads(line) for path in (tmp_path / "run").rglob("results.jsonl") for line in path.open()]
    assert len(results) == FEW, ended.stdout + ended.stderr
    assert all(row["valid"] is True and row["gold"]["valid"] and row["noop"]["valid"] for row in results), results


def rolled_out(out: Path) -> list[tuple[str, str]]:
    """What `world rollout` shows the gold agent: (tool, result)."""
    line = [*EVOSYN, "world", "rollout", WORLD, "--agent", f"{AGENT}:gold", "--limit", "1", "--out", str(out)]
    subprocess.run([*line, "--allow-weak-sandbox"], check=True, capture_output=True)
    (episode,) = [json.loads(one) for one in (out / "episodes.jsonl").read_text().splitlines()]
    return [(one["tool"], one["out"]) for one in episode["trajectory"]["calls"] if one.get("out")]


def test_mcps_own_client_sees_what_a_rollout_sees_and_reads_the_reward_at_the_end(tmp_path: Path) -> None:
    from mcp import Client, StdioServerParameters, stdio_client

    task = read_tasks(WORLD)[0]
    environment = {**os.environ, "EVOSYN_ALLOW_WEAK_SANDBOX": "1"}

    async def played(
        calls: list[tuple[str, dict[str, object]]],
    ) -> tuple[list[str], list[tuple[str, str, bool]], list[object]]:
        server = StdioServerParameters(
            command=EVOSYN[0], args=[*EVOSYN[1:], "world", "serve", WORLD, "--task", task.id], env=environment
        )
        async with Client(stdio_client(server)) as client:
            tools = [one.name for one in (await client.list_tools()).tools]
            told = (await client.read_resource("evosyn://task/instruction")).contents[0].text
            assert task.instruction in told
            seen, paid = [], []
            for name, args in [*calls, ("finish", {})]:
                paid.append(json.loads((await client.read_resource("evosyn://task/reward")).contents[0].text))
                result = await client.call_tool(name, args)
                seen.append((name, result.content[0].text, result.is_error))
            paid.append(json.loads((await client.read_resource("evosyn://task/reward")).contents[0].text))
            return tools, seen, paid

    gold = [(name, dict(args)) for name, args in task.reference]
    tools, seen, paid = asyncio.run(played(gold))
    assert sorted(tools) == sorted([*task.shown, "finish"])
    assert [(name, text) for name, text, _ in seen[:-1]] == rolled_out(tmp_path / "r")
    assert not any(wrong for *_, wrong in seen)
    assert {one["over"] for one in paid[:-1]} == {False} and {one["reward"] for one in paid[:-1]} == {None}
    assert paid[-1] == {"over": True, "reward": 1.0}
    _, seen, paid = asyncio.run(played([("no_such_tool", {}), (gold[0][0], {})]))
    assert [wrong for *_, wrong in seen] == [True, True, False] and paid[-1] == {"over": True, "reward": 0.0}
