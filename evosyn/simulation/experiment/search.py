"""What the data of an experiment are made with, in one sandbox: matrices, and our own search for a strategy on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import Domains
from evosyn.errors import UsageError
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evolve.stopping import StopConfig
from evosyn.ports import Sandbox
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.synthesis.recipes._evolve_config import EvolveConfig
from evosyn.synthesis.recipes._evolve_inputs import Makers, Source
from evosyn.synthesis.recipes.evolve import Machinery, run_evolve


class StrategySearch:
    """Executes pools and evolves a strategy with the defaults of `evosyn evolve`.

    Args:
        sandbox: with numpy; owned by the caller.
        evaluations: where each search ends.
    """

    def __init__(self, sandbox: Sandbox, evaluations: int) -> None:
        self.crossexec = CrossExecutor(Judge(sandbox, Domains()))
        self.runner = SandboxedRunner(sandbox)
        self._evaluations = evaluations

    def evolve(self, matrices: Path, out: Path, seed: int, draws: int) -> str:
        """Source of the best strategy on recorded matrices.

        Args:
            out: an ordinary run directory of `evosyn evolve`.
            draws: M = N of a draw.
        """

        def absent(*_: Any) -> Any:
            raise UsageError("the experiment's search asks no model and executes nothing")

        scoring = ConsistencyConfig(M=draws, N=draws, draws=8)
        config = EvolveConfig(seed=seed, scoring=scoring, stop=StopConfig(evaluations=self._evaluations))
        makers = Makers(teacher=absent, crossexec=absent, domain=absent)
        run_evolve(config, Source(str(matrices)), out, Machinery(self.runner, absent, makers))
        return (out / "strategy.py").read_text(encoding="utf-8")
