"""What the oracle says: findings, and the figures of the report.

A finding is something that must not be; the figures say how much was tried. Both travel as JSON from the processes that
run tests to the one that prints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from evosyn.records import Json


class Kind(StrEnum):
    """What a finding is of."""

    FALSE_PASS = "false pass"  # PASS although the program does not compute
    FALSE_FAIL = "false fail"  # an honest program judged not PASS, or a wrong one not FAIL
    INFRASTRUCTURE = "infrastructure"  # UNKNOWN that a text caused
    CHOSEN = "chosen verdict"  # BROKEN or NOT_RUN that only the supervisor may say
    UNEXPECTED = "unexpected"  # a fault of the program, but not the one that the case allows
    HOST = "host effect"
    ENDED = "run ended"  # a run, a batch or a worker ended by a text
    LATE = "seconds"  # took longer than its limits allow


@dataclass(frozen=True)
class Finding:
    kind: Kind
    mode: str
    case: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value:15} {self.mode:12} {self.case}: {self.detail[:240]}"


@dataclass
class Tally:
    """What one run of an arena tried and found."""

    backend: str
    seed: str
    cases: set[str] = field(default_factory=set)
    cells: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)

    def cell(self, mode: str, count: int = 1) -> None:
        self.cells[mode] = self.cells.get(mode, 0) + count

    def find(self, kind: Kind, mode: str, case: str, detail: str = "") -> None:
        """Note a finding; the first of each kind, mode and case is enough."""
        if not any((one.kind, one.mode, one.case) == (kind, mode, case) for one in self.findings):
            self.findings.append(Finding(kind, mode, case, detail))

    def to_json(self) -> dict[str, Json]:
        findings = [asdict(finding) for finding in self.findings]
        return {**vars(self), "cases": sorted(self.cases), "findings": findings}


def report(tallies: Iterable[dict[str, Json]]) -> dict[str, Json]:
    """The figures of all runs: per backend and mode, the cases, the findings, the seconds."""
    found: dict[str, Json] = {"seeds": [], "cases": [], "seconds": {}, "rows": {}, "findings": []}
    cases: set[str] = set()
    for tally in tallies:
        backend = tally["backend"]
        cases |= set(tally["cases"])
        found["seeds"] = sorted({*found["seeds"], tally["seed"]})
        found["seconds"][backend] = found["seconds"].get(backend, 0.0) + tally["seconds"]
        for mode, cells in tally["cells"].items():
            _row(found["rows"], backend, mode)["cells"] += cells
        for finding in tally["findings"]:
            _row(found["rows"], backend, finding["mode"])[finding["kind"]] += 1
            found["findings"].append({"backend": backend, **finding})
    found["cases"] = len(cases)
    return found


def _row(rows: dict[str, Json], backend: str, mode: str) -> dict[str, int]:
    empty = {"cells": 0, **{kind.value: 0 for kind in Kind}}
    row: dict[str, int] = rows.setdefault(f"{backend} {mode}", empty)
    return row


def table(figures: dict[str, Json]) -> list[str]:
    """The report as lines of text."""
    kinds = [kind.value for kind in Kind]
    lines = [f"{figures['cases']} cases, seed {', '.join(figures['seeds'])}"]
    lines.append(f"{'backend, mode':22}{'cells':>8}" + "".join(f"{kind:>16}" for kind in kinds))
    for name, row in sorted(figures["rows"].items()):
        lines.append(f"{name:22}{row['cells']:>8}" + "".join(f"{row[kind]:>16}" for kind in kinds))
    lines += [f"{backend}: {seconds:.0f} s" for backend, seconds in sorted(figures["seconds"].items())]
    return lines
