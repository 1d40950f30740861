"""A directory of `evosyn synthesize --shard-size`: how far its phases are, who works on what, what was dropped.

What is true of a shard stands in its seal on shared storage, and what a worker says of itself beside it; the journal of
the directory has who lost what. The story of a problem is read from the sealed journal of its shard.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evosyn.dataset import SETTINGS, iterate_dataset
from evosyn.errors import CorruptRun, UsageError
from evosyn.reading.conclusions import Conclusion, of_synthesis
from evosyn.reading.data import DataReading, ProblemReasons, ProblemStory, SampleStory, spread_rows
from evosyn.reading.matrices import MatrixShown
from evosyn.reading.summaries import Cell, Summary, SummaryReading, TableShown
from evosyn.records import Json, PassMatrix
from evosyn.storage import Storage, open_storage
from evosyn.synthesis.problems import problem_name
from evosyn.synthesis.report import Figures
from evosyn.synthesis.shards.config import ShardPlan
from evosyn.synthesis.shards.leasing import Returned, lease_events
from evosyn.synthesis.shards.orders import PHASES, Phase
from evosyn.synthesis.shards.seals import JOURNAL, open_sealed, read_object, read_seal, sealed_shards
from evosyn.synthesis.shards.shipping import PROGRESS

SILENT_S = 30.0
"""Seconds after which a worker that said nothing is called silent."""
SAID = ("worker", "phase", "shard", "ended", "asked", "seconds")
PASSING = "Remove it: it says only how far a worker is"
SLOW = 3.0
"""Times the median of sealed shards after which a shard is called slow."""
FACTS = ("asked", "kept", "calls", "cost", "executions", "kept_per_1000_calls", "simulated")


@dataclass
class _Sealed:
    """What is known of the seals of a phase; they never change, so each is read once."""

    shards: set[int] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)
    figures: Figures = field(default_factory=Figures)


class ShardsReading(SummaryReading):
    """A synthesis in shards, finished or not."""

    made_by = "`evosyn synthesize --shard-size`"
    asks = {  # noqa: RUF012
        "overview": (),
        "sample": ("SETTING", "COUNT"),
        "problem": ("ID",),
        "why": ("ID",),
        "matrix": ("PROBLEM",),
    }

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self.manifest = self.dir.read_json("manifest.json")
        self._plan = ShardPlan(**self.manifest["shards"])
        self._sealed: dict[Phase, _Sealed] = {phase: _Sealed() for phase in PHASES}
        self._lock = threading.Lock()
        self._opened: dict[int, tempfile.TemporaryDirectory[str]] = {}

    def overview(self) -> Summary:
        """How far it is, and what came of it."""
        self._look()
        report = self.report
        known = report or {"calls": self._sealed["problems"].figures.usage.calls}
        facts: dict[str, Cell] = {"teacher": self.manifest["teacher"], "seeds": self.manifest["seeds_from"]}
        return Summary(
            kind=self.kind,
            path=str(self.path),
            finished=report is not None,
            simulated=bool(self.manifest.get("simulated")),
            progress=self.progress() if report is None else "finished",
            conclusion=self.conclude(report),
            notes=(),
            facts={**facts, **{name: known[name] for name in FACTS if name in known}},
            tables=self.tables({}),
            curves={},
            report=report,
        )

    def progress(self) -> str:
        told = ", ".join(
            f"{len(one.shards)} of {self._plan.count} shards of {phase}" for phase, one in self._sealed.items()
        )
        return f"not finished, sealed: {told}; the same command goes on"

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        if report is None:
            return Conclusion("open", f"{self.progress().capitalize()}.")
        return of_synthesis(report, self.manifest, report["asked"])

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:  # noqa: ARG002
        done = self._sealed["rows" if self._sealed["rows"].shards else "problems"].figures
        dropped = done.dropped["evosyn"].most_common()
        return (
            TableShown("shards", ("phase", "sealed", "of", "problems", "seconds, median"), self._phases()),
            TableShown("workers", ("worker", "phase", "shard", "ended", "of", "seconds", "state"), self._workers()),
            TableShown("came back", ("phase", "status", "times", "last reason"), self._lost()),
            TableShown("dropped", ("reason", "problems"), tuple((reason, count) for reason, count in dropped)),
        )

    def sample(self, setting: str, count: str) -> tuple[SampleStory, ...]:
        """So many rows of a setting, spread over it, each with its matrix.

        Raises:
            UsageError: the setting holds no row.
        """
        rows = spread_rows(self.path, setting, int(count))
        return tuple(SampleStory(row, self.matrix(row.problem_id)) for row in rows)

    def problem(self, name: str) -> ProblemStory:
        """
        Args:
            name: a problem, its number, or the id of a row made from it.
        """
        return self._of(name).problem(str(self._index(name)))

    def why(self, name: str) -> ProblemReasons:
        """The same with every prompt and reply."""
        return self._of(name).why(str(self._index(name)))

    def matrix(self, name: str) -> MatrixShown | None:
        """The matrix of a problem with the ranking that the dataset was made by."""
        return self._of(name).matrix(str(self._index(name)))

    def pass_matrix(self, name: str) -> PassMatrix:
        """The same as a record, to be ranked anew."""
        return self._of(name).pass_matrix(str(self._index(name)))

    @property
    def _storage(self) -> Storage:
        return open_storage(self.manifest["store"] or str(self.path / "shards"))

    def _look(self) -> None:
        """Read the seals that came."""
        storage = self._storage
        with self._lock:
            for phase, known in self._sealed.items():
                for shard in sorted(sealed_shards(storage, phase) - known.shards):
                    seal = read_seal(storage, phase, shard, self.manifest["run"])
                    if seal is not None:
                        known.shards.add(shard)
                        known.seconds.append(seal.seconds)
                        known.figures.merge(seal.figures)

    def _phases(self) -> tuple[tuple[Cell, ...], ...]:
        return tuple(
            (
                phase,
                len(known.shards),
                self._plan.count,
                known.figures.asked,
                round(statistics.median(known.seconds), 1) if known.seconds else None,
            )
            for phase, known in self._sealed.items()
        )

    def _workers(self) -> tuple[tuple[Cell, ...], ...]:
        storage, rows = self._storage, []
        for name in storage.names(PROGRESS):
            said = read_object(storage, f"{PROGRESS}/{name}", PASSING)
            if said is None:
                continue
            try:
                rows.append((*(said[key] for key in SAID), self._state(said)))
            except (KeyError, TypeError) as error:
                told = "is damaged, it does not say how far a worker is"
                raise CorruptRun(f"shards.store: {PROGRESS}/{name}: {told}. {PASSING}") from error
        return tuple(rows)

    def _state(self, said: Mapping[str, Json]) -> str:
        known = self._sealed[said["phase"]]
        if said["shard"] in known.shards:
            return "sealed it"
        silent = time.time() - said["at"]
        if silent > SILENT_S:
            return f"silent for {silent:.0f} s"
        usual = statistics.median(known.seconds) if known.seconds else 0.0
        return (
            f"slow, {said['seconds'] / usual:.1f} x the median" if usual and said["seconds"] > SLOW * usual else "works"
        )

    def _lost(self) -> tuple[tuple[Cell, ...], ...]:
        events = [one for one in lease_events(self.dir.journal) if isinstance(one, Returned) and one.status != "sealed"]
        times = Counter((one.phase, one.status) for one in events)
        last = {(one.phase, one.status): f"{one.worker}: {one.reason}"[:200] for one in events}
        return tuple((*key, count, last[key]) for key, count in times.most_common())

    def _index(self, name: str) -> int:
        index = int(name) if name.isdecimal() else -1
        if name.startswith(problem_name(0)[:4]) and name[4:].isdecimal():
            index = int(name[4:])
        if name.startswith("d_") and self.report is not None:
            rows = (row for setting in SETTINGS for row in iterate_dataset(self.path, setting) if row.id == name)
            index = next((json.loads(row.lineage)["index"] for row in rows), -1)
        if not 0 <= index < self._plan.problems:
            raise UsageError(
                f"{name!r}: no such sample in {self.path}; give a sample id (d_...), a problem ({problem_name(0)}) or "
                "a number"
            )
        return index

    def _of(self, name: str) -> DataReading:
        """The reading of the shard that a problem is in, from its sealed journal.

        Raises:
            UsageError: it is not sealed.
        """
        shard = self._index(name) // self._plan.size
        with self._lock:
            if shard not in self._opened:
                storage = self._storage
                seal = read_seal(storage, "rows", shard, self.manifest["run"])
                if seal is None:
                    raise UsageError(f"{name!r}: its shard, {shard}, is not finished; the same command goes on")
                folder = tempfile.TemporaryDirectory(prefix="evosyn-shard-")
                with open_sealed(storage, seal) as archive:
                    Path(folder.name, JOURNAL).write_bytes(archive.read(JOURNAL))
                Path(folder.name, "manifest.json").write_text(json.dumps(self.manifest), encoding="utf-8")
                self._opened[shard] = folder
            return DataReading(Path(self._opened[shard].name), self.kind)
