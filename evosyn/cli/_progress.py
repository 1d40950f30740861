"""Progress on the error stream: a line that is redrawn on a terminal, and elsewhere one that is said now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from evosyn.cli._output import console, echo
from evosyn.escaping import safe

if TYPE_CHECKING:
    from rich.text import Text

    from evosyn.running.progress import ReplyCounts, RunProgress

FIRST_S, EVERY_S = 10.0, 25.0
"""Seconds until the first line where there is no terminal, and from one to the next at most."""
Say: TypeAlias = Callable[[str], None]
"""Says a line that stays."""


@contextmanager
def watching(line: Callable[[], str], *, show: bool = True, last: bool = True) -> Iterator[Say]:
    """Show what `line` tells while the body runs, where it is not empty.

    Args:
        last: as well what it tells in the end, as it does in any case where the body fails.

    Yields:
        What says a line that stays, with the time of the body before it.
    """
    if not show:
        yield lambda _: None
        return
    began = time.monotonic()
    with (_redrawn if sys.stderr.isatty() else _repeated)(line, began) as say:
        try:
            yield say
        except BaseException:
            say(line())
            raise
        if last:
            say(line())


@contextmanager
def _redrawn(line: Callable[[], str], began: float) -> Iterator[Say]:
    from rich.live import Live
    from rich.text import Text

    class View:
        def __rich__(self) -> Text:
            return Text(safe(_stamped(line(), began)), no_wrap=True, overflow="ellipsis")

    shown = console(stderr=True)
    with Live(View(), console=shown, refresh_per_second=4, transient=True):
        yield lambda text: shown.print(_stamped(text, began), markup=False, highlight=False) if text else None


@contextmanager
def _repeated(line: Callable[[], str], began: float) -> Iterator[Say]:
    stop, due = threading.Event(), [began + FIRST_S]

    def say(text: str) -> None:
        if text:
            due[0] = time.monotonic() + EVERY_S
            echo(_stamped(text, began), err=True)

    def repeat() -> None:
        while not stop.wait(max(0.05, due[0] - time.monotonic())):
            if time.monotonic() >= due[0]:
                due[0] = time.monotonic() + EVERY_S
                say(line())

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield say
    finally:
        stop.set()
        thread.join()


def _stamped(text: str, began: float) -> str:
    return f"[{clock(time.monotonic() - began)}] {text}" if text else ""


def clock(seconds: float) -> str:
    """Minutes and seconds: `1:05`, `2:00:00`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def left(eta_s: float | None) -> str:
    """The time left, where it can be told."""
    return "" if eta_s is None else f", about {clock(eta_s)} left"


def replies_of(counts: ReplyCounts) -> str:
    """What came of a model so far, and how fast."""
    of = f" of about {max(counts.expected + counts.again, counts.replies):,}" if counts.slots < counts.expected else ""
    parts = [f"{counts.replies:,}{of} replies" + (f" ({counts.cached:,} there already)" if counts.cached else "")]
    if counts.unusable:
        parts.append(f"{counts.unusable:,} unusable ({counts.unusable / max(counts.replies, 1):.0%})")
    used = counts.usage
    if used.output_tokens:
        parts.append(f"{used.output_tokens:,} tokens, {used.output_tokens / max(counts.seconds, 1e-3):.0f} tokens/s")
    if used.cost:
        parts.append(f"${used.cost:.4f}")
    return ", ".join(parts)


def line_of(progress: RunProgress[Any], things: str) -> str:
    """How far a run is."""
    there = f" ({progress.resumed:,} there already)" if progress.resumed else ""
    kept = progress.finished - sum(progress.dropped.values())
    stages = "".join(f", {count} in {name}" for name, count in progress.in_stage.items() if count)
    return (
        f"{progress.finished:,}/{progress.asked:,} {things} ended{there}: kept {kept:,}, "
        f"dropped {progress.finished - kept:,}{stages}; {replies_of(progress)}{left(progress.eta_s)}"
    )
