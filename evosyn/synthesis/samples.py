"""From a judged instance to its training rows: one row for each setting that has it.

Every row carries what it takes to walk back: the calls, the seeds, the matrix digest and the strategy. DESIGN.md
section 4; the columns are described in `docs/dataset.md`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from evosyn.dataset import Sample, sample_id
from evosyn.ports import Domain
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Pool, Ranking, canonical_json
from evosyn.synthesis.instance import Instance, testing_size
from evosyn.synthesis.prune import Choice


class SampleMaker:
    """Makes the rows of one run.

    Args:
        domains: by name; their prompt for a solution becomes the prompt of the row.
        tree: the root node of the run's instances, for the order of solutions in the random setting.
        strategy_id: content id of the strategy that ranked.
        licence: of rows whose problem names none in its meta.
    """

    def __init__(self, domains: Mapping[str, Domain], tree: SeedTree, *, strategy_id: str, licence: str) -> None:
        self._domains = domains
        self._tree = tree
        self._strategy_id = strategy_id
        self._licence = licence

    def make(self, instance: Instance, setting: str) -> Sample | None:
        """The row of an instance in a setting, or None if that setting does not have it."""
        pool, matrix, decision = instance.pool, instance.matrix, instance.decision
        if pool is None or matrix is None or decision is None or instance.dropped(setting) is not None:
            return None
        ranking = instance.ranking if isinstance(instance.ranking, Ranking) else None
        choice = decision.random if setting == "random" else decision.chosen
        if ranking is None or choice is None:
            return None
        problem = pool.problem
        testing, solution = pool.testings[choice.testing], pool.solutions[choice.best]
        if setting == "random":
            order = self._shuffled(instance.index, matrix, choice)
        else:
            order = _ranked(ranking.solution_scores_M, matrix, choice)
        accepted = float(matrix.passed_MN[:, choice.testing].mean())
        request = self._domains[problem.domain].ask("solution", problem, 0, {})
        return Sample(
            id=sample_id(setting, problem.problem_id, testing.text, solution.text),
            problem_id=problem.problem_id,
            domain=problem.domain,
            prompt=request.messages,
            statement=problem.statement,
            payload=canonical_json(dict(problem.payload)),
            testing=testing.text,
            tests=_checks(matrix, choice.testing) or testing_size(testing),
            solution=solution.text,
            solutions_ranked=canonical_json(
                [_solution_row(pool, matrix, m, choice, None if setting == "random" else ranking) for m in order]
            ),
            scores=canonical_json(_scores(setting, ranking, choice, accepted)),
            matrix_digest=matrix.digest,
            lineage=canonical_json(self._lineage(instance, pool, choice)),
            model=problem.provenance.source,
            simulated=any(one.provenance.simulated for one in (problem, testing, solution)),
            difficulty=round(1.0 - accepted, 6),
            cost=instance.usage.cost,
            licence=str(problem.meta.get("licence") or self._licence),
            setting=setting,
            meta=canonical_json(dict(problem.meta)),
        )

    def _shuffled(self, index: int, matrix: PassMatrix, choice: Choice) -> list[int]:
        """Accepted solutions first, otherwise in a drawn order that starts with the chosen one."""
        others = [m for m in range(matrix.passed_MN.shape[0]) if m != choice.best]
        self._tree.child("instance", index, "order").random().shuffle(others)
        passed_M = matrix.passed_MN[:, choice.testing]
        return [choice.best, *sorted(others, key=lambda m: not passed_M[m])]

    def _lineage(self, instance: Instance, pool: Pool, choice: Choice) -> dict[str, Json]:
        return {
            "index": instance.index,
            "seeds": list(instance.brief.get("seeds", [])),
            "wishes": dict(instance.brief.get("wishes", {})),
            "strategy": self._strategy_id,
            "problem": {"id": pool.problem.id, "call": pool.problem.provenance.call},
            "testing": {"id": pool.testings[choice.testing].id, "call": pool.testings[choice.testing].provenance.call},
            "solution": {"id": pool.solutions[choice.best].id, "call": pool.solutions[choice.best].provenance.call},
        }


def _checks(matrix: PassMatrix, n: int) -> int:
    """Single checks that were executed of a testing: code that constructs cases does not say how many it makes."""
    return 0 if matrix.cases_NMC is None else int(matrix.cases_NMC[n].shape[1])


def _ranked(scores_M: NDArray[np.float64], matrix: PassMatrix, choice: Choice) -> list[int]:
    """Best first; within a tie the chosen solution, then those that the chosen testing accepts, then draw order."""
    passed_M = matrix.passed_MN[:, choice.testing]
    return sorted(range(scores_M.size), key=lambda m: (-scores_M[m], m != choice.best, not passed_M[m], m))


def _solution_row(pool: Pool, matrix: PassMatrix, m: int, choice: Choice, ranking: Ranking | None) -> dict[str, Json]:
    verdict = str(matrix.verdicts_MN[m, choice.testing])
    return {
        "id": pool.solutions[m].id,
        "source": pool.solutions[m].text,
        "score": None if ranking is None else float(ranking.solution_scores_M[m]),
        "passes": verdict == "P",
        "verdict": verdict,
    }


def _scores(setting: str, ranking: Ranking, choice: Choice, accepted: float) -> dict[str, Json]:
    shown = setting != "random"
    return {
        "solutions": ranking.solution_scores_M.tolist() if shown else None,
        "testings": ranking.testing_scores_N.tolist() if shown else None,
        "solution": choice.best,
        "testing": choice.testing,
        "accepted": accepted,
    }
