"""What a joined reward accepts of wrong and refuses of right solutions. Figures, not assertions.

    python benchmarks/rewards.py MATRICES [--strategy NAME] [-M 12] [-N 8] [--draws 6]

MATRICES are recorded with cases and human verdicts (`evosyn crossexec POOL`). The strategy ranks M drawn solutions
and N testings; what would pay is then asked of all other solutions of the problem, which nobody ranked.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from synthesis import ranked, recorded

from evosyn.randomness import SeedTree
from evosyn.records import PassMatrix
from evosyn.sandbox import open_sandbox
from evosyn.strategies import load_known
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.synthesis.adaptive import Size
from evosyn.synthesis.prune import PruneConfig, decide
from evosyn.synthesis.reward import AgreementConfig, agreed

REWARDS = {
    "chosen testing alone": AgreementConfig(union=False),
    "all agreeing testings": AgreementConfig(mend=0.0),
    "agreed cases, mend 0.34": AgreementConfig(mend=0.34),
    "agreed cases, mend 0.5": AgreementConfig(),
    "agreed cases, mend 1": AgreementConfig(mend=1.0),
}


def part_of(matrix: PassMatrix, rows: Sequence[int], columns: Sequence[int]) -> PassMatrix:
    """Some solutions and testings of a matrix with its cases."""
    cases, human = matrix.cases_NMC, matrix.human_M
    assert cases is not None
    assert human is not None
    return PassMatrix(
        matrix.problem_id,
        matrix.verdicts_MN[np.ix_(rows, columns)],
        human_M=human[rows],
        cases_NMC=tuple(cases[n][rows] for n in columns),
        solution_ids=tuple(matrix.solution_ids[m] for m in rows),
        testing_ids=tuple(matrix.testing_ids[n] for n in columns),
    )


def reward(path: str, strategy: str, size: Size, draws: int) -> None:
    """What joined rewards accept of wrong and refuse of right solutions, among those that were not ranked."""
    whole = [one for one in recorded(path) if one.cases_NMC is not None and fits(one, size)]
    drawn = []
    for matrix in whole:
        for draw in range(draws):
            rng = SeedTree(1).child(matrix.problem_id, draw).rng()
            rows, columns = (rng.permutation(count).tolist() for count in matrix.verdicts_MN.shape)
            shown = part_of(matrix, rows[: size.solutions], columns[: size.testings])
            drawn.append((shown, part_of(matrix, rows[size.solutions :], columns[: size.testings])))
    with open_sandbox(workers=1, packages=("numpy",)) as sandbox:
        rankings = ranked(SandboxedRunner(sandbox), load_known(strategy), [shown for shown, _ in drawn])
    found: dict[str, list[list[float]]] = {name: [] for name in REWARDS}
    for (shown, rest), ranking in zip(drawn, rankings, strict=True):
        decision = decide(shown, ranking, PruneConfig(), SeedTree(1).child(shown.problem_id))
        if decision.reason or decision.chosen is None or rest.cases_NMC is None or not len(rest.solution_ids):
            continue
        right: NDArray[np.bool_] = np.asarray(rest.human_M) == "P"
        best_right = np.asarray(shown.human_M)[decision.chosen.best] == "P"
        for name, config in REWARDS.items():
            parts = agreed(shown, ranking, decision.chosen, config)
            passed = [(rest.cases_NMC[part.testing][:, part.places] == "P").all(axis=1) for part in parts]
            paid = np.all(passed, axis=0)
            wrong = paid[~right].mean() if (~right).any() else np.nan
            lost = (~paid[right]).mean() if right.any() else np.nan
            found[name].append([sum(len(part.places) for part in parts), wrong, lost, float(best_right)])
    print(f"{len(whole)} problems, strategy {strategy}; cases, wrong accepted, right refused, both where best is right")
    for name, figures_of in found.items():
        table = np.array(figures_of)
        good = table[table[:, 3] == 1]
        figures = [*np.nanmean(table[:, :3], axis=0), *np.nanmean(good[:, 1:3], axis=0)]
        print(f"  {name}: n {len(table)}, " + ", ".join(f"{figure:.3f}" for figure in figures))


def fits(matrix: PassMatrix, size: Size) -> bool:
    """Whether some solutions are left to ask."""
    M, N = matrix.verdicts_MN.shape
    return bool(size.solutions < M and size.testings <= N)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices")
    parser.add_argument("--strategy", default="codet_gap")
    parser.add_argument("-M", type=int, default=12)
    parser.add_argument("-N", type=int, default=8)
    parser.add_argument("--draws", type=int, default=6)
    options = parser.parse_args()
    reward(options.matrices, options.strategy, Size(options.M, options.N), options.draws)


if __name__ == "__main__":
    main()
