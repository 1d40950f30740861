"""pass@k of models on a pool of problems, judged by the human testings in the sandbox.

Completions are kept per problem as they come, so a killed evaluation goes on. Several models land in one table, with
paired differences to the first. Chen 2021 (pass@k); EvoSyn (2510.17928) table 2.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from evosyn.chat import Message, Request
from evosyn.dataset import parquet_path
from evosyn.domains import domain, load_pools
from evosyn.errors import UsageError
from evosyn.plots import write_plot
from evosyn.ports import Domain
from evosyn.randomness import SeedTree
from evosyn.records import Json, Pool, Solution, content_id
from evosyn.rundir import RunDir
from evosyn.text.reasoning import AUTO
from evosyn.train.data import load_samples, tasks_of
from evosyn.train.generation import Generator, TokenSampling
from evosyn.train.scoring import Scorer, Task, domains_of
from evosyn.train.stats import bootstrap, pass_at_k

LEVELS = ("easy", "medium", "hard", "unrated")


@dataclass(frozen=True)
class BenchOutcome:
    """One model on one problem: `passed` of `samples` completions satisfy the human testing.

    Attributes:
        unknown: samples that nobody could judge, those that never came among them.
        missing: samples that never came.
        cut: those that end in their reasoning.
    """

    problem_id: str
    level: str
    samples: int
    passed: int
    parsed: int
    unknown: int = 0
    domain: str = ""
    missing: int = 0
    cut: int = 0


class Result(NamedTuple):
    """One model on the whole bench, its texts read in a form of reasoning."""

    model: str
    outcomes: tuple[BenchOutcome, ...]
    reasoning: str = AUTO


def bench_tasks(pools: Sequence[Pool]) -> list[Task]:
    """The problems that can be judged.

    Raises:
        UsageError: not one has a human testing.
    """
    tasks = [
        Task(pool.problem.problem_id, pool.problem, pool.problem.human_testing)
        for pool in pools
        if pool.problem.human_testing is not None
    ]
    if not tasks:
        raise UsageError("--bench: no problem has a human_testing to judge by")
    return tasks


class Bench(NamedTuple):
    """What is measured.

    Attributes:
        shots: by task what stands before its question: others of its bench, each with the answer.
    """

    tasks: list[Task]
    shots: Mapping[str, tuple[Message, ...]]


def tasks_of_benches(benches: Sequence[str], shots: int = 0) -> Bench:
    """The tasks of pools with human testings, and of datasets, whose rows are judged by their own testings.

    Args:
        shots: problems of each bench, the first with a reference, that are shown before the others and not measured.

    Raises:
        UsageError: nothing can be judged, or not by one reply; a bench has too few references, or two problems have
            the same name.
    """
    tasks: list[Task] = []
    before: dict[str, tuple[Message, ...]] = {}
    for bench in benches:
        is_data = parquet_path(bench).is_file()
        found = [*tasks_of(load_samples(bench, "evosyn")).values()] if is_data else bench_tasks(load_pools(bench))
        acting = [task for task in found if domain(task.problem.domain).actor == "loop"]
        if acting:
            raise UsageError(
                f"--bench {bench}: {acting[0].row_id} is work of an agent in many turns, and one reply to it measures "
                "nothing; have it worked on by `evosyn evolve` (--agent), or in `evosyn.ShellEnv` (docs/os-shell.md)"
            )
        shown = [task for task in found if task.problem.reference_solution is not None][:shots]
        left = [task for task in found if task not in shown]
        if len(shown) < shots or not left:
            raise UsageError(
                f"--shots {shots}: {bench} has {len(found)} problems, {len(shown)} of them with a reference_solution "
                "to be shown; fewer shots, or a larger bench"
            )
        turns = tuple([message for task in shown for message in _turns(task)])
        before |= {task.row_id: turns for task in left}
        tasks += left
    twice = [name for name, count in Counter(task.row_id for task in tasks).items() if count > 1]
    if twice:
        raise UsageError(f"--bench: {len(twice)} problems have the same name in two of them, {twice[0]!r} for one")
    return Bench(tasks, before)


def _turns(task: Task) -> tuple[Message, ...]:
    """The question of a problem, and its reference as an answer."""
    one, problem = domain(task.problem.domain), task.problem
    return (
        *one.ask("solution", problem, 0, {}).messages,
        *one.show(problem, Solution(problem.reference_solution or "")),
    )


def level_of(task: Task) -> str:
    """By `meta.difficulty`: a name of `LEVELS`, or a number in [0, 1] cut into thirds."""
    value = task.problem.meta.get("difficulty")
    if isinstance(value, str) and value.lower() in LEVELS:
        return value.lower()
    if isinstance(value, int | float) and 0 <= value <= 1:
        return LEVELS[min(2, int(3 * value))]
    return "unrated"


def evaluate(
    model: str,
    generator: Generator,
    sampling: TokenSampling,
    tasks: Sequence[Task],
    scorer: Scorer,
    run: RunDir,
    *,
    shots: Mapping[str, tuple[Message, ...]] = MappingProxyType({}),
    on_done: Callable[[int], None] = lambda _: None,
) -> Result:
    """Draw what is not yet drawn, score everything.

    Args:
        model: the name that it gets in tables.
        run: completions are kept in `completions/<hash>.jsonl`.
        shots: by task, what stands before its question.
        on_done: told how many problems have their completions.

    Raises:
        SandboxUnavailable: the sandbox is gone.
    """
    domains = domains_of(tasks)
    shown = {name: [[one.role, one.content] for one in turns] for name, turns in shots.items() if turns}
    key = content_id("e_", [model, sampling.__dict__, *([shown] if shown else [])])
    path = run.file("completions", f"{key}.jsonl")
    kept: dict[str, Sequence[str | None]] = {**_kept(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    missing = [task for task in tasks if task.row_id not in kept]
    on_done(len(tasks) - len(missing))
    with path.open("a", encoding="utf-8") as file:
        for start in range(0, len(missing), generator.chunk):
            chunk = missing[start : start + generator.chunk]
            asked = [_asked(domains[task.problem.domain], task, shots.get(task.row_id, ())) for task in chunk]
            drawn = generator.generate(asked, [task.row_id for task in chunk])
            for task, texts in zip(chunk, drawn, strict=True):
                if None not in texts:  # else the same command asks again: what came is in the reply cache
                    file.write(json.dumps({"problem_id": task.row_id, "completions": texts}) + "\n")
                kept[task.row_id] = texts
            file.flush()
            on_done(len(tasks) - len(missing) + start + len(chunk))
    form = generator.reasoning
    return Result(model, tuple(_score(task, kept[task.row_id], scorer, form) for task in tasks), form)


def _asked(one: Domain, task: Task, shots: tuple[Message, ...]) -> Request:
    request = one.ask("solution", task.problem, 0, {})
    return replace(request, messages=(*shots, *request.messages))


def summary(results: Sequence[Result], ks: Sequence[int], seed: int) -> dict[str, Json]:
    """The whole table as JSON: pass@k with intervals, differences to the first model, levels."""
    seeds = SeedTree(seed).child("eval")
    rows = []
    for result in results:
        row: dict[str, Json] = {"model": result.model, "problems": len(result.outcomes)}
        row["unknown"] = sum(outcome.unknown for outcome in result.outcomes)
        row["parsed"] = _share(result.outcomes)
        row["cut"], row["reasoning"] = sum(outcome.cut for outcome in result.outcomes), result.reasoning
        for k in ks:
            values = pass_values(result.outcomes, k)
            row[f"pass@{k}"] = _mean(values, seeds.child("mean", k))
            if result is not results[0]:
                first = pass_values(results[0].outcomes, k)
                gained = [after - before for before, after in zip(first, values, strict=True)]
                row[f"gain@{k}"] = _mean(gained, seeds.child("gain", k))
        row["levels"] = _parts(result, LEVELS, lambda one: one.level, ks, seeds)
        domains = sorted({outcome.domain for outcome in result.outcomes})
        if len(domains) > 1:
            row["domains"] = _parts(result, domains, lambda one: one.domain, ks, seeds)
        rows.append(row)
    return {"ks": list(ks), "models": rows}


def _parts(
    result: Result, names: Sequence[str], name_of: Callable[[BenchOutcome], str], ks: Sequence[int], seeds: SeedTree
) -> dict[str, Json]:
    """pass@k of the problems of each name that has any."""
    return {
        name: {"problems": len(part), **{f"pass@{k}": _mean(pass_values(part, k), seeds) for k in ks}}
        for name in names
        if (part := [outcome for outcome in result.outcomes if name_of(outcome) == name])
    }


def pass_values(outcomes: Sequence[BenchOutcome], k: int) -> list[float]:
    """pass@k of each problem, over the samples that could be judged; NaN where none could."""
    values = []
    for outcome in outcomes:
        judged = outcome.samples - outcome.unknown
        values.append(pass_at_k(judged, outcome.passed, min(k, judged)) if judged else math.nan)
    return values


def write_picture(run: RunDir, table: Mapping[str, Json]) -> None:
    """`eval.png`: pass@k of each model with its interval."""
    names, ks = [row["model"] for row in table["models"]], table["ks"]

    def draw(axes: Any) -> None:
        for place, k in enumerate(ks):
            cells = [row[f"pass@{k}"] for row in table["models"]]
            across = [number + 0.12 * (place - (len(ks) - 1) / 2) for number in range(len(names))]
            means = [math.nan if cell["mean"] is None else cell["mean"] for cell in cells]
            below = [0 if cell["low"] is None else cell["mean"] - cell["low"] for cell in cells]
            above = [0 if cell["high"] is None else cell["high"] - cell["mean"] for cell in cells]
            axes.errorbar(across, means, yerr=[below, above], fmt="o", capsize=3, label=f"pass@{k}")
        axes.set_xticks(range(len(names)), [Path(name).name or name for name in names], rotation=20, fontsize=8)
        axes.set_ylim(0, 1)
        axes.grid(axis="y", alpha=0.3)
        axes.legend(fontsize=8)

    write_plot(run.file("eval.png"), draw)


def _kept(path: Path) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    if path.exists():
        whole = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
        path.write_text("".join(whole), encoding="utf-8")
        kept = {row["problem_id"]: row["completions"] for row in map(json.loads, whole)}
    return kept


def _score(task: Task, texts: Sequence[str | None], scorer: Scorer, form: str) -> BenchOutcome:
    said = [text for text in texts if text is not None]
    scores = scorer.score([task] * len(said), said, [form] * len(said))
    return BenchOutcome(
        problem_id=task.row_id,
        level=level_of(task),
        samples=len(texts),
        passed=sum(score.passed for score in scores),
        parsed=sum(score.parsed for score in scores),
        unknown=len(texts) - sum(score.known for score in scores),
        domain=task.problem.domain,
        missing=len(texts) - len(said),
        cut=sum(score.cut for score in scores),
    )


def _share(outcomes: Sequence[BenchOutcome]) -> float | None:
    """Of the completions that came, those that could be read; None where none came."""
    came = sum(outcome.samples - outcome.missing for outcome in outcomes)
    return round(sum(outcome.parsed for outcome in outcomes) / came, 4) if came else None


def _mean(values: Sequence[float], seeds: SeedTree) -> dict[str, Json]:
    """The mean of what is known, with its interval; None in place of nan, which is not JSON."""
    interval = bootstrap([value for value in values if not math.isnan(value)], seeds)
    return {name: None if math.isnan(value) else round(value, 6) for name, value in interval._asdict().items()}
