"""Writing what a finished synthesis gives: problems, candidates, matrices, rejects, datasets, cards and the report.

Everything is made from the journal in the order of the problems, one instance in memory at a time, and each file is
written atomically; so a kill in here costs nothing and the files are the same after any number of resumes. DESIGN.md
section 4.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evosyn.dataset import SETTINGS, Reject, Sample, iterate_dataset, write_dataset, write_rejects
from evosyn.matrices import write_matrices
from evosyn.pools import write_pools
from evosyn.records import Json, PassMatrix, Pool
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.synthesis.card import CardFacts, render_card
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.plots import columns_of, draw
from evosyn.synthesis.report import Figures, distributions
from evosyn.synthesis.samples import SampleMaker
from evosyn.synthesis.shift import EvolvedOn, Shifts


@dataclass(frozen=True)
class OutputPlan:
    """What the writers need besides the journal.

    Attributes:
        count: problems asked for.
        maker: makes the rows.
        recipe: lines of the card on how the data was made.
        name, licence: of the dataset.
        evolved_on: what the strategy was evolved on, if that is known.
    """

    count: int
    maker: SampleMaker
    recipe: Mapping[str, str]
    name: str
    licence: str
    evolved_on: EvolvedOn | None = None


def import_ahead() -> None:
    """Import what the writers need; done beside the model calls, nobody waits for it after them."""
    for name in ("matplotlib.figure", "matplotlib.backends.backend_agg", "pyarrow.parquet", "pandas"):
        if importlib.util.find_spec(name.partition(".")[0]) is not None:  # pyarrow uses pandas where it is
            importlib.import_module(name)


def write_outputs(run: RunDir, ledger: Ledger[Instance], plan: OutputPlan) -> dict[str, Json]:
    """Write all files and return the value of `report.json`."""
    figures, shifts = Figures(), Shifts(plan.evolved_on)
    rejects: list[Reject] = []
    for instance in ledger.items(range(plan.count)):
        figures.see(instance)
        rejects.extend(instance.rejects)
        if instance.matrix is not None:
            shifts.see(instance.matrix)
    write_rejects(run.path, rejects)
    write_pools(run.file("problems.jsonl"), _problems(ledger, plan.count))
    write_pools(run.file("candidates.jsonl"), _candidates(ledger, plan.count))
    write_matrices(run.file("matrices.jsonl"), _matrices(ledger, plan.count))
    report = {**figures.to_json(), "shift": shifts.to_json()}
    report["distributions"], report["refuse_none"] = {}, {}
    for setting in SETTINGS:
        path = write_dataset(run.path, setting, _samples(ledger, plan, setting))
        report["distributions"][setting] = distributions(iterate_dataset(path))
        report["refuse_none"][setting] = sum(row.difficulty == 0 for row in iterate_dataset(path))
    values = {name: columns_of(iterate_dataset(run.path, name)) for name in ("evosyn", "random")}
    simulated = " (SIMULATED)" if report["simulated"] else ""
    picture = draw(values["evosyn"], values["random"], f"{plan.name}{simulated}")
    for folder in ("", "dataset/"):
        run.write(f"{folder}quality.png", picture)
    facts = CardFacts(plan.name, report, plan.recipe, plan.licence)
    run.write("README.md", render_card(facts, "dataset/"))
    run.write("dataset/README.md", render_card(facts, ""))
    run.write_json("report.json", report)
    return report


def _problems(ledger: Ledger[Instance], count: int) -> Iterator[Pool]:
    for instance in ledger.items(range(count)):
        if instance.problem is not None:
            yield Pool(instance.problem, (), ())


def _candidates(ledger: Ledger[Instance], count: int) -> Iterator[Pool]:
    return (instance.pool for instance in ledger.items(range(count)) if instance.pool is not None)


def _matrices(ledger: Ledger[Instance], count: int) -> Iterator[PassMatrix]:
    return (instance.matrix for instance in ledger.items(range(count)) if instance.matrix is not None)


def _samples(ledger: Ledger[Instance], plan: OutputPlan, setting: str) -> Iterator[Sample]:
    for instance in ledger.items(range(plan.count)):
        replies = {paid.reply.id: paid.reply for paid in ledger.replies(instance.index)}
        sample = plan.maker.make(instance, setting, replies)
        if sample is not None:
            yield sample
