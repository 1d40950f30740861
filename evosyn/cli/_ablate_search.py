"""`evosyn ablate search` and `evosyn ablate curve`: whole searches repeated over seeds, at equal budget.

Is evolution necessary? The table answers for the user's own pool, with intervals over seeds, and says so where it is
not. Simple baselines often suffice (arXiv 2602.16805); Figure 4a of Du 2025 is the curve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from evosyn.cli._workbench import sandbox_options, teacher_options
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.cli._matrices import MatrixSource
    from evosyn.synthesis.search.config import EvolveConfig
    from evosyn.synthesis.search.trial import SearchTrial

Command = TypeVar("Command", bound=Callable[..., Any])
SEARCHES = ("evolve", "iid", "sequential", "hillclimb")
MODEL_CALLS = 100

_OPTIONS = (
    click.option("--pool", "source", required=True, help="Pool file, matrices file, or a directory with matrices."),
    click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="ablations", show_default=True),
    click.option("-M", "m", type=click.IntRange(2), default=16, show_default=True),
    click.option("-N", "n", type=click.IntRange(2), default=16, show_default=True),
    click.option("--draws", type=click.IntRange(1), default=8, show_default=True, help="Draws of each problem."),
    click.option("--evaluations", type=click.IntRange(10), default=1000, show_default=True, help="Of each search."),
    click.option("--calls", type=click.IntRange(1), help="Model calls of each search. [default: 100 with a model]"),
    click.option("--seeds", type=click.IntRange(2), default=5, show_default=True, help="Repeats; each splits anew."),
    click.option("--heldout", type=float, default=0.5, show_default=True),
    click.option("--seed", type=int, default=0, show_default=True, help="First of the seeds."),
    click.option("--config", "file", type=click.Path(dir_okay=False, path_type=Path), help="YAML of `evosyn evolve`."),
    click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any key of `evosyn evolve`."),
    click.option("--split-testings", is_flag=True, help="Make every single case or assert a testing of its own."),
    click.option("--verdicts", type=click.Path(path_type=Path), help="File that remembers executed cells of a pool."),
)


def _options(function: Command) -> Command:
    function = teacher_options(sandbox_options(function))
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


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


@click.command("search", short_help="Evolution against baselines at equal budget.")
@click.option("--searches", default=",".join(SEARCHES), show_default=True, help="Which to compare, with commas.")
@_options
def search(searches: str, **values: Any) -> None:
    """Does evolution beat simple searches on this pool?

    Every search gets the same number of evaluations (with --model also of model calls), the same proposers, the same
    way to choose a winner, and the same splits; the table shows held-out scores over the seeds with intervals, and the
    paired difference to `evolve`.
    """
    from evosyn.cli._tables import Cell, print_table, write_plot, write_table
    from evosyn.evaluators.intervals import bootstrap

    names = _names(searches)
    pool, compared = _compare(names, values)
    columns = ("search", "held out", "low", "high", "train", "fall", "bal. acc.", "minus evolve", "low ", "high ")
    rows: list[tuple[Cell, ...]] = []
    reference = next((one.scores for one in compared if one.search == "evolve"), None)
    for one in compared:
        train = _mean([trial.choice.fresh.score or 0.0 for trial in one.trials])
        testing = _mean([trial.heldout["evolved"].metrics["testing_balanced_accuracy"] for trial in one.trials])
        gaps = [mine - theirs for mine, theirs in zip(one.scores, reference or one.scores, strict=True)]
        fall = _mean([trial.fall for trial in one.trials])
        cells = (one.search, _mean(one.scores), *bootstrap(one.scores), train, fall, testing)
        rows.append((*cells, _mean(gaps), *bootstrap(gaps)))
    start = [trial.heldout["initial"].score or 0.0 for trial in compared[0].trials]
    nothing = float("nan")
    rows.append(("initial strategy", _mean(start), *bootstrap(start), *[nothing] * 6))

    def draw(axes: Any) -> None:
        shown = [row for row in rows if row[0] != "initial strategy"]
        axes.bar([str(row[0]) for row in shown], [float(row[1]) for row in shown])
        axes.axhline(_mean(start), linestyle="--", color="gray", label="initial strategy")
        axes.set(ylabel="held-out score of the winner", title=_title(pool, "searches at equal budget"))
        axes.legend()

    files = write_table(values["out"], "ablate-search", columns, rows)
    files.append(write_plot(values["out"] / "ablate-search.png", draw))
    title = f"{values['evaluations']} evaluations each, {values['seeds']} seeds"
    print_table(_title(pool, title), columns, rows)
    for line in verdicts(compared):
        click.echo(line)
    click.echo("wrote " + ", ".join(map(str, files)))


@click.command("curve", short_help="Best score by evaluation, over several seeds.")
@_options
def curve(**values: Any) -> None:
    """Figure 4a: how the best score grows with the evaluations, mean and range over seeds.

    The score is that on the train problems, which search and selection make look better than it is; the held-out score
    of the winner stands at the end. With --model the model proposes too.
    """
    from evosyn.cli._tables import Cell, print_table, write_plot, write_table

    pool, compared = _compare(("evolve",), values)
    points = _points(values["evaluations"])
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
        axes.set(xscale="log", xlabel="evaluations", ylabel="seed consistency", title=_title(pool, "evolution"))
        axes.legend(fontsize=8)

    files = write_table(values["out"], "ablate-curve", columns, rows)
    files.append(write_plot(values["out"] / "ablate-curve.png", draw))
    print_table(_title(pool, f"best score by evaluation, {values['seeds']} seeds"), columns, rows)
    held = _mean(compared[0].scores)
    click.echo(f"held-out score of the winner: {held:.3f}, initial: {_initial(compared[0]):.3f}")
    click.echo("wrote " + ", ".join(map(str, files)))


COMMANDS: tuple[click.Command, ...] = (search, curve)


def verdicts(compared: Sequence[Compared]) -> list[str]:
    """What the comparison says, one line for each baseline."""
    from evosyn.evaluators.intervals import bootstrap

    evolve = next((one for one in compared if one.search == "evolve"), None)
    lines = []
    for one in compared:
        if evolve is None or one is evolve:
            continue
        gaps = [mine - theirs for mine, theirs in zip(evolve.scores, one.scores, strict=True)]
        interval = bootstrap(gaps)
        if interval.low > 0:
            lines.append(
                f"evolution beats {one.search} here: {_mean(gaps):+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"
            )
        elif interval.high < 0:
            lines.append(f"evolution LOSES to {one.search} here: {_mean(gaps):+.3f}; use --search {one.search}")
        else:
            lines.append(
                f"evolution does not beat {one.search} here: {_mean(gaps):+.3f} "
                f"({interval.low:+.3f} to {interval.high:+.3f} holds 0)"
            )
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


def _compare(names: Sequence[str], values: dict[str, Any]) -> tuple[MatrixSource, list[Compared]]:
    from evosyn.cli._matrices import matrices_of
    from evosyn.cli._workbench import workbench_of
    from evosyn.strategies import load_strategy
    from evosyn.synthesis.search.trial import run_trial

    found = []
    given = {"out": values["out"], "verdicts": values["verdicts"], "seed": values["seed"]}
    with workbench_of(values, **given) as workbench:
        pool = matrices_of(values["source"], workbench, split=values["split_testings"])
        for name in names:
            trials = []
            for seed in range(values["seed"], values["seed"] + values["seeds"]):
                config = _config(name, seed, values, has_model=workbench.has_model)
                others = {"initial": load_strategy(config.start[0])}
                trials.append(run_trial(config, pool.matrices, workbench, others=others))
                click.echo(f"{name}, seed {seed}: held out {trials[-1].score:.3f}", err=True)
            found.append(Compared(name, tuple(trials)))
    return pool, found


def _config(name: str, seed: int, values: Mapping[str, Any], *, has_model: bool) -> EvolveConfig:
    from evosyn.cli.evolve import MODEL_ARMS
    from evosyn.configs.loading import load_config
    from evosyn.synthesis.search.config import EvolveConfig, ProposersConfig

    flags = {
        "seed": seed,
        "heldout": values["heldout"],
        "scoring.M": values["m"],
        "scoring.N": values["n"],
        "scoring.draws": values["draws"],
        "scoring.seed": seed,
        "stop.evaluations": values["evaluations"],
        "stop.model_calls": values["calls"] or (MODEL_CALLS if has_model else None),
        "islands.search": name,
    }
    config = load_config(EvolveConfig, file=values["file"], sets=values["sets"], flags=flags)
    if not has_model or config.proposers.arms != ProposersConfig().arms:
        return config
    proposers = config.proposers.model_copy(update={"arms": MODEL_ARMS})
    return config.model_copy(update={"proposers": proposers})


def _names(text: str) -> list[str]:
    """
    Raises:
        UsageError: not one of the searches.
    """
    names = list(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in SEARCHES:
            raise UsageError(f"--searches {name!r}: must be of {', '.join(SEARCHES)}")
    return names


def _initial(compared: Compared) -> float:
    return _mean([trial.heldout["initial"].score or 0.0 for trial in compared.trials])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _title(pool: MatrixSource, what: str) -> str:
    return f"{pool.name}{' (simulated)' if pool.simulated else ''}: {what}"
