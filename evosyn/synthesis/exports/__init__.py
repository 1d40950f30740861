"""Datasets in the formats of other tools: one file a format, found by its name. Field names: docs/dataset.md.

Each module defines `export(samples, target) -> Exported`. An export is a projection of the rows; it never runs anything
and changes nothing in the dataset directory that it reads.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path

from evosyn.dataset import Sample
from evosyn.errors import UsageError, nearest
from evosyn.synthesis.exports._common import Exported, Target, claim_place
from evosyn.text.reasoning import AUTO

__all__ = ["Exported", "Target", "claim_place", "export_dataset", "format_named", "format_names"]


def format_names() -> list[str]:
    """The formats that `export_dataset` knows."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def format_named(form: str) -> str:
    """One of `format_names()`, also where it is written with hyphens.

    Raises:
        UsageError: no such format; names the nearest.
    """
    named = form.replace("-", "_")
    if named not in format_names():
        raise UsageError(f"--format {form!r}: no such format; {nearest(named, format_names())}")
    return named


def export_dataset(
    samples: Sequence[Sample], form: str, out: Path, *, name: str, holdout: float = 0.0, reasoning: str = AUTO
) -> Exported:
    """Write rows in another tool's format.

    Args:
        form: one of `format_names()`.
        out: directory to write to.
        name: of the data; becomes a package name for verifiers.
        holdout: share of the problems that goes to a second split, in [0, 1); the same problems for every setting.
        reasoning: the form of the models that will be paid (docs/reasoning.md), which tasks name.

    Raises:
        UsageError: no such format, no rows, or nothing left in the first split; `out` holds files of something else.
    """
    form = format_named(form)
    if not samples:
        raise UsageError("export: the dataset holds no row in this setting; `evosyn inspect DATA` says why")
    claim_place(out)
    exported: Exported = importlib.import_module(f"{__name__}.{form}").export(
        samples, Target(out, name, holdout, reasoning)
    )
    if not exported.rows.get("train"):
        raise UsageError(
            f"export: no row is left for {form} ({', '.join(exported.skipped) or 'all held out'}); see docs/dataset.md"
        )
    return exported
