"""Something to evolve that is no program: strings of 32 bits. The more ones the better, and the fewer changes.

`python bit_strings.py DIR` evolves them in a run directory; repeat the command and it resumes. CONTRIBUTING.md walks
through this file.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from evosyn.chat import Parsed
from evosyn.evolve.completing import complete
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.ports import Axis, EvolvedTools, PluginConfig, Proposal, ProposalContext, ProposerTools, SearchState
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Elite, Evaluation, Json
from evosyn.rundir import RunDir

BITS = re.compile(r"[01]{32}")
START = Candidate("01" * 16)


def changes(text: str) -> int:
    return sum(a != b for a, b in pairwise(text))


class Ones:
    """The evaluator: score = share of ones; cells by ones in the left half and by changes."""

    axes = (Axis("ones on the left", 0, 16, 8), Axis("changes", 0, 32, 8))

    def evaluate(self, candidates: Sequence[Candidate]) -> list[Evaluation]:
        return [self._one(candidate.text) for candidate in candidates]

    def _one(self, text: str) -> Evaluation:
        quarters = tuple(text[at : at + 8].count("1") / 8 for at in range(0, 32, 8))
        descriptor = (float(text[:16].count("1")), float(changes(text)))
        return Evaluation(score=sum(quarters) / 4, descriptor=descriptor, per_seed=quarters)


class BitStrings:
    """What is evolved; implements `ports.Evolved`."""

    purpose = "bit-string"
    task = "A string of 32 characters, each 0 or 1: the more ones the better, and among these the fewer changes."
    question = "which bits are 0 that could be 1?"
    evaluator, start = Ones(), (START,)

    def __init__(self, decided: Mapping[str, Json]) -> None:
        self.header: Mapping[str, Json] = {"kind": "bit-strings", **decided}

    def key(self, text: str) -> str | None:
        return text if BITS.fullmatch(text) else None

    def read(self, reply: str, shown: Sequence[str]) -> Parsed[str]:  # noqa: ARG002
        found = BITS.findall(reply)
        return Parsed(found[-1]) if found else Parsed(None, "no-bits")

    def merit(self, elite: Elite) -> tuple[float, float]:
        return elite.evaluation.score or 0.0, -changes(elite.candidate.text)

    def finish(self, state: SearchState, run: RunDir) -> dict[str, Json]:
        (best,) = state.top(1)
        run.write("best.txt", best.candidate.text + "\n")
        return {"kind": "bit-strings", "best": {"id": best.candidate.id, "score": best.evaluation.score}}


def create(tools: EvolvedTools, config: PluginConfig) -> BitStrings:  # noqa: ARG001
    return BitStrings(tools.decided)


class FlippingConfig(PluginConfig):
    burst: int = 1
    chance: float = 0.06


class Flipping:
    """The proposer: flips each bit of the parent with a small chance."""

    name = "flipping"

    def __init__(self, config: FlippingConfig) -> None:
        self._burst, self._chance = config.burst, config.chance

    async def propose(self, context: ProposalContext) -> Proposal:
        rng = SeedTree(context.seed).child(self.name, context.index).random()
        parent = context.parent.candidate
        made = []
        for _ in range(self._burst):
            text = "".join("10"[int(bit)] if rng.random() < self._chance else bit for bit in parent.text)
            made.append(Candidate(text, (parent.id,), self.name))
        return Proposal(tuple(made))


def flipping(tools: ProposerTools, config: FlippingConfig) -> Flipping:  # noqa: ARG001
    return Flipping(config)


def evolve(out: Path, seed: int = 0, proposals: int = 200) -> dict[str, Json]:
    """The recipe; returns the value of `report.json`."""
    tree, islands = SeedTree(seed), IslandsConfig(count=3, migrate_every=15)
    with RunDir(out) as run:
        parts = SearchParts(
            evolved=BitStrings({"seed": seed, "islands": islands.model_dump()}),
            proposers={"flipping": Flipping(FlippingConfig(burst=2))},
            schedule=Schedule([Arm("flipping", free=True)], tree),
            initial=[START],
            seed=tree,
        )
        stop = StopConfig(proposals=proposals)
        return complete(Search(parts, run.journal, islands=islands, loop=LoopConfig(), stop=stop), run)


if __name__ == "__main__":
    print(evolve(Path(sys.argv[1]))["best"])
