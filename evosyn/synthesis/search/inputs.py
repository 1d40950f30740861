"""From what the user names to matrices of the seed problems: validate, draw what is missing, execute once, split.

Everything that can be wrong is said before anything is spent. What is made is kept in the run directory, so the next
start of the same command finds it. DESIGN.md sections 4 and 5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from evosyn import __version__
from evosyn.domains import load_pools
from evosyn.errors import InputError, UsageError
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.intervals import Split, split_problems
from evosyn.evaluators.splitting import split_testings
from evosyn.matrices import is_matrices_file, load_matrices, matrix_files, write_matrices
from evosyn.pools import BUILTIN, write_pools
from evosyn.records import KNOWN_VERDICTS, PassMatrix, Pool, Verdict
from evosyn.rundir import RunDir
from evosyn.synthesis.generate import draw_pools
from evosyn.synthesis.search.config import KIND, EvolveConfig
from evosyn.workbench import Workbench

MATRICES = "matrices/matrices.jsonl.gz"
POOLS = "pools.jsonl.gz"
FEWEST = 4
"""Problems that a search and its held-out check need at least."""


@dataclass(frozen=True)
class Seeds:
    """The matrices of a run.

    Attributes:
        split: usable problems, to evolve on and held out.
        skipped: problems left out, by reason.
        simulated: solutions and testings come from a stand-in for a model.
        untelling: usable problems whose human testing accepts every solution, so that it tells none from another.
    """

    split: Split
    skipped: dict[str, int]
    simulated: bool
    untelling: tuple[str, ...] = ()


class Source:
    """What the user names: `builtin:...`, a pool or seeds file, a matrices file, or a directory that holds one.

    Raises:
        InputError: it does not exist, or a line of it is wrong.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        path = Path(name)
        if path.is_dir():
            path = next(iter(matrix_files(path)), path / "matrices.jsonl")
        self._path = path
        self.is_matrices = not name.startswith(BUILTIN) and is_matrices_file(path)
        self.pools: list[Pool] = [] if self.is_matrices else load_pools(name if name.startswith(BUILTIN) else path)
        self.matrices: list[PassMatrix] = load_matrices(path) if self.is_matrices else []
        if not self.pools and not self.matrices:
            raise InputError(name, "has no problems")

    @property
    def recorded(self) -> bool:
        """Whether it brings solutions and testings (or matrices)."""
        return self.is_matrices or any(pool.solutions and pool.testings for pool in self.pools)

    @property
    def digest(self) -> str:
        """Of the problems or matrices themselves."""
        digest = hashlib.sha256()
        for pool in self.pools:
            parts = [pool.problem.id, pool.problem.problem_id, *(one.id for one in pool.solutions)]
            human = pool.problem.human_testing
            parts += [one.id for one in pool.testings] + ([] if human is None else [human.id])
            digest.update(" ".join(parts).encode())
        for matrix in self.matrices:
            digest.update(matrix.digest.encode())
        return digest.hexdigest()[:16]

    def check(self) -> None:
        """
        Raises:
            InputError: a problem without a human testing: strategies are scored by those.
        """
        for pool in self.pools:
            if pool.problem.human_testing is None:
                raise InputError(
                    self.name,
                    f"problem {pool.problem.problem_id!r} has no human testing; strategies are scored by those",
                    line=pool.problem.line or None,
                    field="human_testing",
                    hint="Add one, or leave the problem out",
                )


def claim(run: RunDir, source: Source, config: EvolveConfig) -> None:
    """Take the directory for this source, or see that it is ours.

    Raises:
        UsageError: it holds something else.
    """
    mine = {
        "kind": KIND,
        "source": source.name,
        "source_digest": source.digest,
        "drawn": None if source.recorded else list(config.drawn),
    }
    run.claim(KIND)
    if run.file("manifest.json").is_file():
        held = run.read_json("manifest.json")
        for key in ("source_digest", "drawn"):
            if held.get(key) != mine[key]:
                raise UsageError(
                    f"--out {run.path}: holds a run with another {key} ({held.get(key)!r} there, {mine[key]!r} asked "
                    "for); choose another directory"
                )
    else:
        run.write_json("manifest.json", {**mine, "evosyn": __version__})
    write_config(run, config)


def write_config(run: RunDir, config: EvolveConfig) -> None:
    """Keep what a command resolved to, which repeats it."""
    run.write("config.yaml", yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False))


def prepare(
    run: RunDir, source: Source, config: EvolveConfig, workbench: Workbench, on_step: Callable[[str, int, int], None]
) -> Seeds:
    """The matrices to evolve on, made or found in the run directory.

    Args:
        on_step: told (what, done, total) as it goes.

    Raises:
        UsageError: too few problems are large enough, nobody ever solved one, or all human testings accept everything.
        BudgetSpent, UnavailableError: from the teacher or the sandbox; the same command goes on.
    """
    stored = run.file(MATRICES)
    pools: list[Pool] = []
    if source.is_matrices:
        simulated = any(bool(one.meta.get("simulated")) for one in source.matrices)
        select(split_all(source.matrices, config), config, simulated=simulated)
    else:
        if source.recorded and not config.split_testings:
            _check_sizes([(len(pool.solutions), len(pool.testings)) for pool in source.pools], config.scoring)
        pools, simulated = _pools(run, source, config, workbench, on_step)
    if not stored.is_file():
        stored.parent.mkdir(parents=True, exist_ok=True)
        write_matrices(stored, source.matrices if source.is_matrices else _execute(pools, workbench, on_step))
    matrices = with_texts(load_matrices(stored), pools)
    seeds = select(split_all(matrices, config), config, simulated=simulated)
    missing = len(source.pools) - len(pools)
    if source.recorded and not source.is_matrices and missing:
        return replace(seeds, skipped={**seeds.skipped, "no recorded solutions or testings": missing})
    return seeds


def split_all(matrices: Sequence[PassMatrix], config: EvolveConfig) -> Sequence[PassMatrix]:
    """The matrices with every check a testing of its own, if the configuration wants that."""
    return [split_testings(matrix) for matrix in matrices] if config.split_testings else matrices


def with_texts(matrices: Sequence[PassMatrix], pools: Sequence[Pool]) -> list[PassMatrix]:
    """The matrices as they are stored, with the texts of their pools: the same at the first start and at the tenth."""
    known = {pool.problem.problem_id: pool for pool in pools}
    found = []
    for matrix in matrices:
        pool = known.get(matrix.problem_id)
        if pool is not None:
            solutions = {one.id: one.text for one in pool.solutions}
            testings = {one.id: one.text for one in pool.testings}
            matrix = replace(
                matrix,
                solution_texts=tuple(solutions[name] for name in matrix.solution_ids),
                testing_texts=tuple(testings[name] for name in matrix.testing_ids),
            )
        found.append(matrix)
    return found


def select(matrices: Sequence[PassMatrix], config: EvolveConfig, *, simulated: bool) -> Seeds:
    """Usable problems, split by name and seed.

    Raises:
        UsageError: as `prepare`.
    """
    scoring = config.scoring
    usable = [matrix for matrix in matrices if _fits(_size(matrix), scoring)]
    skipped = {}
    if len(usable) < len(matrices):
        skipped[f"smaller than {scoring.M} x {scoring.N}"] = len(matrices) - len(usable)
    without = sum(matrix.human_M is None for matrix in matrices)
    if without and len(usable) < FEWEST:
        raise UsageError(
            f"{without} of {len(matrices)} problems have no human testing, and strategies are scored by those; "
            "bring problems that have one, such as the seeds that these were made from"
        )
    _check_sizes([_size(matrix) for matrix in matrices], scoring)
    if not any((matrix.human_M == Verdict.PASS.value).any() for matrix in usable if matrix.human_M is not None):
        raise UsageError(
            "no solution of any problem passes its human testing, so no strategy can be told from another; "
            "bring easier problems or a stronger model's solutions"
        )
    untelling = tuple(matrix.problem_id for matrix in usable if set(_human(matrix)) & KNOWN_VERDICTS == {Verdict.PASS})
    if len(untelling) == len(usable):
        raise UsageError(
            "the human testing of every problem accepts all of its solutions, so no strategy can be told from another; "
            "correct the testings (`evosyn pool check FILE --execute`), or bring solutions that are wrong"
        )
    return Seeds(split_problems(usable, config.heldout, config.seed), skipped, simulated, untelling)


def _pools(
    run: RunDir, source: Source, config: EvolveConfig, workbench: Workbench, on_step: Callable[[str, int, int], None]
) -> tuple[list[Pool], bool]:
    stored = run.file(POOLS)
    if source.recorded:
        pools = [pool for pool in source.pools if pool.solutions and pool.testings]
    elif stored.is_file():
        pools = load_pools(stored)
        return pools, bool(run.read_json("manifest.json").get("simulated"))
    else:
        teacher = workbench.teacher()
        problems = [pool.problem for pool in source.pools]
        domains = {name: workbench.domains[name] for name in sorted({problem.domain for problem in problems})}
        count = iter(range(1, len(problems) + 1))
        pools = draw_pools(
            problems,
            teacher,
            domains,
            solutions=config.drawn[0],
            testings=config.drawn[1],
            on_done=lambda *_: on_step("drawing pools", next(count), len(problems)),
        )
        run.write_json(
            "manifest.json",
            {**run.read_json("manifest.json"), "teacher": teacher.name, "simulated": teacher.simulated},
        )
        write_pools(stored, pools)
        return pools, teacher.simulated
    simulated = any(one.provenance.simulated for pool in pools for one in pool.solutions)
    return pools, simulated or any(one.provenance.simulated for pool in pools for one in pool.testings)


def _execute(pools: Sequence[Pool], workbench: Workbench, on_step: Callable[[str, int, int], None]) -> list[PassMatrix]:
    count = iter(range(1, len(pools) + 1))
    return workbench.crossexec.matrices(
        [(pool.problem, pool.solutions, pool.testings) for pool in pools],
        on_done=lambda *_: on_step("executing", next(count), len(pools)),
    )


def _size(matrix: PassMatrix) -> tuple[int, int]:
    """Solutions with a human verdict, and testings."""
    return sum(letter in KNOWN_VERDICTS for letter in _human(matrix)), matrix.verdicts_MN.shape[1]


def _human(matrix: PassMatrix) -> list[str]:
    return [] if matrix.human_M is None else matrix.human_M.tolist()


def _fits(size: tuple[int, int], scoring: ConsistencyConfig) -> bool:
    return size[0] >= (scoring.M or 2) and size[1] >= (scoring.N or 2)


def _check_sizes(sizes: Sequence[tuple[int, int]], scoring: ConsistencyConfig) -> None:
    """
    Raises:
        UsageError: fewer than `FEWEST` problems are large enough; says which M and N would do.
    """
    if not sizes or sum(_fits(size, scoring) for size in sizes) >= FEWEST:
        return
    m, n = scoring.M or 2, scoring.N or 2
    square = _largest([min(size) for size in sizes])
    rows = _largest([size[0] for size in sizes if size[1] >= n])
    columns = _largest([size[1] for size in sizes if size[0] >= m])
    options = []
    if columns >= 2:
        options.append(f"-M {m} -N {columns}")
    if rows >= 2:
        options.append(f"-M {rows} -N {n}")
    if square >= 2:
        options.append(f"-M {square} -N {square}")
    work = ", or ".join(dict.fromkeys(options))
    raise UsageError(
        f"-M {m} -N {n}: only {sum(_fits(size, scoring) for size in sizes)} of {len(sizes)} problems have that many "
        f"solutions and testings, {FEWEST} are needed; " + (f"the largest that work: {work}" if work else "bring more")
    )


def _largest(values: Sequence[int]) -> int:
    """The largest number that at least `FEWEST` of the values reach; 0 if there are not that many."""
    return sorted(values, reverse=True)[FEWEST - 1] if len(values) >= FEWEST else 0
