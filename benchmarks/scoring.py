"""Candidates scored per second and core: one strategy program on 48 seeds at 16 x 16, sandboxed, end to end.

Counts processor time of this process and of all below it, so that a busy machine disturbs it little; the rate per core
is its inverse. `python benchmarks/scoring.py [--candidates 400] [--without] [--strategies mbr codet_medoid]`.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from _seeds import in_view

from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.records import Candidate, PassMatrix
from evosyn.sandbox import open_sandbox
from evosyn.strategies import load_known
from evosyn.strategies.running.sandboxed import SandboxedRunner

SEEDS, SIZE, WARM_UP = 48, 16, 48
TICKS = os.sysconf("SC_CLK_TCK")
FORMS = {
    "plain program (may share a process)": "{text}# {number}\n",
    "any program (a process of its own)": "try:\n    pass\nexcept ValueError:\n    pass\n{text}# {number}\n",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=400)
    parser.add_argument("--strategies", nargs="*", default=["initial", "gap", "codet_gap"])
    parser.add_argument("--without", action="store_true", help="verdicts alone in view")
    parser.add_argument("--unit", choices=["case", "testing"], default="testing", help="what is ranked")
    options = parser.parse_args()
    config = ConsistencyConfig(unit=options.unit)
    matrices = [_matrix(index, view=not options.without) for index in range(SEEDS)]
    print("| strategy | form | processor ms a candidate | candidates/s a core | wall candidates/s |")
    print("|---|---|---|---|---|")
    with open_sandbox(workers=1, packages=("numpy",), allow_weak=True) as sandbox:
        evaluator = SeedConsistency(SandboxedRunner(sandbox), matrices, config)
        for name in options.strategies:
            for form, template in FORMS.items():
                text = load_known(name)
                _run(evaluator, template, text, range(WARM_UP))
                before, started = processor_s(), time.perf_counter()
                _run(evaluator, template, text, range(WARM_UP, WARM_UP + options.candidates))
                wall, spent = time.perf_counter() - started, processor_s() - before
                each = spent / options.candidates
                print(f"| {name} | {form} | {each * 1e3:.2f} | {1 / each:.0f} | {options.candidates / wall:.0f} |")


def _run(evaluator: SeedConsistency, template: str, text: str, numbers: range) -> None:
    found = evaluator.evaluate([Candidate(template.format(text=text, number=number)) for number in numbers])
    if any(evaluation.score is None for evaluation in found):
        raise SystemExit(found[0].invalid)


def _matrix(index: int, *, view: bool) -> PassMatrix:
    rng = np.random.default_rng(index)
    human, valid = rng.random(SIZE) < 0.4, rng.random(SIZE) < 0.5
    passed = np.where(valid, human[:, None], rng.random((SIZE, SIZE)) < 0.4)
    matrix = PassMatrix(f"p{index}", np.where(passed, "P", "F"), np.where(human, "P", "F"))
    return in_view(matrix, rng) if view else matrix


def processor_s() -> float:
    """User and system seconds of this process and of everything below it, what has ended below included."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        seconds[pid] = sum(map(int, fields[11:15])) / TICKS
    total = time.process_time()
    for pid in parents:
        ancestor = parents[pid]
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor]
        total += seconds[pid] if ancestor == os.getpid() else 0.0
    return total


if __name__ == "__main__":
    main()
