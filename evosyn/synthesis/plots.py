"""The quality picture of a dataset: tests per problem (Du 2025, figure 9), pass rates, lengths; one PNG.

Each panel sets the evosyn rows against the random ones, which have the same problems. It draws what `report.json` also
says in numbers; nothing is decided here.
"""

from __future__ import annotations

import io

import numpy as np

from evosyn.dataset import Columns

PANELS = {
    "tests": "tests per problem",
    "difficulty": "share of the M solutions that the testing accepts",
    "statement": "statement, characters",
    "solution": "solution, characters",
}


def draw(evosyn: Columns, random: Columns, title: str) -> bytes:
    """The picture as PNG; the same values give the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), dpi=110)
    figure.suptitle(title, fontsize=11)
    figure.subplots_adjust(left=0.08, right=0.98, bottom=0.08, top=0.92, hspace=0.3, wspace=0.2)
    for axes, (name, label) in zip(figure.subplots(2, 2).flat, PANELS.items(), strict=True):
        first, second = (getattr(one, name) for one in (evosyn, random))
        if name == "difficulty":
            first, second = 1.0 - first, 1.0 - second
        both = np.concatenate([first, second])
        if both.size:
            span = (both.min(), both.max() if both.max() > both.min() else both.min() + 1)
            axes.hist([first, second], bins=16, range=span, label=["evosyn", "random"], color=["#1b6ca8", "#c9c9c9"])
            mean = first.mean() if first.size else 0.0
            axes.axvline(mean, color="#1b6ca8", linewidth=1, linestyle="--", label=f"mean {mean:.3g}")
            axes.legend(fontsize=8, loc="upper right")
        axes.set_xlabel(label, fontsize=9)
        axes.set_ylabel("problems", fontsize=9)
    picture = io.BytesIO()
    FigureCanvasAgg(figure).print_png(picture, metadata={"Software": None})
    return picture.getvalue()
