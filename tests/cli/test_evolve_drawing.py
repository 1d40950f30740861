"""Searches whose pools a model draws: no trace of a dead endpoint, all spending told, cut replies asked again."""

import gc
import hashlib
import json
import re

import pytest
from click.testing import CliRunner
from simulation.scripted_server import Refusal, ScriptedServer

from evosyn.cli import group
from evosyn.errors import BudgetSpent, CheckFailed, TeacherUnavailable
from evosyn.pools import write_pools
from evosyn.records import Pool, Problem, Testing
from evosyn.strategies import load_known

SMALL = ("-M", "4", "-N", "4", "--iterations", "3", "--proposer", "rewrite", "--json", "--allow-weak-sandbox")
SETS = (
    "scoring.draws=2",
    "finalists=2",
    "islands.count=1",
    "pool.solutions=4",
    "pool.testings=4",
    "sampling.attempts=2",
)


@pytest.fixture
def seeds(tmp_path):
    def problem(number):
        cases = [{"input": [one], "output": one + number} for one in (0, 1, 5)]
        payload = {"entry_point": "add", "starter_code": "def add(number: int) -> int:\n    pass\n"}
        human = Testing("cases", {"cases": cases})
        return Problem(f"add-{number}", "python-function", f"Add {number} to it.", payload, human_testing=human)

    write_pools(tmp_path / "seeds.jsonl", [Pool(problem(number), (), ()) for number in range(2, 8)])
    return tmp_path / "seeds.jsonl"


def author(body, occurrence):
    """Solutions and testings, one in four of them wrong and none of the case that is shown, and strategies."""
    text = body["messages"][-1]["content"]
    if "single word" in text:
        return "ready"
    drawn = int(hashlib.sha256(f"{text} {occurrence}".encode()).hexdigest()[:8], 16)
    if (found := re.search(r"Add (\d+) to it", text)) is None:
        return f"```python\ndef rank(e):\n    p = e.passed\n    return p.sum(1) + {drawn % 97}.0, p.sum(0)\n```"
    plus = int(found[1]) + (drawn % 4 == 0)
    if "unit tests" in text:
        cases = [{"input": [one], "output": one + plus} for one in range(1, 2 + drawn % 3)]
        return f"```json\n{json.dumps(cases)}\n```"
    return f"```python\ndef add(number):\n    return number + {plus}  # {drawn}\n```"


def evolve(seeds, out, url, *more):
    line = ["evolve", str(seeds), "--out", str(out), "--model", "openai/m", "--base-url", url, *SMALL, *more]
    return CliRunner().invoke(group, [*line, *(f"--set={one}" for one in SETS)])


def test_a_dead_endpoint_leaves_nothing_behind_and_the_same_command_goes_on(seeds, tmp_path, caplog):
    with ScriptedServer(author) as server:
        url = server.base_url
    port = int(re.search(r":(\d+)/", url)[1])
    dead = evolve(seeds, tmp_path / "run", url)
    assert isinstance(dead.exception, TeacherUnavailable) and url in str(dead.exception)
    assert not (tmp_path / "run").exists()
    with ScriptedServer(author, port=port) as server:
        alive = evolve(seeds, tmp_path / "run", url)
        assert alive.exception is None or isinstance(alive.exception, CheckFailed), alive.exception
        requests = server.counts.requests
        again = evolve(seeds, tmp_path / "run", url)
        assert server.counts.requests == requests
    report, repeated = json.loads(alive.stdout), json.loads(again.stdout)
    assert repeated == {**report, "wall_s": repeated["wall_s"]}
    assert {phase: one["calls"] for phase, one in report["spent"].items()} == {"check": 1, "drawing": 48, "search": 3}
    assert report["model_calls"] == requests == 52
    assert report["cost"] is None, "nobody named a price"
    gc.collect()
    assert "Unclosed" not in caplog.text


def test_dollars_of_drawing_are_part_of_the_report_and_of_the_limit(seeds, tmp_path):
    prices = ("--set", "workbench.teacher.price_in=0", "--set", "workbench.teacher.price_out=1000")
    lengths = [f"{key}.max_tokens=60" for key in ("sampling.solution", "sampling.testing", "sampling.strategy")]
    prices += tuple(f"--set={one}" for one in lengths)
    with ScriptedServer(author) as server:
        stopped = evolve(seeds, tmp_path / "run", server.base_url, "--max-cost", "0.3", *prices)
        assert isinstance(stopped.exception, BudgetSpent), stopped.exception
        assert 0 < server.counts.requests < 52
        ended = evolve(seeds, tmp_path / "run", server.base_url, "--max-cost", "30", *prices)
        tokens = server.counts.output_tokens
    report = json.loads(ended.stdout)
    assert (
        report["cost"]
        == pytest.approx(tokens / 1000)
        == pytest.approx(sum(one["cost"] for one in report["spent"].values()))
    )


def cut(body):
    """The answer of a model that thinks for longer than it is given, unless that is more than 1,000 tokens."""
    if "single word" in body["messages"][-1]["content"] or body["max_tokens"] > 1000:
        return None
    choice = {"message": {"content": "<think>Let me see"}, "finish_reason": "length"}
    return Refusal(200, {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": body["max_tokens"]}})


def test_a_reply_that_was_cut_is_asked_for_once_more_with_more_room(seeds, tmp_path):
    lengths = ("sampling.solution", "sampling.testing", "sampling.strategy")
    short = [f"--set={key}.max_tokens={500}" for key in lengths]
    with ScriptedServer(author, refuse=[cut]) as server:
        ended = evolve(seeds, tmp_path / "run", server.base_url, *short)
        requests = server.counts.requests
    report = json.loads(ended.stdout)
    assert requests == 1 + 2 * 48 + 2 * 3 == report["model_calls"]
    held = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert held["unusable_replies"] == {"solution: reply-truncated": 24, "testing: reply-truncated": 24}
    with ScriptedServer(author, refuse=[cut]) as server:
        none = evolve(seeds, tmp_path / "none", server.base_url, *(one.replace("500", "100") for one in short))
        assert isinstance(none.exception, TeacherUnavailable)
        assert re.search(r"96 replies .*reply-truncated.*sampling\.solution\.max_tokens", str(none.exception)), (
            none.exception
        )
        assert not (tmp_path / "none" / "pools.jsonl.gz").exists()
        longer = evolve(seeds, tmp_path / "none", server.base_url, *(one.replace("500", "2000") for one in short))
        assert "report.json" in {file.name for file in (tmp_path / "none").iterdir()}, longer.exception


def test_a_dry_run_asks_what_the_run_asks_first_and_knows_its_calls_and_dollars(seeds, tmp_path):
    prices = ("--set", "workbench.teacher.price_in=1", "--set", "workbench.teacher.price_out=1000")
    with ScriptedServer(author) as server:
        plan = json.loads(evolve(seeds, tmp_path / "run", server.base_url, "--dry-run", *prices).stdout)
        assert server.counts.requests == plan["sampled_calls"] == 8
        evolve(seeds, tmp_path / "run", server.base_url, *prices)
        requests, tokens = server.counts.requests, server.counts.output_tokens
    assert requests == plan["calls"] == 52
    calls = {phase: found["calls"] for phase, found in plan["phases"].items()}
    assert calls == {"check": 1, "solution": 24, "testing": 24, "proposal": 3}
    assert plan["calls_at_most"] == 1 + 2 * 48 + 2 * 3 and plan["executions"] == 6 * 4 * 5
    drawn = plan["phases"]["solution"]["output_tokens"] + plan["phases"]["testing"]["output_tokens"]
    assert 0.5 * tokens < drawn < 2 * tokens
    assert plan["cost"] == pytest.approx(sum(found["cost"] for found in plan["phases"].values()), abs=1e-3)
    dollars = plan["phases"]["proposal"]
    assert dollars["cost"] == pytest.approx((dollars["input_tokens"] + 1000 * dollars["output_tokens"]) / 1e6, rel=0.01)


def test_what_a_dry_run_cannot_price_it_says_how_to_name(seeds, tmp_path):
    with ScriptedServer(author) as server:
        line = ["evolve", str(seeds), "--out", str(tmp_path / "run"), "--model", "openai/m", "--dry-run"]
        said = CliRunner().invoke(group, [*line, "--base-url", server.base_url]).output
    assert "price_in" in said and "replies.sqlite keeps them" in said and "None" not in said
    assert [word for word in ("check", "solution", "testing", "proposal", "in all") if word not in said] == []


def synthesize(seeds, out, url):
    (seeds.parent / "strategy.py").write_text(load_known("codet"))
    line = ["synthesize", str(seeds.parent / "strategy.py"), "--seeds", str(seeds), "--out", str(out), "--json"]
    line += ["--problems", "2", "-M", "3", "-N", "3", "--allow-weak-sandbox", "--model", "openai/m", "--base-url", url]
    return CliRunner().invoke(group, line)


def test_a_synthesis_asks_first_too_and_is_no_success_where_it_keeps_nothing(seeds, tmp_path):
    with ScriptedServer(lambda body, occurrence: "I would rather not.") as server:  # noqa: ARG005
        url = server.base_url
        nothing = synthesize(seeds, tmp_path / "data", url)
        assert server.counts.requests == 1 + 2 * 3
    assert isinstance(nothing.exception, CheckFailed) and "of 2 problems was kept" in str(nothing.exception)
    assert json.loads(nothing.stdout)["unusable_replies"]
    dead = synthesize(seeds, tmp_path / "none", url)
    assert isinstance(dead.exception, TeacherUnavailable) and url in str(dead.exception)
    assert not (tmp_path / "none").exists()
