"""Seed consistency: how well a strategy's choices agree with the human testings, as an `Evaluator` of candidates.

Matrices are made once; a candidate costs one sandboxed run of its program and some numpy. Du 2025 (EvoSyn), section
3.1; DESIGN.md section 5, "Seed consistency".
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from evosyn.deferred import Deferred
from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis, axes_named, behaviour_of
from evosyn.evaluators.criteria import oracle, reachable
from evosyn.evaluators.draws import Block, ConsistencyConfig, Draws, Floats, make_draws
from evosyn.evaluators.notes import FirstDraws
from evosyn.evaluators.telling import Standard, Untold
from evosyn.ports import Axis, StrategyRunner
from evosyn.rankings import Rankings
from evosyn.records import Candidate, Evaluation, Evidence, Invalid, PassMatrix, Ranking
from evosyn.strategies.evidence import evidence_of, unknown
from evosyn.strategies.lacking import Lacking, lacking

CACHED = 5_000
"""Evaluations kept by program content."""
CACHED_BYTES = 64 << 20
"""Of places from which they would tell more, which on large draws holds fewer."""


class _Known(NamedTuple):
    evaluation: Evaluation
    nbytes: int


class SeedConsistency:
    """Scores strategy programs on seed problems; implements `ports.Evaluator`.

    Args:
        runner: runs the programs.
        matrices: of problems with human verdicts; others are left out and counted in `draws.skipped`.
        axes: what the descriptor consists of.
        evidence_of: of one matrix, as for `make_draws`.

    Attributes:
        oracle_E: the best possible score of each draw.

    Raises:
        UsageError: no problem can be used.
    """

    def __init__(
        self,
        runner: StrategyRunner,
        matrices: Sequence[PassMatrix],
        config: ConsistencyConfig | None = None,
        axes: Sequence[BehaviourAxis] | None = None,
        evidence_of: Callable[[PassMatrix], Evidence] = evidence_of,
    ) -> None:
        self.config = config or ConsistencyConfig()
        self.draws = make_draws(matrices, self.config, evidence_of)
        self._runner = runner
        self._axes = tuple(axes) if axes is not None else axes_named()
        self.oracle_E = oracle_per_draw(self.draws, self.config)
        self._standard = Standard(self.draws, self.config, self.oracle_E, FirstDraws(self.draws), self._warnings)
        first = {int(problem): one for problem, one in zip(self.draws.problem_E, self.draws.evidences, strict=True)}
        self._unknown = Counter(name for evidence in first.values() for name in unknown(evidence))
        self._cache: OrderedDict[str, _Known] = OrderedDict()
        self._cached_bytes = 0

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(axis.axis for axis in self._axes)

    def lacking(self, text: str) -> Lacking:
        """What a program reads of the evidence that is unknown."""
        return Lacking.of(text, self._unknown, len(self.draws.problem_ids))

    @property
    def reachable(self) -> float | None:
        """The best score that any ranking could reach that ties solutions of equal rows; None where that has no closed
        form (k above 1) or ties are broken."""
        found = self.reachables
        return None if found is None else float(found.mean())

    @property
    def reachables(self) -> Floats | None:
        """The same for each problem, shape (P,)."""
        if self.config.k > 1 or self.config.ties != "expected":
            return None
        values_E = np.empty(len(self.draws.evidences))
        for block in self.draws.blocks:
            values_E[block.at_B] = reachable(block, self.config)
        return self.draws.by_problem(values_E)

    @property
    def oracle(self) -> float:
        """The best score that any ranking could reach on these draws."""
        return float(self.oracles.mean())

    @property
    def oracles(self) -> Floats:
        """The same for each problem, shape (P,)."""
        return self.draws.by_problem(self.oracle_E)

    def evaluate(self, candidates: Sequence[Candidate]) -> list[Evaluation]:
        """One evaluation for each candidate; programs that were seen before are answered from memory.

        Raises:
            SandboxUnavailable: passed through from the runner.
        """
        found: dict[str, Evaluation] = {}
        for candidate in candidates:
            if candidate.text in self._cache:
                self._cache.move_to_end(candidate.text)
                found[candidate.text] = self._cache[candidate.text].evaluation
        texts = list(dict.fromkeys(candidate.text for candidate in candidates if candidate.text not in found))
        started = time.perf_counter()
        results = self._runner.rank(texts, self.draws.evidences) if texts else []
        seconds = (time.perf_counter() - started) / max(len(texts), 1)
        for text, result in zip(texts, results, strict=True):
            known = self._known(text, result, seconds)
            found[text], self._cache[text] = known.evaluation, known
            self._cached_bytes += known.nbytes
        while len(self._cache) > CACHED or self._cached_bytes > CACHED_BYTES:
            self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
        return [found[candidate.text] for candidate in candidates]

    def behaviours(self, texts: Sequence[str]) -> list[Behaviour | Invalid]:
        """What programs do on `self.draws`, to be compared; nothing is remembered.

        Raises:
            SandboxUnavailable: passed through from the runner.
        """
        results = self._runner.rank(texts, self.draws.evidences) if texts else []
        return [
            result if isinstance(result, Invalid) else self.behaviour(text, result)
            for text, result in zip(texts, results, strict=True)
        ]

    def behaviour(self, text: str, rankings: Sequence[Ranking]) -> Behaviour:
        """What rankings of `self.draws.evidences` come to."""
        return behaviour_of(text, self.draws, rankings, self.config)

    def _warnings(self, text: str) -> list[str]:
        problems = len(self.draws.problem_ids)
        return [
            f"warning: it reads evidence.{name}, which is unknown (None) for {count} of {problems} problems"
            for name, count in lacking(text, self._unknown).items()
        ]

    def _known(self, text: str, result: Rankings | Invalid, seconds: float) -> _Known:
        if isinstance(result, Invalid):
            reason, unknown = result.reason, result.unknown
            return _Known(Evaluation(None, reason, unknown=unknown, feedback=(reason,), seconds=seconds), 0)
        started = time.perf_counter()
        behaviour = self.behaviour(text, result)
        per_seed = self.draws.by_problem(behaviour.per_draw(lambda _, outcome: outcome.score_B))
        untold = Untold(behaviour, self._standard)
        evaluation = Evaluation(
            score=float(per_seed.mean()),
            descriptor=tuple(float(axis.measure(behaviour)) for axis in self._axes),
            metrics=metrics(behaviour)._asdict(),
            per_seed=tuple(per_seed.tolist()),
            signature=signature(behaviour),
            feedback=Deferred(untold.feedback),
            notes=Deferred(untold.notes),
            seconds=seconds + time.perf_counter() - started,
        )
        return _Known(evaluation, untold.nbytes)


class Metrics(NamedTuple):
    """Figures beside the score, each a mean over problems of means over draws.

    Attributes:
        criterion1: the top solution is right, ties as configured.
        pass_at_1: the same with ties broken uniformly at random: what drawing the top solution gives a user.
        testing_balanced_accuracy: of the chosen testing against the human verdicts over all solutions of a draw; draws
            without a right or without a wrong solution say nothing, 0.5 where all are such.
        testing_precision: share of right ones among the solutions that the chosen testing accepts; 0 where none.
    """

    criterion1: float
    pass_at_1: float
    testing_balanced_accuracy: float
    testing_precision: float


def metrics(behaviour: Behaviour) -> Metrics:
    """The figures of a behaviour."""

    def top_share(block: Block, ranks: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
        top = ranks == 0
        return np.asarray((top & block.human_BM).sum(axis=1) / top.sum(axis=1))

    return Metrics(
        criterion1=behaviour.mean(lambda _, outcome: outcome.criterion1_B),
        pass_at_1=behaviour.mean(lambda block, outcome: top_share(block, outcome.solution_ranks_BM)),
        testing_balanced_accuracy=behaviour.mean(
            lambda block, outcome: (outcome.chosen_BN * block.balanced_accuracy_BN).sum(axis=1), default=0.5
        ),
        testing_precision=behaviour.mean(lambda block, outcome: (outcome.chosen_BN * block.precision_BN).sum(axis=1)),
    )


def signature(behaviour: Behaviour) -> str:
    """Equal for programs that give the same places (ties included) to everything on all draws."""
    digest = hashlib.sha256()
    for outcome in behaviour.outcomes:
        digest.update(outcome.solution_ranks_BM.astype("<u2").tobytes())
        digest.update(outcome.testing_ranks_BN.astype("<u2").tobytes())
    return digest.hexdigest()[:16]


def oracle_per_draw(draws: Draws, config: ConsistencyConfig) -> Floats:
    """The best possible score of each draw, shape (E,)."""
    values = np.empty(len(draws.evidences))
    for block in draws.blocks:
        values[block.at_B] = oracle(block, config)
    return values
