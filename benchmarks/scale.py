"""Beyond one machine: what the Ray runner costs, how it grows with nodes, and a large synthesis in shards.

    python benchmarks/scale.py overhead [--jobs 400]          local against Ray: two workers each, jobs of 1, 10, 100 ms
    python benchmarks/scale.py nodes [--jobs 400]             1, 2, 4, 8 nodes of one CPU, jobs that wait
    python benchmarks/scale.py shards [--problems 100000]     planned, made, compared with each other, written

`shards` asks a script in place of a model (SIMULATED; its replies cost nothing) and makes the problems of all shards:
requests, replies, journals, segments, sketches, seals, then the pass for near-duplicates: one statement of a hundred
is like others but for a word. One shard is drawn and executed; its seal stands for all others (CLONED), so that writing
has as many rows as it would have. Nodes are
processes of this machine: they share its cores, and no network lies between them. Waiting is SIMULATED latency.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from _replies import script

from evosyn.budget import BudgetConfig
from evosyn.chat import Reply, Request
from evosyn.codec import dump
from evosyn.domains import load_pools
from evosyn.jobs import Call, CallsJob
from evosyn.ports import Teacher
from evosyn.records import canonical_json, content_id
from evosyn.rundir import RunDir
from evosyn.sandbox import open_sandbox
from evosyn.storage import open_storage
from evosyn.strategies import load_known
from evosyn.synthesis.card import CardFacts
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.inputs import Inputs
from evosyn.synthesis.recipes.shards import setup_of
from evosyn.synthesis.shards.config import planned
from evosyn.synthesis.shards.crews import Alone
from evosyn.synthesis.shards.leasing import Leasing, lease_events
from evosyn.synthesis.shards.orders import ShardOrder, ShardSetup
from evosyn.synthesis.shards.repeating import RepeatPass
from evosyn.synthesis.shards.seals import read_seal
from evosyn.synthesis.shards.writing import SealedRows
from evosyn.workbench import Workbench

STORE = 80 << 20
ALIKE = "Each crate has a number."
"""Of every scripted statement."""
REPEATS, GROUPS = 0.01, 0.0025
"""Share of the statements that are one of some, with one word changed, and how many these are, a problem."""
BUSY = "import time\ndef f():\n    e = time.process_time() + {}\n    while time.process_time() < e: pass\n    return {}"
WAITING = "import time\ndef f():\n    time.sleep({})\n    return {}"


def jobs_of(form: str, seconds: float, count: int) -> list[CallsJob]:
    return [CallsJob(form.format(seconds, number), "f", (Call(),)) for number in range(count)]


def timed(sandbox: Any, jobs: Sequence[CallsJob]) -> float:
    sandbox.run(jobs[:8])
    began = time.perf_counter()
    found = sandbox.run(jobs)
    seconds = time.perf_counter() - began
    assert [one.value for (one,) in found] == list(range(len(jobs)))
    return seconds


@contextmanager
def cluster(nodes: int) -> Iterator[str]:
    """The address of a head without CPUs and so many nodes of one CPU."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
    import ray
    from ray.cluster_utils import Cluster

    held = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE}
    made = Cluster(initialize_head=True, head_node_args=held)
    try:
        for _ in range(nodes):
            made.add_node(num_cpus=1, object_store_memory=STORE)
        yield made.address
    finally:
        ray.shutdown()
        made.shutdown()


def overhead(count: int) -> None:
    works = {f"{1000 * seconds:g} ms": jobs_of(BUSY, seconds, number) for seconds, number in
             ((0.001, 4 * count), (0.01, count), (0.1, count // 5))}  # fmt: skip
    with (
        cluster(2) as address,
        open_sandbox("local", workers=2, allow_weak=True) as local,
        open_sandbox(f"ray:{address}", allow_weak=True) as spread,
    ):
        for name, jobs in works.items():
            rounds = [(timed(local, jobs), timed(spread, jobs)) for _ in range(3)]
            here, there = (min(column) for column in zip(*rounds, strict=True))
            shown = ", ".join(f"{b / a - 1:+.0%}" for a, b in rounds)
            print(f"{name:>7}: local {here:.2f} s, Ray {there:.2f} s, overhead {there / here - 1:+.1%} ({shown})")


def nodes(count: int) -> None:
    jobs, alone = jobs_of(WAITING, 0.1, count), 0.0
    for number in (1, 2, 4, 8):
        with cluster(number) as address, open_sandbox(f"ray:{address}", allow_weak=True) as spread:
            seconds = timed(spread, jobs)
        alone = alone or seconds
        told = f"{count / seconds:.1f} jobs/s, efficiency {alone / seconds / number:.2f}"
        print(f"{number} nodes, {count} jobs that wait 0.1 s: {seconds:.2f} s, {told} (SIMULATED latency)", flush=True)


def drawn_words(key: str, count: int = 80) -> str:
    """Words that nobody else has: statements of one template alone are more alike than those of any model."""
    draw = random.Random(key)
    return " ".join("".join(draw.choices("aeioubdfgklmnprst", k=6)) for _ in range(count))


class Scripted:
    """Answers by the script of `_replies`; implements `ports.Teacher`. Counts the statements that repeat another."""

    name = "scripted"
    simulated = True
    groups: ClassVar[Counter[int]] = Counter()
    count: ClassVar[int] = 1

    async def complete(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        messages = [{"role": one.role, "content": one.content} for one in request.messages]
        key = content_id("r_", [messages, request.sample])
        text = script({"messages": messages}, request.sample)
        if ALIKE in text:
            text = self._statement(key, text)
        return Reply(id=key, text=text, model=self.name, input_tokens=900, output_tokens=len(text) // 4, cost=0.0)

    def _statement(self, key: str, text: str) -> str:
        draw, own = random.Random(key), drawn_words(key)
        if draw.random() < REPEATS:
            group = draw.randrange(self.count)
            repeated = script({"messages": [{"content": "You write programming problems"}]}, group)
            if ALIKE in repeated:
                self.groups[group] += 1
                text, own = repeated, f"{drawn_words(str(group))} {drawn_words(key, 1)}"
        return text.replace(ALIKE, f"{ALIKE} Seen: {own}.")

    async def aclose(self) -> None:
        return None


class ScriptedBench(Workbench):
    def teacher(self, model: str | None = None, **how: object) -> Teacher:  # noqa: ARG002
        return Scripted()


def opened(setup: ShardSetup, order: ShardOrder, folder: Path) -> Workbench:  # noqa: ARG001
    return ScriptedBench(setup.config.workbench, limits=setup.config.execute.limits)


def memory() -> str:
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"


def shards(problems: int, size: int) -> None:
    config = SynthesizeConfig.model_validate(
        {"problems": problems, "solutions": 16, "testings": 16, "shards": {"size": size, "ship_s": 5.0}}
    )
    config = config.model_copy(
        update={"workbench": config.workbench.model_copy(update={
            "sandbox": config.workbench.sandbox.model_copy(update={"allow_weak": True})})}
    )  # fmt: skip
    seeds = tuple(
        pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == "python-function"
    )
    inputs = Inputs(load_known("gap"), "gap", seeds, "builtin:python-seeds")
    Scripted.count = max(1, round(GROUPS * problems))
    folder = Path(tempfile.mkdtemp(prefix="evosyn-scale-"))
    try:
        plan, setup = planned(problems, config.shards), setup_of(inputs, config, "benchmark", folder)
        storage, began = open_storage(setup.store), time.perf_counter()
        with RunDir(folder) as run:
            events = lease_events(run.journal)
            events.begin({"kind": "benchmark"})
            leasing = Leasing(Alone(setup, opened), events, BudgetConfig(), lambda _: None, lambda *_: True)
            leasing.finish("problems", plan.count, set())
            print(f"problems of {plan.count} shards: {_since(began)}, {_size(folder)}, {memory()}", flush=True)
            began = time.perf_counter()
            (folder / "scratch").mkdir()
            given = (seeds, config.filter.dedup, folder / "scratch")
            repeats = RepeatPass(storage, setup.run, plan, *given).by_shard()
            found = sum(map(len, repeats.values()))
            like = sum(Scripted.groups.values()) - len(Scripted.groups)
            print(f"near-duplicates: {_since(began)}, {found} found of {like}, {memory()}", flush=True)
            began = time.perf_counter()
            leasing.finish("rows", 1, set(), repeats)
            print(f"rows of one shard ({size} problems, 16 x 16): {_since(began)}", flush=True)
            first = read_seal(storage, "rows", 0, setup.run)
            assert first is not None
            for shard in range(1, plan.count):
                data = canonical_json(dump(replace(first, shard=shard))).encode()
                storage.create(f"sealed/rows-{shard:06d}.json", data)
            began = time.perf_counter()
            facts = CardFacts("scale", {}, {}, "", parts=True)
            report = SealedRows(storage, setup.run, plan).write(run, facts, setup.inputs)
            print(f"written (CLONED): {_since(began)}, {report['kept']} rows, {_size(folder / 'dataset')}, {memory()}")
    finally:
        shutil.rmtree(folder)


def _since(began: float) -> str:
    return f"{time.perf_counter() - began:.1f} s"


def _size(folder: Path) -> str:
    return f"{sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e6:.0f} MB on disk"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["overhead", "nodes", "shards"])
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=200)
    options = parser.parse_args()
    if options.what == "shards":
        shards(options.problems, options.size)
    else:
        {"overhead": overhead, "nodes": nodes}[options.what](options.jobs)


if __name__ == "__main__":
    main()
