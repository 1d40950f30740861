"""Rows carry all that pays a reward, and the commands make, check and show environments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli.env import command
from evosyn.cli.export import command as export
from evosyn.crossexec.judge import Cell, Judge
from evosyn.dataset import Reject, read_dataset, read_rejects
from evosyn.domains import Domains
from evosyn.environments import environment, sources
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Solution, Testing, Verdict
from evosyn.sharing import Company
from evosyn.tasks import task_of
from evosyn.train.data import tasks_of
from evosyn.train.scoring import Scorer

SANDBOX = "--allow-weak-sandbox", "--workers", "2"


def invoke(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(command, [*arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    assert (result.return_value or 0) == code, result.output
    return result.output


def test_a_row_alone_pays_for_right_answers_and_not_for_others(
    sandboxes: tuple[Sandbox, Sandbox], tmp_path: Path
) -> None:
    told = json.loads(
        invoke("rows", "knapsack", "brackets", "--out", str(tmp_path), "--per-env", "5", "--json", *SANDBOX)
    )
    assert (told["kept"], told["environments"], told["dropped"]) == (10, 2, {})
    samples = read_dataset(tmp_path)
    assert [json.loads(sample.meta)["level"] for sample in samples] == [1, 2, 3, 4, 5] * 2
    assert {sample.model for sample in samples} == {"builtin"}
    assert "<answer>" in samples[0].prompt[0].content and samples[0].statement in samples[0].prompt[0].content
    tasks = tasks_of(samples)
    assert list(tasks.values()) == [task_of(sample) for sample in samples]
    texts = [f"Say <answer>?</answer>... <think>hm</think> <answer>{sample.solution}</answer>" for sample in samples]
    texts += ["<answer>no</answer>", samples[1].solution, "<answer></answer>"]
    asked = [*tasks.values(), *[tasks[samples[1].id]] * 3]
    scores = Scorer(Judge(sandboxes[0], Domains())).score(asked, texts)
    assert [score.passed for score in scores] == [True] * 10 + [False] * 3
    assert [score.parsed for score in scores[-3:]] == [True, False, False]


def test_environments_are_exported_without_a_dataset_between_and_those_that_fail_stay_behind(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(sources(["brackets"])["brackets"].replace("def verify", "def accept"))
    names = ["knapsack", str(tmp_path / "bad.py"), "--per-env", "5", *SANDBOX]
    for form in ("reasoning-gym", "trl"):
        line = ["environments", *names, "--format", form, "--out", str(tmp_path / form), "--json"]
        ended = CliRunner().invoke(export, line, standalone_mode=False)
        assert ended.exception is None and ended.return_value == 1, ended.output
        told = json.loads(ended.output)
        assert told["dropped"] == {"l1: no-verify": 1} and sum(told["rows"].values()) > 0
    (program,) = (tmp_path / "reasoning-gym").rglob("programs/*.py")
    assert program.read_text().strip().endswith(sources(["knapsack"])["knapsack"].strip())


def test_so_many_environments_as_are_asked_for_are_drawn_by_seed(tmp_path: Path) -> None:
    def drawn(name: str, *arguments: str) -> set[str]:
        out = tmp_path / name
        names = ["knapsack", "brackets", "colouring", "subset-sum"]
        invoke("rows", *names, "--out", str(out), "--per-env", "1", *arguments, *SANDBOX)
        return {json.loads(sample.meta)["title"] for sample in read_dataset(out)}

    seeds = [drawn(f"{seed}", "--environments", "2", "--seed", str(seed)) for seed in range(4)]
    assert [len(one) for one in seeds] == [2] * 4 and len(set(map(frozenset, seeds))) > 1
    assert drawn("again", "--environments", "2", "--seed", "3") == seeds[3]
    with pytest.raises(UsageError, match=r"--environments 2: knapsack holds 1"):
        CliRunner().invoke(
            command,
            ["rows", "knapsack", "--environments", "2", "--out", str(tmp_path / "e"), *SANDBOX],
            standalone_mode=False,
            catch_exceptions=False,
        )


def test_the_same_seed_makes_the_same_rows_and_another_one_others(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    one, runner = environment("brackets"), EnvironmentRunner(sandboxes[0])
    first, again, other = (rows_of(one, runner, 4, SeedTree(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert rows_of(one, EnvironmentRunner(sandboxes[1]), 4, SeedTree(1)) == first


def test_what_an_environment_cannot_make_is_dropped_with_its_reason(
    sandboxes: tuple[Sandbox, Sandbox], tmp_path: Path
) -> None:
    source = environment("brackets").source.replace(
        "    while True:", '    assert knobs["length"] != 26, "no"\n    while True:', 1
    )
    file = tmp_path / "brackets.py"
    file.write_text(source)
    made = rows_of(environment(str(file)), EnvironmentRunner(sandboxes[0]), 5, SeedTree(0))
    assert [isinstance(one, EnvironmentRow) for one in made] == [True, True, False, True, True]
    assert isinstance(made[2], Reject) and made[2].reason == "generate:raises:AssertionError"
    report = json.loads(invoke("rows", str(file), "--out", str(tmp_path / "d"), "--json", *SANDBOX, code=1))
    assert report["kept"] == 0 and read_rejects(tmp_path / "d")[0].stage == "l2"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [("return 1", Verdict.PASS), ("return 0.5", Verdict.FAIL), ("return 2", Verdict.FAIL), ("return '1'", Verdict.FAIL),
     ("return float('nan')", Verdict.FAIL), ("raise ValueError(1)", Verdict.FAIL),
     ("while True: pass", Verdict.TIMEOUT)],
)  # fmt: skip
def test_what_a_verifier_says_is_judged_outside(
    sandboxes: tuple[Sandbox, Sandbox], body: str, verdict: Verdict
) -> None:
    (row,) = rows_of(environment("brackets"), EnvironmentRunner(sandboxes[0]), 1, SeedTree(0))
    assert isinstance(row, EnvironmentRow)
    program = f"def verify(instance, reference, answer):\n    {body}\n"
    testing = type(row.testing)(row.testing.kind, {**row.testing.body, "program": program})
    (result,) = Judge(sandboxes[0], Domains()).verify([Cell(row.problem, Solution("1"), testing)])
    assert result.verdict is verdict


def test_a_program_that_does_not_load_is_a_broken_testing(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    (row,) = rows_of(environment("brackets"), EnvironmentRunner(sandboxes[0]), 1, SeedTree(0))
    assert isinstance(row, EnvironmentRow)
    for program in ("import nothing_there", "x = 1"):
        testing = type(row.testing)(row.testing.kind, {**row.testing.body, "program": program})
        (result,) = Judge(sandboxes[0], Domains()).verify([Cell(row.problem, Solution("1"), testing)])
        assert result.verdict is Verdict.BROKEN


def test_commands_list_check_and_run(tmp_path: Path) -> None:
    assert len(json.loads(invoke("list", "--json"))["environments"]) == 28
    assert "jugs" not in invoke("list") and "jugs" in invoke("list", "--held-out")
    bad = tmp_path / "bad.py"
    bad.write_text(environment("brackets").source.replace("answer.strip() == reference", "True"))
    told = json.loads(invoke("check", "brackets", str(bad), "--json", *SANDBOX, code=1))
    assert told["kept"] == 1 and [row["stage"] for row in told["environments"]] == ["", "l5"]
    assert "accepts-junk" in invoke("check", str(bad), *SANDBOX, code=1)
    shown = invoke("run", "knapsack", "--level", "2", "--seed", "4", *SANDBOX)
    assert "A bag carries" in shown and shown.endswith("PASS\n")
    assert invoke("run", "knapsack", "--answer", "99", *SANDBOX, code=1).endswith("FAIL\n")


def test_a_verdict_does_not_depend_on_the_company(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    runner = EnvironmentRunner(sandboxes[0])
    names = ("knapsack", "countdown", "grid-path", "brackets")
    rows = [row for name in names for row in rows_of(environment(name), runner, 5, SeedTree(3))]
    kept = [row for row in rows if isinstance(row, EnvironmentRow)]
    spoilt = [kept[at - 1].solution.text if at % 2 else f"{row.solution.text} 1" for at, row in enumerate(kept)]
    cells = [Cell(row.problem, row.solution, row.testing) for row in kept]
    cells += [Cell(row.problem, Solution(text), row.testing) for row, text in zip(kept, spoilt, strict=True)]
    together = Judge(sandboxes[0], Domains(), company=Company(repeat=0.0))
    alone = Judge(sandboxes[1], Domains())
    assert [one.verdict for one in together.verify(cells)] == [one.verdict for one in alone.verify(cells)]
    assert together.company.shared >= 15
    assert {one.verdict for one in alone.verify(cells)} == {Verdict.PASS, Verdict.FAIL}


def test_a_verifier_that_keeps_what_it_saw_has_a_process_for_each_answer(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    row = rows_of(environment("brackets"), EnvironmentRunner(sandboxes[0]), 1, SeedTree(0))[0]
    assert isinstance(row, EnvironmentRow)
    seen = "SEEN = []\ndef verify(instance, reference, answer):\n    SEEN.append(answer)\n    return len(SEEN) == 1\n"
    testing = Testing("environment", {**row.testing.body, "program": seen})
    cells = [Cell(row.problem, Solution(str(number)), testing) for number in range(40)]
    for company in (Company(repeat=0.0), Company(share=False)):
        results = Judge(sandboxes[0], Domains(), company=company).verify(cells)
        assert {one.verdict for one in results} == {Verdict.PASS}


def test_entropy_and_the_reading_of_rows_tell_what_is_there(tmp_path: Path) -> None:
    from evosyn.cli.inspect import command as inspect
    from evosyn.view.answers import open_view

    told = json.loads(invoke("entropy", "knapsack", "brackets", "colouring", "--json", *SANDBOX))
    assert told["environments"] == 3
    assert told["varieties"][-1] == {"tau": 0.9, "clusters": 3, "bits": pytest.approx(1.585, abs=0.001)}
    invoke("rows", "knapsack", "brackets", "--out", str(tmp_path / "d"), "--per-env", "5", *SANDBOX)
    shown = CliRunner().invoke(inspect, [str(tmp_path / "d")]).output
    assert "10 rows of 2 environments" in shown and "sequence-string" in shown
    shown = CliRunner().invoke(inspect, [str(tmp_path / "d"), "--sample", "2"]).output
    assert "A bag carries" in shown and "def verify" in shown
    ended = CliRunner().invoke(export, [str(tmp_path / "d"), "--format", "jsonl", "--out", str(tmp_path / "j")])
    lines = (tmp_path / "j" / "train.jsonl").read_text().splitlines()
    assert ended.exit_code == 0 and {"id", "seed", "tests"} <= set(json.loads(lines[0])), ended.output
    page = open_view(tmp_path / "d").answer("overview", {})
    assert page["tables"][0]["rows"][0][3:5] == [5, "1, 2, 3, 4, 5"]
