"""How good the strategies are that a search finds, on problems it never saw: cross-evolution by task, in parts.

    python benchmarks/search_quality.py run --pool POOL --strong MATRICES --work DIR [--minutes 30] [--settings lists]
    python benchmarks/search_quality.py report --work DIR

Five folds by task (no task in two folds, every problem held out once) x three search seeds x three ways to search with
the same openings, budget and choice of the winner; held-out problems are scored on 60 draws of a seed of their own. The
statistic of a row is the mean over problems of its held-out score, averaged over search seeds first; differences are
paired bootstraps over problems, those of one task together: they hold for the winners that were found, and
the differences of each search seed stand beside them. `run` does what is missing, one part after the other, and may be
stopped at any time; `report` says how much there is. Settings: `asserts` and `lists` (a pool with texts, each check or
each list a testing), `strong` (recorded matrices), `both` (asserts and strong, searched together), `weak`, `mixed` (the
offline teacher on the bundled seeds, a simulation).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.heldout import Split, pool_of, task_of
from evosyn.evaluators.intervals import bootstrap, totals
from evosyn.evaluators.splitting import split_testings
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.stopping import StopConfig
from evosyn.matrices import load_matrices, write_matrices
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Evidence, Invalid, Json, PassMatrix, Ranking
from evosyn.rundir import RunDir
from evosyn.strategies import known_names, load_known
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.running.stacked import TreeRunner
from evosyn.synthesis.generate import draw_pools
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.inputs import Source
from evosyn.synthesis.search.seeds import Seeds
from evosyn.synthesis.search.trial import run_split
from evosyn.workbench import TeacherConfig, Workbench, WorkbenchConfig

ARMS = ("evolve", "iid", "hillclimb")
SETTINGS = {"asserts": 16, "lists": 8, "strong": 16, "both": 16, "weak": 16, "mixed": 16}
"""Testings of a draw; solutions are 16."""
SIMULATED = ("weak", "mixed")
FOLDS, SEEDS, SOLUTIONS, HELD_DRAWS = 5, 3, 16, 60
REFERENCE, BEST, ORACLE = "codet_gap", "best known rule, chosen on train", "oracle"
DETECTED = 2.8
"""Standard errors of a difference that is found with a power of 80 % at 5 %."""
VERSION = 2
"""Of the protocol and of what a part holds; parts of another one are not read."""


class Part(NamedTuple):
    """One file of results: what it is about, and its path below the work directory."""

    setting: str
    fold: int
    seed: int | None = None
    arm: str | None = None

    @property
    def path(self) -> str:
        tail = "known" if self.arm is None else f"{self.arm}-{self.seed}"
        return f"parts/{self.setting}/{self.fold}-{tail}.json"


class Bench:
    """The matrices of all settings, made when first asked for and kept in the work directory."""

    def __init__(self, arguments: argparse.Namespace, run: RunDir, workbench: Workbench) -> None:
        self._pool, self._strong, self._evaluations = arguments.pool, arguments.strong, arguments.evaluations
        self._run, self.workbench = run, workbench
        self._split: dict[str, list[list[PassMatrix]]] = {}

    def folds(self, setting: str) -> list[list[PassMatrix]]:
        """The problems of each fold: tasks in a random order, dealt out; those of the same pools by turns."""
        if setting not in self._split:
            matrices = self._matrices(setting)
            pools: dict[str, set[str]] = {}
            for matrix in matrices:
                pools.setdefault(task_of(matrix), set()).add(pool_of(matrix))
            names = sorted(pools)
            order = SeedTree(0).child("folds").rng().permutation(len(names))
            dealt = sorted((names[place] for place in order), key=lambda task: sorted(pools[task]))
            fold = {task: place % FOLDS for place, task in enumerate(dealt)}
            self._split[setting] = [
                [one for one in matrices if fold[task_of(one)] == number] for number in range(FOLDS)
            ]
        return self._split[setting]

    def known(self, setting: str, number: int) -> dict[str, Json]:
        """Known rules, the bounds and the best rule by the train problems, on the problems of a fold."""
        programs = {name: load_known(name) for name in known_names()}
        folds = self.folds(setting)
        train = [one for place, fold in enumerate(folds) if place != number for one in fold]
        found = self._scores(setting, folds[number], programs)
        means = {
            name: float(np.mean(list(row.values()))) for name, row in self._scores(setting, train, programs)[0].items()
        }
        best = max(means, key=lambda name: means[name])
        rows = {**found[0], BEST: found[0][best]}
        tasks = {matrix.problem_id: task_of(matrix) for matrix in folds[number]}
        return {"rows": rows, "chosen": best, ORACLE: found[1], "reachable": found[2], "tasks": tasks}

    def search(self, part: Part) -> dict[str, Json]:
        """Held-out scores of one winner by problem, and how it was chosen."""
        folds = self.folds(part.setting)
        train = [one for place, fold in enumerate(folds) if place != part.fold for one in fold]
        seed = SeedTree(part.seed or 0).child(part.setting, part.fold).integer() % 2**31
        config = EvolveConfig(
            seed=seed,
            scoring=ConsistencyConfig(M=SOLUTIONS, N=SETTINGS[part.setting], draws=8, seed=seed),
            islands=IslandsConfig.model_validate({"search": part.arm or "evolve"}),
            stop=StopConfig(evaluations=self._evaluations),
        )
        began = time.process_time()
        seeds = Seeds(Split(train, folds[part.fold]), {}, simulated=part.setting in SIMULATED)
        trial = run_split(config, seeds, self.workbench, held=_held(part.setting))
        contest, names = trial.choice.contest, _names(folds[part.fold], part.setting)
        return {
            "rows": dict(zip(names, trial.heldout["evolved"].per_seed, strict=True)),
            "searched": trial.choice.luckiest[1],
            "fresh": contest.scored.score,
            "known": contest.reference,
            "evolved_wins": contest.passed,
            "gain": None
            if contest.gain is None
            else [contest.gain.mean, contest.gain.lower, contest.gain.drawing_error],
            "draws": contest.draws._asdict(),
            "winner": trial.choice.winner.text,
            "controller_s": time.process_time() - began,
        }

    def _scores(
        self, setting: str, matrices: Sequence[PassMatrix], programs: Mapping[str, str]
    ) -> tuple[dict[str, dict[str, float]], dict[str, float], float | None]:
        evaluator = SeedConsistency(TreeRunner(self.workbench.runner, Reader()), matrices, _held(setting), axes=())
        evaluations = evaluator.evaluate([Candidate(text) for text in programs.values()])
        names = evaluator.draws.problem_ids
        rows = {
            name: dict(zip(names, found.per_seed, strict=True))
            for name, found in zip(programs, evaluations, strict=True)
            if found.score is not None
        }
        return rows, dict(zip(names, evaluator.oracles.tolist(), strict=True)), evaluator.reachable

    def _matrices(self, setting: str) -> list[PassMatrix]:
        if setting == "both":
            joined = Source(str(self._stored("pool")), str(self._strong)).matrices
            found = [matrix if matrix.cases_NMC is None else split_testings(matrix) for matrix in joined]
        elif setting == "strong":
            found = load_matrices(self._strong)
        elif setting in SIMULATED:
            found = load_matrices(self._stored(setting))
        else:
            found = load_matrices(self._stored("pool"))
            found = [split_testings(matrix) for matrix in found] if setting == "asserts" else found
        usable = set(SeedConsistency(_Nobody(), found, _held(setting), axes=()).draws.problem_ids)
        return [matrix for matrix in found if matrix.problem_id in usable]

    def _stored(self, name: str) -> Path:
        """The matrices of the pool, or of the offline teacher of some strength."""
        path = self._run.file(f"{name}.jsonl.gz")
        if not path.is_file():
            if name == "pool":
                pools = [pool for pool in load_pools(self._pool) if pool.solutions and pool.testings]
            else:
                config = WorkbenchConfig(teacher=TeacherConfig(name=f"offline:{name}"))
                problems = [pool.problem for pool in load_pools("builtin:python-seeds")]
                with Workbench(config, out=self._run.path) as drawing:
                    pools = draw_pools(problems, drawing.teacher(), drawing.domains, solutions=24, testings=24)
            made = self.workbench.crossexec.matrices([(one.problem, one.solutions, one.testings) for one in pools])
            write_matrices(path, made)
        return path


class _Nobody:
    """Runs nothing: for asking which problems are large enough."""

    def rank(self, programs: Sequence[str], evidences: Sequence[Evidence]) -> list[tuple[Ranking, ...] | Invalid]:
        raise NotImplementedError


def _held(setting: str) -> ConsistencyConfig:
    seed = SeedTree(0).child("held out").integer() % 2**31
    return ConsistencyConfig(M=SOLUTIONS, N=SETTINGS[setting], draws=HELD_DRAWS, seed=seed)


def _names(fold: Sequence[PassMatrix], setting: str) -> tuple[str, ...]:
    return SeedConsistency(_Nobody(), fold, _held(setting), axes=()).draws.problem_ids


def parts_of(settings: Sequence[str]) -> Iterator[Part]:
    """All parts: whole rounds of folds first, so that an early report is about every problem."""
    for setting in settings:
        yield from (Part(setting, fold) for fold in range(FOLDS))
        for seed in range(SEEDS):
            yield from (Part(setting, fold, seed, arm) for arm in ARMS for fold in range(FOLDS))


class Row(NamedTuple):
    """Held-out scores by problem, averaged over search seeds.

    Attributes:
        by_seed: the same of each search seed that has all folds.
    """

    name: str
    scores: dict[str, float]
    seeds: int = 1
    by_seed: Sequence[dict[str, float]] = ()


class SettingReport:
    """What is there of one setting."""

    def __init__(self, run: RunDir, setting: str) -> None:
        self.setting = setting
        there = [part for part in parts_of([setting]) if run.file(part.path).is_file()]
        self._parts = {part: run.read_json(part.path) for part in there}

    @cached_property
    def rows(self) -> list[Row]:
        known = [value for part, value in self._parts.items() if part.arm is None]
        if len(known) < FOLDS:
            return []
        names = [name for name in known[0]["rows"] if all(name in one["rows"] for one in known)]
        found = [Row(name, {k: v for one in known for k, v in one["rows"][name].items()}) for name in names]
        found.append(Row(ORACLE, {k: v for one in known for k, v in one[ORACLE].items()}))
        for arm in ARMS:
            seeds: dict[int | None, dict[str, float]] = {}
            for part, value in self._parts.items():
                if part.arm == arm:
                    seeds.setdefault(part.seed, {}).update(value["rows"])
            whole = [scores for scores in seeds.values() if len(scores) == len(found[0].scores)]
            if whole:
                means = {name: float(np.mean([scores[name] for scores in whole])) for name in whole[0]}
                found.append(Row(arm, means, len(whole), whole))
        return found

    @cached_property
    def tasks(self) -> dict[str, str]:
        """The task of each problem."""
        return {k: v for part, value in self._parts.items() if part.arm is None for k, v in value["tasks"].items()}

    def _difference(self, one: Row, other: Row, problems: Sequence[str]) -> tuple[float, float, float, float]:
        gaps = [one.scores[name] - other.scores[name] for name in problems]
        return _gap(gaps, [self.tasks[name] for name in problems])

    def lines(self) -> Iterator[str]:
        rows = {row.name: row for row in self.rows}
        label = " (SIMULATED: the offline teacher)" if self.setting in SIMULATED else ""
        total = len(list(parts_of([self.setting])))
        yield f"## {self.setting}{label}: {len(self._parts)} of {total} parts"
        if not rows:
            return
        problems = sorted(rows[REFERENCE].scores)
        bounds = [value["reachable"] for part, value in self._parts.items() if part.arm is None]
        yield f"{len(problems)} problems, {HELD_DRAWS} draws; reachable by passes alone: {np.mean(bounds):.3f}"
        yield f"| row | search seeds | held out | over {REFERENCE} | share of its gap to the oracle |"
        yield "|---|---|---|---|---|"
        gap = _mean(rows[ORACLE], problems) - _mean(rows[REFERENCE], problems)
        for row in sorted(rows.values(), key=lambda one: -_mean(one, problems)):
            ahead = self._difference(row, rows[REFERENCE], problems)
            share = f"{ahead[0] / gap:+.0%}" if gap > 0 else ""
            seeds = str(row.seeds) if row.name in ARMS else ""
            yield f"| {row.name} | {seeds} | {_mean(row, problems):.3f} | {_shown(ahead)} | {share} |"
        for one, other in (("evolve", "iid"), ("evolve", BEST), ("evolve", "hillclimb")):
            if one in rows and other in rows:
                found = self._difference(rows[one], rows[other], problems)
                yield (
                    f"{one} over {other}: {_shown(found)} for these winners, a difference of {found[3]:.3f} would be "
                    f"found 4 times of 5; by search seed {_by_seed(rows[one], rows[other], problems)}"
                )
        won = [value for part, value in self._parts.items() if part.arm == "evolve"]
        if won:
            drawn = [value["draws"]["fresh"] for value in won]
            errors = [value["gain"][2] for value in won if value["gain"]]
            yield (
                f"evolved programs won {sum(value['evolved_wins'] for value in won)} of {len(won)} searches; "
                f"{min(drawn)} to {max(drawn)} fresh draws, standard error of the gain from drawing at most "
                f"{max(errors, default=0):.4f}; best of the search "
                f"{np.mean([value['searched'] for value in won]):.3f}, winner on fresh draws "
                f"{np.mean([value['fresh'] for value in won]):.3f}"
            )


def together(reports: Sequence[SettingReport]) -> Iterator[str]:
    """Evolve against iid over all settings of real pools that have both, and over those that are simulated."""
    for simulated in (False, True):
        gaps: list[float] = []
        tasks: list[str] = []
        for report in reports:
            rows = {row.name: row for row in report.rows}
            if (report.setting in SIMULATED) == simulated and {"evolve", "iid"} <= rows.keys():
                names = sorted(rows["iid"].scores)
                gaps += [rows["evolve"].scores[name] - rows["iid"].scores[name] for name in names]
                tasks += [report.tasks[name] for name in names]
        if gaps:
            mean, low, high, found = _gap(gaps, tasks)
            label = "simulated settings (SIMULATED)" if simulated else "settings of real pools"
            yield f"evolve over iid, {label}: {mean:+.4f} [{low:+.4f}, {high:+.4f}], {len(gaps)} problems of "
            yield f"{len(set(tasks))} tasks; a difference of {found:.4f} would be found 4 times of 5"


def _mean(row: Row, problems: Sequence[str]) -> float:
    return float(np.mean([row.scores[name] for name in problems]))


def _gap(gaps: Sequence[float], tasks: Sequence[str]) -> tuple[float, float, float, float]:
    """Mean, interval, and the difference that would be found with a power of 80 %."""
    return float(np.mean(gaps)), *bootstrap(gaps, tasks_P=tasks), DETECTED * totals(gaps, tasks).error


def _by_seed(one: Row, other: Row, problems: Sequence[str]) -> str:
    """The difference for each search seed; a row without seeds is the same for all."""
    others = other.by_seed or [other.scores] * len(one.by_seed)
    gaps = [np.mean([a[name] - b[name] for name in problems]) for a, b in zip(one.by_seed, others, strict=False)]
    return " ".join(f"{gap:+.3f}" for gap in gaps)


def _shown(found: tuple[float, float, float, float]) -> str:
    return f"{found[0]:+.3f} [{found[1]:+.3f}, {found[2]:+.3f}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pool", help="pool with solutions and testings")
    parser.add_argument("--strong", help="recorded matrices of a pool of strong models")
    parser.add_argument("--settings", default=",".join(SETTINGS), help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--evaluations", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no part after so many")
    arguments = parser.parse_args()
    settings = arguments.settings.split(",")
    if unknown := set(settings) - set(SETTINGS):
        raise UsageError(f"--settings {', '.join(sorted(unknown))}: of {', '.join(SETTINGS)}")
    run = RunDir(arguments.work)
    if arguments.what == "run":
        protocol = {"version": VERSION} | {name: getattr(arguments, name) for name in ("evaluations", "pool", "strong")}
        if run.file("protocol.json").is_file() and run.read_json("protocol.json") != protocol:
            raise UsageError(f"--work {run.path}: holds parts of another protocol, {run.read_json('protocol.json')}")
        run.write_json("protocol.json", protocol)
        began = time.monotonic()
        with Workbench() as workbench:
            bench = Bench(arguments, run, workbench)
            for part in parts_of(settings):
                if run.file(part.path).is_file() or (time.monotonic() - began) / 60 > arguments.minutes:
                    continue
                run.file(part.path).parent.mkdir(parents=True, exist_ok=True)
                run.write_json(part.path, bench.known(*part[:2]) if part.arm is None else bench.search(part))
                print(f"{part.path} at {(time.monotonic() - began) / 60:.1f} minutes", file=sys.stderr, flush=True)
    if not run.file("protocol.json").is_file() or run.read_json("protocol.json").get("version") != VERSION:
        raise UsageError(f"--work {run.path}: holds no parts of version {VERSION} of this benchmark; run it again")
    reports = [SettingReport(run, setting) for setting in settings]
    print("\n".join(line for report in reports for line in (*report.lines(), "")))
    print("\n".join(together(reports)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
