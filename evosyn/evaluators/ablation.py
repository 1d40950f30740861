"""How the score depends on k and on criterion 1: every setting judged on the same rankings, nothing run twice.

The paper counts the executions that a setting needs where nothing is stored: each looked-at solution on the human and
on the chosen testing. Du 2025 (EvoSyn), section 4.2, table 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evosyn.errors import UsageError
from evosyn.evaluators.behaviour import behaviour_of
from evosyn.evaluators.consistency import oracle_per_draw
from evosyn.evaluators.criteria import looked_at
from evosyn.evaluators.draws import ConsistencyConfig, Draws, make_draws
from evosyn.evaluators.intervals import Interval, bootstrap
from evosyn.ports import StrategyRunner
from evosyn.records import Invalid, PassMatrix, Ranking


@dataclass(frozen=True)
class KRow:
    """One setting.

    Attributes:
        executions: that the setting looks at for one draw, as the paper counts them; mean where draws differ in size.
        oracle: the best score that any ranking could reach under this setting.
    """

    strategy: str
    k: int
    criterion1: bool
    score: float
    interval: Interval | None
    executions: float
    oracle: float


def ablate_k(
    runner: StrategyRunner,
    matrices: Sequence[PassMatrix],
    strategies: Mapping[str, str],
    config: ConsistencyConfig,
    ks: Sequence[int],
) -> list[KRow]:
    """Score strategies for every k, without and with criterion 1.

    Args:
        strategies: program texts by name.
        config: all but `k` and `criterion1`.

    Raises:
        UsageError: no usable problem, or an invalid strategy.
    """
    if config.M is not None and max(ks) > config.M:
        raise UsageError(f"--ks {max(ks)}: the best and worst of M = {config.M} solutions are at most {config.M}")
    draws = make_draws(matrices, config)
    rows = []
    results = runner.rank(list(strategies.values()), draws.evidences, draws.tasks_E)
    for (name, text), result in zip(strategies.items(), results, strict=True):
        if isinstance(result, Invalid):
            raise UsageError(f"strategy {name} is invalid: {result.reason}")
        for criterion1 in (False, True):
            for k in ks:
                setting = config.model_copy(update={"k": k, "criterion1": criterion1})
                rows.append(_row(name, text, draws, result, setting))
    return rows


def _row(name: str, text: str, draws: Draws, rankings: Sequence[Ranking], config: ConsistencyConfig) -> KRow:
    behaviour = behaviour_of(text, draws, rankings, config)
    per_problem = draws.by_problem(behaviour.per_draw(lambda _, outcome: outcome.score_B))
    executions = [2 * len(looked_at(len(evidence.passed_MN), config.k)) for evidence in draws.evidences]
    return KRow(
        strategy=name,
        k=config.k,
        criterion1=config.criterion1,
        score=float(per_problem.mean()),
        interval=bootstrap(per_problem, config.seed, draws.tasks_P, draws.pools_P),
        executions=float(np.mean(executions)),
        oracle=float(draws.by_problem(oracle_per_draw(draws, config)).mean()),
    )
