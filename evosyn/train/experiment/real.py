"""The same table for your own data and model: RLVR on each data setting, then pass@1 on a bench with human testings.

Every arm is an ordinary `evosyn train` run directory with its own seed, so it resumes; the base model and every trained
model are measured alike. EvoSyn (2510.17928) table 2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.rundir import RunDir, write_atomic
from evosyn.train.checkpoints import read_metrics
from evosyn.train.config import RlvrConfig
from evosyn.train.evaluate import evaluate, pass_values, scorer_for
from evosyn.train.generation import Generator, Sampling
from evosyn.train.rlvr import RlvrRun, limits_of, train_rlvr
from evosyn.train.scoring import Task

NOTE = (
    "Pass@1 on the bench by its human testings, before and after training; every setting has the same "
    "model, steps, batches "
    "and seeds. What the testings of each setting are worth against human ones: `evosyn audit`."
)


@dataclass(frozen=True)
class RealPlan:
    """What is compared.

    Attributes:
        data: dataset directory with all settings.
        model: where every arm starts.
        samples: completions per bench problem for the sampled figure.
        config: of every run; the seed is replaced.
    """

    data: str
    model: str
    settings: tuple[str, ...]
    seeds: tuple[int, ...]
    samples: int
    max_tokens: int
    config: RlvrConfig


OpenGenerator = Callable[[str, Sampling], Generator]
"""(model, sampling) -> where completions come from."""


def run_real(
    plan: RealPlan,
    run: RunDir,
    sandbox: Sandbox,
    bench: Sequence[Task],
    open_generator: OpenGenerator,
    on_done: Callable[[str], None],
) -> list[Json]:
    """Train and measure what is not yet done; one record per (seed, setting), in the form that `table` reads."""
    measure = _Measure(plan, run, sandbox, bench, open_generator)
    records = []
    for seed in plan.seeds:
        for setting in plan.settings:
            out = run.file(f"seed-{seed}", setting)
            config = plan.config.model_copy(update={"seed": seed})
            train_rlvr(RlvrRun(plan.data, setting, plan.model, out, config), sandbox)
            start = str(out / "tiny") if plan.model == "builtin:tiny" else plan.model
            curve = [{"step": 0, **measure(start)}, {"step": config.steps, **measure(str(out / "model"))}]
            log = [{"step": row["step"], "reward": row["reward"]} for row in read_metrics(out / "metrics.jsonl")]
            records.append({"arm": setting, "seed": seed, "curve": curve, "log": log})
            on_done(f"seed {seed}, {setting}: pass@1 {curve[0]['sampled']:.3f} -> {curve[1]['sampled']:.3f}")
    return records


def rows_of(run: RunDir, plan: RealPlan) -> list[Json]:
    """Per seed the number of rows of each setting, for the table."""
    facts = []
    for seed in plan.seeds:
        reports = {
            name: json.loads(run.file(f"seed-{seed}", name, "report.json").read_text()) for name in plan.settings
        }
        arms = {name: {"rows": report["lineage"]["rows"]} for name, report in reports.items()}
        rows = max(entry["rows"] for entry in arms.values())
        facts.append({"arms": arms, "kept": rows, "problems": rows})
    return facts


class _Measure:
    """pass@1 of a model on the bench, sampled and greedy, each measured once and kept."""

    def __init__(
        self, plan: RealPlan, run: RunDir, sandbox: Sandbox, bench: Sequence[Task], open_generator: OpenGenerator
    ) -> None:
        self._plan, self._run, self._bench, self._open = plan, run, bench, open_generator
        self._scorer = scorer_for(bench, sandbox, limits_of(plan.config.reward))

    def __call__(self, model: str) -> dict[str, float]:
        found = {}
        for name, samples, temperature in (("sampled", self._plan.samples, 1.0), ("greedy", 1, 0.0)):
            sampling = Sampling(samples, temperature, top_p=1.0, max_tokens=self._plan.max_tokens)
            kept = self._run.file("measured", f"{_slug(model)}-{name}.json")
            if not kept.exists():
                generator = self._open(model, sampling)
                result = evaluate(model, generator, sampling, self._bench, self._scorer, self._run)
                values = pass_values(result.outcomes, 1)
                write_atomic(kept, json.dumps(sum(values) / len(values)))
            value: Any = json.loads(kept.read_text())
            found[name] = float(value)
        return found


def _slug(model: str) -> str:
    from evosyn.records import content_id

    return f"{Path(model).name}-{content_id('', model)}"
