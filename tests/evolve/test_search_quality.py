"""The protocol for searches: what is held out, what is counted once, and what it refuses to put together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _quality import protocol
from _quality.begins import kind_of, known_rules, openings
from _quality.bench import Bench
from _quality.pools import Inputs, Pools, with_task
from _quality.protocol import ORACLE, PARTS, REACHABLE, VERSION, Part
from _quality.report import lines, together
from _quality.results import Results
from _quality.rows import BEST, OPENING, Setting
from _quality.running import run

from evosyn.errors import UsageError
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.heldout import Split
from evosyn.evaluators.views import UNRECORDED
from evosyn.matrices import write_matrices
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix
from evosyn.strategies.known import CONTROLS
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.seeds import Seeds
from evosyn.synthesis.search.strategies import EvolvedStrategies
from evosyn.workbench import Workbench

PER_FOLD = 8


def tasks_of(fold: int) -> list[str]:
    return [f"HumanEval/{fold * PER_FOLD + at}" for at in range(PER_FOLD)]


def scores(tasks: list[str], ahead: float) -> list[float]:
    return [round(0.4 + ahead * (int(task.split("/")[1]) % 3), 4) for task in tasks]


def known_line(setting: str, fold: int) -> dict[str, Any]:
    tasks = tasks_of(fold)
    return {
        "problems": [f"{setting}/{task}" for task in tasks],
        "tasks": tasks,
        "pools": [""] * PER_FOLD,
        "rows": {"codet_gap": scores(tasks, 0.0), "codet": scores(tasks, -0.1)},
        "openings": {"opening gap": scores(tasks, 0.02)},
        "chosen": "codet_gap",
        "chosen_opening": "opening gap" if fold else "codet_gap",
        ORACLE: scores(tasks, 0.3),
        REACHABLE: scores(tasks, 0.2),
        "code": "c0de",
    }


def searched(fold: int, ahead: float) -> dict[str, Any]:
    place = {"best": "codet", "known": 0.2, "winner": round(0.2 - 0.01 * fold, 4), "problems": PER_FOLD}
    return {
        "scores": scores(tasks_of(fold), ahead),
        "invalid": None,
        "searched": 0.5,
        "fresh": 0.45,
        "winner_is": "evolved",
        "gain": [0.02, 0.01, 0.004],
        "draws": {"fresh": 160, "single": 0, "problems": PER_FOLD},
        "elsewhere": {UNRECORDED: place},
        "code": "c0de",
    }


AHEAD = {"evolve": 0.12, "iid": 0.04}


def filled(folder: Path, setting: str, ahead: Mapping[str, float] = AHEAD, **changed: Mapping[Part, Any]) -> Setting:
    """Results of which parts are left out where `changed` says so (`left_out`), or say other things by name."""
    results = Results(folder, setting)
    results.begin({"version": VERSION, "setting": setting, "evaluations": 3})
    for part in PARTS:
        if part.arm in (None, *ahead) and part not in changed.get("left_out", {}):
            found = known_line(setting, part.fold) if part.arm is None else searched(part.fold, ahead[part.arm])
            other = {name: values[part] for name, values in changed.items() if part in values}
            results.add(part, {**found, **other})
    return Setting(folder, setting)


def told(setting: Setting, begin: str) -> str:
    """The one line that begins so."""
    (line,) = [line for line in lines(setting) if line.startswith(begin)]
    return line


def test_folds_searches_and_held_out_draws_are_others_than_those_that_were_looked_at() -> None:
    tasks = [f"HumanEval/{number}" for number in range(164)]
    for root in (0, 5):
        before = [SeedTree(root).child("fold", task).integer() % protocol.FOLDS for task in tasks]
        together = sum(protocol.fold_of(task) == fold for task, fold in zip(tasks, before, strict=True))
        assert VERSION == 6 and together < len(tasks) / 3, "a fifth stays by chance"
        assert protocol.held_out("lists").seed != SeedTree(root).child("held out").integer() % 2**31
    assert min(np.bincount([protocol.fold_of(task) for task in tasks])) > 20
    evolve = [part for part in PARTS if part.arm == "evolve"]
    seeds = {protocol.search_seed(name, part) for name in protocol.SETTINGS for part in evolve}
    assert len(seeds) == len(protocol.SETTINGS) * len(evolve)
    old = {SeedTree(part.seed).child("lists", part.fold).integer() % 2**31 for part in evolve if part.seed is not None}
    assert not old & seeds
    assert protocol.search_seed("lists", Part(2, 1, "iid")) == protocol.search_seed("lists", Part(2, 1, "evolve"))


def test_what_goals_are_about_is_done_first() -> None:
    rounds = [(part.seed, part.arm) for part in PARTS[:: protocol.FOLDS]]
    goals = [(seed, arm) for seed in range(3) for arm in ("evolve", "iid")]
    assert rounds == [(None, None), *goals, *[(seed, "hillclimb") for seed in range(3)]]


def test_the_code_that_decides_is_known_by_its_sources_alone(tmp_path: Path) -> None:
    for name in ("evaluators/one.py", "synthesis/search/two.py", "synthesis/other.py", "strategies/question.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    first = protocol.code_digest(tmp_path)
    (tmp_path / "synthesis/other.py").write_text("x = 2\n")
    (tmp_path / "strategies/question.md").write_text("x = 2\n")
    assert protocol.code_digest(tmp_path) == first and len(first) == 12
    (tmp_path / "synthesis/search/two.py").write_text("x = 2\n")
    changed = protocol.code_digest(tmp_path)
    (tmp_path / "evaluators/one.py").rename(tmp_path / "evaluators/three.py")
    assert len({first, changed, protocol.code_digest(tmp_path)}) == 3
    assert protocol.code_digest() == protocol.code_digest()


def test_a_row_has_its_difference_its_share_and_its_interval(tmp_path: Path) -> None:
    setting = filled(tmp_path, "lists")
    found = list(lines(setting))
    assert found[0] == "## lists: 35 of 50 parts" and "40 problems" in found[2]
    assert found[1].startswith("all by code c0de; what is here is ")
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in found if line.startswith("| ")}
    assert " 0 1 2 | 0.517 | +0.117 [" in rows["evolve"] and "codet_gap |  | 0.400" in rows["codet_gap"]
    assert {ORACLE, REACHABLE, BEST, "iid", "codet"} <= rows.keys()
    assert "over iid: +0.078 [" in told(setting, "evolve over iid") and "hillclimb" not in "\n".join(found)
    elsewhere = told(setting, "winners on without texts and values")
    assert "over the rule that is best there with hindsight: -0.020, -0.040 to +0.000" in elsewhere


def test_a_share_of_the_gap_varies_with_the_gap(tmp_path: Path) -> None:
    """Every problem's gap is closed by the same share, whichever problems are drawn."""
    row = told(filled(tmp_path, "lists"), "| evolve ")
    ahead, share = row.split(" | ")[3:]
    assert share == "+0.40 [+0.40 to +0.40] |" and ahead.startswith("+0.117 [+0.08"), "the gain itself is not so sure"
    assert told(Setting(tmp_path, "lists"), "| oracle ").endswith("| +1.00 [+1.00 to +1.00] |")


def test_the_best_opening_stands_beside_the_best_known_rule(tmp_path: Path) -> None:
    setting = filled(tmp_path, "lists")
    best, opening = (told(setting, f"| {name}").split(" | ") for name in (BEST, OPENING))
    assert best[2] == "0.400" and 0.4 < float(opening[2]) < 0.42
    assert told(setting, f"{OPENING}, in folds").endswith("4 opening gap, 1 codet_gap")
    over = told(setting, f"evolve over {OPENING}")
    assert 0.09 < float(over.partition(": ")[2].split()[0]) < 0.117 and "[" in over
    assert "opening gap |" not in "\n".join(lines(setting)), "openings have no rows of their own"


def test_a_rule_that_is_chosen_and_invalid_on_what_is_held_out_is_worth_nothing_there(tmp_path: Path) -> None:
    setting = filled(tmp_path, "lists", chosen={Part(0): "mbr"})
    assert told(setting, f"| {BEST}").split(" | ")[2] == f"{0.4 * 4 / 5:.3f}"


def test_winners_are_counted_by_what_they_are_in_each_way_to_search(tmp_path: Path) -> None:
    kinds = {Part(0, 0, "evolve"): "known", Part(1, 2, "evolve"): "opening", Part(2, 0, "iid"): "opening"}
    setting = filled(tmp_path, "lists", winner_is=kinds, invalid={Part(3, 1, "iid"): "raises"})
    assert told(setting, "winners of evolve, 15 searches").endswith(": 13 evolved, 1 opening, 1 known")
    assert ": 14 evolved, 1 opening, 0 known; 1 invalid on what" in told(setting, "winners of iid, 15 searches")


def test_searches_are_compared_by_the_seeds_that_both_have_and_the_report_says_which(tmp_path: Path) -> None:
    """Seed 0 of `iid` lacks a fold, and of seed 1 `evolve` is far ahead: it must not be paired with seed 2."""
    far = {Part(fold, 1, "evolve"): scores(tasks_of(fold), 0.28) for fold in range(protocol.FOLDS)}
    gone = {Part(2, 0, "iid"): None}
    setting = filled(tmp_path, "lists", scores=far, left_out=gone)
    assert " 1 2 " in told(setting, "| iid ") and " 0 1 2 " in told(setting, "| evolve ")
    line = told(setting, "evolve over iid")
    assert "by search seed 1: +0.234, 2: +0.078; left out: seeds 0 of evolve alone" in line
    assert ": +0.156 [" in line, "the mean over seeds 1 and 2"
    assert told(setting, f"evolve over {BEST}").endswith("by search seed 0: +0.117, 1: +0.273, 2: +0.117")
    first, second = together([setting])
    assert "+0.1560 [" in first and second.endswith("search seeds: lists 1 2")


def test_searches_without_a_common_seed_are_not_compared(tmp_path: Path) -> None:
    gone = {Part(0, seed, arm): None for arm, seeds in (("evolve", (1, 2)), ("iid", (0,))) for seed in seeds}
    setting = filled(tmp_path, "lists", left_out=gone)
    assert told(setting, "evolve over iid").startswith(
        "evolve over iid: no search seed in common; left out: seeds 0 of"
    )
    assert not list(together([setting]))


def test_a_winner_that_is_invalid_elsewhere_counts_as_nothing(tmp_path: Path) -> None:
    place = {"best": "codet", "known": 0.2, "problems": PER_FOLD}
    found = {
        Part(fold, seed, "evolve"): {"lists": {**place, "winner": 0.3 if fold else None}}
        for fold in range(protocol.FOLDS)
        for seed in range(protocol.SEEDS)
    }
    line = told(filled(tmp_path, "strong", elsewhere=found), "winners on lists")
    assert "hindsight: +0.040, -0.200 to +0.100 (15 folds and seeds, 3 invalid, which count as 0)" in line


def test_winners_are_compared_with_the_rule_that_is_chosen_elsewhere_without_hindsight(tmp_path: Path) -> None:
    place = {"best": "codet", "known": 0.6, "problems": PER_FOLD, "winner": 0.55}
    found = {Part(fold, 0, "evolve"): {"lists": place} for fold in range(protocol.FOLDS)}
    setting, lists = filled(tmp_path, "strong", elsewhere=found), filled(tmp_path, "lists")
    chosen = lists.mean(lists.rows[BEST])
    (line,) = [one for one in lines(setting, [setting, lists]) if one.startswith("winners on lists")]
    assert "hindsight: -0.050, " in line
    assert f"; over the known rule that is chosen on train there: {0.55 - chosen:+.3f}, " in line
    assert "chosen on train there" not in told(setting, "winners on lists")


def test_parts_that_come_from_different_code_are_said_to(tmp_path: Path) -> None:
    assert "different code" not in "\n".join(lines(filled(tmp_path, "lists")))
    changed = {part: "0ther" for part in PARTS if part.seed == 2}
    line = told(filled(tmp_path, "strong", code=changed), "parts come from different code")
    assert line.endswith(": c0de: 5 known, 10 evolve, 10 iid; 0ther: 5 evolve, 5 iid")


def test_a_task_of_two_settings_counts_once_and_what_has_both_is_left_out(tmp_path: Path) -> None:
    settings = [filled(tmp_path, name) for name in ("lists", "asserts", "both")]
    alone, shared = list(together(settings[:1])), list(together(settings))
    assert alone[0].split("]")[0] == shared[0].split("]")[0], "the same tasks twice are no surer"
    assert "40 problems" in alone[0] and "80 problems" in shared[0]
    assert alone[1].split(":")[0] == shared[1].split(":")[0] and alone[1].startswith("of 40 tasks")


def test_parts_of_another_protocol_are_refused_and_a_torn_line_is_done_again(tmp_path: Path) -> None:
    filled(tmp_path, "strong")
    file = tmp_path / "strong.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    results = Results(tmp_path, "strong")
    assert len(results.parts) == 34
    with pytest.raises(UsageError, match="parts of another protocol"):
        results.begin({"version": VERSION, "setting": "strong", "evaluations": 4})
    Results(tmp_path, "lists").begin({"version": VERSION - 1})
    with pytest.raises(UsageError, match="another version"):
        Setting(tmp_path, "lists")


def test_a_task_has_one_name_in_all_pools() -> None:
    cells = np.array([list("PF")])
    named = {with_task(PassMatrix(name, cells)).origin.task for name in ("HumanEval/3", "mixed/HumanEval/3")}
    assert named == {"HumanEval/3"}


def test_a_setting_of_two_pools_is_searched_as_two(tmp_path: Path) -> None:
    for name, count in (("pool", 20), ("strong", 24)):
        write_matrices(tmp_path / f"{name}.jsonl.gz", [recorded(number) for number in range(count)])
    with Workbench() as workbench:
        pools = Pools(Inputs(tmp_path, strong=str(tmp_path / "strong.jsonl.gz")), workbench)
        found = [matrix.origin for fold in pools.folds("both") for matrix in fold]
    assert Counter(one.pool for one in found) == {"pool": 20, "strong": 24}
    assert len({one.task for one in found}) == 24


def recorded(number: int) -> PassMatrix:
    rng = np.random.default_rng(number)
    right = np.arange(20) % 2 == 0
    passed = right[:, None] ^ (rng.random((20, 20)) < 0.25)
    return PassMatrix(f"HumanEval/{number}", np.where(passed, "P", "F"), np.where(right, "P", "F"))


@pytest.fixture
def strong(tmp_path: Path) -> Inputs:
    file = tmp_path / "strong.jsonl"
    write_matrices(file, map(recorded, range(40)))
    return Inputs(tmp_path / "work", strong=str(file), evaluations=20)


def test_all_that_a_search_starts_from_is_a_known_rule_or_an_opening() -> None:
    known, begun = known_rules(), openings()
    with Workbench() as workbench:
        seeds = Seeds(Split([recorded(0), recorded(1)], [recorded(2)]), {}, simulated=False)
        start = EvolvedStrategies(workbench.runner, seeds, EvolveConfig()).start
    chosen = [text for name, text in known.items() if name not in CONTROLS]
    assert {one.text for one in start} == {*chosen, *begun.values()} and not known.keys() & begun.keys()
    kinds = [kind_of(text, known, begun) for text in (known["gap"], begun["opening gap"], begun["opening gap"] + "#\n")]
    assert kinds == ["known", "opening", "evolved"]


class CountingBench(Bench):
    """Keeps how many programs were scored at once."""

    asked: list[int]

    def scores(
        self, setting: str, matrices: Sequence[PassMatrix], programs: Mapping[str, str]
    ) -> tuple[SeedConsistency, dict[str, list[float]]]:
        self.asked.append(len(programs))
        return super().scores(setting, matrices, programs)


def test_known_rules_are_run_once_in_a_place_however_many_winners_are_compared_there(strong: Inputs) -> None:
    with Workbench() as workbench:
        bench = CountingBench(Pools(strong, workbench), workbench)
        bench.asked = []
        winner, broken = openings()["opening gap"], "def rank(evidence):\n    raise ValueError\n"
        (first, second) = (dict(bench.elsewhere("strong", 0, text)) for text in (winner, broken))
        assert bench.asked == [len(known_rules()), 1, 1]
    assert first.keys() == second.keys() == {UNRECORDED}
    assert first[UNRECORDED]["winner"] > 0 and second[UNRECORDED]["winner"] is None
    assert first[UNRECORDED]["known"] == second[UNRECORDED]["known"] > 0


@pytest.mark.long
def test_parts_are_done_side_by_side_and_a_second_run_does_what_is_missing(tmp_path: Path, strong: Inputs) -> None:
    folder = tmp_path / "results"
    parts = [*PARTS[: protocol.FOLDS], Part(0, 0, "evolve")]
    for count in (protocol.FOLDS, len(parts)):
        run(strong, folder, ["strong"], parts=parts[:count], processes=2)
        assert Results(folder, "strong").parts.keys() == set(parts[:count])
    found: dict[Part, dict[str, Json]] = Results(folder, "strong").parts
    held = {name for part in parts[: protocol.FOLDS] for name in found[part]["problems"]}
    assert held == {f"HumanEval/{number}" for number in range(40)}, "every problem is held out once"
    begins, search = found[parts[0]], found[parts[-1]]
    assert len(search["scores"]) == len(begins["problems"])
    assert [one["passed"] for one in search["rounds"]][-1:] == [search["winner_is"] == "evolved"]
    assert {one["code"] for one in found.values()} == {protocol.code_digest()}
    assert search["winner_is"] == kind_of(search["winner"], known_rules(), openings())
    assert begins["rows"].keys() <= known_rules().keys() and begins["openings"].keys() == openings().keys()
    assert begins["chosen"] in begins["rows"] and begins["chosen_opening"] in {**begins["rows"], **begins["openings"]}
