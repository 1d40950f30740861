"""What `evosyn doctor --sample` shows: how a model answers in each form and style, and how it is best asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from evosyn.cli._output import echo
from evosyn.cli._progress import clock, replies_of, watching
from evosyn.cli._tables import print_table

if TYPE_CHECKING:
    from evosyn.records import Json
    from evosyn.synthesis.sampling_trial import Choice, WayFigures
    from evosyn.workbench import WorkbenchConfig

COLUMNS = ("kind", "form", "style", "asked", "read", "cut", "usable", "right", "tokens a reply", "tokens/s")


def sampled(config: WorkbenchConfig, source: str, many: int, *, show: bool) -> dict[str, Json]:
    """Ask about the first problems of a pool, tell what came and what to do; the same as JSON.

    Raises:
        InputError: the pool is wrong.
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: from the sample.
    """
    from evosyn.domains import load_pools
    from evosyn.synthesis.estimate import SamplingTeacher
    from evosyn.synthesis.sampling_trial import REPLIES, WAYS, choose, takes, try_ways
    from evosyn.synthesis.search.config import EvolveConfig
    from evosyn.workbench import Workbench

    every = [pool.problem for pool in load_pools(source)]
    judged = sorted(every, key=lambda one: (one.reference_solution is None) + (one.human_testing is None))
    names = [one.problem_id for one in judged[:many]]
    with Workbench(config) as workbench:
        with watching(lambda: f"asking: {replies_of(workbench.replies)}", show=show) as say:
            say(f"asks for {len(WAYS) * REPLIES * len(names)} replies about {', '.join(names)}")
            teacher = SamplingTeacher(workbench.teacher())
            found = try_ways(judged[:many], teacher, workbench)
        choice, sizes = choose(found), (len(every), *EvolveConfig().drawn)
        ways = [one for one in found if one.form in (None, choice.form) and one.style == choice.style]
        drawing = takes(ways, teacher, sizes, workbench)
    if show:
        _show(found, choice)
        seconds = drawing["model_wall_s"]
        time = "a time that is not known" if seconds is None else f"about {clock(seconds)}"
        echo(f"evosyn evolve {source} draws {sizes[1]} solutions and {sizes[2]} testings of {sizes[0]} problems each: "
             f"{drawing['calls']:,} calls, {drawing['output_tokens']:,} tokens out, {time}")  # fmt: skip
        echo(f"settings: --set sampling.testing.form={choice.form} --set sampling.style={choice.style}")
    return {"problems": names, "ways": [asdict(one) for one in found], "choice": choice._asdict(), "drawing": drawing}


def _show(found: Sequence[WayFigures], choice: Choice) -> None:
    rows = [
        (one.kind, one.form or "-", one.style, one.asked, one.read, one.cut, one.usable, "?" if one.right is None else
         f"{one.right:.2f}", round(one.tokens), "?" if one.tokens_per_s is None else f"{one.tokens_per_s:.1f}")
        for one in found
    ]  # fmt: skip
    print_table("replies by kind, form and style; right: of a testing, the share of its cases", COLUMNS, rows)
    for one in found:
        if one.reasons:
            listed = ", ".join(f"{count} x {reason}" for reason, count in one.reasons.items())
            echo(f"{one.kind} {one.form or ''} {one.style}: {listed}".replace("  ", " "))
    if choice.alike:
        others = ", ".join(f"{form} {style}" for form, style in choice.alike)
        echo(f"{choice.form} {choice.style} did best; so few replies do not tell it from {others}")
