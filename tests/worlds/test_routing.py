"""Jobs go where they can be run: those about a state to the shell world, all others to the sandbox, in one call."""

import time

import pytest

from evosyn.errors import UsageError
from evosyn.jobs import Call, CallsJob, ShellCell, ShellJob, ShellScript, Status
from evosyn.sandbox import open_sandbox
from evosyn.shell_world import ShellWorld
from evosyn.worlds.routing import RoutingSandbox

WORLD = ShellWorld(init=(ShellScript("echo one > /root/a"),))
CALLS = CallsJob("def f(x): return x + 1", "f", (Call((1,)), Call((2,))))
LOOK = ShellJob(WORLD.text, (ShellCell(ShellScript("cat /root/a")),))


@pytest.fixture
def routed(shells):
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        yield RoutingSandbox(sandbox, lambda: shells)


def test_one_run_takes_any_mixture_in_order(routed):
    told = {}
    results = routed.run([LOOK, CALLS, LOOK], on_done=told.__setitem__)
    assert [[one.value if isinstance(one.value, int) else one.value["out"] for one in row] for row in results] == [
        ["one\n"], [2, 3], ["one\n"]]  # fmt: skip
    assert told == dict(enumerate(results))
    assert routed.run([]) == []


def test_rooms_are_not_opened_for_programs_alone():
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        routed = RoutingSandbox(sandbox, lambda: pytest.fail("opened"))
        assert [one.value for one in routed.run([CALLS])[0]] == [2, 3]
        with pytest.raises(UsageError, match="shell world"):
            sandbox.run([LOOK])


def test_a_script_is_run_once_and_its_output_is_the_first_argument_of_every_look(shells):
    cells = (ShellCell(ShellScript('echo "<$1>"; cat /root/b')), ShellCell(ShellScript('echo "$1$2"'), ("x",)))
    job = ShellJob(WORLD.text, cells, actions=("date +%N | tee /root/b",), says=True)
    first, again = shells.run([job]), shells.run([job])
    said, looked, other = first[0]
    number = said.value["out"].strip()
    assert looked.value["out"] == f"<{number}>\n{number}\n" and other.value["out"] == f"{number}x\n"
    assert first == again


def test_a_state_that_is_not_here_is_made_again_by_its_actions(shells):
    gone = "st_" + 32 * "0"
    job = ShellJob(WORLD.text, (ShellCell(ShellScript("ls /root")),), gone, actions=("touch /root/b", "touch /root/c"))
    assert shells.run([job])[0][0].value["out"] == "a\nb\nc\n"
    with shells.open(WORLD) as session:
        session.act("touch /root/z")
        kept = session.freeze()
    assert shells.run([ShellJob(WORLD.text, job.cells, kept, actions=job.actions)])[0][0].value["out"] == "a\nz\n"


def test_a_file_that_was_moved_is_the_same_however_long_ago_its_world_was_made(shells):
    world = ShellWorld(init=(ShellScript("echo one > /root/made-a-while-ago; touch -d 2001-02-03 /root/dated"),))

    def moved(*actions: str) -> str:
        with shells.open(world) as session:
            for action in actions:
                session.act(action)
            return session.freeze()

    at_once = moved("mv /root/made-a-while-ago /root/b; mv /root/dated /root/c")
    time.sleep(2.5)
    assert moved("mv /root/made-a-while-ago /root/b; mv /root/dated /root/c") == at_once
    assert (
        moved("mv /root/made-a-while-ago /root/b; touch -d 2002-02-03 /root/dated; mv /root/dated /root/c") != at_once
    )


def test_a_world_that_cannot_be_made_fails_its_own_job_and_says_why(shells):
    broken = ShellWorld(init=(ShellScript("echo no >&2; exit 3"),))
    bad, good = shells.run([ShellJob(broken.text, LOOK.cells, says=True, actions=("true",)), LOOK])
    assert [one.status for one in bad] == [Status.LOAD_ERROR] * 2 and "exit 3: no" in bad[0].detail
    assert good[0].status is Status.OK


@pytest.mark.parametrize(
    ("init", "said"),
    [("exit 1", "init-fails"), ("date +%N > /root/n", "init-unstable"), ("touch /root/x", "")],
)
def test_a_new_world_is_tried_twice(shells, init, said):
    assert shells.trial(ShellWorld(init=(ShellScript(init),))).startswith(said)
    assert bool(shells.trial(ShellWorld(init=(ShellScript(init),)))) == bool(said)
    assert shells.trial(ShellWorld()).startswith("init-empty")
    assert shells.trial(ShellWorld("no-such-image", (ShellScript(init),))).startswith("no-image")
