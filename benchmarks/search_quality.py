"""How good the strategies are that the search finds, on problems it never saw: five splits of the real HumanEval pool.

    python benchmarks/search_quality.py ../shared/data/humaneval_codegen16b_even.jsonl.gz --json out.json
    python benchmarks/search_quality.py matrices.jsonl.gz --variants search-score,no-resampling --evaluations 3000

For each split: evolve on one half (genetic proposer, no model), choose the winner there, then score it and every known
strategy on the other half with ties `expected`. Variants take one safeguard away at a time: resampling (one draw
instead of many), parsimony and the choice on fresh draws (the best score of the search wins), quality diversity (one
cell), selection. Matrices of a pool are made once and kept beside it in --work.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.splitting import split_testings
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.stopping import StopConfig
from evosyn.matrices import is_matrices_file, load_matrices, write_matrices
from evosyn.records import PassMatrix
from evosyn.strategies import known_names, load_known
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.trial import run_trial
from evosyn.workbench import Workbench

PAPER = ("initial", "gap", "coverage", "tfidf", "inverse", "exclusion", "hardness", "codet")
VARIANTS = ("default", "search-score", "no-resampling", "no-diversity", "lexicase", "known-start", "iid", "hillclimb")


class Split(NamedTuple):
    """One split: held-out scores by strategy, and what happened to the winner's score on the way."""

    heldout: dict[str, float]
    testing: dict[str, float]
    searched: float
    fresh: float
    oracle: float
    problems: tuple[int, int]
    seconds: float
    winner: str


def config_for(variant: str, arguments: argparse.Namespace, seed: int) -> EvolveConfig:
    draws = 1 if variant == "no-resampling" else arguments.draws
    search = variant if variant in ("iid", "hillclimb") else "evolve"
    selection = "lexicase" if variant == "lexicase" else "fitness"
    return EvolveConfig(
        seed=seed,
        heldout=0.5,
        scoring=ConsistencyConfig(M=arguments.m, N=arguments.n, draws=draws, seed=seed),
        axes=("program-size",) if variant == "no-diversity" else EvolveConfig().axes,
        start=("initial", "codet", "gap", "hardness", "exclusion") if variant == "known-start" else ("initial",),
        finalists=1 if variant == "search-score" else 60,
        islands=IslandsConfig(selection=selection, search=search, count=1 if variant == "no-diversity" else 4),
        stop=StopConfig(evaluations=arguments.evaluations),
    )


def one_split(matrices: list[PassMatrix], config: EvolveConfig, workbench: Workbench) -> Split:
    started = time.monotonic()
    trial = run_trial(config, matrices, workbench, others={name: load_known(name) for name in known_names()})
    return Split(
        heldout={name: found.score or 0.0 for name, found in trial.heldout.items()},
        testing={name: found.metrics["testing_balanced_accuracy"] for name, found in trial.heldout.items()},
        searched=trial.choice.winner.evaluation.score or 0.0,
        fresh=trial.choice.fresh.score or 0.0,
        oracle=trial.oracle,
        problems=(len(trial.choice.fresh.per_seed), len(trial.heldout["evolved"].per_seed)),
        seconds=time.monotonic() - started,
        winner=trial.choice.winner.candidate.text,
    )


def matrices_of(source: str, work: Path, workbench: Workbench) -> list[PassMatrix]:
    if is_matrices_file(source):
        return load_matrices(source)
    stored = work / (Path(source).name.split(".")[0] + ".matrices.jsonl.gz")
    if not stored.exists():
        pools = [pool for pool in load_pools(source) if pool.solutions and pool.testings]
        made = workbench.crossexec.matrices([(p.problem, p.solutions, p.testings) for p in pools])
        work.mkdir(parents=True, exist_ok=True)
        write_matrices(stored, made)
    return load_matrices(stored)


def table(splits: list[Split], variant: str) -> str:
    names = sorted(splits[0].heldout, key=lambda name: -np.mean([split.heldout[name] for split in splits]))
    lines = [f"{variant}: held-out score by split (M x N draws, ties expected)"]
    lines.append(
        "| strategy | " + " | ".join(f"split {n}" for n in range(len(splits))) + " | mean | testing bal. acc. |"
    )
    lines.append("|---" * (len(splits) + 3) + "|")
    for name in names:
        scores = [split.heldout[name] for split in splits]
        testing = np.mean([split.testing[name] for split in splits])
        row = [f"{score:.3f}" for score in [*scores, float(np.mean(scores))]]
        lines.append(f"| {name} | {' | '.join(row)} | {testing:.3f} |")
    oracle = [split.oracle for split in splits]
    lines.append("| oracle | " + " | ".join(f"{one:.3f}" for one in [*oracle, float(np.mean(oracle))]) + " | |")
    searched, fresh = (float(np.mean([getattr(split, key) for split in splits])) for key in ("searched", "fresh"))
    held = float(np.mean([split.heldout["evolved"] for split in splits]))
    sizes = f"{splits[0].problems[0]} train, {splits[0].problems[1]} held out"
    lines.append(
        f"problems: {sizes}; winner: {searched:.3f} in the search, {fresh:.3f} on fresh draws of the train problems, "
        f"{held:.3f} held out (gap {fresh - held:+.3f}); {np.mean([split.seconds for split in splits]):.0f} s a split"
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="pool file or matrices file")
    parser.add_argument("-M", dest="m", type=int, default=16)
    parser.add_argument("-N", dest="n", type=int, default=16)
    parser.add_argument("--draws", type=int, default=8, help="draws a problem in the search")
    parser.add_argument("--evaluations", type=int, default=3000)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--lists", action="store_true", help="testings as they are, instead of every single check")
    parser.add_argument("--variants", default="default", help=f"of {', '.join(VARIANTS)}")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "evosyn-search-quality")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = {}
    with Workbench() as workbench:
        matrices = matrices_of(arguments.source, arguments.work, workbench)
        if not arguments.lists:
            matrices = [split_testings(matrix) for matrix in matrices]
        for variant in arguments.variants.split(","):
            if variant not in VARIANTS:
                raise UsageError(f"--variants {variant}: one of {', '.join(VARIANTS)}")
            splits = [
                one_split(matrices, config_for(variant, arguments, seed), workbench) for seed in range(arguments.splits)
            ]
            print(table(splits, variant) + "\n", flush=True)
            found[variant] = [split._asdict() for split in splits]
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))
    means = {
        name: np.mean([s["heldout"][name] for s in found[arguments.variants.split(",")[0]]])
        for name in (*PAPER, "evolved")
    }
    return 0 if means["evolved"] > max(means[name] for name in PAPER) else 1


if __name__ == "__main__":
    sys.exit(main())
