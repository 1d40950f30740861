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
    """How the best of what it started from, and of what it made, stood to who was best by then."""
    if chosen.get("gain") is None:
        return ()
    drawn = chosen["draws"]  # of an earlier version it is how many there were
    drawn = DrawCount(**drawn) if isinstance(drawn, Mapping) else f"{drawn} draws"
    rounds = [_round(one, chosen, drawn) for one in chosen.get("rounds") or ()]
    return (*(rounds or [_all_at_once(chosen, drawn)]), *_where_behind(chosen))


def _round(one: Mapping[str, Json], chosen: Mapping[str, Json], drawn: object) -> str:
    kind = "better by more than chance" if one["passed"] else "not better by more than chance"
    if chosen["undecided"]:
        kind = f"it could not be shown to be better, since {chosen['undecided']}"
    if fallen := _places(one["held_back"]):
        kind = f"better over all, and behind {fallen}"
    who = f"the best of what it {'made' if one['of'] == 'search' else 'started from'}, {one['best']}"
    over = f"the best known rule, {one['over']}" if one["over"] == chosen["known"] else one["over"]
    return f"On the seeds {who}, against {over}: {kind} ({_shown(one, chosen, drawn)})"


def _all_at_once(chosen: Mapping[str, Json], drawn: object) -> str:
    """The same of an earlier version, where all met the best known rule in one round."""
    kind = "no finalist is better by more than chance" if _known_won(chosen) else "the winner is better"
    if chosen.get("undecided"):
        kind = f"no finalist could be shown to be better, since {chosen['undecided']}"
    if fallen := _held_back(chosen):
        kind = f"the best finalist is better over all, and falls behind {fallen}"
    return f"On the seeds, against the best known rule, {chosen['known']}: {kind} ({_shown(chosen, chosen, drawn)})"


def _held_back(chosen: Mapping[str, Json]) -> str:
    """Where the best finalist lost, and by how much; in reports of earlier versions the pool that decided it."""
    if "held_back" in chosen:
        return _places(chosen["held_back"])
    if chosen["gain_lower"] <= 0 or not _known_won(chosen):
        return ""
    pools = (chosen.get("gain_by_pool") or {}).items()
    pool, gain = min(pools, key=lambda item: item[1], default=("", 0.0))
    return f"{chosen['known']} by {-gain:.4f} {_of_place(pool)}" if pool else ""


def _places(found: Mapping[str, Json]) -> str:
    return ", ".join(f"{one['rule']} by {one['by']:.4f} {_of_place(place)}" for place, one in found.items())


def _where_behind(chosen: Mapping[str, Json]) -> Iterator[str]:
    """Pools, or views of the seeds, where a known rule ranks better than the winner."""
    for place, one in (chosen.get("behind") or {}).items():
        where = f"On the seeds {_of_place(place)}"
        yield f"{where} the known rule {one['rule']} is better than the winner by {one['by']:.3f}"


def _shown(one: Mapping[str, Json], chosen: Mapping[str, Json], drawn: object) -> str:
    """A gain, its bound, and the draws that it is from."""
    draws = with_error(drawn, one["drawing_error"], chosen.get("drawing_error_asked"))
    return f"gain {one['gain']:+.4f}, lower bound {one['gain_lower']:+.4f}, {draws}"


def _of_place(place: str) -> str:
    return place if place == UNRECORDED else f"with {place}" if place.startswith(ONLY_RIGHT) else f"in {place}"


def _known_won(chosen: Mapping[str, Json]) -> bool:
    """Reports of earlier versions do not say what the winner is, only whether it is none of the known rules."""
    return bool(chosen["winner_is"] == "known" if "winner_is" in chosen else not chosen.get("evolved_wins", True))
