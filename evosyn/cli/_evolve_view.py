"""What a person sees of a search: a live line on a terminal, plain lines elsewhere, leaderboards at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evosyn.cli._output import console, echo
from evosyn.cli._tables import Cell, print_by_pool, print_table, wide_console
from evosyn.escaping import safe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from evosyn.evolve.events import Fate, Step
    from evosyn.evolve.islands import Archipelago
    from evosyn.evolve.stopping import StopConfig
    from evosyn.records import Json
    from evosyn.synthesis.search.config import EvolveConfig
    from evosyn.synthesis.search.progress import SearchProgress

LINE_EVERY_S = 5.0
REFRESH_S = 0.2


@contextmanager
def watching(config: EvolveConfig, *, show: bool) -> Iterator[SearchProgress]:
    """Progress on standard error while the body runs."""
    from evosyn.synthesis.search.progress import Quiet

    if not show:
        yield Quiet()
        return
    shown = console(stderr=True)
    if not sys.stderr.isatty():
        yield Lines(config, shown, None)
        return
    with shown.status("starting") as status:
        yield Lines(config, shown, status)


class Lines:
    """Implements `SearchProgress`: updates a status line, or prints lines where there is no terminal."""

    def __init__(self, config: EvolveConfig, console: Console, status: Status | None) -> None:
        self._stop, self._console, self._status = config.stop, console, status
        self._shown, self._started, self._first = 0.0, time.monotonic(), 0
        self._what = ""

    def step(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self._what, self._shown = what, 0.0
        self._show(f"{what}: {done} of {total} problems", force=done == total)

    def committed(self, state: Archipelago, step: Step, fates: tuple[Fate, ...]) -> None:  # noqa: ARG002
        if step.index < 0:
            self._started, self._first = time.monotonic(), state.evaluations
            others = f"; the best of {len(state.initial)} that it starts from: {state.best_score:.4f}"
            score = f"{state.initial[0].evaluation.score:.4f} on the draws of the search (tables are of fresh ones)"
            self.said(f"initial strategy: {score}{others if len(state.initial) > 1 else ''}")
        elif self._due():
            self._show(self._line(state), force=True)

    def limited(self, limits: StopConfig) -> None:
        self._stop = limits

    def said(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False)

    def _line(self, state: Archipelago) -> str:
        stop = self._stop
        rate = (state.evaluations - self._first) / max(time.monotonic() - self._started, 1e-3)
        goal = f"/{stop.evaluations}" if stop.evaluations else ""
        steps = f", {state.steps}/{stop.proposals} proposals" if stop.proposals else ""
        calls = (
            f", {state.replies} model calls" + (f" ${state.cost:.3f}" if state.cost else "") if state.replies else ""
        )
        return (
            f"{state.evaluations}{goal} evaluations{steps}, best {state.best_score:.4f}, "
            f"{len(state.record)} cells, {rate:.0f}/s{calls}"
        )

    def _due(self) -> bool:
        return time.monotonic() - self._shown > (LINE_EVERY_S if self._status is None else REFRESH_S)

    def _show(self, text: str, *, force: bool = False) -> None:
        if not (force or self._due()):
            return
        self._shown = time.monotonic()
        if self._status is None:
            self.said(text)
        else:
            self._status.update(text)


def show_report(report: Mapping[str, Json], out: Path) -> None:
    """Print leaderboards, verdict and the winner's source."""
    from rich.syntax import Syntax

    from evosyn.reading.conclusions import of_search
    from evosyn.synthesis.search.seeds import told

    wide = wide_console()
    print_leaderboard(report)
    found = of_search(report, None, "", None)
    took = f"{spent(report)}, {report['wall_s']:.0f} s; ended by {report['stopped']}"
    for line in (found.did, f"winner {found.won}, {took}", *found.why):
        wide.print(line, highlight=False, markup=False)
    boards = report["leaderboard"]
    held = boards["heldout"]["problems"]
    if left_out := report["left_out"]:
        wide.print(told(boards["train"]["problems"] + held, left_out), highlight=False, markup=False)
    if many := len(report["untelling"]):
        wide.print(f"human testings that accept every solution, and tell none apart: {many}", highlight=False)
    source = (out / "strategy.py").read_text(encoding="utf-8")
    if wide.is_terminal:
        wide.print(Syntax(safe(source), "python"))
    else:
        echo(source)
    echo(f"written: {out}/strategy.py, card.md, report.json, journal.jsonl; look closer with: evosyn inspect {out}")


def spent(report: Mapping[str, Json]) -> str:
    """Model calls and dollars, with the phases that they went to."""
    phases = ", ".join(_phase(phase, usage) for phase, usage in report["spent"].items())
    listed = f" ({phases})" if phases else ""
    money = ", price unknown" if report["cost"] is None else f", ${report['cost']:.4f}" if report["cost"] else ""
    return f"{report['model_calls']} model calls{listed}{money}"


def _phase(name: str, usage: Mapping[str, Json]) -> str:
    tokens = usage["tokens"]
    shown = f": {tokens['input']} + {tokens['output']} tokens" if any(tokens.values()) else ""
    return f"{name} {usage['calls']}{shown}" + (f", ${usage['cost']:.4f}" if usage["cost"] else "")


def print_leaderboard(report: Mapping[str, Json]) -> None:
    """One table over train and held-out problems, best held-out score first."""
    from evosyn.evaluators.intervals import Interval, between
    from evosyn.reading.winners import known_winner

    boards = report["leaderboard"]
    train = {row["strategy"]: row for row in boards["train"]["strategies"]}
    label = "  SIMULATED: drawn from a stand-in for a model" if report["simulated"] else ""
    sizes = f"M={boards['train']['M']}, N={boards['train']['N']}, ties {boards['train']['ties']}"
    sides = (f"train ({boards['train']['problems']})", f"held out ({boards['heldout']['problems']})")
    columns = ("strategy", *sides, "95 %", "criterion 1", "testing bal. acc.")
    rows: list[tuple[Cell, ...]] = []
    rule = known_winner(report)
    every = [row["strategy"] for row in boards["heldout"]["strategies"]]
    names = {name: f"{name} (the winner)" if name == (rule or "evolved") else name for name in every}
    if rule:
        del names["evolved"]  # the rule once more
    for row in boards["heldout"]["strategies"]:
        name = row["strategy"]
        if name not in names:
            continue
        shown = names[name]
        if row["invalid"] is not None:
            rows.append((shown, "invalid", "", "", "", ""))
            continue
        interval = between(None if row["ci"] is None else Interval(*row["ci"]))
        rows.append((shown, train[name]["score"], row["score"], interval, row["criterion1"],
                     row["testing_balanced_accuracy"]))  # fmt: skip
    rows.append(("oracle", boards["train"]["oracle"], boards["heldout"]["oracle"], "", "", ""))
    if boards["heldout"]["reachable"] is not None:
        bounds = (boards["train"]["reachable"], boards["heldout"]["reachable"])
        rows.append(("reachable by passes alone", *bounds, "", "", ""))
    print_table(f"seed consistency, {sizes}{label}", columns, rows)
    print_by_pool(boards["heldout"], names)
    for row in boards["heldout"]["strategies"]:
        if row["invalid"] is not None and row["strategy"] in names:
            echo(f"{names[row['strategy']]} is invalid: {row['invalid']}")
