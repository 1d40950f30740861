"""The recipe of `evosyn synthesize`: seeds and a strategy in, a dataset directory out. Thin assembly of the stages.

The directory holds config.yaml, manifest.json, strategy.py, journal.jsonl and what `synthesis.finish` writes. The
manifest says what decides the content; the same command resumes, another one is refused. Du 2025, sections 3.2 and 4.3.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from evosyn import __version__
from evosyn.errors import UsageError
from evosyn.ports import Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem, content_id
from evosyn.rundir import RunDir
from evosyn.strategies import strategy_id
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.decontaminate import OverlapIndex, open_index
from evosyn.synthesis.finish import Finish, finish, prepare
from evosyn.synthesis.ledger import Ledger
from evosyn.synthesis.pipeline import Parts, Pipeline
from evosyn.synthesis.samples import SampleMaker
from evosyn.synthesis.tally import RunTally
from evosyn.workbench import Workbench

KIND = "synthesize"


@dataclass(frozen=True)
class Inputs:
    """What is synthesized from.

    Attributes:
        strategy: text of the strategy program.
        strategy_from, seeds_from: where these were read, for people.
        seeds: seed problems; only statements, starter code and human testings as examples are shown to the teacher.
    """

    strategy: str
    strategy_from: str
    seeds: tuple[Problem, ...]
    seeds_from: str


@dataclass(frozen=True)
class Asked:
    """The teachers of a run: problems come from the first, solutions and testings from all in turn."""

    teachers: tuple[Teacher, ...]

    @property
    def names(self) -> str:
        """Their names, the first one's first."""
        return ", ".join(teacher.name for teacher in self.teachers)

    @property
    def simulated(self) -> bool:
        return any(teacher.simulated for teacher in self.teachers)


def synthesize(
    inputs: Inputs, config: SynthesizeConfig, workbench: Workbench, out: Path, tally: RunTally | None = None
) -> dict[str, Json]:
    """Make the dataset in `out`, or finish it; returns the value of `report.json`.

    Args:
        tally: counts live while it runs.

    Raises:
        UsageError: `out` holds another synthesis, the seeds have no problem of a wanted domain, a bad benchmark file.
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: stopped; the same command goes on.
    """
    overlap = open_index(config.filter.decontaminate) if config.filter.decontaminate.files else None
    asked = Asked((workbench.teacher(), *(workbench.teacher(model) for model in config.also)))
    protection = workbench.sandbox.protection
    sandbox = f"{protection.level} {protection.backend}"
    with RunDir(out) as run:
        _claim(run, inputs, config, asked, sandbox)
        ledger = Ledger(run.journal)
        tally = tally or RunTally()
        tally.asked = config.problems
        for index in sorted(index for index in ledger.done if index < config.problems):
            tally.end(ledger.instance(index))
        tally.resumed = tally.finished
        parts = _parts(inputs, workbench, asked, overlap)
        if tally.resumed < config.problems:
            threading.Thread(target=prepare, daemon=True).start()
            asyncio.run(_run(Pipeline(parts, config, ledger, tally), asked.teachers))
        run.journal.sync()
        return finish(run, ledger, _plan(inputs, config, workbench, asked, sandbox, out))


async def _run(pipeline: Pipeline, teachers: Sequence[Teacher]) -> None:
    try:
        await pipeline.run()
    finally:
        for teacher in teachers:
            await teacher.aclose()


def _parts(inputs: Inputs, workbench: Workbench, asked: Asked, overlap: OverlapIndex | None) -> Parts:
    return Parts(
        seeds=inputs.seeds,
        teacher=asked.teachers[0],
        domains=workbench.domains,
        crossexec=workbench.crossexec,
        runner=workbench.runner,
        strategy=inputs.strategy,
        overlap=overlap,
        others=asked.teachers[1:],
        concurrency=workbench.config.teacher.calls,
    )


def _plan(
    inputs: Inputs, config: SynthesizeConfig, workbench: Workbench, asked: Asked, sandbox: str, out: Path
) -> Finish:
    ranked_by = strategy_id(inputs.strategy)
    maker = SampleMaker(
        workbench.domains,
        SeedTree(config.seed).child("synthesize"),
        strategy_id=ranked_by,
        licence=config.problem.licence,
    )
    benchmarks = ", ".join(Path(spec.partition("::")[0]).name for spec in config.filter.decontaminate.files)
    recipe = {
        "teacher": f"`{asked.names}`" + (" (a simulation)" if asked.simulated else ""),
        "strategy": f"`{ranked_by}`, from {inputs.strategy_from}; its text stands in `strategy.py`",
        "seeds": f"{len(inputs.seeds)} problems from {inputs.seeds_from}",
        "M x N": f"{config.solutions} solutions x {config.testings} testings per problem",
        "seed": str(config.seed),
        "deduplication": f"exact, and Jaccard similarity from {config.filter.dedup.threshold:g} on word "
        f"{config.filter.dedup.shingle}-grams, against the seeds and each other",
        "decontamination": f"against {benchmarks}" if benchmarks else "none: no benchmark was named",
        "sandbox": sandbox,
        "canary": content_id("evosyn-canary-", [ranked_by, config.seed, inputs.seeds_from]),
    }
    return Finish(config.problems, maker, recipe, out.resolve().name, config.problem.licence)


def _claim(run: RunDir, inputs: Inputs, config: SynthesizeConfig, asked: Asked, sandbox: str) -> None:
    """Write config and manifest, or check that the directory belongs to this very synthesis."""
    fingerprint = config.fingerprint(
        strategy=inputs.strategy,
        seeds=[seed.id for seed in inputs.seeds],
        teacher=asked.names,
    )
    manifest: dict[str, Json] = {
        "kind": KIND,
        "evosyn": __version__,
        "fingerprint": fingerprint,
        "strategy": strategy_id(inputs.strategy),
        "strategy_from": inputs.strategy_from,
        "seeds_from": inputs.seeds_from,
        "seeds": len(inputs.seeds),
        "teacher": asked.names,
        "simulated": asked.simulated,
        "sandbox": sandbox,
    }
    text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
    if run.file("manifest.json").exists() or run.journal.path.exists():
        _check_same(run, manifest, text)
    run.write("strategy.py", inputs.strategy)
    run.write("config.yaml", text)
    run.write_json("manifest.json", manifest)


def _check_same(run: RunDir, manifest: Mapping[str, Json], config_text: str) -> None:
    old = run.read_json("manifest.json")
    if old.get("kind") != KIND:
        raise UsageError(f"--out {run.path}: holds a run of another kind ({old.get('kind')}); choose another directory")
    if old["fingerprint"] == manifest["fingerprint"]:
        return
    named = [key for key in ("strategy", "seeds_from", "teacher") if old.get(key) != manifest[key]]
    before = yaml.safe_load(run.file("config.yaml").read_text(encoding="utf-8"))
    named += sorted(_changed(before, yaml.safe_load(config_text)) - {"problems"})
    raise UsageError(
        f"--out {run.path}: was begun with other settings ({', '.join(named) or 'other seeds'} changed); "
        "repeat the first command to go on with it, or choose another --out"
    )


def _changed(before: Json, after: Json, path: str = "") -> set[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before.keys() | after.keys()
        return {
            found for key in keys for found in _changed(before.get(key), after.get(key), f"{path}.{key}".strip("."))
        }
    return set() if before == after else {path}
