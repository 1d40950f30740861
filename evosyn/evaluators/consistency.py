"""Seed consistency: how well a strategy's choices agree with the human testings, as an `Evaluator` of candidates.

Matrices are made once; a candidate costs one sandboxed run of its program and some numpy. Du 2025 (EvoSyn), section
3.1; DESIGN.md section 5, "Seed consistency".
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis, axes_named
from evosyn.evaluators.criteria import judge, oracle, reachable
from evosyn.evaluators.draws import Block, ConsistencyConfig, Draws, Floats, make_draws
from evosyn.evaluators.feedback import feedback
from evosyn.evaluators.notes import FirstDraws
from evosyn.evaluators.views import UNRECORDED
from evosyn.ports import Axis, StrategyRunner
from evosyn.records import Candidate, Evaluation, Invalid, PassMatrix, Ranking
from evosyn.strategies.evidence import unknown
from evosyn.strategies.lacking import Lacking, lacking

AS_RECORDED = "as_recorded"
"""The metric that is the score without views; there where a search has some."""
CACHED = 5_000
"""Evaluations kept by program content."""


class SeedConsistency:
    """Scores strategy programs on seed problems; implements `ports.Evaluator`.

    Args:
        runner: runs the programs.
        matrices: of problems with human verdicts; others are left out and counted in `draws.skipped`.
        axes: what the descriptor consists of.

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
    ) -> None:
        self.config = config or ConsistencyConfig()
        self.draws = make_draws(matrices, self.config)
        self._runner = runner
        self._axes = tuple(axes) if axes is not None else axes_named()
        self.oracle_E = oracle_per_draw(self.draws, self.config)
        self._first = FirstDraws(self.draws)
        first = {int(problem): one for problem, one in zip(self.draws.problem_E, self.draws.evidences, strict=True)}
        shown = [evidence for problem, evidence in first.items() if self.draws.own_P[problem]]
        self._problems, self._unknown = len(shown), Counter(name for one in shown for name in unknown(one))
        self._cache: OrderedDict[str, Evaluation] = OrderedDict()
        self._plain_E = np.array(self.draws.views_P)[self.draws.problem_E] == UNRECORDED
        recorded = np.flatnonzero(~self._plain_E).tolist()
        self._recorded = [self.draws.evidences[draw] for draw in recorded]
        self._recorded_tasks = [self.draws.tasks_E[draw] for draw in recorded]

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(axis.axis for axis in self._axes)

    def lacking(self, text: str) -> Lacking:
        """What a program reads of the evidence that is unknown."""
        return Lacking.of(text, self._unknown, self._problems)

    @property
    def reachable(self) -> float | None:
        """The best score that any ranking could reach that ties solutions of equal rows; None where that has no closed
        form (k above 1) or ties are broken."""
        found = self.reachables
        return None if found is None else self.draws.mean(found)

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
        return self.draws.mean(self.oracles)

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
                found[candidate.text] = self._cache[candidate.text]
        texts = list(dict.fromkeys(candidate.text for candidate in candidates if candidate.text not in found))
        started = time.perf_counter()
        results = self._runner.rank(texts, self.draws.evidences, self.draws.tasks_E) if texts else []
        spared = self._spared({text: one for text, one in zip(texts, results, strict=True) if isinstance(one, Invalid)})
        seconds = (time.perf_counter() - started) / max(len(texts), 1)
        for text, result in zip(texts, results, strict=True):
            found[text] = self._cache[text] = (
                self._evaluation(text, spared[text], seconds, lacks=result)
                if isinstance(result, Invalid) and text in spared
                else self._evaluation(text, result, seconds)
            )
        while len(self._cache) > CACHED:
            self._cache.popitem(last=False)
        return [found[candidate.text] for candidate in candidates]

    def behaviours(self, texts: Sequence[str]) -> list[Behaviour | Invalid]:
        """What programs do on `self.draws`, to be compared; nothing is remembered.

        Raises:
            SandboxUnavailable: passed through from the runner.
        """
        results = self._runner.rank(texts, self.draws.evidences, self.draws.tasks_E) if texts else []
        return [
            result if isinstance(result, Invalid) else self.behaviour(text, result)
            for text, result in zip(texts, results, strict=True)
        ]

    def behaviour(self, text: str, rankings: Sequence[Ranking]) -> Behaviour:
        """What rankings of `self.draws.evidences` come to."""
        outcomes = tuple(judge(block, *stacked_scores(block, rankings), self.config) for block in self.draws.blocks)
        return Behaviour(text, self.draws, outcomes)

    def _recorded_alone(self, per_seed: Floats) -> dict[str, float]:
        """The score on the problems as they were recorded, where there are views of them."""
        own_P = self.draws.own_P
        return {} if own_P.all() else {AS_RECORDED: float(per_seed[own_P].mean())}

    def _warnings(self, text: str, lacks: Invalid | None) -> list[str]:
        fails = f"warning: it fails {UNRECORDED}, and is worth nothing there"
        found = [] if lacks is None else [f"{fails}: {' '.join(lacks.reason.split())}"]
        return found + [
            f"warning: it reads evidence.{name}, which is unknown (None) for {count} of {self._problems} problems"
            for name, count in lacking(text, self._unknown).items()
        ]

    def _spared(self, failed: Mapping[str, Invalid]) -> dict[str, tuple[Ranking, ...]]:
        """Rankings of programs that fail only where texts and values were taken away: all is tied there."""
        if not failed or len(self._recorded) in (0, len(self._plain_E)):
            return {}
        found = {}
        results = self._runner.rank(list(failed), self._recorded, self._recorded_tasks)
        for text, result in zip(failed, results, strict=True):
            if not isinstance(result, Invalid):
                left = iter(result)
                found[text] = tuple(
                    Ranking(*map(np.zeros, evidence.passed_MN.shape)) if plain else next(left)
                    for evidence, plain in zip(self.draws.evidences, self._plain_E, strict=True)
                )
        return found

    def _evaluation(
        self, text: str, result: Sequence[Ranking] | Invalid, seconds: float, lacks: Invalid | None = None
    ) -> Evaluation:
        """
        Args:
            lacks: why it fails without texts and values, where it counts as nothing then.
        """
        if isinstance(result, Invalid):
            reason, unknown = result.reason, result.unknown
            return Evaluation(score=None, invalid=reason, unknown=unknown, feedback=(reason,), seconds=seconds)
        started = time.perf_counter()
        behaviour = self.behaviour(text, result)
        score_E = behaviour.per_draw(lambda _, outcome: outcome.score_B)
        if lacks is not None:
            score_E = np.where(self._plain_E, 0.0, score_E)
        per_seed = self.draws.by_problem(score_E)
        return Evaluation(
            score=self.draws.mean(per_seed),
            descriptor=tuple(float(axis.measure(behaviour)) for axis in self._axes),
            metrics={**metrics(behaviour)._asdict(), **self._recorded_alone(per_seed)},
            per_seed=tuple(per_seed.tolist()),
            signature=signature(behaviour),
            feedback=(*self._warnings(text, lacks), *feedback(behaviour, score_E, self.oracle_E)),
            notes=self._first.notes(behaviour),
            seconds=seconds + time.perf_counter() - started,
        )


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


def stacked_scores(block: Block, rankings: Sequence[Ranking]) -> tuple[Floats, Floats]:
    """Solution scores (B, M) and testing scores (B, N) of the draws of a block, from the rankings of all draws."""
    of_block = [rankings[index] for index in block.at_B]
    return (
        np.concatenate([ranking.solution_scores_M for ranking in of_block]).reshape(len(of_block), -1),
        np.concatenate([ranking.testing_scores_N for ranking in of_block]).reshape(len(of_block), -1),
    )
