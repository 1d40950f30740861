"""The recipe of `evosyn world make`: names of domains in, directories of tool worlds with tasks out.

Tools, tables, M programs and N testings of each tool, cross-executed and ranked by a strategy, then graph and tasks of
what stands. ScaleEnv sections 4.1 and 4.2; the cross-execution in place of one author's tests is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from evosyn import __version__
from evosyn.configs.saving import CONFIG, as_yaml
from evosyn.domains.world_tool import NAME
from evosyn.errors import UsageError
from evosyn.ports.stages import Stage
from evosyn.randomness import SeedTree
from evosyn.records import Json, content_id
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.running.progress import RunProgress
from evosyn.running.runner import Runner
from evosyn.strategies import load_strategy, strategy_id
from evosyn.synthesis.worlds.asking import TOOLS
from evosyn.synthesis.worlds.choosing import ToolChooser
from evosyn.synthesis.worlds.config import MakeWorldsConfig
from evosyn.synthesis.worlds.draft import WorldDraft, slug_of
from evosyn.synthesis.worlds.finishing import FinishWorld
from evosyn.synthesis.worlds.making import MakeTools, ToolJudging
from evosyn.synthesis.worlds.outputs import KIND, write_worlds
from evosyn.synthesis.worlds.schemas import AskTables, AskTools, WorldAsker
from evosyn.workbench import Workbench
from evosyn.worlds.tools.playing import Player
from evosyn.worlds.tools.tasks import TaskPlan

BUILTIN_NAMES = "builtin:domains"


def names_of(source: str) -> tuple[str, ...]:
    """The worlds that a source asks for: a file with a name a line, `builtin:domains`, or names with commas.

    Raises:
        UsageError: the file cannot be read, it holds none, or two have one directory.
    """
    path = Path(source)
    if source == BUILTIN_NAMES:
        text = (resources.files("evosyn.synthesis") / "worlds/domains.txt").read_text(encoding="utf-8")
    elif path.is_file():
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{source}: cannot be read: {error}") from error
    elif "/" in source or source.endswith(".txt"):
        raise UsageError(f"{source}: no such file; write one name a line")
    else:
        text = source.replace(",", "\n")
    found = tuple(dict.fromkeys(one.strip() for one in text.split("\n") if one.strip()))
    if not found:
        raise UsageError(f"{source}: names no world; write one name a line")
    slugs = [slug_of(one) for one in found]
    if twice := next((one for one in slugs if slugs.count(one) > 1), ""):
        raise UsageError(f"{source}: two names have the directory {twice!r}; give one of them another name")
    return found


def make_worlds(
    config: MakeWorldsConfig,
    names: Sequence[str],
    workbench: Workbench,
    out: Path,
    progress: RunProgress[WorldDraft] | None = None,
) -> dict[str, Json]:
    """Make worlds in `out`, or finish that; returns the value of `report.json`.

    Raises:
        UsageError: `out` holds another run; no such strategy.
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: stopped; the same command goes on.
    """
    if not (out / "manifest.json").is_file():
        workbench.check({None: (TOOLS, config.sampling)})
    teacher = workbench.teacher()
    progress = progress if progress is not None else RunProgress()
    progress.asked = len(names)
    with RunDir(out) as run:
        ledger = Ledger(run.journal, WorldDraft, counts=progress)
        run.claim_new(KIND)
        strategy = load_strategy(config.tools.strategy)
        decides = {"names": content_id("k_", list(names)), "strategy": strategy_id(strategy)}
        ledger.begin({"kind": KIND, **config.identity(), **decides, "teacher": teacher.name})
        run.write(CONFIG, as_yaml(config))
        told = {"kind": KIND, "evosyn": __version__, "teacher": teacher.name, "simulated": teacher.simulated}
        run.write_json("manifest.json", {**told, **decides})
        stages = stages_of(config, workbench, WorldAsker(ledger, teacher), strategy, out)
        runner = Runner(stages, ledger, window=max(4, workbench.config.teacher.calls // 16), progress=progress)
        runner.run_and_close((WorldDraft(index, name) for index, name in enumerate(names)), [teacher])
        run.journal.sync()
        report = write_worlds(run, ledger.items(range(len(names))))
        run.write_json("report.json", report)
        return report


def stages_of(
    config: MakeWorldsConfig, workbench: Workbench, asker: WorldAsker, strategy: str, out: Path
) -> list[Stage[WorldDraft]]:
    """What every world goes through, in order."""
    tree, player = SeedTree(config.seed).child("worlds"), Player(workbench.sandbox)
    chooser = ToolChooser(workbench.crossexec, workbench.runner, strategy, config.tools.agreement, tree.child("choose"))
    return [
        AskTools(config, asker),
        AskTables(config, asker),
        MakeTools(config, asker, ToolJudging(chooser, workbench.domains[NAME], player)),
        FinishWorld(out, config.tasks, TaskPlan(executed=not config.unexecuted), player, workbench.domains, tree),
    ]


def estimate(config: MakeWorldsConfig, names: Sequence[str]) -> dict[str, Json]:
    """Model calls of a run: where every reply can be used and no tool needs a repair, and at most; nothing is asked."""
    sizes, tools = config.sizes, config.tools
    slots, repairs = (1, 0) if config.unexecuted else (tools.M + tools.N, tools.debug)
    return {
        "worlds": len(names),
        "calls": len(names) * (2 + sizes.least_tools * slots),
        "calls_with_most_tools": len(names) * (2 + sizes.most_tools * slots),
        "calls_at_most": len(names) * (2 * config.attempts + sizes.most_tools * (slots * tools.attempts + repairs)),
        "a_tool": slots,
    }
