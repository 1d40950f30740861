"""Progress on the error stream: a line that is redrawn on a terminal, and elsewhere one that is said now and then."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from evosyn.cli._output import echo, rewrite_line

if TYPE_CHECKING:
    from evosyn.running.progress import ReplyCounts, RunProgress

FIRST_S, EVERY_S, REDRAW_S = 10.0, 25.0, 0.25
"""Seconds until the first line where there is no terminal, from one to the next at most, and on a terminal."""
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
    began, stop, live = time.monotonic(), threading.Event(), sys.stderr.isatty()
    due = [began + FIRST_S]

    def say(text: str) -> None:
        due[0] = time.monotonic() + EVERY_S
        if text:
            stamped = f"[{clock(time.monotonic() - began)}] {text}"
            rewrite_line(stamped, nl=True) if live else echo(stamped, err=True)

    def repeat() -> None:
        while not stop.wait(REDRAW_S if live else max(0.05, due[0] - time.monotonic())):
            if live:
                told = f"[{clock(time.monotonic() - began)}] {line()}"
                rewrite_line(told[: shutil.get_terminal_size().columns - 1])
            elif time.monotonic() >= due[0]:
                say(line())

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    failed = True
    try:
        yield say
        failed = False
    finally:
        stop.set()
        thread.join()
        say(line()) if last or failed else rewrite_line() if live else None


class Measured:
    """How many things have been measured, and what came of a model meanwhile."""

    def __init__(self, things: str, total: int, replies: ReplyCounts) -> None:
        self._things, self._total, self._replies = things, total, replies
        self.name, self.done = "", 0

    def line(self) -> str:
        told = f"{self.name}{self.done:,}/{self._total:,} {self._things}"
        return f"{told}; {replies_of(self._replies)}" if self._replies.replies else told

    def set(self, done: int) -> None:
        self.done = done


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
