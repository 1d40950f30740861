"""Searches for benchmarks: any evaluator and proposer under the loop of a real search, in a folder that goes away."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Journal
from evosyn.ports import Evaluator, Proposal, ProposalContext, Proposer, SearchState
from evosyn.program_identity import program_key
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Json
from evosyn.rundir import RunDir
from evosyn.strategies import known_names, load_known
from evosyn.strategies.genome import StrategyGenome
from evosyn.strategies.grammar.reader import Reader


class KnownRules:
    """Writes known rules, one a proposal, as a model that is paid would."""

    name = "known"

    async def propose(self, context: ProposalContext) -> Proposal:
        names = known_names()
        text = f"{load_known(names[context.index % len(names)])}# {context.index}\n"
        candidate = Candidate(text, (context.parent.candidate.id,), self.name)
        return Proposal((candidate,), replies=(f"r{context.index}",))


class Measured(StrategyGenome):
    """Strategies under any evaluator; nothing is written at the end."""

    start: Sequence[Candidate] = ()
    header: Mapping[str, Json] = {"benchmark": True}

    def __init__(self, evaluator: Evaluator, reader: Reader | None = None) -> None:
        super().__init__()
        self.reader = reader or self.reader
        self.evaluator, self._plain = evaluator, reader is None

    def key(self, text: str) -> str | None:
        return program_key(text) if self._plain else super().key(text)

    def finish(self, state: SearchState, run: RunDir) -> dict[str, Json]:  # noqa: ARG002
        return {}


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="evosyn-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def search(
    path: Path,
    evaluator: Evaluator,
    proposer: Proposer,
    start: Candidate,
    stop: StopConfig,
    loop: LoopConfig,
    reader: Reader | None = None,
    written: Proposer | None = None,
    **more: object,
) -> Search:
    """
    Args:
        written: makes a sixteenth of the proposals, and counts as a model.
    """
    tree = SeedTree(1)
    proposers = {"arm": proposer} if written is None else {"arm": proposer, "written": written}
    arms = [Arm("arm")] if written is None else [Arm("arm", 15.0, free=True), Arm("written")]
    parts = SearchParts(
        evolved=Measured(evaluator, reader),
        proposers=proposers,
        schedule=Schedule(arms, tree),
        initial=[start],
        seed=tree,
    )
    return Search(parts, Journal(path), islands=IslandsConfig(), loop=loop, stop=stop, **more)  # type: ignore[arg-type]
