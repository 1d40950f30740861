"""From records of arms and seeds to the table, the curves and plain words about what they show.

All arms are shown. The gap closed is (evosyn - random) / (oracle - random) of the mean final accuracies, where there is
a gap at the 95 % level, with what it comes to where a seed is left out; the interval is Student's over seeds of the
paired differences. EvoSyn (2510.17928) table 2 and figure 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evosyn.plots import write_plot
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.train.stats import MeanInterval, t_interval

NOTE = (
    "A mechanism check on a toy family of three-statement list functions with a simulated teacher and a "
    "model of 0.6 million "
    "parameters trained from scratch; it is no evidence about language models."
)


def summarize(records: Sequence[Json], facts: Sequence[Json], note: str = NOTE) -> dict[str, Json]:
    """The table as JSON; of data that say nothing else of themselves, a simulation."""
    arms = list(dict.fromkeys(record["arm"] for record in records))
    rows = []
    for arm in arms:
        mine = [record for record in records if record["arm"] == arm]
        row = arm_row(mine)
        row["start_greedy"] = round(float(np.mean([record["curve"][0]["greedy"] for record in mine])), 4)
        worth = [fact["arms"][arm] for fact in facts if arm in fact["arms"]]
        for name in ("rows", "good", "balanced_accuracy"):
            values = [entry[name] for entry in worth if name in entry]
            row[name] = round(float(np.mean(values)), 4) if values else None
        rows.append(row)
    return {
        "note": note,
        "simulated": any(fact.get("simulated", True) for fact in facts),
        "arms": rows,
        "differences": {
            f"{one} - {other}": interval_json(difference)
            for one, other in (
                ("evosyn", "random"),
                ("evosyn", "relaxed"),
                ("evosyn", "initial"),
                ("evosyn", "figure3"),
                ("oracle", "evosyn"),
                ("oracle", "random"),
                ("distill-best", "distill-random"),
            )
            if (difference := paired(records, one, other)) is not None
        },
        **gap_json(gap_closed(records)),
        "kept": [fact["kept"] for fact in facts],
        "problems": [fact["problems"] for fact in facts],
        "verdict": verdict(records, rows),
        "remarks": remarks(rows),
    }


def arm_row(mine: Sequence[Json]) -> dict[str, Json]:
    """What the records of one arm came to, over its seeds."""
    row: dict[str, Json] = {"arm": mine[0]["arm"], "seeds": len(mine)}
    row["start_sampled"] = round(float(np.mean([record["curve"][0]["sampled"] for record in mine])), 4)
    for name in ("sampled", "greedy"):
        row[name] = share_over_seeds([record["curve"][-1][name] for record in mine])
    row["reward_start"], row["reward_end"] = reward_of(mine, first=True), reward_of(mine, first=False)
    return row


def final_accuracy(record: Json) -> float:
    """On unseen problems, sampled."""
    return float(record["curve"][-1]["sampled"])


def paired(records: Sequence[Json], one: str, other: str) -> MeanInterval | None:
    """Difference of two arms in final held-out accuracy, paired by seed; None where an arm is missing."""
    first, second = (
        {each["seed"]: final_accuracy(each) for each in records if each["arm"] == arm} for arm in (one, other)
    )
    both = sorted(first.keys() & second.keys())
    return t_interval([first[seed] - second[seed] for seed in both]) if both else None


class Comparison(NamedTuple):
    """What was found: for programs, and for people."""

    report: Mapping[str, Json]
    text: str


class GapClosed(NamedTuple):
    """A share of a gap, and the least and the greatest that it comes to where one seed is left out (jackknife)."""

    share: float
    least: float
    greatest: float


def gap_closed(records: Sequence[Json]) -> GapClosed | None:
    """Share of the way from random to oracle that evosyn goes, over the seeds of all three; it may be negative.

    None where an arm is missing, or where the interval of oracle - random does not lie above 0: what stands below a
    share must not be zero. Then it lies above 0 without any one seed as well. The rule and the range are ours.
    """
    by_arm = [{one["seed"]: final_accuracy(one) for one in records if one["arm"] == arm}
              for arm in ("evosyn", "random", "oracle")]  # fmt: skip
    mine, low, high = ([each[seed] for seed in sorted(set.intersection(*map(set, by_arm)))] for each in by_arm)
    gained, possible = np.subtract(mine, low), np.subtract(high, low)
    if not len(possible) or not t_interval(possible.tolist()).low > 0:
        return None
    without = (gained.sum() - gained) / (possible.sum() - possible)
    return GapClosed(*(round(float(one), 4) for one in (gained.sum() / possible.sum(), without.min(), without.max())))


def gap_json(found: GapClosed | None) -> dict[str, Json]:
    """`gap_closed`, and `gap_leaving_out_a_seed` from least to greatest; null where there is no share."""
    left_out = None if found is None else [found.least, found.greatest]
    return {"gap_closed": None if found is None else found.share, "gap_leaving_out_a_seed": left_out}


def gap_told(table: Mapping[str, Json]) -> str:
    """The share of a gap as a table tells it."""
    if table["gap_closed"] is None:
        return "-"
    least, greatest = table["gap_leaving_out_a_seed"]
    return f"{table['gap_closed']:.2f} (leaving out a seed: {least:.2f} to {greatest:.2f})"


def verdict(records: Sequence[Json], rows: Sequence[Json]) -> str:
    """What the figures say of evosyn against random, in words, whatever they say.

    Args:
        rows: `arms` of the table.
    """
    difference = paired(records, "evosyn", "random")
    if difference is None:
        return "evosyn and random were not both run, so nothing is compared."
    if math.isnan(difference.low):
        return f"evosyn - random = {difference.mean:+.3f} in held-out accuracy, one seed: no interval, no conclusion."
    shown = (
        f"evosyn - random = {difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}] in held-out accuracy"
    )
    if difference.low > 0:
        return f"{shown}: choosing testings by the evolved strategy beats a random choice at the 95 % level."
    if difference.high < 0:
        return f"{shown}: the random choice is better. {_worth(rows)}"
    return f"{shown}: no difference is shown at the 95 % level with these seeds. {_worth(rows)}"


def _worth(rows: Sequence[Json]) -> str:
    """Why filtering may not have helped, from what the testings are worth and from how far the arms came."""
    by_arm = {row["arm"]: row for row in rows}
    good, chance = (by_arm[arm]["good"] for arm in ("evosyn", "random"))
    if good is None or chance is None:
        return "What the testings are worth against human ones was not measured here: `evosyn audit` tells it."
    told = f"Good testings: {good:.2f} by the strategy, {chance:.2f} by chance."
    if good < chance + 0.05:
        return f"{told} The strategy chose no better than chance, which its score on the seeds did not show."
    reached = {arm: by_arm[arm]["sampled"]["mean"] for arm in ("random", "oracle") if arm in by_arm}
    if len(reached) == 2 and reached["random"] > 0.9 * reached["oracle"]:
        return (
            f"{told} The better choice had little to gain: with random testings the policy comes to "
            f"{reached['random']:.2f}, with human ones to {reached['oracle']:.2f}."
        )
    return f"{told} So the data differ; more seeds or more steps are needed to see what that does to the policy."


def remarks(rows: Sequence[Json]) -> list[str]:
    """What a reader of rewards alone would get wrong."""
    found = []
    for row in rows:
        start, end = row["start_sampled"], row["sampled"]["mean"]
        first, last = row["reward_start"], row["reward_end"]
        if first is not None and last > first + 0.02 and end < start - 0.02:
            found.append(
                f"{row['arm']}: the reward rose from {first:.2f} to {last:.2f} while held-out accuracy fell from "
                f"{start:.3f} to {end:.3f}: the policy learnt to satisfy weak testings."
            )
    return found


def sweep_markdown(tables: Mapping[str, Mapping[str, Json]]) -> str:
    """One line a noise and arm: how good the teacher is against what the choice of testings is worth."""
    first = next(iter(tables.values()))
    lines = [f"> {first['note']}", "", "| teacher | arm | seeds | good testings | held-out accuracy [95 %] |"]
    lines.append("|---|---|---|---|---|")
    for noise, table in tables.items():
        for row in table["arms"]:
            cells = (noise, row["arm"], row["seeds"], cell(row["good"]), interval(row["sampled"]))
            lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    lines += ["", "| teacher | problems kept | evosyn - random [95 %] | gap closed |", "|---|---|---|---|"]
    for noise, table in tables.items():
        gained = table["differences"].get("evosyn - random")
        kept = f"{sum(table['kept'])} of {sum(table['problems'])}"
        shown = "-" if gained is None else interval(gained, signed=True)
        lines.append(f"| {noise} | {kept} | {shown} | {gap_told(table)} |")
    lines += ["", *(f"- {noise}: {' '.join([table['verdict'], *table['remarks']])}" for noise, table in tables.items())]
    return "\n".join(lines) + "\n"


def markdown(table: Mapping[str, Json]) -> str:
    """The table for people."""
    lines = [
        f"> {table['note']}",
        "",
        "| arm | rows | good testings | balanced accuracy | reward start -> end | held-out sampled: start "
        "-> end [95 %] | greedy |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table["arms"]:
        reward = "-" if row["reward_start"] is None else f"{row['reward_start']:.2f} -> {row['reward_end']:.2f}"
        lines.append(
            f"| {row['arm']} | {cell(row['rows'], 0)} | {cell(row['good'])} | "
            f"{cell(row['balanced_accuracy'])} | {reward} "
            f"| {row['start_sampled']:.3f} -> {interval(row['sampled'])} | {interval(row['greedy'])} |"
        )
    lines += ["", "| difference, paired by seed | mean [95 %] |", "|---|---|"]
    lines += [f"| {name} | {interval(value, signed=True)} |" for name, value in table["differences"].items()]
    lines += ["", f"Gap between random and oracle closed by evosyn: {gap_told(table)}", ""]
    return "\n".join([*lines, table["verdict"], "", *(f"- {remark}" for remark in table["remarks"])])


def publish(run: RunDir, records: Sequence[Json], table: dict[str, Json]) -> Comparison:
    """Write report, table and curves into the run."""
    run.write_json("report.json", table)
    text = markdown(table)
    run.write("table2.md", text)
    write_curves(run, records)
    return Comparison(table, text)


def write_curves(run: RunDir, records: Sequence[Json]) -> None:
    """`curves.png`: reward while training beside accuracy on unseen problems, mean over seeds with the range."""

    def draw(panels: Any) -> None:
        left, right = panels
        for number, arm in enumerate(dict.fromkeys(record["arm"] for record in records)):
            mine = [record for record in records if record["arm"] == arm]
            colour = f"C{number}"
            if all("log" in record for record in mine):
                rewards = np.array([_smooth([row["reward"] for row in record["log"]]) for record in mine])
                left.plot(
                    np.arange(1, rewards.shape[1] + 1), rewards.mean(axis=0), color=colour, label=arm, linewidth=1.3
                )
            steps = [point["step"] for point in mine[0]["curve"]]
            values = np.array([[point["sampled"] for point in record["curve"]] for record in mine])
            style = "--" if arm.startswith("distill") else "-"
            right.plot(steps, values.mean(axis=0), style, color=colour, label=arm, linewidth=1.3)
            right.fill_between(steps, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.1)
        left.set_title("reward while training (mean of 10 steps)", fontsize=9)
        right.set_title("accuracy on unseen problems, human testings", fontsize=9)
        for axes in (left, right):
            axes.set_xlabel("step")
            axes.set_ylim(0, 1)
            axes.grid(alpha=0.3)
        right.legend(fontsize=7)

    write_plot(run.file("curves.png"), draw, size=(9.6, 3.8), columns=2)


def reward_of(records: Sequence[Json], *, first: bool) -> float | None:
    """Mean reward of the first or last ten steps."""
    logs = [record["log"] for record in records if record.get("log")]
    if not logs:
        return None
    return round(float(np.mean([row["reward"] for log in logs for row in (log[:10] if first else log[-10:])])), 4)


def _smooth(values: Sequence[float]) -> list[float]:
    return [float(np.mean(values[max(0, at - 9) : at + 1])) for at in range(len(values))]


def as_share(interval: MeanInterval) -> MeanInterval:
    """The interval of an accuracy, which lies between 0 and 1 however few the seeds are."""
    low, high = (value if math.isnan(value) else min(max(value, 0.0), 1.0) for value in interval[1:])
    return MeanInterval(interval.mean, low, high)


def share_over_seeds(values: Sequence[float]) -> dict[str, Json]:
    """Mean and interval of shares, one for each seed."""
    return interval_json(as_share(t_interval(values)))


def interval_json(interval: MeanInterval) -> dict[str, Json]:
    return {name: None if value != value else round(value, 4) for name, value in interval._asdict().items()}


def cell(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def interval(value: Mapping[str, float | None], *, signed: bool = False) -> str:
    """Mean and interval, where there is one; a dash where nothing was measured."""
    if value["mean"] is None:
        return "-"
    mean = f"{value['mean']:+.3f}" if signed else f"{value['mean']:.3f}"
    return mean if value["low"] is None else f"{mean} [{value['low']:.3f}, {value['high']:.3f}]"
