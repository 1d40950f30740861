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


def scored_per_second(tasks: list[Task], texts: list[str], batch: int) -> tuple[float, list[bool]]:
    """One sandbox worker, so one core; the parent's share of the work is in the wall time as well."""
    domains = {"python-function": registry.factory("domains", "python-function")()}
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        scorer = Scorer(sandbox, domains, Limits(wall_s=2.0, budget_s=10.0, memory_mb=512))
        scorer.score(tasks[:2], ["```python\ndef f(xs):\n    return 1\n```"] * 2)
        verdicts: list[bool] = []
        started = time.perf_counter()
        for at in range(0, len(tasks), batch):
            verdicts += [score.passed for score in scorer.score(tasks[at : at + batch], texts[at : at + batch])]
        return len(tasks) / (time.perf_counter() - started), verdicts


def one_process_each(tasks: list[Task], texts: list[str]) -> tuple[float, list[bool]]:
    """A fresh interpreter for every completion, no isolation at all."""
    verdicts = []
    started = time.perf_counter()
    for task, text in zip(tasks, texts, strict=True):
        payload = json.dumps(
            {"program": text.split("\n", 1)[1].rsplit("```", 1)[0], "cases": task.testing.body["cases"]}
        )
        done = subprocess.run(
            [sys.executable, "-c", RUNNER], input=payload, capture_output=True, text=True, timeout=10, check=False
        )
        verdicts.append(done.returncode == 0 and all(json.loads(done.stdout)))
    return len(tasks) / (time.perf_counter() - started), verdicts


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
    fast, verdicts = scored_per_second(tasks, texts, options.batch)
    few = max(20, options.completions // 10)
    slow, naive = one_process_each(tasks[:few], texts[:few])
    result: Json = {
        "completions": len(tasks),
        "cases": CASES,
        "scored_per_second_per_core": round(fast, 1),
        "one_process_each_per_second": round(slow, 2),
        "times_faster": round(fast / slow, 1),
        "verdicts_agree": verdicts[:few] == naive,
        "right": sum(verdicts),
        "load": os.getloadavg()[0],
    }
    if options.steps:
        result["grpo"] = waiting_share(options.steps)
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
