"""The same table for real data and models: RLVR or imitation on each data setting, then pass@1 with human testings.

Every arm is an ordinary run directory of `evosyn train` or `evosyn distill` with its own seed, so it resumes; the base
model and every trained model are measured alike. EvoSyn (2510.17928) table 2.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from evosyn.configs.saving import freeze_config
from evosyn.errors import SandboxUnavailable
from evosyn.ports import Comparison, ExperimentTools, Sandbox
from evosyn.records import Json, content_id
from evosyn.rundir import RunDir, write_atomic
from evosyn.simulation.experiment.choices import DISTILL_ARMS
from evosyn.simulation.experiment.table import publish, summarize
from evosyn.train.checkpoints import read_metrics, whole_checkpoints
from evosyn.train.config import DistillConfig, RlvrConfig
from evosyn.train.distill import distill
from evosyn.train.evaluate import evaluate, pass_values
from evosyn.train.generation import TokenSampling, local_generator
from evosyn.train.models import require_train
from evosyn.train.rlvr import train_rlvr
from evosyn.train.scoring import Scorer, Task, domains_of, reward_judge


class SeedData(NamedTuple):
    """What one seed trains and is measured on.

    Attributes:
        of: by arm, what `evosyn train` takes as DATA, and the setting in it.
        bench: problems with human testings.
    """

    of: Callable[[str], tuple[str, str]]
    bench: Sequence[Task]


@dataclass(frozen=True)
class RealPlan:
    """What is compared.

    Attributes:
        source: names the data, so that a directory is not continued with other ones.
        model: where every arm starts.
        samples: completions per bench problem for the sampled figure.
        config: of every RLVR run, `fit` of every imitation; the seed is replaced.
        along: measure the whole checkpoints on the way too.
    """

    source: str
    model: str
    arms: tuple[str, ...]
    seeds: tuple[int, ...]
    samples: int
    max_tokens: int
    config: RlvrConfig
    fit: DistillConfig
    along: bool = False


class RealData(Protocol):
    """Where the arms of a real experiment get their data; `note` says in the table what they are."""

    note: str

    def of_seed(self, run: RunDir, sandbox: Sandbox, seed: int, say: Callable[[str], None]) -> SeedData:
        """The data of a seed, made when they are first asked for."""
        ...

    def facts(self, run: RunDir, plan: RealPlan) -> list[Json]:
        """Per seed what the data of each arm are worth, once all is done; see `table.summarize`."""
        ...


class RealExperiment:
    """Table 2 with ordinary runs of a real model."""

    def __init__(self, tools: ExperimentTools, plan: RealPlan, data: RealData) -> None:
        self._tools, self._plan, self._data = tools, plan, data

    def run(self, out: Path) -> Comparison:
        """See `ports.Experiment`."""
        require_train()
        with RunDir(out) as run, self._tools.open_sandbox(workers=None, packages=("numpy",)) as sandbox:
            records = run_real(self._plan, run, sandbox, self._data, self._tools.say)
            return publish(run, records, summarize(records, self._data.facts(run, self._plan), self._data.note))


def run_real(plan: RealPlan, run: RunDir, sandbox: Sandbox, data: RealData, say: Callable[[str], None]) -> list[Json]:
    """Train and measure what is not yet done; one record per (seed, arm), in the form that `table` reads.

    Raises:
        UsageError: the directory was started with other data, another model or other samples.
    """
    measuring = {"source": plan.source, "model": plan.model, "samples": plan.samples, "max_tokens": plan.max_tokens}
    freeze_config(run.path, measuring, "plan.yaml")
    records = []
    for seed in plan.seeds:
        given = data.of_seed(run, sandbox, seed, say)
        measure = _Measure(plan, run, sandbox, given.bench)
        for arm in plan.arms:
            out = run.file(f"seed-{seed}", arm)
            steps = _train(plan, seed, given.of(arm), arm, out, sandbox)
            start = str(out / "tiny") if plan.model == "builtin:tiny" else plan.model
            curve = [{"step": 0, **measure(start)}]
            if plan.along:
                curve += [
                    {"step": step, **measure(str(folder))}
                    for step, folder in whole_checkpoints(out / "checkpoints")
                    if step < steps
                ]
            curve.append({"step": steps, **measure(str(out / "model"))})
            rows = read_metrics(out / "metrics.jsonl")
            log = [{"step": row["step"], "reward": row["reward"]} for row in rows if "reward" in row]
            records.append({"arm": arm, "seed": seed, "curve": curve, **({"log": log} if log else {})})
            say(f"seed {seed}, {arm}: pass@1 {curve[0]['sampled']:.3f} -> {curve[-1]['sampled']:.3f}")
    return records


def _train(plan: RealPlan, seed: int, data: tuple[str, str], arm: str, out: Path, sandbox: Sandbox) -> int:
    """One ordinary run; returns its number of steps."""
    told = {"data": data[0], "setting": data[1], "model": plan.model, "seed": seed}
    if arm in DISTILL_ARMS:
        distill(plan.fit.model_copy(update=told), out)
        return plan.fit.steps
    train_rlvr(plan.config.model_copy(update=told), out, sandbox)
    return plan.config.steps


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
