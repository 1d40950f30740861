"""What the reward costs: completions scored per second and core, and the share of a GRPO step that waits for rewards.

    python benchmarks/training.py [--prompts 64] [--steps 20] [--json FILE]

Everything is measured in this one run on this machine. The first part holds itself and all its processes on one core:
our scorer (isolated: namespaces, seccomp, limits), once with programs that may share a process and once with programs
that may not, the same texts with one fresh interpreter each without any isolation (what a plain reward function does),
and with one fresh interpreter each in a bubblewrap jail. The second part runs GRPO steps of the tiny model. Ratios
travel between machines, absolute figures do not. Needs the train extra for the second part only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from evosyn.chat import Message
from evosyn.dataset import Sample, sample_id, write_dataset
from evosyn.domains import domains_named
from evosyn.records import Json, Problem, content_id
from evosyn.sandbox import open_sandbox
from evosyn.testings import testing_from_json
from evosyn.train.scoring import Scorer, Task, reward_judge
from experiments.table2.toy_language import (
    OPERATIONS,
    confuse,
    confusions,
    draw_specs,
    inputs,
    program,
    run,
    source,
)

CASES = 12
JAIL = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/",
        "--dev", "/dev", "--tmpfs", "/tmp"]  # fmt: skip
RUNNER = """
import json, sys
payload = json.load(sys.stdin)
namespace = {}
exec(payload["program"], namespace)
print(json.dumps([namespace["f"](*case["input"]) == case["output"] for case in payload["cases"]]))
"""


def make_tasks(prompts: int, group: int, generator: random.Random) -> tuple[list[Task], list[str]]:
    """As a GRPO batch holds them: `group` different programs for each testing of 12 cases, the right one among them."""
    tasks, texts = [], []
    for spec in draw_specs(prompts, generator):
        cases: list[Json] = [
            {"input": [xs], "output": run(spec, list(xs))} for xs in (inputs(generator) for _ in range(CASES))
        ]
        problem = Problem(
            "-".join(spec), "python-function", "In this order: " + ", ".join(spec), payload={"entry_point": "f"}
        )
        task = Task(problem.problem_id, problem, testing_from_json({"kind": "cases", "cases": cases}))
        drawn = {spec: None, **dict.fromkeys(confusions(spec))}
        while len(drawn) < group:
            drawn[confuse(spec, 0.7, generator)] = None
        tasks += [task] * group
        texts += [program(words) for words in list(drawn)[:group]]
    return tasks, texts


class Rates(NamedTuple):
    """Completions a second on one core: our scorer, the same where none may share a process, a fresh interpreter each,
    and one in a jail each (None where there is no bubblewrap).
    """

    scorer: float
    alone: float
    fresh: float
    jailed: float | None
    agree: bool
    right: int


class Timer:
    """Sums wall time over the pieces of one way."""

    def __init__(self) -> None:
        self.seconds, self.count = 0.0, 0

    def run(self, count: int, work: Callable[[], list[bool]]) -> list[bool]:
        started = time.perf_counter()
        found = work()
        self.seconds += time.perf_counter() - started
        self.count += count
        return found

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def measure(tasks: list[Task], texts: list[str], batch: int) -> Rates:
    """All ways in turns, batch by batch, so that a changing load meets them alike; everything on one core."""
    domains = domains_named(["python-function"])
    ours, alone, fresh, jailed = Timer(), Timer(), Timer(), Timer()
    right, agree = 0, True
    with open_sandbox("local", workers=2, allow_weak=True) as sandbox:
        scorer = Scorer(reward_judge(sandbox, domains))
        scorer.score(tasks[:2], ["```python\ndef f(xs):\n    return 1\n```"] * 2)
        for at in range(0, len(tasks), batch):
            mine, drawn = tasks[at : at + batch], texts[at : at + batch]
            verdicts = ours.run(len(mine), partial(passed, scorer, mine, drawn))
            right += sum(verdicts)
            marked = [text.replace("\n", "\nimport sys\n", 1) for text in drawn]
            again = alone.run(len(mine), partial(passed, scorer, mine, marked))
            agree = agree and again == verdicts
            few = list(zip(mine, drawn, strict=True))[:: max(1, batch // 12)]
            jails: dict[Timer, list[str]] = {fresh: [], jailed: JAIL} if shutil.which("bwrap") else {fresh: []}
            for timer, jail in jails.items():
                naive = timer.run(len(few), partial(each_alone, few, jail))
                agree = agree and naive == verdicts[:: max(1, batch // 12)]
    return Rates(ours.rate, alone.rate, fresh.rate, jailed.rate if jailed.count else None, agree, right)


def passed(scorer: Scorer, tasks: Sequence[Task], texts: Sequence[str]) -> list[bool]:
    return [score.passed for score in scorer.score(tasks, texts)]


def each_alone(pairs: Sequence[tuple[Task, str]], jail: list[str]) -> list[bool]:
    return [one_process(task, text, jail) for task, text in pairs]


def one_process(task: Task, text: str, jail: list[str]) -> bool:
    """What a plain reward function does: a process for each completion."""
    payload = json.dumps({"program": text.split("\n", 1)[1].rsplit("```", 1)[0], "cases": task.testing.body["cases"]})
    line = [*jail, sys.executable, "-c", RUNNER]
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
                payload='{"entry_point":"f"}',
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
                "--out", str(out), "--set", "rollout.prompts=4", "--set", "rollout.temperature=1.0",
                "--allow-weak-sandbox"]  # fmt: skip
        subprocess.run(line, check=True, capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        report = json.loads((out / "report.json").read_text())
        rows = [json.loads(text) for text in (out / "metrics.jsonl").read_text().splitlines()]
        return {
            "share": report["reward_share"],
            "reward_seconds": sum(row["reward_seconds"] for row in rows) / len(rows),
            "step_seconds": sum(row["step_time"] for row in rows) / len(rows),
            "completions_per_step": 32,
            "parsed": round(sum(row["parsed"] for row in rows) / len(rows), 3),
            "pass_rate": round(sum(row["pass_rate"] for row in rows) / len(rows), 3),
            "executed": report["executed"],
            "drawn": report["drawn"],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--group", type=int, default=8, help="completions per prompt")
    parser.add_argument("--batch", type=int, default=128, help="completions in one call, as in one GRPO step")
    parser.add_argument("--steps", type=int, default=20, help="GRPO steps; 0 leaves them out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tasks, texts = make_tasks(options.prompts, options.group, random.Random(0))
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    rates = measure(tasks, texts, options.batch)
    os.sched_setaffinity(0, cores)
    result: Json = {
        "completions": len(tasks),
        "cases": CASES,
        "scored_per_second_on_one_core": round(rates.scorer, 1),
        "scored_per_second_in_processes_of_their_own": round(rates.alone, 1),
        "one_process_each_per_second": round(rates.fresh, 2),
        "times_faster": round(rates.scorer / rates.fresh, 1),
        "one_jailed_process_each_per_second": rates.jailed and round(rates.jailed, 2),
        "times_faster_than_jailed": rates.jailed and round(rates.scorer / rates.jailed, 1),
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
