"""OpenEvolve on our task: the project it gets, a real run of it, and its programs in our run directory."""

import json
import os
import subprocess
import sys

import pytest
import yaml
from simulation.scripted_server import ScriptedServer

from evosyn.errors import UsageError
from evosyn.synthesis.search.openevolve import ModelEndpoint

SETS = ("scoring.draws=2", "islands.count=2", "finalists=5")
SMALL = ["-M", "8", "-N", "6", *(f"--set={key}" for key in SETS)]


def reply(body, times):
    """A SEARCH/REPLACE block that always applies: the block markers stay, a constant changes."""
    value = len(json.dumps(body)) % 97 / 97 + times / 7
    change = f"EVOLVE-BLOCK-END\nOFFSET = {value:.4f}"
    return f"<<<<<<< SEARCH\n# EVOLVE-BLOCK-END\n=======\n# {change}\n# EVOLVE-BLOCK-END\n>>>>>>> REPLACE\n"


def evosyn(*arguments: object) -> subprocess.CompletedProcess:
    environment = {**os.environ, "OPENAI_API_KEY": "sk-secret-for-the-test"}
    command = [sys.executable, "-m", "evosyn", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


def test_an_address_that_holds_a_password_is_not_written_into_a_project():
    with pytest.raises(UsageError, match=r"--base-url .* holds a user or a password") as refused:
        ModelEndpoint("m", "http://user:pass-word@localhost:8000/v1")
    assert "pass-word" not in str(refused.value)
    assert ModelEndpoint("m", "http://localhost:8000/v1").api_key_env == "OPENAI_API_KEY"


@pytest.mark.slow
def test_openevolve_runs_on_our_task_and_its_programs_come_back(tmp_path, pool_file):
    pytest.importorskip("openevolve")
    out = tmp_path / "out"
    with ScriptedServer(reply) as server:
        model = ("--model", "openai/scripted", "--base-url", server.base_url)
        arguments = ("evolve", pool_file, "--out", out, *SMALL, *model, "--search", "openevolve")
        result = evosyn(*arguments, "--iterations", "6", "--quiet")
        asked = server.counts.requests
        assert result.returncode in (0, 1), result.stderr + (out / "openevolve" / "openevolve.log").read_text()[-3000:]
        again = evosyn(*arguments, "--iterations", "6", "--quiet")
        assert again.returncode == result.returncode and server.counts.requests == asked
    report = json.loads((out / "report.json").read_text())
    assert report["proposers"]["openevolve"]["candidates"] > 0
    assert report["evaluations"] > 1
    texts = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert b"sk-secret" not in texts


def test_the_exported_project_holds_the_task_and_no_secret(tmp_path, pool_file):
    run, project = tmp_path / "run", tmp_path / "project"
    evosyn("evolve", pool_file, "--out", run, *SMALL, "--evaluations", "20", "--quiet")
    result = evosyn("export", "openevolve", run, "--out", project, "--model", "mine", "--base-url", "http://h/v1")
    assert result.returncode == 0, result.stderr
    config = yaml.safe_load((project / "config.yaml").read_text())
    assert config["llm"] == {"api_base": "http://h/v1", "api_key": "${OPENAI_API_KEY}", "primary_model": "mine"}
    assert "EVOLVE-BLOCK-START" in (project / "initial_program.py").read_text()
    compile((project / "evaluator.py").read_text(), "evaluator.py", "exec")


def test_the_project_evaluator_scores_as_we_do(tmp_path, pool_file):
    pytest.importorskip("openevolve")
    run, project = tmp_path / "run", tmp_path / "project"
    evosyn("evolve", pool_file, "--out", run, *SMALL, "--evaluations", "20", "--quiet")
    evosyn("export", "openevolve", run, "--out", project)
    code = "import evaluator; print(evaluator.evaluate('initial_program.py').metrics['combined_score'])"
    found = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=120)
    shown = json.loads(evosyn("inspect", run, "--program", "initial", "--json").stdout)
    assert float(found.stdout) == pytest.approx(shown["score"], abs=1e-6), found.stderr


def test_the_exported_strategy_stands_alone(tmp_path, pool_file):
    run = tmp_path / "run"
    evosyn("evolve", pool_file, "--out", run, *SMALL, "--evaluations", "40", "--quiet")
    result = evosyn("export", "strategy", run)
    assert result.returncode == 0 and "evosyn" not in result.stdout.split("\nimport")[-1]
    scope: dict = {}
    exec(result.stdout, scope)
    assert callable(scope["rank"])
    out = tmp_path / "mine.py"
    for _ in range(2):
        assert evosyn("export", "strategy", run, "--out", out).returncode == 0
    out.write_text(f"{out.read_text()}# my work\n")
    kept = evosyn("export", "strategy", run, "--out", out)
    assert kept.returncode == 2 and "holds something else" in kept.stderr and out.read_text().endswith("# my work\n")
    (run / "strategy.py").write_text("def rank(evidence):\n    return None\n")
    refused = evosyn("export", "strategy", run)
    assert refused.returncode == 2 and "is not as the run wrote it" in refused.stderr and not refused.stdout


def test_openevolve_without_an_endpoint_is_a_usage_error(tmp_path, pool_file):
    result = evosyn("evolve", pool_file, "--out", tmp_path / "o", *SMALL, "--search", "openevolve")
    assert result.returncode == 2 and "--base-url" in result.stderr
