"""What a joined reward accepts of wrong and refuses of right solutions. Figures, not assertions.

    python benchmarks/rewards.py MATRICES [--strategy NAME] [-M 12] [-N 8] [--draws 6]
    python benchmarks/rewards.py MATRICES --units [--pool POOL] [--strategy NAME] [-M 16] [-N 8] [--draws 8]

MATRICES are recorded with cases and human verdicts (`evosyn crossexec POOL`). The strategy ranks M drawn solutions
and N testings; what would pay is then asked of all other solutions of the problem, which nobody ranked. `--units`
compares ranking testings with ranking their cases, by every known rule unless one is named; POOL gives texts.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from synthesis import ranked, recorded

from evosyn.domains import load_pools
from evosyn.evaluators.columns import ranked_cases, ranked_columns
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.randomness import SeedTree
from evosyn.rankings import Rankings
from evosyn.records import Candidate, Invalid, PassMatrix, Unit
from evosyn.sandbox import open_sandbox
from evosyn.strategies import known_rules, load_known
from evosyn.strategies.evidence import evidence_of, sub_matrix
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.synthesis.adaptive import Size
from evosyn.synthesis.prune import PruneConfig, decide
from evosyn.synthesis.reward import AgreementConfig, Part, agreed, parts_of
from evosyn.synthesis.search.inputs import with_texts

REWARDS = {
    "chosen testing alone": AgreementConfig(union=False),
    "all agreeing testings": AgreementConfig(mend=0.0),
    "agreed cases, mend 0.34": AgreementConfig(mend=0.34),
    "agreed cases, mend 0.5": AgreementConfig(),
    "agreed cases, mend 1": AgreementConfig(mend=1.0),
}


def part_of(matrix: PassMatrix, rows: Sequence[int], columns: Sequence[int]) -> PassMatrix:
    """Some solutions and testings of a matrix with its cases."""
    return replace(
        sub_matrix(matrix, np.array(rows), np.array(columns)),
        solution_ids=tuple(matrix.solution_ids[m] for m in rows),
        testing_ids=tuple(matrix.testing_ids[n] for n in columns),
    )


def drawn_of(whole: Sequence[PassMatrix], size: Size, draws: int) -> list[tuple[PassMatrix, PassMatrix]]:
    """Draws of each problem: what is ranked, and the rest of its solutions."""
    drawn = []
    for matrix in whole:
        for draw in range(draws):
            rng = SeedTree(1).child(matrix.problem_id, draw).rng()
            rows, columns = (rng.permutation(count).tolist() for count in matrix.verdicts_MN.shape)
            shown = part_of(matrix, rows[: size.solutions], columns[: size.testings])
            drawn.append((shown, part_of(matrix, rows[size.solutions :], columns[: size.testings])))
    return drawn


def reward(path: str, strategy: str, size: Size, draws: int) -> None:
    """What joined rewards accept of wrong and refuse of right solutions, among those that were not ranked."""
    whole = [one for one in recorded(path) if one.cases_NMC is not None and fits(one, size)]
    drawn = drawn_of(whole, size, draws)
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


class Shipped(NamedTuple):
    """A kept testing asked of the solutions that were not ranked.

    Attributes:
        accepted: right and wrong ones of these that it accepts; None where no testing is kept.
        right, wrong: solutions by the human verdict.
    """

    problem: str
    accepted: tuple[int, int] | None
    right: int
    wrong: int


def units(whole: Sequence[PassMatrix], programs: Mapping[str, str], size: Size, draws: int) -> None:
    """Score, and what the kept testing is worth on unseen solutions, by unit."""
    drawn = drawn_of(whole, size, draws)
    print(f"{len(whole)} problems, {len(drawn)} draws of {size.solutions} x {size.testings}")
    print("| rule | unit | score | what is kept | none | TPR | TNR | balanced | precision | recall |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with open_sandbox(workers=1, packages=("numpy",)) as sandbox:
        runner = SandboxedRunner(sandbox)
        for unit in get_args(Unit):
            config = ConsistencyConfig(M=size.solutions, N=size.testings, unit=unit, draws=draws, seed=1)
            evaluator = SeedConsistency(runner, whole, config, axes=())
            columns = [ranked_columns(shown, unit) for shown, _ in drawn]
            evidences = [evidence_of(one) for one in columns]
            for name, text in programs.items():
                (evaluation,), (found,) = evaluator.evaluate([Candidate(text)]), runner.rank([text], evidences)
                if isinstance(found, Invalid) or evaluation.score is None:
                    print(f"| {name} | {unit} | invalid |")
                    continue
                for kept, rows in shipped(drawn, columns, found, unit).items():
                    print(f"| {name} | {unit} | {evaluation.score:.3f} | {kept} | {figures_of(rows)} |", flush=True)


def shipped(
    drawn: Sequence[tuple[PassMatrix, PassMatrix]], columns: Sequence[PassMatrix], rankings: Rankings, unit: Unit
) -> dict[str, list[Shipped]]:
    """What would be kept; of testings the top one alone (the paper), and with the agreed cases of others."""
    found: dict[str, list[Shipped]] = {}
    for (shown, rest), ranked_of, ranking in zip(drawn, columns, rankings, strict=True):
        decision = decide(ranked_of, ranking, PruneConfig(), SeedTree(1).child(shown.problem_id), shown)
        kept: dict[str, list[Part] | None]
        if unit == "case":
            parts = None if decision.reason else parts_of(ranked_cases(shown), decision.joined)
            kept = {"cases joined": parts}
        else:
            configs = {"top testing": REWARDS["chosen testing alone"], "with agreed cases": AgreementConfig()}
            none = decision.reason or decision.chosen is None
            kept = {
                name: None if none or decision.chosen is None else agreed(shown, ranking, decision.chosen, config)
                for name, config in configs.items()
            }
        right = np.asarray(rest.human_M) == "P"
        for name, some in kept.items():
            accepted = None
            if some and rest.cases_NMC is not None:
                paid = np.all([(rest.cases_NMC[one.testing][:, one.places] == "P").all(axis=1) for one in some], axis=0)
                accepted = int(paid[right].sum()), int(paid[~right].sum())
            row = Shipped(shown.problem_id, accepted, int(right.sum()), int((~right).sum()))
            found.setdefault(name, []).append(row)
    return found


def figures_of(rows: Sequence[Shipped]) -> str:
    """Draws without a testing; TPR and TNR over problems with both kinds, where one is kept; balanced accuracy with .5
    for none; precision and recall over all unseen solutions."""
    both: dict[str, list[tuple[float, float]]] = {}
    balanced: dict[str, list[float]] = {}
    true = false = right = 0
    for problem, accepted, own, wrong in rows:
        right += own
        true, false = (true, false) if accepted is None else (true + accepted[0], false + accepted[1])
        if own and wrong:
            shares = None if accepted is None else (accepted[0] / own, 1 - accepted[1] / wrong)
            balanced.setdefault(problem, []).append(0.5 if shares is None else sum(shares) / 2)
            both.setdefault(problem, []).extend([] if shares is None else [shares])
    tpr, tnr = np.mean([np.mean(one, axis=0) for one in both.values() if one], axis=0)
    none = np.mean([one.accepted is None for one in rows])
    value = np.mean([np.mean(one) for one in balanced.values()])
    return f"{none:.0%} | {tpr:.3f} | {tnr:.3f} | {value:.3f} | {true / max(true + false, 1):.3f} | {true / right:.3f}"


def fits(matrix: PassMatrix, size: Size) -> bool:
    """Whether some solutions are left to ask."""
    M, N = matrix.verdicts_MN.shape
    return bool(size.solutions < M and size.testings <= N)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices")
    parser.add_argument("--strategy")
    parser.add_argument("--units", action="store_true")
    parser.add_argument("--pool")
    parser.add_argument("-M", type=int, default=12)
    parser.add_argument("-N", type=int, default=8)
    parser.add_argument("--draws", type=int, default=6)
    options = parser.parse_args()
    size, name = Size(options.M, options.N), options.strategy
    if not options.units:
        reward(options.matrices, name or "codet_gap", size, options.draws)
        return
    whole = with_texts(recorded(options.matrices), load_pools(options.pool) if options.pool else [])
    whole = [one for one in whole if one.cases_NMC is not None and fits(one, size)]
    units(whole, {name: load_known(name)} if name else known_rules(), size, options.draws)


if __name__ == "__main__":
    main()
