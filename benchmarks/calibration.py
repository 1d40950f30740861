"""Measures the offline teacher by real cross-execution on the bundled seeds, beside recorded pools.

    python benchmarks/calibration.py [--strength mixed] [--solutions 20] [--testings 14] [--problems N] [--strategies]

Draws pools as `evosyn synthesize` does (through the domains' prompts and parsers), adds the reference as a further row,
executes everything, and prints a table for docs/offline-teacher.md. With --strategies the known strategies are scored.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from dataclasses import replace

from _measured import QUANTILES, RATES, RECORDED, measured, rates, separation, spread

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domains_named, load_pools
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.leaderboard import make_leaderboard
from evosyn.ports import TeacherTools
from evosyn.records import PassMatrix, Pool, Problem, Solution, Testing
from evosyn.sandbox import open_sandbox
from evosyn.simulation.offline import DOMAINS, OfflineConfig, create
from evosyn.strategies import known_names, load_known
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.synthesis.generate import draw_pools


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strength", default="mixed", choices=sorted(RECORDED))
    parser.add_argument("--solutions", type=int, default=20)
    parser.add_argument("--testings", type=int, default=14)
    parser.add_argument("--problems", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=4, help="teachers of so many seeds share the problems")
    parser.add_argument("--strategies", action="store_true")
    options = parser.parse_args()
    domains = domains_named(DOMAINS)
    seeds = [pool.problem for pool in load_pools("builtin:python-seeds")]
    seeds = seeds[:: max(1, len(seeds) // options.problems)] if options.problems else seeds
    with open_sandbox(packages=("numpy",) if options.strategies else ()) as sandbox:
        teachers = [
            create(TeacherTools(seed=n, sandbox=lambda: sandbox), OfflineConfig(strength=options.strength))
            for n in range(options.seeds)
        ]
        shared = [(teacher, seeds[n :: options.seeds]) for n, teacher in enumerate(teachers)]
        started = time.perf_counter()
        pools = [
            pool
            for teacher, some in shared
            for pool in draw_pools(some, teacher, domains, solutions=options.solutions, testings=options.testings)
        ]
        drawn = time.perf_counter()
        executor = CrossExecutor(Judge(sandbox, domains))
        matrices = executor.matrices([_with_reference(pool) for pool in pools])
        ended = time.perf_counter()
        print(f"{len(seeds)} problems, drawn in {drawn - started:.1f} s, executed in {ended - drawn:.1f} s")
        show(options.strength, pools, matrices)
        if options.strategies:
            show_strategies(SandboxedRunner(sandbox), [_without_reference(matrix) for matrix in matrices])


def show(strength: str, pools: list[Pool], matrices: list[PassMatrix]) -> None:
    problems = [measured(matrix) for matrix in matrices]
    print(f"\n| | recorded pool | offline teacher, `{strength}` |\n|---|---|---|")
    for name, recorded, here in zip(RATES, RECORDED[strength], rates(problems), strict=True):
        print(f"| {name} | {recorded:.3f} | {here:.3f} |")
    print(f"\npasses tell right from wrong: area {separation(problems):.3f}")
    print("\n| over problems, quantiles | " + " | ".join(f"{at:.2f}" for at in QUANTILES) + " |")
    print("|---|" + "---|" * len(QUANTILES))
    for name, values in spread(problems).items():
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |")
    texts = [len({solution.text for solution in pool.solutions}) / len(pool.solutions) for pool in pools]
    sizes = [len(cases) for pool in pools for t in pool.testings if isinstance(cases := t.body["cases"], list)]
    print(f"\ndistinct texts among solutions {statistics.mean(texts):.3f}; cases per testing: mean", end=" ")
    print(f"{statistics.mean(sizes):.1f}, quantiles {statistics.quantiles(sizes, n=10)}")
    letters = Counter(letter for matrix in matrices for row in matrix.verdicts_MN for letter in row)
    print("cells:", {letter: round(count / letters.total(), 4) for letter, count in letters.most_common()})


def show_strategies(runner: SandboxedRunner, matrices: list[PassMatrix]) -> None:
    programs = {name: load_known(name) for name in known_names()}
    board = make_leaderboard(runner, matrices, programs, ConsistencyConfig())
    print(f"\noracle {board.oracle:.3f} over {len(board.problems)} problems, skipped {board.skipped}")
    for row in board.rows:
        print(f"{row.name:20} {row.evaluation.score} {row.evaluation.metrics}")


def _with_reference(pool: Pool) -> tuple[Problem, list[Solution], list[Testing]]:
    assert pool.problem.reference_solution is not None
    return pool.problem, [*pool.solutions, Solution(pool.problem.reference_solution)], list(pool.testings)


def _without_reference(matrix: PassMatrix) -> PassMatrix:
    assert matrix.human_M is not None
    return replace(
        matrix,
        verdicts_MN=matrix.verdicts_MN[:-1],
        human_M=matrix.human_M[:-1],
        cases_NMC=None if matrix.cases_NMC is None else tuple(cases[:-1] for cases in matrix.cases_NMC),
        durations_MN=None if matrix.durations_MN is None else matrix.durations_MN[:-1],
        copies_M=None if matrix.copies_M is None else matrix.copies_M[:-1],
        solution_ids=matrix.solution_ids[:-1],
        solution_texts=matrix.solution_texts[:-1],
    )


if __name__ == "__main__":
    main()
