"""What a person sees of a search: a line while it goes on, leaderboards at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evosyn.cli._output import echo
from evosyn.cli._progress import Say, left, replies_of
from evosyn.cli._tables import Cell, print_by_pool, print_table, wide_console
from evosyn.escaping import safe
from evosyn.running.progress import ReplyCounts, left_s
from evosyn.synthesis.search.progress import DRAWING, SearchProgress

if TYPE_CHECKING:
    from evosyn.evolve.events import Fate, Step
    from evosyn.evolve.islands import Archipelago
    from evosyn.evolve.stopping import StopConfig
    from evosyn.records import Json


class SearchView(SearchProgress):
    """What a search is at, in a line.

    Args:
        replies: counts of those that its pools are drawn of.
        first: what it tells before any of them is asked for.

    Attributes:
        say: says a line that stays.
    """

    def __init__(self, stop: StopConfig, replies: ReplyCounts, first: str = "starting") -> None:
        self._stop, self._replies, self._before = stop, replies, first
        self._line: Callable[[], str] = self._drawing
        self._began, self._first, self._start = 0.0, 0, 0.0
        self.say: Say = lambda _: None

    def __call__(self) -> str:
        return self._line()

    def step(self, what: str, done: int, total: int) -> None:
        if what != DRAWING:
            self._line = lambda: f"{what}: {done:,} of {total:,} problems"
        if done == total:
            counted = f"; {replies_of(self._replies)}" if what == DRAWING else ""
            self.say(f"{what.removesuffix('ing')}ed: {total:,} problems{counted}")
            self._line = lambda: "executing" if what == DRAWING else "starting the search"

    def committed(self, state: Archipelago, step: Step, fates: tuple[Fate, ...]) -> None:  # noqa: ARG002
        if step.index < 0:
            self._began, self._first = time.monotonic(), state.evaluations
            self._start = state.initial[0].evaluation.score or 0.0
            others = f"; the best of {len(state.initial)} that it starts from: {state.best_score or 0:.4f}"
            score = f"{self._start:.4f} on the draws of the search (tables are of fresh ones)"
            self.say(f"start: {score}{others if len(state.initial) > 1 else ''}")
        self._line = lambda: self._searching(state)

    def limited(self, limits: StopConfig) -> None:
        self._stop = limits

    def said(self, line: str) -> None:
        self.say(line)

    def ended(self, why: str) -> None:
        self.say(f"{self._line()}; ended by {why}")
        self._line = lambda: "scoring train and held-out problems"

    def _drawing(self) -> str:
        counts = self._replies
        return f"{DRAWING}: {replies_of(counts)}{left(counts.eta_s)}" if counts.expected else self._before

    def _searching(self, state: Archipelago) -> str:
        stop, seconds = self._stop, time.monotonic() - self._began
        done = state.evaluations - self._first
        goals = [
            left_s(done, stop.evaluations - self._first, seconds) if stop.evaluations else None,
            left_s(state.steps, stop.proposals, seconds) if stop.proposals else None,
        ]
        goal = f"/{stop.evaluations:,}" if stop.evaluations else ""
        steps = f", {state.steps:,}/{stop.proposals:,} proposals" if stop.proposals else ""
        calls = ""
        if state.replies:
            calls = f", {state.replies:,} model calls" + (f" ${state.cost:.3f}" if state.cost else "")
        return (
            f"searching: {state.evaluations:,}{goal} evaluations{steps}, best {state.best_score or 0:.4f} "
            f"(start {self._start:.4f}), {len(state.record)} cells, {done / max(seconds, 1e-3):.0f}/s"
            f"{calls}{left(min((one for one in goals if one is not None), default=None))}"
        )


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
