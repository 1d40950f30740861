"""Hostile cases at the level of verdicts: what knows where it runs, whose image changed, whose keeper is killed."""

import contextlib
import json
import os
import platform
import signal
import struct
import threading
import time

import pytest

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains import domain
from evosyn.jobs import Limits, ShellCell, ShellJob, ShellScript
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.sandbox import open_sandbox
from evosyn.shell_world import ShellWorld, world_in
from evosyn.trajectories import ToolUse, Trajectory
from evosyn.worlds.routing import RoutingSandbox

WORLD = {"image": "host", "init": [{"code": "mkdir -p /root/d; echo one > /root/d/a"}]}
PROBLEM = Problem("p", "os-shell", "Write the word two into /root/d/b.", {"world": WORLD, "asks": "state"})
GOOD = Testing("observe", {"observe": {"code": "cat /root/d/b"}, "expect": "two"})
WORK = "echo two > /root/d/b"
PLACE = (
    "{ id; hostname; pwd; nproc; umask; env | sort; cat /proc/self/cgroup /proc/loadavg > /dev/null; ls /dev /run; "
    "set -- /proc/[0-9]*; echo $#; cut -d' ' -f2,3 /proc/mounts | sort; ulimit -a; readlink /proc/self/root; tty; } "
    "> /root/place 2>&1"
)
"""All that a solution might tell its places apart by, but the time."""
MUCH = "head -c 300000 /dev/zero | tr '\\0' 2 > /root/d/b"


@pytest.fixture(scope="module")
def judge(shells):
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        limits = Limits(cpu_s=10.0, wall_s=60.0)
        yield Judge(RoutingSandbox(sandbox, lambda: shells), {"os-shell": domain("os-shell")}, limits, recheck=False)


def done(shells, *scripts):
    """A trajectory of somebody who does this in a room."""
    with shells.open(world_in(PROBLEM.payload)) as session:
        uses = [ToolUse("bash", {"script": one}, (seen := session.act(one)).out, seen.exit) for one in scripts]
        return Trajectory((*uses, ToolUse("finish", {"thought": ""})), "finish", None, session.freeze())


def test_26_a_solution_that_looks_where_it_is_sees_the_same_when_it_is_done_again(shells):
    run = done(shells, "sleep 0.5", PLACE, "if grep -q cell /root/place; then echo two > /root/d/b; fi")
    again = shells.replay(world_in(PROBLEM.payload), run.actions)
    assert again.state == run.state


def test_33_a_solution_of_before_a_change_of_the_image_shares_no_verdict(monkeypatch, tmp_path):
    folder = tmp_path / "evosyn" / "os" / "img"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    problem = Problem("p", "os-shell", "Do it.", {"world": {"image": "img"}, "asks": "state"})
    keys = []
    for digest in ("os-before", "os-after"):
        (folder / "image.json").write_text(json.dumps({"digest": digest}))
        keys.append(domain("os-shell").key(problem))
    assert keys[0] != keys[1]


def test_33_a_state_of_another_world_is_made_again_or_is_no_state_of_this_one(shells, judge):
    """Neither is it taken for this one's, nor does it end the run of everybody else."""
    other = ShellWorld(init=(ShellScript("mkdir -p /root/d; echo two > /root/d/b"),))
    with shells.open(other) as session:
        foreign = session.freeze()
    idle = Trajectory((ToolUse("bash", {"script": "true"}, "", 0), ToolUse("finish")), "finish", None, foreign)
    silent = Trajectory((ToolUse("finish"),), "finish", None, foreign)
    nowhere = Trajectory((ToolUse("finish"),), "finish", None, "st_" + 32 * "0")
    honest = done(shells, WORK)
    cells = [Cell(PROBLEM, Solution(one.text), GOOD) for one in (idle, silent, nowhere, honest)]
    assert [one.verdict for one in judge.verify(cells)] == [
        Verdict.FAIL, Verdict.KILLED, Verdict.KILLED, Verdict.PASS]  # fmt: skip


@pytest.mark.parametrize(("kills", "wanted"), [(1, {Verdict.PASS}), (None, {Verdict.UNKNOWN})])
def test_35_a_keeper_that_is_killed_in_a_row_costs_nobody_a_verdict(shells, judge, kills, wanted):
    lasts = 1 if kills else 50  # longer than any pause between two kills
    slow = Testing("observe", {"observe": {"code": f"sleep {lasts}; cat /root/d/b"}, "expect": "two"})
    run = done(shells, WORK)
    over = threading.Event()

    def kill():
        left = kills
        while left != 0 and not over.wait(0.3):
            for keeper in list(shells._keepers._all):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(keeper.pid, signal.SIGKILL)
            left = None if left is None else left - 1

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        (found,) = judge.verify([Cell(PROBLEM, Solution(run.text), slow)])
    finally:
        over.set()
        killer.join()
    assert {found.verdict} == wanted


def test_what_a_machine_does_not_give_is_unknown_and_never_a_failure(shells, judge, monkeypatch):
    monkeypatch.setattr(type(shells), "lacks", lambda _, world: world.needs)
    needy = Problem("p", "os-shell", "As PROBLEM.", {"world": {**WORLD, "needs": ["uids"]}, "asks": "state"})
    cells = [Cell(needy, Solution(WORK), GOOD), Cell(PROBLEM, Solution(WORK), GOOD)]
    assert [one.verdict for one in judge.verify(cells)] == [Verdict.UNKNOWN, Verdict.PASS]
    assert shells.trial(world_in(needy.payload)).startswith("lacks-uids: ")


@pytest.mark.parametrize(
    "testing",
    [
        Testing("state", {"script": {"code": "echo true"}}),
        Testing("state", {"script": {"code": "[ ! -e /root/d/b ] || [ \"$(cat /root/d/b)\" = two ]"}, "accept": "exit"}),
        Testing("observe", {"observe": {"code": "ls /root/d"}, "expect": {"code": "ls /root/d"}}),
    ],
)  # fmt: skip
def test_a_testing_that_an_idle_state_satisfies_is_found(judge, testing):
    canaries = domain("os-shell").canaries(PROBLEM, (testing,))
    cells = [Cell(PROBLEM, one, testing) for one in canaries]
    assert Verdict.PASS in {one.verdict for one in judge.verify(cells)}
    assert Verdict.PASS not in {one.verdict for one in judge.verify([Cell(PROBLEM, one, GOOD) for one in canaries])}


def loader(text):
    """A program without an interpreter that prints this and is content, in place of what starts all others."""
    code = b"\xb8\x01\0\0\0\xbf\x01\0\0\0\x48\x8d\x35\x10\0\0\0\xba" + struct.pack("<I", len(text))
    code += b"\x0f\x05\xb8\xe7\0\0\0\x31\xff\x0f\x05" + text.encode()
    size, at = 120 + len(code), 0x400000
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, at + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    written = "".join(
        f"\\x{byte:02x}" for byte in head + struct.pack("<IIQQQQQQ", 1, 5, 0, at, at, size, size, 4096) + code
    )
    name = "/root/evil/ld-linux-x86-64.so.2"
    return f"mkdir /root/evil; printf '{written}' > {name}; chmod 755 {name}; ln -sfn /root/evil /lib64"


FORGING = {"true": loader("true\n"), "two": loader("two\n")}
CHOOSING = {
    "nothing": "true", "no loader": "rm -f /lib64", "no programs": "rm -f /bin /sbin /lib", "much": MUCH,
    "a word": "echo 'syntax error' > /root/d/b", "half a script": "echo 'if (' > /root/d/b",
    "no number": "echo 1 + > /root/d/b", "a pipe": "mkfifo /root/d/b", "no home": "rm -rf /root",
    "folders in a guarded place": "mkdir -p /etc/ld.so.preload/$(printf 'a/%.0s' {1..1900})",
    "files in a guarded place": "mkdir /etc/ld.so.preload; cd /etc/ld.so.preload; touch {1..15000}",
    "a name that is too long": "for i in {1..40}; do mkdir -p /root/d/$(printf 'x%.0s' {1..200}); cd /root/d/x*; done",
}  # fmt: skip
READING = (
    {"observe": {"code": "cat /root/d/b"}, "expect": "two"},
    {"script": {"code": "cat /root/d/b"}},
    {"script": {"code": 'eval "$(cat /root/d/b)"'}, "accept": "exit"},
    {"script": {"code": '[ "$(cat /root/d/b)" -eq 2 ]'}, "accept": "exit"},
    {"script": {"code": "exit $(( $(cat /root/d/b) ))"}, "accept": "exit", "view": "open"},
    {"script": {"code": "cat /root/d/b"}, "view": "open"},
    {"script": {"code": "exec(open('/root/d/b').read())", "language": "python"}},
    {"script": {"code": "exec(open('/root/d/b').read())", "language": "python"}, "accept": "exit", "view": "open"},
)


@pytest.fixture(scope="module")
def hasty(shells):
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        limits = Limits(cpu_s=1.0, wall_s=2.0, budget_s=3.0)
        yield Judge(RoutingSandbox(sandbox, lambda: shells), {"os-shell": domain("os-shell")}, limits, recheck=False)


def judged(judge, script, bodies):
    testings = [Testing("observe" if "observe" in body else "state", body) for body in bodies]
    return [one.verdict for one in judge.verify([Cell(PROBLEM, Solution(script), testing) for testing in testings])]


@pytest.mark.parametrize(
    "case", [pytest.param(one, marks=[pytest.mark.long] * ("guarded place" in one)) for one in (*CHOOSING, *FORGING)]
)
def test_a_solution_chooses_no_verdict_that_is_about_a_testing_or_about_us(case, hasty):
    found = judged(hasty, {**CHOOSING, **FORGING}[case], READING)
    of_solutions = {Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.TIMEOUT, Verdict.KILLED}
    assert of_solutions.issuperset(found), found


@pytest.mark.parametrize("case", FORGING)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the loader is one of x86_64")
def test_programs_of_checks_are_not_started_by_a_loader_of_the_solution(case, hasty):
    python = {"code": "print(open('/root/d/b').read() == 'two\\n')", "language": "python"}
    guarded = [*READING[:2], {"script": {"code": "grep -qx two /root/d/b"}, "accept": "exit"}, {"script": python}]
    assert judged(hasty, FORGING[case], guarded) == [Verdict.FAIL] * 4
    opened = [{"script": {"code": "/bin/cat /root/d/b; exit"}, "view": "open", "accept": "exit"}]
    assert judged(hasty, FORGING[case], opened) == [Verdict.PASS], "so the test above can fail"


def test_work_is_judged_the_same_where_the_loader_was_taken_away(judge):
    assert judged(judge, f"{WORK}; rm -f /lib64 /bin", READING[:1]) == [Verdict.PASS]


@pytest.mark.parametrize("view", ["guarded", "open"])
@pytest.mark.parametrize("script", [{"code": "if true"}, {"code": "echo 'a"}, {"code": "print(", "language": "python"}])
def test_a_script_that_cannot_be_read_is_the_testings_fault_for_everybody(script, view, judge):
    for solution in (WORK, "true", "rm -f /lib64"):
        assert judged(judge, solution, [{"script": script, "view": view}]) == [Verdict.BROKEN]


def test_a_script_that_can_be_read_once_it_runs_is_not_broken(judge):
    body = {"script": {"code": "shopt -s extglob\nls /root/d/!(a) || exit 1"}, "accept": "exit"}
    assert judged(judge, "true", [body]) == [Verdict.FAIL]
    assert judged(judge, WORK, [body]) == [Verdict.PASS]


def test_what_was_seen_of_states_is_told_to_strategies_by_digests(judge):
    look = Testing("observe", {"observe": {"code": "cat /root/d/* 2>/dev/null"}, "expect": "one\ntwo"})
    cells = [
        Cell(PROBLEM, Solution(text), look) for text in (WORK, "printf 'two\\n' > /root/d/b", "echo three > /root/d/b")
    ]
    one, same, other = (found.values for found in judge.verify(cells))
    assert one == same != other and all(one)


def test_cells_of_a_state_that_ends_its_readers_are_bounded(shells):
    run = done(shells, "mkfifo /root/d/b")
    began = time.monotonic()
    job = ShellJob(
        world_in(PROBLEM.payload).text, (ShellCell(ShellScript("cat /root/d/b")),) * 2, run.state, Limits(wall_s=1.0)
    )
    assert {one.status.name for one in shells.run([job])[0]} == {"TIMEOUT"}
    assert time.monotonic() - began < 60
