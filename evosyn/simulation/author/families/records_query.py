"""A query over records: choose rows, then group or sort them, with the ties spelled out."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

WHERE: dict[str, tuple[str, str]] = {
    "all": ("all records", "True"),
    "older": ("the records whose age is at least {k}", "r['age'] >= {k}"),
    "younger": ("the records whose age is below {k}", "r['age'] < {k}"),
    "scored": ("the records whose score is above {s}", "r['score'] > {s}"),
    "team": ("the records whose team is not {t!r}", "r['team'] != {t!r}"),
    "either": (
        "the records whose age is below {k} or whose score is at least {s}",
        "r['age'] < {k} or r['score'] >= {s}",
    ),
    "both": (
        "the records whose age is at least {k} and whose score is at most {s}",
        "r['age'] >= {k} and r['score'] <= {s}",
    ),
}
SELECT: dict[str, tuple[str, str, str]] = {
    "top-names": (
        "Return the names of the {n} records with the highest score (all if there are fewer), highest first; equal "
        "scores are ordered by name, alphabetically.",
        "    ranked = sorted(rows, key=lambda r: (-r['score'], r['name']))\n"
        "    return [r['name'] for r in ranked[:{n}]]\n",
        "    rows.sort(key=lambda r: r['name'])\n    rows.sort(key=lambda r: r['score'], reverse=True)\n"
        "    names = [r['name'] for r in rows]\n    return names[:{n}]\n",
    ),
    "best-team": (
        "Return the team with the highest total score, of several such teams the alphabetically first; None if there "
        "are no records left.",
        "    totals = {{}}\n    for r in rows:\n        totals[r['team']] = totals.get(r['team'], 0) + r['score']\n"
        "    if not totals:\n        return None\n    return min(totals, key=lambda team: (-totals[team], team))\n",
        "    best = None\n    for team in sorted({{r['team'] for r in rows}}):\n"
        "        total = sum(r['score'] for r in rows if r['team'] == team)\n"
        "        if best is None or total > best[0]:\n            best = (total, team)\n"
        "    return best[1] if best else None\n",
    ),
    "per-team": (
        "Return a dictionary from each team that is left to the name of its youngest member, of several youngest the "
        "one that comes first in the list.",
        "    youngest = {{}}\n    for r in rows:\n        team = r['team']\n"
        "        if team not in youngest or r['age'] < youngest[team]['age']:\n            youngest[team] = r\n"
        "    return {{team: r['name'] for team, r in youngest.items()}}\n",
        "    result = {{}}\n    for team in {{r['team'] for r in rows}}:\n"
        "        members = [r for r in rows if r['team'] == team]\n"
        "        result[team] = min(members, key=lambda r: r['age'])['name']\n    return result\n",
    ),
    "gap": (
        "Return the largest difference in score between two records that are next to each other in what is left (in "
        "the order of the list), or 0 if fewer than two are left.",
        "    best = 0\n    for i in range(1, len(rows)):\n"
        "        best = max(best, abs(rows[i]['score'] - rows[i - 1]['score']))\n    return best\n",
        "    scores = [r['score'] for r in rows]\n"
        "    return max((abs(a - b) for a, b in zip(scores, scores[1:])), default=0)\n",
    ),
    "sizes": (
        "Return a list of [team, number of records] for the teams that have at least {m} of them, larger numbers "
        "first, equal numbers in alphabetical order of the team.",
        "    counts = {{}}\n    for r in rows:\n        counts[r['team']] = counts.get(r['team'], 0) + 1\n"
        "    pairs = [[team, count] for team, count in counts.items() if count >= {m}]\n"
        "    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))\n",
        "    teams = [r['team'] for r in rows]\n    pairs = []\n    for team in sorted(set(teams)):\n"
        "        if teams.count(team) >= {m}:\n            pairs.append([team, teams.count(team)])\n"
        "    pairs.sort(key=lambda pair: -pair[1])\n    return pairs\n",
    ),
    "mean": (
        "Return the floor of the mean score of what is left, after leaving out one record with the lowest score if at "
        "least {n} are left; -1 if nothing is left.",
        "    scores = sorted(r['score'] for r in rows)\n    if len(scores) >= {n}:\n        scores = scores[1:]\n"
        "    if not scores:\n        return -1\n    return sum(scores) // len(scores)\n",
        "    total, count = 0, 0\n    for r in rows:\n        total += r['score']\n        count += 1\n"
        "    if count >= {n}:\n        total -= min(r['score'] for r in rows)\n        count -= 1\n"
        "    return total // count if count else -1\n",
    ),
}
GENERATOR = """
def generate(rng, size):
    count = [rng.randint(0, 1), rng.randint(2, 4), rng.randint(5, 9), rng.randint(30, 60)][size]
    names = ["ada", "bo", "cy", "dee", "eli", "fay", "gus", "hal", "ivy", "jo"]
    return [[
        {"name": rng.choice(names), "team": rng.choice(["red", "blue", "green"]),
         "age": rng.randint(17, 33), "score": rng.randint(0, 12)}
        for _ in range(count)
    ]]
"""


def draw(rng: random.Random) -> Params:
    return {
        "where": rng.choice(sorted(WHERE)),
        "select": rng.choice(sorted(SELECT)),
        "k": rng.randint(20, 30),
        "s": rng.randint(3, 8),
        "t": rng.choice(("red", "blue", "green")),
        "n": rng.randint(2, 4),
        "m": rng.randint(1, 3),
        "name": rng.choice(("query", "report", "select_records", "summarize")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    blanks = {key: params[key] for key in ("k", "s", "t", "n", "m")}
    where_words, where = (text.format(**blanks) for text in WHERE[params["where"]])
    select_words, body, other = (text.format(**blanks) for text in SELECT[params["select"]])
    name = str(params["name"])
    return FamilyTask(
        title=f"Records: {params['where']}, {params['select']}",
        statement=f"Write a function `{name}(records)`. Each record is a dictionary with the keys `name` and `team` "
        f"(strings), `age` and `score` (integers); names may occur more than once. Take {where_words}. {select_words}",
        entry_point=name,
        starter_code=f"def {name}(records: list[dict]):\n    ...\n",
        reference=f"\ndef {name}(records):\n    rows = [r for r in records if {where}]\n{body}",
        alternatives=(
            f"\ndef {name}(records):\n    rows = []\n    for r in records:\n        if {where}:\n"
            f"            rows.append(r)\n{other}",
        ),
        generator=GENERATOR,
        difficulty=0.3
        + 0.08 * (params["where"] in {"either", "both"})
        + 0.15 * (params["select"] in {"best-team", "sizes", "mean", "per-team"}),
        topic="records",
    )
