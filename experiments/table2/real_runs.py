"""The same table for the user's own data and model: RLVR or imitation on each setting, then pass@1 with human testings.

Every arm is an ordinary run directory of `evosyn train` or `evosyn distill` with its own seed, so it resumes; the base
model and every trained model are measured alike. EvoSyn (2510.17928) table 2.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evosyn.configs.saving import freeze_config
from evosyn.domains import load_pools
from evosyn.errors import SandboxUnavailable
from evosyn.ports import Sandbox
from evosyn.records import Json, content_id
from evosyn.rundir import RunDir, write_atomic
from evosyn.train.checkpoints import read_metrics
from evosyn.train.config import DistillConfig, RlvrConfig
from evosyn.train.distill import distill
from evosyn.train.evaluate import bench_tasks, evaluate, pass_values
from evosyn.train.generation import TokenSampling, local_generator
from evosyn.train.models import require_train
from evosyn.train.rlvr import train_rlvr
from evosyn.train.scoring import Scorer, Task, domains_of, reward_judge
from experiments.table2.choices import DISTILL_ARMS
from experiments.table2.config import ExperimentTools
from experiments.table2.table import Comparison, publish, summarize

SETTINGS = ("evosyn", "random", "relaxed")
IMITATED = {"distill-best": "evosyn", "distill-random": "random"}
"""Settings whose solutions these arms imitate."""
NOTE = (
    "Pass@1 on the bench by its human testings, before and after training; every setting has the same model, "
    "steps, batches and seeds. What the testings of each setting are worth against human ones: `evosyn audit`."
)


@dataclass(frozen=True)
class RealPlan:
    """What is compared.

    Attributes:
        data: what `evosyn train` takes as DATA; an arm is a setting of it.
        bench: a pool with human testings.
        model: where every arm starts.
        samples: completions per bench problem for the sampled figure.
        config: of every RLVR run, `fit` of every imitation; the seed is replaced.
    """

    data: str
    bench: str
    model: str
    arms: tuple[str, ...]
    seeds: tuple[int, ...]
    samples: int
    max_tokens: int
    config: RlvrConfig
    fit: DistillConfig


class RealExperiment:
    """Table 2 with ordinary runs of a real model."""

    def __init__(self, tools: ExperimentTools, plan: RealPlan) -> None:
        self._tools, self._plan = tools, plan

    def run(self, out: Path) -> Comparison:
        """Do what is not yet done under `out`, and tell everything; the same call goes on after a kill."""
        require_train()
        with RunDir(out) as run, self._tools.open_sandbox(workers=None, packages=("numpy",)) as sandbox:
            records = run_real(self._plan, run, sandbox, self._tools.say)
            return publish(run, records, summarize(records, _facts(run, self._plan), NOTE))


def run_real(plan: RealPlan, run: RunDir, sandbox: Sandbox, say: Callable[[str], None]) -> list[Json]:
    """Train and measure what is not yet done; one record per (seed, arm), in the form that `table` reads.

    Raises:
        UsageError: the directory was started with other data, another model or other samples.
    """
    measuring = {
        "source": f"{plan.data} on {plan.bench}",
        "model": plan.model,
        "samples": plan.samples,
        "max_tokens": plan.max_tokens,
    }
    freeze_config(run.path, measuring, "plan.yaml")
    records = []
    measure = _Measure(plan, run, sandbox, bench_tasks(load_pools(plan.bench)))
    for seed in plan.seeds:
        for arm in plan.arms:
            out = run.file(f"seed-{seed}", arm)
            steps = _train(plan, seed, arm, out, sandbox)
            start = str(out / "tiny") if plan.model == "builtin:tiny" else plan.model
            curve = [{"step": 0, **measure(start)}, {"step": steps, **measure(str(out / "model"))}]
            rows = read_metrics(out / "metrics.jsonl")
            log = [{"step": row["step"], "reward": row["reward"]} for row in rows if "reward" in row]
            records.append({"arm": arm, "seed": seed, "curve": curve, **({"log": log} if log else {})})
            say(f"seed {seed}, {arm}: pass@1 {curve[0]['sampled']:.3f} -> {curve[-1]['sampled']:.3f}")
    return records


def _train(plan: RealPlan, seed: int, arm: str, out: Path, sandbox: Sandbox) -> int:
    """One ordinary run; returns its number of steps."""
    told = {"data": plan.data, "setting": IMITATED.get(arm, arm), "model": plan.model, "seed": seed}
    if arm in DISTILL_ARMS:
        distill(plan.fit.model_copy(update=told), out)
        return plan.fit.steps
    train_rlvr(plan.config.model_copy(update=told), out, sandbox)
    return plan.config.steps


def _facts(run: RunDir, plan: RealPlan) -> list[Json]:
    """Per seed the number of rows of each arm."""
    facts = []
    for seed in plan.seeds:
        reports = {arm: json.loads(run.file(f"seed-{seed}", arm, "report.json").read_text()) for arm in plan.arms}
        arms = {arm: {"rows": report["lineage"]["rows"]} for arm, report in reports.items()}
        rows = max(entry["rows"] for entry in arms.values())
        simulated = any(report["lineage"]["simulated"] for report in reports.values())
        facts.append({"arms": arms, "kept": rows, "problems": rows, "simulated": simulated})
    return facts


class _Measure:
    """pass@1 of a model on the bench, sampled and greedy, each measured once and kept."""

    def __init__(self, plan: RealPlan, run: RunDir, sandbox: Sandbox, bench: Sequence[Task]) -> None:
        self._plan, self._run, self._bench = plan, run, bench
        self._scorer = Scorer(reward_judge(sandbox, domains_of(bench), plan.config.reward.limits))
        self._digest = content_id("", sorted(task.key for task in bench))

    def __call__(self, model: str) -> dict[str, float]:
        found = {}
        for name, samples, temperature in (("sampled", self._plan.samples, 1.0), ("greedy", 1, 0.0)):
            sampling = TokenSampling(samples, temperature, top_p=1.0, max_tokens=self._plan.max_tokens)
            kept = self._run.file("measured", f"{_slug(model)}-{self._digest}-{name}.json")
            if not kept.exists():
                generator = local_generator(model, sampling)
                result = evaluate(model, generator, sampling, self._bench, self._scorer, self._run)
                values = [value for value in pass_values(result.outcomes, 1) if not math.isnan(value)]
                if not values:
                    raise SandboxUnavailable(f"{model}: not one of its completions could be judged")
                write_atomic(kept, json.dumps(sum(values) / len(values)))
            value: Any = json.loads(kept.read_text())
            found[name] = float(value)
        return found


def _slug(model: str) -> str:
    return f"{Path(model).name}-{content_id('', model)}"
