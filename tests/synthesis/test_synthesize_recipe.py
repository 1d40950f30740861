"""The recipe of a synthesis: every item accounted for, one dataset whatever the concurrency or the interruptions."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from evosyn.dataset import SETTINGS, read_dataset, read_rejects
from evosyn.errors import BudgetSpent, UsageError
from evosyn.journal import Journal
from evosyn.synthesis.config import FilterConfig, SynthesizeConfig
from evosyn.synthesis.decontaminate import DecontaminateConfig
from evosyn.synthesis.instance import ledger_of
from evosyn.synthesis.shift import EvolvedOn, Traits

CONFIG = SynthesizeConfig(problems=24, solutions=5, testings=4)
FILES = (
    "problems.jsonl",
    "candidates.jsonl",
    "matrices.jsonl",
    "rejects.jsonl",
    "report.json",
    "dataset/README.md",
    "quality.png",
)


def content(out: Path) -> dict[str, str]:
    names = [*FILES, *(f"dataset/{setting}.parquet" for setting in SETTINGS)]
    return {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in names}


def test_every_problem_asked_for_is_kept_or_dropped_with_a_reason(toy, tmp_path):
    report = toy.run(tmp_path / "d", CONFIG)
    rejects = read_rejects(tmp_path / "d")
    for setting in SETTINGS:
        counts = report["settings"][setting]
        assert counts["kept"] + sum(counts["dropped"].values()) == report["asked"] == 24
        dropped = {row.index for row in rejects if setting in row.settings}
        kept = read_dataset(tmp_path / "d", setting)
        assert len(kept) == counts["kept"]
        assert len(dropped) == sum(counts["dropped"].values())
        assert {json.loads(row.lineage)["index"] for row in kept} | dropped == set(range(24))
    assert report["kept"] > 0
    assert report["dropped"]
    unusable = sum(report["unusable_replies"].values())
    assert unusable == sum(row.item == "reply" for row in rejects) > 0
    assert report["calls"] == len(toy.teacher.asked)


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_the_dataset_is_the_same_at_any_concurrency(toy, make_teacher, tmp_path, concurrency):
    toy.run(tmp_path / "a", CONFIG, concurrency=8)
    toy.run(tmp_path / "b" / "a", CONFIG, make_teacher(jitter_s=0.004), concurrency)
    assert content(tmp_path / "a") == content(tmp_path / "b" / "a")


@pytest.mark.parametrize("stop_after", [0, 1, 7, 60, 150, 230])
def test_a_run_stopped_after_any_call_resumes_to_the_same_dataset_and_repeats_no_call(
    toy, make_teacher, tmp_path, stop_after
):
    toy.run(tmp_path / "a", CONFIG)
    whole = sorted(toy.teacher.asked)
    out = tmp_path / "b" / "a"
    with pytest.raises(BudgetSpent):
        toy.run(out, CONFIG, make_teacher(jitter_s=0.002, stop_after=stop_after))
    first = list(toy.teacher.asked)
    toy.run(out, CONFIG)
    assert content(tmp_path / "a") == content(out)
    assert sorted(first + toy.teacher.asked) == whole
    assert len(first) == stop_after


def test_a_finished_run_asks_and_executes_nothing_again(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG)
    before = content(tmp_path / "d")
    toy.run(tmp_path / "d", CONFIG)
    assert toy.teacher.asked == []
    assert toy.crossexec.executed == 0
    assert content(tmp_path / "d") == before


def test_more_problems_extend_a_finished_run_without_repeating_it(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG)
    once = {row.id: row for row in read_dataset(tmp_path / "d")}
    toy.run(tmp_path / "d", CONFIG.model_copy(update={"problems": 36}))
    more = {row.id: row for row in read_dataset(tmp_path / "d")}
    assert once.items() <= more.items()
    toy.run(tmp_path / "e" / "d", CONFIG.model_copy(update={"problems": 36}))
    assert content(tmp_path / "e" / "d") == content(tmp_path / "d")


def test_another_seed_gives_another_dataset(toy, tmp_path):
    toy.run(tmp_path / "a", CONFIG)
    toy.run(tmp_path / "b", CONFIG.model_copy(update={"seed": 1}))
    assert {row.id for row in read_dataset(tmp_path / "a")} != {row.id for row in read_dataset(tmp_path / "b")}


def test_other_settings_in_the_same_directory_are_refused_by_name(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG)
    with pytest.raises(UsageError, match="solutions"):
        toy.run(tmp_path / "d", CONFIG.model_copy(update={"solutions": 6}))


def test_the_settings_are_nested_and_random_has_the_problems_of_evosyn(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG.model_copy(update={"problems": 60}))
    problems = {name: [row.problem_id for row in read_dataset(tmp_path / "d", name)] for name in SETTINGS}
    assert set(problems["evosyn"]) <= set(problems["relaxed"])
    assert problems["random"] == problems["evosyn"]
    chosen = {row.problem_id: row.testing for row in read_dataset(tmp_path / "d")}
    drawn = {row.problem_id: row.testing for row in read_dataset(tmp_path / "d", "random")}
    assert chosen != drawn


def test_every_row_walks_back_to_its_replies_matrix_and_seeds(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG)
    events = [json.loads(line[9:]) for line in (tmp_path / "d" / "journal.jsonl").read_text().splitlines()]
    texts = {event["reply"]["id"]: event["reply"]["text"] for event in events if event["event"] == "reply"}
    ledger = ledger_of(tmp_path / "d")
    for setting in SETTINGS:
        for row in read_dataset(tmp_path / "d", setting):
            lineage, scores = json.loads(row.lineage), json.loads(row.scores)
            assert texts[lineage["problem"]["call"]] == row.statement
            assert texts[lineage["solution"]["call"]] == row.solution
            instance = ledger.item(lineage["index"])
            assert instance.testings[scores["testing"]].to_json() == json.loads(row.testing)
            assert instance.matrix.problem_id == row.problem_id
            assert set(lineage["seeds"]) <= {seed.problem_id for seed in toy.inputs.seeds}
            if setting != "random":
                assert instance.matrix.verdicts_MN[scores["solution"], scores["testing"]] == "P"
                ranked = json.loads(row.solutions_ranked)
                assert ranked[0]["source"] == row.solution
                assert [one["score"] for one in ranked] == sorted((one["score"] for one in ranked), reverse=True)


def test_a_strategy_that_fails_on_one_instance_drops_that_one_only(toy, toy_seeds, tmp_path):
    toy.inputs = type(toy.inputs)("refuse-small", "test", toy_seeds, "toy-seeds")
    config = SynthesizeConfig.model_validate(
        {"problems": 40, "solutions": 3, "testings": 3, "sampling": {"attempts": 1}, "execute": {"batch": 8}}
    )
    report = toy.run(tmp_path / "d", config)
    assert 0 < report["dropped"]["strategy-invalid"] < 40
    assert report["kept"] > 0


@pytest.mark.slow
def test_cut_at_any_byte_the_journal_resumes_to_the_same_dataset(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG)
    before, journal = content(tmp_path / "d"), tmp_path / "d" / "journal.jsonl"
    raw = journal.read_bytes()
    for cut in range(1, len(raw), len(raw) // 12):
        journal.write_bytes(raw[:cut])
        toy.run(tmp_path / "d", CONFIG)
        assert content(tmp_path / "d") == before


def test_killed_before_the_manifest_was_written_it_goes_on(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG)
    before, journal = content(tmp_path / "d"), tmp_path / "d" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    (tmp_path / "d" / "manifest.json").unlink()
    toy.run(tmp_path / "d", CONFIG)
    assert content(tmp_path / "d") == before


def test_a_directory_of_another_command_is_refused_and_left_alone(toy, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "manifest.json").write_text('{"kind": "evolve"}')
    Journal(tmp_path / "d" / "journal.jsonl").append({"event": "proposal"})
    with pytest.raises(UsageError, match=r"another kind \(evolve\)"):
        toy.run(tmp_path / "d", CONFIG)
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["journal.jsonl", "manifest.json"]


def test_contaminated_and_repeated_problems_are_dropped_by_their_stages(toy, tmp_path):
    toy.run(tmp_path / "a", CONFIG)
    problems = [json.loads(line) for line in (tmp_path / "a" / "problems.jsonl").read_text().splitlines()]
    benchmark = tmp_path / "benchmark.jsonl"
    benchmark.write_text(json.dumps({"statement": problems[3]["statement"]}) + "\n")
    config = CONFIG.model_copy(
        update={"filter": FilterConfig(decontaminate=DecontaminateConfig(files=(str(benchmark),), content=1.0))}
    )
    report = toy.run(tmp_path / "b", config)
    assert report["dropped"]["benchmark-overlap"] == report["stages"]["decontaminate"]["dropped"] >= 1
    ledger = ledger_of(tmp_path / "b")
    ended = {ledger.done[index].stage for index in range(24)}
    assert {"decontaminate", None} <= ended <= {"make", "decontaminate", "dedup", "draw", "judge", None}


@pytest.mark.parametrize("folder", ["", "dataset"])
def test_the_directory_loads_by_its_card_without_a_network(toy, tmp_path, monkeypatch, folder):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    report = toy.run(tmp_path / "d", CONFIG)
    for setting in SETTINGS:
        rows = datasets.load_dataset(
            str(tmp_path / "d" / folder), setting, split="train", cache_dir=str(tmp_path / "cache" / folder)
        )
        assert len(rows) == report["settings"][setting]["kept"] > 0
        assert set(rows["setting"]) == {setting}


def test_the_card_says_simulated_and_its_counts_add_up(toy, tmp_path):
    report = toy.run(tmp_path / "d", CONFIG)
    card = (tmp_path / "d" / "README.md").read_text()
    assert "SIMULATED by toy-1" in card
    for setting in SETTINGS:
        assert f"| `{setting}` | {report['settings'][setting]['kept']} | 24 |" in card
    for reason, count in report["dropped"].items():
        assert f"| {reason} | {count} |" in card
    assert "{{" not in card


def test_a_transient_failure_is_asked_for_again_after_a_resume_and_a_bad_answer_is_not(toy, make_teacher, tmp_path):
    class Flaky(make_teacher):
        def __init__(self, failure: str, stop_after: int | None = None) -> None:
            super().__init__(stop_after=stop_after)
            self.failure = failure

        async def complete(self, request):
            reply = await super().complete(request)
            return replace(reply, text="", failure=self.failure) if request.purpose == "problem" else reply

    for failure, again in (("timeout", True), ("refused", False)):
        out = tmp_path / failure
        with pytest.raises(BudgetSpent):
            toy.run(out, CONFIG, Flaky(failure, stop_after=20))
        unusable = toy.run(out, CONFIG)["unusable_replies"]
        assert (f"problem: reply-{failure}" in unusable) != again


def test_several_models_take_turns_and_each_text_names_its_own(toy, make_teacher, tmp_path):
    class Second(make_teacher):
        name = "second"

        async def complete(self, request):
            return replace(await super().complete(request), model="second-1")

    toy.others = (Second(),)
    toy.run(tmp_path / "d", CONFIG)
    events = [json.loads(line[9:]) for line in (tmp_path / "d" / "journal.jsonl").read_text().splitlines()]
    models = {(e["key"][1], e["key"][2] % 2, e["reply"]["model"]) for e in events if e["event"] == "reply"}
    assert models == {
        ("problem", 0, "toy-1"),
        *((kind, turn, model) for kind in ("solution", "testing") for turn, model in ((0, "toy-1"), (1, "second-1"))),
    }
    assert json.loads((tmp_path / "d" / "manifest.json").read_text())["teacher"] == "toy, second"
    toy.others = ()
    with pytest.raises(UsageError, match="teacher"):
        toy.run(tmp_path / "d", CONFIG)


def test_matrices_unlike_those_of_the_search_are_told_on_the_card_and_in_the_report(toy, tmp_path):
    strict, few = Traits(0.01, 1.0, 0.99, 0.99), (CONFIG.solutions, CONFIG.testings)
    toy.inputs = replace(toy.inputs, evolved_on=EvolvedOn((strict,) * 20, 8, few, few))
    report = toy.run(tmp_path / "d", CONFIG)
    assert report["shift"]["traits"]["pass_share"]["beyond"] and not report["shift"]["traits"]["solutions"]["beyond"]
    assert report["shift"]["said"][0] in (tmp_path / "d" / "README.md").read_text()
    toy.inputs = replace(toy.inputs, evolved_on=None)
    assert toy.run(tmp_path / "e", CONFIG)["shift"] is None
    assert "on which the strategy was evolved: not known" in (tmp_path / "e" / "README.md").read_text()
