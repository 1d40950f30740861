"""Arms of seeds in several processes, each kept as it is done; the same call goes on after a kill.

Units open a sandbox of their own, because one does not travel between processes.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

from evosyn.records import Json
from evosyn.rundir import write_atomic

Train: TypeAlias = Callable[[int, str], Json]


def run_units(
    root: Path,
    units: Sequence[tuple[int, str]],
    jobs: int,
    warm: Callable[[int], object],
    train: Train,
    say: Callable[[str], None],
) -> list[Json]:
    """Train the (seed, arm) that are not yet done and return one record for each of them all.

    Args:
        jobs: processes at the same time.
        warm: done for each seed first; as `train` it travels to another process.
    """
    missing = [unit for unit in units if not unit_file(root, *unit).exists()]
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_beside))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for started in [pool.submit(warm, seed) for seed in dict.fromkeys(seed for seed, _ in missing)]:
            started.result()
        kept = partial(_kept, train, root)
        for future in as_completed([pool.submit(kept, seed, arm) for seed, arm in missing]):
            _say(say, future.result())
    return [json.loads(unit_file(root, *unit).read_text(encoding="utf-8")) for unit in units]


def unit_file(root: Path, seed: int, arm: str) -> Path:
    return root / f"seed-{seed}" / f"{arm}.json"


def _kept(train: Train, root: Path, seed: int, arm: str) -> Json:
    record = {**train(seed, arm), "arm": arm, "seed": seed}
    write_atomic(unit_file(root, seed, arm), json.dumps(record))
    return record


def _say(say: Callable[[str], None], record: Json) -> None:
    final = record["curve"][-1]
    told = f"held-out accuracy {final['sampled']:.3f} (greedy {final['greedy']:.3f})"
    say(f"seed {record['seed']}, {record['arm']}: {told}")


def _beside() -> None:
    """What libraries print in a worker goes where the progress goes; standard output is for the report."""
    import torch

    os.dup2(2, 1)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
