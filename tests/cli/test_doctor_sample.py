"""`evosyn doctor --sample`: forms and styles side by side, and a choice that chance alone does not make."""

import json

import pytest
from click.testing import CliRunner
from simulation.scripted_server import ScriptedServer

from evosyn.cli import doctor
from evosyn.synthesis.sampling_trial import FORMS, STYLES, WayFigures, choose


@pytest.fixture
def told(monkeypatch):
    """What the command says of a scripted model, in JSON or in words."""
    for name in ("_sandbox", "_docker", "_rooms"):
        monkeypatch.setattr(doctor, name, lambda *_, **__: doctor.Finding("sandbox", True, "not looked at"))

    def of(script, *more):
        with ScriptedServer(script, tokens_per_s=2000) as server:
            line = ["--model", "openai/m", "--base-url", server.base_url, "--sample", "1", *more]
            line += ["--set", "workbench.sandbox.allow_weak=true"]
            ended = CliRunner().invoke(doctor.command, line, standalone_mode=False, catch_exceptions=False)
            return ended, server.counts.requests

    return of


@pytest.fixture
def seeds(tmp_path):
    line = {
        "problem_id": "twice",
        "domain": "python-function",
        "statement": "Return twice the number.",
        "entry_point": "twice",
        "starter_code": "def twice(number: int) -> int:\n    pass\n",
        "reference_solution": "def twice(number):\n    return 2 * number\n",
        "human_testing": {"kind": "cases", "cases": [{"input": [2], "output": 4}, {"input": [7], "output": 14}]},
    }
    (tmp_path / "seeds.jsonl").write_text(json.dumps(line) + "\n")
    return str(tmp_path / "seeds.jsonl")


def small_model(body, occurrence):  # noqa: ARG001
    """Right solutions; half right asserts, but nothing that can be read where JSON is asked for."""
    text = body["messages"][-1]["content"]
    if "single word" in text or "prime" in text:
        return "ready"
    if "json" in text.lower():
        return "Here they are: many."
    if "assert" in text:
        return "```python\nassert twice(3) == 6\nassert twice(5) == 11\n```"
    return "```python\ndef twice(number):\n    return number + number\n```"


def test_each_form_and_style_is_read_by_the_parts_of_a_run_and_the_best_one_is_named(told, seeds):
    ended, requests = told(small_model, seeds, "--json")
    found = json.loads(ended.stdout)["sample"]
    ways = {(one["kind"], one["form"], one["style"]): one for one in found["ways"]}
    assert requests == 2 + 24 and len(ways) == len(STYLES) * (1 + len(FORMS))
    for style in STYLES:
        solved, plain, listed = (
            ways[way] for way in (("solution", None, style), *(("testing", form, style) for form in FORMS))
        )
        assert solved["usable"] == solved["asked"] == 4 and solved["right"] == 1.0 and solved["tokens_per_s"] > 0
        assert plain["usable"] == 4 and plain["right"] == 0.5
        assert listed["usable"] == 0 and listed["right"] == 0.0 and sum(listed["reasons"].values()) == 4
    assert found["choice"]["form"] == "asserts" and found["drawing"]["problems"] == 1
    assert found["drawing"]["model_wall_s"] is not None


def test_in_words_there_are_a_table_a_reason_and_settings_to_copy(told, seeds):
    shown = told(small_model, seeds)[0].output
    assert "--set sampling.testing.form=asserts --set sampling.style=" in shown
    assert "testing json full: 4 x" in shown and "tokens out" in shown and "24 replies about twice" in shown


def figures(rights, tokens=100.0):
    """Figures of eight replies in each way, by what is right in each form."""
    made = [WayFigures("solution", None, style, 8, 8, 0, 8, 0.5, 100.0, 1.0, {}) for style in STYLES]
    for form, right in rights.items():
        used = tokens if form == "asserts" else 2 * tokens
        made += [WayFigures("testing", form, style, 8, 8, 0, 8, right, used, 1.0, {}) for style in STYLES]
    return made


def test_what_chance_may_have_made_decides_nothing():
    near = choose(figures({"asserts": 0.45, "json": 0.55}))
    assert near.form == "json" and ("asserts", near.style) in near.alike, "it is said"
    far = choose(figures({"asserts": 0.0, "json": 1.0}))
    assert far.form == "json" and all(form == "json" for form, _ in far.alike)
    unknown = choose(figures({"asserts": None, "json": None}))
    assert unknown.form == "asserts", "fewer tokens decide where the rest is equal"


def test_a_sample_needs_a_model():
    from evosyn.errors import UsageError

    with pytest.raises(UsageError, match="--model"):
        CliRunner().invoke(doctor.command, ["--sample", "2"], standalone_mode=False, catch_exceptions=False)
