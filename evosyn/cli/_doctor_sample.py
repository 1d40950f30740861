"""What `evosyn doctor --sample` shows: how a model answers in each form and style, and how it is best asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from evosyn.cli._output import echo
from evosyn.cli._progress import clock, replies_of, watching
from evosyn.cli._tables import print_table

if TYPE_CHECKING:
    from evosyn.records import Json, Problem
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
    from evosyn.synthesis.sampling_trial import choose, takes, try_ways
    from evosyn.synthesis.sampling_trial import replies_of as asked_of
    from evosyn.synthesis.search.config import EvolveConfig
    from evosyn.workbench import Workbench

    every = [pool.problem for pool in load_pools(source)]
    problems = _judged_first(every)[:many]
    with Workbench(config) as workbench:
        with watching(lambda: f"asking: {replies_of(workbench.replies)}", show=show) as say:
            say(f"asks for {asked_of(problems)} replies about {', '.join(one.problem_id for one in problems)}")
            teacher = SamplingTeacher(workbench.teacher())
            found = try_ways(problems, teacher, workbench)
        choice, sizes = choose(found), (len(every), *EvolveConfig().drawn)
        foreseen = takes(found, choice, teacher, sizes, workbench)
    if show:
        _show(found, choice)
        time = "a time that is not known" if foreseen["model_wall_s"] is None else clock(foreseen["model_wall_s"])
        drawing = f"{sizes[0]} problems, {sizes[1]} solutions and {sizes[2]} testings each (evosyn evolve {source})"
        echo(f"drawing {drawing}: about {foreseen['calls']:,} calls, {foreseen['output_tokens']:,} tokens out, {time}")
        echo(f"settings: {choice.settings}")
    told: Json = {"form": choice.form, "style": choice.style, "alike": [list(one) for one in choice.alike]}
    ways = [asdict(one) for one in found]
    return {"problems": [one.problem_id for one in problems], "ways": ways, "choice": told, "drawing": foreseen}


def _judged_first(problems: Sequence[Problem]) -> list[Problem]:
    """Those by which replies can be judged before the others."""
    return sorted(problems, key=lambda one: (one.reference_solution is None) + (one.human_testing is None))


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
