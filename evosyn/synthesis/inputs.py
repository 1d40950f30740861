"""What a synthesis starts from: a strategy, seeds, and the teachers that it asks."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from evosyn import __version__
from evosyn.jobs import Protection
from evosyn.ports import Teacher
from evosyn.records import Problem, content_id
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.strategies import PROGRAM, strategy_id
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.instance import Instance

KIND = "synthesize"


@dataclass(frozen=True)
class Inputs:
    """What is synthesized from.

    Attributes:
        strategy: text of the strategy program.
        strategy_from, seeds_from: where these were read, for people.
        seeds: seed problems; only statements, starter code and human testings as examples are shown to the teacher.
    """

    strategy: str
    strategy_from: str
    seeds: tuple[Problem, ...]
    seeds_from: str


@dataclass(frozen=True)
class Asked:
    """The teachers of a run: problems come from the first, solutions and testings from all in turn."""

    teachers: tuple[Teacher, ...]

    @property
    def names(self) -> str:
        """Their names, the first one's first."""
        return ", ".join(teacher.name for teacher in self.teachers)

    @property
    def simulated(self) -> bool:
        return any(teacher.simulated for teacher in self.teachers)


def claim(
    run: RunDir,
    ledger: Ledger[Instance],
    inputs: Inputs,
    config: SynthesizeConfig,
    asked: Asked,
    protection: Protection,
) -> None:
    """Take the directory for this synthesis, or see that it is ours; write config, manifest and strategy.

    Raises:
        UsageError: it holds another run.
    """
    run.claim(KIND)
    strategy, seeds = strategy_id(inputs.strategy), content_id("i_", [seed.id for seed in inputs.seeds])
    ledger.begin({"kind": KIND, **config.identity(), "strategy": strategy, "seeds": seeds, "teacher": asked.names})
    run.write(PROGRAM, inputs.strategy)
    run.write("config.yaml", yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False))
    manifest = {
        "kind": KIND,
        "evosyn": __version__,
        "strategy": strategy,
        "strategy_from": inputs.strategy_from,
        "seeds_from": inputs.seeds_from,
        "seeds": len(inputs.seeds),
        "teacher": asked.names,
        "simulated": asked.simulated,
        "sandbox": f"{protection.level} {protection.backend}",
    }
    run.write_json("manifest.json", manifest)
