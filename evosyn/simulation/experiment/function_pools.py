"""Small Python functions of the offline teacher, with statements in English, as data for a real model.

The teacher invents the problems from its families and writes their solutions and testings; the human testing of each is
computed by the right program. No problem stands in two places. docs/experiment.md.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

from evosyn.dataset import parquet_path
from evosyn.domains import domain, domains_named, load_pools
from evosyn.ports import Sandbox, TeacherTools
from evosyn.randomness import SeedTree
from evosyn.records import Json, Pool, Problem, Provenance, Testing, canonical_json
from evosyn.rundir import RunDir
from evosyn.simulation.experiment.choices import Sizes
from evosyn.simulation.experiment.function_data import HELDOUT, FunctionPools, prepare_functions
from evosyn.simulation.experiment.real_runs import RealPlan, SeedData
from evosyn.simulation.experiment.search import StrategySearch
from evosyn.simulation.offline import OfflineConfig, OfflineTeacher, create
from evosyn.synthesis.generate import draw_pools
from evosyn.train.evaluate import bench_tasks

DOMAIN = "python-function"
CASES = 12
"""Cases of a human testing."""


class OfflineFunctions:
    """Implements `real_runs.RealData`: everything is made here but the model.

    Args:
        evaluations: where each search for a strategy ends.
    """

    note = (
        "Small Python functions of the offline teacher's families, statements in English; their solutions and testings "
        "come from the offline teacher, a simulation of models. Accuracy: pass@1 on unseen problems by testings made "
        "with the right program. Same model, steps, batches and problems in every arm (relaxed has more problems)."
    )

    def __init__(self, sizes: Sizes, evaluations: int) -> None:
        self._sizes, self._evaluations = sizes, evaluations

    def of_seed(self, run: RunDir, sandbox: Sandbox, seed: int, say: Callable[[str], None]) -> SeedData:
        """The datasets of one seed, made at the first call."""
        folder = run.file(f"seed-{seed}", "data")
        if not (folder / "facts.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            pools = draw_functions(sandbox, seed, self._sizes)
            facts = prepare_functions(folder, seed, pools, StrategySearch(sandbox, self._evaluations))
            say(f"seed {seed}: {facts['kept']} of {facts['problems']} problems kept")
        bench = bench_tasks(load_pools(folder / HELDOUT))
        return SeedData(lambda arm: (str(parquet_path(folder).with_name(f"{arm}.parquet")), arm), bench)

    def facts(self, run: RunDir, plan: RealPlan) -> list[Json]:
        """What the choices of each seed were worth."""
        return [json.loads(run.file(f"seed-{seed}", "data", "facts.json").read_text()) for seed in plan.seeds]


def draw_functions(sandbox: Sandbox, seed: int, sizes: Sizes) -> FunctionPools:
    """Problems of the offline teacher, each once, with its solutions and testings and one made by the right program."""
    own = SeedTree(seed).child("experiment", "teacher").integer()
    teacher = create(TeacherTools(own, sandbox=lambda: sandbox), OfflineConfig())
    first, last = sizes.seeds, sizes.seeds + sizes.problems
    problems = _problems(teacher, last + sizes.heldout, seed)

    def drawn(some: list[Problem], count: int) -> list[Pool]:
        pools = draw_pools(some, teacher, domains_named([DOMAIN]), solutions=count, testings=count)
        return [replace(pool, problem=_with_human(teacher, pool.problem)) for pool in pools]

    try:
        return FunctionPools(
            seeds=drawn(problems[:first], sizes.size_of(0)),
            training=drawn(problems[first:last], sizes.draws),
            heldout=[Pool(_with_human(teacher, problem), (), ()) for problem in problems[last:]],
            draws=sizes.draws,
        )
    finally:
        asyncio.run(teacher.aclose())


def _problems(teacher: OfflineTeacher, count: int, seed: int) -> list[Problem]:
    """Distinct problems: no family with the same parameters twice."""
    asked = domain(DOMAIN)
    examples = [pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == DOMAIN][:3]

    async def ask() -> list[Problem]:
        found: dict[str, Problem] = {}
        sample = 0
        while len(found) < count:
            reply = await teacher.complete(asked.ask("problem", None, sample, {}, examples))
            problem = asked.read("problem", reply.text).value
            sample += 1
            if problem is not None:
                key = canonical_json([problem.meta["family"], problem.meta["params"]])
                found.setdefault(key, replace(problem, problem_id=f"s{seed}-{len(found):04}"))
        return list(found.values())

    return asyncio.run(ask())


def _with_human(teacher: OfflineTeacher, problem: Problem) -> Problem:
    """The problem with a testing of the right program's outputs on inputs of all sizes."""
    given = [example for example in teacher.study(problem).examples if not example.off_spec and example.size]
    spread = given[:: max(1, len(given) // CASES)][:CASES]
    cases = [{"input": example.value, "output": example.output} for example in spread]
    return replace(problem, human_testing=Testing("cases", {"cases": cases}, Provenance("right-program")))
