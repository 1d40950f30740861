"""What a synthesis starts from: a strategy, seeds, and the teachers that it asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evosyn import __version__
from evosyn.configs.saving import CONFIG, as_yaml
from evosyn.evaluators.intervals import Interval, between
from evosyn.jobs import Protection
from evosyn.ports import Teacher
from evosyn.records import Json, Problem, Unit, content_id
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.strategies import PROGRAM, strategy_id
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.shift import EvolvedOn
from evosyn.textual import score_text

KIND = "synthesize"
FEWEST_HELDOUT = 8
"""Held-out problems below which a score says little."""


class Standing(NamedTuple):
    """What a search found out about its winner.

    Attributes:
        text: its held-out score beside the initial strategy's, for the card.
        warning: why it should not be relied on; "" where nothing speaks against it.
    """

    text: str
    warning: str


def standing_of(report: Mapping[str, Json]) -> Standing | None:
    """The standing that the `report.json` of an evolve run says; None where it has none."""
    best, initial, board = (report.get(name) or {} for name in ("best", "initial", "leaderboard"))
    score, start, count = (
        best.get("heldout_score"),
        initial.get("heldout_score"),
        board.get("heldout", {}).get("problems"),
    )
    if reason := best.get("heldout_invalid"):
        return Standing("invalid", f"the strategy is invalid on problems that its search held out: {reason}")
    if score is None or count is None:
        return None
    ci = best.get("heldout_ci")
    interval = "" if ci is None else f" (95 %: {between(Interval(*ci))})"
    text = f"{score:.3f}{interval} on {count} held-out problems, the initial strategy {score_text(start)}"
    if score < (start or 0.0):
        return Standing(text, f"the strategy is worse than the one that its search started from: {text}")
    few = f"{count} held-out problems decide little: {text}. Evolve on more seeds" if count < FEWEST_HELDOUT else ""
    return Standing(text, few)


@dataclass(frozen=True)
class Inputs:
    """What is synthesized from.

    Attributes:
        strategy: text of the strategy program.
        strategy_from, seeds_from: where these were read, for people.
        seeds: seed problems; only statements, starter code and human testings as examples are shown to the teacher.
        standing: how good the strategy was found to be; None where nothing says it.
        evolved_on: what the matrices were like on which it was; None where nothing says it.
        unit: what it ranks.
    """

    strategy: str
    strategy_from: str
    seeds: tuple[Problem, ...]
    seeds_from: str
    standing: Standing | None = None
    evolved_on: EvolvedOn | None = None
    unit: Unit = "testing"


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
    ledger.begin(header_of(KIND, inputs, config, asked))
    write_heads(run, KIND, inputs, config, asked, protection)


def header_of(kind: str, inputs: Inputs, config: SynthesizeConfig, asked: Asked) -> dict[str, Json]:
    """All that decides the content of a synthesis, as its journal begins with it."""
    strategy, seeds = strategy_id(inputs.strategy), content_id("i_", [seed.id for seed in inputs.seeds])
    own = {"strategy": strategy, "unit": inputs.unit, "seeds": seeds, "teacher": asked.names}
    return {"kind": kind, **config.identity(), **own}


def write_heads(
    run: RunDir,
    kind: str,
    inputs: Inputs,
    config: SynthesizeConfig,
    asked: Asked,
    protection: Protection | None,
    more: Mapping[str, Json] | None = None,
) -> None:
    """Write strategy, config.yaml and manifest.json.

    Args:
        protection: None where it is not known yet.
        more: for the manifest.
    """
    run.write(PROGRAM, inputs.strategy)
    run.write(CONFIG, as_yaml(config))
    manifest = {
        "kind": kind,
        "evosyn": __version__,
        "strategy": strategy_id(inputs.strategy),
        "strategy_from": inputs.strategy_from,
        "unit": inputs.unit,
        "seeds_from": inputs.seeds_from,
        "seeds": len(inputs.seeds),
        "teacher": asked.names,
        "simulated": asked.simulated,
        **({} if protection is None else {"sandbox": f"{protection.level} {protection.backend}"}),
        **(more or {}),
    }
    run.write_json("manifest.json", manifest)
