"""From what the user names to matrices of the seed problems: validate, draw what is missing, execute once, split.

Everything that can be wrong is said before anything is spent. What is made is kept in the run directory, so the next
start of the same command finds it. DESIGN.md sections 4 and 5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from evosyn import __version__
from evosyn.codec import dump, load
from evosyn.configs.saving import CONFIG, as_yaml
from evosyn.dataset import Reject, read_rejects
from evosyn.domains import load_pools
from evosyn.errors import PUT_BACK, CorruptRun, FormatError, InputError, TeacherUnavailable, UsageError
from evosyn.evolve.stopping import StopConfig
from evosyn.matrices import load_matrices, write_matrices
from evosyn.origins import Origin
from evosyn.pools import POOLS
from evosyn.records import Json, PassMatrix, Pool
from evosyn.rundir import RunDir
from evosyn.running.progress import Usage
from evosyn.strategies.evidence import evidence_digest
from evosyn.synthesis.estimate import TOGETHER, keep_taken
from evosyn.synthesis.search.config import KIND, EvolveConfig, SearchSettings
from evosyn.synthesis.search.drawing import DrawnSeeds, reasons
from evosyn.synthesis.search.pool_sampling import MANIFEST, sample_pools, what_may_give_more
from evosyn.synthesis.search.seeds import (
    FEW_HELD_OUT,
    FEWEST,
    NO_HUMAN_TESTING,
    NOT_RECORDED,
    LeftOut,
    Seeds,
    check_sizes,
    few_held_out,
    named,
    select,
    that_work,
)
from evosyn.synthesis.search.sources import SourcePart, labels, read_source, refuse_equal, task_among
from evosyn.workbench import Workbench

MATRICES = "matrices/matrices.jsonl.gz"


class Source:
    """What the user names: `builtin:...`, a pool or seeds file, a matrices file, or a directory that holds one; or
    several of these together.

    Problems of several pools bear the name of their pool before their own. Two of them are one task where their own
    names are equal, or one is the other behind a prefix and a slash; tasks are never split.

    Attributes:
        name: as it was given, several separated by blanks.
        pools, matrices: of all; problems without a human testing are not among them.
        left_out: those, by name.
        origins: pool and task of each problem, by its name; empty for a single source.

    Raises:
        InputError: one does not exist, or a line of it is wrong.
    """

    def __init__(self, *names: str) -> None:
        self.name = " ".join(names)
        self.origins: dict[str, Origin] = {}
        parts = [read_source(name) for name in names]
        pools = [pool for part in parts for pool in part.pools]
        self.matrices: list[PassMatrix] = [matrix for part in parts for matrix in part.matrices]
        if len(names) > 1:
            refuse_equal(names, [_digest(part.pools, part.matrices) for part in parts])
            pools = self._join(names, parts)
        self.pools = [pool for pool in pools if pool.problem.human_testing is not None]
        self.left_out = {
            pool.problem.problem_id: NO_HUMAN_TESTING for pool in pools if pool.problem.human_testing is None
        }

    def _join(self, names: Sequence[str], parts: Sequence[SourcePart]) -> list[Pool]:
        """The pools under their joined names, which the matrices get too."""
        own = {name for part in parts for name in part.problem_ids}
        found: list[Pool] = []
        self.matrices = []
        for label, part in zip(labels(names), parts, strict=True):
            self.origins.update({f"{label}/{name}": Origin(label, task_among(name, own)) for name in part.problem_ids})
            for pool in part.pools:
                problem = replace(pool.problem, problem_id=f"{label}/{pool.problem.problem_id}")
                found.append(replace(pool, problem=problem))
            for matrix in part.matrices:
                self.matrices.append(self.marked(replace(matrix, problem_id=f"{label}/{matrix.problem_id}")))
        return found

    def marked(self, matrix: PassMatrix) -> PassMatrix:
        """The matrix, which also says which pool and task it is of, where there are several pools."""
        origin = self.origins.get(matrix.problem_id)
        return matrix if origin is None else replace(matrix, origin=origin)

    @property
    def is_matrices(self) -> bool:
        """Whether nothing has to be executed."""
        return not self.pools and not self.left_out

    @property
    def recorded(self) -> bool:
        """Whether it brings solutions and testings (or matrices)."""
        return self.is_matrices or any(pool.solutions and pool.testings for pool in self.pools)

    @property
    def digest(self) -> str:
        """Of the problems or matrices themselves, with all that programs see of these."""
        return _digest(self.pools, self.matrices)

    def check(self) -> None:
        """See that there are problems enough, before anything is spent.

        Raises:
            InputError: there are not.
        """
        count = len(self.pools) + len(self.matrices)
        if count >= FEWEST:
            return
        bring = "Bring a few dozen: fewer cannot tell one strategy from another"
        if not self.left_out:
            holds, hint = f"holds {_problems(count)}", bring
        else:
            holds = f"holds {_problems(count)} with a human testing ({_problems(len(self.left_out))} without one)"
            hint = f"Give them the field human_testing: strategies are scored by it. {bring}"
        raise InputError(
            self.name, f"{holds}; {FEWEST} are needed at least, some to learn from and some to hold out", hint=hint
        )

    def notes(self, heldout: float) -> list[str]:
        """What a person should know before anything is spent, if this share of the problems is held out."""
        names = {*(pool.problem.problem_id for pool in self.pools), *(one.problem_id for one in self.matrices)}
        held = max(1, round(heldout * len({self.origins[name].task if self.origins else name for name in names})))
        return [] if held >= FEW_HELD_OUT else [few_held_out(held)]


def _digest(pools: Sequence[Pool], matrices: Sequence[PassMatrix]) -> str:
    digest = hashlib.sha256()
    for pool in pools:
        parts = [pool.problem.id, pool.problem.problem_id, *(one.id for one in pool.solutions)]
        human = pool.problem.human_testing
        parts += [one.id for one in pool.testings] + ([] if human is None else [human.id])
        digest.update(" ".join(parts).encode())
    for matrix in matrices:
        digest.update(evidence_digest(matrix).encode())
    return digest.hexdigest()[:16]


def _problems(count: int) -> str:
    return f"{count} seed problem{'' if count == 1 else 's'}"


def claim(run: RunDir, source: Source, config: EvolveConfig, checked: Usage | None = None) -> None:
    """Take the directory for this source, or see that it is ours.

    Args:
        checked: what it took to ask the models one question each, for a new run.

    Raises:
        UsageError: it holds something else.
    """
    mine: dict[str, Json] = {"kind": KIND, "source": source.name, "source_digest": source.digest}
    if not source.recorded:
        mine.update(
            drawn=list(config.drawn),
            sampling=config.sampling.model_dump(mode="json", exclude={"concurrency", "strategy"}),
        )
    if source.origins:
        mine["pools"] = sorted({origin.pool for origin in source.origins.values()})
    run.claim_new(KIND)
    held = run.read_json(MANIFEST) if run.file(MANIFEST).is_file() else {}
    begun = any(run.file(name).exists() for name in (POOLS, MATRICES, "journal.jsonl"))
    if held and begun and held.get("source_digest") != source.digest:
        what = f"on other problems (on {held.get('source')}, as it was then)"
        raise UsageError(f"--out {run.path}: holds a run {what}; choose another directory")
    if run.file(POOLS).is_file():
        _same_drawing(run, held, mine)
    else:
        spent = {} if checked is None else {"check": dump(checked, defaults=True)}
        run.write_json(MANIFEST, {"spent": spent, **held, **mine, "evosyn": __version__})
    if not run.journal.path.exists():  # what a search goes on with is written once it is known to be the same
        write_config(run, config)


def _same_drawing(run: RunDir, held: Mapping[str, Json], mine: Mapping[str, Json]) -> None:
    """
    Raises:
        UsageError: the pools of the directory were drawn in another way than is asked for.
    """
    if held.get("drawn") != mine.get("drawn"):
        there, asked = (
            "{} solutions and {} testings".format(*one["drawn"]) if one.get("drawn") else "none" for one in (held, mine)
        )
        raise UsageError(
            f"--out {run.path}: {there} were drawn there for each problem, and this command asks for {asked} "
            "(an eighth more than -M and -N); give the -M and -N of that run, or choose another directory"
        )
    before: Mapping[str, Json] = held.get("sampling") or {}
    for key, value in (mine.get("sampling") or {}).items():
        if before and before.get(key) != value:
            raise UsageError(
                f"--out {run.path}: its pools were drawn with sampling.{key} = {before.get(key)}, not {value}; "
                "leave it as it was, or choose another directory"
            )


def write_config(run: RunDir, config: SearchSettings, limits: StopConfig | None = None) -> None:
    """Keep what a command resolved to, which repeats it.

    Args:
        limits: what the run may come to in all, with what was granted on top; by default what the command says.
    """
    value: dict[str, Json] = config.model_dump(mode="json")
    if limits is not None:
        value["stop"].update(evaluations=limits.evaluations, proposals=limits.proposals)
    run.write(CONFIG, as_yaml(value))


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
    estimated: dict[str, Json] = {}
    simulated = any(bool(one.meta.get("simulated")) for one in source.matrices)
    known = dict(source.left_out)
    if source.is_matrices:
        select(source.matrices, config, simulated=simulated)
    else:
        if source.recorded and not source.matrices:
            check_sizes([(len(pool.solutions), len(pool.testings)) for pool in source.pools], config.scoring)
        pools, drawn = _pools(run, source, config, workbench, on_step)
        if (used := _cost_of_pools(run).spent.get("drawing")) is not None:
            estimated = keep_taken(run, [len(source.pools), *config.drawn], TOGETHER, used, workbench.replies)
        simulated = simulated or drawn
        if source.recorded:
            missing = [pool for pool in pools if not (pool.solutions and pool.testings)]
            known.update({pool.problem.problem_id: LeftOut(NOT_RECORDED, NOT_RECORDED) for pool in missing})
        else:
            known.update(_incomplete(read_rejects(run.path), pools, config))
        pools = [pool for pool in pools if pool.solutions and pool.testings]
    if not stored.is_file():
        stored.parent.mkdir(parents=True, exist_ok=True)
        made = _execute(pools, workbench, on_step) if pools else []
        write_matrices(stored, [*source.matrices, *map(source.marked, made)])
    matrices = with_texts(load_matrices(stored), pools)
    seeds = select(matrices, config, simulated=simulated)
    cost = _cost_of_pools(run)
    return replace(
        seeds,
        left_out={**seeds.left_out, **known},
        spent=cost.spent,
        unusable=cost.unusable_replies,
        read_in_part=cost.read_in_part,
        examples=cost.examples,
        estimated=estimated,
    )


@dataclass(frozen=True)
class _CostOfPools:
    """What the manifest holds of the pools that were drawn."""

    spent: Mapping[str, Usage] = field(default_factory=dict)
    unusable_replies: Mapping[str, int] = field(default_factory=dict)
    read_in_part: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, int] = field(default_factory=dict)


def _cost_of_pools(run: RunDir) -> _CostOfPools:
    """
    Raises:
        CorruptRun: the manifest holds something else there.
    """
    manifest = run.read_json(MANIFEST)
    held = {one.name: manifest[one.name] for one in fields(_CostOfPools) if one.name in manifest}
    try:
        return load(_CostOfPools, held)
    except FormatError as error:
        raise CorruptRun(f"{run.file(MANIFEST)}: is damaged, {error}. {PUT_BACK}") from error


def _incomplete(rejects: Sequence[Reject], pools: Sequence[Pool], config: EvolveConfig) -> dict[str, LeftOut]:
    """Problems that cannot be used for what their pools lack, with the reasons of the replies that were unusable."""
    m, n = config.scoring.least
    found = {}
    for pool in pools:
        if len(pool.solutions) >= m and len(pool.testings) >= n:
            continue
        name = pool.problem.problem_id
        sizes = f"{len(pool.solutions)} solutions and {len(pool.testings)} testings, {m} and {n} are needed"
        why = reasons(one for one in rejects if one.problem_id == name and one.item != "case")
        found[name] = LeftOut(f"smaller than {m} x {n}", f"{why}; {sizes}" if why else sizes)
    return found


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


def _pools(
    run: RunDir, source: Source, config: EvolveConfig, workbench: Workbench, on_step: Callable[[str, int, int], None]
) -> tuple[list[Pool], bool]:
    """The pools, and whether they are simulated."""
    if source.recorded:
        simulated = any(one.provenance.simulated for pool in source.pools for one in pool.solutions)
        simulated = simulated or any(one.provenance.simulated for pool in source.pools for one in pool.testings)
        return source.pools, simulated
    if run.file(POOLS).is_file():
        return load_pools(run.file(POOLS)), bool(run.read_json(MANIFEST).get("simulated"))

    def see(drawn: DrawnSeeds, teacher: str) -> None:
        _see_enough(drawn, config, teacher)

    return sample_pools(run, [pool.problem for pool in source.pools], config, workbench, on_step, see)


def _see_enough(drawn: DrawnSeeds, config: EvolveConfig, teacher: str) -> None:
    """
    Raises:
        TeacherUnavailable: a search is not possible with what the model gave. No pool is stored, so that the same
            command with another model, or other settings, draws anew.
    """
    left_out = {name: one.detail for name, one in _incomplete(drawn.rejects, drawn.pools, config).items()}
    usable = len(drawn.pools) - len(left_out)
    if usable >= FEWEST:
        return
    smaller = that_work([(len(pool.solutions), len(pool.testings)) for pool in drawn.pools], config.scoring)
    raise TeacherUnavailable(
        f"{teacher}: only {usable} of {len(drawn.pools)} seeds usable, {FEWEST} are needed; {named(left_out)}. No pool "
        f"is stored: {what_may_give_more(drawn)}"
        + (f"; or leave --strict out, or ask for less: {smaller}" if smaller and config.scoring.strict else "")
    )


def _execute(pools: Sequence[Pool], workbench: Workbench, on_step: Callable[[str, int, int], None]) -> list[PassMatrix]:
    count = iter(range(1, len(pools) + 1))
    return workbench.crossexec.matrices(
        [(pool.problem, pool.solutions, pool.testings) for pool in pools],
        on_done=lambda *_: on_step("executing", next(count), len(pools)),
    )
