"""The end of a search: choose the winner, score everything on train and held-out problems, write it down.

The best of many candidates on few problems is partly the luckiest one, so it must be shown to be better than the best
known rule, and than what the search started from and was shown to be better than that, on fresh draws of the train
problems (`contest`); where it is not, that is the winner. The held-out problems choose nothing: they are only reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from evosyn import __version__
from evosyn.errors import UsageError
from evosyn.evaluators.consistency import AS_RECORDED
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.heldout import shown_tasks, task_of
from evosyn.evaluators.intervals import between, difference
from evosyn.evaluators.leaderboard import BoardRow, Leaderboard, make_leaderboard
from evosyn.ports import SearchState, StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Elite, Json
from evosyn.strategies import EVOLVED_BY, RANKS, is_control, known_names, known_rules, load_known, load_strategy
from evosyn.strategies.genome import TIE_METRIC
from evosyn.strategies.known import CONTROLS
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.contest import DRAWING_ERROR, Contest, decide, name_of
from evosyn.synthesis.search.places import Behind
from evosyn.synthesis.search.seeds import Seeds
from evosyn.synthesis.shift import evolved_on
from evosyn.textual import score_text

EVOLVED = "evolved"
MIN_DRAWS = 20
TIERS = ("start", "search")
"""What the search started from, and what it made."""


class WinnerChoice(NamedTuple):
    """The winner and how it was chosen.

    Attributes:
        winner: the best finalist, or the best known rule where none was shown to be better.
        in_search: its score on the search's own draws of the problems as they were recorded; None for a rule that was
            no candidate of this search.
        contest: on fresh draws of the train problems.
        finalists: how many there were, but for known rules.
        luckiest: id and score on the same draws of the finalist that was best in the search.
    """

    winner: Candidate
    in_search: float | None
    contest: Contest
    finalists: int
    luckiest: tuple[str, float]

    @property
    def kind(self) -> Literal["evolved", "opening", "start", "known"]:
        """Made by the search, one that comes with the grammar, given to start from, or a known rule."""
        detail = self.winner.detail
        if not self.contest.passed:
            return "known"
        return "opening" if "opening" in detail else "start" if "name" in detail else "evolved"

    @property
    def told(self) -> str:
        """What it is, for a person."""
        if self.kind == EVOLVED:
            return "a program that the search made"
        if self.kind == "known":
            return f"the known rule {self.contest.reference}: no evolved program was shown to be better"
        given = f"the opening {self.winner.detail['opening']}" if self.kind == "opening" else name_of(self.winner)
        return f"{given}, from which the search started: no evolved program was shown to be better"


def fresh_scoring(config: EvolveConfig, name: str) -> ConsistencyConfig:
    """Scoring on draws that the search never saw."""
    seed = SeedTree(config.seed).child(name).integer() % 2**31
    return config.scoring.model_copy(update={"seed": seed, "draws": max(MIN_DRAWS, config.scoring.draws)})


def started_from(config: EvolveConfig) -> dict[str, str]:
    """The programs that a search starts from, by name. With every known rule the winner is a candidate of the run
    whichever it is, and a model sees from the first call on what they do and is paid for none.

    Raises:
        UsageError: one of them is nowhere, or a control.
    """
    found = {name: load_strategy(name) for name in config.start}
    for name, text in found.items():
        if is_control(text):
            raise UsageError(f"--start {name}: is a control, which nothing starts from; name another strategy")
    return found if config.engine != "evosyn" or not config.known else {**found, **known_rules()}


def choose(state: SearchState, runner: StrategyRunner, seeds: Seeds, config: EvolveConfig) -> WinnerChoice:
    """The winner of a search: the best of what it made, if that is shown to be better than who won before: of what it
    started from the best, if that is shown to be better than the best known rule, and else that rule."""
    begun = {elite.candidate.id: elite for elite in state.initial}
    top = state.top(config.finalists + len(begun) + len(CONTROLS))
    best = [elite for elite in top if not is_control(elite.candidate.text)]
    made = [elite for elite in best if elite.candidate.id not in begun][: config.finalists]
    finalists = [*begun.values(), *made]
    known = known_rules()
    scoring = fresh_scoring(config, "choose")
    tiers = [[elite.candidate for elite in tier] for tier in (begun.values(), made)]
    shown = shown_tasks(map(task_of, seeds.split.train)) if config.asks_models else frozenset[str]()
    unseen = [matrix for matrix in seeds.split.train if task_of(matrix) not in shown]
    contest = decide(tiers, known, runner, unseen or seeds.split.train, scoring, views=config.views)
    found = next((elite for elite in finalists if elite.candidate.text == contest.winner), None)
    winner = Candidate(contest.winner, proposer="known") if found is None else found.candidate
    in_search = None if found is None else _score_in_search(found)
    first = max(best, key=lambda elite: _score_in_search(elite) or 0.0)
    luckiest = (first.candidate.id, _score_in_search(first) or 0.0)
    count = sum(elite.candidate.text not in known.values() for elite in finalists)
    return WinnerChoice(winner, in_search, contest, count, luckiest)


def _score_in_search(elite: Elite) -> float | None:
    return elite.evaluation.metrics.get(AS_RECORDED, elite.evaluation.score)


class Boards(NamedTuple):
    """Leaderboards over the same strategies."""

    train: Leaderboard
    heldout: Leaderboard


def boards(
    choice: WinnerChoice, initial: Sequence[Elite], runner: StrategyRunner, seeds: Seeds, config: EvolveConfig
) -> Boards:
    """The winner, the initial programs and every known strategy on train and on held-out problems.

    Every program runs in the sandbox here, the winner too, as the text that the user gets.
    """
    programs = {name: load_known(name) for name in known_names()}
    for number, elite in enumerate(initial):
        if elite.candidate.text not in programs.values():
            programs[f"start-{number + 1}"] = elite.candidate.text
    programs[EVOLVED] = choice.winner.text
    scoring = fresh_scoring(config, "boards")
    return Boards(
        make_leaderboard(runner, seeds.split.train, programs, scoring),
        make_leaderboard(runner, seeds.split.heldout, programs, scoring),
    )


def strategy_file(choice: WinnerChoice, state: SearchState, found: Boards, *, simulated: bool) -> str:
    """The winner's text under a comment that says where it comes from and how good it is."""
    held = next(row for row in found.heldout.rows if row.name == EVOLVED)
    train = next(row for row in found.train.rows if row.name == EVOLVED)
    interval = f" ({'' if held.interval is None else '95 %: '}{between(held.interval)})"
    balanced = held.evaluation.metrics.get(TIE_METRIC)
    invalid = "" if held.evaluation.invalid is None else f" ({' '.join(held.evaluation.invalid.split())})"
    lines = [
        f"{EVOLVED_BY} {__version__}: candidate {choice.winner.id}, made by {choice.winner.proposer}.",
        f"Seed consistency on {len(found.heldout.problems)} held-out problems: "
        f"{score_text(held.evaluation.score)}{invalid or interval}; "
        f"on the {len(found.train.problems)} train problems: {score_text(train.evaluation.score)}.",
        f"Balanced accuracy of the chosen testing, held out: {score_text(balanced)}. "
        f"Found in {state.report()['evaluations']} evaluations.",
    ]
    lines.append(RANKS.format(unit=found.heldout.config.unit))
    if choice.kind != EVOLVED:
        lines.append(f"It is {choice.told}.")
    if simulated:
        lines.append("Solutions and testings came from a simulated teacher, not from a model.")
    return "".join(f"# {line}\n" for line in lines) + "\n" + choice.winner.text


def name_of_initial(state: SearchState) -> str:
    """What the leaderboards call the program that the search started from."""
    text = state.initial[0].candidate.text
    return next((name for name in known_names() if load_known(name) == text), "start-1")


def report_of(choice: WinnerChoice, state: SearchState, found: Boards, seeds: Seeds) -> dict[str, Json]:
    """What `report.json` says of the winner (DESIGN.md section 4; more keys stand beside those)."""
    initial = state.initial[0]
    names = {row.name: row for row in found.heldout.rows}
    first = name_of_initial(state)
    best, start = names[EVOLVED], names[first]
    return {
        "best": _side(choice.winner, _train_score(found.train, EVOLVED), best),
        "initial": _side(initial.candidate, _train_score(found.train, first), start),
        "difference": _difference(best, start, found.heldout),
        "beats_initial": (best.evaluation.score or 0.0) > (start.evaluation.score or 0.0),
        "simulated": seeds.simulated,
        "skipped": seeds.skipped,
        "left_out": seeds.details,
        "unusable_replies": dict(seeds.unusable),
        "read_in_part": dict(seeds.read_in_part),
        "examples": dict(seeds.examples),
        **({"estimated": dict(seeds.estimated)} if seeds.estimated else {}),
        "untelling": list(seeds.untelling),
        "selection": {
            "finalists": choice.finalists,
            "score_in_search": choice.in_search,
            "winner_is": choice.kind,
            **contest_report(choice.contest),
            "luckiest": {"id": choice.luckiest[0], "score_in_search": choice.luckiest[1]},
        },
        "leaderboard": {"train": found.train.to_json(), "heldout": found.heldout.to_json()},
        "evolved_on": evolved_on(*seeds.split, found.heldout.config.M, found.heldout.config.N),
    }


def contest_report(contest: Contest) -> dict[str, Json]:
    """How the best finalist stands to the best known rule, those of each tier to who held the place, and where others
    are better than the winner."""
    gain = contest.gain
    return {
        "score": contest.scored.score,
        "known": contest.reference,
        "gain": None if gain is None else gain.mean,
        "gain_lower": None if gain is None else gain.lower,
        "gain_by_pool": None if gain is None else dict(gain.by_pool),
        "draws": contest.draws._asdict(),
        "drawing_error": None if gain is None else gain.drawing_error,
        "drawing_error_asked": DRAWING_ERROR,
        "undecided": contest.undecided,
        "held_back": _places(contest.held_back),
        "behind": _places(contest.behind),
        "rounds": [
            {
                "of": TIERS[one.tier],
                "over": contest.names[one.holder],
                "best": contest.names[one.leader],
                "passed": one.passed,
                "gain": one.gain.mean,
                "gain_lower": one.gain.lower,
                "drawing_error": one.gain.drawing_error,
                "held_back": _places(one.held_back),
            }
            for one in contest.rounds
        ],
        "dropped": dict(contest.dropped),
    }


def _places(found: Mapping[str, Behind]) -> dict[str, Json]:
    return {place: one._asdict() for place, one in found.items()}


def _side(candidate: Candidate, score: float | None, held: BoardRow) -> dict[str, Json]:
    return {
        "id": candidate.id,
        "proposer": candidate.proposer,
        "strategy": held.name,
        "score": score,
        "heldout_score": held.evaluation.score,
        "heldout_invalid": held.evaluation.invalid,
        "heldout_ci": None if held.interval is None else list(held.interval),
        "heldout_testing_balanced_accuracy": held.evaluation.metrics.get(TIE_METRIC),
    }


def _difference(best: BoardRow, start: BoardRow, board: Leaderboard) -> dict[str, Json]:
    """How much better the winner is on the held-out problems, paired, with its interval."""
    ours, theirs = best.evaluation.per_seed, start.evaluation.per_seed
    if not ours or not theirs:
        return {"heldout": None, "ci": None}
    interval = difference(ours, theirs, tasks_P=board.tasks_P, pools_P=board.pools_P)
    gain = sum(ours) / len(ours) - sum(theirs) / len(theirs)
    return {"heldout": gain, "ci": None if interval is None else list(interval)}


def _train_score(board: Leaderboard, name: str) -> float | None:
    return next(row.evaluation.score for row in board.rows if row.name == name)
