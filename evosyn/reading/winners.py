"""How the winner of a search was chosen, in sentences, from what its report says under `selection`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evosyn.evaluators.draws import DrawCount, with_error
from evosyn.evaluators.views import ONLY_RIGHT, UNRECORDED
from evosyn.records import Json


def known_winner(report: Mapping[str, Json]) -> str | None:
    """The known rule that a search ended with; None where the winner is a program of its own."""
    chosen = report["selection"]
    return chosen["known"] if chosen["winner_is"] == "known" else None


def why_chosen(chosen: Mapping[str, Json]) -> tuple[str, ...]:
    """How the best of what it started from, and of what it made, stood to who was best by then."""
    if chosen["gain"] is None:
        return ()
    drawn = DrawCount(**chosen["draws"])
    return (*(_round(one, chosen, drawn) for one in chosen["rounds"]), *_where_behind(chosen))


def _round(one: Mapping[str, Json], chosen: Mapping[str, Json], drawn: DrawCount) -> str:
    kind = "better by more than chance" if one["passed"] else "not better by more than chance"
    if chosen["undecided"]:
        kind = f"it could not be shown to be better, since {chosen['undecided']}"
    if fallen := _places(one["held_back"]):
        kind = f"better over all, and behind {fallen}"
    who = f"the best of what it {'made' if one['of'] == 'search' else 'started from'}, {one['best']}"
    over = f"the best known rule, {one['over']}" if one["over"] == chosen["known"] else one["over"]
    draws = with_error(drawn, one["drawing_error"], chosen["drawing_error_asked"])
    shown = f"gain {one['gain']:+.4f}, lower bound {one['gain_lower']:+.4f}, {draws}"
    return f"On the seeds {who}, against {over}: {kind} ({shown})"


def _places(found: Mapping[str, Json]) -> str:
    return ", ".join(f"{one['rule']} by {one['by']:.4f} {_of_place(place)}" for place, one in found.items())


def _where_behind(chosen: Mapping[str, Json]) -> Iterator[str]:
    """Pools, or views of the seeds, where a known rule ranks better than the winner."""
    for place, one in chosen["behind"].items():
        where = f"On the seeds {_of_place(place)}"
        yield f"{where} the known rule {one['rule']} is better than the winner by {one['by']:.3f}"


def _of_place(place: str) -> str:
    return place if place == UNRECORDED else f"with {place}" if place.startswith(ONLY_RIGHT) else f"in {place}"
