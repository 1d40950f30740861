"""The user's own dataset for `evosyn experiment table2 --data`: an arm is a setting of it, the bench is the user's."""

from __future__ import annotations

import json
from collections.abc import Callable

from evosyn.domains import load_pools
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.simulation.experiment.real_runs import RealPlan, SeedData
from evosyn.train.evaluate import bench_tasks

SETTINGS = ("evosyn", "random", "relaxed")
IMITATED = {"distill-best": "evosyn", "distill-random": "random"}
"""Settings whose solutions these arms imitate."""


class OwnData:
    """Implements `real_runs.RealData`.

    Args:
        data: what `evosyn train` takes as DATA.
        bench: a pool with human testings.
    """

    note = (
        "Pass@1 on the bench by its human testings, before and after training; every setting has the same model, "
        "steps, batches and seeds. What the testings of each setting are worth against human ones: `evosyn audit`."
    )

    def __init__(self, data: str, bench: str) -> None:
        self._data, self._bench = data, bench_tasks(load_pools(bench))

    def of_seed(self, run: RunDir, sandbox: Sandbox, seed: int, say: Callable[[str], None]) -> SeedData:
        """The same for every seed."""
        del run, sandbox, seed, say
        return SeedData(lambda arm: (self._data, IMITATED.get(arm, arm)), self._bench)

    def facts(self, run: RunDir, plan: RealPlan) -> list[Json]:
        """Per seed the number of rows of each arm."""
        facts = []
        for seed in plan.seeds:
            reports = {arm: json.loads(run.file(f"seed-{seed}", arm, "report.json").read_text()) for arm in plan.arms}
            arms = {arm: {"rows": report["lineage"]["rows"]} for arm, report in reports.items()}
            rows = max(entry["rows"] for entry in arms.values())
            simulated = any(report["lineage"]["simulated"] for report in reports.values())
            facts.append({"arms": arms, "kept": rows, "problems": rows, "simulated": simulated})
        return facts
