"""One picture, drawn without a display and written atomically."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evosyn.rundir import write_atomic


def write_plot(
    path: Path, draw: Callable[[Any], None], *, size: tuple[float, float] = (6.4, 3.8), columns: int = 1
) -> Path:
    """Let `draw` fill the axes (an array of them where there are several columns), and write them as a png."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure.subplots(1, columns))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    write_atomic(path, buffer.getvalue())
    return path
