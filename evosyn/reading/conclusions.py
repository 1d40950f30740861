"""What the first screen answers of each kind of directory: did it work, what won, why. Made from its report alone.

A sentence says nothing that the figures below it do not show; what chance could explain is called so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evosyn.lengths import remedy_of
from evosyn.reading.winners import known_winner, why_chosen
from evosyn.records import Json
from evosyn.textual import score_text

Worked = Literal["yes", "no", "unclear", "open", "done"]
FEWEST_HELD_OUT = 8
"""Fewer held-out problems than that decide nothing, whatever the interval says."""
ALIKE = 0.8
"""Similarity from which environments are told as one task (ReSyn, appendix A.5)."""
ALIKE_SCORES = 0.005
"""Scores that differ by less are told as the same."""
ROOM = "--set rollout.max_completion=N gives more room"
CAUSES = (
    ("completions/clipped_ratio", 0.5, 1, f"{{:.0%}} of completions were cut before they ended: {ROOM}"),
    ("cut", 0.5, 1, f"{{:.0%}} of completions were cut while the model still thought: {ROOM}"),
    ("parsed", 0.5, -1, "only {:.0%} of completions hold an answer in the form that is asked for: teach it first "
     "(evosyn distill), or name the marks of its reasoning (--set rollout.reasoning=NAME)"),
    ("zero_variance", 0.5, 1, "{:.0%} of groups had no two different rewards, and taught nothing: "
     "--set reward.credit=share pays parts of a testing, --set rollout.group=16 draws more"),
    ("pass_rate", 0.05, -1, "only {:.0%} of completions are right: take rows that it sometimes solves "
     "(evosyn calibrate, then --band .1:.9), or a stronger model"),
)  # fmt: skip
"""Why a training moves nothing, the first cause first: a metric, the mean from which it is one, whether above or below,
and what is said, with the setting that changes it."""
TRAINED = (("reward", 1), ("pass_rate", 1), ("loss", -1))
"""What a training is judged by, the first that it has: a metric, and the direction in which it should go."""


@dataclass(frozen=True)
class Conclusion:
    """The answers.

    Attributes:
        worked: `open` while it runs, `done` where nothing was at stake.
        did: whether it worked, in a sentence.
        won: what won, or came out; `link` is its name here, where it has one.
        why: sentences.
    """

    worked: Worked
    did: str
    won: str = ""
    link: str | None = None
    why: tuple[str, ...] = ()


def of_search(
    report: Mapping[str, Json] | None,
    card: Mapping[str, Json] | None,
    progress: str,
    so_far: Mapping[str, Json] | None,
    *,
    earlier: bool = False,
) -> Conclusion:
    """A search for strategies.

    Args:
        so_far: id and score of the best candidate on the seeds.
        earlier: whether there is the winner of a time when the search had ended before.
    """
    if report is None or "leaderboard" not in report:  # none, or of what is no strategy
        did = f"Not finished: {progress}. The same command goes on."
        if so_far is None:
            return Conclusion("open", did)
        ahead = f"{so_far['id']} is the best so far: {so_far['score']:.3f} on the seeds"
        still = "strategy.py, card.md and pruned.py are still those of the search before it went on"
        return Conclusion("open", did, ahead, so_far["id"], (still,) if earlier else ())
    best, initial = report["best"], report["initial"]
    ours, theirs = best["heldout_score"], initial["heldout_score"]
    low, high = report["difference"]["ci"] or (float("-inf"), float("inf"))
    board = report["leaderboard"]["heldout"]
    problems, tasks = board["problems"], board["tasks"]
    told = f"{score_text(ours)} against {score_text(theirs)} on {problems} held-out problems"
    paired = "" if ours is None or theirs is None else f" ({ours - theirs:+.3f}"
    if paired:
        paired += f", 95 %: {low:+.3f} to {high:+.3f})" if high < float("inf") else ")"
    worked: Worked = "no" if not report["beats_initial"] else "yes" if low > 0 else "unclear"
    few = tasks < FEWEST_HELD_OUT and worked == "yes"
    worked = "unclear" if few else worked
    said = {
        "yes": "The winner ranks better than the strategy it started from",
        "unclear": "The winner scores higher than the strategy it started from"
        + ("" if few else ", but chance could explain it"),
        "no": "The winner does not beat the strategy it started from",
    }[worked]
    size = f" Only {tasks} problems were held out, too few to decide it." if tasks < FEWEST_HELD_OUT else ""
    rule = known_winner(report)
    made = f", made by {best['proposer']}" if best["proposer"] else ""
    if report["selection"]["winner_is"] in ("opening", "start"):
        made = ", one of the programs that the search started from"
    won = f"the known rule {rule}: no evolved program was shown to be better" if rule else f"{best['id']}{made}"
    won += f", after {report['evaluations']} evaluations"
    why = (*why_chosen(report["selection"]), *_why_better(card))
    if ours is None:
        why = (f"It is invalid on the held-out problems: {best['heldout_invalid']}", *why)
    rivals = [row for row in board["strategies"] if row["strategy"] not in ("evolved", rule) and not row["control"]]
    known = max((row for row in rivals if row["invalid"] is None), key=lambda row: row["score"], default=None)
    if known is not None and known["score"] >= (ours or 0.0):
        why = (f"The known strategy {known['strategy']} {_stands(known['score'], ours)}", *why)
    if unusable := report["unusable_replies"]:
        listed = ", ".join(f"{count} x {reason}" for reason, count in unusable.items())
        drawn = report["spent"].get("drawing", {}).get("calls", "the")
        why = (*why, f"{sum(unusable.values())} of {drawn} replies of drawing could not be used: {listed}")
    why = (*why, *_wasted(report["proposers"]))
    link = None if best["proposer"] == "known" else best["id"]
    return Conclusion(worked, f"{said}: {told}{paired}.{size}", won, link, why)


def _stands(score: float, ours: float | None) -> str:
    """How the best of the known strategies that score no less than the winner does there. Nothing is said of chance:
    the interval of the best of many would be that of one that was named beforehand."""
    higher = ours is None or score - ours >= ALIKE_SCORES
    return f"{'scores higher' if higher else 'does as well'} there: {score:.3f}"


def _wasted(proposers: Mapping[str, Json]) -> Iterator[str]:
    """Which paid proposals came to nothing, by reason."""
    for name, row in proposers.items():
        if row["replies"] and row["wasted"]:
            listed = ", ".join(f"{count} x {reason}" for reason, count in row["wasted"].items())
            count = sum(row["wasted"].values())
            more = f"; {remedy}" if (remedy := remedy_of(row["wasted"], "strategy")) else ""
            yield f"{count} of {row['proposals']} proposals of {name} gave no program: {listed}{more}"


def of_synthesis(report: Mapping[str, Json] | None, manifest: Mapping[str, Json], ended: int) -> Conclusion:
    """A dataset."""
    if report is None:
        return Conclusion("open", f"Not finished: {ended} problems have ended. The same command goes on.")
    kept, asked = report["settings"]["evosyn"]["kept"], report["asked"]
    dropped = sorted(report["settings"]["evosyn"]["dropped"].items(), key=lambda item: -item[1])
    did = f"{kept} of {asked} problems became rows that can be trained on." if kept else f"None of {asked} was kept."
    why = [f"{count} dropped: {reason.replace('-', ' ')}" for reason, count in dropped[:4]]
    unusable = sum(report["unusable_replies"].values())
    if unusable:
        why.append(f"{unusable} of {report['calls']} replies could not be used")
    why.append(f"Ranked by {manifest['strategy']} from {manifest['strategy_from']}")
    said = [line for part in ("shift", "lacking") for line in (report[part] or {}).get("said", ())]
    why += [f"{line[0].upper()}{line[1:]}" for line in said]
    return Conclusion("yes" if kept else "no", did, why=tuple(why))


def of_training(report: Mapping[str, Json] | None, progress: str, curves: Mapping[str, Sequence[float]]) -> Conclusion:
    """A training: whether what it is judged by went where it should, by more than twice its standard error.

    Args:
        curves: the values of each metric, step by step.
    """
    if report is None:
        return Conclusion("open", f"{progress[:1].upper()}{progress[1:]}.")
    found = report["metrics"]
    shown = [(name, sign) for name, sign in TRAINED if name in found and found[name]["window"]]
    why = tuple(report["warnings"])
    if not shown:
        return Conclusion("unclear", f"{report['steps']} steps were made.", why=why)
    name, sign = shown[0]
    start, end, window = (found[name][key] for key in ("start", "end", "window"))
    moved = sign * (end - start)
    words = {1: "rose", 0: "stayed", -1: "fell"}[(end > start) - (end < start)]
    did = f"The {name.replace('_', ' ')} {words} from {start:.3f} to {end:.3f} in {report['steps']} steps"
    did += f" (means of the first and the last {window})."
    lineage = report["lineage"]
    rows = f"{lineage['rows']} rows of {lineage['data']}, setting {lineage['setting']}"
    measured = "Whether it solves more is measured by evosyn eval, not by this."
    sure = abs(moved) > 2 * _error(curves.get(name, ()), window)
    worked: Worked = "unclear" if moved and not sure else "yes" if moved > 0 else "no"
    said = "" if sure or not moved else " That is within what single steps vary by."
    cause = _cause(curves) if name != "loss" and worked != "yes" else ()
    return Conclusion(worked, did + said, why=(*cause, f"{report['model']} was trained on {rows}", *why, measured))


def _cause(curves: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """The first cause that the figures of a training show, over all of its steps."""
    for name, bound, sign, told in CAUSES:
        values = curves.get(name)
        if values and sign * (mean := statistics.fmean(values)) >= sign * bound:
            return (f"The first cause that its figures show: {told.format(mean)}",)
    return ()


def of_evaluation(report: Mapping[str, Json] | None, progress: str) -> Conclusion:
    """Models on a bench; the first is what the others are compared with."""
    if report is None:
        return Conclusion("open", f"{progress[:1].upper()}{progress[1:]}.")
    rows, k = report["models"], report["ks"][0]
    best = max(rows, key=lambda row: -1.0 if row[f"pass@{k}"]["mean"] is None else row[f"pass@{k}"]["mean"])
    told = f"solves {_mean(best[f'pass@{k}'])} of {report['problems']} problems (pass@{k})"
    won, why = f"{best['model']} {told}", []
    for row in rows[1:]:
        why.append(f"{row['model']}: {_mean(row[f'gain@{k}'], signed=True)} against {rows[0]['model']}")
    why += [f"{row['model']}: {row['unknown']} samples could not be judged" for row in rows if row["unknown"]]
    if len(rows) < 2:
        return Conclusion("done", f"{best['model']} {told}.", why=tuple(why))
    gain = best.get(f"gain@{k}")
    if gain is None:
        return Conclusion("no", f"No model does better than {rows[0]['model']}.", won, None, tuple(why))
    if gain["mean"] is None:
        return Conclusion("unclear", f"Nothing is known of {rows[0]['model']} to compare with.", won, None, tuple(why))
    sure = gain["low"] is not None and gain["low"] > 0
    did = f"{best['model']} does better than {rows[0]['model']}" + ("." if sure else ", but chance could explain it.")
    return Conclusion("yes" if sure else "unclear", did, won, None, tuple(why))


def of_calibration(report: Mapping[str, Json] | None, progress: str) -> Conclusion:
    """Rows by how often a student solves them; levels whose rates do not fall are named."""
    if report is None:
        return Conclusion("open", f"{progress[:1].upper()}{progress[1:]}.")
    rated, unfit = report["rated"], [one for one in report["levels"] if one["unfit"]]
    rate = "none of its rows" if report["solve_rate"] is None else f"{report['solve_rate']:.3f} of {rated} rows"
    why = [f"{report['in_band']} rows lie in the band {report['band']}, {report['never']} are never solved"]
    why += [f"{report['rows'] - rated} rows could not be rated"] if rated < report["rows"] else []
    why += [f"rates do not fall with the level for {len(unfit)} of {len(report['levels'])}"] if unfit else []
    return Conclusion("done", f"{report['student']} solves {rate} ({report['samples']} samples each).", why=tuple(why))


def of_environment_rows(report: Mapping[str, Json] | None, progress: str) -> Conclusion:
    """Rows that environments made, and what was dropped."""
    if report is None:
        return Conclusion("open", f"{progress[:1].upper()}{progress[1:]}.")
    why = [f"dropped {count}: {reason}" for reason, count in report["dropped"].items()]
    return Conclusion("done", f"{report['kept']} rows of {report['environments']} environments.", why=tuple(why))


def of_execution(report: Mapping[str, Json] | None, progress: str) -> Conclusion:
    """Matrices."""
    if report is None:
        return Conclusion("open", f"{progress[:1].upper()}{progress[1:]}.")
    cells, unknown = report["cells"] + report["human_cells"], report["unknown"]
    did = (
        f"{cells} verdicts on {report['problems']} problems, {unknown or 'none'} of them unknown; {report['executed']} "
        f"were executed and {report['cached']} remembered, {report['cells_per_s']:.0f} a second."
    )
    counted = {
        "testings cannot run": report["broken_testings"],
        "testings accept anything": report["vacuous_testings"],
        "cells are flaky": report["flaky"],
        "problems without solutions or testings were left out": report["skipped"],
    }
    why = [f"{count} {what}" for what, count in counted.items() if count]
    why.append(f"Judged in the {report['sandbox']['level']} {report['sandbox']['backend']} sandbox")
    return Conclusion("no" if unknown > cells / 2 else "unclear" if unknown else "yes", did, why=tuple(why))


def of_world(report: Mapping[str, Json]) -> Conclusion:
    """A world with tasks: how many there are, and why there are no more."""
    kept, dropped = report["kept"], report["dropped"]
    did = f"{kept} tasks in a world of {report['tools']} tools and {report['tables']} tables."
    why = [f"{count} attempts were dropped: {reason}" for reason, count in dropped.items()]
    return Conclusion("yes" if kept else "no", did, why=tuple(why))


def of_rollout(report: Mapping[str, Json]) -> Conclusion:
    """Episodes in a world: what share was paid. Nothing is won or lost by it."""
    k, unknown = report["k"], report["unknown"]
    share = report[f"avg@{k}"]
    paid = "no task has all rewards known" if share is None else f"{share:.3f} of the episodes are paid"
    did = f"{report['model']} on {report['tasks']} tasks, {k} episodes each: {paid}."
    why = [f"{unknown} episodes are unknown: our own machinery spoiled them"] if unknown else []
    why += [f"{count} were not paid: {reason}" for reason, count in report["dropped"].items()]
    return Conclusion("done", did, why=tuple(why))


def of_ablation(report: Mapping[str, Json] | None, progress: str) -> Conclusion:
    """Tables of ablations, each with what it says."""
    if report is None:
        return Conclusion("open", f"{progress[:1].upper()}{progress[1:]}.")
    tables = report["tables"]
    told = [line for table in tables.values() for line in table["remarks"]]
    return Conclusion("done", f"{told[0]}." if told else f"{', '.join(tables)} finished.", why=tuple(told[1:]))


def _why_better(card: Mapping[str, Json] | None) -> tuple[str, ...]:
    """The winner in words: what it ranks by, what of it matters, the seeds that it wins."""
    if card is None:
        return ()
    pruned, seeds = card["pruned"] or {}, card["seeds"]
    formula = pruned.get("formula")
    lines = [f"On the seeds it wins {seeds['won']} and loses {seeds['lost']} against {card['against']}"]
    if formula:
        lines.append(f"What matters of it: solutions by {formula['solutions']}, testings by {formula['testings']}")
    elif card["words"]:
        lines.append(card["words"][0])
    if pruned.get("removed"):
        lines.append(_without(pruned, card))
    return tuple(lines)


def _without(pruned: Mapping[str, Json], card: Mapping[str, Json]) -> str:
    """What the winner is worth without the terms that earn nothing on the seeds."""
    many, left, whole = len(pruned["removed"]), pruned.get("heldout_score"), card.get("heldout_score")
    held = "" if left is None or whole is None else f", held out it has {left:.3f} without, {whole:.3f} with"
    told = f"{many} of its terms {'earn' if many > 1 else 'earns'} nothing on the seeds{held}"
    if pruned["worse"]:
        return f"{told}: it is better with {'them' if many > 1 else 'it'}"
    return f"{told}: see pruned.py"


def _error(values: Sequence[float], window: int) -> float:
    """The standard error of the difference between the means of the first and the last `window` values."""
    if window < 2 or len(values) < 2 * window:
        return float("inf")
    parts = (values[:window], values[-window:])
    return math.sqrt(sum(statistics.variance(part) / window for part in parts))


def _mean(value: Mapping[str, Json], *, signed: bool = False) -> str:
    if value["mean"] is None:
        return "an unknown share"
    mean = f"{value['mean']:+.3f}" if signed else f"{value['mean']:.3f}"
    return mean if value["low"] is None else f"{mean} [{value['low']:.3f}, {value['high']:.3f}]"


def of_environments(report: Mapping[str, Json] | None, progress: str, best_lost: str = "") -> Conclusion:
    """Environments that were made, or evolved: what is kept, and where the others went.

    Args:
        best_lost: in a sentence, that the candidate which scored best is not kept, and why.
    """
    if report is None:
        return Conclusion("open", f"{progress[:1].upper()}{progress[1:]}.")
    kept, best = report["kept"], report.get("best")
    what = "drafts" if best is None and "student" not in report else "candidates"
    did = f"{kept} of {report['asked']} {what} are kept."
    if "new" in report:
        did = f"{kept} of {report['asked']} {what} are kept: {report['new']} new, {kept - report['new']} of the start."
    found = report.get("new", kept)
    if not found and "new" in report:
        did += " Nothing that the search made is kept."
    won = "" if best is None else f"{best['id']} is what {report['student']} learns most from: {best['score']:.3f}"
    dropped = sorted(report["dropped"].items(), key=lambda item: -item[1])
    why = [best_lost] if best_lost else []
    why += [f"{count} dropped at {reason}" for reason, count in dropped[:4]]
    if kept:
        categories = {row["category"] for row in report["environments"]}
        why.append(f"What is kept is of {len(categories)} categor{'ies' if len(categories) > 1 else 'y'}")
    why += [
        f"Counting those with similarity {one['tau']} or more as one: {one['clusters']} tasks, {one['bits']:.2f} bits"
        for one in report.get("entropy", ())
        if one["tau"] == ALIKE
    ]
    if report["simulated"]:
        why.append("SIMULATED: no language model wrote, judged or answered these; no evidence about models")
    return Conclusion("yes" if found else "no", did, won, None if best is None else best["id"], tuple(why))
