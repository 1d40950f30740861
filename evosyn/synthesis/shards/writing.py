"""The dataset of a run in shards: the rows of all seals in the order of the problems, with one card and one report."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

from evosyn.dataset import SETTINGS
from evosyn.dataset_parts import DatasetParts
from evosyn.records import Json
from evosyn.rundir import RunDir, replacing
from evosyn.storage import Storage
from evosyn.synthesis.card import CardFacts
from evosyn.synthesis.inputs import Inputs
from evosyn.synthesis.lacking import LackCount
from evosyn.synthesis.outputs import Counted, write_report
from evosyn.synthesis.report import Figures
from evosyn.synthesis.shards.config import ShardPlan
from evosyn.synthesis.shards.seals import REJECTS, Seal, open_sealed, seals_of
from evosyn.synthesis.shift import Shifts


class SealedRows:
    """All shards of a run, sealed; one is in memory at a time."""

    def __init__(self, storage: Storage, run: str, plan: ShardPlan) -> None:
        self._storage, self._run, self._plan = storage, run, plan

    def first(self) -> Seal:
        return next(self._seals())

    def write(self, run: RunDir, facts: CardFacts, inputs: Inputs) -> dict[str, Json]:
        """Write rejects, dataset, card and report; returns the value of `report.json`.

        Args:
            facts: with an empty report.
        """
        import pyarrow.parquet  # type: ignore[import-untyped]

        counted, totals = Counted(Figures(), Shifts(inputs.evolved_on, inputs.unit), LackCount()), Counter[str]()
        for seal in self._seals():
            counted.figures.merge(seal.figures)
            counted.lacks.merge(seal.lacks)
            counted.shifts.see_all(seal.traits, seal.sizes)
            totals.update(seal.rows)
        with ExitStack() as stack:
            rejects = stack.enter_context(replacing(run.file(REJECTS)))
            parts = {
                setting: stack.enter_context(DatasetParts(run.path, setting, totals[setting])) for setting in SETTINGS
            }
            for seal in self._seals():
                with open_sealed(self._storage, seal) as archive:
                    rejects.write(archive.read(REJECTS))
                    for setting, part in parts.items():
                        part.add(pyarrow.parquet.read_table(io.BytesIO(archive.read(f"{setting}.parquet"))))
        return write_report(run, counted, facts, inputs)

    def _seals(self) -> Iterator[Seal]:
        return seals_of(self._storage, "rows", range(self._plan.count), self._run)
