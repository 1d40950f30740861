"""Writing what a finished synthesis gives: problems, candidates, matrices, rejects, datasets, cards and the report.

Everything is made from the journal in the order of the problems, one instance in memory at a time, and each file is
written atomically; so a kill in here costs nothing and the files are the same after any number of resumes. DESIGN.md
section 4.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.dataset import SETTINGS, Reject, Sample, columns_of, write_dataset, write_rejects
from evosyn.matrices import write_matrices
from evosyn.pools import write_pools
from evosyn.records import Json, PassMatrix, Pool
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.synthesis.card import CardFacts, render_card
from evosyn.synthesis.inputs import Inputs
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.lacking import LackCount
from evosyn.synthesis.plots import draw
from evosyn.synthesis.report import Figures, distributions
from evosyn.synthesis.samples import SampleMaker
from evosyn.synthesis.shift import Shifts


@dataclass(frozen=True)
class OutputPlan:
    """What the writers need besides the journal.

    Attributes:
        indices: of the instances.
        maker: makes the rows.
        recipe: lines of the card on how the data was made.
        name, licence: of the dataset.
        inputs: what is synthesized from.
    """

    indices: range
    maker: SampleMaker
    recipe: Mapping[str, str]
    name: str
    licence: str
    inputs: Inputs


def import_ahead() -> None:
    """Import what the writers need; done beside the model calls, nobody waits for it after them."""
    for name in ("matplotlib.figure", "matplotlib.backends.backend_agg", "pyarrow.parquet", "pandas"):
        if importlib.util.find_spec(name.partition(".")[0]) is not None:  # pyarrow uses pandas where it is
            importlib.import_module(name)


def write_outputs(run: RunDir, ledger: Ledger[Instance], plan: OutputPlan) -> dict[str, Json]:
    """Write all files and return the value of `report.json`."""
    counted = write_rows(run, ledger, plan)
    write_pools(run.file("problems.jsonl"), _problems(ledger, plan.indices))
    write_pools(run.file("candidates.jsonl"), _candidates(ledger, plan.indices))
    write_matrices(run.file("matrices.jsonl"), _matrices(ledger, plan.indices))
    return write_report(run, counted, CardFacts(plan.name, {}, plan.recipe, plan.licence), plan.inputs)


class Counted(NamedTuple):
    """What is said of the instances of a run, or of a part of it."""

    figures: Figures
    shifts: Shifts
    lacks: LackCount


def write_rows(run: RunDir, ledger: Ledger[Instance], plan: OutputPlan) -> Counted:
    """Write the rejects and the dataset of the planned instances."""
    counted = Counted(Figures(), Shifts(plan.inputs.evolved_on, plan.inputs.unit), LackCount())
    rejects: list[Reject] = []
    for instance in ledger.items(plan.indices):
        counted.figures.see(instance)
        counted.lacks.see(instance)
        rejects.extend(instance.rejects)
        if (ranked := instance.ranked) is not None:
            counted.shifts.see(ranked)
    write_rejects(run.path, rejects)
    for setting in SETTINGS:
        write_dataset(run.path, setting, _samples(ledger, plan, setting))
    return counted


def write_report(run: RunDir, counted: Counted, facts: CardFacts, inputs: Inputs) -> dict[str, Json]:
    """Write card, picture and report of a dataset that is written; returns the value of `report.json`.

    Args:
        facts: with an empty report.
    """
    report = {
        **counted.figures.to_json(),
        "shift": counted.shifts.to_json(),
        "lacking": counted.lacks.to_json(inputs.strategy, inputs.evolved_on),
    }
    columns = {setting: columns_of(run.path, setting) for setting in SETTINGS}
    report["distributions"] = {setting: distributions(found) for setting, found in columns.items()}
    report["refuse_none"] = {setting: int((found.difficulty == 0).sum()) for setting, found in columns.items()}
    simulated = " (SIMULATED)" if report["simulated"] else ""
    picture = draw(columns["evosyn"], columns["random"], f"{facts.name}{simulated}")
    for folder in ("", "dataset/"):
        run.write(f"{folder}quality.png", picture)
    run.write("README.md", render_card(replace(facts, report=report), "dataset/"))
    run.write("dataset/README.md", render_card(replace(facts, report=report), ""))
    run.write_json("report.json", report)
    return report


def _problems(ledger: Ledger[Instance], indices: range) -> Iterator[Pool]:
    for instance in ledger.items(indices):
        if instance.problem is not None:
            yield Pool(instance.problem, (), ())


def _candidates(ledger: Ledger[Instance], indices: range) -> Iterator[Pool]:
    return (instance.pool for instance in ledger.items(indices) if instance.pool is not None)


def _matrices(ledger: Ledger[Instance], indices: range) -> Iterator[PassMatrix]:
    return (instance.matrix for instance in ledger.items(indices) if instance.matrix is not None)


def _samples(ledger: Ledger[Instance], plan: OutputPlan, setting: str) -> Iterator[Sample]:
    for instance in ledger.items(plan.indices):
        replies = {paid.reply.id: paid.reply for paid in ledger.replies(instance.index)}
        sample = plan.maker.make(instance, setting, replies)
        if sample is not None:
            yield sample
