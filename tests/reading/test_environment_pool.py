"""A directory of `evosyn coevolve --recipe evoenv` as answers: what came in, what was kept out and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from evosyn.environments.fresh import FreshRow
from evosyn.errors import CorruptRun, UsageError
from evosyn.journal import Journal
from evosyn.jsonlines import write_lines
from evosyn.reading.opening import open_directory
from evosyn.running.ledger import Ledger
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.recipes.dejaq import StudentPlan
from evosyn.synthesis.recipes.evoenv import DRAFTS, environments_named, pool_plan
from evosyn.synthesis.recipes.evoenv import SEEDS as KEPT
from evosyn.synthesis.selfplay.feed import header_of
from evosyn.synthesis.selfplay.state import BEFORE, DraftFate, PoolStep, pool_steps

SEEDS = ["builtin:subset-sum", "builtin:brackets"]
CONFIG = CoevolutionConfig(recipe="evoenv")


def run(folder: Path, *fates: DraftFate, data: list[str] = SEEDS) -> Path:
    """A directory after one step; of each draft the ledger has what the fate says."""
    seeds = environments_named(data)
    folder.mkdir()
    write_lines(folder / KEPT, ({"id": one.id, "source": one.source} for one in seeds))
    config = {"command": "coevolve", "data": data, "setting": "evosyn", "model": "m", "seed": 0, "steps": 9}
    told = {**config, "rollout": {"prompts": 8}, "coevolution": CONFIG.model_dump(mode="json")}
    (folder / "config.yaml").write_text(yaml.safe_dump(told))
    steps = pool_steps(Journal(folder / "journal.jsonl"))
    plan = pool_plan(CONFIG, seeds, StudentPlan(8, 9, 0), by_student=False)
    steps.begin(header_of(plan, {"teacher": "offline", "simulated": True}))
    asked = tuple(FreshRow(f"row-{one.id}", one.id, 3, one.id, "?", 0) for one in seeds)
    steps.append(PoolStep(BEFORE, asked=asked))
    steps.append(PoolStep(0, tuple((one.row, 1, 4) for one in asked), fates, asked=asked))
    ledger = Ledger(Journal(folder / DRAFTS), Draft)
    ledger.begin({"kind": "test"})
    for one in fates:
        draft = Draft(one.index, {"shown": [seeds[0].id], "category": "graph"}, one.source or None, level=one.level)
        ledger.finish(draft.drop(one.stage, one.reason) if one.stage else draft, None)
    return folder


def test_what_came_in_and_what_was_kept_out_is_told_with_where_it_came_from(tmp_path: Path) -> None:
    (new,) = environments_named(["builtin:circuit"])
    came = DraftFate(0, 1, level=5, solved=2, known=8, environment=new.id, source=new.source)
    reading = open_directory(run(tmp_path / "run", came, DraftFate(1, 2, "l1", "does-not-parse")))
    assert reading.kind == "coevolve-environments"
    found = reading.answer("overview")
    tables = {one.title: one.rows for one in found.tables}
    assert [row[3] for row in tables["environments"]] == ["seed", "seed", "0"] and found.simulated
    assert tables["what became of the drafts"] == (("came in", 1), ("l1: does-not-parse", 1))
    assert "2 drafts: 1 stood on the ladder, 1 came into the pool" in found.conclusion.why[0]
    lines = reading.answer("why", new.id[:8]).lines
    assert "draft 0: stands on L5; came into the pool" in lines[0] and "solved at level 3: 0.30" in lines[-1]
    assert "kept out at l1: does-not-parse" in reading.answer("why", "1").lines[0]
    shown = reading.answer("lineage", new.id).lines
    assert "draft 0, beside" in shown[0] and shown[1].endswith("a seed")
    assert list(reading.highlights(3)) == ["overview", f"why/{new.id}"]
    with pytest.raises(UsageError, match="nothing of"):
        reading.answer("why", "77")


def test_where_nothing_came_in_it_is_not_said_that_it_worked(tmp_path: Path) -> None:
    fates = [DraftFate(at, at, "band", "too-hard", 5, 0, 8) for at in range(16)]
    folder = run(tmp_path / "run", *fates)
    report = {"command": "coevolve", "steps": 9, "metrics": {}, "model": "m", "lineage": {}, "warnings": []}
    (folder / "report.json").write_text(json.dumps(report))
    found = open_directory(folder).answer("overview")
    assert found.conclusion.worked == "no"
    assert found.conclusion.did.startswith("Nothing came into the pool: the student trained on the seeds alone.")
    assert any("none of 16 drafts came into the pool (16 x band: too-hard)" in one for one in found.notes)


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on `src`, whose files are found from the directory at hand."""
    (tmp_path / "src").mkdir()
    for number, one in enumerate(environments_named(SEEDS)):
        (tmp_path / "src" / f"{number}.py").write_text(one.source)
    monkeypatch.chdir(tmp_path)
    return run(tmp_path / "run", data=["src"])


def keep(folder: Path) -> None:
    lines = [{"id": one.id, "source": one.source} for one in environments_named(["src"])]
    write_lines(folder / KEPT, lines)


def names(folder: Path) -> list[str]:
    return list(open_directory(folder).state.members)  # type: ignore[attr-defined]


def edit(file: Path) -> None:
    file.write_text(file.read_text().replace('"""', '"""Edited: ', 1))


def test_the_seeds_are_those_that_the_run_keeps_wherever_it_is_looked_at(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    had = names(begun)
    edit(begun.parent / "src" / "0.py")
    assert names(begun) == had
    monkeypatch.chdir("/")
    assert names(begun) == had


def test_a_run_that_lost_the_copy_of_its_seeds_says_so(begun: Path) -> None:
    (begun / KEPT).unlink()
    with pytest.raises(CorruptRun, match=r"seeds\.jsonl: is lost. Put back a copy"):
        names(begun)


@pytest.mark.parametrize("damage", ["", "{", '{"id": "e_0"}', '{"id": "e_0", "source": ["x"]}', "other"])
def test_a_damaged_copy_of_the_seeds_is_named(begun: Path, damage: str) -> None:
    if damage == "other":
        edit(begun.parent / "src" / "0.py")
        keep(begun)
    else:
        (begun / KEPT).write_text(damage)
    with pytest.raises(CorruptRun, match=r"seeds\.jsonl.*Put back a copy"):
        names(begun)
