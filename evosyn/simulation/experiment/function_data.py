"""One dataset an arm, from pools of small Python functions.

The problems of the arms are the same but for `relaxed`; the files differ only in the testing that pays, or in the
solution that is imitated. Where the pools come from is the business of `function_pools`. EvoSyn (2510.17928) sections
3.1 and 3.2.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evosyn.dataset import Sample, sample_id, write_dataset
from evosyn.domains import domain
from evosyn.matrices import write_matrices
from evosyn.pools import write_pools
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Pool, Testing, canonical_json
from evosyn.rundir import write_atomic
from evosyn.simulation.experiment.choices import ARMS, Choices, choose, mean_worth
from evosyn.simulation.experiment.search import StrategySearch
from evosyn.simulation.offline import NAME

HELDOUT = "heldout.jsonl"


@dataclass(frozen=True)
class FunctionPools:
    """What one seed is made of; no problem stands in two places.

    Attributes:
        seeds: the strategy is evolved on them.
        training: the arms train on them.
        heldout: problems with human testings that nobody trains on; their solutions and testings are not looked at.
        draws: M = N of the search.
    """

    seeds: Sequence[Pool]
    training: Sequence[Pool]
    heldout: Sequence[Pool]
    draws: int


def prepare_functions(out: Path, seed: int, pools: FunctionPools, search: StrategySearch) -> Json:
    """Write `dataset/ARM.parquet`, `heldout.jsonl` and `facts.json` under `out`; returns the facts, which come last."""
    everything = [*pools.seeds, *pools.training]
    matrices = search.crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in everything])
    write_matrices(out / "seeds.jsonl", matrices[: len(pools.seeds)])
    strategy = search.evolve(out / "seeds.jsonl", out / "evolve", seed, pools.draws)
    training = matrices[len(pools.seeds) :]
    chosen = choose(training, strategy, search.runner, SeedTree(seed).child("experiment"))
    arms = {}
    for arm in ARMS:
        samples = [_sample(pools.training[at], training[at], chosen, at, arm) for at in chosen.rows(arm)]
        write_dataset(out, arm, samples)
        arms[arm] = {"rows": len(samples), **_worth(training, chosen, arm)}
    write_pools(out / HELDOUT, [Pool(pool.problem, (), ()) for pool in pools.heldout])
    facts = {"kept": len(chosen.kept), "problems": len(training), "strategy": strategy, "arms": arms}
    write_atomic(out / "facts.json", json.dumps(facts))
    return facts


def _sample(pool: Pool, matrix: PassMatrix, chosen: Choices, at: int, arm: str) -> Sample:
    problem = pool.problem
    testing, verdicts = _testing_of(pool, matrix, chosen, at, arm)
    solution = pool.solutions[chosen.some[at] if arm == "distill-random" else chosen.best[at]].text
    order = np.argsort(-chosen.scores[at], kind="stable")
    ranked = [
        {"id": matrix.solution_ids[m], "source": pool.solutions[m].text, "score": float(chosen.scores[at][m]),
         "passes": int(matrix.passed_MN[m].sum()), "verdict": verdicts[m]}
        for m in order
    ]  # fmt: skip
    text = canonical_json(testing.to_json())
    return Sample(
        id=sample_id(arm, problem.problem_id, text, solution),
        problem_id=problem.problem_id,
        domain=problem.domain,
        prompt=tuple(domain(problem.domain).ask("solution", problem, 0, {}).messages),
        statement=problem.statement,
        payload=canonical_json(dict(problem.payload)),
        testing=text,
        tests=len(testing.body.get("cases", ())) if isinstance(testing.body.get("cases"), list) else 1,
        solution=solution,
        solutions_ranked=json.dumps(ranked),
        scores="{}",
        matrix_digest=matrix.digest,
        lineage="{}",
        model=NAME,
        simulated=any(one.provenance.simulated for one in pool.solutions),
        difficulty=round(1.0 - sum(letter == "P" for letter in verdicts) / len(verdicts), 6),
        cost=None,
        licence="",
        setting=arm,
    )


def _testing_of(pool: Pool, matrix: PassMatrix, chosen: Choices, at: int, arm: str) -> tuple[Testing, Sequence[str]]:
    """The testing of an arm's row and its verdicts on the pool's solutions; imitation goes by the evolved choice."""
    if arm == "oracle":
        if pool.problem.human_testing is None or matrix.human_M is None:
            raise ValueError(f"{pool.problem.problem_id}: has no human testing")
        return pool.problem.human_testing, [str(letter) for letter in matrix.human_M]
    place = chosen.testings.get(arm, chosen.testings["evosyn"])[at]
    return pool.testings[place], [str(letter) for letter in matrix.verdicts_MN[:, place]]


def _worth(matrices: Sequence[PassMatrix], chosen: Choices, arm: str) -> dict[str, Json]:
    """Share of testings that agree with the human one on every solution, and their mean balanced accuracy."""
    if arm == "oracle":
        return {"good": 1.0}
    worth = mean_worth(matrices, chosen, arm)
    if worth is None:
        return {}
    rows = chosen.rows(arm)
    agree = 0
    for at in rows:
        human = matrices[at].human_M
        agree += human is not None and bool(
            ((human == "P") == matrices[at].passed_MN[:, chosen.testings[arm][at]]).all()
        )
    return {"good": round(agree / max(1, len(rows)), 4), "balanced_accuracy": worth}
