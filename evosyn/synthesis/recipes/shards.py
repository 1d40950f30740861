"""The recipe of `evosyn synthesize --shard-size`: the same dataset, made in shards by several workers. *Ours*.

Two phases, so that nothing is drawn for a problem that is dropped: the problems of all shards; one pass over all of
them for those that repeat another; then what is left is drawn, executed, ranked and written. docs/scale.md.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from evosyn.codec import dump
from evosyn.errors import UsageError
from evosyn.records import Json, content_id
from evosyn.rundir import RunDir
from evosyn.running.cluster import join, meant
from evosyn.storage import Storage, open_storage
from evosyn.synthesis.card import CardFacts, how_made
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.inputs import Asked, Inputs, header_of, write_heads
from evosyn.synthesis.shards.config import planned
from evosyn.synthesis.shards.crews import Alone, Crew, Processes
from evosyn.synthesis.shards.leasing import Leasing, lease_events
from evosyn.synthesis.shards.orders import ShardSetup
from evosyn.synthesis.shards.repeating import RepeatPass
from evosyn.synthesis.shards.seals import read_object, read_seal, sealed_shards
from evosyn.synthesis.shards.writing import SealedRows
from evosyn.workbench import Workbench

KIND = "synthesize-shards"
STORE, SCRATCH = "shards", "work"
"""Folders of the run where nothing else is said."""


def synthesize_shards(
    inputs: Inputs,
    config: SynthesizeConfig,
    workbench: Workbench,
    out: Path,
    *,
    tell: Callable[[str], None] = lambda _: None,
    crew: Callable[[ShardSetup], Crew] | None = None,
) -> dict[str, Json]:
    """Make the dataset in `out`, or finish it; returns the value of `report.json`.

    Args:
        workbench: of this command; workers open their own.
        tell: told what happens, in words.
        crew: makes the workers, in place of those that the configuration names.

    Raises:
        UsageError: `out` or the storage holds another run; something that only a run in one piece can do is asked for.
        BudgetSpent, UnavailableError: stopped; the same command goes on.
    """
    _refuse(inputs, config, workbench)
    if not (out / "manifest.json").is_file():
        workbench.check(dict.fromkeys((None, *config.also), ("solution", config.sampling.solution)))
    asked = Asked((workbench.teacher(), *(workbench.teacher(model) for model in config.also)))
    plan = planned(config.problems, config.shards)
    header = {**header_of(KIND, inputs, config, asked), "problems": plan.problems, "shard_size": plan.size}
    with RunDir(out) as run:
        run.claim_new(KIND)
        events = lease_events(run.journal)
        events.begin(header)
        setup = setup_of(inputs, config, content_id("sh_", header), out)
        more = {"run": setup.run, "shards": dump(plan), "store": setup.store if config.shards.store else ""}
        write_heads(run, KIND, inputs, config, asked, None, more)
        storage = open_storage(setup.store)
        _claim(storage, setup.run)
        workers = (crew or crew_of)(setup)
        try:
            leasing = Leasing(
                workers,
                events,
                config.workbench.budget,
                tell,
                lambda phase, shard: read_seal(storage, phase, shard, setup.run) is not None,
            )
            leasing.finish("problems", plan.count, sealed_shards(storage, "problems"))
            with tempfile.TemporaryDirectory(dir=out, prefix=".repeats") as scratch:
                given = (inputs.seeds, config.filter.dedup, Path(scratch))
                repeats = RepeatPass(storage, setup.run, plan, *given).by_shard()
            tell(f"{sum(map(len, repeats.values()))} problems repeat a seed or an earlier problem")
            leasing.finish("rows", plan.count, sealed_shards(storage, "rows"), repeats)
        finally:
            workers.close()
        return _written(run, SealedRows(storage, setup.run, plan), setup, asked, more)


def _written(
    run: RunDir, sealed: SealedRows, setup: ShardSetup, asked: Asked, more: Mapping[str, Json]
) -> dict[str, Json]:
    """The dataset of a run whose shards are all sealed."""
    inputs, config, protection = setup.inputs, setup.config, sealed.first().protection
    assert protection is not None, "rows are executed"
    write_heads(run, KIND, inputs, config, asked, protection, more)
    made = {
        **how_made(inputs, config, asked, protection),
        "prompts": "the first request of each kind stands in the journals of `shards.store`",
        "shards": f"of {config.shards.size} problems",
    }
    facts = CardFacts(run.path.resolve().name, {}, made, config.problem.licence, parts=True)
    return sealed.write(run, facts, inputs)


def setup_of(inputs: Inputs, config: SynthesizeConfig, run: str, out: Path) -> ShardSetup:
    """What workers are told of a run.

    Raises:
        UsageError: workers on other machines, and no place that they reach.
    """
    shards, runner = config.shards, config.workbench.sandbox.runner
    name, _, address = runner.partition(":")
    if name == "ray" and meant(address) and not shards.store:
        raise UsageError(
            f"--runner {runner}: the workers of the cluster at {meant(address)} need a place that they all reach: "
            "--set shards.store=PATH or s3://bucket/run"
        )
    store = shards.store or str(out / STORE)
    scratch = shards.scratch or (out / SCRATCH if runner == "local" else None)
    return ShardSetup(
        inputs,
        config,
        run,
        store if "://" in store else str(Path(store).resolve()),
        str(scratch.resolve()) if scratch else "",
    )


def crew_of(setup: ShardSetup) -> Crew:
    """The workers that the configuration names."""
    config = setup.config
    runner, _, address = config.workbench.sandbox.runner.partition(":")
    if runner == "ray":
        from evosyn.synthesis.shards.ray_crew import RayCrew

        return RayCrew(join(address), setup, config.shards.hung_s)
    return Processes(setup, config.shards.workers) if config.shards.workers > 1 else Alone(setup)


def _claim(storage: Storage, run: str) -> None:
    """
    Raises:
        UsageError: the storage holds another run.
        CorruptRun: the file that says which is damaged.
    """
    if not storage.create("run.json", json.dumps({"run": run}).encode()):
        held = (read_object(storage, "run.json", "Put back a copy of it, or choose another place") or {}).get("run")
        if held != run:
            raise UsageError(f"shards.store: holds the shards of another run ({held}); choose another place")


def _refuse(inputs: Inputs, config: SynthesizeConfig, workbench: Workbench) -> None:
    """
    Raises:
        UsageError: what is asked for needs a run in one piece.
    """
    if config.filter.dedup.embedding:
        raise UsageError(
            "filter.dedup.embedding: is compared with all problems at once, which a run in shards does not; leave "
            "--shard-size or the embedding out"
        )
    acting = sorted({seed.domain for seed in inputs.seeds if workbench.domains[seed.domain].actor != "reply"})
    if acting:
        raise UsageError(
            f"--shard-size: problems of {', '.join(acting)} are solved in rooms, which belong to a run in one piece; "
            "leave it out"
        )
