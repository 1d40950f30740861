"""From a judged instance to its training rows: one row for each setting that has it.

Every row carries what it takes to walk back: the calls, the seeds, the matrix digest and the strategy. DESIGN.md
section 4; the columns are described in `docs/dataset.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.chat import Reply
from evosyn.dataset import Sample, sample_id
from evosyn.ports import Domain
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Pool, Ranking, Verdict, canonical_json
from evosyn.synthesis.instance import Instance, testing_size
from evosyn.synthesis.prune import Choice
from evosyn.synthesis.reward import Reward


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

    def make(self, instance: Instance, setting: str, replies: Mapping[str, Reply] | None = None) -> Sample | None:
        """The row of an instance in a setting, or None if that setting does not have it.

        Args:
            replies: of the instance, by their ids; those known go into the row, so that a student can learn to reason.
        """
        pool, matrix, decision = instance.pool, instance.matrix, instance.decision
        if pool is None or matrix is None or decision is None or instance.dropped(setting) is not None:
            return None
        ranking = instance.ranking if isinstance(instance.ranking, Ranking) else None
        choice = decision.random if setting == "random" else decision.chosen
        if ranking is None or choice is None:
            return None
        problem = pool.problem
        reward = None if setting == "random" else instance.reward
        if reward is None:  # the random setting
            letters = "".join(matrix.verdicts_MN[:, choice.testing])
            reward = Reward(pool.testings[choice.testing], letters, (choice.testing,))
        if setting == "random":
            order, scores = self._shuffled(instance.index, reward, choice), None
        else:
            order, scores = _ranked(ranking.solution_scores_M, reward, choice), ranking
        testing, solution = reward.testing, pool.solutions[choice.best]
        accepted = reward.letters.count(Verdict.PASS.value) / len(reward.letters)
        rows = _Rows(pool, reward, scores, replies or {})
        request = self._domains[problem.domain].ask("solution", problem, 0, {})
        return Sample(
            id=sample_id(setting, problem.problem_id, testing.text, solution.text),
            problem_id=problem.problem_id,
            domain=problem.domain,
            prompt=request.messages,
            statement=problem.statement,
            payload=canonical_json(dict(problem.payload)),
            testing=testing.text,
            tests=_checks(pool, matrix, reward),
            solution=solution.text,
            solutions_ranked=canonical_json([rows.of(m) for m in order]),
            scores=canonical_json(_scores(scores, choice, accepted, instance)),
            matrix_digest=matrix.digest,
            lineage=canonical_json(self._lineage(instance, pool, choice, reward)),
            model=problem.provenance.source,
            simulated=problem.provenance.simulated
            or solution.provenance.simulated
            or any(pool.testings[place].provenance.simulated for place in reward.testings),
            difficulty=round(1.0 - accepted, 6),
            cost=instance.usage.cost,
            licence=str(problem.meta.get("licence") or self._licence),
            setting=setting,
            meta=canonical_json(dict(problem.meta)),
        )

    def _shuffled(self, index: int, reward: Reward, choice: Choice) -> list[int]:
        """Accepted solutions first, otherwise in a drawn order that starts with the chosen one."""
        others = [m for m in range(len(reward.letters)) if m != choice.best]
        self._tree.child("instance", index, "order").random().shuffle(others)
        return [choice.best, *sorted(others, key=lambda m: reward.letters[m] != Verdict.PASS.value)]

    def _lineage(self, instance: Instance, pool: Pool, choice: Choice, reward: Reward) -> dict[str, Json]:
        chosen, best = pool.testings[reward.testings[0]], pool.solutions[choice.best]
        joined = [pool.testings[place].id for place in reward.testings[1:]]
        return {
            "index": instance.index,
            "seeds": list(instance.brief.get("seeds", [])),
            "wishes": dict(instance.brief.get("wishes", {})),
            "strategy": self._strategy_id,
            "problem": {"id": pool.problem.id, "call": pool.problem.provenance.call},
            "testing": {"id": chosen.id, "call": chosen.provenance.call},
            "reward": {"joined": joined, "dropped_cases": reward.dropped, "large_cases": reward.large},
            "solution": {"id": best.id, "call": best.provenance.call},
        }


class _Rows(NamedTuple):
    """Makes what a row says of each solution; `ranking` is None where the row has nothing of it."""

    pool: Pool
    reward: Reward
    ranking: Ranking | None
    replies: Mapping[str, Reply]

    def of(self, m: int) -> dict[str, Json]:
        solution, verdict = self.pool.solutions[m], self.reward.letters[m]
        reply = self.replies.get(solution.provenance.call or "")
        said = {} if reply is None else {"reply": reply.text, "reasoning": reply.reasoning}
        return {
            "id": solution.id,
            "source": solution.text,
            "score": None if self.ranking is None else float(self.ranking.solution_scores_M[m]),
            "passes": verdict == Verdict.PASS.value,
            "verdict": verdict,
            **said,
        }


def _checks(pool: Pool, matrix: PassMatrix, reward: Reward) -> int:
    """Single checks of a testing: code that constructs cases does not say how many it makes, its execution did."""
    first = reward.testings[0]
    if matrix.cases_NMC is None or reward.testing != pool.testings[first]:
        return testing_size(reward.testing)
    return int(matrix.cases_NMC[first].shape[1])


def _ranked(scores_M: NDArray[np.float64], reward: Reward, choice: Choice) -> list[int]:
    """Best first; within a tie the chosen solution, then those that the testing accepts, then draw order."""
    refused = [letter != Verdict.PASS.value for letter in reward.letters]
    return sorted(range(scores_M.size), key=lambda m: (-scores_M[m], m != choice.best, refused[m], m))


def _scores(ranking: Ranking | None, choice: Choice, accepted: float, instance: Instance) -> dict[str, Json]:
    """Of a row of cases `testings` are the scores of these, `testing` is the chosen one, and `joined` are all of which
    the testing is made."""
    joined = () if ranking is None or instance.decision is None else instance.decision.joined
    return {
        "solutions": None if ranking is None else ranking.solution_scores_M.tolist(),
        "testings": None if ranking is None else ranking.testing_scores_N.tolist(),
        "solution": choice.best,
        "testing": choice.testing,
        "accepted": accepted,
        **({"joined": list(joined)} if joined else {}),
    }
