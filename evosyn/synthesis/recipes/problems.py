"""The recipe of `evosyn synthesize`: seeds and a strategy in, a dataset directory out.

The directory holds config.yaml, manifest.json, strategy.py, journal.jsonl and what `synthesis.outputs` writes. The
journal begins with what decides the content; the same command resumes, another one is refused. Du 2025, sections 3.2
and 4.3.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from evosyn.ports.stages import Stage
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.running.progress import Usage
from evosyn.running.runner import Runner
from evosyn.strategies import strategy_id
from evosyn.synthesis.card import how_made
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.decontaminate import OverlapIndex, open_index
from evosyn.synthesis.estimate import TOGETHER, asks_for_inputs, keep_taken
from evosyn.synthesis.inputs import KIND, Asked, Inputs, claim
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.outputs import OutputPlan, import_ahead, write_outputs
from evosyn.synthesis.problems import Briefs
from evosyn.synthesis.progress import SynthesisProgress
from evosyn.synthesis.samples import SampleMaker
from evosyn.synthesis.stages.behaviour import CompareBehaviour
from evosyn.synthesis.stages.decontaminate import Decontaminate
from evosyn.synthesis.stages.deduplicate import Deduplicate
from evosyn.synthesis.stages.draw import DrawPool
from evosyn.synthesis.stages.judge import JudgePool
from evosyn.synthesis.stages.make import MakeProblem
from evosyn.synthesis.stages.reward import MakeReward
from evosyn.workbench import Workbench


def synthesize(
    inputs: Inputs,
    config: SynthesizeConfig,
    workbench: Workbench,
    out: Path,
    progress: SynthesisProgress | None = None,
) -> dict[str, Json]:
    """Make the dataset in `out`, or finish it; returns the value of `report.json`.

    Args:
        progress: counts live while it runs.

    Raises:
        UsageError: `out` holds another run, the seeds have no problem of a wanted domain, a bad benchmark file.
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: stopped; the same command goes on.
    """
    if not (out / "manifest.json").is_file():
        workbench.check(dict.fromkeys((None, *config.also), ("solution", config.sampling.solution)))
    benchmarks = open_index(config.filter.decontaminate) if config.filter.decontaminate.files else None
    asked = Asked((workbench.teacher(), *(workbench.teacher(model) for model in config.also)))
    progress = progress or SynthesisProgress()
    each = 1 + config.solutions + config.testings + asks_for_inputs(config, inputs.seeds, workbench.domains)
    progress.begin(config.problems, 0 if config.sampling.adaptive else each)
    with RunDir(out) as run:
        run.claim_new(KIND)
        ledger = Ledger(run.journal, Instance, counts=progress)
        stages = stages_of(Given(inputs, config, workbench, asked, ledger, benchmarks))
        claim(run, ledger, inputs, config, asked, workbench.sandbox.protection)
        runner = Runner(stages, ledger, window=2 * max(16, workbench.config.teacher.calls), progress=progress)
        threading.Thread(target=import_ahead, daemon=True).start()
        runner.run_and_close(map(Instance, range(config.problems)), asked.teachers)
        run.journal.sync()
        made = how_made(inputs, config, asked, workbench.sandbox.protection)
        maker, name, licence = maker_of(inputs, config, workbench), out.resolve().name, config.problem.licence
        plan = OutputPlan(range(config.problems), maker, made, name, licence, inputs)
        report = write_outputs(run, ledger, plan)
        used = Usage(report["calls"], report["tokens"]["input"], report["tokens"]["output"])
        sizes = [config.problems, config.solutions, config.testings]
        if told := keep_taken(run, sizes, ("problem", *TOGETHER, "inputs"), used, progress):
            report["estimated"] = told
            run.write_json("report.json", report)
        return report


def maker_of(inputs: Inputs, config: SynthesizeConfig, workbench: Workbench) -> SampleMaker:
    """What makes the rows of a run."""
    return SampleMaker(
        workbench.domains, _tree(config), strategy_id=strategy_id(inputs.strategy), licence=config.problem.licence
    )


class Given(NamedTuple):
    """What the stages of a synthesis are made of.

    Attributes:
        benchmarks: what no problem may repeat; None where nothing was named.
    """

    inputs: Inputs
    config: SynthesizeConfig
    workbench: Workbench
    asked: Asked
    ledger: Ledger[Instance]
    benchmarks: OverlapIndex | None = None


def making(given: Given) -> list[Stage[Instance]]:
    """What every problem goes through before it is compared with others."""
    inputs, config, workbench, asked, ledger, benchmarks = given
    briefs = Briefs(inputs.seeds, config.problem, _tree(config).child("problems"), workbench.domains, config.sampling)
    return [
        MakeProblem(config.problem, briefs, workbench.domains, asked.teachers[0], ledger),
        *([] if benchmarks is None else [Decontaminate(benchmarks)]),
    ]


def stages_of(given: Given) -> list[Stage[Instance]]:
    """What every problem goes through, in order."""
    return [*making(given), Deduplicate(given.config.filter.dedup, given.inputs.seeds), *finishing(given)]


def finishing(given: Given) -> list[Stage[Instance]]:
    """What a problem that repeats none goes through."""
    inputs, config, workbench, asked, ledger, benchmarks = given
    domains, calls = workbench.domains, workbench.config.teacher.calls
    judge = JudgePool(config, workbench.crossexec, workbench.runner, inputs.strategy, _tree(config), inputs.unit)
    return [
        DrawPool(
            config, domains, asked.teachers, ledger, judge.judged, calls, inputs.seeds, workbench.actors(inputs.seeds)
        ),
        judge,
        *([] if benchmarks is None else [CompareBehaviour(benchmarks, workbench.judge, config.execute.batch)]),
        MakeReward(config, domains, asked.teachers[0], ledger, workbench.crossexec, workbench.sandbox),
    ]


def _tree(config: SynthesizeConfig) -> SeedTree:
    return SeedTree(config.seed).child("synthesize")
