"""What a synthesis costs around the model and the sandbox. Figures, not assertions.

With PYTHONPATH=tests/support:

    python benchmarks/synthesis.py pipeline   wall time against max(ideal of the model calls, ideal of the executions)
    python benchmarks/synthesis.py overhead   our own processor time for each reply, and a fully cached rerun
    python benchmarks/synthesis.py faults     a server that refuses, fails, hangs and answers nonsense
    python benchmarks/synthesis.py kill       kill -9 midway: calls repeated by the same command
    python benchmarks/synthesis.py memory     peak memory with 10^5 problems queued
    python benchmarks/synthesis.py adaptive [--matrices FILE|bundled] [--strategy NAME]
                                              kept per 1,000 calls and per 10^6 executions, against fixed 16 x 16
    python benchmarks/synthesis.py fraction   usable instances for M = N = 4, 8, 16 (Du 2025, figure 4b)

The model is `simulation.scripted_server` on loopback; adaptive and fraction replay recorded matrices (by default
the HumanEval pool of `../shared/data`, where it is there; `bundled` is simulated). Shared machines: trust ratios within
one run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from _replies import script
from simulation.offline import DOMAINS, OfflineConfig, create
from simulation.scripted_server import Faults, ScriptedServer

from evosyn.configs.sampling import AdaptiveConfig
from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domains_named, load_pools
from evosyn.matrices import load_matrices
from evosyn.pools import write_pools
from evosyn.ports import TeacherTools
from evosyn.randomness import SeedTree
from evosyn.records import Invalid, PassMatrix, Ranking
from evosyn.rundir import RunDir
from evosyn.sandbox import open_sandbox
from evosyn.strategies import load_known
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.synthesis.adaptive import Outlook, Size, outlook, rounds
from evosyn.synthesis.generate import draw_pools
from evosyn.synthesis.instance import ledger_of
from evosyn.synthesis.prune import PruneConfig, decide

POOL = Path(__file__).parents[2] / "shared" / "data" / "humaneval_codegen16b_even.jsonl.gz"
SIZES = ("-M", "8", "-N", "8")


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A directory with a strategy and one seed of each domain."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "strategy.py").write_text(load_known("codet"))
        pools = {pool.problem.domain: pool for pool in load_pools("builtin:python-seeds")}
        write_pools(folder / "seeds.jsonl", pools.values())
        yield folder


def command(folder: Path, server: ScriptedServer, problems: int, *more: str) -> subprocess.Popen[str]:
    """Start `evosyn synthesize` against the server."""
    line = [sys.executable, "-m", "evosyn", "synthesize", str(folder / "strategy.py")]
    line += ["--seeds", str(folder / "seeds.jsonl"), "--out", str(folder / "data"), "--problems", str(problems)]
    line += ["--model", "openai/scripted", "--base-url", server.base_url, "--api-key-env", "EVOSYN_BENCH_KEY", "--json"]
    return subprocess.Popen(
        [*line, *SIZES, *more], stdout=subprocess.PIPE, text=True, env={**os.environ, "EVOSYN_BENCH_KEY": "key"}
    )


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The report of a run that succeeded."""
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"synthesize ended with {process.returncode}")
    report: dict[str, Any] = json.loads(out)
    return report


def pipeline() -> None:
    for name, latency_s, concurrency in (("bound by the model", 2.0, 32), ("bound by the executions", 0.5, 64)):
        print(f"{name}: ", end="")
        one_pipeline(60, latency_s, concurrency)


def one_pipeline(problems: int, latency_s: float, concurrency: int) -> None:
    with scratch_folder() as folder, ScriptedServer(script, latency_s=latency_s) as server:
        began = time.monotonic()
        report = ended(command(folder, server, problems, f"--set=workbench.teacher.calls={concurrency}"))
        wall = time.monotonic() - began
        calls_ideal = report["calls"] * latency_s / concurrency
        alone = executions_alone(folder)
        start = startup()
    ideal = max(calls_ideal, alone)
    print(f"{report['calls']} calls x {latency_s} s at {concurrency}: ideal {calls_ideal:.1f} s")
    print(f"{report['executions']} executions alone: {alone:.1f} s; importing and starting alone: {start:.1f} s")
    print(
        f"pipeline {wall:.1f} s: {wall / ideal:.2f} x the larger ideal; without start-up {(wall - start) / ideal:.2f}"
    )


def executions_alone(folder: Path) -> float:
    """Seconds to cross-execute the candidates of the run with nothing else going on."""
    pools = load_pools(folder / "data" / "candidates.jsonl")
    domains = domains_named({pool.problem.domain for pool in pools})
    with open_sandbox() as sandbox:
        crossexec = CrossExecutor(Judge(sandbox, domains))
        began = time.monotonic()
        crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in pools])
        return time.monotonic() - began


def startup() -> float:
    """Seconds for imports and for opening two sandboxes."""
    code = (
        "import evosyn.synthesis.recipes.problems, evosyn.teachers.litellm, evosyn.crossexec.executor\n"
        "from evosyn.sandbox import open_sandbox\n"
        "with open_sandbox(), open_sandbox(workers=1, packages=('numpy',)): pass\n"
    )
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.monotonic() - began


def overhead(problems: int = 120) -> None:
    with scratch_folder() as folder, ScriptedServer(script) as server:
        for name in ("first run", "same command again", "journal lost, replies cached"):
            if name.startswith("journal"):
                (folder / "data" / "journal.jsonl").unlink()
                (folder / "data" / "manifest.json").unlink()
            before, asked = resource.getrusage(resource.RUSAGE_CHILDREN), server.counts.requests
            began = time.monotonic()
            report = ended(command(folder, server, problems))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(
                f"{name:30} {report['calls']} replies, {server.counts.requests - asked} asked, "
                f"{time.monotonic() - began:6.1f} s wall, {cpu:6.1f} s CPU of ours and the sandbox"
            )


def faults(problems: int = 40) -> None:
    trouble = Faults(rate_limited=0.10, server_error=0.02, hang=0.02, empty=0.05, retry_after_s=0.5)
    walls = {}
    for name, bad in (("well", Faults()), ("badly", trouble)):
        with scratch_folder() as folder, ScriptedServer(script, latency_s=0.5, faults=bad) as server:
            began = time.monotonic()
            report = ended(command(folder, server, problems, "--set=workbench.teacher.timeout_s=5"))
            walls[name] = time.monotonic() - began
            dropped = sum(report["dropped"].values())
            print(
                f"server behaves {name}: {report['asked']} asked = {report['kept']} kept + {dropped} dropped, "
                f"{dict(server.counts.answers)}, {walls[name]:.1f} s"
            )
    print(f"wall {walls['badly'] / walls['well']:.2f} x")


def kill(problems: int = 60) -> None:
    with scratch_folder() as folder, ScriptedServer(script, latency_s=0.5) as server:
        process = command(folder, server, problems)
        while server.counts.requests < problems * 8:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        held = len({tuple(row["key"]) for row in _replies_in(folder)})
        before, flying = server.counts.requests, server.counts.most_in_flight
        report = ended(command(folder, server, problems))
        repeated = server.counts.requests - report["calls"]
    print(f"killed after {before} requests, {held} replies in the journal, at most {flying} in flight")
    print(f"calls repeated: {repeated} (in flight when killed), {report['kept']} kept of {report['asked']}")


def _replies_in(folder: Path) -> list[dict[str, Any]]:
    return [event for event in RunDir(folder / "data").journal.events() if event["event"] == "reply"]


def memory(problems: int = 100_000, seconds: float = 60.0) -> None:
    with scratch_folder() as folder, ScriptedServer(script) as server:
        process = command(folder, server, problems, "-M", "2", "-N", "2", "--quiet")
        peak, began = 0, time.monotonic()
        while time.monotonic() - began < seconds and process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(status.split("VmRSS:")[1].split()[0]))
            time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate()
        ledger = ledger_of(folder / "data")
        print(f"{problems} problems queued, {len(ledger.done)} ended in {seconds:.0f} s: peak {peak / 1024:.0f} MB")


@dataclass
class Arm:
    """Sums over the problems of one way of spending."""

    kept: int = 0
    calls: int = 0
    cells: int = 0
    right: float = 0.0
    balanced: float = 0.0

    def line(self, name: str, problems: int) -> str:
        kept = max(self.kept, 1)
        return (
            f"{name:20} kept {self.kept:5} of {problems}, {1000 * self.kept / self.calls:6.2f} per 1,000 calls, "
            f"{1e6 * self.kept / self.cells:8.0f} per 10^6 executions; best right {self.right / kept:.3f}, "
            f"balanced accuracy {self.balanced / kept:.3f}"
        )


def bundled() -> list[PassMatrix]:
    """The bundled seeds with 20 solutions and 20 testings each by the simulated author, executed here."""
    domains = domains_named(DOMAINS)
    seeds = [pool.problem for pool in load_pools("builtin:python-seeds")]
    with open_sandbox() as sandbox:
        pools = draw_pools(
            seeds, create(TeacherTools(sandbox=lambda: sandbox), OfflineConfig()), domains, solutions=20, testings=20
        )
        return CrossExecutor(Judge(sandbox, domains)).matrices(
            [(one.problem, one.solutions, one.testings) for one in pools]
        )


def recorded(path: str | None) -> list[PassMatrix]:
    """Recorded matrices with human verdicts; `bundled` makes some."""
    if path == "bundled":
        return bundled()
    if path is not None:
        return [matrix for matrix in load_matrices(path) if matrix.human_M is not None]
    found = []
    for pool in load_pools(POOL):
        meta = pool.problem.meta
        letters = np.array([list(row) for row in meta["recorded_verdicts"]], dtype="<U1")
        found.append(
            PassMatrix(pool.problem.problem_id, letters, human_M=np.array(list(meta["recorded_human"]), dtype="<U1"))
        )
    return found


def ordered(matrices: Sequence[PassMatrix], draws: int, top: Size) -> list[PassMatrix]:
    """Seeded draws of `top` solutions and testings, in a random order, of every matrix that is large enough."""
    found = []
    for matrix in matrices:
        M, N = matrix.verdicts_MN.shape
        for draw in range(draws if top.solutions <= M and top.testings <= N else 0):
            rng = SeedTree(0).child(matrix.problem_id, draw).rng()
            rows, columns = rng.permutation(M)[: top.solutions], rng.permutation(N)[: top.testings]
            verdicts = matrix.verdicts_MN[np.ix_(rows, columns)]
            human = None if matrix.human_M is None else matrix.human_M[rows]
            found.append(PassMatrix(f"{matrix.problem_id}#{draw}", verdicts, human_M=human))
    return found


def ranked(runner: SandboxedRunner, program: str, matrices: Sequence[PassMatrix]) -> list[Ranking]:
    """The rankings of a strategy.

    Raises:
        SystemExit: it has none.
    """
    rankings = runner.rank([program], [evidence_of(matrix) for matrix in matrices])[0]
    if isinstance(rankings, Invalid):
        raise SystemExit(rankings.reason)
    return list(rankings)


def cut(matrix: PassMatrix, size: Size) -> PassMatrix:
    human = None if matrix.human_M is None else matrix.human_M[: size.solutions]
    return replace(matrix, verdicts_MN=matrix.verdicts_MN[: size.solutions, : size.testings], human_M=human)


def judge(arm: Arm, whole: PassMatrix, size: Size, ranking: Ranking) -> None:
    """Count one problem that stopped at `size`; quality is measured over all solutions of the whole matrix."""
    arm.calls += sum(size)
    arm.cells += size.solutions * size.testings
    decision = decide(cut(whole, size), ranking, PruneConfig(), SeedTree(0).child(whole.problem_id))
    if decision.reason or decision.chosen is None or whole.human_M is None:
        return
    human = whole.human_M == "P"
    accepted = whole.passed_MN[:, decision.chosen.testing]
    arm.kept += 1
    arm.right += bool(human[decision.chosen.best])
    parts = [float((accepted == human)[mask].mean()) for mask in (human, ~human) if mask.any()]
    arm.balanced += sum(parts) / len(parts)


def adaptive(path: str | None, strategy: str, draws: int = 10) -> None:
    top, configs = Size(16, 16), [AdaptiveConfig(), AdaptiveConfig(support=2)]
    whole = ordered(recorded(path), draws, top)
    sizes = rounds(configs[0], *top)
    program = load_known(strategy)
    with open_sandbox(workers=1, packages=("numpy",)) as sandbox:
        runner = SandboxedRunner(sandbox)
        by_size = {size: ranked(runner, program, [cut(matrix, size) for matrix in whole]) for size in sizes}
    fixed = {size: Arm() for size in sizes}
    for at, matrix in enumerate(whole):
        for size in sizes:
            judge(fixed[size], matrix, size, by_size[size][at])
    print(f"{len(whole)} instances, strategy {strategy}; quality over all 16 solutions, by the human testing")
    for size, arm in fixed.items():
        print(arm.line(f"fixed {size.solutions} x {size.testings}", len(whole)))
    for config in configs:
        grown, stopped = Arm(), dict.fromkeys(sizes, 0)
        for at, matrix in enumerate(whole):
            size = next(size for size in sizes if size == top or ended_at(matrix, size, by_size[size][at], config))
            stopped[size] += 1
            judge(grown, matrix, size, by_size[size][at])
        print(grown.line(f"adaptive, support {config.support}", len(whole)))
        print("  stopped at " + ", ".join(f"{size.solutions} x {size.testings}: {n}" for size, n in stopped.items()))


def ended_at(matrix: PassMatrix, size: Size, ranking: Ranking, config: AdaptiveConfig) -> bool:
    """Would the problem be settled or hopeless with this much of it?"""
    part = cut(matrix, size)
    decision = decide(part, ranking, PruneConfig(), SeedTree(0).child(matrix.problem_id))
    return outlook(part, decision, config) is not Outlook.OPEN


def fraction(path: str | None, strategy: str, draws: int = 10) -> None:
    sizes = [Size(n, n) for n in (2, 4, 8, 16)]
    whole = ordered(recorded(path), draws, sizes[-1])
    with open_sandbox(workers=1, packages=("numpy",)) as sandbox:
        runner = SandboxedRunner(sandbox)
        for size in sizes:
            matrices = [cut(matrix, size) for matrix in whole]
            arm = Arm()
            for matrix, ranking in zip(whole, ranked(runner, load_known(strategy), matrices), strict=True):
                judge(arm, matrix, size, ranking)
            print(arm.line(f"M = N = {size.solutions}", len(whole)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["pipeline", "overhead", "faults", "kill", "memory", "adaptive", "fraction"]
    parser.add_argument("what", choices=names)
    parser.add_argument("--matrices", help="recorded matrices with human verdicts")
    parser.add_argument("--strategy", default="codet")
    options = parser.parse_args()
    if options.what in ("adaptive", "fraction"):
        if options.matrices is None and not POOL.exists():
            raise SystemExit(f"{POOL} is not here; give --matrices FILE")
        {"adaptive": adaptive, "fraction": fraction}[options.what](options.matrices, options.strategy)
    else:
        {"pipeline": pipeline, "overhead": overhead, "faults": faults, "kill": kill, "memory": memory}[options.what]()


if __name__ == "__main__":
    main()
