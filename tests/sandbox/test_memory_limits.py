"""Memory of all workers and of a worker as a whole: what fits, what is bounded by whom, and who is blamed."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.errors import UsageError
from evosyn.jobs import Call, CallsJob, Check, ChecksJob, Limits, Protection, Status
from evosyn.sandbox import _groups, _jail, _memory, _owners, _places, _watch
from evosyn.sandbox._machine import Machine
from evosyn.sandbox.local import LocalSandbox

pytestmark = pytest.mark.slow

NOBODYS = Protection("local", "weak", "test")


def machine(total_mb: int, available_mb: int | None = None, root: Path | None = None) -> Machine:
    """A machine of that size, without control groups."""
    found = Machine(root or Path("/nowhere"), [])
    object.__setattr__(found, "_meminfo", {"MemTotal": total_mb << 20, "MemAvailable": (available_mb or 0) << 20}.get)
    return found


@given(cores=st.integers(1, 512), memory_mb=st.integers(64, 65536), total_mb=st.integers(256, 4 << 20))
def test_the_default_number_of_workers_fits_the_machine(cores: int, memory_mb: int, total_mb: int) -> None:
    found = _memory.fitting_workers(cores, memory_mb, machine(total_mb))
    assert 1 <= found <= cores
    assert found == 1 or found * 2 * memory_mb <= total_mb
    assert found == 1 or _memory.over_commit(found, memory_mb, machine(total_mb)) is None
    assert found == cores or _memory.over_commit(found + 1, memory_mb, machine(total_mb)) is not None


def test_more_workers_than_fit_are_warned_of_with_both_numbers_and_a_way_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_memory, "Machine", lambda: machine(16384))
    with caplog.at_level(logging.WARNING, "evosyn"):
        assert _memory.chosen_workers(64) == 64
    assert "workers=64 may use 131072 MB" in caplog.text
    assert "can give 15872 MB: use workers=7 or less, or a smaller memory_mb" in caplog.text
    caplog.clear()
    assert _memory.chosen_workers(7) == 7
    assert _memory.chosen_workers(None) == min(7, len(os.sched_getaffinity(0)))
    assert caplog.text == ""
    with pytest.raises(UsageError, match="workers=0"):
        _memory.chosen_workers(0)


def test_jobs_with_more_memory_than_the_workers_were_counted_with_are_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = _memory.Memory(8, _watch.Watch(machine(32768)))
    with caplog.at_level(logging.WARNING, "evosyn"):
        memory.allow(0, 1024)
        assert caplog.text == ""
        memory.allow(0, 4096)
        memory.allow(1, 8192)
    assert caplog.text.count("workers=8 may use 65536 MB") == 1


# ------------------------------------------------------------------------------------ a machine that stands in for ours


class Standin:
    """Files that stand in for `/proc` and the control groups of a machine; processes in it are our own ones."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.proc = root / "proc"
        (self.proc / "self").mkdir(parents=True)
        self.mounts: list[str] = []
        self.groups: list[str] = []
        self.meminfo(16 << 20, 8 << 20)

    def meminfo(self, total_kb: int, available_kb: int) -> None:
        (self.proc / "meminfo").write_text(f"MemTotal: {total_kb} kB\nMemFree: 1 kB\nMemAvailable: {available_kb} kB\n")

    def mount(self, kind: str, options: str, path: str, shown: str = "/") -> Path:
        """A tree at `/sys/fs/cgroup/OPTIONS`, of which `shown` and what lies below is mounted; we are in `path`."""
        place = self.root / "cgroup" / options.replace(",", "-")
        place.mkdir(parents=True, exist_ok=True)
        names = "" if kind == "cgroup2" else options
        self.mounts.append(f"30 1 0:26 {shown} {place} rw,nosuid shared:1 - {kind} {kind} rw,{names}")
        self.groups.append(f"{len(self.groups)}:{names}:{path}")
        (self.proc / "self" / "mountinfo").write_text("\n".join(["1 0 0:1 / / rw - ext4 /dev/x rw", *self.mounts]))
        (self.proc / "self" / "cgroup").write_text("\n".join(self.groups))
        own = place / os.path.relpath(path, shown)
        own.mkdir(parents=True, exist_ok=True)
        return own

    def machine(self) -> Machine:
        from evosyn.sandbox._machine import hierarchies

        return Machine(self.proc, hierarchies(self.proc))

    def make(self) -> _groups.Groups | None:
        for place in _places.places(self.machine().trees):
            groups = _places.make(place, remove)
            if groups is not None:
                return groups
        return None


def remove(group: Path) -> None:
    """As the kernel does: its own files do not count, processes and groups below do."""
    if not group.exists():
        raise FileNotFoundError(group)
    if any(path.is_dir() for path in group.iterdir()):
        raise OSError("there are groups below")
    for path in group.iterdir():
        path.unlink()
    group.rmdir()


def fill(group: Path, **files: str) -> None:
    for name, text in files.items():
        (group / name.replace("__", ".")).write_text(text)


def refuse(group: Path, name: str) -> None:
    """Writing to this file fails."""
    (group / name).mkdir()


@pytest.fixture
def standin(tmp_path: Path) -> Standin:
    return Standin(tmp_path)


def test_memory_is_the_machines_where_no_group_allows_less(standin: Standin) -> None:
    standin.mount("cgroup2", "unified", "/user.slice/a.scope")
    assert standin.machine().total_mb == 16384
    assert standin.machine().available_mb() == 8192


def test_memory_is_what_the_group_above_us_allows_with_version_2(standin: Standin) -> None:
    own = standin.mount("cgroup2", "unified", "/limited.slice/a.scope")
    fill(own, memory__max="max\n", memory__current=f"{1 << 30}\n")
    fill(own.parent, memory__max=f"{4 << 30}\n", memory__current=f"{3 << 30}\n")
    fill(own.parent, memory__stat=f"anon 5\ninactive_file {512 << 20}\n")
    assert standin.machine().total_mb == 4096
    assert standin.machine().available_mb() == 1536


def test_memory_is_what_a_container_allows_with_version_1(standin: Standin) -> None:
    standin.mount("cgroup", "cpu,cpuacct", "/docker/abc", shown="/docker/abc")
    own = standin.mount("cgroup", "memory", "/docker/abc", shown="/docker/abc")
    assert own == standin.root / "cgroup" / "memory"
    fill(own, memory__limit_in_bytes=f"{2 << 30}\n", memory__usage_in_bytes=f"{1 << 30}\n")
    fill(own, memory__stat="cache 1\ntotal_inactive_file 0\n")
    assert standin.machine().total_mb == 2048
    assert standin.machine().available_mb() == 1024
    fill(own, memory__limit_in_bytes="9223372036854771712\n")
    assert standin.machine().total_mb == 16384


def test_a_group_that_cannot_be_seen_from_here_says_nothing(standin: Standin) -> None:
    standin.mount("cgroup2", "unified", "/../../system.slice/docker.service")
    assert standin.machine().trees == []
    assert standin.machine().total_mb == 16384


def test_with_version_1_a_worker_gets_a_group_below_ours_in_both_trees(standin: Standin) -> None:
    memory, pids = (standin.mount("cgroup", name, "/user/session") for name in ("memory", "pids"))
    fill(memory, memory__use_hierarchy="1", memory__limit_in_bytes="9223372036854771712")
    groups = standin.make()
    assert groups is not None
    command = groups.enter(3)
    assert groups.allow(3, 700)
    process = subprocess.run([*command, "/bin/sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    for tree in (memory, pids):
        (ours,) = tree.glob("evosyn-*")
        assert (ours / "3" / "cgroup.procs").read_text() == process.stdout
    assert (groups.folders[0] / "3" / "memory.limit_in_bytes").read_text() == str(700 << 20)
    assert (groups.folders[0] / "3" / "memory.memsw.limit_in_bytes").read_text() == str(700 << 20)
    assert (groups.folders[1] / "3" / "pids.max").read_text() == str(_groups.PIDS)
    groups.close()
    assert [*memory.glob("evosyn-*"), *pids.glob("evosyn-*")] == []


def test_a_worker_that_cannot_enter_its_group_does_not_start_and_says_why(standin: Standin) -> None:
    standin.mount("cgroup2", "unified", "/delegated")
    groups = standin.make()
    assert groups is not None
    command = groups.enter(0)
    refuse(groups.folders[0] / "0", "cgroup.procs")
    done = subprocess.run([*command, "/bin/echo", "begun"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "begun" not in done.stdout and "cgroup.procs" in done.stderr
    groups.close()


def test_with_version_1_nothing_is_made_below_a_limit_that_would_not_count_it(standin: Standin) -> None:
    own = standin.mount("cgroup", "memory", "/user")
    fill(own, memory__use_hierarchy="0", memory__limit_in_bytes=str(1 << 30))
    assert _places.places(standin.machine().trees) == []


def test_with_version_2_our_own_group_is_divided_where_it_lets_us(standin: Standin) -> None:
    own = standin.mount("cgroup2", "unified", "/delegated")
    groups = standin.make()
    assert groups is not None
    assert groups.folders[0].parent == own
    assert "+memory" in (own / "cgroup.subtree_control").read_text()
    assert "+memory" in (groups.folders[0] / "cgroup.subtree_control").read_text()
    groups.enter(0)
    assert groups.allow(0, 100)
    assert (groups.folders[0] / "0" / "memory.max").read_text() == str(100 << 20)
    assert (groups.folders[0] / "0" / "memory.swap.max").read_text() == "0"
    groups.close()
    assert [*own.glob("evosyn-*")] == []


def test_with_version_2_we_go_into_the_group_beside_where_ours_holds_others(standin: Standin) -> None:
    own = standin.mount("cgroup2", "unified", "/app.slice/terminal.scope")
    refuse(own, "cgroup.subtree_control")
    fill(own, cgroup__procs=f"1\n{os.getpid()}\n")
    fill(own.parent, cgroup__subtree_control="cpu memory pids\n")
    groups = standin.make()
    assert groups is not None
    assert groups.folders[0].parent == own.parent
    assert [*own.glob("evosyn-*")] == [], "processes of others are not moved, nor are we"
    groups.close()


def test_with_version_2_no_limit_above_us_is_left_behind(standin: Standin) -> None:
    own = standin.mount("cgroup2", "unified", "/app.slice/limited.scope")
    refuse(own, "cgroup.subtree_control")
    fill(own, cgroup__procs="1\n", memory__max=str(1 << 30))
    fill(own.parent, cgroup__subtree_control="memory pids\n")
    assert standin.make() is None
    fill(own, memory__max="max\n", cpu__max="50000 100000\n")
    assert standin.make() is None
    fill(own, cpu__max="max 100000\n")
    groups = standin.make()
    assert groups is not None
    groups.close()


def test_with_version_2_there_are_no_groups_where_nobody_divides(standin: Standin) -> None:
    own = standin.mount("cgroup2", "unified", "/container")
    for group in (own, own.parent):
        refuse(group, "cgroup.subtree_control")
    fill(own, cgroup__procs="1\n")
    assert standin.make() is None
    assert [*own.glob("evosyn-*")] == []


def test_what_a_dead_owner_left_is_removed_and_what_a_living_one_has_is_not(standin: Standin) -> None:
    own = standin.mount("cgroup2", "unified", "/delegated")
    first = standin.make()
    assert first is not None
    first.enter(0)
    words = first.folders[0].name.split("-")
    dead = own / "-".join([words[0], words[1], "1", words[3], "0"])
    elsewhere = own / "-".join([words[0], words[1], "1", "12345", "0"])
    for folder in (dead, elsewhere):
        (folder / "0").mkdir(parents=True)
    second = standin.make()
    assert second is not None
    assert not dead.exists()
    assert elsewhere.exists(), "its numbers mean other processes"
    assert first.folders[0].exists()
    for groups in (first, second):
        groups.close()


# ------------------------------------------------------------------------------------------- the groups of this machine


@pytest.fixture
def groups() -> Iterator[_groups.Groups]:
    for place in _places.places(Machine().trees):
        found = _places.make(place)
        if found is not None:
            yield found
            found.close()
            assert not any(folder.exists() for folder in found.folders)
            return
    pytest.skip("no control groups to be had here")


def test_a_group_holds_over_processes_and_files_in_memory(groups: _groups.Groups) -> None:
    assert _groups.hold(groups)


def test_a_group_that_is_too_large_is_seen_not_to_hold(groups: _groups.Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_groups.Groups, "allow", lambda *_: True)
    assert not _groups.hold(groups)


@pytest.mark.usefixtures("groups")
def test_groups_of_an_owner_that_was_killed_are_removed_by_the_next() -> None:
    script = (
        "import os, signal\n"
        "from evosyn.sandbox import _memory\n"
        "groups = _memory.open_memory(1).bounds\n"
        "groups.enter(0)\n"
        "print(groups.folders[0], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.is_dir() and (left / "0").is_dir()
    _places.remove_leftovers(left.parent)
    assert not left.exists()


def test_what_another_process_removes_at_the_same_time_ends_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        (tmp_path / f"evosyn-1{number}-7-{_places._namespace()}-0").mkdir()

    def ended(owner: str) -> bool:
        for folder in tmp_path.glob(f"evosyn-{owner}-*"):
            folder.rmdir()
        return False

    monkeypatch.setattr(_owners, "is_alive", ended)
    _places.remove_leftovers(tmp_path)
    assert not list(tmp_path.iterdir())


BIG = "held = bytearray(b'x') * (170 << 20)\ndef f(x):\n    return x"
HUNGRY = """
import time
held = bytearray(b"x") * (110 << 20)
until = time.process_time() + 1
while time.process_time() < until:
    pass
assert f(1) == 1
"""
SMALL = Limits(cpu_s=5.0, budget_s=20.0, memory_mb=300)


def opened(memory: _memory.Memory, kind: _jail.JailKind) -> LocalSandbox:
    return LocalSandbox(_jail.launcher(_jail.JailSpec(kind), memory.enter), NOBODYS, 1, memory)


KINDS = ["bare", *(["bwrap"] if _jail.bwrap_path() else [])]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", ["groups", "watch"])
def test_two_processes_over_the_share_of_a_worker_are_killed_and_the_rest_goes_on(
    bound: str, kind: _jail.JailKind, request: pytest.FixtureRequest
) -> None:
    memory = _memory.Memory(1, share=lambda _: 230)
    if bound == "groups":
        memory.bounds = request.getfixturevalue("groups")
        memory.watch = _watch.Watch(replace(memory.watch.machine, proc=Path("/nowhere")), 0)
    with opened(memory, kind) as sandbox:
        checks = (Check("assert f(1) == 1"), Check(HUNGRY), Check("import math\nassert math.sqrt(f(4)) == 2"))
        for program in (BIG, "def f(x):\n    return x"):
            ((plain, hungry, last), (after,)) = sandbox.run(
                [ChecksJob(program, "f", checks, SMALL), CallsJob("def f(x): return x", "f", (Call((7,)),))]
            )
            assert (plain.status, last.status, after.value) == (Status.OK, Status.OK, 7)
            if program is BIG:
                assert hungry.status is Status.KILLED
                assert "memory" in hungry.detail
            else:
                assert hungry.status is Status.OK


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_machine_that_is_short_of_memory_a_big_job_is_tried_again_and_nobody_is_blamed(
    kind: _jail.JailKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_watch, "WORTH_MB", 150)
    memory = _memory.Memory(1, _watch.Watch(reserve_mb=1 << 40))
    with opened(memory, kind) as sandbox:
        waiting = f"{BIG}\ndef g(x):\n    while True: pass"
        ((big,), (small,)) = sandbox.run(
            [
                CallsJob(waiting, "g", (Call((1,)),), replace(SMALL, cpu_s=8.0)),
                CallsJob("def f(x):\n    return sum(range(10**7)) and x", "f", (Call((3,)),)),
            ]
        )
    assert big.status is Status.INFRASTRUCTURE
    assert "short of memory" in big.detail
    assert small.value == 3


# ------------------------------------------------------------------------------------------------------------ the watch


class Processes:
    """Files that stand in for `/proc`: processes with a size and children."""

    def __init__(self, proc: Path, available_mb: int) -> None:
        self.proc = proc
        proc.mkdir(exist_ok=True)
        (proc / "meminfo").write_text(f"MemTotal: {8 << 20} kB\nMemAvailable: {available_mb << 10} kB\n")

    def add(self, pid: int, size_mb: int, children: list[int], own_mb: int | None = None) -> None:
        folder = self.proc / str(pid)
        (folder / "task" / str(pid)).mkdir(parents=True)
        (folder / "task" / str(pid) / "children").write_text(" ".join(map(str, children)))
        (folder / "statm").write_text(f"1 {(size_mb << 20) // os.sysconf('SC_PAGE_SIZE')} 0 0 0 0 0")
        (folder / "stat").write_text(f"{pid} (py) S {'0 ' * 18}{pid}7 0")
        if own_mb is not None:
            (folder / "smaps_rollup").write_text(f"0-1 [rollup]\nRss: 1 kB\nPss: {own_mb << 10} kB\n")

    def watch(self, reserve_mb: int = 256) -> _watch.Watch:
        return _watch.Watch(Machine(self.proc, []), reserve_mb)


def test_the_biggest_process_of_a_worker_over_its_share_is_named(tmp_path: Path) -> None:
    seen = Processes(tmp_path, 4096)
    seen.add(10, 5, [11])
    seen.add(11, 20, [12, 13])
    seen.add(12, 600, [])
    seen.add(13, 700, [])
    seen.add(20, 900, [])
    assert seen.watch().over({10: 1400, 20: 1400}) == []
    assert seen.watch().over({10: 1300, 20: 1400}) == [_watch.Over(10, 13, "137", 1325)]
    assert seen.watch().over({10: 1300, 99: 1}) == [_watch.Over(10, 13, "137", 1325)]


def test_memory_that_processes_share_counts_once_where_the_kernel_tells(tmp_path: Path) -> None:
    seen = Processes(tmp_path, 4096)
    seen.add(10, 400, [11, 12], own_mb=140)
    seen.add(11, 400, [], own_mb=140)
    seen.add(12, 400, [], own_mb=140)
    assert seen.watch().over({10: 500}) == []
    assert [over.own_fault for over in seen.watch().over({10: 400})] == [True]


def test_the_biggest_worker_is_named_where_the_machine_is_short(tmp_path: Path) -> None:
    seen = Processes(tmp_path, 100)
    seen.add(10, 300, [])
    seen.add(20, 10, [21])
    seen.add(21, 500, [])
    assert seen.watch(reserve_mb=100).over({10: 9999, 20: 9999}) == []
    (over,) = seen.watch(reserve_mb=101).over({10: 9999, 20: 9999})
    assert (over.worker, over.pid, over.own_fault) == (20, 20, False)
    assert seen.watch(reserve_mb=101).over({}) == []


def test_small_workers_are_left_alone_where_others_use_up_the_machine(tmp_path: Path) -> None:
    seen = Processes(tmp_path, 10)
    seen.add(10, 100, [])
    assert seen.watch(reserve_mb=512).over({10: 9999}) == []


@given(data=st.data())
def test_nothing_within_its_share_is_ever_named_on_a_machine_that_has_enough(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    seen = Processes(tmp_path_factory.mktemp("proc"), 4096)
    sizes: dict[int, list[int]] = {}
    for worker in range(100, 100 + 10 * data.draw(st.integers(1, 4)), 10):
        sizes[worker] = data.draw(st.lists(st.integers(0, 500), min_size=1, max_size=5))
        pids = range(worker, worker + len(sizes[worker]))
        for pid, size in zip(pids, sizes[worker], strict=True):
            seen.add(pid, size, [pid + 1] if pid + 1 in pids else [])
    shares = {worker: data.draw(st.integers(0, 2000)) for worker in sizes}
    named = {over.worker: over.pid for over in seen.watch().over(shares)}
    assert named.keys() == {one for one, found in sizes.items() if sum(found) > shares[one] and len(found) > 1}
    for worker, pid in named.items():
        assert sizes[worker][pid - worker] == max(sizes[worker][1:])


def test_a_number_that_means_another_process_by_now_is_not_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    began = _watch._owners.started(process.pid)
    assert not _watch.end(_watch.Over(1, process.pid, str(int(began) - 1), 0))
    assert process.poll() is None
    assert _watch.end(_watch.Over(1, process.pid, began, 0))
    assert process.wait(10) == -9
    assert not _watch.end(_watch.Over(1, process.pid, began, 0))


def test_looking_takes_a_small_part_of_the_time() -> None:
    memory = _memory.Memory(1)
    until = time.monotonic() + 0.6
    looks = 0
    while time.monotonic() < until:
        if not memory.pause_s:
            memory.look({0: os.getpid()})
            looks += 1
        time.sleep(0.01)
    assert 1 <= looks <= 3
