"""A worker makes one shard: journal restored, stages run, replies brought to storage, sealed.

The stages are those of a synthesis in one piece, with the numbers that the problems have in the whole run; so what
becomes of a problem depends on neither worker nor shard. docs/scale.md.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from evosyn.budget import Budget, BudgetConfig
from evosyn.dataset import SETTINGS, parquet_path
from evosyn.errors import BudgetSpent, CorruptRun, RunLocked, UnavailableError, UsageError
from evosyn.journal import Journal
from evosyn.ports.stages import Stage
from evosyn.rundir import RunDir, write_atomic
from evosyn.running.ledger import Ledger
from evosyn.running.runner import Runner
from evosyn.storage import Storage, open_storage
from evosyn.synthesis.decontaminate import DecontaminateConfig, OverlapIndex, open_index
from evosyn.synthesis.inputs import Asked
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.lacking import LackCount
from evosyn.synthesis.outputs import Counted, OutputPlan, write_rows
from evosyn.synthesis.progress import SynthesisProgress
from evosyn.synthesis.recipes.problems import Given, finishing, maker_of, making
from evosyn.synthesis.report import Figures
from evosyn.synthesis.shards.config import planned
from evosyn.synthesis.shards.orders import ShardOrder, ShardOutcome, ShardSetup
from evosyn.synthesis.shards.scratch import scratch_of
from evosyn.synthesis.shards.seals import (
    JOURNAL,
    REJECTS,
    SKETCH,
    Seal,
    open_sealed,
    packed,
    read_seal,
    seals_of,
    write_seal,
    write_sealed,
)
from evosyn.synthesis.shards.shipping import PROGRESS, Shipping, restore
from evosyn.synthesis.shift import Shifts
from evosyn.synthesis.sketches import write_sketch
from evosyn.synthesis.stages.deduplicate import DropRepeated
from evosyn.workbench import Workbench, WorkbenchConfig

KIND = "synthesize-shard"
MADE = "problems.jsonl"
"""In the directory of a shard: the journal of the phase before."""
Opened: TypeAlias = Callable[[ShardSetup, ShardOrder, Path], AbstractContextManager[Workbench]]
"""Opens what a worker works with, which keeps what it remembers in the directory of the shard."""


def work(setup: ShardSetup, order: ShardOrder, opened: Opened | None = None) -> ShardOutcome:
    """Make a shard and seal it; what stands in the way is told, not raised, but for faults of ours."""
    budget = Budget(BudgetConfig())
    try:
        folder = scratch_of(setup) / order.name
        storage = open_storage(setup.store)
        if read_seal(storage, order.phase, order.shard, setup.run) is not None:
            return ShardOutcome("sealed", used=budget.used)
        with closing(_locked(folder)) as run, (opened or open_workbench)(setup, order, folder) as workbench:
            budget = workbench.budget
            _Shard(setup, order, storage, run, workbench).make()
    except RunLocked as error:
        return ShardOutcome("held", str(error), budget.used)
    except BudgetSpent as error:
        return ShardOutcome("spent", str(error), budget.used)
    except UsageError as error:
        return ShardOutcome("refused", str(error), budget.used)
    except CorruptRun as error:
        return ShardOutcome("corrupt", str(error), budget.used)
    except (UnavailableError, OSError) as error:
        return ShardOutcome("failed", f"{type(error).__name__}: {error}", budget.used)
    shutil.rmtree(folder, ignore_errors=True)
    return ShardOutcome("sealed", used=budget.used)


def _locked(folder: Path) -> RunDir:
    """The directory of a shard, locked.

    Raises:
        RunLocked: another process of this machine has it.
        OSError: this machine's disk is full or cannot be written; another one's may be better.
    """
    try:
        return RunDir(folder).open_for_writing()
    except RunLocked:
        raise
    except UsageError as error:
        raise OSError(f"{folder}: {error.__cause__}") from error


def open_workbench(setup: ShardSetup, order: ShardOrder, folder: Path) -> Workbench:
    """That of the run, with the sandbox of this machine, its part of the cores, and what the order may spend."""
    config = setup.config
    here = on_this_machine(config.workbench).model_copy(update={"budget": order.budget})
    if config.shards.workers > 1 and config.workbench.sandbox.runner == "local" and here.sandbox.workers is None:
        cores = max(1, len(os.sched_getaffinity(0)) // config.shards.workers)
        here = here.model_copy(update={"sandbox": here.sandbox.model_copy(update={"workers": cores})})
    return Workbench(here, out=folder, seed=config.seed, limits=config.execute.limits)


def on_this_machine(config: WorkbenchConfig) -> WorkbenchConfig:
    """The same with the sandbox of this machine alone."""
    return config.model_copy(update={"sandbox": config.sandbox.model_copy(update={"runner": "local"})})


def worker_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


class Sealing(NamedTuple):
    """What a phase leaves of a shard."""

    members: dict[str, Path]
    counted: Counted
    rows: dict[str, int]


class _Shard:
    def __init__(
        self, setup: ShardSetup, order: ShardOrder, storage: Storage, run: RunDir, workbench: Workbench
    ) -> None:
        self._setup, self._order, self._storage, self._run, self._bench = setup, order, storage, run, workbench
        self._config, self._inputs = setup.config, setup.inputs
        self._plan = planned(self._config.problems, self._config.shards)
        self._indices = self._plan.indices(order.shard)
        self._began = time.monotonic()
        self._progress = SynthesisProgress(asked=len(self._indices))

    def make(self) -> None:
        """Do it, and seal it."""
        journal = self._run.journal
        before = self._before()
        known = restore(journal.path, self._storage, self._order, before)
        asked = Asked((self._bench.teacher(), *(self._bench.teacher(model) for model in self._config.also)))
        ledger = Ledger(journal, Instance, counts=self._progress)
        ledger.begin({"kind": KIND, "run": self._setup.run, "shard": self._order.shard})
        window = 2 * max(16, self._bench.config.teacher.calls)
        runner = Runner(self._stages(asked, ledger), ledger, window=window, progress=self._progress)
        with Shipping(self._storage, self._order, journal.path, known, self._config.shards.ship_s, self._tell):
            runner.run_and_close(self._items(before), asked.teachers)
        self._seal(ledger)

    def _before(self) -> bytes:
        """The journal of the phase before."""
        if self._order.phase == "problems":
            return b""
        (seal,) = seals_of(self._storage, "problems", range(self._order.shard, self._order.shard + 1), self._setup.run)
        with open_sealed(self._storage, seal) as archive:
            return archive.read(JOURNAL)

    def _items(self, before: bytes) -> Iterable[Instance]:
        """What the stages begin with: of the phase `rows` the very problems that were compared, whatever asking for
        them again would bring."""
        if self._order.phase == "problems":
            return map(Instance, self._indices)
        path = self._run.file(MADE)
        write_atomic(path, before)
        return Ledger(Journal(path), Instance).items(self._indices)

    def _stages(self, asked: Asked, ledger: Ledger[Instance]) -> list[Stage[Instance]]:
        benchmarks = _benchmarks(self._config.filter.decontaminate)
        given = Given(self._inputs, self._config, self._bench, asked, ledger, benchmarks)
        if self._order.phase == "problems":
            return making(given)
        return [DropRepeated(self._order.repeats), *finishing(given)]

    def _seal(self, ledger: Ledger[Instance]) -> None:
        self._run.journal.sync()
        ended = self._problems(ledger) if self._order.phase == "problems" else self._rows(ledger)
        file, sha256 = write_sealed(
            self._storage, self._order, packed({JOURNAL: self._run.journal.path, **ended.members})
        )
        traits, sizes = ended.counted.shifts.seen
        write_seal(
            self._storage,
            Seal(
                run=self._setup.run,
                phase=self._order.phase,
                shard=self._order.shard,
                file=file,
                sha256=sha256,
                worker=worker_name(),
                seconds=round(time.monotonic() - self._began, 3),
                figures=ended.counted.figures,
                protection=None if self._order.phase == "problems" else self._bench.sandbox.protection,
                rows=ended.rows,
                traits=traits,
                sizes=sizes,
                lacks=ended.counted.lacks,
            ),
        )

    def _problems(self, ledger: Ledger[Instance]) -> Sealing:
        figures, statements, seeds = Figures(), {}, len(self._inputs.seeds)
        for instance in ledger.items(self._indices):
            figures.see(instance)
            if instance.ended is None:
                statements[seeds + instance.index] = instance.asked.statement
        write_sketch(self._run.file(SKETCH), statements, self._config.filter.dedup)
        return Sealing({SKETCH: self._run.file(SKETCH)}, Counted(figures, Shifts(None), LackCount()), {})

    def _rows(self, ledger: Ledger[Instance]) -> Sealing:
        maker = maker_of(self._inputs, self._config, self._bench)
        plan = OutputPlan(self._indices, maker, {}, "", self._config.problem.licence, self._inputs)
        counted = write_rows(self._run, ledger, plan)
        files = {f"{setting}.parquet": parquet_path(self._run.path, setting) for setting in SETTINGS}
        kept = {setting: counted.figures.kept[setting] for setting in SETTINGS}
        return Sealing({REJECTS: self._run.file(REJECTS), **files}, counted, kept)

    def _tell(self) -> None:
        """Say in storage how far this worker is; it decides nothing."""
        said = {
            "worker": worker_name(),
            "phase": self._order.phase,
            "shard": self._order.shard,
            "asked": self._progress.asked,
            "ended": self._progress.finished,
            "replies": self._progress.replies,
            "seconds": round(time.monotonic() - self._began, 1),
            "at": round(time.time(), 1),
        }
        self._storage.write(f"{PROGRESS}/{worker_name()}.json", json.dumps(said).encode())


@lru_cache(maxsize=1)
def _benchmarks(config: DecontaminateConfig) -> OverlapIndex | None:
    return open_index(config) if config.files else None
