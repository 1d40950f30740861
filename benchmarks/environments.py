"""What isolation costs where environments make questions and pay answers: instances, ladders and rewards.

    python benchmarks/environments.py speed [--instances 256] [--environments NAME...]
    python benchmarks/environments.py ladder [--environments NAME...]
    python benchmarks/environments.py rewards [--completions 1000]

`speed` makes, shows, solves and twice verifies the same instances in four ways: in the sandbox, with a `python` for
each, with a fork for each, and plainly in this process, which is the limit and protects from nothing. Only programs
that come with evosyn run outside of the sandbox. Figures count processor time of this process and all below it, and are
rates per core; the ratios are of one run. Figures, not assertions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from scoring import processor_s

from evosyn.domains import Domains
from evosyn.environments import bundled, environment
from evosyn.environments.contract import LEVELS, Environment
from evosyn.environments.ladder import Ladder
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner, MadeInstance, right_answers
from evosyn.jobs import CallsJob, ItemOutcome, Job
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.sandbox import open_sandbox
from evosyn.sharing import Company
from evosyn.tasks import Task
from evosyn.train.scoring import Scorer, reward_judge

FEW, TIMES = 16, 4
"""Instances at a time where each costs an interpreter; how often each way is taken."""
ONE = """
import json, random, sys
text, seed, knobs = json.loads(sys.stdin.read())
space = {}
exec(text, space)
instance, reference = space["generate"](random.Random(seed), knobs)
space["observe"](instance)
answer = space["solve"](instance)
assert space["verify"](instance, reference, answer) and space["verify"](instance, reference, answer)
"""
Cells = Sequence[tuple[int, int]]


def speed(names: Sequence[str], count: int) -> None:
    """Instances per second and core in four ways."""
    ways = {"sandbox": count, "a python each": FEW, "a fork each": 8 * FEW, "plain, in this process": count}
    print(f"| environment | {' | '.join(ways)} | against python | against fork | share of plain |")
    print("|---|" + "---|" * (len(ways) + 3))
    with open_sandbox(workers=2) as sandbox:
        for name in names:
            one = environment(f"builtin:{name}")
            _isolated(sandbox, one, _cells(10))
            does = [
                partial(_isolated, sandbox, one),
                partial(_python, one),
                partial(_forked, one),
                partial(_plain, one),
            ]
            rates = [_rate(do, cells) for do, cells in zip(does, map(_cells, ways.values()), strict=True)]
            ratios = f"{rates[0] / rates[1]:.0f} | {rates[0] / rates[2]:.1f} | {rates[0] / rates[3]:.2f}"
            print(f"| {name} | " + " | ".join(f"{rate:.0f}" for rate in rates) + f" | {ratios} |")


def ladder(names: Sequence[str]) -> None:
    """Processes and seconds of a processor that the ladder of a sound candidate takes."""
    with open_sandbox(workers=2) as one, open_sandbox(workers=2, hash_seed=1) as other:
        counted = _Counting(one), _Counting(other)
        climbs = Ladder(*cast("tuple[Sandbox, Sandbox]", counted))
        climbs.check(environment("builtin:brackets").source)
        for name in names:
            for sandbox in counted:
                sandbox.jobs = 0
            before = processor_s()
            climb = climbs.check(environment(f"builtin:{name}").source)
            jobs = sum(sandbox.jobs for sandbox in counted)
            print(f"{name}: L{climb.level}, {jobs} processes, {processor_s() - before:.2f} s of a processor")


def rewards(completions: int) -> None:
    """Completions of 20 environments that are paid per second and core, in company and without."""
    with open_sandbox(workers=2) as sandbox:
        runner, tree = EnvironmentRunner(sandbox), SeedTree(0)
        made = [rows_of(environment(f"builtin:{name}"), runner, 10, tree) for name in list(bundled("known"))[:20]]
        rows = [row for some in made for row in some if isinstance(row, EnvironmentRow)]
        for what, share in (("in company", True), ("each alone", False)):
            scorer = Scorer(reward_judge(sandbox, Domains(), company=Company(share=share)))
            asked = [(rows[at % len(rows)], at // len(rows)) for at in range(completions)]
            tasks = [Task(row.problem.problem_id, row.problem, row.testing) for row, _ in asked]
            texts = [f"<answer>{row.solution.text}{f' {turn}' if turn else ''}</answer>" for row, turn in asked]
            before, started = processor_s(), time.perf_counter()
            scores = scorer.score(tasks, texts)
            spent, wall = processor_s() - before, time.perf_counter() - started
            print(
                f"{what}: {len(scores) / spent:.0f} completions a second and core, {len(scores) / wall:.0f} by the "
                f"clock; {sum(score.passed for score in scores)} right, {scorer.judge.company.shared} shared"
            )


class _Counting:
    """A sandbox that counts its jobs."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.jobs = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._sandbox, name)

    def run(self, jobs: Sequence[Job]) -> list[tuple[ItemOutcome, ...]]:
        self.jobs += sum(isinstance(job, CallsJob) for job in jobs)
        return self._sandbox.run(jobs)


def _rate(do: Callable[[Cells], None], cells: Cells) -> float:
    before = _spent()
    for _ in range(TIMES):
        do(cells)
    return TIMES * len(cells) / (_spent() - before)


def _spent() -> float:
    """With children of ours that have ended, which `processor_s` leaves out."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return processor_s() + ended.ru_utime + ended.ru_stime


def _cells(count: int) -> Cells:
    return [(at % LEVELS + 1, SeedTree(0).child("bench", at).integer()) for at in range(count)]


def _isolated(sandbox: Sandbox, one: Environment, cells: Cells) -> None:
    runner = EnvironmentRunner(sandbox)
    made = [each for each in runner.generate(one, cells) if isinstance(each, MadeInstance)]
    runner.observe(one, [each.instance for each in made])
    answers = [text for text in right_answers(one, runner, made) if isinstance(text, str)]
    pairs = list(zip(made, answers, strict=True))
    for _ in range(2):
        assert all(getattr(worth, "value", 0) == 1 for worth in runner.verify(one, pairs))


def _python(one: Environment, cells: Cells) -> None:
    for level, seed in cells:
        given = json.dumps([one.source, seed, one.knobs_at(level)])
        subprocess.run([sys.executable, "-I", "-S", "-c", ONE], input=given, text=True, check=True)


def _forked(one: Environment, cells: Cells) -> None:
    for cell in cells:
        child = os.fork()
        if not child:
            _plain(one, [cell])
            os._exit(0)
        os.waitpid(child, 0)


def _plain(one: Environment, cells: Cells) -> None:
    space: dict[str, object] = {}
    exec(one.source, space)
    generate, observe, solve, verify = (space[name] for name in ("generate", "observe", "solve", "verify"))
    for level, seed in cells:
        instance, reference = generate(random.Random(seed), one.knobs_at(level))  # type: ignore[operator]
        observe(instance)  # type: ignore[operator]
        answer = solve(instance)  # type: ignore[operator]
        for _ in range(2):
            assert verify(instance, reference, answer)  # type: ignore[operator]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "ladder", "rewards"])
    parser.add_argument(
        "--environments", nargs="*", default=["colouring", "topological-order", "increasing-subsequence"]
    )
    parser.add_argument("--instances", type=int, default=256)
    parser.add_argument("--completions", type=int, default=1000)
    options = parser.parse_args()
    if options.what == "speed":
        speed(options.environments, options.instances)
    elif options.what == "ladder":
        ladder(options.environments)
    else:
        rewards(options.completions)


if __name__ == "__main__":
    main()
