"""From records of arms and seeds to the table of `evosyn experiment worlds`, its curve, and what they say in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evosyn.plots import write_plot
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.simulation.experiment.table import (
    arm_row,
    cell,
    in_words,
    interval,
    interval_json,
    paired,
    remarks,
    share_over_seeds,
    zero_variance,
)

NOTE = (
    "SIMULATED: a mechanism check with a simulated author of tools and chains, worlds of one grammar, and a model of "
    "0.2 million parameters trained from scratch; it is no evidence about language models, and no claim of table 1 of "
    "the paper is reproduced."
)
ON_CURVE = "worlds-"
"""How the places of the curve begin among the arms; a number follows."""
ON_CURVE_FIGURES = ("sampled", "greedy", "bundled")
"""New tasks in worlds of training are those of 4 offices in 64 namings, in which no place of the curve was trained."""
COMPARED = {
    "rule - string": ("rule", "string", "a reward that looks at the final state", "one that looks at words"),
    "rule - unexecuted": ("rule", "unexecuted", "tools and chains that were executed", "those that nobody ran"),
    "rule - by-lot": ("rule", "by-lot", "tools chosen by cross-execution", "tools by lot"),
}
"""Arm and other arm, and in words what each stands for."""


def summarize(records: Sequence[Json], tools: Mapping[str, Json]) -> dict[str, Json]:
    """The table as JSON.

    Args:
        tools: how drawn tools were chosen.
    """
    rows = [_row([one for one in records if one["arm"] == arm])
            for arm in dict.fromkeys(one["arm"] for one in records if not one["arm"].startswith(ON_CURVE))]  # fmt: skip
    pairs = {name: paired(records, one, other) for name, (one, other, _, _) in COMPARED.items()}
    found = {name: interval_json(each) for name, each in pairs.items() if each is not None}
    curve = [
        {
            "worlds": one["worlds"],
            **{name: one["curve"][-1][name] for name in ON_CURVE_FIGURES},
        }
        for one in records
        if one["arm"].startswith(ON_CURVE)
    ]
    told = [
        in_words(name, each, "success in worlds that nobody trains on", *COMPARED[name][2:])
        for name, each in found.items()
    ]
    return {
        "note": NOTE,
        "simulated": True,
        "main": "rule - string",
        "arms": rows,
        "differences": found,
        "curve": curve,
        "tools": dict(tools),
        "verdict": " ".join(told) or "No two arms that are compared were run.",
        "remarks": [
            *remarks(rows, "what an answer is paid for there is not what it does"),
            *(
                f"{row['arm']}: no task can be done with its tools, so it is the start."
                for row in rows
                if not row["tasks"]
            ),
        ],
    }


def _row(mine: Sequence[Json]) -> dict[str, Json]:
    row = arm_row(mine, ("sampled", "greedy", "within", "bundled"))
    for name in ("tasks", "right", "failing"):
        row[name] = round(float(np.mean([record[name] for record in mine])), 4)
    row["zero_variance"] = share_over_seeds([zero_variance(record) for record in mine])
    return row


def markdown(table: Mapping[str, Any]) -> str:
    """The table for people."""
    tools = table["tools"]
    lines = [
        f"> {table['note']}",
        "",
        "| arm | tasks | right tools | chains that fail | reward start -> end | unseen worlds: start -> end [95 %] "
        "| greedy | new tasks in worlds of training | bundled worlds | groups without variance at the end |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in table["arms"]:
        lines.append(
            f"| {row['arm']} | {row['tasks']:.0f} | {row['right']:.2f} | {row['failing']:.2f} "
            f"| {cell(row['reward_start'])} -> {cell(row['reward_end'])} "
            f"| {row['start_sampled']:.3f} -> {interval(row['sampled'])} | {interval(row['greedy'])} "
            f"| {interval(row['within'])} | {interval(row['bundled'])} | {interval(row['zero_variance'])} |"
        )
    lines += ["", "| difference, paired by seed | mean [95 %] |", "|---|---|"]
    lines += [f"| {name} | {interval(value, signed=True)} |" for name, value in table["differences"].items()]
    lines += [
        "",
        f"Tools: of {tools['tools']} in {tools['worlds']} worlds {tools['kept']} were kept; "
        f"{tools['right_of_kept']:.2f} of those are right, {tools['right_of_written']:.2f} of all that was written.",
    ]
    if table["curve"]:
        lines += ["", "| worlds, with the same number of tasks in all; one seed | unseen worlds | greedy "
                  "| new tasks in worlds of training | bundled |", "|---|---|---|---|---|"]  # fmt: skip
        lines += [f"| {one['worlds']} | {one['sampled']:.3f} | {one['greedy']:.3f} | - | {one['bundled']:.3f} |"
                  for one in table["curve"]]  # fmt: skip
    return "\n".join([*lines, "", table["verdict"], "", *(f"- {remark}" for remark in table["remarks"])])


def write_worlds_curve(run: RunDir, table: Mapping[str, Any]) -> None:
    """`worlds.png`: success against the number of worlds, where they were varied."""
    if not table["curve"]:
        return

    def draw(axes: Any) -> None:
        counts = [one["worlds"] for one in table["curve"]]
        for name, told in (("sampled", "unseen worlds"), ("bundled", "bundled")):
            axes.plot(counts, [one[name] for one in table["curve"]], marker="o", label=told, linewidth=1.3)
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(one) for one in counts])
        axes.set_xlabel("worlds trained on, the same number of tasks in all")
        axes.set_title("tasks solved (SIMULATED, one seed)", fontsize=9)
        axes.set_ylim(0, 1)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)

    write_plot(run.file("worlds.png"), draw)
