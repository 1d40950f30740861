"""How fast the engine is: controller, genetic search, journal, waiting for models. Figures, not assertions.

    python benchmarks/evolve.py controller      rate at 100 / 1,000 / 3,000 / 100,000 candidates, trivial evaluator
    python benchmarks/evolve.py genetic         genetic proposer on a trivial evaluator, end to end
    python benchmarks/evolve.py strategies      48 seeds at 16 x 16: sandboxed, and as trees; candidates/s per core
    python benchmarks/evolve.py journal         size and replay of 10^5 candidates
    python benchmarks/evolve.py latency         a model of 2 s latency, 16 calls at once, against the ideal
    python benchmarks/evolve.py http            iterations/s over HTTP against a scripted zero-latency model
    python benchmarks/evolve.py openevolve      the same task and server with OpenEvolve (if installed)

On a shared machine compare ratios of one invocation, not figures of two.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from evosyn import registry
from evosyn.evaluators.behaviour import axes_named
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evolve.events import events_of
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.replay import replay
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Journal
from evosyn.ports import Axis, Evaluator, ModelTools, Proposal, ProposalContext, Proposer, SearchState, TeacherTools
from evosyn.program_identity import program_key
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Evaluation, Json, PassMatrix
from evosyn.rundir import RunDir
from evosyn.strategies import load_known
from evosyn.strategies.genome import StrategyGenome, merit_of
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.source import read
from evosyn.strategies.grammar.trees import random_program
from evosyn.strategies.proposers.genetic import GeneticProposer
from evosyn.strategies.running.stacked import TreeRunner
from evosyn.synthesis.search.config import EvolveConfig


class SizeEvaluator:
    """Trivial: the score is a formula of the text, nothing is run."""

    axes = (Axis("length", 0.0, 4000.0, 20), Axis("sum", 0.0, 1.0, 20))

    def evaluate(self, candidates: Sequence[Candidate]) -> list[Evaluation]:
        return [self._one(candidate.text) for candidate in candidates]

    def _one(self, text: str) -> Evaluation:
        total = hash_of(text)
        return Evaluation(score=total, descriptor=(float(len(text)), total), signature=text[-200:])


def hash_of(text: str) -> float:
    return (sum(text.encode()) % 9973) / 9973


START = Candidate("x = 0.1\ny = 0.1\n")
_NUMBER = re.compile(r"^(x|y) = (-?\d+(?:\.\d+)?)$", re.MULTILINE)


class PointEvaluator:
    """Trivial: programs that set `x` and `y`, scored by their distance from a point; nothing is run."""

    axes = (Axis("x", 0.0, 1.0, 10), Axis("y", 0.0, 1.0, 10))

    def evaluate(self, candidates: Sequence[Candidate]) -> list[Evaluation]:
        return [self._one(candidate.text) for candidate in candidates]

    def _one(self, text: str) -> Evaluation:
        x, y = (float(value) for _, value in _NUMBER.findall(text))
        score = max(0.0, 1.0 - math.hypot(x - 0.7, y - 0.3))
        return Evaluation(score, descriptor=(x, y), per_seed=(x, y), signature=f"{x:.3f},{y:.3f}")


class PointProposer:
    """Moves the parent's point, after `latency` seconds."""

    name = "points"

    def __init__(self, latency: float = 0.0, step: float = 0.1) -> None:
        self._latency, self._step = latency, step

    async def propose(self, context: ProposalContext) -> Proposal:
        rng = SeedTree(context.seed).child("points", context.index).random()
        if self._latency:
            await asyncio.sleep(self._latency)
        parent = context.parent.candidate
        moved = (round(float(value) + rng.gauss(0, self._step), 4) for _, value in _NUMBER.findall(parent.text))
        return Proposal((Candidate("x = {}\ny = {}\n".format(*moved), (parent.id,), self.name),))


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
    **more: object,
) -> Search:
    tree = SeedTree(1)
    parts = SearchParts(
        evolved=Measured(evaluator, reader),
        proposers={"arm": proposer},
        schedule=Schedule([Arm("arm")], tree),
        initial=[start],
        seed=tree,
    )
    return Search(parts, Journal(path), islands=IslandsConfig(), loop=loop, stop=stop, **more)  # type: ignore[arg-type]


def controller(arguments: argparse.Namespace) -> dict[str, float]:
    """Rate in windows of one run: the cost of an iteration must not depend on what was evaluated before."""
    marks: dict[int, tuple[float, float]] = {}
    wanted, window = [100, 1000, 3000, arguments.candidates], 400

    def on_commit(state: Archipelago, *_: object) -> None:
        for mark in wanted:
            if state.evaluations in (mark, mark + window):
                marks[state.evaluations] = (time.perf_counter(), time.process_time())

    with folder() as path:
        proposer = PointProposer(step=0.4)
        stop = StopConfig(evaluations=wanted[-1] + window)
        run = search(path / "j", PointEvaluator(), proposer, START, stop, LoopConfig(lag=8), on_commit=on_commit)
        run.run()
    found = {}
    for mark in wanted:
        (wall, cpu), (wall_after, cpu_after) = marks[mark], marks[mark + window]
        found[f"iterations/s from {mark} candidates on"] = window / (wall_after - wall)
        found[f"CPU us an iteration from {mark} candidates on"] = 1e6 * (cpu_after - cpu) / window
    return found


def genetic(arguments: argparse.Namespace) -> dict[str, float]:
    start = Candidate(load_known("initial"))
    with folder() as path:
        reader = Reader()
        proposer = GeneticProposer(32, reader)
        run = search(
            path / "j",
            SizeEvaluator(),
            proposer,
            start,
            StopConfig(evaluations=arguments.evaluations),
            LoopConfig(lag=8),
            reader,
        )
        began, cpu = time.perf_counter(), time.process_time()
        run.run()
        wall, used = time.perf_counter() - began, time.process_time() - cpu
    count = sum(tally.candidates for tally in run.state.tallies.values())
    return {"candidates/s": count / wall, "candidates/s of CPU": count / used, "evaluated": run.state.evaluations}


def seeds(problems: int, m: int, n: int) -> list[PassMatrix]:
    rng = np.random.default_rng(0)
    made = []
    for number in range(problems):
        right = rng.random(m) < 0.4
        good = rng.random(n) < 0.4
        chance = np.where(good[None, :], np.where(right[:, None], 0.95, 0.1), 0.5)
        cases = tuple(np.where(rng.random((m, 4)) < chance[:, [at]] ** 0.25, "P", "F") for at in range(n))
        verdicts = np.stack([np.where((one == "P").all(axis=1), "P", "F") for one in cases], axis=1)
        values = tuple(np.where(one == "P", 1, rng.integers(0, 4, one.shape)).astype(np.uint64) for one in cases)
        texts = tuple("".join(rng.choice(list("abcdef ():\n"), 300)) for _ in range(m))
        made.append(
            PassMatrix(
                f"p{number}",
                verdicts,
                human_M=np.where(right, "P", "F"),
                cases_NMC=cases,
                copies_M=rng.integers(1, 9, m),
                values_NMC=values,
                solution_texts=texts,
                testing_texts=texts[:n],
            )
        )
    return made


def strategies(arguments: argparse.Namespace) -> dict[str, float]:
    """Whole searches: first with every program run for one problem after the other, then with stacks, as the tool does.

    Processor time is that of this process and of the sandbox below it.
    """
    from scoring import processor_s

    from evosyn.sandbox import open_sandbox
    from evosyn.strategies.running.sandboxed import SandboxedRunner

    found: dict[str, float] = {}
    with open_sandbox(numpy=True) as sandbox:
        for name, count in (("one by one", arguments.evaluations // 4), ("stacked (default)", arguments.evaluations)):
            reader = Reader()
            behind = SandboxedRunner(sandbox)
            runner = TreeRunner(behind, reader) if "stacked" in name else behind
            evaluator = SeedConsistency(
                runner, seeds(48, 16, 16), ConsistencyConfig(M=16, N=16, draws=1), axes_named(EvolveConfig().axes)
            )
            proposer = GeneticProposer(32, reader)
            start = Candidate(load_known("initial"))
            runner.rank([start.text, *(reader.write(one) for one in OPENINGS.values())], evaluator.draws.evidences)
            with folder() as path:
                stop = StopConfig(evaluations=count)
                run = search(path / "j", evaluator, proposer, start, stop, LoopConfig(lag=8), reader)
                began, cpu = time.perf_counter(), processor_s()
                run.run()
                wall, used = time.perf_counter() - began, processor_s() - cpu
            found[f"evaluated/s and core, {name}"] = run.state.evaluations / used
            found[f"evaluated/s of wall time, {name}"] = run.state.evaluations / wall
    found["cores"] = len(os.sched_getaffinity(0))
    return found


def journal(arguments: argparse.Namespace) -> dict[str, float]:
    with folder() as path:
        start = Candidate(load_known("initial"))
        reader = Reader()
        proposer = GeneticProposer(32, reader)
        stop = StopConfig(evaluations=arguments.candidates)
        run = search(path / "j", SizeEvaluator(), proposer, start, stop, LoopConfig(lag=8), reader)
        run.run()
        size = (path / "j").stat().st_size
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        empty = Archipelago(SizeEvaluator.axes, merit_of, IslandsConfig(), SeedTree(1))
        found = replay(events_of(Journal(path / "j")), empty)
        seconds = time.perf_counter() - began
    assert found.state.fingerprint() == run.state.fingerprint()
    return {
        "candidates": found.state.evaluations,
        "journal MB": size / 1e6,
        "replay s": seconds,
        "peak memory MB (search and replay in one process)": before / 1e3,
    }


def latency(arguments: argparse.Namespace) -> dict[str, float]:
    with folder() as path:
        calls, at_once = 160, 16
        proposer = PointProposer(latency=arguments.latency)
        loop = LoopConfig(lag=2 * at_once, concurrency=at_once)
        run = search(path / "j", PointEvaluator(), proposer, START, StopConfig(proposals=calls), loop)
        began = time.perf_counter()
        run.run()
        wall = time.perf_counter() - began
    ideal = calls / at_once * arguments.latency
    return {"wall s": wall, "ideal s": ideal, "ratio": wall / ideal}


def script(body: object, times: int) -> str:
    """A new valid program for every request: what the request says is folded into two numbers."""
    total = hash_of(json.dumps(body, sort_keys=True)) + times * 0.137
    other = (total * 7919) % 1.0
    return f"```python\nx = {total % 1.0:.6f}\ny = {other:.6f}\n\n\ndef rank(evidence):\n    return x, y\n```\n"


@contextmanager
def serving() -> Iterator[str]:
    """The scripted model in a process of its own, so that its work is not ours; gives its URL."""
    command = [sys.executable, __file__, "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def serve(_: argparse.Namespace) -> dict[str, float]:
    from evosyn.simulation.scripted_server import ScriptedServer

    with ScriptedServer(script) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
    return {}


def http(arguments: argparse.Namespace) -> dict[str, float]:
    """Iterations a second between the first and the last commit of a run that asks a model for every program."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    found = {}
    with serving() as url, folder() as path:
        for size in arguments.sizes:
            teacher = registry.make(
                "teachers",
                "litellm:openai/scripted",
                TeacherTools(replies=path / f"r{size}.sqlite"),
                {"base_url": url},
            )
            proposer = registry.make("proposers", "rewrite", ModelTools(StrategyGenome(), teacher))
            fill = StopConfig(evaluations=size)
            loop = LoopConfig(lag=16, concurrency=16)
            before = search(path / f"j{size}", PointEvaluator(), PointProposer(step=0.4), START, fill, loop)
            before.run()
            stop = StopConfig(proposals=before.state.steps + arguments.iterations)
            times: list[float] = []
            run = search(
                path / f"j{size}",
                PointEvaluator(),
                proposer,
                START,
                stop,
                loop,
                on_commit=lambda *_, times=times: times.append(time.perf_counter()),
            )
            run.run()
            tally = run.state.tallies["arm"]
            if tally.wasted or run.state.steps < (stop.proposals or 0):
                raise SystemExit(f"the search ended early: {tally}")
            found[f"iterations/s at {size}"] = (len(times) - 1) / (times[-1] - times[0])
    return found


def read_back(_: argparse.Namespace) -> dict[str, float]:
    import random

    rng, reader = random.Random(0), Reader()
    texts = [reader.write(random_program(rng)) for _ in range(300)]
    began = time.process_time()
    for text in texts:
        read(text)
    return {"reads/s": len(texts) / (time.process_time() - began)}


def main() -> int:
    kinds = {f.__name__: f for f in (controller, genetic, strategies, journal, latency, http, serve, read_back)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*kinds, "openevolve"])
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 3000])
    parser.add_argument("--latency", type=float, default=2.0)
    arguments = parser.parse_args()
    if arguments.kind == "openevolve":
        from openevolve_comparison import compare

        found = compare(arguments)
    else:
        found = kinds[arguments.kind](arguments)
    for name, value in found.items():
        print(f"{name:55} {value:12.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
