"""How good the strategies are that a search finds, on problems it never saw: cross-evolution by task, in parts.

    python benchmarks/search_quality.py run --pool POOL --strong MATRICES --work DIR [--minutes 30] [--settings lists]
                                            [--processes 8]
    python benchmarks/search_quality.py report

Five folds by task (the same in all settings, every problem held out once) x three search seeds x three ways to search
with the same openings, budget and choice of the winner; held-out problems are scored on 60 draws of a seed of their
own. The statistic of a row is the mean over problems of its held-out score, averaged over search seeds first;
differences are paired bootstraps over problems, those of one task together, strata by the pools that have a task: they
hold for the winners that were found, and the differences of each search seed stand beside them. Each winner is also
compared with the best known rule of every other pool on the tasks that it did not see, and of its own without texts and
values. `run` does what is missing, part by part, and may be stopped at any time; what is done stands in
`benchmarks/search_quality/SETTING.jsonl`, which `report` reads. Settings: `asserts` and `lists` (a pool with texts,
each check or each list a testing), `strong` (recorded matrices), `both` (asserts and strong, searched together),
`weak`, `mixed` (the offline teacher on the bundled seeds, a simulation).
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from functools import cached_property
from itertools import islice
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.heldout import Split, pool_of, task_of
from evosyn.evaluators.intervals import NO_ENDS, Strata
from evosyn.evaluators.splitting import split_testings
from evosyn.evaluators.views import UNRECORDED, unrecorded
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Journal
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
GOALS = ARMS[:2]
SETTINGS = {"asserts": 16, "lists": 8, "strong": 16, "both": 16, "weak": 16, "mixed": 16}
"""Testings of a draw; solutions are 16."""
SIMULATED = ("weak", "mixed")
NEEDS = {"asserts": ("pool",), "lists": ("pool",), "strong": ("strong",), "both": ("pool", "strong")}
"""Files that each setting is about."""
FOLDS, SEEDS, SOLUTIONS, HELD_DRAWS = 5, 3, 16, 60
REFERENCE, BEST, ORACLE = "codet_gap", "best known rule, chosen on train", "oracle"
REACHABLE = "reachable by passes alone"
DETECTED = 2.8
"""Standard errors of a difference that is found with a power of 80 % at 5 %."""
VERSION = 4
"""Of the protocol and of what a part holds; parts of another one are not read."""


class Part(NamedTuple):
    """What one line of results is about: known rules on a fold, or one search."""

    fold: int
    seed: int | None = None
    arm: str | None = None


PARTS = (
    *(Part(fold) for fold in range(FOLDS)),
    *(Part(fold, seed, arm) for seed in range(SEEDS) for arm in GOALS for fold in range(FOLDS)),
    *(Part(fold, seed, arm) for seed in range(SEEDS) for arm in ARMS if arm not in GOALS for fold in range(FOLDS)),
)
"""Of a setting: whole rounds of folds first, so that an early report is about every problem, and what goals are about
before the rest. A round is done in all settings before the next."""


class Results:
    """Parts of a setting, a line each behind one that says of which protocol they are.

    Attributes:
        parts: those that are done.
    """

    def __init__(self, folder: Path, setting: str) -> None:
        self._journal = Journal(folder / f"{setting}.jsonl")
        self.header, self.parts = dict[str, Json](), dict[Part, dict[str, Json]]()
        for at, event in enumerate(self._journal.events()):
            if at:
                self.parts[Part(event.pop("fold"), event.pop("seed"), event.pop("arm"))] = event
            else:
                self.header = event
        if self.header.get("version", VERSION) != VERSION:
            raise UsageError(
                f"{self._journal.path}: is of another version of this benchmark; remove it, and run it again"
            )

    def begin(self, header: Mapping[str, Json]) -> None:
        """
        Raises:
            UsageError: it holds parts of another protocol.
        """
        if not self.header:
            self.header = dict(header)
            self._journal.path.parent.mkdir(parents=True, exist_ok=True)
            self._journal.append(self.header, sync=True)
        if self.header != header:
            raise UsageError(
                f"{self._journal.path}: holds parts of another protocol, {self.header}, not {dict(header)}"
            )

    def add(self, part: Part, found: Mapping[str, Json]) -> None:
        self._journal.append({**part._asdict(), **found}, sync=True)


class Bench:
    """The matrices of all settings, made when first asked for and kept in the work directory."""

    def __init__(self, arguments: argparse.Namespace, workbench: Workbench) -> None:
        self._pool, self._strong, self._evaluations = arguments.pool, arguments.strong, arguments.evaluations
        self._run, self.workbench = RunDir(arguments.work), workbench
        self._split: dict[str, list[list[PassMatrix]]] = {}

    def header(self, setting: str) -> dict[str, Json]:
        """The protocol of a setting; files by their content.

        Raises:
            UsageError: a file that it needs was not named.
        """
        files = {name: getattr(self, f"_{name}") for name in NEEDS.get(setting, ())}
        if not self.has(setting):
            raise UsageError(f"--settings {setting}: needs --{' and --'.join(files)}")
        digests = {name: hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] for name, file in files.items()}
        return {"version": VERSION, "setting": setting, "evaluations": self._evaluations, **digests}

    def prepare(self, setting: str) -> None:
        """Execute or draw what the setting needs, where that was not done before."""
        if "pool" in NEEDS.get(setting, ()) or setting in SIMULATED:
            self._stored("pool" if setting not in SIMULATED else setting)

    def part(self, setting: str, part: Part) -> dict[str, Json]:
        """What a line says, scores in the order of the problems of the fold."""
        return self._known(setting, part.fold) if part.arm is None else self._search(setting, part)

    def folds(self, setting: str) -> list[list[PassMatrix]]:
        """The problems of each fold, which a task's name decides: no task is searched on and held out, whatever pool
        it is of."""
        if setting not in self._split:
            matrices = self._matrices(setting)
            folds = [SeedTree(0).child("fold", task_of(matrix)).integer() % FOLDS for matrix in matrices]
            self._split[setting] = [
                [one for one, fold in zip(matrices, folds, strict=True) if fold == number] for number in range(FOLDS)
            ]
        return self._split[setting]

    def _known(self, setting: str, number: int) -> dict[str, Json]:
        """Known rules, the bounds and the best rule by the train problems, on the problems of a fold."""
        programs = {name: load_known(name) for name in known_names()}
        folds = self.folds(setting)
        train = [one for place, fold in enumerate(folds) if place != number for one in fold]
        held, rows = self._scores(setting, folds[number], programs)
        pools = {matrix.problem_id: pool_of(matrix) for matrix in folds[number]}
        means = {name: float(np.mean(scores)) for name, scores in self._scores(setting, train, programs)[1].items()}
        return {
            "problems": held.draws.problem_ids,
            "tasks": held.draws.tasks_P,
            "pools": [pools[name] for name in held.draws.problem_ids],
            "rows": rows,
            "chosen": max(means, key=lambda name: means[name]),
            ORACLE: _rounded(held.oracles.tolist()),
            REACHABLE: [] if held.reachables is None else _rounded(held.reachables.tolist()),
        }

    def _search(self, setting: str, part: Part) -> dict[str, Json]:
        """Held-out scores of one winner, and how it was chosen."""
        folds = self.folds(setting)
        train = [one for place, fold in enumerate(folds) if place != part.fold for one in fold]
        seed = SeedTree(part.seed or 0).child(setting, part.fold).integer() % 2**31
        config = EvolveConfig(
            seed=seed,
            scoring=ConsistencyConfig(M=SOLUTIONS, N=SETTINGS[setting], draws=8, seed=seed),
            islands=IslandsConfig.model_validate({"search": part.arm or "evolve"}),
            stop=StopConfig(evaluations=self._evaluations),
        )
        began = time.process_time()
        seeds = Seeds(Split(train, folds[part.fold]), {}, simulated=setting in SIMULATED)
        trial = run_split(config, seeds, self.workbench, held=_held(setting))
        contest = trial.choice.contest
        return {
            "scores": _rounded(trial.heldout["evolved"].per_seed),
            "searched": trial.choice.luckiest[1],
            "fresh": contest.scored.score,
            "known": contest.reference,
            "evolved_wins": contest.passed,
            "gain": None
            if contest.gain is None
            else [contest.gain.mean, contest.gain.lower, contest.gain.drawing_error],
            "draws": contest.draws._asdict(),
            "winner": trial.choice.winner.text,
            "elsewhere": dict(self._elsewhere(setting, part, trial.choice.winner.text)),
            "controller_s": time.process_time() - began,
        }

    def _elsewhere(self, setting: str, part: Part, winner: str) -> Iterator[tuple[str, Json]]:
        """How far the winner is ahead of the best known rule on other pools, on tasks that it was not searched on, and
        on its own without texts and values."""
        others = [name for name in SETTINGS if name not in (setting, "both", *SIMULATED) and self.has(name)]
        plain = [unrecorded(matrix) for matrix in self.folds(setting)[part.fold]]
        held = {**{name: self.folds(name)[part.fold] for name in others}, UNRECORDED: plain}
        for name, matrices in held.items() if part.arm == "evolve" and setting not in SIMULATED else ():
            programs = {known: load_known(known) for known in known_names()}
            where = setting if name == UNRECORDED else name
            rows = self._scores(where, matrices, {**programs, "winner": winner})[1]
            best = max(programs, key=lambda known: float(np.mean(rows.get(known, [-1.0]))))
            ahead = float(np.mean(rows["winner"]) - np.mean(rows[best])) if "winner" in rows else None
            yield name, {"best": best, "ahead": ahead, "problems": len(rows[best])}

    def has(self, setting: str) -> bool:
        """Whether the files that a setting needs were named."""
        return all(getattr(self, f"_{name}") is not None for name in NEEDS.get(setting, ()))

    def _scores(
        self, setting: str, matrices: Sequence[PassMatrix], programs: Mapping[str, str]
    ) -> tuple[SeedConsistency, dict[str, list[float]]]:
        evaluator = SeedConsistency(TreeRunner(self.workbench.runner, Reader()), matrices, _held(setting), axes=())
        evaluations = evaluator.evaluate([Candidate(text) for text in programs.values()])
        scored = zip(programs, evaluations, strict=True)
        return evaluator, {name: _rounded(found.per_seed) for name, found in scored if found.score is not None}

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
        return [_with_task(matrix) for matrix in found if matrix.problem_id in usable]

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

    def rank(
        self, programs: Sequence[str], evidences: Sequence[Evidence], tasks: Sequence[str] | None = None
    ) -> list[tuple[Ranking, ...] | Invalid]:
        raise NotImplementedError


def _with_task(matrix: PassMatrix) -> PassMatrix:
    """The matrix under its task's name in all pools: `HumanEval/3`, whatever stands before."""
    return replace(matrix, meta={**matrix.meta, "task": "/".join(matrix.problem_id.split("/")[-2:])})


def _held(setting: str) -> ConsistencyConfig:
    seed = SeedTree(0).child("held out").integer() % 2**31
    return ConsistencyConfig(M=SOLUTIONS, N=SETTINGS[setting], draws=HELD_DRAWS, seed=seed)


def _rounded(scores: Sequence[float]) -> list[float]:
    return [round(score, 4) for score in scores]


def run(arguments: argparse.Namespace, settings: Sequence[str]) -> None:
    """Do the parts that are missing, as many at once as there are processes."""
    results, began = {setting: Results(arguments.results, setting) for setting in settings}, time.monotonic()
    with Workbench() as workbench:
        bench = Bench(arguments, workbench)
        for setting in settings:
            results[setting].begin(bench.header(setting))
            bench.prepare(setting)
    missing = ((name, part) for part in PARTS for name in settings if part not in results[name].parts)
    context = multiprocessing.get_context("spawn")
    begun = context.Value("i", 0)
    with ProcessPoolExecutor(arguments.processes, context, _begin_process, (arguments, begun)) as pool:
        doing: dict[Future[dict[str, Json]], tuple[str, Part]] = {}
        while True:
            in_time = (time.monotonic() - began) / 60 <= arguments.minutes
            for setting, part in islice(missing, (arguments.processes - len(doing)) * in_time):
                doing[pool.submit(_in_process, setting, part)] = setting, part
            if not doing:
                return
            for done in wait(doing, return_when=FIRST_COMPLETED).done:
                setting, part = doing.pop(done)
                results[setting].add(part, done.result())
                minutes = (time.monotonic() - began) / 60
                print(f"{setting} {part} done at {minutes:.1f} minutes", file=sys.stderr, flush=True)


_BENCHES: list[Bench] = []
"""Of a process: one."""


def _begin_process(arguments: argparse.Namespace, begun: Synchronized[int]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    cores = sorted(os.sched_getaffinity(0))
    with begun.get_lock():
        os.sched_setaffinity(0, cores[begun.value % len(cores) :: arguments.processes])
        begun.value += 1
    _BENCHES.append(Bench(arguments, Workbench()))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _in_process(setting: str, part: Part) -> dict[str, Json]:
    return _BENCHES[0].part(setting, part)


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

    def __init__(self, folder: Path, setting: str) -> None:
        self.setting, self._parts = setting, Results(folder, setting).parts
        self._known = [self._parts[part] for part in PARTS[:FOLDS] if part in self._parts]

    @cached_property
    def rows(self) -> list[Row]:
        if len(self._known) < FOLDS:
            return []

        def joined(scores: Iterable[Sequence[float]]) -> dict[str, float]:
            named = zip(self._known, scores, strict=True)
            return {name: score for one, some in named for name, score in zip(one["problems"], some, strict=True)}

        names = [name for name in self._known[0]["rows"] if all(name in one["rows"] for one in self._known)]
        found = [Row(name, joined(one["rows"][name] for one in self._known)) for name in names]
        found.append(Row(BEST, joined(one["rows"][one["chosen"]] for one in self._known)))
        found += [
            Row(name, joined(one[name] for one in self._known))
            for name in (ORACLE, REACHABLE)
            if all(one[name] for one in self._known)
        ]
        for arm in ARMS:
            parts = [[self._parts.get(Part(fold, seed, arm)) for fold in range(FOLDS)] for seed in range(SEEDS)]
            whole = [joined(one["scores"] for one in some if one) for some in parts if all(some)]
            if whole:
                means = {name: float(np.mean([scores[name] for scores in whole])) for name in whole[0]}
                found.append(Row(arm, means, len(whole), whole))
        return found

    @cached_property
    def strata(self) -> Strata:
        """Of the problems, in the order of `problems`."""
        return Strata(*[[value for one in self._known for value in one[name]] for name in ("pools", "tasks")])

    @property
    def problems(self) -> list[str]:
        return [name for one in self._known for name in one["problems"]]

    def _difference(self, one: Row, other: Row) -> tuple[float, float, float, float]:
        return _gap([one.scores[name] - other.scores[name] for name in self.problems], self.strata)

    def lines(self) -> Iterator[str]:
        rows = {row.name: row for row in self.rows}
        label = " (SIMULATED: the offline teacher)" if self.setting in SIMULATED else ""
        yield f"## {self.setting}{label}: {len(self._parts)} of {len(PARTS)} parts"
        if not rows:
            return
        problems = self.problems
        yield f"{len(problems)} problems, {HELD_DRAWS} draws"
        yield f"| row | search seeds | held out | over {REFERENCE} | share of its gap to the oracle |"
        yield "|---|---|---|---|---|"
        gap = _mean(rows[ORACLE], problems) - _mean(rows[REFERENCE], problems)
        for row in sorted(rows.values(), key=lambda one: -_mean(one, problems)):
            ahead = self._difference(row, rows[REFERENCE])
            share = f"{ahead[0] / gap:+.0%}" if gap > 0 else ""
            seeds = str(row.seeds) if row.name in ARMS else ""
            yield f"| {row.name} | {seeds} | {_mean(row, problems):.3f} | {_shown(ahead)} | {share} |"
        for one, other in (("evolve", "iid"), ("evolve", BEST), ("evolve", "hillclimb")):
            if one in rows and other in rows:
                found = self._difference(rows[one], rows[other])
                yield (
                    f"{one} over {other}: {_shown(found)} for these winners, a difference of {found[3]:.3f} would be "
                    f"found 4 times of 5; by search seed {_by_seed(rows[one], rows[other], problems)}"
                )
        won = [value for part, value in self._parts.items() if part.arm == "evolve"]
        if won:
            yield from _elsewhere_lines(won)
            drawn = [value["draws"]["fresh"] for value in won]
            errors = [value["gain"][2] for value in won if value["gain"]]
            yield (
                f"evolved programs won {sum(value['evolved_wins'] for value in won)} of {len(won)} searches; "
                f"{min(drawn)} to {max(drawn)} fresh draws, standard error of the gain from drawing at most "
                f"{max(errors, default=0):.4f}; best of the search "
                f"{np.mean([value['searched'] for value in won]):.3f}, winner on fresh draws "
                f"{np.mean([value['fresh'] for value in won]):.3f}"
            )


def _elsewhere_lines(won: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """How winners stand to the best known rule of other pools, best with hindsight."""
    for name in dict.fromkeys(name for one in won for name in one["elsewhere"]):
        found = [one["elsewhere"][name] for one in won if name in one["elsewhere"]]
        ahead = [one["ahead"] for one in found if one["ahead"] is not None]
        mean = f"{np.mean(ahead):+.3f}, {min(ahead):+.3f} to {max(ahead):+.3f}" if ahead else "none"
        yield (
            f"winners on {name}, over the rule that is best there with hindsight: {mean} ({len(found)} folds and "
            f"seeds, {len(found) - len(ahead)} invalid)"
        )


def together(reports: Sequence[SettingReport]) -> Iterator[str]:
    """Evolve against iid over all settings of real pools that have both, and over those that are simulated; `both` has
    the problems of two others."""
    for simulated in (False, True):
        gaps: list[float] = []
        strata = Strata([], [])
        for report in (one for one in reports if (one.setting in SIMULATED) == simulated and one.setting != "both"):
            rows = {row.name: row for row in report.rows}
            if {"evolve", "iid"} <= rows.keys():
                gaps += [rows["evolve"].scores[name] - rows["iid"].scores[name] for name in report.problems]
                tasks = [*strata.tasks_P, *report.strata.tasks_P]
                strata = Strata([*strata.pools_P, *[report.setting] * len(report.problems)], tasks)
        if gaps:
            mean, low, high, found = _gap(gaps, strata)
            label = "simulated settings (SIMULATED)" if simulated else "settings of real pools"
            yield f"evolve over iid, {label}: {mean:+.4f} [{low:+.4f}, {high:+.4f}], {len(gaps)} problems of "
            yield f"{len(set(strata.tasks_P))} tasks; a difference of {found:.4f} would be found 4 times of 5"


def _mean(row: Row, problems: Sequence[str]) -> float:
    return float(np.mean([row.scores[name] for name in problems]))


def _gap(gaps: Sequence[float], strata: Strata) -> tuple[float, float, float, float]:
    """Mean, interval, and the difference that would be found with a power of 80 %."""
    values = np.array(gaps)
    return float(values.mean()), *(strata.interval(values) or NO_ENDS), DETECTED * strata.error(values)


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
    parser.add_argument("--work", type=Path, help="where pools are executed and drawn")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_suffix(""))
    parser.add_argument("--pool", help="pool with solutions and testings")
    parser.add_argument("--strong", help="recorded matrices of a pool of strong models")
    parser.add_argument("--settings", default=",".join(SETTINGS), help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--evaluations", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=1, help="parts at once, each on its share of the cores")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no part after so many")
    arguments = parser.parse_args()
    settings = arguments.settings.split(",")
    if unknown := set(settings) - set(SETTINGS):
        raise UsageError(f"--settings {', '.join(sorted(unknown))}: of {', '.join(SETTINGS)}")
    if arguments.what == "run":
        if arguments.work is None:
            parser.error("run needs --work DIR")
        run(arguments, settings)
    reports = [SettingReport(arguments.results, setting) for setting in settings]
    print("\n".join(line for report in reports for line in (*report.lines(), "")))
    print("\n".join(together(reports)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
