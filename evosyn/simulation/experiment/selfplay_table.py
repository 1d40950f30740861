"""The table of `evosyn experiment coevolve --recipe evoenv`, from records of arms and seeds, and what it says in words.

Nothing must come out here: differences are told with their intervals, and whether their signs are the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from evosyn.environments.calibration import TARGET
from evosyn.records import Json
from evosyn.simulation.experiment.table import (
    arm_row,
    cell,
    interval,
    interval_json,
    paired,
    remarks,
    reward_of,
)

NOTE = (
    "SIMULATED: a mechanism check on a toy family, environments that ask for the signs of words, with a simulated "
    "author and reviewer and a model of 0.2 million parameters trained from scratch; it is no evidence about language "
    "models."
)
NONE, SELFPLAY = "none", "selfplay"
COMPARED = (
    *((arm, NONE) for arm in ("public", "fixed", "drafted", "rotation", SELFPLAY)),
    (SELFPLAY, "fixed"),
    ("rotation", "fixed"),
    ("drafted", "fixed"),
    (SELFPLAY, "drafted"),
    ("rotation", "drafted"),
)
PAPER = {"public - none": -1, "fixed - none": -1, "selfplay - none": 1, "selfplay - fixed": 1}
"""The signs of EvoEnv: fixed pools lower a strong start, the evolving one raises it. `rotation` and `drafted` ask for
other things than `fixed` does, so that their differences to it are no sign of the paper (ours)."""
LIKE = ("selfplay - drafted", "rotation - drafted")
"""Differences to the arm whose rows ask for as much as those of `rotation`, and stay."""
WINDOWS, EDGE = 5, 10
"""Parts of a training in which figures by step are told; steps at either end that are compared."""
RISE, OF_SEEDS = 1.5, 0.8
"""By how much the share on L5 should rise, and in how many of the seeds, while the solve rate nears its target."""
UNTOLD = "what a pool pays says nothing about what it does not ask"
JOINT = ("l5", "rate", "novelty")


def summarize(records: Sequence[Json]) -> dict[str, Json]:
    """The table as JSON."""
    arms = dict.fromkeys(record["arm"] for record in records)
    rows = [_row([record for record in records if record["arm"] == arm]) for arm in arms]
    found = {f"{one} - {other}": paired(records, one, other) for one, other in COMPARED}
    differences = {name: interval_json(one) for name, one in found.items() if one is not None}
    report: dict[str, Json] = {
        "note": NOTE,
        "simulated": True,
        "main": "selfplay - fixed",
        "start": {str(one["seed"]): one["start"] for one in records},
        "arms": rows,
        "differences": differences,
        "signs": {name: sign_seen(PAPER[name], one) for name, one in differences.items() if name in PAPER},
        "selfplay": joint([record for record in records if record["arm"] == SELFPLAY]),
    }
    return {**report, "verdict": verdict(report), "remarks": remarks(rows, UNTOLD)}


def sign_seen(sign: int, found: Mapping[str, float | None]) -> str:
    """Whether a difference has the paper's sign: `yes`, `opposite`, or `not shown` where the interval holds zero or
    there is none."""
    low, high = found["low"], found["high"]
    if low is None or high is None or low <= 0 <= high:
        return "not shown"
    return "yes" if (low > 0) == (sign > 0) else "opposite"


def joint(records: Sequence[Json]) -> dict[str, Json] | None:
    """The joint run by step: means over seeds in windows, what came in, and the check of each seed."""
    if not records:
        return None
    checks = [_checked(record) for record in records]
    of_steps = {name: [[one[name] for one in record["joint"]] for record in records] for name in (*JOINT, "came")}
    of_steps["pool"] = [[row["pool"] for row in record["log"]] for record in records]
    passed = sum(one["passes"] for one in checks)
    return {
        "by_window": {name: _over_seeds(values) for name, values in of_steps.items()},
        "came": sum(record["came"] for record in records),
        "came_unsound": sum(record["came_unsound"] for record in records),
        "widest": max(record["widest"] for record in records),
        "held": sum(record["held"] for record in records) if all("held" in record for record in records) else None,
        "checks": checks,
        "passed": passed,
        "seen": passed >= math.ceil(OF_SEEDS * len(checks)),
    }


def windows(values: Sequence[float | None]) -> list[float | None]:
    """Means of the parts of a training; of what is known."""
    ends = [len(values) * at // WINDOWS for at in range(WINDOWS + 1)]
    return [_mean(values[start:end]) for start, end in pairwise(ends)]


def _checked(record: Json) -> dict[str, Json]:
    steps = record["joint"]
    (first, last), (before, after) = (
        (_mean([one[name] for one in steps[:EDGE]]), _mean([one[name] for one in steps[-EDGE:]]))
        for name in ("l5", "rate")
    )
    rises = bool(first is not None and last is not None and last > 0 and last >= RISE * first)
    nears = bool(before is not None and after is not None and abs(after - TARGET) < abs(before - TARGET))
    told = {"seed": record["seed"], "l5": [first, last], "rate": [before, after], "rises": rises, "nears": nears}
    return {**told, "passes": rises and nears}


def _row(mine: Sequence[Json]) -> dict[str, Json]:
    row = arm_row(mine)
    row["reward_start"], row["reward_end"] = (_reward(mine, first=first) for first in (True, False))
    logs = [[step["zero_variance"] for step in one["log"]] for one in mine if one.get("log")]
    row["zero_variance"] = _over_seeds(logs) if logs else None
    return row


def _reward(mine: Sequence[Json], *, first: bool) -> float | None:
    """Of questions alone: a draft is paid in other coin."""
    paid = [{"log": [{"reward": step["pass_rate"]} for step in one.get("log", [])]} for one in mine]
    return reward_of(paid, first=first)


def _over_seeds(values: Sequence[Sequence[float | None]]) -> list[float | None]:
    return [_mean(some) for some in zip(*map(windows, values), strict=True)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return round(fmean(known), 4) if known else None


def verdict(report: Mapping[str, Json]) -> str:
    """What the figures say, in words, whatever they say."""
    found, signs = report["differences"], report["signs"]
    if "selfplay - fixed" not in found:
        return "selfplay and fixed were not both run, so nothing is concluded."
    said = [
        f"{report['main']} = {interval(found[report['main']], signed=True)} in held-out accuracy, the paper's sign: "
        f"{signs[report['main']]}",
        *(f"{name} = {interval(found[name], signed=True)}" for name in LIKE if name in found),
    ]
    others = [f"{name}: {signs[name]}" for name in PAPER if name.endswith(f"- {NONE}") and name in signs]
    return "; ".join([*said, *(["against no training " + ", ".join(others)] if others else [])]) + "."


def markdown(table: Mapping[str, Json]) -> str:
    """The table for people."""
    starts = ", ".join(f"{one['rate']:.2f} ({one['steps']} steps)" for one in table["start"].values())
    lines = [
        f"> {table['note']}",
        "",
        "| arm | held-out sampled: start -> end [95 %] | minus none [95 %] | greedy | the fixed pool "
        "| solved while training, start -> end | groups without variance, by fifths of the steps |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table["arms"]:
        against = table["differences"].get(f"{row['arm']} - {NONE}")
        lines.append(
            f"| {row['arm']} | {row['start_sampled']:.3f} -> {interval(row['sampled'])} "
            f"| {'-' if against is None else interval(against, signed=True)} | {interval(row['greedy'])} "
            f"| {interval(row['within'])} | {cell(row['reward_start'])} -> {cell(row['reward_end'])} "
            f"| {_series(row['zero_variance'])} |"
        )
    lines += ["", "| difference, paired by seed | mean [95 %] | the paper's sign |", "|---|---|---|"]
    lines += [
        f"| {name} | {interval(value, signed=True)} | {table['signs'].get(name, '-')} |"
        for name, value in table["differences"].items()
    ]
    lines += ["", f"The start solves of the fixed pool, by seed: {starts}."]
    lines += [] if table["selfplay"] is None else _joint_told(table["selfplay"])
    return "\n".join([*lines, "", table["verdict"], "", *(f"- {one}" for one in table["remarks"])])


_TOLD: Mapping[str, str] = {
    "l5": "drafts that stand on L5", "rate": "solve rate of these (calibration)", "novelty": "novelty of these",
    "came": "came in, a step", "pool": "environments in the pool",
}  # fmt: skip


def _joint_told(of: Mapping[str, Json]) -> list[str]:
    lines = ["", f"| self-play, means over seeds | {' | '.join(map(_fifth, range(WINDOWS)))} |", "|---" * 6 + "|"]
    for name, told in _TOLD.items():
        lines.append(f"| {told} | {' | '.join(cell(one) for one in of['by_window'][name])} |")
    lines += [
        "",
        f"| seed | L5, first {EDGE} steps -> last | solve rate | rises | nears {TARGET} |",
        "|---|---|---|---|---|",
    ]
    for one in of["checks"]:
        (first, last), (before, after) = one["l5"], one["rate"]
        marks = " | ".join("yes" if one[name] else "no" for name in ("rises", "nears"))
        lines.append(f"| {one['seed']} | {cell(first)} -> {cell(last)} | {cell(before)} -> {cell(after)} | {marks} |")
    return [
        *lines,
        "",
        f"Share on L5 {RISE} times what it was and solve rates nearer to {TARGET}: {of['passed']} of "
        f"{len(of['checks'])} seeds; {OF_SEEDS:.0%} of them were asked for, so it was "
        f"{'' if of['seen'] else 'not '}seen. {of['came']} drafts came in, {of['came_unsound']} of them unsound by the "
        f"truth; the widest has {of['widest']} words.{_held_told(of['held'])}",
    ]


def _held_told(held: int | None) -> str:
    """Of an earlier record nothing is said: it was not counted."""
    return "" if held is None else f" {held or 'None'} of them has words and rule of a held-out environment."


def _fifth(at: int) -> str:
    return f"{100 * at // WINDOWS} to {100 * (at + 1) // WINDOWS} % of the steps"


def _series(values: Sequence[float | None] | None) -> str:
    return "-" if values is None else " ".join(map(cell, values))
