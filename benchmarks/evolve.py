"""How fast the engine is: controller, genetic search, journal, waiting for models. Figures, not assertions.

    python benchmarks/evolve.py controller      rate at 100 / 1,000 / 3,000 / 100,000 candidates, trivial evaluator
    python benchmarks/evolve.py genetic         genetic proposer on a trivial evaluator, end to end
    python benchmarks/evolve.py strategies      48 seeds at 16 x 16: sandboxed, and as trees; candidates/s per core
                                                (--without: verdicts alone; --around: bursts around known rules)
    python benchmarks/evolve.py default         a search as it is by default: of each of 48 pools of 18 x 18 8 draws of
                                                16 x 16, and 4 without texts and values; as trees
    python benchmarks/evolve.py outside         as `strategies`, outside the grammar: known rules, grafts on them
    python benchmarks/evolve.py journal         size and replay of 10^5 candidates
    python benchmarks/evolve.py latency         a model of 2 s latency, 16 calls at once, against the ideal
    python benchmarks/evolve.py http            iterations/s over HTTP against a scripted zero-latency model
                                                (PYTHONPATH=tests/support)
    python benchmarks/evolve.py openevolve      the same task and server with OpenEvolve (if installed)

On a shared machine compare ratios of one invocation, not figures of two.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from _fingerprint import fingerprint
from _searches import KnownRules, folder, search
from _seeds import seeds

from evosyn import registry
from evosyn.evaluators.behaviour import axes_named
from evosyn.evaluators.columns import in_unit
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evolve.events import events_of
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.evolve.loop import LoopConfig
from evosyn.evolve.replay import replay
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Journal
from evosyn.ports import Axis, ModelTools, Proposal, ProposalContext, Proposer, StrategyRunner, TeacherTools
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Evaluation
from evosyn.strategies import known_names, load_known
from evosyn.strategies.genome import StrategyGenome, merit_of
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.source import read
from evosyn.strategies.grammar.surroundings import surroundings
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


def strategies(arguments: argparse.Namespace) -> dict[str, float]:
    """Whole searches: first with every program run for one problem after the other, then with stacks, as the tool does.

    Processor time is that of this process and of the sandbox below it. With `--around` every sixteenth proposal is a
    known rule, as a model would write it, and the next one a burst of variants around it.
    """
    from evosyn.sandbox import open_sandbox
    from evosyn.strategies.running.sandboxed import SandboxedRunner

    found: dict[str, float] = {}
    matrices, config = (
        seeds(48, 16, 16, view=not arguments.without),
        ConsistencyConfig(M=16, N=16, unit=arguments.unit, draws=1),
    )
    with open_sandbox(packages=("numpy",)) as sandbox:
        for name, count in (("one by one", arguments.evaluations // 4), ("stacked (default)", arguments.evaluations)):
            reader = Reader()
            behind = SandboxedRunner(sandbox)
            runner = TreeRunner(behind, reader) if "stacked" in name else behind
            written = KnownRules() if arguments.around else None
            evaluator = SeedConsistency(runner, matrices, config, axes_named(EvolveConfig().axes))
            rates = _rates(evaluator, runner, reader, count, written)
            found |= {f"{what}, {name}": rate for what, rate in rates.items()}
    found["cores"] = len(os.sched_getaffinity(0))
    return found


def default(arguments: argparse.Namespace) -> dict[str, float]:
    """A whole search on draws that differ, and once more without texts and values, scored as one is by default.

    Memory is that of this process, without the sandbox.
    """
    from evosyn.sandbox import open_sandbox
    from evosyn.strategies.running.sandboxed import SandboxedRunner
    from evosyn.synthesis.search.seeds import searched_of

    reader, config = Reader(), EvolveConfig()
    config = config.model_copy(update={"scoring": config.scoring.model_copy(update={"unit": arguments.unit})})
    matrices = searched_of([in_unit(one, arguments.unit) for one in seeds(48, 18, 18)], config)
    with open_sandbox(packages=("numpy",)) as sandbox:
        runner = TreeRunner(SandboxedRunner(sandbox), reader)
        evaluator = SeedConsistency(runner, matrices, config.scoring, axes_named(config.axes))
        found = _rates(evaluator, runner, reader, arguments.evaluations, KnownRules() if arguments.around else None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    draws = len(evaluator.draws.evidences)
    return found | {"draws": draws, "cores": len(os.sched_getaffinity(0)), "peak memory MB": peak}


def _rates(
    evaluator: SeedConsistency, runner: StrategyRunner, reader: Reader, count: int, written: Proposer | None
) -> dict[str, float]:
    """What a genetic search of so many programs evaluates, once the sandbox is warm."""
    from scoring import processor_s

    start = Candidate(load_known("initial"))
    warming = [start.text, *(reader.write(one) for one in OPENINGS.values())]
    runner.rank(warming, evaluator.draws.evidences, evaluator.draws.tasks_E)
    with folder() as path:
        stop, loop = StopConfig(evaluations=count), LoopConfig(lag=8)
        run = search(path / "j", evaluator, GeneticProposer(32, reader), start, stop, loop, reader, written)
        began, cpu = time.perf_counter(), processor_s()
        run.run()
        wall, used = time.perf_counter() - began, processor_s() - cpu
    evaluated = run.state.evaluations
    return {"evaluated/s and core": evaluated / used, "evaluated/s of wall time": evaluated / wall}


def outside(arguments: argparse.Namespace) -> dict[str, float]:
    """Programs that are not read into the grammar run once for each draw, each known rule in many copies that differ in
    a comment, then what a burst grafts on them."""
    from scoring import processor_s

    from evosyn.sandbox import open_sandbox
    from evosyn.strategies.running.sandboxed import SandboxedRunner

    reader, rng, count = Reader(), random.Random(0), max(1, arguments.evaluations // 40)
    rules = [load_known(name) for name in known_names()]
    rules = [text for text in rules if reader.read(text) is None]
    copies = [f"{text}# {number}\n" for text in rules for number in range(count)]
    around = [islice(_grafts(text, reader, rng), count) for text in rules]
    found: dict[str, float] = {}
    with open_sandbox(packages=("numpy",)) as sandbox:
        runner = TreeRunner(SandboxedRunner(sandbox), reader)
        matrices = seeds(48, 16, 16, view=not arguments.without)
        evaluator = SeedConsistency(runner, matrices, ConsistencyConfig(M=16, N=16, unit=arguments.unit, draws=1))
        for name, texts in (
            ("known rules", copies),
            ("grafts on known rules", [text for one in around for text in one]),
        ):
            evaluator.evaluate([Candidate(f"{text}# warm\n") for text in rules])
            began, cpu = time.perf_counter(), processor_s()
            evaluations = evaluator.evaluate([Candidate(text) for text in texts])
            wall, used = time.perf_counter() - began, processor_s() - cpu
            found[f"evaluated/s and core, {name}"] = len(texts) / used
            found[f"evaluated/s of wall time, {name}"] = len(texts) / wall
            found[f"of them invalid, {name}"] = sum(one.score is None for one in evaluations)
            found[f"programs, {name}"] = len(texts)
    found["cores"] = len(os.sched_getaffinity(0))
    return found


def _grafts(text: str, reader: Reader, rng: random.Random) -> Iterator[str]:
    return (one.text for one in surroundings(text, reader, rng) if one.operator.startswith("grafted-"))


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
    assert fingerprint(found.state) == fingerprint(run.state)
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
    from simulation.scripted_server import ScriptedServer

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
    rng, reader = random.Random(0), Reader()
    texts = [reader.write(random_program(rng)) for _ in range(300)]
    began = time.process_time()
    for text in texts:
        read(text)
    return {"reads/s": len(texts) / (time.process_time() - began)}


TIMED = (controller, genetic, strategies, default, outside, journal, latency, http, serve, read_back)
KINDS = {kind.__name__: kind for kind in TIMED}


def parser() -> argparse.ArgumentParser:
    """What a command may ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*KINDS, "openevolve"])
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 3000])
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--unit", choices=["case", "testing"], default="testing", help="what is ranked")
    parser.add_argument("--without", action="store_true", help="strategies, outside: verdicts alone in view")
    parser.add_argument("--around", action="store_true", help="strategies, default: bursts around known rules")
    return parser


def main() -> int:
    arguments = parser().parse_args()
    if arguments.kind == "openevolve":
        from openevolve_comparison import compare

        found = compare(arguments)
    else:
        found = KINDS[arguments.kind](arguments)
    for name, value in found.items():
        print(f"{name:55} {value:12.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
