"""How the winner of a search was chosen, in sentences, from what its report says under `selection`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evosyn.evaluators.draws import DrawCount, with_error
from evosyn.evaluators.views import ONLY_RIGHT, UNRECORDED
from evosyn.records import Json


def known_winner(report: Mapping[str, Json]) -> str | None:
    """The known rule that a search ended with; None where the winner is a program of its own."""
    chosen = report.get("selection") or {}
    return chosen["known"] if _known_won(chosen) else None


def why_chosen(chosen: Mapping[str, Json]) -> tuple[str, ...]:
    """How the best finalist stood to the best known rule, and what the search made to what it started from."""
    if chosen.get("gain") is None:
        return ()
    kind = "no finalist is better by more than chance" if _known_won(chosen) else "the winner is better"
    if chosen.get("undecided"):
        kind = f"no finalist could be shown to be better, since {chosen['undecided']}"
    if fallen := _held_back(chosen):
        kind = f"the best finalist {_fallen(fallen)}"
    drawn = chosen["draws"]  # of an earlier version it is how many there were
    drawn = DrawCount(**drawn) if isinstance(drawn, Mapping) else f"{drawn} draws"
    draws = with_error(drawn, chosen["drawing_error"], chosen.get("drawing_error_asked"))
    return (
        f"On the seeds, against the best known rule, {chosen['known']}: {kind} ({_bound(chosen)}, {draws})",
        *_why_made(chosen),
        *_where_behind(chosen),
    )


def _why_made(chosen: Mapping[str, Json]) -> Iterator[str]:
    """How the best of what the search made stood to a program that it started from and that is better than every known
    rule; reports of earlier versions know no such rounds."""
    for one in chosen.get("rounds") or ():
        if one["over"] == chosen["known"]:
            continue
        kind = "the winner is better" if one["passed"] else "no program of the search is better by more than chance"
        if fallen := {place: behind["by"] for place, behind in one["held_back"].items()}:
            kind = f"the best program of the search {_fallen(fallen)}"
        yield f"On the seeds, against {one['over']}, the best of what it started from: {kind} ({_bound(one)})"


def _held_back(chosen: Mapping[str, Json]) -> dict[str, float]:
    """Where the best finalist lost, and by how much; in reports of earlier versions the pool that decided it."""
    if "held_back" in chosen:
        return {place: one["by"] for place, one in chosen["held_back"].items()}
    if chosen["gain_lower"] <= 0 or not _known_won(chosen):
        return {}
    pool, gain = min((chosen.get("gain_by_pool") or {}).items(), key=lambda item: item[1], default=("", 0.0))
    return {pool: -gain} if pool else {}


def _where_behind(chosen: Mapping[str, Json]) -> Iterator[str]:
    """Pools, or views of the seeds, where a known rule ranks better than the winner."""
    for place, one in (chosen.get("behind") or {}).items():
        where = f"On the seeds {_of_place(place)}"
        yield f"{where} the known rule {one['rule']} is better than the winner by {one['by']:.3f}"


def _fallen(places: Mapping[str, float]) -> str:
    told = ", ".join(f"by {by:.4f} {_of_place(place)}" for place, by in places.items())
    return f"is better over all, and falls behind {told}"


def _bound(one: Mapping[str, Json]) -> str:
    return f"gain {one['gain']:+.4f}, lower bound {one['gain_lower']:+.4f}"


def _of_place(place: str) -> str:
    return place if place == UNRECORDED else f"with {place}" if place.startswith(ONLY_RIGHT) else f"in {place}"


def _known_won(chosen: Mapping[str, Json]) -> bool:
    """Reports of earlier versions do not say what the winner is, only whether it is none of the known rules."""
    return bool(chosen["winner_is"] == "known" if "winner_is" in chosen else not chosen.get("evolved_wins", True))
