"""`evosyn experiment table2` on real functions and models: your own dataset, or `--size gpu`."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evosyn.cli._train_common import quiet_libraries, tty_note
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.ports import Domain, Sandbox
    from evosyn.records import Json, Pool, Problem
    from evosyn.simulation.experiment.function_data import FunctionPools
    from evosyn.simulation.experiment.real_runs import RealPlan, SeedData

MODEL = "Qwen/Qwen2.5-Coder-0.5B-Instruct"
DOMAIN = "python-function"
CASES = 12
NOTE = (
    "Small Python functions of the offline teacher's families, statements in English; their solutions and testings "
    "come from the offline teacher, a simulation of models. Accuracy: pass@1 on unseen problems by testings made with "
    "the right program. Same model, steps, batches and problems in every arm (relaxed has more problems)."
)
SIZES = {"gpu": (51, 192, 96, 16), "gpu-smoke": (16, 12, 4, 6)}
"""Seed problems, training problems, unseen problems, and M = N."""
SMOKE = (
    *("steps=2", "rollout.prompts=2", "rollout.group=2", "rollout.max_completion=16", "memory.lora_rank=4"),
    *("fit.batch=2", "keep.every=1", "tiny.warm_steps=2"),
)


def run_own_data(out: Path, weak: bool, values: Mapping[str, Any]) -> None:
    """The arms are settings of the user's dataset; the bench is the user's."""
    from evosyn.domains import load_pools
    from evosyn.simulation.experiment.real_runs import NOTE as OWN_NOTE
    from evosyn.simulation.experiment.real_runs import SeedData, rows_of
    from evosyn.train.evaluate import bench_tasks

    if values["model"] is None or values["bench"] is None:
        raise UsageError("--data: needs --model and --bench as well")
    arms = values["arms"] or "evosyn,random,relaxed"
    preset = "tiny" if values["model"] == "builtin:tiny" else None
    plan = _plan(values["model"], arms, values, (), preset, source=f"{values['data']} on {values['bench']}")
    bench = bench_tasks(load_pools(values["bench"]))
    imitated = {"distill-best": "evosyn", "distill-random": "random"}
    given = SeedData(lambda arm: (values["data"], imitated.get(arm, arm)), bench)
    _run(plan, out, weak, lambda *_: given, lambda run: rows_of(run, plan), OWN_NOTE)


def run_functions(size: str, out: Path, weak: bool, values: Mapping[str, Any]) -> None:
    """`--size gpu`: everything is made here but the model."""
    from evosyn.simulation.experiment.choices import DISTILL_ARMS, RL_ARMS

    if values["noise"] != "default":
        raise UsageError("--noise: belongs to --size cpu; the teacher of --size gpu is the offline teacher")
    arms = values["arms"] or ",".join((*RL_ARMS, *DISTILL_ARMS))
    base = SMOKE if size == "gpu-smoke" else ()
    plan = _plan(values["model"] or MODEL, arms, values, base, "table2", source=f"--size {size}")
    unknown = set(plan.arms) - {*RL_ARMS, *DISTILL_ARMS}
    if unknown:
        raise UsageError(f"--arms {sorted(unknown)[0]!r}: one of {', '.join((*RL_ARMS, *DISTILL_ARMS))}")

    def facts(run: Any) -> list[Json]:
        return [json.loads(run.file(f"seed-{seed}", "data", "facts.json").read_text()) for seed in plan.seeds]

    _run(plan, out, weak, functools.partial(_seed_data, size), facts, NOTE)


def _plan(
    model: str, arms: str, values: Mapping[str, Any], base: tuple[str, ...], preset: str | None, *, source: str
) -> RealPlan:
    from evosyn.configs.loading import load_config
    from evosyn.simulation.experiment.real_runs import RealPlan
    from evosyn.train.config import DistillConfig, RlvrConfig

    sets = [*base, *values["sets"]]
    fit_only, train_only = ("fit.", "method="), ("rollout.", "optim.", "reward.", "algorithm=")
    train = [one for one in sets if not one.startswith(fit_only)]
    fit = [one for one in sets if not one.startswith(train_only)]
    seeds = tuple(range(values["first_seed"], values["first_seed"] + values["seeds"]))
    return RealPlan(
        source=source,
        model=model,
        arms=tuple(part.strip() for part in arms.split(",")),
        seeds=seeds,
        samples=values["samples"],
        max_tokens=values["max_tokens"],
        config=load_config(RlvrConfig, preset=preset and f"train-{preset}", sets=train),
        fit=load_config(DistillConfig, preset=preset and f"distill-{preset}", sets=fit),
        along=values["data"] is None,
    )


def _run(
    plan: RealPlan,
    out: Path,
    weak: bool,
    data: Callable[[Any, Sandbox, int], SeedData],
    facts: Callable[[Any], list[Json]],
    note: str,
) -> None:
    from evosyn.cli.eval import local_generator
    from evosyn.cli.experiment import write_table
    from evosyn.rundir import RunDir
    from evosyn.sandbox import open_sandbox
    from evosyn.simulation.experiment.real_runs import run_real
    from evosyn.simulation.experiment.table import summarize
    from evosyn.train.models import require_train

    require_train()
    quiet_libraries()
    with RunDir(out) as run, open_sandbox("local", workers=None, allow_weak=weak, numpy=True) as sandbox:
        records = run_real(plan, run, sandbox, functools.partial(data, run, sandbox), local_generator, tty_note)
        write_table(run, out, records, summarize(records, facts(run), note))


def _seed_data(size: str, run: Any, sandbox: Sandbox, seed: int) -> SeedData:
    """The datasets of one seed, made at the first call."""
    from evosyn.cli.experiment import SEARCH_EVALUATIONS, SMOKE_EVALUATIONS, evolve_strategy
    from evosyn.dataset import parquet_path
    from evosyn.domains import Domains, load_pools
    from evosyn.evaluators.crossexec import CrossExecutor
    from evosyn.simulation.experiment.function_data import HELDOUT, Tools, prepare_functions
    from evosyn.simulation.experiment.real_runs import SeedData
    from evosyn.strategies.runner import SandboxedRunner
    from evosyn.train.evaluate import bench_tasks

    folder = run.file(f"seed-{seed}", "data")
    if not (folder / "facts.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        domain = Domains()[DOMAIN]
        runner = SandboxedRunner(sandbox)
        evaluations = SEARCH_EVALUATIONS if size == "gpu" else SMOKE_EVALUATIONS
        search = functools.partial(evolve_strategy, runner, evaluations)
        tools = Tools(CrossExecutor(sandbox, {DOMAIN: domain}), runner, search, domain, "offline-teacher")
        facts = prepare_functions(folder, seed, draw_functions(sandbox, domain, seed, SIZES[size]), tools)
        tty_note(f"seed {seed}: {facts['kept']} of {facts['problems']} problems kept")
    bench = bench_tasks(load_pools(folder / HELDOUT))
    return SeedData(lambda arm: (str(parquet_path(folder).with_name(f"{arm}.parquet")), arm), bench)


def draw_functions(sandbox: Sandbox, domain: Domain, seed: int, sizes: tuple[int, int, int, int]) -> FunctionPools:
    """Problems of the offline teacher, each once, with its solutions and testings and one made by the right program."""
    import asyncio
    from dataclasses import replace

    from evosyn.records import Pool
    from evosyn.seeds import SeedTree
    from evosyn.simulation.experiment.function_data import FunctionPools
    from evosyn.simulation.offline import create
    from evosyn.synthesis.generate import draw_pools

    first, train, heldout, draws = sizes
    teacher = create(seed=SeedTree(seed).child("experiment", "teacher").integer(), sandbox=sandbox)
    problems = _problems(teacher, domain, first + train + heldout, seed)

    def drawn(some: list[Problem], count: int) -> list[Pool]:
        pools = draw_pools(some, teacher, {DOMAIN: domain}, solutions=count, testings=count)
        return [replace(pool, problem=_with_human(teacher, pool.problem)) for pool in pools]

    try:
        return FunctionPools(
            seeds=drawn(problems[:first], draws + draws // 2),
            training=drawn(problems[first : first + train], draws),
            heldout=[Pool(_with_human(teacher, problem), (), ()) for problem in problems[first + train :]],
            draws=draws,
        )
    finally:
        asyncio.run(teacher.aclose())


def _problems(teacher: Any, domain: Domain, count: int, seed: int) -> list[Problem]:
    """Distinct problems: no family with the same parameters twice."""
    import asyncio
    from dataclasses import replace

    from evosyn.domains import load_pools
    from evosyn.records import canonical_json

    examples = [pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == DOMAIN][:3]

    async def ask() -> list[Problem]:
        found: dict[str, Problem] = {}
        sample = 0
        while len(found) < count:
            reply = await teacher.complete(domain.ask("problem", None, sample, {}, examples))
            problem = domain.read("problem", reply.text).value
            sample += 1
            if problem is not None:
                key = canonical_json([problem.meta["family"], problem.meta["params"]])
                found.setdefault(key, replace(problem, problem_id=f"s{seed}-{len(found):04}"))
        return list(found.values())

    return asyncio.run(ask())


def _with_human(teacher: Any, problem: Problem) -> Problem:
    """The problem with a testing of the right program's outputs on inputs of all sizes."""
    from dataclasses import replace

    from evosyn.records import Provenance, Testing

    given = [example for example in teacher.study(problem).examples if not example.off_spec and example.size]
    spread = given[:: max(1, len(given) // CASES)][:CASES]
    cases = [{"input": example.value, "output": example.output} for example in spread]
    return replace(problem, human_testing=Testing("cases", {"cases": cases}, Provenance("right-program")))
