"""From records of arms and seeds to the table of `evosyn experiment coevolve`, and what it says in words.

Arms are compared at equal steps and at equal completions, paired by seed, with Student's 95 % intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean

from evosyn.records import Json
from evosyn.simulation.experiment.coevolve_arms import TriedMutant
from evosyn.simulation.experiment.coevolve_estimates import (
    SHARES,
    at_completions,
    by_window,
    check_figures,
    contested_by_window,
    cross_fitted_cvar,
    validity,
)
from evosyn.simulation.experiment.coevolve_world import DEPTHS, SUITES
from evosyn.simulation.experiment.table import interval, interval_json, paired, share_over_seeds
from evosyn.train.stats import MeanInterval

NOTE = (
    "SIMULATED: a mechanism check on a toy family of verbs and signs, with made-up mutators that err as often as the "
    "paper's base model and a policy of a few thousand numbers; it is no evidence about language models."
)
MAIN, PLAIN, BLIND = "dejaq-a", "dr", "mutate-uniform"
OTHERS = (PLAIN, "sfl", "resample", BLIND, "dejaq-s", "dejaq-a-valid")
UNSEEN = ("p1", "p2", "p3", "distract")
"""Suites of which the seeds hold nothing."""
WORST = 0.25
TRIED = ("dejaq-a", "dejaq-s")
"""Arms whose mutators err and whose mutants were tried."""


def summarize(records: Sequence[Json], slopes: Mapping[int, Sequence[float]]) -> dict[str, Json]:
    """The table as JSON.

    Args:
        slopes: of each seed, the chance of the base by steps of a problem.
    """
    rows = [_row([one for one in records if one["arm"] == arm]) for arm in dict.fromkeys(one["arm"] for one in records)]
    ends = _differences(records, _at_end)
    report: dict[str, Json] = {
        "note": NOTE,
        "simulated": True,
        "main": f"{MAIN} - {PLAIN}",
        "arms": rows,
        "slopes": {str(seed): one for seed, one in slopes.items()},
        "differences": {name: of["mean"] for name, of in ends.items()},
        "at_equal_steps": ends,
        "at_equal_completions": _differences(records, _at_equal_completions),
        "mutants": {arm: _of_mutants(records, arm) for arm in TRIED if any(one["arm"] == arm for one in records)},
    }
    return {**report, "verdict": verdict(report), "remarks": remarks(report)}


def cvar_of(record: Json, share: float = WORST) -> float:
    """Of all held-out problems of an arm."""
    return float(cross_fitted_cvar([marks for suite in record["marks"].values() for marks in suite], share))


def signal_of(record: Json) -> list[float]:
    """Share of the groups whose rewards differ, by window."""
    return by_window([one["signal"] for one in record["log"]])


def figure_of(point: Mapping[str, float], name: str) -> float:
    """A figure of one measurement: `mean`, `depth` (of the suites without asides), or a suite."""
    if name == "depth":
        return fmean(point[suite] for suite in DEPTHS)
    return point["sampled" if name == "mean" else name]


FIGURES = ("mean", "depth", *SUITES)


def _row(mine: Sequence[Json]) -> dict[str, Json]:
    ends = [one["curve"][-1] for one in mine]
    found: dict[str, Json] = {"arm": mine[0]["arm"], "seeds": len(mine)}
    for name in FIGURES:
        found[f"start_{name}"] = round(fmean(figure_of(one["curve"][0], name) for one in mine), 4)
        found[name] = share_over_seeds([figure_of(end, name) for end in ends])
    found["sampled"], found["greedy"] = found["mean"], share_over_seeds([end["greedy"] for end in ends])
    found["cvar"] = {str(share): share_over_seeds([cvar_of(one, share) for one in mine]) for share in SHARES}
    found["signal"] = [round(fmean(each), 4) for each in zip(*map(signal_of, mine), strict=True)]
    found["completions"] = round(fmean(end["completions"] for end in ends))
    for name in ("invalid", "behind", "learnability"):
        found[f"held_{name}"] = round(fmean(end[name] for end in ends), 4) if name in ends[0] else None
    return found


def _differences(
    records: Sequence[Json], value: Callable[[Sequence[Json], str, str, str], MeanInterval | None]
) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for other in OTHERS:
        of = {name: value(records, MAIN, other, name) for name in (*FIGURES, "cvar")}
        told = {name: interval_json(one) for name, one in of.items() if one is not None}
        if told:
            found[f"{MAIN} - {other}"] = told
    return found


def _at_end(records: Sequence[Json], one: str, other: str, name: str) -> MeanInterval | None:
    if name == "cvar":
        return paired(records, one, other, cvar_of)
    return paired(records, one, other, lambda record: figure_of(record["curve"][-1], name))


def _at_equal_completions(records: Sequence[Json], one: str, other: str, name: str) -> MeanInterval | None:
    """Where the one that spent less ends, for each seed."""
    if name == "cvar":  # is measured at the end alone
        return None
    spent: dict[int, float] = {}
    for record in records:
        if record["arm"] in (one, other):
            now = record["curve"][-1]["completions"]
            spent[record["seed"]] = min(now, spent.get(record["seed"], now))
    return paired(records, one, other, partial(_figure_when, spent, name))


def _figure_when(spent: Mapping[int, float], name: str, record: Json) -> float:
    curve = [{"completions": point["completions"], name: figure_of(point, name)} for point in record["curve"]]
    return at_completions(curve, spent[record["seed"]], name)


def _of_mutants(records: Sequence[Json], arm: str) -> dict[str, Json]:
    mutants = [TriedMutant(*one) for record in records if record["arm"] == arm for one in record["mutants"]]
    return {
        "tried": len(mutants),
        "entered": sum(one.entered for one in mutants),
        "entered_invalid": sum(one.entered and one.invalid for one in mutants),
        "validity": validity(mutants),
        "checks": check_figures(mutants),
        "contested": contested_by_window(mutants),
    }


def verdict(report: Mapping[str, Json]) -> str:
    """What the figures say of mutants chosen by learnability, in words, whatever they say."""
    said = []
    for other, what in ((PLAIN, "seeds alone"), (BLIND, "mutants that are not chosen")):
        found = report["at_equal_steps"].get(f"{MAIN} - {other}")
        if found is None:
            return f"{MAIN}, {PLAIN} and {BLIND} were not all run, so nothing is concluded."
        better = [name for name in UNSEEN if (found[name]["low"] or 0) > 0]
        worse = [name for name in UNSEEN if found[name]["high"] is not None and found[name]["high"] < 0]
        told = f"against {what} ({other}) it is better on {_listed(better)}, worse on {_listed(worse)}"
        said.append(told if found["mean"]["low"] is not None else f"against {other} one seed says nothing")
    return f"{MAIN}, of the suites that no seed is like, at the 95 % level: {'; '.join(said)}."


def remarks(report: Mapping[str, Json]) -> list[str]:
    """What is not shown."""
    found = []
    for name, of in report["at_equal_steps"].items():
        missing = [one for one in ("mean", "depth", "cvar") if of[one]["low"] is None or of[one]["low"] <= 0]
        if missing and name in (f"{MAIN} - {PLAIN}", f"{MAIN} - {BLIND}"):
            found.append(f"{name}: no gain is shown at the 95 % level in {_listed(missing)}")
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def markdown(table: Mapping[str, Json]) -> str:
    """The table for people."""
    suites = list(SUITES)
    lines = [
        f"> {table['note']}",
        "",
        f"| arm | mean of suites: start -> end [95 %] | {' / '.join(suites)} | worst quarter | groups with signal | "
        "invalid in the archive | mutations behind | completions |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in table["arms"]:
        by_suite = " / ".join(f"{row[name]['mean']:.2f}" for name in suites)
        lines.append(
            f"| {row['arm']} | {row['start_mean']:.3f} -> {interval(row['mean'])} | {by_suite} "
            f"| {interval(row['cvar'][str(WORST)])} | {' '.join(f'{one:.2f}' for one in row['signal'])} "
            f"| {_cell(row['held_invalid'])} | {_cell(row['held_behind'])} | {row['completions']:,} |"
        )
    for title, key in (("at equal steps", "at_equal_steps"), ("at equal completions", "at_equal_completions")):
        names = [name for name in (*FIGURES, "cvar") if any(name in of for of in table[key].values())]
        lines += ["", f"| paired by seed, {title} | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        lines += [
            f"| {name} | {' | '.join(interval(of[one], signed=True) for one in names)} |"
            for name, of in table[key].items()
        ]
    for seed, chances in table["slopes"].items():
        told = ", ".join(f"{one:.2f}" for one in chances)
        lines += [*([""] if seed == next(iter(table["slopes"])) else []), f"- base of seed {seed}, by steps: {told}"]
    for arm, of in table["mutants"].items():
        lines += ["", *_mutants_told(arm, of)]
    return "\n".join([*lines, "", table["verdict"], "", *(f"- {one}" for one in table["remarks"])])


def _mutants_told(arm: str, of: Mapping[str, Json]) -> list[str]:
    lines = [
        f"Mutants of {arm}: {of['tried']:,} tried, {of['entered']:,} entered, {of['entered_invalid']:,} invalid.",
        "",
        "| at least | mutants | P(invalid, given that) | P(that, given invalid) |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['of']} {row['least']:g} | {row['mutants']:,} | {_cell(row['invalid_given_least'])} "
        f"| {_cell(row['least_given_invalid'])} |"
        for row in of["validity"]
    ]
    lines += ["", "| free check | removes | precision | recall | right ones removed | invalid before -> after |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [
        f"| {row['check']} | {row['removed']:,} | {_cell(row['precision'])} | {_cell(row['recall'])} "
        f"| {_cell(row['right_removed'])} | {_cell(row['invalid_before'])} -> {_cell(row['invalid_after'])} |"
        for row in of["checks"]
    ]
    told = [f"{_cell(one['precision'])}, {_cell(one['recall'])}" for one in of["contested"]]
    return [*lines, "", f"Contested answers, precision and recall by windows of steps: {'; '.join(told)}."]


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
