"""One problem of a synthesis from its brief to its fate: the record that the journal keeps and everything is made of.

`Instance` is frozen data with a JSON form; the pipeline fills it, the writers read it. A dropped problem is an instance
too, with the reject that ended it, so the number of instances is always the number that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from evosyn.chat import Reply
from evosyn.codec import dump
from evosyn.dataset import SETTINGS, Reject
from evosyn.matrices import matrix_from_json, matrix_to_json
from evosyn.pools import problem_from_json, problem_to_json, testing_from_json
from evosyn.records import Invalid, Json, PassMatrix, Pool, Problem, Provenance, Ranking, Solution, Testing
from evosyn.synthesis.prune import Choice, Decision


@dataclass(frozen=True)
class Usage:
    """What model calls came to: replies used, tokens, dollars (None once a price is unknown), executed cells."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    cells: int = 0

    def plus(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            cost,
            self.cells + other.cells,
        )


def usage_of(replies: Sequence[Reply]) -> Usage:
    """The sum over replies, in their order; a reply from a cache counts with what it cost when it was made."""
    total = Usage()
    for reply in replies:
        total = total.plus(Usage(1, reply.input_tokens, reply.output_tokens, reply.cost))
    return total


@dataclass(frozen=True)
class Instance:
    """One problem of the run.

    Attributes:
        index: its number, from 0.
        problem: None if no reply could be read as one.
        pool: its solutions and testings; None if dropped before they were drawn.
        matrix: with texts; None if dropped before the execution.
        ranking: what the strategy said; None if dropped before.
        decision: what the pruning said; None if dropped before.
        rejects: every reply that could not be used, then the reject that dropped the instance, if any.
        brief: seeds in context and wishes, by name.
        usage: model calls and executed cells.
    """

    index: int
    problem: Problem | None = None
    pool: Pool | None = None
    matrix: PassMatrix | None = None
    ranking: Ranking | Invalid | None = None
    decision: Decision | None = None
    rejects: tuple[Reject, ...] = ()
    brief: Mapping[str, Json] = field(default_factory=dict)
    usage: Usage = Usage()

    def dropped(self, setting: str) -> Reject | None:
        """The reject that keeps this instance out of a setting, or None if the setting has it."""
        return next((reject for reject in self.rejects if setting in reject.settings), None)

    def drop(self, stage: str, reason: str, detail: str = "", settings: Sequence[str] = SETTINGS) -> Instance:
        """The same instance, dropped from `settings`."""
        name = None if self.problem is None else self.problem.problem_id
        reject = Reject(stage, reason, "problem", self.index, name, tuple(settings), None, detail)
        return replace(self, rejects=(*self.rejects, reject))


def ranked(matrix: PassMatrix) -> PassMatrix:
    """What is kept of a matrix that has been ranked: nothing that may differ from run to run (durations, what solutions
    gave), and nothing that can be read off the testings again."""
    return replace(matrix, durations_MN=None, calls_N=None, values_NMC=None)


def instance_to_json(instance: Instance) -> dict[str, Json]:
    """The JSON of an instance; `instance_from_json` reads it back."""
    value: dict[str, Json] = {
        "index": instance.index,
        "brief": dict(instance.brief),
        "rejects": [dump(reject, defaults=True) for reject in instance.rejects],
        "usage": asdict(instance.usage),
    }
    if instance.problem is not None:
        value["problem"] = problem_to_json(instance.problem)
        value["provenance"] = _provenance_to_json(instance.problem.provenance)
    if instance.pool is not None:
        value["solutions"] = [
            {"source": one.text, "by": _provenance_to_json(one.provenance)} for one in instance.pool.solutions
        ]
        value["testings"] = [
            {"testing": one.to_json(), "by": _provenance_to_json(one.provenance)} for one in instance.pool.testings
        ]
    if instance.matrix is not None:
        value["matrix"] = matrix_to_json(replace(ranked(instance.matrix), statement=None, payload=None))
    if isinstance(instance.ranking, Invalid):
        value["ranking"] = {"invalid": instance.ranking.reason}
    elif instance.ranking is not None:
        value["ranking"] = {
            "solutions": instance.ranking.solution_scores_M.tolist(),
            "testings": instance.ranking.testing_scores_N.tolist(),
        }
    if instance.decision is not None:
        value["decision"] = asdict(instance.decision)
    return value


def instance_from_json(value: Mapping[str, Json]) -> Instance:
    """The reverse of `instance_to_json`."""
    problem = pool = matrix = None
    if "problem" in value:
        provenance = _provenance_from_json(value["provenance"])
        problem = replace(problem_from_json(value["problem"], source=provenance.source), provenance=provenance)
    if problem is not None and "solutions" in value:
        pool = Pool(
            problem,
            tuple(Solution(one["source"], _provenance_from_json(one["by"])) for one in value["solutions"]),
            tuple(testing_from_json(one["testing"], _provenance_from_json(one["by"])) for one in value["testings"]),
        )
    if pool is not None and "matrix" in value:
        matrix = replace(
            matrix_from_json(value["matrix"]),
            solution_texts=tuple(solution.text for solution in pool.solutions),
            testing_texts=tuple(testing.text for testing in pool.testings),
            statement=pool.problem.statement,
            payload=pool.problem.payload,
        )
    return Instance(
        index=value["index"],
        problem=problem,
        pool=pool,
        matrix=matrix,
        ranking=_ranking_from_json(value.get("ranking")),
        decision=_decision_from_json(value.get("decision")),
        rejects=tuple(Reject(**{**row, "settings": tuple(row["settings"])}) for row in value["rejects"]),
        brief=value["brief"],
        usage=Usage(**value["usage"]),
    )


def testing_size(testing: Testing) -> int:
    """How many single checks a testing holds; 1 for one program or script."""
    for key in ("cases", "asserts"):
        if isinstance(testing.body.get(key), list):
            return len(testing.body[key])
    return 1


def _ranking_from_json(value: Json) -> Ranking | Invalid | None:
    if value is None:
        return None
    if "invalid" in value:
        return Invalid(value["invalid"])
    return Ranking(np.asarray(value["solutions"], dtype=np.float64), np.asarray(value["testings"], dtype=np.float64))


def _decision_from_json(value: Json) -> Decision | None:
    if value is None:
        return None
    chosen, random = (None if value[key] is None else Choice(**value[key]) for key in ("chosen", "random"))
    return Decision(value["reason"], value["detail"], tuple(value["dropped_from"]), chosen, random)


def _provenance_to_json(provenance: Provenance) -> dict[str, Json]:
    value = asdict(provenance)
    value["parents"] = list(provenance.parents)
    return value


def _provenance_from_json(value: Mapping[str, Json]) -> Provenance:
    return Provenance(**{**value, "parents": tuple(value["parents"])})
