"""What the reward costs: completions scored per second and core, and the share of a GRPO step that waits for rewards.

    python benchmarks/training.py [--completions 400] [--steps 20] [--json FILE]

Everything is measured in this one run on this machine: the scorer with its sandbox on one worker, the same texts with
one fresh interpreter each (what a plain reward function does), and GRPO steps of the tiny model. Ratios travel between
machines, absolute figures do not. Needs the train extra for the second part only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from evosyn import registry
from evosyn.chat import Message
from evosyn.dataset import Sample, sample_id, write_dataset
from evosyn.jobs import Limits
from evosyn.records import Json, Problem, content_id
from evosyn.sandbox import open_sandbox
from evosyn.testings import testing_from_json
from evosyn.train.experiment.language import OPERATIONS, draw_specs, inputs, program, run, source
from evosyn.train.scoring import Scorer, Task

CASES = 12
RUNNER = """
import json, sys
payload = json.load(sys.stdin)
namespace = {}
exec(payload["program"], namespace)
print(json.dumps([namespace["f"](*case["input"]) == case["output"] for case in payload["cases"]]))
"""


def make_tasks(count: int, generator: random.Random) -> tuple[list[Task], list[str]]:
    """Distinct programs, half of them right, against testings of 12 cases."""
    tasks, texts = [], []
    for spec in draw_specs(count, generator):
        cases: list[Json] = [
            {"input": [xs], "output": run(spec, list(xs))} for xs in (inputs(generator) for _ in range(CASES))
        ]
        problem = Problem("-".join(spec), "python-function", "In this order: " + ", ".join(spec), entry_point="f")
        tasks.append(Task(problem.problem_id, problem, testing_from_json({"kind": "cases", "cases": cases})))
        words = spec if generator.random() < 0.5 else (*spec[:2], generator.choice(list(OPERATIONS)))
        texts.append(program(words))
    return tasks, texts


class Rates(NamedTuple):
    """Completions a second: in the sandbox with one worker, and with a fresh interpreter each."""

    sandboxed: float
    fresh: float
    agree: bool
    right: int


def measure(tasks: list[Task], texts: list[str], batch: int) -> Rates:
    """Both ways in turns, batch by batch, so that a changing load meets both alike."""
    domains = {"python-function": registry.factory("domains", "python-function")()}
    fast_s = slow_s = 0.0
    slow_count, right, agree = 0, 0, True
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        scorer = Scorer(sandbox, domains, Limits(wall_s=2.0, budget_s=10.0, memory_mb=512))
        scorer.score(tasks[:2], ["```python\ndef f(xs):\n    return 1\n```"] * 2)
        for at in range(0, len(tasks), batch):
            mine, drawn = tasks[at : at + batch], texts[at : at + batch]
            started = time.perf_counter()
            verdicts = [score.passed for score in scorer.score(mine, drawn)]
            fast_s += time.perf_counter() - started
            few = max(1, len(mine) // 10)
            started = time.perf_counter()
            naive = [fresh_interpreter(task, text) for task, text in zip(mine[:few], drawn[:few], strict=True)]
            slow_s += time.perf_counter() - started
            slow_count += few
            right += sum(verdicts)
            agree = agree and naive == verdicts[:few]
    return Rates(len(tasks) / fast_s, slow_count / slow_s, agree, right)


def fresh_interpreter(task: Task, text: str) -> bool:
    """What a plain reward function does: a process for each completion, no isolation at all."""
    payload = json.dumps({"program": text.split("\n", 1)[1].rsplit("```", 1)[0], "cases": task.testing.body["cases"]})
    line = [sys.executable, "-c", RUNNER]
    done = subprocess.run(line, input=payload, capture_output=True, text=True, timeout=20, check=False)
    return done.returncode == 0 and all(json.loads(done.stdout))


def write_data(folder: Path, generator: random.Random, rows: int) -> None:
    """A dataset of this toy family, for the GRPO steps."""
    samples = []
    for spec in draw_specs(rows, generator):
        cases = [{"input": [xs], "output": run(spec, list(xs))} for xs in (inputs(generator) for _ in range(CASES))]
        testing = json.dumps({"kind": "cases", "cases": cases})
        others = [source((*spec[:2], word)) for word in list(OPERATIONS)[:4]]
        ranked = [{"id": content_id("s_", text), "source": text, "score": 1.0, "passes": text == source(spec),
                   "verdict": "P" if text == source(spec) else "F"} for text in [source(spec), *others]]  # fmt: skip
        statement = f"Write f(xs). In this order: {', '.join(spec)}."
        samples.append(
            Sample(
                id=sample_id("evosyn", statement, testing, source(spec)),
                problem_id="-".join(spec),
                domain="python-function",
                prompt=(Message("user", statement),),
                statement=statement,
                entry_point="f",
                starter_code=None,
                testing=testing,
                tests=CASES,
                solution=source(spec),
                solutions_ranked=json.dumps(ranked),
                scores="{}",
                matrix_digest="m_0",
                lineage="{}",
                model="list-author",
                simulated=True,
                difficulty=0.5,
                cost=0.0,
                licence="",
                setting="evosyn",
            )
        )
    write_dataset(folder, "evosyn", samples)


def waiting_share(steps: int) -> Json:
    """Mean share of a step that waits for rewards, of `evosyn train` with the tiny model."""
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder), random.Random(1), 48)
        out = Path(folder) / "run"
        line = [sys.executable, "-m", "evosyn", "train", folder, "--model", "builtin:tiny", "--steps", str(steps),
                "--out", str(out), "--set", "rollout.prompts=4", "--allow-weak-sandbox"]  # fmt: skip
        subprocess.run(line, check=True, capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        report = json.loads((out / "report.json").read_text())
        rows = [json.loads(text) for text in (out / "metrics.jsonl").read_text().splitlines()]
        return {
            "share": report["reward_share"],
            "reward_seconds": sum(row["reward_seconds"] for row in rows) / len(rows),
            "step_seconds": sum(row["step_time"] for row in rows) / len(rows),
            "completions_per_step": 32,
            "executed": report["executed"],
            "drawn": report["drawn"],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--completions", type=int, default=400)
    parser.add_argument("--batch", type=int, default=128, help="completions in one call, as in one GRPO step")
    parser.add_argument("--steps", type=int, default=20, help="GRPO steps; 0 leaves them out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tasks, texts = make_tasks(options.completions, random.Random(0))
    rates = measure(tasks, texts, options.batch)
    result: Json = {
        "completions": len(tasks),
        "cases": CASES,
        "scored_per_second_per_core": round(rates.sandboxed, 1),
        "one_process_each_per_second": round(rates.fresh, 2),
        "times_faster": round(rates.sandboxed / rates.fresh, 1),
        "verdicts_agree": rates.agree,
        "right": rates.right,
        "load": os.getloadavg()[0],
    }
    if options.steps:
        result["grpo"] = waiting_share(options.steps)
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
