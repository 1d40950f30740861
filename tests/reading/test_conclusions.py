"""What the first screen says of reports as they are written: no more than they hold."""

import pytest
from search_reports import board, row, search_report, side

from evosyn.reading.conclusions import of_environments, of_search


def made(**changes):
    report = {
        "kept": 3,
        "asked": 17,
        "new": 0,
        "best": {"id": "c_1", "score": 0.5},
        "student": "s",
        "dropped": {"archive: not-better": 14},
        "environments": [{"category": "graphs"}] * 3,
        "simulated": False,
    }
    return {**report, **changes}


def test_a_search_that_kept_nothing_new_did_not_work():
    found = of_environments(made(), "", "c_9, which scored best (0.900), is not kept: calibrate: flat")
    assert found.worked == "no"
    assert found.did.endswith("0 new, 3 of the start. Nothing that the search made is kept.")
    assert found.why[0].startswith("c_9, which scored best")
    assert of_environments(made(new=1), "").worked == "yes"
    assert of_environments({key: value for key, value in made().items() if key != "new"}, "").worked == "yes"


@pytest.mark.parametrize(
    ("ours", "told"),
    [
        (0.317, "scores higher there: 0.531"),
        (0.53, "does as well there: 0.531"),
    ],
)
def test_the_best_of_the_known_strategies_is_named_and_not_said_to_be_better(ours, told):
    known = board(row("random", score=0.9, control=True), row("hardness", score=0.531))
    report = search_report(known, best=side(score=ours), initial=side(score=0.3), beats_initial=True)
    assert of_search(report, None, "", None).why[0].endswith(told)
