"""Writing what a finished run of `evosyn env make` or `env evolve` gives: kept environments, rejects, report and card.

Everything is made from the journal in the order of the drafts and each file is written atomically, so a kill in here
costs nothing and the files are the same after any number of resumes and at any concurrency.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evosyn.codec import dump
from evosyn.dataset import Reject, write_rejects
from evosyn.jsonlines import write_lines
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.running.progress import Usage
from evosyn.synthesis.environments.draft import Draft
from evosyn.templates import render

KIND = "environments"
KEPT = "environments.jsonl"
PROGRAMS = "programs"
STAGES = (
    *("author", "l1", "l2", "l3", "l4", "l5", "novelty", "judge", "judge-code", "judge-questions", "crosscheck"),
    "review",
)
"""In the order in which a draft can be dropped; a revised one climbs again, and `novelty` compares twice."""
SIMULATED = (
    "> **SIMULATED by {}.** No language model wrote or judged these environments: a program stood in for one. Use them "
    "to try the tool chain, never as evidence about models.\n\n"
)


@dataclass(frozen=True)
class MadeBy:
    """What differs between the commands that write environments.

    Attributes:
        kind: of the directory; `command`: its name; `measured`: what the card says of difficulty.
        stages: in which a draft can be dropped, in order.
        facts: further ones of the report, over those that the drafts tell.
        row: further fields of a kept environment.
    """

    kind: str
    command: str
    measured: str
    stages: tuple[str, ...] = STAGES
    facts: Mapping[str, Json] = field(default_factory=dict)
    row: Callable[[Draft], Mapping[str, Json]] = lambda _: {}


MAKE = MadeBy(KIND, "evosyn env make", "How hard the environments are for a student is not measured here.")


def write_environments(run: RunDir, drafts: Iterable[Draft], by: MadeBy = MAKE) -> dict[str, Json]:
    """Write all files and return the value of `report.json`.

    Args:
        drafts: all that have ended, in the order of the run.
    """
    rejects: list[Reject] = []
    kept: list[dict[str, Json]] = []
    usage, models, asked, simulated = Usage(), Counter[str](), 0, False
    for draft in drafts:
        asked, usage = asked + 1, usage.plus(draft.usage)
        rejects.extend(draft.rejects)
        simulated = simulated or draft.simulated
        models.update([draft.author] if draft.author else [])
        if draft.ended is None:
            kept.append({**_row(draft), **by.row(draft)})
            run.write(f"{PROGRAMS}/{draft.environment.id}.py", draft.source or "")
    for file in run.path.glob(f"{PROGRAMS}/*.py"):
        if file.stem not in {row["id"] for row in kept}:
            file.unlink()  # was kept before the run went on
    write_rejects(run.path, rejects)
    run.written.add("rejects.jsonl")
    write_lines(run.made(KEPT), kept)
    report = {
        "kind": by.kind,
        "asked": asked,
        "kept": len(kept),
        "dropped": _counts([one for one in rejects if one.item == "environment"]),
        "unusable_replies": _counts([one for one in rejects if one.item == "reply"]),
        "stages": _funnel(asked, rejects, by.stages),
        "environments": [
            {name: row[name] for name in ("id", "title", "category", "kind", "name", "revised")} for row in kept
        ],
        **usage.told(),
        "executions": usage.cells,
        "models": dict(sorted(models.items())),
        "simulated": simulated,
        **by.facts,
    }
    run.write("README.md", _card(run.path.resolve().name, report, by))
    return report


def _row(draft: Draft) -> dict[str, Json]:
    """A kept environment: what it is, and all that is known of it."""
    one = draft.environment
    about = {"v": 1, "id": one.id, "name": draft.name, "title": one.title, "category": one.category, "kind": one.kind}
    told: dict[str, Json] = dump(draft, defaults=True)
    for name in ("index", "rejects", "label"):
        del told[name]
    return {**about, "knobs": {name: list(values) for name, values in one.knobs.items()}, **told}


def _counts(rejects: list[Reject]) -> dict[str, int]:
    return dict(sorted(Counter(f"{one.stage}: {one.reason}" for one in rejects).items()))


def _funnel(asked: int, rejects: list[Reject], stages: Sequence[str]) -> list[dict[str, Json]]:
    """For each stage how many drafts it dropped, and how many were left."""
    ended = Counter(one.stage for one in rejects if one.item == "environment")
    rows: list[dict[str, Json]] = []
    left = asked
    for stage in stages:
        left -= ended[stage]
        rows.append({"stage": stage, "dropped": ended[stage], "left": left})
    return rows


def _card(name: str, report: Mapping[str, Json], by: MadeBy) -> str:
    stages = "\n".join(f"| {row['stage']} | {row['dropped']} | {row['left']} |" for row in report["stages"])
    reasons = "\n".join(f"| {reason} | {count} |" for reason, count in report["dropped"].items())
    kept = "\n".join(
        f"| `{row['id']}` | {_plain(row['title'])} | {row['category']} | {row['kind']} |"
        for row in report["environments"]
    )
    return render(
        "evosyn.synthesis",
        "prompts/environments_card.md",
        title=name,
        command=by.command,
        measured=by.measured,
        simulated=SIMULATED.format(", ".join(report["models"])) if report["simulated"] else "",
        stages=stages,
        reasons=reasons,
        kept=kept,
        calls=str(report["calls"]),
        cost="unknown price" if report["cost"] is None else f"${report['cost']:.4f}",
    )


def _plain(title: str) -> str:
    """A model's words without what a page could take for markup."""
    return "".join(sign if sign.isalnum() or sign in " ,.'-()" else " " for sign in title)
