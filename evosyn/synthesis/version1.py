"""Reading the journals that syntheses wrote before there was one dialect (version 1): for inspection only."""

from __future__ import annotations

from evosyn.codec import dump
from evosyn.pools import problem_from_json
from evosyn.records import Json


def event_of_today(event: dict[str, Json]) -> dict[str, Json]:
    """The event as it would be written today; replies have not changed."""
    if event["event"] != "instance":
        return event
    item = dict(event["instance"])
    if "problem" in item:
        problem = dump(problem_from_json(item.pop("problem")))
        item["problem"] = {**problem, "provenance": item.pop("provenance")}
    if "solutions" in item:
        item["solutions"] = [{"text": one["source"], "provenance": one["by"]} for one in item["solutions"]]
        item["testings"] = [_testing(one["testing"], one["by"]) for one in item["testings"]]
    if "matrix" in item:
        item["executed"] = item.pop("matrix")
    if "ranking" in item:
        held = item["ranking"]
        item["ranking"] = {"reason": held["invalid"]} if "invalid" in held else [held["solutions"], held["testings"]]
    return {"event": "item", "index": item["index"], "stage": None, "item": item}


def _testing(value: dict[str, Json], provenance: Json) -> dict[str, Json]:
    body = {key: part for key, part in value.items() if key != "kind"}
    return {"kind": value["kind"], "body": body, "provenance": provenance}
