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

from evosyn.deferred import Deferred
from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis, axes_named, behaviour_of
from evosyn.evaluators.criteria import oracle, reachable
from evosyn.evaluators.draws import Block, ConsistencyConfig, Draws, Floats, make_draws
from evosyn.evaluators.notes import FirstDraws
from evosyn.evaluators.telling import Standard, Untold
from evosyn.evaluators.views import UNRECORDED, WITHOUT
from evosyn.ports import Axis, StrategyRunner
from evosyn.rankings import Rankings
from evosyn.records import Candidate, Evaluation, Invalid, PassMatrix, Ranking
from evosyn.strategies.evidence import shown_as, unknown
from evosyn.strategies.lacking import Lacking, lacking

AS_RECORDED = "as_recorded"
"""The metric that is the score without views; there where a search has some."""
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
        plain_E = np.isin(np.array(self.draws.views_P)[self.draws.problem_E], list(WITHOUT))
        first_draws = FirstDraws(self.draws)
        self._standard = Standard(self.draws, self.config, self.oracle_E, plain_E, first_draws, self._warnings)
        first = {int(problem): one for problem, one in zip(self.draws.problem_E, self.draws.evidences, strict=True)}
        shown = [evidence for problem, evidence in first.items() if self.draws.own_P[problem]]
        self._problems, self._unknown = len(shown), Counter(name for one in shown for name in unknown(one))
        recorded = np.flatnonzero(~plain_E).tolist()
        self._recorded = [self.draws.evidences[draw] for draw in recorded]
        self._recorded_tasks = [self.draws.tasks_E[draw] for draw in recorded]
        self._cache: OrderedDict[str, _Known] = OrderedDict()
        self._cached_bytes = 0

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
                found[candidate.text] = self._cache[candidate.text].evaluation
        texts = list(dict.fromkeys(candidate.text for candidate in candidates if candidate.text not in found))
        started = time.perf_counter()
        results = self._runner.rank(texts, self.draws.evidences, self.draws.tasks_E) if texts else []
        spared = self._spared({text: one for text, one in zip(texts, results, strict=True) if isinstance(one, Invalid)})
        seconds = (time.perf_counter() - started) / max(len(texts), 1)
        for text, result in zip(texts, results, strict=True):
            spare = spared.get(text)
            known = self._known(text, result if spare is None else spare, seconds, None if spare is None else result)
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
        results = self._runner.rank(texts, self.draws.evidences, self.draws.tasks_E) if texts else []
        return [
            result if isinstance(result, Invalid) else self.behaviour(text, result)
            for text, result in zip(texts, results, strict=True)
        ]

    def behaviour(self, text: str, rankings: Sequence[Ranking]) -> Behaviour:
        """What rankings of `self.draws.evidences` come to."""
        return behaviour_of(text, self.draws, rankings, self.config)

    def _recorded_alone(self, per_seed: Floats) -> dict[str, float]:
        """The score on the problems as they were recorded, where there are views of them."""
        own_P = self.draws.own_P
        return {} if own_P.all() else {AS_RECORDED: float(per_seed[own_P].mean())}

    def _warnings(self, text: str) -> list[str]:
        return [
            f"warning: it reads evidence.{name}, which is unknown ({shown_as(name)}) for {count} of "
            f"{self._problems} problems"
            for name, count in lacking(text, self._unknown).items()
        ]

    def _spared(self, failed: Mapping[str, Invalid]) -> dict[str, Rankings]:
        """Rankings of programs that fail only where texts and values were taken away: all is tied there."""
        plain_E = self._standard.plain_E
        if not failed or len(self._recorded) in (0, len(plain_E)):
            return {}
        found = {}
        results = self._runner.rank(list(failed), self._recorded, self._recorded_tasks)
        for text, result in zip(failed, results, strict=True):
            if not isinstance(result, Invalid):
                left = iter(result)
                found[text] = Rankings.of(
                    [
                        Ranking(*map(np.zeros, evidence.passed_MN.shape)) if plain else next(left)
                        for evidence, plain in zip(self.draws.evidences, plain_E, strict=True)
                    ]
                )
        return found

    def _known(
        self, text: str, result: Rankings | Invalid, seconds: float, lacks: Rankings | Invalid | None = None
    ) -> _Known:
        """
        Args:
            lacks: why it fails without texts and values, where it counts as nothing then.
        """
        if isinstance(result, Invalid):
            reason, unknown = result.reason, result.unknown
            return _Known(Evaluation(None, reason, unknown=unknown, feedback=(reason,), seconds=seconds), 0)
        started = time.perf_counter()
        behaviour = self.behaviour(text, result)
        score_E = behaviour.per_draw(lambda _, outcome: outcome.score_B)
        fails = ""
        if isinstance(lacks, Invalid):
            score_E = np.where(self._standard.plain_E, 0.0, score_E)
            fails = f"warning: it fails {UNRECORDED}, and is worth nothing there: {' '.join(lacks.reason.split())}"
        per_seed = self.draws.by_problem(score_E)
        untold = Untold(behaviour, self._standard, fails)
        evaluation = Evaluation(
            score=self.draws.mean(per_seed),
            descriptor=tuple(float(axis.measure(behaviour)) for axis in self._axes),
            metrics={**metrics(behaviour)._asdict(), **self._recorded_alone(per_seed)},
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
        testing_balanced_accuracy: of the chosen testing (of cases the joined one) against the human verdicts over all
            solutions of a draw; draws without a right or without a wrong solution say nothing, 0.5 where all are such,
            and where no testing is kept.
        testing_precision: share of right ones among the solutions that this testing accepts; 0 where none.
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
            lambda block, outcome: np.where(
                block.both_B, outcome.of_kept(outcome.asked.balanced_accuracy_BN, of_none=0.5), np.nan
            ),
            default=0.5,
        ),
        testing_precision=behaviour.mean(lambda _, outcome: outcome.of_kept(outcome.asked.precision_BN)),
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
