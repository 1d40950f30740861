"""Parts side by side: each process does one at a time on its share of the cores; what is done is kept at once."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from _quality.bench import Bench
from _quality.pools import Inputs, Pools
from _quality.protocol import PARTS, Part
from _quality.results import Results
from evosyn.records import Json
from evosyn.workbench import Workbench


def run(
    inputs: Inputs,
    folder: Path,
    settings: Sequence[str],
    *,
    parts: Sequence[Part] = PARTS,
    processes: int = 1,
    minutes: float = float("inf"),
) -> None:
    """Do the parts that are missing, as many at once as there are processes.

    Args:
        folder: of results.
        minutes: no part is begun after so many.

    Raises:
        UsageError: a file that a setting needs was not named, or the folder holds parts of another protocol.
    """
    results, began = {setting: Results(folder, setting) for setting in settings}, time.monotonic()
    with Workbench() as workbench:
        pools = Pools(inputs, workbench)
        for setting in settings:
            results[setting].begin(pools.header(setting))
            pools.prepare(setting)
    missing = ((name, part) for part in parts for name in settings if part not in results[name].parts)
    context = multiprocessing.get_context("spawn")
    begun = context.Value("i", 0)
    with ProcessPoolExecutor(processes, context, _begin_process, (inputs, processes, begun)) as pool:
        doing: dict[Future[dict[str, Json]], tuple[str, Part]] = {}
        while True:
            in_time = (time.monotonic() - began) / 60 <= minutes
            for setting, part in islice(missing, (processes - len(doing)) * in_time):
                doing[pool.submit(_in_process, setting, part)] = setting, part
            if not doing:
                return
            for done in wait(doing, return_when=FIRST_COMPLETED).done:
                setting, part = doing.pop(done)
                results[setting].add(part, done.result())
                spent = (time.monotonic() - began) / 60
                print(f"{setting} {part} done at {spent:.1f} minutes", file=sys.stderr, flush=True)


_BENCHES: list[Bench] = []
"""Of a process: one."""


def _begin_process(inputs: Inputs, processes: int, begun: Synchronized[int]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    cores = sorted(os.sched_getaffinity(0))
    with begun.get_lock():
        os.sched_setaffinity(0, cores[begun.value % len(cores) :: processes])
        begun.value += 1
    workbench = Workbench()
    _BENCHES.append(Bench(Pools(inputs, workbench), workbench))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _in_process(setting: str, part: Part) -> dict[str, Json]:
    return _BENCHES[0].part(setting, part)
