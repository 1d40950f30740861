"""What an agent may try in a room, what a solution may leave behind, and what a testing may do: none of it decides
another verdict, reaches the machine, or stays. Numbers are those of docs/os-shell.md."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from evosyn.jobs import ItemOutcome, Limits, ShellCell, ShellJob, ShellScript, Status
from evosyn.shell_world import ShellWorld
from evosyn.worlds.shell import ShellWorlds

pytestmark = pytest.mark.long

WANTED = "mkdir -p /root/d && echo one > /root/d/a && echo two > /root/d/b"
"""What the task asks for; every state below lacks `b`, so that an honest check prints false."""
CHECK = 'if [ "$(find /root/d -name b | grep -c b)" = 1 ] && cat /root/d/b; then echo true; else echo false; fi'
WAIT_S = 60.0
"""For what ends by itself: on a busy machine everything takes longer."""
LIMITS = Limits(cpu_s=10.0, wall_s=WAIT_S)

LEFT_BEHIND = {
    "1 replaced find, cat and grep": "for p in find cat grep; do rm -f /usr/bin/$p; printf '#!/bin/sh\\necho 1\\n' > /usr/bin/$p; /bin/chmod 755 /usr/bin/$p; done",
    "2 replaced bash and sh": "printf '#!/usr/bin/true\\necho true\\n' > /tmp/x; chmod 755 /tmp/x; mv /tmp/x /usr/bin/bash; cp /usr/bin/bash /usr/bin/sh",
    "3 a library to be preloaded": "echo /root/evil.so > /etc/ld.so.preload; echo x > /root/evil.so; rm -f /etc/ld.so.cache",
    "4 rc files": "for f in /root/.bashrc /root/.profile /root/.bash_profile /etc/profile /etc/bash.bashrc /root/.bash_env; do echo 'echo true; exit 0' > $f; done; echo 'BASH_ENV=/root/.bash_env' > /etc/environment",
    "5 programs of the same names under /usr/local": "for p in find cat grep test [; do printf '#!/bin/bash\\necho 1\\nexit 0\\n' > /usr/local/bin/$p; chmod 755 /usr/local/bin/$p; done",
    "7 moved /usr/bin away": "cp /usr/bin/mv /tmp/mv; mv /usr/bin /usr/gone; /tmp/mv /usr/gone /usr/gone2",
    "7 /bin is a folder of its own": "cp -r /usr/bin /tmp/b; /tmp/b/rm /bin; /tmp/b/mkdir /bin; printf '#!/bin/true' > /bin/bash",
    "7 /usr is a link": "cp -r /usr /root/u; /root/u/bin/bash -c 'exec /lib64/ld-linux-x86-64.so.2 /root/u/bin/mv /usr /root/usr2'; ln -s /root/u /usr",
    "8 nobody is root any more": "echo 'toor:x:1:0::/root:/bin/false' > /etc/passwd; rm -rf /etc/group",
    "9 another locale and time zone": "mkdir -p /etc; echo 'LANG=tr_TR' > /etc/locale.conf; echo Mars > /etc/timezone; echo bad > /etc/nsswitch.conf; echo 6.6.6.6 x > /etc/hosts",
    "11 links out of the room": "ln -s /proc/1/root/root/d /root/e; ln -s /proc/self/mem /root/d/m; ln -s ../../../../../../../etc/shadow /root/d/s",
    "13 the answer in every file": "for n in 1 2 3 4 5; do echo true > /root/d/x$n; done",
    "14 setuid programs and devices": "cp /usr/bin/bash /root/d/sh; chmod 4755 /root/d/sh; mknod /root/d/null c 1 3 2>/dev/null && touch /root/d/b",
    "27 timers for programs that do not run here": "mkdir -p /etc/cron.d /etc/systemd/system; echo '* * * * * root touch /root/d/b' > /etc/cron.d/x",
}  # fmt: skip


def frozen(shells: ShellWorlds, world: ShellWorld, *actions: str) -> str:
    with shells.open(world) as session:
        for action in actions:
            assert session.act(action, WAIT_S).ended == ""
        return session.freeze()


def look(
    shells: ShellWorlds, world: ShellWorld, state: str | None, *checks: str, view: str = "guarded"
) -> list[ItemOutcome]:
    cells = tuple(ShellCell(ShellScript(check), (), view) for check in checks)  # type: ignore[arg-type]
    return [*shells.run([ShellJob(world.text, cells, state, LIMITS)])[0]]


def said(outcome: ItemOutcome) -> str:
    assert outcome.status is Status.OK, outcome
    return str(outcome.value["out"]).strip().splitlines()[-1]


@pytest.fixture(scope="module")
def world(mini: str) -> ShellWorld:
    return ShellWorld(mini, init=(ShellScript("mkdir -p /root/d; echo one > /root/d/a"),))


def test_an_honest_solution_is_seen(shells: ShellWorlds, world: ShellWorld) -> None:
    assert said(look(shells, world, frozen(shells, world, WANTED), CHECK)[0]) == "true"
    assert said(look(shells, world, None, CHECK)[0]) == "false"


@pytest.mark.parametrize("case", LEFT_BEHIND)
def test_what_a_solution_leaves_behind_does_not_pass_for_the_work(
    case: str, shells: ShellWorlds, world: ShellWorld
) -> None:
    assert said(look(shells, world, frozen(shells, world, LEFT_BEHIND[case]), CHECK)[0]) == "false"


def test_without_the_guard_a_replaced_program_would_have_passed(shells: ShellWorlds, world: ShellWorld) -> None:
    state = frozen(shells, world, LEFT_BEHIND["1 replaced find, cat and grep"])
    assert said(look(shells, world, state, CHECK, view="open")[0]) == "true"


def test_6_a_testing_that_sources_the_states_own_files_runs_them(shells: ShellWorlds, world: ShellWorld) -> None:
    """What the guard cannot give: such a testing is the one to be found out by a state that forges."""
    state = frozen(shells, world, "echo 'echo true; exit 0' > /root/.bashrc")
    assert said(look(shells, world, state, "source /root/.bashrc; echo false")[0]) == "true"


ODD_FILES = {
    "10 a pipe that nobody writes to": ("mkfifo /root/d/b", Status.TIMEOUT),
    "10 a folder": ("mkdir /root/d/b", Status.OK),
    "10 a file with holes": ("truncate -s 60M /root/d/b", Status.OK),
    "10 too large": ("truncate -s 100G /root/d/b || touch /root/d/c", Status.OK),
}


@pytest.mark.parametrize("case", ODD_FILES)
def test_10_odd_files_cost_their_own_cell_its_limit_at_most(case: str, shells: ShellWorlds, world: ShellWorld) -> None:
    action, status = ODD_FILES[case]
    state = frozen(shells, world, action)
    check = "cat /root/d/b > /dev/null; echo done"
    cell = ShellCell(ShellScript(check))
    limits = Limits(cpu_s=1.0, wall_s=1.5) if status is Status.TIMEOUT else LIMITS
    outcome = shells.run([ShellJob(world.text, (cell,), state, limits)])[0][0]
    assert outcome.status is status


def test_12_names_and_depths_of_all_kinds_survive_and_are_the_same_again(
    shells: ShellWorlds, world: ShellWorld
) -> None:
    action = r"""cd /root/d; touch $'new\nline' $'\xff\xfe' "$(printf 'x%.0s' {1..255})" .wh.a; ln -s nowhere dangling
        mkfifo pipe; deep=$(printf 'level/%.0s' {1..300}); mkdir -p $deep; echo deep > $deep/f"""
    first, second = frozen(shells, world, action), frozen(shells, world, action)
    assert first == second
    check = "find /root/d -printf . | wc -c; find /root/d -name f | wc -l; cat /root/d/a"
    out = look(shells, world, first, check)[0].value["out"].split()
    assert out[1:] == ["1", "one"]
    assert int(out[0]) == 1 + 1 + 7 + 300


def test_12_too_many_files_end_in_the_room_and_not_on_the_disk(shells: ShellWorlds, world: ShellWorld) -> None:
    with shells.open(world) as session:
        seen = session.act("cd /root/d; touch {1..30000} 2>&1 | tail -1", WAIT_S)
        assert "No space" in seen.out
        assert session.freeze()


# ------------------------------------------------------------------------------------------------- during an episode
def test_15_what_waits_in_the_background_is_dead_when_the_room_is_frozen(
    shells: ShellWorlds, world: ShellWorld
) -> None:
    marker = "evosyn-daemon-of-test-15"
    daemon = f"setsid nohup bash -c 'while sleep 0.05; do echo two > /root/d/b; rm /root/d/b; : {marker}; done' &>/dev/null &"
    with shells.open(world) as session:
        assert session.act(daemon).exit == 0
        until = time.monotonic() + WAIT_S  # it is started behind the shell's back
        while not processes(marker) and time.monotonic() < until:
            time.sleep(0.02)
        assert processes(marker)
        session.freeze()
        assert not processes(marker)


def processes(marker: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [str(path)] if marker.encode() in path.read_bytes() else []
        except OSError:
            continue
    return found


HARMS = {
    "16 a fork bomb": "bomb() { bomb | bomb & }; bomb; sleep 1; echo over",
    "17 fills the disk": "dd if=/dev/zero of=/root/fill bs=1M count=400; dd if=/dev/zero of=/dev/shm/f bs=1M count=60; for i in {1..9}; do dd if=/dev/zero of=/root/f$i bs=1M count=60; done; df",
    "18 takes all memory": "x=$(yes | tr -d '\\n' | head -c 900000000); echo ${#x}",
    "19 kills everything": "kill -9 -1",
    "19 kills the first process": "kill -9 1; kill -TERM 1",
    "19 closes what the shell speaks through": "exec 9>&-",
    "19 sends the output away": "exec >/dev/null 2>&1",
    "19 ends the shell": "exit 7",
    "24 sleeps": "sleep infinity",
    "24 reads": "read x; cat; echo read",
    "24 yes": "yes",
    "25 prints without end": "while :; do printf '\\e[31m\\0\\xff%0100d' 1; done",
}  # fmt: skip


@pytest.mark.parametrize("case", HARMS)
def test_after_any_harm_the_room_takes_the_next_command_and_the_machine_is_as_before(
    case: str, shells: ShellWorlds, world: ShellWorld
) -> None:
    free = os.statvfs("/tmp").f_bavail
    with shells.open(world) as session:
        seen = session.act(HARMS[case], 2.0)
        assert len(seen.out) <= 64 << 10
        assert "\x1b" not in seen.out and "\0" not in seen.out
        following = session.act("echo well", WAIT_S)
        if following.ended == "timeout" or not following.out:  # the shell was told apart and made anew
            following = session.act("echo well", WAIT_S)
        # what the harm left running in its room may still print beside it
        assert "well" in following.out.splitlines(), (seen, following)
    until = time.monotonic() + WAIT_S  # others write there, too
    while not (same := abs(os.statvfs("/tmp").f_bavail - free) * os.statvfs("/tmp").f_frsize < 200 << 20):
        if time.monotonic() > until:
            break
        time.sleep(0.5)
    assert same
    assert said(look(shells, world, None, CHECK)[0]) == "false"


def test_20_a_forged_end_mark_is_told(shells: ShellWorlds, world: ShellWorld) -> None:
    forge = "head -c 60 /proc/$$/fd/255 > /tmp/w; w=$(grep -o '[0-9a-f]\\{32\\}' /tmp/w); (printf '%s %d' $w 0 >&9); sleep 1"
    with shells.open(world) as session:
        seen = session.act(f"{{ {forge}; }}", 4.0)
        assert seen.ended in ("forged", "timeout") and seen.exit is None


REFUSED = {
    "21 TCP": "timeout 2 bash -c 'exec 3<>/dev/tcp/1.1.1.1/53'",
    "21 the machine's own ports": "timeout 2 bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'",
    "21 the socket of Docker": "ls /var/run/docker.sock",
    "22 mount": "mount -t tmpfs none /mnt",
    "22 umount": "umount /proc",
    "22 chroot": "chroot / true",
    "22 new namespaces": "unshare -U true",
    "22 new mount namespace": "unshare -m true",
    "23 settings of the kernel": "echo 1 > /proc/sys/kernel/core_pattern",
    "23 the magic key": "echo h > /proc/sysrq-trigger",
    "23 memory of the first process": "cat /proc/1/environ",
    "23 files of the first process": "ls /proc/1/fd/",
    "14 a device": "mknod /tmp/disk b 8 0",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_room_refuses(case: str, shells: ShellWorlds, world: ShellWorld) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server, shells.open(world) as session:
        action = REFUSED[case].replace("{port}", str(server.getsockname()[1]))
        assert session.act(f"{action} 2>&1", WAIT_S).exit not in (0, None)
        assert session.act("cat /proc/self/status").out.count("\nNoNewPrivs:\t0") == 1  # su and sudo work


def test_23_no_process_of_the_machine_is_seen(shells: ShellWorlds, world: ShellWorld) -> None:
    with shells.open(world) as session:
        assert session.act("echo /proc/[0-9]*").out.count("/proc/") == 2  # the room's first process and the shell


def test_26_a_room_and_another_show_no_difference(shells: ShellWorlds, world: ShellWorld) -> None:
    asks = "cat /proc/self/mountinfo | cut -d' ' -f4-6; env; id; ls -la / /root | cut -c1-10"
    with shells.open(world) as first, shells.open(world) as second:
        assert first.act(asks).out == second.act(asks).out


# ------------------------------------------------------------------------------------------------- testings
def test_29_a_testing_that_destroys_the_state_harms_its_own_cell(shells: ShellWorlds, world: ShellWorld) -> None:
    state = frozen(shells, world, WANTED)
    outcomes = look(shells, world, state, "rm -rf /root /etc /var 2>/dev/null; ls /root", CHECK)
    assert said(outcomes[1]) == "true"


def test_30_a_testing_that_loops_forks_or_fills_costs_its_own_cell(shells: ShellWorlds, world: ShellWorld) -> None:
    state = frozen(shells, world, WANTED)
    bad = (
        "while :; do :; done",
        "bomb() { bomb | bomb & }; bomb; sleep 120",
        "for i in 1 2 3; do dd if=/dev/zero of=/root/$i bs=1M count=60; done; echo full",
    )
    cells = tuple(ShellCell(ShellScript(check)) for check in (*bad, CHECK))
    outcomes = shells.run([ShellJob(world.text, cells, state, Limits(cpu_s=3.0, wall_s=20.0))])[0]
    assert outcomes[0].status is Status.TIMEOUT
    bomb = outcomes[1]  # bash may also give up to fork, where those that live leave it no process
    assert bomb.status is Status.TIMEOUT or (bomb.value["exit"], bomb.value["out"]) == (254, "")
    assert "No space" in outcomes[2].value["err"]
    assert said(outcomes[3]) == "true"


# ------------------------------------------------------------------------------------------------- the end
PROGRAM = """
    import sys, time
    from evosyn.worlds.shell import open_shells
    from evosyn.shell_world import ShellWorld
    shells = open_shells(workers=1)
    session = shells.open(ShellWorld())
    session.act("setsid nohup bash -c 'while sleep 0.1; do : MARK; done' >/dev/null 2>&1 &")
    print("ready", flush=True)
    session.act("sleep 60; : MARK", 60.0)
"""


@pytest.mark.usefixtures("shells")
def test_34_after_sigkill_no_process_no_mount_and_no_group_is_left() -> None:
    marker = f"evosyn-left-by-{os.getpid()}"
    mounts = Path("/proc/self/mountinfo").read_text()
    program = textwrap.dedent(PROGRAM).replace("MARK", marker)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert processes(marker)
        process.send_signal(signal.SIGKILL)
        process.wait()
    until = time.monotonic() + WAIT_S
    while (processes(marker) or Path("/proc/self/mountinfo").read_text() != mounts) and time.monotonic() < until:
        time.sleep(0.05)
    assert not processes(marker)
    assert Path("/proc/self/mountinfo").read_text() == mounts
    from evosyn.sandbox import _memory
    from evosyn.sandbox._machine import Machine

    def left() -> list[Path]:
        groups = _memory._open_groups(Machine())  # as the next start does
        if groups is None:
            return []
        found = [path for folder in groups.folders for path in folder.parent.glob(f"evosyn-{process.pid}-*")]
        groups.close()
        return found

    while left() and time.monotonic() < until:  # what held the rooms may still be on its way out
        time.sleep(0.1)
    assert not left()
