"""What the data are made with, in one sandbox: matrices, and our own search for a strategy on them."""

from __future__ import annotations

from pathlib import Path

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import Domains
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evolve.stopping import StopConfig
from evosyn.ports import Sandbox
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.synthesis.recipes.strategy import run_evolve
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.inputs import Source
from evosyn.workbench import Workbench


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

        scoring = ConsistencyConfig(M=draws, N=draws, draws=8)
        config = EvolveConfig(seed=seed, scoring=scoring, stop=StopConfig(evaluations=self._evaluations))
        workbench = Workbench()
        workbench.runner = self.runner
        run_evolve(config, Source(str(matrices)), out, workbench)
        return (out / "strategy.py").read_text(encoding="utf-8")
