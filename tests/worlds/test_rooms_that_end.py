"""What runs in a room may end all that runs there: that costs its own command, and neither the room nor anybody else."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from evosyn.errors import SandboxUnavailable, StateTooLarge, UnavailableError
from evosyn.jobs import Limits, ShellCell, ShellJob, ShellScript, Status
from evosyn.shell_world import ShellWorld
from evosyn.worlds.shell import ShellWorlds, open_shells
from evosyn.worlds.shell.images import Image
from evosyn.worlds.shell.keeping import KeeperProcess
from evosyn.worlds.shell.kind import Replay
from evosyn.worlds.shell.sessions import ShellSession

WORLD = ShellWorld()
ENDING = {
    "an interrupt for the first process": "kill -INT 1",
    "every signal for everybody": "kill -INT 1; kill -HUP 1; kill -TERM 1; kill -9 1; kill -9 -1",
    "no open files for the first process": "prlimit --pid 1 --nofile=3 2>&1; prlimit --pid 1 --fsize=0 2>&1",
    "the folder in which it works": "mkdir /root/x; cd /root/x; rm -rf /root",
    "what the shell reads from": "exec 255<&- 8<&-",
    "a shell that stands still": "kill -STOP $$",
}


@pytest.mark.parametrize("case", ENDING)
def test_a_room_goes_on_whatever_an_agent_ends(case: str, shells: ShellWorlds) -> None:
    with shells.open(WORLD) as session:
        session.act("echo kept > /srv/k")
        assert session.act(ENDING[case], 2.0).ended != "lost"
        if "kept" not in (seen := session.act("cat /srv/k", 8.0)).out:  # one that stands still is told apart later
            seen = session.act("cat /srv/k", 8.0)
        assert seen.out == "kept\n"
        assert session.freeze()


def test_the_limits_of_another_process_are_not_a_rooms_to_set(shells: ShellWorlds) -> None:
    with shells.open(WORLD) as session:
        seen = session.act("prlimit --pid 1 --nofile=3 2>&1; prlimit --nofile=50 bash -c 'ulimit -n'")
        assert "not permitted" in seen.out
        assert session.act("ulimit -n 40; ulimit -n").out == "40\n"


def test_a_room_whose_first_process_is_gone_begins_anew_over_its_files(shells: ShellWorlds) -> None:
    """As the kernel does it where memory is short, which the room has used up."""
    with shells.open(WORLD) as session:
        session.act("echo kept > /srv/k; cd /srv")
        for tried in range(2):
            os.kill(first_process(session._keeper.pid), signal.SIGKILL)
            seen = session.act("cat /srv/k")
            assert (seen.ended, seen.restarted, seen.exit) == ("shell ended", True, None), tried
            assert session.act("cat /srv/k").out == "kept\n"
        os.kill(first_process(session._keeper.pid), signal.SIGKILL)
        assert shells.kept(session.freeze())


def first_process(keeper: int) -> int:
    """Of the room that a keeper has open: the innermost one that is the first of its own numbers."""
    line, found = [keeper], keeper
    while children := Path(f"/proc/{line[-1]}/task/{line[-1]}/children").read_text().split():
        line.append(int(children[0]))
        if Path(f"/proc/{line[-1]}/status").read_text().partition("NSpid:")[2].splitlines()[0].endswith("\t1"):
            found = line[-1]
    return found


def test_a_cell_that_ends_everything_is_its_own_and_those_beside_it_are_seen(shells: ShellWorlds) -> None:
    cells = tuple(ShellCell(ShellScript(code)) for code in ("kill -INT 1; kill -9 -1; kill -9 $$", "echo well"))
    ended, well = shells.run([ShellJob(WORLD.text, cells, None, Limits(cpu_s=2.0, wall_s=8.0))])[0]
    assert (ended.status, well.status) == (Status.KILLED, Status.OK)
    assert well.value["out"] == "well\n"


def test_what_is_told_to_a_script_arrives_whatever_it_is(shells: ShellWorlds) -> None:
    told = ("half \ud800", "", "\u20ac" * 20_000, "line\nline")
    (seen,) = shells.run([ShellJob(WORLD.text, (ShellCell(ShellScript('echo "$#,$2,${#3},$4"'), told),))])[0]
    assert seen.value["out"] == "4,,20000,line\nline\n"


@pytest.mark.parametrize(("times", "wanted"), [(1, Status.OK), (9, Status.INFRASTRUCTURE)])
def test_rooms_of_ours_that_are_lost_while_work_is_done_again_end_no_run(
    times: int, wanted: Status, shells: ShellWorlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay, left = type(shells).replay, [times]

    def frail(self: ShellWorlds, world: ShellWorld, actions: Sequence[str]) -> Replay:
        left[0] -= 1
        if left[0] >= 0:
            raise UnavailableError("gone")
        return replay(self, world, actions)

    monkeypatch.setattr(type(shells), "replay", frail)
    job = ShellJob(WORLD.text, (ShellCell(ShellScript('echo "$1"')),), actions=("echo well",), says=True)
    assert {one.status for one in shells.run([job])[0]} == {wanted}


def test_a_world_whose_start_fails_is_refused_before_anybody_is_sent_there(shells: ShellWorlds) -> None:
    world = ShellWorld(init=(ShellScript("touch /root/a"),), start=ShellScript("exit 3"))
    assert shells.trial(world).startswith("init-fails: the start script")
    job = ShellJob(world.text, (ShellCell(ShellScript("true")),), actions=("true",), says=True)
    assert {one.status for one in shells.run([job])[0]} == {Status.LOAD_ERROR}


# ------------------------------------------------------------------------------------------------- of whom it is
STARTED = ShellWorld(init=(ShellScript("touch /root/a"),), start=ShellScript("sleep 0.1; touch /root/b"))


@pytest.fixture
def own(cache: Path) -> Iterator[ShellWorlds]:
    """Shell worlds with keepers of their own, one after the other."""
    assert cache.is_dir()
    try:
        opened = open_shells(workers=1)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with opened:
        yield opened


def lose_rooms(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """End the keepers of the next rooms in the middle of their start scripts."""
    act, left = ShellSession.act, [times]

    def frail(self: ShellSession, action: str, wall_s: float = 20.0) -> object:
        left[0] -= 1
        if left[0] >= 0:
            os.kill(self._keeper.pid, signal.SIGKILL)
        return act(self, action, wall_s)

    monkeypatch.setattr(ShellSession, "act", frail)


def test_a_room_that_is_lost_while_it_starts_is_none_whose_start_fails(
    own: ShellWorlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_rooms(1, monkeypatch)
    with pytest.raises(UnavailableError, match="start script was lost"):
        own.open(STARTED)
    own.open(STARTED).close()


@pytest.mark.parametrize(("times", "wanted"), [(1, Status.OK), (99, Status.INFRASTRUCTURE)])
def test_rooms_that_are_lost_while_they_start_are_nobodys_failure(
    times: int, wanted: Status, own: ShellWorlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_rooms(times, monkeypatch)
    job = ShellJob(STARTED.text, (ShellCell(ShellScript("ls /root/b")),), actions=("true",))
    assert {one.status for one in own.run([job])[0]} == {wanted}


def test_no_problem_is_dropped_for_a_room_of_ours(own: ShellWorlds, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as once:
        lose_rooms(1, once)
        assert own.trial(STARTED) == ""
    with monkeypatch.context() as always, pytest.raises(UnavailableError):
        lose_rooms(99, always)
        own.trial(STARTED)

    def none(_: Image) -> KeeperProcess:
        raise SandboxUnavailable("a room could not be made ready")

    monkeypatch.setattr(own._keepers, "take", none)
    with pytest.raises(SandboxUnavailable, match="made ready"):
        own.trial(STARTED)
    assert own.trial(ShellWorld("no-such-image", STARTED.init)).startswith("no-image: ")


def most(pid: int, what: int, number: int) -> None:
    """Give a process, and those that it starts, a limit, as others of the same user use it up."""
    uid = int(Path(f"/proc/{pid}/status").read_text().partition("\nUid:")[2].split()[0])
    code = f"import resource; resource.prlimit({pid}, {what}, ({number}, {number}))"
    who = {"user": uid, "group": uid, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True, check=False, **who)
    if "PermissionError" in done.stderr:
        pytest.skip("the limits of a keeper are not to be had by this user")
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("processes", [1, 3])
def test_processes_that_others_have_used_up_fail_no_cell(
    processes: int, own: ShellWorlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too few to make a room, or to start a script in it."""
    job = ShellJob(WORLD.text, (ShellCell(ShellScript("echo well")),))
    take, made = own._keepers.take, list[KeeperProcess]()
    assert own.run([job])[0][0].status is Status.OK

    def scarce(image: Image) -> KeeperProcess:
        keeper = take(image)
        if not made or left:
            most(first_process(keeper.pid), resource.RLIMIT_NPROC, processes)
        made.append(keeper)
        return keeper

    monkeypatch.setattr(own._keepers, "take", scarce)
    left = False
    assert own.run([job])[0][0].status is Status.OK, "another keeper has what it needs"
    left = True
    (seen,) = own.run([job])[0]
    assert seen.status is (Status.INFRASTRUCTURE if processes == 1 else seen.status)
    assert seen.status in (Status.INFRASTRUCTURE, Status.OK)


def test_a_room_that_cannot_begin_anew_for_want_of_processes_is_lost_and_told_as_such(own: ShellWorlds) -> None:
    with own.open(WORLD) as session:
        room, keeper = first_process(session._keeper.pid), parent(first_process(session._keeper.pid))
        most(keeper, resource.RLIMIT_NPROC, 1)
        os.kill(room, signal.SIGKILL)
        assert session.act("echo well").ended == "shell ended"  # it may have been the command
        assert session.act("echo well").ended == "lost"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


USES_UP = """
import os, time
if os.fork():
    while not os.path.exists("/srv/full"):
        time.sleep(0.01)
    os._exit(0)
os.setsid()
while True:
    try:
        if not os.fork():
            time.sleep(300)
    except OSError:
        open("/srv/full", "w").close()
        time.sleep(0.005)
"""
"""Leaves a process behind that takes every further one that a room may have."""


def test_who_uses_up_the_processes_of_a_room_gets_on_in_a_new_shell_and_loses_no_room(own: ShellWorlds) -> None:
    fill = f"echo kept > /srv/k; rm -f /srv/full; python3 -c '{USES_UP}'"
    with own.open(WORLD) as session:
        for ending in ("exit 0", "kill -9 $$", "exec true"):
            assert session.act(f"{fill}; {ending}", 60.0).ended == "shell ended"
            time.sleep(0.5)  # what the shell was is taken, too
            seen = session.act("read k < /srv/k; echo $k", 60.0)
            assert (seen.out, seen.ended) == ("kept\n", ""), "what used them up was ended for it"
        assert session.act(fill, 60.0).exit == 0
        assert own.kept(session.freeze())


def test_a_script_that_uses_up_its_processes_is_told_what_it_did(own: ShellWorlds) -> None:
    used_up = f"python3 -c '{USES_UP}'"
    codes = (f"{used_up}; echo told", f"{used_up}; exec cat /dev/null", f"{used_up}; kill -9 $$")
    cells = tuple(ShellCell(ShellScript(code)) for code in codes)
    told, unable, killed = own.run([ShellJob(WORLD.text, cells, None, Limits(cpu_s=30.0, wall_s=60.0))])[0]
    assert told.value["out"] == "told\n" and unable.status is Status.OK and killed.status is Status.KILLED


def test_folders_in_folders_that_need_more_open_files_than_there_are_cost_who_made_them(own: ShellWorlds) -> None:
    deep = "cd /root; for i in {1..200}; do mkdir d; cd d; done"
    with own.open(WORLD) as session:
        session.act(deep)
        state = session.freeze()
    job = ShellJob(WORLD.text, (ShellCell(ShellScript("echo well")),), state)
    assert own.run([job])[0][0].status is Status.OK
    for keeper in list(own._keepers._all):
        own._keepers.end(keeper)
    own._keepers._idle.clear()
    with own.open(WORLD) as session:
        most(parent(first_process(session._keeper.pid)), resource.RLIMIT_NOFILE, 60)
        session.act(deep)
        with pytest.raises(StateTooLarge, match="folders in folders"):
            session.freeze()
    (keeper,) = [own._keepers.take(own._keepers.image(WORLD.image))]
    most(first_process(keeper.pid), resource.RLIMIT_NOFILE, 60)
    own._keepers.give_back(keeper)
    assert own.run([job])[0][0].status is Status.KILLED
