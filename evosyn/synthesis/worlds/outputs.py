"""Writing what a finished run of `evosyn world make` gives beside the worlds: rejects, report and card.

Everything is made from the journal in the order of the drafts, so the files are the same after any number of resumes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from evosyn.dataset import Reject, write_rejects
from evosyn.jsonlines import write_lines
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.running.progress import Usage
from evosyn.synthesis.environments.outputs import SIMULATED
from evosyn.synthesis.worlds.draft import MadeTool, WorldDraft
from evosyn.templates import render

KIND = "worlds"
TOOLS = "tools.jsonl"
"""A row for each tool of each world: what became of it, and its matrix."""
STAGES = ("tools", "tables", "tool", "task")
"""In the order in which a world can be dropped."""


def write_worlds(run: RunDir, drafts: Iterable[WorldDraft]) -> dict[str, Json]:
    """Write all files and return the value of `report.json`.

    Args:
        drafts: all that have ended, in the order of the run.
    """
    listed = list(drafts)
    rejects = [reject for draft in listed for reject in draft.rejects]
    write_rejects(run.path, rejects)
    write_lines(run.file(TOOLS), (_tool(draft, tool) for draft in listed for tool in draft.tools))
    usage = Usage()
    for draft in listed:
        usage = usage.plus(draft.usage)
    asked = sum(len(draft.tools) for draft in listed)
    kept = sum(len(draft.kept) for draft in listed)
    report: dict[str, Json] = {
        "kind": KIND,
        "asked": len(listed),
        "kept": sum(draft.ended is None for draft in listed),
        "dropped": _counts(rejects, "world"),
        "stages": _funnel(len(listed), rejects),
        "tools": {"asked": asked, "kept": kept, "dropped": _counts(rejects, "tool"),
                  "repaired": sum(one.rounds > 0 for draft in listed for one in draft.kept)},
        "unusable_replies": _counts(rejects, "reply"),
        "worlds": [_row(draft) for draft in listed],
        **usage.told(),
        "executions": usage.cells,
        "models": dict(sorted(Counter(draft.author for draft in listed if draft.author).items())),
        "simulated": any(draft.simulated for draft in listed),
    }  # fmt: skip
    run.write("README.md", _card(run.path.resolve().name, report))
    return report


def _row(draft: WorldDraft) -> dict[str, Json]:
    """What became of a world."""
    ended = draft.ended
    stand = [one.agreement for one in draft.kept]
    return {
        "name": draft.name,
        "world": draft.slug,
        "dropped": "" if ended is None else f"{ended.stage}: {ended.reason}",
        "tools": len(stand),
        "asked": len(draft.tools),
        "agreement": round(sum(stand) / len(stand), 4) if stand else 0.0,
        "tables": len(draft.left().tables) if stand else 0,
        **{name: one for name, one in draft.facts.items() if name != "attempts"},
    }


def _tool(draft: WorldDraft, tool: MadeTool) -> dict[str, Json]:
    """What became of a tool, with the matrix that decided it."""
    names = ("agreement", "solutions", "testings", "rounds", "reason", "verdicts", "chosen")
    return {"world": draft.slug, "tool": tool.name, **{name: getattr(tool, name) for name in names}}


def _counts(rejects: Iterable[Reject], item: str) -> dict[str, int]:
    return dict(sorted(Counter(f"{one.stage}: {one.reason}" for one in rejects if one.item == item).items()))


def _funnel(asked: int, rejects: Iterable[Reject]) -> list[dict[str, Json]]:
    """For each stage how many worlds it dropped, and how many were left."""
    ended = Counter(one.stage for one in rejects if one.item == "world")
    rows: list[dict[str, Json]] = []
    for stage in STAGES:
        asked -= ended[stage]
        rows.append({"stage": stage, "dropped": ended[stage], "left": asked})
    return rows


def _card(name: str, report: Mapping[str, Json]) -> str:
    lines = [
        "| `{world}` | {tools} | {asked} | {tables} | {tasks} | {agreement:.2f} |".format(**one)
        for one in report["worlds"]
        if not one["dropped"]
    ]
    whats = {"world": report["dropped"], "tool": report["tools"]["dropped"], "reply": report["unusable_replies"]}
    reasons = [f"| {what} | {reason} | {count} |" for what, found in whats.items() for reason, count in found.items()]
    told = SIMULATED.format(", ".join(report["models"])).replace("these environments", "these worlds")
    return render(
        "evosyn.synthesis",
        "prompts/worlds_card.md",
        title=name,
        simulated=told if report["simulated"] else "",
        kept="\n".join(lines),
        reasons="\n".join(reasons),
        calls=str(report["calls"]),
        cost="unknown price" if report["cost"] is None else f"${report['cost']:.4f}",
    )
