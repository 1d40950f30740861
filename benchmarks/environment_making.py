"""What the making of environments detects, with a truth that the simulated author knows: SIMULATED figures.

With PYTHONPATH=tests/support:

    python benchmarks/environment_making.py detect --drafts 12 --strength mixed
    python benchmarks/environment_making.py verifiers --drafts 16 --strategy exclusion --strategy RUN
    python benchmarks/environment_making.py size --drafts 800 --out DIR

`detect`: drafts with what no ladder can see (wrong reference, question of something else, missing rule) and sound ones,
through ladder, cross-check and three reviews. `verifiers`: four verifiers of one generator; whether the one that a
strategy chooses is right, against drawing one, and drawing one of those that stand on the ladder. Drafts are halved by
a hash of their text; settings were chosen while the first half was looked at. `size`: `evosyn env make` at the size of
the paper (100 topics, 8 drafts of each) in steps, each a process; a run that was ended goes on at the step it was in.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from simulation import TEACHER
from simulation.author.profile import profile_named
from simulation.environments.drafts import EnvironmentDraft, popular, solver_part, solver_program
from simulation.environments.replies import SKILLS, draft_of
from simulation.offline import NAME

from evosyn.environments.asking import about
from evosyn.environments.contract import Environment, read_environment
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner, MadeInstance, Worth
from evosyn.jobs import Call, CallsJob, Limits
from evosyn.ports.stages import Stage
from evosyn.randomness import SeedTree
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.strategies import strategy_name
from evosyn.synthesis.environments.config import CrosscheckConfig, JudgingConfig, MakeConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.recipes.environments import stages_of
from evosyn.workbench import TeacherConfig, Workbench, WorkbenchConfig

CLASSES = ("sound", "wrong-reference", "relabelled", "rule-missing")


def drawn(tree: SeedTree, strength: str, classes: Sequence[str], each: int) -> Iterator[tuple[Draft, EnvironmentDraft]]:
    """So many drafts of each class, as `evosyn env make` would come to them."""
    wanted = dict.fromkeys(classes, each)
    index = 0
    while any(wanted.values()):
        brief = {"keyword": f"topic {index}", "draw": 0}
        draft = Draft(index, {**brief, "sample": 0}, author=NAME, simulated=True)
        one = draft_of(tree, about(draft.name, brief), 0, SKILLS[strength])
        kind = one.defect or "sound"
        if wanted.get(kind):
            wanted[kind] -= 1
            yield replace(draft, source=one.source), one
        index += 1


def is_held(source: str) -> bool:
    return hashlib.sha256(source.encode()).digest()[0] % 2 == 1


def read(source: str) -> Environment:
    found = read_environment(source).value
    if found is None:
        raise ValueError("the simulated author wrote no environment")
    return found


def is_void(one: EnvironmentDraft, runner: EnvironmentRunner) -> bool:
    """Whether the mistake of a solver changes none of its answers: then nothing is wrong."""
    made = instances(read(one.source), runner)
    right = runner.solve(read(one.sound), [row.instance for row in made])
    return right == runner.solve(read(one.source), [row.instance for row in made])


def instances(environment: Environment, runner: EnvironmentRunner) -> list[MadeInstance]:
    rows = [row for row in rows_of(environment, runner, 40, SeedTree(9)) if isinstance(row, EnvironmentRow)]
    return [MadeInstance(row.testing.body["instance"], row.testing.body["reference"], "") for row in rows]


async def through(stages: Mapping[str, Stage[Draft]], names: Sequence[str], draft: Draft) -> Draft:
    for name in names:
        if draft.ended is None:
            draft = await stages[name].run(draft)
    return draft


async def detect(
    stages: Mapping[str, Stage[Draft]], drafts: Sequence[tuple[Draft, EnvironmentDraft]], runner: EnvironmentRunner
) -> None:
    gate = asyncio.Semaphore(4)

    async def one(draft: Draft, truth: EnvironmentDraft) -> tuple[str, bool, tuple[bool, str, bool]]:
        async with gate:
            climbed = await stages["ladder"].run(draft)
            if climbed.ended is not None:
                return truth.defect or "sound", is_held(truth.source), (True, climbed.ended.reason, False)
            void = truth.defect == "wrong-reference" and await asyncio.to_thread(is_void, truth, runner)
            checked = await stages["crosscheck"].run(climbed)
            reviewed = await stages["review"].run(climbed)
            said = checked.ended.reason if checked.ended else ""
            kind = "no mistake" if void else truth.defect or "sound"
            return kind, is_held(truth.source), (False, said, reviewed.ended is not None)

    rows: dict[tuple[str, bool], list[tuple[bool, str, bool]]] = defaultdict(list)
    for kind, held, seen in await asyncio.gather(*(one(*pair) for pair in drafts)):
        rows[kind, held].append(seen)
    out(f"{'class':16} {'half':9} {'drafts':>6} {'ladder':>6}   of the rest: {'cross-check':>11} {'or a review':>11}")
    for (kind, held), found in sorted(rows.items()):
        rest = [row for row in found if not row[0]]
        checked, either = (
            mean([float(bool(row[1])) for row in rest]),
            mean([float(bool(row[1]) or row[2]) for row in rest]),
        )
        reasons = ", ".join(f"{count} {said}" for said, count in Counter(row[1] for row in found if row[1]).items())
        half = "held out" if held else "looked at"
        told = f"{kind:16} {half:9} {len(found):6} {len(found) - len(rest):6}"
        out(f"{told}   {checked:24.3f} {either:11.3f}   {reasons}")


def out(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def opened(strength: str, config: MakeConfig, place: Path, seed: int) -> Workbench:
    teacher = TeacherConfig(name=f"{TEACHER}:{strength}")
    limits = config.crosscheck.execute.limits
    return Workbench(WorkbenchConfig(teacher=teacher), out=place, seed=seed, limits=limits)


def staged(config: MakeConfig, workbench: Workbench, run: RunDir) -> Mapping[str, Stage[Draft]]:
    ledger = Ledger(run.journal, Draft)
    ledger.begin({"kind": "benchmark", **config.identity()})
    return {stage.name: stage for stage in stages_of(config, workbench, workbench.teacher(), ledger)}


def is_right(program: str, one: EnvironmentDraft, made: Sequence[MadeInstance], runner: EnvironmentRunner) -> bool:
    """Whether a verifier says of each answer what the sound one says: right ones, wrong ones and a word."""
    sound, other = read(one.sound), read(program)
    parts = [solver_part(one.family), *(popular(SeedTree(0), one.family, at / 6) for at in range(6))]
    asked: list[tuple[MadeInstance, str]] = []
    questions = [text for text in runner.observe(sound, [item.instance for item in made]) if isinstance(text, str)]
    jobs = [
        CallsJob(solver_program(part, one.told), "solve", tuple(Call((text,)) for text in questions), Limits(2.0))
        for part in parts
    ]
    for outcomes in runner._sandbox.run(jobs):
        asked += [(item, out.value) for item, out in zip(made, outcomes, strict=True) if isinstance(out.value, str)]
    asked += [(item, "a word") for item in made]
    said = [[isinstance(v, Worth) and v.value == 1 for v in runner.verify(env, asked)] for env in (sound, other)]
    return said[0] == said[1]


async def choose(
    stages: Mapping[str, Stage[Draft]], drafts: Sequence[tuple[Draft, EnvironmentDraft]], runner: EnvironmentRunner
) -> list[tuple[bool, float, float, float, bool]]:
    """For each draft: its half, the share of right verifiers among all, among those on the ladder that take part, of
    the one that is chosen, and whether they differ."""
    gate = asyncio.Semaphore(4)

    async def one(draft: Draft, truth: EnvironmentDraft) -> tuple[bool, float, float, float, bool] | None:
        async with gate:
            done = await through(stages, ["ladder", "crosscheck"], draft)
            if not any(two.chosen for two in done.verifiers):
                return None
            made = await asyncio.to_thread(instances, read(truth.sound), runner)
            right = [await asyncio.to_thread(is_right, two.program, truth, made, runner) for two in done.verifiers]
            taking = [value for value, two in zip(right, done.verifiers, strict=True) if not two.reason]
            (chosen,) = [value for value, two in zip(right, done.verifiers, strict=True) if two.chosen]
            differ = 0 < sum(taking) < len(taking)
            return is_held(truth.source), mean(right), mean(taking), float(chosen), differ

    return [row for row in await asyncio.gather(*(one(*pair) for pair in drafts)) if row is not None]


def mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def verifiers(given: argparse.Namespace, tree: SeedTree, folder: Path) -> None:
    drafts = list(drawn(tree, given.strength, ("sound", "wrong-reference"), given.drafts))
    out(f"{'strategy':24} {'half':9} {'drafts':>6} {'random':>7} {'ladder':>7} {'chosen':>7}   differ: ladder, chosen")
    for number, strategy in enumerate(given.strategy or ["exclusion"]):
        config = MakeConfig(seed=given.seed, crosscheck=CrosscheckConfig(verifiers=4, strategy=strategy))
        place = folder / str(number)
        with RunDir(place) as run, opened(given.strength, config, folder, given.seed) as workbench:
            rows = asyncio.run(choose(staged(config, workbench, run), drafts, EnvironmentRunner(workbench.sandbox)))
        for held in (False, True):
            found = [row for row in rows if row[0] == held]
            some = [row for row in found if row[4]]
            half = "held out" if held else "looked at"
            shares = " ".join(f"{mean([row[at] for row in found]):7.3f}" for at in (1, 2, 3))
            told = f"{len(some)}: {mean([row[2] for row in some]):.3f}, {mean([row[3] for row in some]):.3f}"
            out(f"{strategy_name(strategy)[:24]:24} {half:9} {len(found):6} {shares}   {told}")


def size(given: argparse.Namespace) -> None:
    """Time and memory of each step, kept beside the run; memory is the largest of the command or a child of it."""
    folder: Path = given.out
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "size.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = max((row["drafts"] for row in rows), default=0)
    for drafts in range(done + given.step, given.drafts + given.step, given.step):
        line = [sys.executable, "-m", "evosyn", "env", "make", "--out", str(folder / "run"), "--limit", str(drafts)]
        began = time.monotonic()
        process = subprocess.Popen(
            [*line, "--teacher", f"{TEACHER}:{given.strength}", "--seed", str(given.seed), "--quiet"]
        )
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"env make ended with {os.waitstatus_to_exitcode(status)}; the same command goes on")
        row = {"drafts": drafts, "wall_s": round(time.monotonic() - began, 1)}
        row |= {"cpu_s": round(used.ru_utime + used.ru_stime, 1), "mb": round(used.ru_maxrss / 1024)}
        rows.append(row)
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        out(json.dumps(row))
    report = json.loads((folder / "run" / "report.json").read_text(encoding="utf-8"))
    wall_s, most_mb = sum(row["wall_s"] for row in rows), max(row["mb"] for row in rows)
    told = f"{report['asked']} drafts, {report['kept']} kept, {report['calls']} calls"
    out(f"{told}: {wall_s:.0f} s, {most_mb} MB at most; SIMULATED by {NAME}/{given.strength}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["detect", "verifiers", "size"])
    parser.add_argument("--drafts", type=int, default=12, help="of each class")
    parser.add_argument("--strength", choices=sorted(SKILLS), default="mixed")
    parser.add_argument("--strategy", action="append", help="known name, file or run; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("environment-making"), help="with size: directory of the run")
    parser.add_argument("--step", type=int, default=100, help="with size: drafts of one process")
    given = parser.parse_args()
    began = time.monotonic()
    if given.what == "size":
        size(given)
        return
    tree = SeedTree(given.seed).child(NAME, profile_named(given.strength).name)
    with tempfile.TemporaryDirectory() as folder:
        if given.what == "detect":
            config = MakeConfig(seed=given.seed, judging=JudgingConfig(reviews=3))
            drafts = list(drawn(tree, given.strength, CLASSES, given.drafts))
            with RunDir(Path(folder)) as run, opened(given.strength, config, Path(folder), given.seed) as workbench:
                stages = staged(config, workbench, run)
                asyncio.run(detect(stages, drafts, EnvironmentRunner(workbench.sandbox)))
        else:
            verifiers(given, tree, Path(folder))
    out(f"SIMULATED by {NAME}/{given.strength}; seed {given.seed}; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
