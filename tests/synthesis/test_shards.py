"""A synthesis in shards: the dataset of one in one piece, whoever made it, died, or came twice."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.budget import BudgetConfig, Used
from evosyn.cli import group
from evosyn.dataset import SETTINGS, parquet_files, read_dataset, read_rejects
from evosyn.errors import BudgetSpent, CorruptRun, TeacherUnavailable, UnavailableError, UsageError
from evosyn.journal import Journal
from evosyn.reading.opening import open_directory
from evosyn.storage import open_storage
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.recipes.shards import synthesize_shards
from evosyn.synthesis.shards import leasing
from evosyn.synthesis.shards.crews import Alone, EndedOrder
from evosyn.synthesis.shards.leasing import Leasing, Purse, lease_events
from evosyn.synthesis.shards.orders import ShardOrder, ShardOutcome
from evosyn.synthesis.shards.scratch import private
from evosyn.synthesis.shards.seals import read_seal, sealed_shards, write_seal
from evosyn.synthesis.shards.work import work
from evosyn.teachers.cache import ReplyCache
from evosyn.view.answers import open_view
from evosyn.view.page import write_export

CONFIG = SynthesizeConfig.model_validate({"problems": 24, "solutions": 5, "testings": 4, "shards": {"size": 7}})


class Sharded:
    """Runs a synthesis in shards on the toy parts, in this process."""

    def __init__(self, toy, make_teacher) -> None:
        self.toy, self.make_teacher, self.teacher, self.told = toy, make_teacher, None, []

    def run(self, out: Path, config: SynthesizeConfig = CONFIG, teacher=None):
        self.teacher = teacher or self.make_teacher()
        self.toy.teacher, self.told = self.teacher, []

        def alone(setup):
            return Alone(setup, lambda *_: self.toy.bench())

        return self.by(out, config, alone)

    def by(self, out: Path, config: SynthesizeConfig, crew):
        return synthesize_shards(self.toy.inputs, config, self.toy.bench(), out, tell=self.told.append, crew=crew)


@pytest.fixture
def sharded(toy, make_teacher) -> Sharded:
    return Sharded(toy, make_teacher)


@pytest.fixture
def toy_teacher_that_times_out(make_teacher):
    """Answers no request for a problem in time when it is asked the first time."""

    class Slow(make_teacher):
        def __init__(self) -> None:
            super().__init__()
            self.late: set[str] = set()

        async def complete(self, request):
            reply = await super().complete(request)
            if request.purpose != "problem" or reply.id in self.late or request.sample >= 24:
                return reply
            self.late.add(reply.id)
            return replace(reply, text="", failure="timeout")

    return Slow


WANTED: list[Path] = []
"""The run that was not disturbed, made once."""


@pytest.fixture
def wanted(sharded, tmp_path_factory) -> Path:
    if not WANTED:
        WANTED.append(tmp_path_factory.mktemp("wanted") / "d")
        sharded.run(WANTED[0])
        CALLS.extend(sorted(sharded.teacher.asked))
    return WANTED[0]


CALLS: list[str] = []
"""All that it asked."""


def content(out: Path) -> dict[str, str]:
    names = [out / name for name in ("rejects.jsonl", "report.json", "dataset/README.md", "quality.png")]
    names += [file for setting in SETTINGS for file in parquet_files(out, setting)]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in names}


def test_the_rows_and_rejects_are_those_of_a_run_in_one_piece(toy, wanted, tmp_path):
    whole, report = toy.run(tmp_path / "whole", CONFIG), json.loads((wanted / "report.json").read_text())
    assert sorted(toy.teacher.asked) == CALLS
    assert whole["dropped"]["exact-duplicate"] + whole["dropped"].get("near-duplicate", 0) > 0
    for setting in SETTINGS:
        assert read_dataset(wanted, setting) == read_dataset(tmp_path / "whole", setting)
    assert read_rejects(wanted) == read_rejects(tmp_path / "whole")
    assert {**report, "cost": None, "v": 1} == {**whole, "cost": None, "v": 1}
    assert report["cost"] == pytest.approx(whole["cost"])


def test_a_call_that_fails_in_passing_changes_no_problem_between_the_phases_and_is_paid_once(
    toy, sharded, toy_teacher_that_times_out, tmp_path
):
    toy.run(tmp_path / "whole", CONFIG, toy_teacher_that_times_out())
    asked = sorted(toy.teacher.asked)
    sharded.run(tmp_path / "d", teacher=toy_teacher_that_times_out())
    assert sorted(sharded.teacher.asked) == asked
    for setting in SETTINGS:
        assert read_dataset(tmp_path / "d", setting) == read_dataset(tmp_path / "whole", setting)
    assert read_rejects(tmp_path / "d") == read_rejects(tmp_path / "whole")


@pytest.mark.parametrize("size", [1, 100])
def test_the_files_are_the_same_at_any_size_of_a_shard_but_for_the_card(sharded, wanted, tmp_path, size):
    config = CONFIG.model_copy(update={"shards": CONFIG.shards.model_copy(update={"size": size})})
    sharded.run(tmp_path / "b" / "d", config)
    first, second = content(wanted), content(tmp_path / "b" / "d")
    differ = {name for name in first if first[name] != second[name]}
    assert differ <= {"README.md", "report.json"}  # sums of dollars are made shard by shard


@pytest.mark.parametrize("stop_after", [3, 60, 150])
def test_stopped_after_any_call_it_resumes_to_the_same_dataset_and_pays_no_call_twice(
    sharded, wanted, make_teacher, tmp_path, stop_after
):
    out = tmp_path / "d"
    with pytest.raises(BudgetSpent):
        sharded.run(out, teacher=make_teacher(jitter_s=0.002, stop_after=stop_after))
    first = list(sharded.teacher.asked)
    sharded.run(out)
    assert content(out) == content(wanted)
    assert sorted(first + sharded.teacher.asked) == CALLS


def test_a_machine_that_is_lost_takes_no_reply_along(sharded, wanted, make_teacher, tmp_path):
    out = tmp_path / "d"
    with pytest.raises(BudgetSpent):
        sharded.run(out, teacher=make_teacher(stop_after=100))
    first = list(sharded.teacher.asked)
    assert list((out / "work").iterdir())
    shutil.rmtree(out / "work")  # its disk
    sharded.run(out)
    assert content(out) == content(wanted)
    assert sorted(first + sharded.teacher.asked) == CALLS


def test_what_a_killed_worker_had_not_brought_to_storage_is_taken_from_its_disk(sharded, make_teacher, tmp_path):
    out = tmp_path / "d"
    with pytest.raises(BudgetSpent):
        sharded.run(out, teacher=make_teacher(stop_after=100))
    first = list(sharded.teacher.asked)
    shutil.rmtree(out / "shards" / "replies")
    sharded.run(out)
    assert not {*first} & {*sharded.teacher.asked}


def test_a_finished_run_asks_and_executes_nothing_again(sharded, wanted):
    before = content(wanted)
    sharded.run(wanted)
    assert sharded.teacher.asked == []
    assert content(wanted) == before


def test_the_first_seal_holds_and_a_damaged_one_is_named(sharded, wanted, tmp_path):
    shutil.copytree(wanted, tmp_path / "d")
    before, storage = content(tmp_path / "d"), open_storage(str(tmp_path / "d" / "shards"))
    run = json.loads(storage.read("run.json"))["run"]
    seal = read_seal(storage, "rows", 1, run)
    assert not write_seal(storage, seal)
    storage.write(seal.file, b"something else")
    with pytest.raises(CorruptRun, match=r"its checksum differs; remove sealed/rows-000001\.json"):
        sharded.run(tmp_path / "d")
    (tmp_path / "d" / "shards" / "sealed" / "rows-000001.json").unlink()
    sharded.run(tmp_path / "d")
    assert content(tmp_path / "d") == before
    assert sharded.teacher.asked == [], "the replies are in storage"


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, '{"v": 1}', "\xff"])
def test_a_damaged_file_of_the_storage_is_named(sharded, wanted, tmp_path, text):
    shutil.copytree(wanted, tmp_path / "d")
    store = tmp_path / "d" / "shards"
    before = (store / "run.json").read_bytes()
    if text != '{"v": 1}':
        (store / "run.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(CorruptRun, match=r"run\.json: is damaged.*choose another place"):
            sharded.run(tmp_path / "d")
    (store / "run.json").write_bytes(before)
    (store / "sealed" / "rows-000001.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(CorruptRun, match=r"sealed/rows-000001\.json: is .*Remove it, and the shard is made again"):
        sharded.run(tmp_path / "d")


def test_the_seal_of_another_shard_is_refused_and_files_of_other_names_are_passed_over(sharded, wanted, tmp_path):
    shutil.copytree(wanted, tmp_path / "d")
    sealed = tmp_path / "d" / "shards" / "sealed"
    for name in ("rows-backup.json", "rows-1.json", "rows-000001.json.bak", "rows-\u0661.json", "notes.txt"):
        (sealed / name).write_text("{")
    assert sealed_shards(open_storage(str(tmp_path / "d" / "shards")), "rows") == {0, 1, 2, 3}
    sharded.run(tmp_path / "d")
    assert content(tmp_path / "d") == content(wanted)
    for other in ("problems-000000", "rows-000002"):
        (sealed / "rows-000000.json").write_bytes((sealed / f"{other}.json").read_bytes())
        with pytest.raises(CorruptRun, match=rf"sealed/rows-000000\.json: is the seal of {other}.*made again"):
            sharded.run(tmp_path / "d")


def test_shards_are_kept_in_a_bucket_as_in_a_directory(sharded, wanted, tmp_path):
    store = f"memory://{uuid.uuid4().hex}/run"
    shards = CONFIG.shards.model_copy(update={"store": store})
    sharded.run(tmp_path / "b" / "d", CONFIG.model_copy(update={"shards": shards}))
    assert not (tmp_path / "b" / "d" / "shards").exists()
    assert content(wanted) == content(tmp_path / "b" / "d")


def test_another_run_is_kept_out_of_the_storage(sharded, wanted, tmp_path):
    shards = CONFIG.shards.model_copy(update={"store": str(wanted / "shards")})
    with pytest.raises(UsageError, match="holds the shards of another run"):
        sharded.run(tmp_path / "b", CONFIG.model_copy(update={"shards": shards, "seed": 1}))


def test_what_only_a_run_in_one_piece_can_do_is_refused(sharded, tmp_path):
    dedup = CONFIG.filter.dedup.model_copy(update={"embedding": "a:b"})
    config = CONFIG.model_copy(update={"filter": CONFIG.filter.model_copy(update={"dedup": dedup})})
    with pytest.raises(UsageError, match="embedding"):
        sharded.run(tmp_path / "d", config)


@pytest.mark.parametrize(("runner", "variable"), [("ray:10.0.0.1:6379", ""), ("ray", "10.0.0.1:6379")])
def test_workers_of_a_cluster_need_a_place_that_all_reach_however_it_is_named(
    sharded, tmp_path, monkeypatch, runner, variable
):
    monkeypatch.setenv("RAY_ADDRESS", variable)
    given = {"workbench": {"sandbox": {"runner": runner}}}
    with pytest.raises(UsageError, match=r"cluster at 10\.0\.0\.1:6379 need .* shards\.store"):
        sharded.run(tmp_path / "e", SynthesizeConfig.model_validate({**CONFIG.model_dump(mode="json"), **given}))


def test_a_dataset_in_parts_with_one_missing_is_refused_by_name(sharded, tmp_path, monkeypatch):
    monkeypatch.setattr("evosyn.dataset_parts.DatasetParts.__init__.__defaults__", (3,))
    sharded.run(tmp_path / "d")
    files = parquet_files(tmp_path / "d")
    rows = read_dataset(tmp_path / "d")
    assert len(files) == -(-len(rows) // 3) > 1
    assert files[0].name == f"evosyn-00000-of-{len(files):05d}.parquet"
    assert read_dataset(files[1]) == rows[3:6]
    files[1].unlink()
    with pytest.raises(UsageError, match=r"evosyn-00001-of-\d+\.parquet: is missing"):
        read_dataset(tmp_path / "d")


# -------------------------------------------------------------------------------------------------------------- faults
class Two:
    """Two workers of this process in turn, each with a teacher and a disk of its own; implements `Crew`."""

    def __init__(self, setup, toy, teachers, disks) -> None:
        self._toy, self._given, self.did = toy, {}, []
        self._workers = {
            name: (replace(setup, scratch=str(disk)), teacher)
            for name, teacher, disk in zip("ab", teachers, disks, strict=True)
        }

    def free(self):
        return [name for name in self._workers if name not in self._given]

    def begin(self, worker, order):
        self._given[worker] = order

    def ended(self, seconds):
        if not self._given:
            time.sleep(min(seconds, 0.05))
            return []
        worker, order = self._given.popitem()
        setup, self._toy.teacher = self._workers[worker]
        outcome = work(setup, order, lambda *_: self._toy.bench())
        self.did.append((worker, outcome.status, outcome.reason))
        return [EndedOrder(worker, order, outcome)]

    def close(self):
        return None


class Dead:
    """An endpoint that nobody answers at."""

    name, simulated = "toy", True

    async def complete(self, request):
        raise TeacherUnavailable(f"nobody answers ({request.purpose})")

    async def aclose(self):
        return None


@pytest.fixture
def two(toy, make_teacher, wanted, tmp_path, monkeypatch):
    """Runs a synthesis with two workers, which ends as one without faults; what each worker did."""
    monkeypatch.setattr(leasing, "REST_S", 0.0)  # who rests is not given to by the clock

    def run(teachers, disks):
        crews = []

        def crew(setup):
            crews.append(Two(setup, toy, teachers, disks))
            return crews[0]

        toy.teacher = make_teacher()
        Sharded(toy, make_teacher).by(tmp_path / "two" / "d", CONFIG, crew)
        assert content(tmp_path / "two" / "d") == content(wanted)
        return crews[0].did

    return run


def test_of_two_endpoints_one_is_dead_and_the_other_makes_all(two, make_teacher, tmp_path):
    did = two([make_teacher(), Dead()], [tmp_path / "a", tmp_path / "b"])
    assert [status for worker, status, _ in did if worker == "b"].count("failed") == leasing.FAILURES
    assert {status for worker, status, _ in did if worker == "a"} == {"sealed"}
    assert "nobody answers" in next(reason for worker, _, reason in did if worker == "b")


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.root
def test_the_disk_of_one_machine_is_full_and_the_other_makes_all(two, make_teacher, small_disk, tmp_path):
    did = two([make_teacher(), make_teacher()], [tmp_path / "a", small_disk])
    failed = [reason for worker, status, reason in did if (worker, status) == ("b", "failed")]
    assert failed
    assert "No space left" in failed[0]


def test_a_disk_of_one_machine_cannot_be_written_and_the_other_makes_all(two, make_teacher, tmp_path):
    (tmp_path / "file").touch()
    did = two([make_teacher(), make_teacher()], [tmp_path / "a", tmp_path / "file" / "b"])
    failed = [(status, "Not a directory" in reason) for worker, status, reason in did if worker == "b"]
    assert failed == [("failed", True)] * leasing.FAILURES


def test_replies_of_one_machine_cannot_be_kept_and_the_other_makes_all(two, make_teacher, tmp_path):
    class Keeping(make_teacher):
        async def complete(self, request):
            reply = await super().complete(request)
            cache.put(reply, request)
            return reply

    cache = ReplyCache(tmp_path / "replies.sqlite")
    cache._db.execute("PRAGMA max_page_count = 2")
    did = two([make_teacher(), Keeping()], [tmp_path / "a", tmp_path / "b"])
    failed = [(status, "No space left" in reason) for _, status, reason in did if status != "sealed"]
    assert failed == [("failed", True)] * leasing.FAILURES


def test_a_machine_that_cannot_open_the_storage_fails_by_itself(sharded, toy, make_teacher, tmp_path):
    found, toy.teacher = [], make_teacher()

    def crew(setup):
        found.append(work(replace(setup, store="nowhere://x"), ShardOrder("problems", 0, "epoch")))
        return Alone(setup, lambda *_: toy.bench())

    sharded.by(tmp_path / "d", CONFIG, crew)
    assert [one.status for one in found] == ["failed"]


def test_a_worker_believes_no_temporary_files_that_others_can_write(sharded, toy, make_teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    above, found = tmp_path / f"evosyn-shards-{os.geteuid()}", []

    def planted(how):
        def crew(setup):
            how(above)
            outcome = work(replace(setup, scratch=""), ShardOrder("problems", 0, "epoch"), lambda *_: toy.bench())
            found.append((outcome.status, outcome.reason))
            return Alone(setup, lambda *_: toy.bench())

        return crew

    toy.teacher = make_teacher()
    for name, how in {
        "open": lambda place: (place.mkdir(), place.chmod(0o777)),
        "group": lambda place: (place.rmdir(), place.mkdir(), place.chmod(0o770)),
        "file": lambda place: (place.rmdir(), place.touch()),
        "link": lambda place: (place.unlink(), (tmp_path / "theirs").mkdir(), place.symlink_to(tmp_path / "theirs")),
    }.items():
        sharded.by(tmp_path / name, CONFIG.model_copy(update={"problems": 1}), planted(how))
        assert found[-1][0] == "failed" and "not believed; remove it, or name a place" in found[-1][1]
    sharded.by(tmp_path / "own", CONFIG.model_copy(update={"problems": 1}), planted(lambda place: place.unlink()))
    assert found[-1] == ("sealed", "") and above.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_private_directory_of_another_user_is_refused(tmp_path):
    assert private(tmp_path / "own") == private(tmp_path / "own") == tmp_path / "own"
    private(tmp_path / "theirs")
    os.chown(tmp_path / "theirs", 65534, 65534)
    with pytest.raises(UnavailableError, match="theirs: is not a directory that this user alone can write to"):
        private(tmp_path / "theirs")


def test_a_machine_that_is_slow_changes_nothing_but_the_time(two, make_teacher, tmp_path):
    did = two([make_teacher(), make_teacher(jitter_s=0.02)], [tmp_path / "a", tmp_path / "b"])
    assert {status for _, status, _ in did} == {"sealed"}
    assert {worker for worker, _, _ in did} == {"a", "b"}


# -------------------------------------------------------------------------------------------------------------- leases
class Scripted:
    """Workers that do what a list says; implements `Crew`."""

    def __init__(self, says, workers) -> None:
        self._says, self._workers, self._given, self.orders = says, workers, {}, []

    def free(self):
        return [name for name in self._workers if name not in self._given]

    def begin(self, worker, order):
        self._given[worker] = order
        self.orders.append((worker, order))

    def ended(self, seconds):  # noqa: ARG002
        given, self._given = self._given, {}
        return [EndedOrder(worker, order, self._says(worker, order)) for worker, order in given.items()]

    def close(self):
        return None


def finish(tmp_path, says, limits=BudgetConfig(), shards=4, workers="ab", sealed=lambda *_: True):  # noqa: B008
    crew, events = Scripted(says, workers), lease_events(Journal(tmp_path / "journal.jsonl"))
    events.begin({"kind": "test"})
    Leasing(crew, events, limits, lambda _: None, sealed).finish("rows", shards, set())
    return crew.orders


def test_a_shard_of_a_dead_worker_goes_to_another_under_another_epoch(tmp_path):
    died = []

    def says(_, order):
        if order.shard == 1 and not died:
            died.append(order.epoch)
            return ShardOutcome("died", "killed")
        return ShardOutcome("sealed", used=Used())

    orders = finish(tmp_path, says)
    again = [order for _, order in orders if order.shard == 1]
    assert len(again) == 2
    assert again[0].epoch != again[1].epoch


def test_a_worker_that_fails_again_and_again_gets_no_more_and_the_others_finish(tmp_path, monkeypatch):
    monkeypatch.setattr(leasing, "REST_S", 0.0)
    orders = finish(
        tmp_path, lambda worker, _: ShardOutcome("failed" if worker == "a" else "sealed", "no disk", Used()), shards=9
    )
    assert sum(worker == "a" for worker, _ in orders) == leasing.FAILURES
    with pytest.raises(UnavailableError, match="no worker is left"):
        finish(tmp_path / "all", lambda *_: ShardOutcome("failed", "no disk", Used()))


def test_a_shard_that_kills_its_workers_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(leasing, "REST_S", 0.0)
    monkeypatch.setattr(leasing, "FAILURES", 100)
    with pytest.raises(UnavailableError, match="rows-000002: 5 workers died of it"):
        finish(tmp_path, lambda _, order: ShardOutcome("died" if order.shard == 2 else "sealed", "killed", Used()))


def test_a_shard_is_sealed_once_its_seal_is_seen_from_here_whatever_a_worker_says(tmp_path, monkeypatch):
    monkeypatch.setattr(leasing, "REST_S", 0.0)
    here = set()

    def says(worker, order):
        if worker == "a":
            here.add(order.shard)  # "b" writes to its own disk
        return ShardOutcome("sealed", used=Used())

    orders = finish(tmp_path, says, shards=9, sealed=lambda _, shard: shard in here)
    assert here == set(range(9))
    assert sum(worker == "b" for worker, _ in orders) == leasing.FAILURES

    def unread(*_):
        raise OSError("the bucket does not answer")

    with pytest.raises(UnavailableError, match="the bucket does not answer"):
        finish(tmp_path / "none", says, sealed=unread)


def needing(each):
    """Workers that bring a shard to its seal with so many calls, over as many orders as that takes."""
    made = Counter()

    def says(_, order):
        use = min(order.budget.max_calls, each - made[order.shard])
        made[order.shard] += use
        status = "sealed" if made[order.shard] == each else "spent"
        return ShardOutcome(status, f"budget max_calls = {order.budget.max_calls} is spent", Used(max_calls=use))

    return says, made


def test_the_first_orders_are_lent_equal_parts(tmp_path):
    says, _ = needing(25)
    orders = finish(tmp_path, says, BudgetConfig(max_calls=90), 3, "abc")
    assert [order.budget.max_calls for _, order in orders] == [30, 30, 30]


@pytest.mark.parametrize("workers", ["a", "abc", "abcdef"])
@pytest.mark.parametrize("over", [-1, 0, 1, 40])
def test_a_run_ends_for_its_budget_where_it_is_spent_and_nowhere_else(tmp_path, workers, over):
    says, made = needing(25)
    if over < 0:
        with pytest.raises(BudgetSpent, match=r"max_calls = 124 \(used 124\)"):
            finish(tmp_path, says, BudgetConfig(max_calls=125 + over), 5, workers)
    else:
        finish(tmp_path, says, BudgetConfig(max_calls=125 + over), 5, workers)
    assert made.total() == min(125, 125 + over)


def test_after_a_seal_workers_work_at_the_same_time_again(tmp_path):
    spent, at_once = [], []

    def says(worker, _):
        if len(spent) < 2:
            spent.append(worker)
            return ShardOutcome("spent", "too small a part", Used())
        return ShardOutcome("sealed", used=Used(max_calls=1))

    class Watched(Scripted):
        def ended(self, seconds):
            at_once.append(len(self._given))
            return super().ended(seconds)

    events = lease_events(Journal(tmp_path / "journal.jsonl"))
    events.begin({"kind": "test"})
    crew, limits = Watched(says, "ab"), BudgetConfig(max_calls=90)
    Leasing(crew, events, limits, lambda _: None, lambda *_: True).finish("rows", 5, set())
    assert at_once == [2, 1, 2, 2]


def test_a_worker_that_comes_waits_for_what_the_others_leave_over():
    purse = Purse(BudgetConfig(max_calls=90))
    assert [purse.take(epoch, 2).max_calls for epoch in "ab"] == [45, 45]
    assert purse.take("c", 3) is None
    purse.give_back("a", Used(max_calls=25))
    assert purse.take("d", 3).max_calls == 20


def test_what_workers_spend_together_never_passes_the_limit(tmp_path):
    spent = []

    def says(_, order):
        use = min(order.budget.max_calls, 7)
        spent.append(use)
        return ShardOutcome("sealed" if use == 7 else "spent", "budget", Used(max_calls=use))

    with pytest.raises(BudgetSpent):
        finish(tmp_path, says, BudgetConfig(max_calls=31), shards=8)
    assert 31 - 7 < sum(spent) <= 31


def test_a_dead_worker_has_spent_all_that_it_was_given():
    purse = Purse(BudgetConfig(max_cost=3.0, max_calls=10))
    assert purse.take("a", 2) == BudgetConfig(max_cost=1.5, max_calls=5)
    purse.give_back("a", None)
    assert purse.take("b", 1) == BudgetConfig(max_cost=1.5, max_calls=5)
    purse.give_back("b", Used(0.5, 0, 2))
    assert purse.take("c", 1) == BudgetConfig(max_cost=1.0, max_calls=3)


# ------------------------------------------------------------------------------------------------------------- reading
def test_a_run_that_was_stopped_says_how_far_it_is_and_who_lost_what(sharded, make_teacher, tmp_path):
    with pytest.raises(BudgetSpent):
        sharded.run(tmp_path / "d", teacher=make_teacher(stop_after=100))
    found = open_directory(tmp_path / "d").overview()
    tables = {table.title: table.rows for table in found.tables}
    assert not found.finished
    assert found.conclusion.did.startswith("Not finished, sealed: 4 of 4 shards of problems, ")
    (made, rows) = tables["shards"]
    assert made[:4] == ("problems", 4, 4, 24)
    assert rows[1] < 4
    assert tables["came back"][0][:3] == ("rows", "spent", 1)
    assert tables["workers"][0][1] == "rows"
    for text in ("{", "[]", "{}", '{"worker": "a", "phase": []}'):
        (tmp_path / "d" / "shards" / "progress" / "a.json").write_text(text)
        with pytest.raises(CorruptRun, match=r"progress/a\.json: is damaged.*Remove it"):
            open_directory(tmp_path / "d").overview()


def test_inspect_shows_a_finished_run_and_the_story_of_each_of_its_problems(wanted, tmp_path):
    report, reading = json.loads((wanted / "report.json").read_text()), open_directory(wanted)
    found = reading.overview()
    dropped = dict(next(table.rows for table in found.tables if table.title == "dropped"))
    assert dropped == report["dropped"]
    assert found.facts["kept"] == report["kept"]
    row = read_dataset(wanted)[-1]
    story = reading.why(row.id)
    assert story.problem.problem_id == row.problem_id
    assert row.statement in [reply.text for reply in story.replies if reply.became == "problem"]
    assert reading.matrix(row.problem_id).digest == row.matrix_digest
    for option in ((), ("--sample", "2"), ("--why", "syn-000009"), ("--matrix", row.problem_id), ("--json",)):
        done = CliRunner().invoke(group, ["inspect", str(wanted), *option])
        assert done.exit_code == 0, done.output
    with pytest.raises(UsageError, match="no such sample"):
        reading.why("syn-000024")
    write_export(open_view(wanted), tmp_path / "page.html")
    assert "zero-variance" in (tmp_path / "page.html").read_text()
