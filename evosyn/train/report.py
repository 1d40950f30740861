"""What is left of a run for people and programs: report.json, the reward curve, and the model's card.

Figures come from `metrics.jsonl`; nothing is smoothed away: the first and the last steps are averaged over the same
number of steps, which is stated.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from evosyn.configs.section import listed
from evosyn.dataset import Sample
from evosyn.plots import write_plot
from evosyn.records import Json, content_id
from evosyn.rundir import RunDir
from evosyn.train.config import TrainingConfig

WINDOW = 5
_COMMENT = (
    "A reward that rises proves little by itself: a policy can learn to satisfy weak testings. "
    "Measure with `evosyn eval`."
)


def lineage_of(config: TrainingConfig, samples: Sequence[Sample]) -> dict[str, Json]:
    """Where the training data came from."""
    return {
        "data": ", ".join(listed(config.data)),
        "setting": config.setting,
        **config.rows.model_dump(exclude_none=True),
        "rows": len(samples),
        "digest": content_id("data_", [sample.id for sample in samples]),
        "teachers": sorted({sample.model for sample in samples}),
        "simulated": any(sample.simulated for sample in samples),
        "licences": sorted({sample.licence for sample in samples if sample.licence}),
        "domains": sorted({sample.domain for sample in samples}),
        "rows_by_domain": dict(sorted(Counter(sample.domain for sample in samples).items())),
    }


def versions() -> dict[str, str]:
    found = {}
    for package in ("evosyn", "torch", "transformers", "trl", "accelerate", "peft"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def start_and_end(rows: Sequence[Mapping[str, Json]], name: str) -> dict[str, Json]:
    """Mean of a metric over the first and over the last steps."""
    values = [float(row[name]) for row in rows if isinstance(row.get(name), int | float)]
    if not values:
        return {"start": None, "end": None, "window": 0}
    window = min(WINDOW, max(1, len(values) // 2))
    return {
        "start": round(sum(values[:window]) / window, 6),
        "end": round(sum(values[-window:]) / window, 6),
        "window": window,
    }


def mean_of(rows: Sequence[Mapping[str, Json]], name: str) -> float | None:
    values = [float(row[name]) for row in rows if isinstance(row.get(name), int | float)]
    return round(sum(values) / len(values), 6) if values else None


def write_curve(run: RunDir, rows: Sequence[Mapping[str, Json]], names: Sequence[str], title: str) -> None:
    """`curve.png`: the named metrics over steps."""

    def draw(axes: Any) -> None:
        for name in names:
            points = [(row["step"], row[name]) for row in rows if isinstance(row.get(name), int | float)]
            if points:
                axes.plot([step for step, _ in points], [value for _, value in points], label=name, linewidth=1.5)
        axes.set_xlabel("step")
        axes.set_title(title, fontsize=9)
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize=8)

    write_plot(run.file("curve.png"), draw)


def write_card(folder: Path, report: Mapping[str, Json]) -> None:
    """README.md of the model directory, with the lineage of its data."""
    lineage = report["lineage"]
    notes = [f"> {report['label']}", ""] if report.get("label") else []
    feed = report.get("feed")
    if lineage["simulated"] or (isinstance(feed, Mapping) and feed.get("simulated")):
        notes += ["> Its training data is SIMULATED: a stand-in for a model made it.", ""]
    lines = [
        "---",
        "library_name: transformers",
        f"tags: [evosyn, trl, {report['method']}]",
        "---",
        f"# Trained with evosyn ({report['method']})",
        "",
        *notes,
        f"- base model: `{report['model']}`",
        f"- data: setting `{lineage['setting']}`, {lineage['rows']} rows, digest `{lineage['digest']}`, "
        f"teachers {', '.join(lineage['teachers'])}, licences {', '.join(lineage['licences']) or 'none declared'}",
        f"- steps: {report['steps']}, seed {report['seed']}",
    ]
    for name, value in report["metrics"].items():
        if isinstance(value, dict):
            lines.append(
                f"- {name}: {value['start']} at the start, {value['end']} at the end ({value['window']} steps each)"
            )
    lines += ["", _COMMENT, "", "```json", json.dumps(report["versions"], sort_keys=True), "```", ""]
    (folder / "README.md").write_text("\n".join(lines), encoding="utf-8")
