"""Directories of the other commands: figures, tables and curves, in one form for all of them.

Single values of a report are facts, lists of objects are tables, long texts are notes. A training has its curves
from the first step on; what has no report yet says how far it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evosyn.configs.saving import read_config
from evosyn.configs.section import listed
from evosyn.errors import is_held
from evosyn.reading.base import Fresh, Reading
from evosyn.reading.conclusions import (
    Conclusion,
    of_ablation,
    of_calibration,
    of_evaluation,
    of_execution,
    of_training,
)
from evosyn.reading.matrices import MatrixShown, matrix_of, shown_matrix, stored_matrices
from evosyn.records import Json, PassMatrix, Verdict
from evosyn.train.checkpoints import read_metrics

POINTS = 1000
"""Points of a curve in an answer."""
LISTED = 500
"""Problems of a cross-execution in an answer."""
PROBLEMS = "problems"
"""The table whose first column names problems."""
SHORT = 120
"""Characters of a fact; a longer text is a note."""
FIRST = ("reward", "pass_rate", "zero_variance", "loss", "mean_token_accuracy")
"""Metrics whose curves come first."""
TOLD = frozenset({"v", "kind", "command", "trl", "versions", "pass_histogram", "tables"})
"""Keys of reports that stand elsewhere or only programs want."""

Cell = str | int | float | None


class CurvePoint(NamedTuple):
    """A metric at a step."""

    step: int
    value: float


@dataclass(frozen=True)
class TableShown:
    """Rows of cells under columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Summary:
    """A directory as a whole.

    Attributes:
        progress: how far it is, in words.
        conclusion: did it work, what won, why.
        notes: what a reader must know about the figures.
        facts: single figures by name; those of nested objects under dotted names.
        curves: metrics over steps.
        report: report.json; None while it runs.
    """

    kind: str
    path: str
    finished: bool
    simulated: bool
    progress: str
    conclusion: Conclusion
    notes: tuple[str, ...]
    facts: Mapping[str, Cell]
    tables: tuple[TableShown, ...]
    curves: Mapping[str, tuple[CurvePoint, ...]]
    report: Mapping[str, Json] | None


class SummaryReading(Reading):
    """A directory of which the report is all that is known."""

    made_by = "an evosyn command"

    def overview(self) -> Summary:
        """Everything that is known of the directory."""
        report = self.report
        values = self.begun_with() if report is None else report
        facts = dict(_facts(values))
        texts = {name: value for name, value in facts.items() if isinstance(value, str) and len(value) > SHORT}
        return Summary(
            kind=self.kind,
            path=str(self.path),
            finished=report is not None,
            simulated=bool(facts.get("simulated") or facts.get("lineage.simulated")),
            progress=self.progress() if report is None else "finished",
            conclusion=self.conclude(report),
            notes=(*map(str, texts.values()), *values.get("warnings", ())),
            facts={name: value for name, value in facts.items() if name not in texts},
            tables=self.tables(values),
            curves=self.curves(),
            report=report,
        )

    def progress(self) -> str:
        """How far a directory without a report is."""
        return "not finished; the same command goes on"

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        """What its first screen answers."""
        return Conclusion(
            "open" if report is None else "done", f"{self.progress()}." if report is None else "Finished."
        )

    def begun_with(self) -> dict[str, Json]:
        """What is known before there is a report."""
        return {}

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:
        return tuple(_tables(values))

    def curves(self) -> dict[str, tuple[CurvePoint, ...]]:
        return {}


class TrainingReading(SummaryReading):
    """A directory of `evosyn train` or `evosyn distill`."""

    made_by = "`evosyn train` or `evosyn distill`"

    def progress(self) -> str:
        rows = read_metrics(self.dir.file("metrics.jsonl"))
        told = f"step {rows[-1]['step']} of {self.begun_with().get('steps')}" if rows else "no step yet"
        return f"not finished, {told}; the same command goes on"

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        values = {name: [point.value for point in points] for name, points in self.curves().items()}
        return of_training(report, self.progress(), values)

    def begun_with(self) -> dict[str, Json]:
        config = read_config(self.path)
        told: dict[str, Json] = {
            key: config[key] for key in ("data", "setting", "model", "seed", "steps") if key in config
        }
        return {**told, "data": ", ".join(listed(told["data"]))} if "data" in told else told

    def curves(self) -> dict[str, tuple[CurvePoint, ...]]:
        found: dict[str, list[CurvePoint]] = {}
        for row in read_metrics(self.dir.file("metrics.jsonl")):
            for name, value in row.items():
                if name not in ("step", "seconds") and isinstance(value, int | float):
                    found.setdefault(name, []).append(CurvePoint(row["step"], value))
        order = sorted(
            found.items(), key=lambda item: (FIRST.index(item[0]) if item[0] in FIRST else len(FIRST), item[0])
        )
        return {name: tuple(points[:: len(points) // POINTS + 1]) for name, points in order}


class CrossexecReading(SummaryReading):
    """A directory of `evosyn crossexec`."""

    made_by = "`evosyn crossexec`"
    asks = {"overview": (), "matrix": ("PROBLEM",)}  # noqa: RUF012

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._problems = Fresh(self.dir.file("matrices.jsonl"), self._read)

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:  # noqa: ARG002
        """A row a problem, as soon as the matrices are written."""
        rows = self._problems.get()
        return (
            (TableShown(PROBLEMS, ("problem", "solutions", "testings", "pass", "right"), rows[:LISTED]),)
            if rows
            else ()
        )

    def highlights(self, most: int) -> Iterator[str]:
        yield from ("overview", *(f"matrix/{row[0]}" for row in self._problems.get()[:most]))

    def progress(self) -> str:
        done = max(sum(1 for _ in self.dir.journal.events()) - 1, 0)  # the first line says what it is made of
        return f"not finished, {done} problems are executed; the same command goes on"

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        return of_execution(report, self.progress())

    def matrix(self, problem: str) -> MatrixShown:
        """The matrix of a problem; nothing ranks it."""
        return shown_matrix(self.pass_matrix(problem))

    def pass_matrix(self, name: str) -> PassMatrix:
        return matrix_of(stored_matrices(self.path), name)

    def _read(self) -> tuple[tuple[Cell, ...], ...]:
        """Of each problem the size of its matrix, the share of cells that pass and of solutions that are right."""
        found = stored_matrices(self.path) if is_held(self.dir.file("matrices.jsonl")) else []
        return tuple(
            (
                matrix.problem_id,
                *matrix.verdicts_MN.shape,
                round(float(matrix.passed_MN.mean()), 3),
                None if matrix.human_M is None else round(float((matrix.human_M == Verdict.PASS.value).mean()), 3),
            )
            for matrix in found
        )


class EvaluationReading(SummaryReading):
    """A directory of `evosyn eval`."""

    made_by = "`evosyn eval`"

    def progress(self) -> str:
        done = [(file.stem, read_metrics(file)) for file in sorted((self.path / "completions").glob("*.jsonl"))]
        told = ", ".join(f"{name}: {len(rows)} problems are answered" for name, rows in done)
        return f"not finished, {told or 'no problem is answered yet'}; the same command goes on"

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        return of_evaluation(report, self.progress())

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:
        """pass@k of each model with its interval and the gain over the first one, and the same by level."""
        rows, levels, domains = [], [], []
        for row in values.get("models", ()):
            figures = _cells({name: value for name, value in row.items() if "@" in name})
            rows.append({"model": row["model"], "problems": row["problems"], **figures, "unknown": row["unknown"]})
            levels += [{"model": row["model"], "level": level, **_cells(part)} for level, part in row["levels"].items()]
            parts = row.get("domains", {}).items()
            domains += [{"model": row["model"], "domain": domain, **_cells(part)} for domain, part in parts]
        title = f"{values.get('bench')}: {values.get('problems')} problems, {values.get('samples')} samples each"
        tables = ((title, rows), ("by level", levels), ("by domain", domains))
        return tuple(_table(what, found) for what, found in tables if found)


class CalibrationReading(SummaryReading):
    """What `evosyn calibrate` keeps with a dataset, for one student."""

    made_by = "`evosyn calibrate`"

    def progress(self) -> str:
        done = max(sum(1 for _ in self.dir.journal.events()) - 1, 0)
        return f"not finished, {done} rows are done; the same command goes on"

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        return of_calibration(report, self.progress())


class AblationReading(SummaryReading):
    """A directory of `evosyn ablate`, which may hold several ablations."""

    made_by = "`evosyn ablate`"

    def progress(self) -> str:
        begun = ", ".join(sorted(file.stem for file in self.path.glob("ablate-*.yaml")))
        return f"not finished: {begun}; the same command begins anew"

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        return of_ablation(report, self.progress())

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:
        """One for each ablation."""
        found = values.get("tables", {}).values()
        return tuple(TableShown(one["title"], tuple(one["columns"]), tuple(map(tuple, one["rows"]))) for one in found)


def _facts(values: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Cell]]:
    for key, value in values.items():
        if key in TOLD or value is None or value in ("", [], {}) or _table_rows(value) is not None:
            continue
        if isinstance(value, Mapping):
            yield from _facts(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            if key != "warnings":
                yield prefix + key, ", ".join(map(str, value))
        else:
            yield prefix + key, value


def _tables(values: Mapping[str, Json]) -> Iterator[TableShown]:
    for key, value in values.items():
        rows = _table_rows(value)
        if rows is not None:
            yield _table(key, rows)


def _table(title: str, rows: Sequence[Mapping[str, Cell]]) -> TableShown:
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return TableShown(title, columns, tuple(tuple(row.get(name) for name in columns) for row in rows))


def _table_rows(value: Json) -> list[dict[str, Cell]] | None:
    """The rows of what is a table: a list of objects, or objects by name; None for anything else."""
    if isinstance(value, Mapping) and value and all(isinstance(one, Mapping) for one in value.values()):
        return [{"": name, **_cells(one)} for name, one in value.items()]
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        return [_cells(one) for one in value]
    return None


def _cells(row: Mapping[str, Json]) -> dict[str, Cell]:
    """The cells of a row: a mean stands with its interval, nested objects under dotted names."""
    found: dict[str, Cell] = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and "mean" in value:
            mean = "" if value["mean"] is None else f"{value['mean']:.3f}"
            known = value["low"] is not None
            found[name] = mean + (f" [{value['low']:.3f}, {value['high']:.3f}]" if known else "")
        elif isinstance(value, Mapping):
            found |= {f"{name} {inner}": cell for inner, cell in _cells(value).items()}
        else:
            found[name] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return found
