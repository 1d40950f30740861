"""From seeds to a dataset with a model behind HTTP: a scripted OpenAI-compatible server that misbehaves like one."""

import json
from pathlib import Path

import pytest
from _replies import script
from click.testing import CliRunner
from simulation.scripted_server import Faults, ScriptedServer

from evosyn.cli.synthesize import command
from evosyn.dataset import SETTINGS, read_dataset, read_rejects
from evosyn.domains import load_pools
from evosyn.pools import write_pools
from evosyn.strategies import load_known


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    (tmp_path / "strategy.py").write_text(load_known("codet"))
    pools = {pool.problem.domain: pool for pool in load_pools("builtin:python-seeds")}
    write_pools(tmp_path / "seeds.jsonl", pools.values())
    return tmp_path


def synthesize(folder: Path, server: ScriptedServer, *more: str):
    line = [str(folder / "strategy.py"), "--seeds", str(folder / "seeds.jsonl"), "--out", str(folder / "data")]
    model = ["--model", "openai/scripted", "--base-url", server.base_url, "--api-key-env", "EVOSYN_TEST_KEY"]
    sizes = ["--problems", "8", "-M", "5", "-N", "5", "--json", *more]
    return CliRunner().invoke(command, [*line, *model, *sizes], catch_exceptions=False)


@pytest.mark.slow
def test_every_row_is_traced_to_seed_prompt_reply_matrix_and_ranking(seeds, monkeypatch):
    monkeypatch.setenv("EVOSYN_TEST_KEY", "secret-of-the-user")
    faults = Faults(rate_limited=0.1, server_error=0.02, empty=0.02, retry_after_s=0.2)
    with ScriptedServer(script, latency_s=0.01, faults=faults) as server:
        ended = synthesize(seeds, server)
        assert ended.exit_code == 0, ended.output
        report = json.loads(ended.stdout)
        first = server.counts.requests
        again = synthesize(seeds, server)
        assert json.loads(again.stdout)["kept"] == report["kept"]
        assert server.counts.requests == first, "a finished run asks nothing again"
    data = seeds / "data"
    assert not report["simulated"]
    assert report["kept"] > 0
    assert {row.domain for row in read_dataset(data, "relaxed")} == {"python-function", "python-stdin"}
    for setting in SETTINGS:
        counts = report["settings"][setting]
        assert counts["kept"] + sum(counts["dropped"].values()) == 8
    assert sum(row.item == "reply" for row in read_rejects(data)) == sum(report["unusable_replies"].values())
    events = [json.loads(line[9:]) for line in (data / "journal.jsonl").read_text().splitlines()]
    replies = {event["reply"]["id"]: event for event in events if event["event"] == "reply"}
    instances = {event["index"]: event["item"] for event in events if event["event"] == "item"}
    names = {pool.problem.problem_id for pool in load_pools(seeds / "seeds.jsonl")}
    for row in read_dataset(data):
        lineage, scores = json.loads(row.lineage), json.loads(row.scores)
        prompt = next(e for e in replies.values() if e["key"] == [lineage["index"], "problem", 0, 0])
        assert set(lineage["seeds"]) <= names
        assert "## Example 1" in prompt["messages"][0]["content"]
        assert json.dumps(row.statement)[1:40] in replies[lineage["problem"]["call"]]["reply"]["text"]
        assert row.solution.splitlines()[0] in replies[lineage["solution"]["call"]]["reply"]["text"]
        instance = instances[lineage["index"]]
        assert instance["executed"]["verdicts"][scores["solution"]][scores["testing"]] == "P"
        assert instance["ranking"][1] == scores["testings"]
    for path in data.rglob("*"):
        if path.is_file():
            assert b"secret-of-the-user" not in path.read_bytes(), path


@pytest.mark.slow
def test_the_replies_of_a_dry_run_are_not_asked_for_again(seeds, monkeypatch):
    monkeypatch.setenv("EVOSYN_TEST_KEY", "key")
    with ScriptedServer(script, latency_s=0.01) as server:
        dry = synthesize(seeds, server, "--set=workbench.teacher.hedge=false", "--dry-run")
        sampled = server.counts.requests
        assert json.loads(dry.stdout)["sampled_calls"] == sampled <= 2 * (3 + 4 * 2)
        report = json.loads(synthesize(seeds, server, "--set=workbench.teacher.hedge=false").stdout)
        assert server.counts.requests == 1 + report["calls"], "one question sees that the model answers"


@pytest.mark.slow
def test_a_budget_in_calls_ends_with_three_and_the_rest_is_asked_for_later(seeds, monkeypatch):
    from evosyn.errors import BudgetSpent

    monkeypatch.setenv("EVOSYN_TEST_KEY", "key")
    with ScriptedServer(script, latency_s=0.01) as server:
        with pytest.raises(BudgetSpent) as caught:
            synthesize(seeds, server, "--set=workbench.budget.max_calls=30")
        assert caught.value.exit_code == 3
        assert server.counts.requests == 30
        report = json.loads(synthesize(seeds, server).stdout)
        assert server.counts.requests == 1 + report["calls"], "no reply that was paid for is asked for again"


@pytest.mark.slow
def test_several_models_share_one_budget(seeds, monkeypatch):
    from evosyn.errors import BudgetSpent

    monkeypatch.setenv("EVOSYN_TEST_KEY", "key")
    with ScriptedServer(script, latency_s=0.01) as server:
        with pytest.raises(BudgetSpent):
            synthesize(seeds, server, "--also-model", "openai/other", "--set=workbench.budget.max_calls=30")
        assert server.counts.requests == 30
