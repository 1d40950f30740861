"""From records of arms and seeds to the table of `evosyn experiment environments`, and what it says in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from evosyn.records import Json
from evosyn.simulation.experiment.table import (
    arm_row,
    gap_closed,
    gap_json,
    gap_told,
    in_words,
    interval,
    interval_json,
    paired,
    remarks,
    share_over_seeds,
    zero_variance,
)

NOTE = (
    "A mechanism check on a toy family: environments that ask for the signs of words, drafted and reviewed by a "
    "simulated author, and a model of 0.6 million parameters trained from scratch; it is no evidence about language "
    "models."
)
ACCURACIES = (
    ("filtered", "unfiltered"), ("rotation", "filtered"), ("filtered", "fixed"), ("oracle", "filtered"),
    ("oracle", "unfiltered"),
)  # fmt: skip
ASKED_GAP, ASKED_FEWER = 0.5, 0.2


def summarize(records: Sequence[Json], drafts: Sequence[Sequence[Json]]) -> dict[str, Json]:
    """The table as JSON.

    Args:
        drafts: of each seed, as `FateOfDraft` in JSON.
    """
    rows = []
    for arm in dict.fromkeys(record["arm"] for record in records):
        mine = [record for record in records if record["arm"] == arm]
        row = arm_row(mine)
        for name in ("environments", "rows", "sound", "unsound_reward"):
            known = [record[name] for record in mine if record[name] is not None]
            row[name] = round(float(np.mean(known)), 4) if known else None
        row["zero_variance"] = share_over_seeds([zero_variance(record) for record in mine])
        rows.append(row)
    found = {f"{one} - {other}": paired(records, one, other) for one, other in ACCURACIES}
    differences = {name: interval_json(each) for name, each in found.items() if each is not None}
    signal = paired(records, "rotation", "filtered", zero_variance)
    stages = Counter(one["stage"] or "kept" for seed in drafts for one in seed if one["name"] != "by-hand")
    by_arm = {row["arm"]: row for row in rows}
    report: dict[str, Json] = {
        "note": NOTE,
        "simulated": True,
        "main": "filtered - unfiltered",
        "arms": rows,
        "differences": differences,
        **gap_json(gap_closed(records, "filtered", "unfiltered")),
        "zero_variance": None if signal is None else interval_json(signal),
        "fewer": None if signal is None else _fewer(by_arm),
        "drafts": dict(sorted(stages.items())),
    }
    return {**report, "verdict": verdict(report), "remarks": [*missed(report), *remarks(rows)]}


def verdict(report: Mapping[str, Json]) -> str:
    """What the figures say of filtering, in words, whatever they say."""
    found = report["differences"].get("filtered - unfiltered")
    if found is None:
        return "filtered and unfiltered were not both run, so nothing is compared."
    figure = "accuracy on held-out environments"
    return in_words("filtered - unfiltered", found, figure, "checked environments", "unchecked ones")


def missed(report: Mapping[str, Json]) -> list[str]:
    """What was asked for and not reached, and by how much."""
    found = []
    closed, fewer = report["gap_closed"], report["fewer"]
    if closed is not None and closed < ASKED_GAP:
        found.append(f"filtered closes {closed:.2f} of the gap to the oracle; {ASKED_GAP} was asked for")
    if fewer is not None and fewer < ASKED_FEWER:
        found.append(
            f"rotation has {fewer:.0%} fewer groups without variance than filtered; {ASKED_FEWER:.0%} was asked for"
        )
    return found


def markdown(table: Mapping[str, Json]) -> str:
    """The table for people."""
    lines = [
        f"> {table['note']}",
        "",
        "| arm | environments | sound | rows | reward start -> end | from unsound ones | held-out sampled: start -> "
        "end [95 %] | greedy | questions of sound drafts | groups without variance at the end |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in table["arms"]:
        reward = "-" if row["reward_start"] is None else f"{row['reward_start']:.2f} -> {row['reward_end']:.2f}"
        unsound = "-" if row["unsound_reward"] is None else f"{row['unsound_reward']:.2f}"
        lines.append(
            f"| {row['arm']} | {row['environments']:.0f} | {row['sound']:.2f} | {row['rows']:.0f} | {reward} "
            f"| {unsound} | {row['start_sampled']:.3f} -> {interval(row['sampled'])} "
            f"| {interval(row['greedy'])} | {interval(row['within'])} "
            f"| {interval(row['zero_variance'])} |"
        )
    lines += ["", "| difference, paired by seed | mean [95 %] |", "|---|---|"]
    lines += [f"| {name} | {interval(value, signed=True)} |" for name, value in table["differences"].items()]
    if table["zero_variance"] is not None:
        told = interval(table["zero_variance"], signed=True)
        lines.append(f"| groups without variance: rotation - filtered | {told} |")
    fewer = table["fewer"]
    lines += ["", f"Gap between unfiltered and oracle closed by filtered: {gap_told(table)}."]
    lines += [] if fewer is None else [f"Rotation has {fewer:.0%} fewer groups without variance than filtered."]
    lines += [f"Drafts: {', '.join(f'{name} {count}' for name, count in table['drafts'].items())}.", ""]
    return "\n".join([*lines, table["verdict"], "", *(f"- {remark}" for remark in table["remarks"])])


def _fewer(by_arm: Mapping[str, Json]) -> float | None:
    """The share of filtered's groups without variance that rotation does not have."""
    rotation, filtered = (by_arm[arm]["zero_variance"]["mean"] for arm in ("rotation", "filtered"))
    return None if not filtered or math.isnan(rotation) else round(1 - rotation / filtered, 4)
