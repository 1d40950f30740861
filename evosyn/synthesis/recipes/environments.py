"""The recipe of `evosyn env make`: keywords or examples in, a directory of environments out.

ReSyn (section 2.2) and EvoEnv (sections 3.1 and 3.2) are the same stages with other settings: author, ladder, judges
with a revision, cross-check (ours), reviews, novelty. Difficulty is measured afterwards, on what is kept.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from evosyn import __version__
from evosyn.configs.saving import CONFIG, as_yaml
from evosyn.environments.ladder import Ladder
from evosyn.environments.runner import EnvironmentRunner
from evosyn.ports import Teacher
from evosyn.ports.stages import Stage
from evosyn.randomness import SeedTree
from evosyn.records import Json, content_id
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.running.progress import RunProgress
from evosyn.running.runner import Runner
from evosyn.strategies import load_strategy, strategy_id
from evosyn.synthesis.environments.author import AuthorDraft, EnvironmentAsker, keywords_of
from evosyn.synthesis.environments.climbing import ClimbLadder, CompareKept, bundled_pool
from evosyn.synthesis.environments.config import MakeConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.environments.looking import looking
from evosyn.synthesis.environments.outputs import KIND, write_environments
from evosyn.workbench import Workbench


def make_environments(
    config: MakeConfig, workbench: Workbench, out: Path, progress: RunProgress[Draft] | None = None
) -> dict[str, Json]:
    """Make environments in `out`, or finish that; returns the value of `report.json`.

    Raises:
        UsageError: `out` holds another run; no such keywords or strategy.
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: stopped; the same command goes on.
    """
    keywords, count = keywords_of(config.author), drafts_of(config)
    if not (out / "manifest.json").is_file():
        workbench.check({None: ("environment", config.author.sampling)})
    teacher = workbench.teacher()
    progress = progress if progress is not None else RunProgress()
    progress.asked = count
    with RunDir(out) as run:
        ledger = Ledger(run.journal, Draft, counts=progress)
        run.claim_new(KIND)
        strategy = load_strategy(config.crosscheck.strategy)
        decides = {"keywords": content_id("k_", list(keywords)), "strategy": strategy_id(strategy)}
        ledger.begin({"kind": KIND, **config.identity(), **decides, "teacher": teacher.name})
        run.write(CONFIG, as_yaml(config))
        told = {"kind": KIND, "evosyn": __version__, "teacher": teacher.name, "simulated": teacher.simulated}
        run.write_json("manifest.json", {**told, **decides})
        stages = stages_of(config, workbench, teacher, ledger)
        runner = Runner(stages, ledger, window=2 * max(8, workbench.config.teacher.calls), progress=progress)
        runner.run_and_close(map(Draft, range(count)), [teacher])
        run.journal.sync()
        report = write_environments(run, ledger.items(range(count)))
        run.write_json("report.json", report)
        return report


def stages_of(config: MakeConfig, workbench: Workbench, teacher: Teacher, ledger: Ledger[Draft]) -> list[Stage[Draft]]:
    """What every draft goes through, in order."""
    tree = SeedTree(config.seed).child("environments")
    other = workbench.open_sandbox(workers=workbench.config.sandbox.workers, hash_seed=1)
    environments = EnvironmentRunner(workbench.sandbox)
    asker = EnvironmentAsker(ledger, teacher)
    climbing = ClimbLadder(
        Ladder(workbench.sandbox, other, config.ladder, seed=config.seed), partial(bundled_pool, environments)
    )
    author = AuthorDraft(config.author, keywords_of(config.author), tree.child("author"), asker)
    looks = looking(config.judging, config.crosscheck, workbench, asker, climbing, tree)
    return [author, climbing, *looks, CompareKept()]


def drafts_of(config: MakeConfig) -> int:
    """Drafts that a run asks for."""
    if config.author.by == "shown":
        return config.limit
    return min(config.limit, len(keywords_of(config.author)) * config.author.per_keyword)
