"""Shows the texts of cases, and runs them: `python -m hostile_suite NAME [--backend bwrap] [--seed N] [--show]`.

For a failure that a test has named: NAME is the beginning of a case's name, or a part of it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from hostile_suite.arenas import run_cells
from hostile_suite.backends import BACKENDS, Backend
from hostile_suite.drawing import alike, all_cases
from hostile_suite.findings import Tally, report, table
from hostile_suite.host import Host
from hostile_suite.model import Case
from hostile_suite.ranking import run_strategies
from hostile_suite.rewards import run_rewards
from hostile_suite.scenes import function_scenes, stdin_scenes
from hostile_suite.seed import run_seed

ARENAS = {"cells": run_cells, "rewards": run_rewards, "strategies": run_strategies}


def main() -> int:
    """0 where nothing was found, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m hostile_suite", description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--backend", choices=BACKENDS, default="bwrap")
    parser.add_argument("--arena", choices=list(ARENAS), action="append")
    parser.add_argument("--seed", default=run_seed())
    parser.add_argument("--show", action="store_true", help="print the programs and testings, run nothing")
    asked = parser.parse_args()
    cases = [case for case in all_cases(asked.seed) if asked.name in case.name]
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(folder))
        try:
            if asked.show:
                return _show(cases, host)
            return _run(cases, host, asked.backend, asked.arena or list(ARENAS), asked.seed)
        finally:
            host.close()


def _show(cases: list[Case], host: Host) -> int:
    for case in cases:
        for scene in (*function_scenes(case, host.fill), *stdin_scenes(case, host.fill)):
            print(f"#### {case.name}: {case.family.principle}")
            for place, row in enumerate(scene.rows):
                print(f"---- solution {place}{'' if row.honest is None else ', honest'}\n{row.source[:5000]}")
            for place, column in enumerate(scene.columns):
                print(f"---- testing {place}, {column.mode}\n{column.testing.text[:2000]}")
    return 0


def _run(cases: list[Case], host: Host, name: str, arenas: list[str], seed: str) -> int:
    backend, tally = Backend(name), Tally(name, seed)
    try:
        for group in alike(cases):
            for arena in arenas:
                ARENAS[arena](backend, host, group, tally)
    finally:
        backend.close()
    print("\n".join([*map(str, tally.findings), "", *table(report([tally.to_json()]))]))
    return 1 if tally.findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
