"""Estimates: a dry run that says at once what it asks, and foresees what the run then takes."""

import json
import random
import re

import pytest
from click.testing import CliRunner
from simulation.scripted_server import ScriptedServer

from evosyn.cli import group
from evosyn.strategies import load_known
from tests.cli.test_evolve_drawing import SETS, SMALL, author, seeds  # noqa: F401  (a fixture)

PAGES = {"/props": {"default_generation_settings": {"n_ctx": 32768}, "total_slots": 4}}
WITHIN = 0.3
ON_A_SHARED_MACHINE = 0.5
"""Of seconds, which other tests take part of; problems of a synthesis are asked for beside pools, too."""


def written(body, occurrence):
    """As the author writes, with a remark of some length before it."""
    text = author(body, occurrence)
    many = random.Random(text + body["messages"][-1]["content"]).randrange(80, 240)
    return text if text == "ready" else f"{'So. ' * (many // 4)}\n\n{text}"


def near(estimated):
    guess, taken = estimated["estimate"], estimated["taken"]
    rel = {"wall_s": ON_A_SHARED_MACHINE}
    return {name: guess[name] == pytest.approx(taken[name], rel=rel.get(name, WITHIN)) for name in taken}


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        ({"tokens_per_s": 60, "slots": 4, "pages": PAGES}, 64),
        ({"tokens_per_s": 60}, 6),
        ({"tokens_per_s": 300, "shared": True}, 12),
    ],
    ids=["slots-that-it-tells", "calls-that-we-allow", "one-speed-for-all"],
)
def test_tokens_and_time_of_a_drawing_are_foreseen(kind, calls, seeds, tmp_path):  # noqa: F811
    with ScriptedServer(written, **kind) as server:
        line = ["evolve", str(seeds), "--out", str(tmp_path / "run"), "--model", "openai/m", "--base-url"]
        line += [server.base_url, *SMALL, *(f"--set={one}" for one in SETS), f"--set=workbench.teacher.calls={calls}"]
        plan = json.loads(CliRunner().invoke(group, [*line, "--dry-run"]).stdout)
        assert server.counts.requests == plan["sampled_calls"] == 8
        report = json.loads(CliRunner().invoke(group, line).stdout)
    assert all(near(report["estimated"]).values()), report["estimated"]
    assert report["estimated"]["taken"]["calls"] == report["spent"]["drawing"]["calls"]


def test_a_synthesis_is_foreseen_and_says_so_in_the_end(seeds, tmp_path):  # noqa: F811
    def made(body, occurrence):
        text = body["messages"][-1]["content"]
        if "new problem" not in text.lower() or "Add" not in text or "unit tests" in text:
            return written(body, occurrence)
        number = random.Random(text).randrange(10, 10**6)
        fields = {"title": f"Sum {number}", "statement": f"Add {number} to it. " + "Mind the sign. " * (number % 9)}
        return json.dumps({**fields, "entry_point": "add", "starter_code": "def add(number: int) -> int:\n    pass\n"})

    (tmp_path / "strategy.py").write_text(load_known("codet"))
    with ScriptedServer(made, tokens_per_s=60, slots=4, pages=PAGES) as server:
        line = ["synthesize", str(tmp_path / "strategy.py"), "--seeds", str(seeds), "--out", str(tmp_path / "data")]
        line += ["--problems", "6", "-M", "4", "-N", "4", "--allow-weak-sandbox", "--model", "openai/m"]
        line += ["--base-url", server.base_url, "--set=filter.dedup.threshold=1.0", "--set=filter.reward.large=false"]
        dry = CliRunner().invoke(group, [*line, "--dry-run"])
        run = CliRunner().invoke(group, line)
    told = [text for text in dry.stderr.splitlines() if text.startswith("[")]
    assert "6 problems" in told[0] and "54 replies" in told[0] and "10 of these" in told[0]
    assert len([text for text in told if re.search(r"a (problem|solution|testing): \d+ tokens, [\d.]+ s", text)]) == 10
    report = json.loads((tmp_path / "data" / "report.json").read_text())
    assert all(near(report["estimated"]).values()), (report["estimated"], report["dropped"])
    assert "estimate of asking the model" in run.stdout and "taken of asking the model" in run.stdout


def test_a_sample_that_was_there_already_leaves_the_time_open(seeds, tmp_path):  # noqa: F811
    with ScriptedServer(author, latency_s=0.05) as server:
        line = ["evolve", str(seeds), "--out", str(tmp_path / "run"), "--model", "openai/m", "--dry-run"]
        line += ["--base-url", server.base_url, *(f"--set={one}" for one in SETS)]
        first, second = (CliRunner().invoke(group, line) for _ in range(2))
        assert server.counts.requests == 8
    assert "waiting for the model: about 0:0" in first.stdout and "time: not known" in second.stdout
    assert "there already" in second.stderr
