"""pass@k end to end with a stand-in generator over the port, and with the tiny model."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from simulation.scripted_server import Refusal, ScriptedServer

from evosyn.chat import Request
from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.pools import write_pools
from evosyn.ports import Sandbox
from evosyn.reading.conclusions import of_evaluation
from evosyn.records import Json, Pool, Problem, Testing
from evosyn.rundir import RunDir
from evosyn.running.progress import ReplyCounts
from evosyn.train.evaluate import (
    BenchOutcome,
    Result,
    bench_tasks,
    evaluate,
    level_of,
    summary,
    tasks_of_benches,
    write_picture,
)
from evosyn.train.generation import TeacherGenerator, TokenSampling
from evosyn.train.scoring import Scorer, domains_of, reward_judge
from tests.teachers.asking import made

RIGHT = "```python\ndef {name}(xs):\n    return {text}\n```"
WRONG = "```python\ndef {name}(xs):\n    return None\n```"


class Scripted:
    """Answers `right` of `samples` completions rightly, for the problems that it knows."""

    chunk, reasoning = 2, "auto"

    def __init__(self, right: dict[str, tuple[str, int]], samples: int) -> None:
        self._right, self._samples = right, samples
        self.asked: list[str] = []

    def generate(self, requests: Sequence[Request], names: Sequence[str]) -> list[list[str]]:
        self.asked += names
        texts = []
        for name, request in zip(names, requests, strict=True):
            assert name in request.messages[-1].content
            text, count = self._right.get(name, ("", 0))
            good, bad = RIGHT.format(name=name, text=text), WRONG.format(name=name)
            texts.append([good] * count + [bad] * (self._samples - count))
        return texts


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    def problem(name: str, difficulty: float, cases: list[tuple[list[int], object]]) -> Pool:
        body = {"cases": [{"input": [xs], "output": out} for xs, out in cases]}
        return Pool(
            Problem(
                problem_id=name,
                domain="python-function",
                statement=f"Write {name}(xs).",
                payload={"entry_point": name},
                human_testing=Testing("cases", body),
                meta={"difficulty": difficulty},
            ),
            (),
            (),
        )

    pools = [
        problem("total", 0.1, [([1, 2], 3), ([], 0)]),
        problem("count", 0.5, [([5, 5], 2), ([], 0)]),
        problem("top", 0.9, [([1, 9], 9), ([4], 4)]),
    ]
    write_pools(tmp_path / "bench.jsonl", pools)
    return tmp_path / "bench.jsonl"


def test_pass_at_k_and_levels_come_from_human_testings(bench: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    tasks = bench_tasks(load_pools(bench))
    assert [level_of(task) for task in tasks] == ["easy", "medium", "hard"]
    sampling = TokenSampling(samples=4)
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks), Limits(wall_s=1.0)))
    weak = Scripted({"total": ("sum(xs)", 2)}, 4)
    strong = Scripted({"total": ("sum(xs)", 4), "count": ("len(xs)", 1), "top": ("max(xs)", 1)}, 4)
    with RunDir(tmp_path / "run") as run:
        results = [
            evaluate("before", weak, sampling, tasks, scorer, run),
            evaluate("after", strong, sampling, tasks, scorer, run),
        ]
        table = summary(results, [1, 2], seed=0)
        write_picture(run, table)
        assert (run.path / "eval.png").read_bytes().startswith(b"\x89PNG")
    before, after = table["models"]
    assert before["pass@1"]["mean"] == pytest.approx(0.5 / 3, abs=1e-5)
    assert before["pass@2"]["mean"] == pytest.approx((1 - 1 / 6) / 3, abs=1e-5)
    assert after["pass@1"]["mean"] == pytest.approx(1.5 / 3, abs=1e-5)
    assert after["gain@1"]["mean"] == pytest.approx(1.0 / 3, abs=1e-5)
    assert after["levels"]["hard"]["pass@1"]["mean"] == pytest.approx(0.25)


def test_what_was_drawn_before_a_kill_is_not_drawn_again(bench: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    tasks = bench_tasks(load_pools(bench))
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks), Limits(wall_s=1.0)))
    with RunDir(tmp_path / "run") as run:
        first = Scripted({"total": ("sum(xs)", 1)}, 1)
        result = evaluate("m", first, TokenSampling(), tasks, scorer, run)
        (kept,) = (run.path / "completions").iterdir()
        lines = kept.read_text().splitlines(keepends=True)
        kept.write_text(lines[0] + lines[1][:10])
        second = Scripted({"total": ("sum(xs)", 1)}, 1)
        assert evaluate("m", second, TokenSampling(), tasks, scorer, run) == result
    assert (first.asked, second.asked) == (["total", "count", "top"], ["count", "top"])


@pytest.mark.parametrize("failure", [Refusal(500, "boom"), Refusal(400, "maximum context length exceeded")])
def test_what_never_came_is_unknown_and_asked_again_by_the_same_command(
    bench: Path, sandbox: Sandbox, tmp_path: Path, failure: Refusal
) -> None:
    tasks = bench_tasks(load_pools(bench))
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks), Limits(wall_s=1.0)))
    asked: Counter[str] = Counter()
    down, knows = ["top"], {"total": "sum(xs)", "count": "None", "top": "max(xs)"}

    def broken(body: Json) -> Refusal | None:
        asked.update(name for name in knows if f"Write {name}" in str(body))
        return failure if any(f"Write {name}" in str(body) for name in down) else None

    def script(body: Json, _: int) -> str:
        return next((RIGHT.format(name=n, text=t) for n, t in knows.items() if f"Write {n}" in str(body)), "ready")

    found, told, counts = [], list[int](), (ReplyCounts(), ReplyCounts())
    with ScriptedServer(script, refuse=[broken]) as server, RunDir(tmp_path / "run") as run:
        for one in counts:
            served = TeacherGenerator(made(base_url=server.base_url, retries=0), TokenSampling(), counts=one)
            found.append(evaluate("m", served, TokenSampling(), tasks, scorer, run, on_done=told.append))
            down.clear()
        before, after = (summary([one], [1], seed=0)["models"][0] for one in found)
        write_picture(run, summary(found, [1], seed=0))
    assert asked == {"total": 1, "count": 1, "top": 2}
    assert told == [0, 3, 2, 3]
    assert [(one.expected, one.replies, one.slots, one.unusable) for one in counts] == [(3, 3, 3, 1), (1, 1, 1, 0)]
    assert (before["unknown"], before["pass@1"]["mean"]) == (1, 0.5)
    assert (after["unknown"], after["pass@1"]["mean"]) == (0, pytest.approx(2 / 3, abs=1e-5))


def test_what_never_came_is_no_completion_that_could_not_be_read() -> None:
    came = [BenchOutcome("p", "easy", 4, 2, parsed, 2, missing=2) for parsed in (2, 1)]
    assert summary([Result("a", tuple(came))], [1], 0)["models"][0]["parsed"] == 0.75
    nothing = BenchOutcome("p", "easy", 4, 0, 0, 4, missing=4)
    assert summary([Result("a", (nothing,))], [1], 0)["models"][0]["parsed"] is None


def test_problems_of_which_nothing_is_known_are_left_out_of_means_and_pairwise_of_gains() -> None:
    def of(model: str, *passed: int | None) -> Result:
        return Result(model, tuple(BenchOutcome("p", "easy", 2, n or 0, 2, 2 * (n is None)) for n in passed))

    first, second, third = summary([of("a", 2, 0, None), of("b", 2, None, 0), of("c", None, None, None)], [1], 0)[
        "models"
    ]
    assert (first["pass@1"]["mean"], second["pass@1"]["mean"], second["gain@1"]["mean"]) == (0.5, 0.5, 0.0)
    assert third["pass@1"]["mean"] is third["gain@1"]["mean"] is third["levels"]["easy"]["pass@1"]["mean"] is None
    shown = {"bench": "b", "problems": 3, "samples": 2, "ks": [1], "models": [third, second]}
    assert of_evaluation({**shown, "models": [third]}, "").did == "c solves an unknown share of 3 problems (pass@1)."
    assert of_evaluation(shown, "").worked == "unclear"


def test_a_bench_without_human_testings_is_refused() -> None:
    pool = Pool(Problem("p", "python-function", "s", payload={"entry_point": "f"}), (), ())
    with pytest.raises(UsageError, match="human_testing"):
        bench_tasks([pool])


def test_work_of_agents_is_not_measured_by_its_first_reply() -> None:
    with pytest.raises(UsageError, match="ShellEnv"):
        tasks_of_benches(["builtin:os-seeds"])


def test_a_single_model_has_no_gain_column() -> None:
    table = summary([Result("m", ())], [1], seed=0)
    assert not [key for key in table["models"][0] if key.startswith("gain")]
    assert json.dumps(table)


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_a_distilled_tiny_model_is_better_than_a_random_one(small_data: Path, bench: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from evosyn.cli import group

    for name, steps in (("random", 1), ("taught", 60)):
        line = f"distill {small_data} --model builtin:tiny --steps {steps} --out {tmp_path / name}"
        assert CliRunner().invoke(group, line.split(), catch_exceptions=False).exit_code == 0
    models = [str(tmp_path / name / "model") for name in ("random", "taught")]
    line = ["eval", *models, "--bench", str(bench), "--out", str(tmp_path / "eval"), "--max-tokens", "64", "--json"]
    result = CliRunner().invoke(group, [*line, "--allow-weak-sandbox"], catch_exceptions=False)
    assert result.exit_code == 0
    table = json.loads((tmp_path / "eval" / "report.json").read_text())
    assert [row["model"] for row in table["models"]] == models
    assert table["models"][0]["pass@1"]["mean"] == 0.0


def test_problems_that_are_shown_stand_before_the_others_of_their_bench_and_are_not_measured(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    def bench_of(name: str, known: int) -> str:
        rows = [
            {
                "problem_id": f"{name}{n}",
                "domain": "math-answer",
                "statement": f"What is {name}{n}?",
                "human_testing": {"kind": "answer", "answer": str(n)},
                **({"reference_solution": f"I count. \\boxed{{{n}}}"} if n < known else {}),
            }
            for n in range(4)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(tmp_path / f"{name}.jsonl")

    class Heard:
        chunk, reasoning = 8, "auto"
        requests: list[Request]

        def generate(self, requests: Sequence[Request], names: Sequence[str]) -> list[list[str]]:
            self.requests = list(requests)
            return [[f"\\boxed{{{name[-1]}}}"] for name in names]

    benches = [bench_of("a", 2), bench_of("b", 4)]
    bench = tasks_of_benches(benches, shots=2)
    assert [task.row_id for task in bench.tasks] == ["a2", "a3", "b2", "b3"]
    heard, scorer = Heard(), Scorer(reward_judge(sandbox, domains_of(bench.tasks), Limits(wall_s=1.0)))
    with RunDir(tmp_path / "run") as run:
        for shots in ({}, bench.shots):
            found = evaluate("m", heard, TokenSampling(), bench.tasks, scorer, run, shots=shots)
            assert [one.passed for one in found.outcomes] == [1] * 4
        assert len(list((run.path / "completions").iterdir())) == 2, "with shots the question is another one"
    first, *_, last = heard.requests
    assert [one.role for one in first.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert first.messages[1].content == "I count. \\boxed{0}" and "What is a2?" in first.messages[-1].content
    assert "What is b0?" in last.messages[0].content
    with pytest.raises(UsageError, match=r"--shots 3: .*a.jsonl has 4 problems, 2 of them with a reference"):
        tasks_of_benches(benches, shots=3)


def test_datasets_are_benches_and_domains_are_told_apart(bench: Path, small_data: Path) -> None:
    from evosyn.dataset import read_dataset

    pools, rows = tasks_of_benches([str(bench)]).tasks, tasks_of_benches([str(small_data)]).tasks
    assert {task.row_id for task in rows} == {sample.id for sample in read_dataset(small_data)}
    assert tasks_of_benches([str(bench), str(small_data)]).tasks == [*pools, *rows]
    with pytest.raises(UsageError, match="same name"):
        tasks_of_benches([str(bench), str(bench)])
    outcomes = [BenchOutcome(f"{domain}-{at}", "unrated", 2, 2 * at, 2, 0, domain) for domain in "ab" for at in (0, 1)]
    table = summary([Result("one", tuple(outcomes[:3]))], [1], 0)
    parts = table["models"][0]["domains"]
    assert {name: part["problems"] for name, part in parts.items()} == {"a": 2, "b": 1}
    assert (parts["a"]["pass@1"]["mean"], parts["b"]["pass@1"]["mean"]) == (0.5, 0.0)
    assert "domains" not in summary([Result("one", tuple(outcomes[:2]))], [1], 0)["models"][0]
