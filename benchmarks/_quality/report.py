"""What is said of a setting, and of several together. Nothing is computed here but means to be printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from _quality.protocol import ARMS, HELD_DRAWS, KINDS, PARTS, Part, code_digest
from _quality.rows import BEST, OPENING, REFERENCE, Difference, Pairing, Row, Setting, of_chosen
from evosyn.evaluators.intervals import Interval, Strata, between
from evosyn.records import Json

PAIRS = (("evolve", "iid"), ("evolve", OPENING), ("evolve", BEST), ("evolve", "hillclimb"))


def lines(setting: Setting, others: Sequence[Setting] = ()) -> Iterator[str]:
    """A setting: what its parts come from, the table of rows, differences, and what winners are, there and elsewhere.

    Args:
        others: settings that say which known rule would be chosen on their train problems.
    """
    yield f"## {setting.name}: {len(setting.parts)} of {len(PARTS)} parts"
    yield from _codes(setting)
    if not setting.rows:
        return
    yield from _table(setting)
    yield from _chosen(setting)
    for one, other in PAIRS:
        if one in setting.rows and other in setting.rows:
            yield _pair(setting, setting.rows[one], setting.rows[other])
    for arm in ARMS:
        yield from _winners(arm, setting.searches(arm))
    found = {part: value for part, value in setting.parts.items() if part.arm == "evolve"}
    for name in dict.fromkeys(name for one in found.values() for name in one["elsewhere"]):
        there = {part: one["elsewhere"][name] for part, one in found.items() if name in one["elsewhere"]}
        yield _elsewhere(name, there, next((one for one in others if one.name == name), None))
    yield from _searches(list(found.values()))


def together(settings: Sequence[Setting]) -> Iterator[str]:
    """Evolve against iid over all settings that have both; `both` has the problems of two others."""
    gaps, strata, seeds = list[float](), Strata([], []), dict[str, tuple[int, ...]]()
    for one in (one for one in settings if one.name != "both" and {"evolve", "iid"} <= one.rows.keys()):
        pair = one.rows["evolve"], one.rows["iid"]
        if own := Pairing.of(*pair).seeds:
            gaps += one.ahead_P(*pair).tolist()
            pools = [*strata.pools_P, *[one.name] * len(one.problems)]
            strata, seeds[one.name] = Strata(pools, [*strata.tasks_P, *one.strata.tasks_P]), own
    if gaps:
        ahead = Difference.of(gaps, strata)
        told = ", ".join(f"{name} {_numbers(some)}" for name, some in seeds.items())
        shown = between(ahead.interval, "+", 4)
        yield f"evolve over iid, all settings: {ahead.mean:+.4f} [{shown}], {len(gaps)} problems"
        yield (
            f"of {len(set(strata.tasks_P))} tasks; a difference of {ahead.found:.4f} would be found 4 times of 5; "
            f"search seeds: {told}"
        )


def _codes(setting: Setting) -> Iterator[str]:
    """Which parts come from which code, where it is not one, or none that is here."""
    made: dict[str, Counter[str]] = {}
    for part, value in setting.parts.items():
        made.setdefault(value["code"], Counter())[part.arm or "known"] += 1
    if len(made) > 1:
        told = "; ".join(f"{code}: {_counted(some.items())}" for code, some in made.items())
        yield f"parts come from different code, which may differ in what it finds: {told}"
    elif made and (here := code_digest()) not in made:
        yield f"all by code {next(iter(made))}; what is here is {here}, which may find something else"


def _table(setting: Setting) -> Iterator[str]:
    yield f"{len(setting.problems)} problems, {HELD_DRAWS} draws"
    yield f"| row | search seeds | held out | over {REFERENCE} | share of its gap to the oracle |"
    yield "|---|---|---|---|---|"
    reference = setting.rows[REFERENCE]
    for row in sorted(setting.rows.values(), key=lambda one: -setting.mean(one)):
        ahead = Difference.of(setting.ahead_P(row, reference).tolist(), setting.strata)
        share = setting.share(row)
        closed = "" if share is None else f"{share[0]:+.2f} [{between(share[1], '+', 2)}]"
        seeds = _numbers(row.by_seed)
        yield f"| {row.name} | {seeds} | {setting.mean(row):.3f} | {_shown(ahead.mean, ahead.interval)} | {closed} |"


def _chosen(setting: Setting) -> Iterator[str]:
    """What was chosen on train, on how many folds."""
    for name, key in ((BEST, "chosen"), (OPENING, "chosen_opening")):
        yield f"{name}, in folds: {_counted(Counter(one[key] for one in setting.begins).most_common())}"


def _pair(setting: Setting, one: Row, other: Row) -> str:
    pair = Pairing.of(one, other)
    alone = "".join(f"; left out: seeds {_numbers(seeds)} of {name} alone" for name, seeds in pair.left_out.items())
    if not pair.seeds:
        return f"{one.name} over {other.name}: no search seed in common{alone}"
    ahead = Difference.of(setting.ahead_P(one, other).tolist(), setting.strata)
    by_seed = ", ".join(f"{seed}: {gaps_P.mean():+.3f}" for seed, gaps_P in setting.gaps(one, other).items())
    return (
        f"{one.name} over {other.name}: {_shown(ahead.mean, ahead.interval)} for these winners, a difference of "
        f"{ahead.found:.3f} would be found 4 times of 5; by search seed {by_seed}{alone}"
    )


def _winners(arm: str, found: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """How many winners of a way to search are programs that it made."""
    if found:
        kinds = Counter(one["winner_is"] for one in found)
        invalid = sum(one["invalid"] is not None for one in found)
        told = f"; {invalid} invalid on what is held out, which counts as 0" if invalid else ""
        yield f"winners of {arm}, {len(found)} searches: {_counted((kind, kinds[kind]) for kind in KINDS)}{told}"


def _searches(found: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """How winners of evolution were chosen."""
    if not found:
        return
    drawn = [one["draws"]["fresh"] for one in found]
    errors = [one["gain"][2] for one in found if one["gain"]]
    yield (
        f"searches of evolve: {min(drawn)} to {max(drawn)} fresh draws, standard error of the gain from drawing at "
        f"most {max(errors, default=0):.4f}; best of the search {np.mean([one['searched'] for one in found]):.3f}, "
        f"winner on fresh draws {np.mean([one['fresh'] for one in found]):.3f}"
    )


def _elsewhere(name: str, found: Mapping[Part, Mapping[str, Json]], place: Setting | None) -> str:
    """How winners stand to known rules of a place; an invalid one is worth nothing to who uses it there."""
    worth = {part: one["winner"] or 0.0 for part, one in found.items()}
    invalid = sum(one["winner"] is None for one in found.values())
    told = _spread([worth[part] - one["known"] for part, one in found.items()])
    begins = (
        {}
        if place is None
        else {part: place.parts[Part(part.fold)] for part in found if Part(part.fold) in place.parts}
    )
    chosen = [worth[part] - float(np.mean(of_chosen(one, "chosen"))) for part, one in begins.items()]
    return (
        f"winners on {name}, over the rule that is best there with hindsight: {told} "
        f"({len(found)} folds and seeds, {invalid} invalid, which count as 0)"
        + (f"; over the known rule that is chosen on train there: {_spread(chosen)}" if chosen else "")
    )


def _spread(gaps: Sequence[float]) -> str:
    return f"{np.mean(gaps):+.3f}, {min(gaps):+.3f} to {max(gaps):+.3f}"


def _shown(mean: float, interval: Interval | None) -> str:
    return f"{mean:+.3f} [{between(interval, '+')}]"


def _numbers(seeds: Iterable[int]) -> str:
    return " ".join(map(str, seeds))


def _counted(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts)
