"""`evosyn ablate search` and `evosyn ablate curve`: whole searches repeated over seeds, at equal budget.

Is evolution necessary? The table answers for the user's own pool, with intervals over seeds, and says so where it is
not. Simple baselines often suffice (arXiv 2602.16805); Figure 4a of Du 2025 is the curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evosyn.cli._command import (
    ConfiguredCommand,
    Option,
    config_options,
    flag,
    sandbox_options,
    teacher_options,
    with_options,
)
from evosyn.cli._matrices import NEEDED, SOURCE
from evosyn.cli._output import echo

if TYPE_CHECKING:
    from evosyn.cli._configs import CurveAblationConfig, SearchAblationConfig
    from evosyn.cli._matrices import MatrixSource
    from evosyn.synthesis.search.config import EvolveConfig
    from evosyn.synthesis.search.trial import SearchTrial

OUT = click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="ablations", show_default=True)
MODEL_CALLS = 100
DEFAULTS = {"scoring.M": 16, "scoring.N": 16, "scoring.draws": 8, "heldout": 0.5, "stop.evaluations": 1000}


class RepeatedSearch(ConfiguredCommand):
    """A command on the configuration of `evosyn evolve`, with defaults of its own where no file is given."""

    def configuration(self, values: dict[str, Any], **given: Any) -> Any:
        return super().configuration(values, defaults=DEFAULTS, **given)


def _options(function: Option) -> Option:
    keys = (
        SOURCE,
        OUT,
        flag("-M", "scoring.M", "[default: 16]", type=click.IntRange(2)),
        flag("-N", "scoring.N", "[default: 16]", type=click.IntRange(2)),
        flag("--draws", "scoring.draws", "Draws of each problem. [default: 8]", type=click.IntRange(1)),
        flag("--evaluations", "stop.evaluations", "Of each search. [default: 1000]", type=click.IntRange(10)),
        flag(
            "--calls",
            "stop.model_calls",
            "Model calls of each search. [default: 100 with a model]",
            type=click.IntRange(1),
        ),
        click.option("--seeds", type=click.IntRange(2), help="Repeats; each splits anew. [default: 5]"),
        click.option("--seed", type=int, help="First of the seeds. [default: 0]"),
        teacher_options,
        sandbox_options,
        config_options("heldout=0.3 (all of `evosyn evolve`)"),
    )
    return with_options(function, keys)


class Compared(NamedTuple):
    """One search over all seeds.

    Attributes:
        scores: held-out score of the winner for each seed; initial: of the initial strategy on the same problems.
    """

    search: str
    trials: tuple[SearchTrial, ...]

    @property
    def scores(self) -> list[float]:
        return [trial.score for trial in self.trials]


@click.command(
    "search",
    cls=RepeatedSearch,
    kind="evosyn.cli._configs:SearchAblationConfig",
    needs=NEEDED,
    short_help="Evolution against baselines at equal budget.",
)
@click.option("--searches", help="Which to compare, with commas. [default: evolve,iid,sequential,hillclimb]")
@_options
def search(config: SearchAblationConfig, out: Path) -> None:
    """Does evolution beat simple searches on this pool?

    Every search gets the same number of evaluations (with --model also of model calls), the same proposers, the same
    way to choose a winner, and the same splits; the table shows held-out scores over the seeds and the paired
    difference to `evolve`, with Student's intervals.
    """
    from evosyn.cli._tables import Cell, Figure, begin_table, publish
    from evosyn.train.stats import t_interval

    _see(config, out)
    begin_table(out, "ablate-search", config)
    pool, compared = _compare(config.searches, config, out)
    columns = ("search", "held out", "low", "high", "train", "fall", "bal. acc.", "minus evolve", "low ", "high ")
    rows: list[tuple[Cell, ...]] = []
    reference = next((one.scores for one in compared if one.search == "evolve"), None)
    for one in compared:
        train = _mean([trial.choice.contest.scored.score for trial in one.trials])
        testing = _mean([trial.heldout["evolved"].metrics["testing_balanced_accuracy"] for trial in one.trials])
        gaps = [mine - theirs for mine, theirs in zip(one.scores, reference or one.scores, strict=True)]
        fall = _mean([trial.fall for trial in one.trials])
        cells = (one.search, *t_interval(one.scores), train, fall, testing)
        rows.append((*cells, *t_interval(gaps)))
    start = [trial.heldout["initial"].score or 0.0 for trial in compared[0].trials]
    nothing = float("nan")
    rows.append(("initial strategy", *t_interval(start), *[nothing] * 6))

    def draw(axes: Any) -> None:
        shown = [row for row in rows if row[0] != "initial strategy"]
        axes.bar([str(row[0]) for row in shown], [float(row[1]) for row in shown])
        axes.axhline(_mean(start), linestyle="--", color="gray", label="initial strategy")
        axes.set(ylabel="held-out score of the winner", title=pool.titled("searches at equal budget"))
        axes.legend()

    title = pool.titled(f"{config.stop.evaluations} evaluations each, {config.seeds} seeds")
    publish(out, "ablate-search", Figure(title, columns, rows, draw), verdicts(compared))


@click.command(
    "curve",
    cls=RepeatedSearch,
    kind="evosyn.cli._configs:CurveAblationConfig",
    needs=NEEDED,
    short_help="Best score by evaluation, over several seeds.",
)
@_options
def curve(config: CurveAblationConfig, out: Path) -> None:
    """Figure 4a: how the best score grows with the evaluations, mean and range over seeds.

    The score is that on the train problems, which search and selection make look better than it is; the held-out score
    of the winner stands at the end. With --model the model proposes too.
    """
    from evosyn.cli._tables import Cell, Figure, begin_table, publish

    _see(config, out)
    begin_table(out, "ablate-curve", config)
    pool, compared = _compare(("evolve",), config, out)
    points = _points(config.stop.evaluations or max(trial.state.curve[-1].evaluations for trial in compared[0].trials))
    curves = [[best_at(trial, point) for point in points] for trial in compared[0].trials]
    columns = ("evaluations", "best so far", "lowest", "highest")
    rows: list[tuple[Cell, ...]] = [
        (point, _mean([one[place] for one in curves]), *_ends([one[place] for one in curves]))
        for place, point in enumerate(points)
    ]

    def draw(axes: Any) -> None:
        axes.plot(points, [float(row[1]) for row in rows], label="best so far, train problems")
        axes.fill_between(points, [float(row[2]) for row in rows], [float(row[3]) for row in rows], alpha=0.25)
        for name, style in (("evolved", "o"), ("initial", "x")):
            held = _mean([trial.heldout[name].score or 0.0 for trial in compared[0].trials])
            axes.plot(points[-1:], [held], style, label=f"{name}, held out")
        axes.set(xscale="log", xlabel="evaluations", ylabel="seed consistency", title=pool.titled("evolution"))
        axes.legend(fontsize=8)

    title = pool.titled(f"best score by evaluation, {config.seeds} seeds")
    held = f"held-out score of the winner: {_mean(compared[0].scores):.3f}, initial: {_initial(compared[0]):.3f}"
    publish(out, "ablate-curve", Figure(title, columns, rows, draw), [held])


def verdicts(compared: Sequence[Compared]) -> list[str]:
    """What the comparison says, one line for each baseline."""
    from evosyn.train.stats import t_interval

    evolve = next((one for one in compared if one.search == "evolve"), None)
    lines = []
    for one in compared:
        if evolve is None or one is evolve:
            continue
        gaps = [mine - theirs for mine, theirs in zip(evolve.scores, one.scores, strict=True)]
        interval = t_interval(gaps)
        gained, told = f"{one.search} here: {interval.mean:+.3f}", f"{interval.low:+.3f} to {interval.high:+.3f}"
        if interval.low > 0:
            lines.append(f"evolution beats {gained} ({told})")
        elif interval.high < 0:
            lines.append(f"evolution LOSES to {gained}; use --search {one.search}")
        else:
            lines.append(f"evolution does not beat {gained} ({told} holds 0)")
    return lines


def best_at(trial: SearchTrial, evaluations: int) -> float:
    """The best score after so many evaluations."""
    found = [point.score for point in trial.state.curve if point.evaluations <= evaluations]
    return found[-1] if found else 0.0


def _points(evaluations: int) -> list[int]:
    """About a dozen points, spaced by ratio."""
    points = {1, evaluations}
    value = 2.0
    while value < evaluations:
        points.add(round(value))
        value *= max(2.0, evaluations ** (1 / 14))
    return sorted(points)


def _see(config: CurveAblationConfig, out: Path) -> None:
    """See that a search can do what is asked for, as `evosyn evolve` does before anything is written or executed.

    Raises:
        UsageError: as `see_settings`.
    """
    from evosyn.synthesis.search.parts import see_settings
    from evosyn.workbench import Workbench

    with Workbench(config.workbench, out=out, seed=config.seed) as workbench:
        see_settings(_trial(config, config.islands.search, config.seed, has_model=workbench.has_model), workbench)


def _compare(names: Sequence[str], config: CurveAblationConfig, out: Path) -> tuple[MatrixSource, list[Compared]]:
    from evosyn.cli._matrices import opened
    from evosyn.strategies import load_strategy
    from evosyn.synthesis.search.trial import run_trial

    found = []
    with opened(config, out=out, seed=config.seed) as (pool, workbench):
        for name in names:
            trials = []
            for seed in range(config.seed, config.seed + config.seeds):
                trial = _trial(config, name, seed, has_model=workbench.has_model)
                others = {"initial": load_strategy(trial.start[0])}
                trials.append(run_trial(trial, pool.matrices, workbench, others=others))
                echo(f"{name}, seed {seed}: held out {trials[-1].score:.3f}", err=True)
            found.append(Compared(name, tuple(trials)))
    return pool, found


def _trial(config: CurveAblationConfig, name: str, seed: int, *, has_model: bool) -> EvolveConfig:
    """The configuration of one search; with a model it asks the proposers that `evosyn evolve` would ask."""
    from evosyn.cli.evolve import MODEL_ARMS
    from evosyn.synthesis.search.config import ProposersConfig

    stop, proposers = config.stop, config.proposers
    if has_model and stop.model_calls is None:
        stop = stop.model_copy(update={"model_calls": MODEL_CALLS})
    if has_model and proposers.arms == ProposersConfig().arms:
        proposers = proposers.model_copy(update={"arms": MODEL_ARMS})
    return config.model_copy(
        update={
            "seed": seed,
            "scoring": config.scoring.model_copy(update={"seed": seed}),
            "islands": config.islands.model_copy(update={"search": name}),
            "stop": stop,
            "proposers": proposers,
        }
    )


def _initial(compared: Compared) -> float:
    return _mean([trial.heldout["initial"].score or 0.0 for trial in compared.trials])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)
