"""What a guarded view protects is not forged and still there, whatever a solution made of it; and no check reads itself."""

from __future__ import annotations

import importlib.util
import json
import tarfile
from pathlib import Path

import pytest

from evosyn.domains import load_pools
from evosyn.jobs import ItemOutcome, Limits, ShellCell, ShellJob, ShellScript, Status
from evosyn.shell_world import ShellWorld, image_cache, world_in
from evosyn.worlds.shell import ShellWorlds
from tests.worlds.conftest import small_image

SPEC = importlib.util.spec_from_file_location("os_views", Path(__file__).parents[2] / "benchmarks" / "os_views.py")
assert SPEC is not None and SPEC.loader is not None
os_views = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(os_views)

FILES = {
    "etc/nsswitch.conf": (0o640, 7, 8), "etc/gitconfig": (0o644, 0, 0), "etc/perl/List/Util.pm": (0o644, 0, 0),
    "opt/tool/bin/tool": (0o755, 0, 0), "usr/local/bin/own": (0o750, 3, 0), "usr/local/lib/own.so": (0o444, 0, 0),
    "var/lib/cfg/now": (0o600, 9, 9), "opt/py/dist-packages/of-image.pth": (0o644, 0, 0), "root/.sqliterc": (0o400, 0, 1),
}  # fmt: skip
LINKS = {
    "usr/bin/tool": "/etc/alternatives/tool", "etc/alternatives/tool": "/opt/tool/bin/tool",
    "usr/lib/tool.cfg": "/etc/cfg/now", "etc/cfg": "../var/lib/cfg", "usr/local/lib/python3.9": "/opt/py",
}  # fmt: skip
ABSENT = (
    "/etc/ld.so.preload /root/.jq /etc/magic /usr/libexec /opt/py/dist-packages/sitecustomize.py "
    "/usr/local/lib/python3.8/site-packages/evil.pth"
)
GUARDED = (
    "/lib64 /bin /lib /usr/bin /usr/lib /etc/nsswitch.conf /etc/gitconfig /etc/perl /etc/alternatives /opt/tool "
    "/usr/local/bin/own /usr/local/lib/own.so /etc/cfg /var/lib/cfg/now /root/.sqliterc "
    f"/usr/local/lib/python3.9/dist-packages/of-image.pth /usr/bin/cat {ABSENT}"
)
DAMAGES = {
    "gone": ":",
    "a file": "echo forged > $p",
    "a program": "printf '#!/bin/sh\\necho forged\\n' > $p; chmod 4755 $p",
    "a link to a file of its own": "ln -s /root/forged $p",
    "a link to nowhere": "ln -s nowhere $p",
    "a folder": "mkdir -p $p/a/b",
    "a pipe": "mkfifo $p",
}
EACH = """echo forged > /root/forged; cp -a /usr/bin /usr/lib /usr/lib64 /root; export LD_LIBRARY_PATH=/root/lib
shopt -s expand_aliases; L=$(echo /root/lib64/ld-linux* /root/lib/ld-linux*); L=${L%% *}
for c in rm ln mkdir mkfifo chmod chown mv; do eval "$c() { $L /root/bin/$c \\"\\$@\\"; }"; done
for p in $PATHS; do mkdir -p ${p%/*} 2>/dev/null; rm -rf $p; DAMAGE; done
"""
"""Done by programs that are out of the way of what is damaged."""
OTHERS = {
    "other modes and owners": f"for p in {GUARDED}; do chown -h 5:6 $p; chmod 777 $p; done",
    "their folders are links": "for d in etc opt var usr/local; do cp -a /$d /root/${d//\\//-}; rm -rf /$d; ln -s "
    "/root/${d//\\//-} /$d; done; for f in /root/*/nsswitch.conf /root/*/bin/own; do echo forged > $f; done",
    "their folders are gone": "rm -rf /etc /opt /var /usr/local",
    "other contents of the same size and time": "for p in /etc/nsswitch.conf /usr/local/bin/own; do touch -r $p /root/t; "
    "printf '%s' $(tr a-z A-Z < $p) > $p; touch -r /root/t $p; done",
}
LOOK = f"""for p in {GUARDED}; do
if [ -d $p -a ! -L $p ]; then find $p -printf '%p %y %m %U:%G %l\\n' | sort; else stat -c '%N %F %a %u:%g %Y' $p; fi
[ -f $p ] && cksum $p; done 2>/dev/null"""
LIMITS = Limits(cpu_s=10.0, wall_s=60.0)


def looked(
    shells: ShellWorlds, world: ShellWorld, state: str | None, *checks: str, view: str = "guarded"
) -> list[ItemOutcome]:
    cells = tuple([ShellCell(ShellScript(check), (), "open" if view == "open" else "guarded") for check in checks])
    return [*shells.run([ShellJob(world.text, cells, state, LIMITS)])[0]]


def out_of(outcome: ItemOutcome) -> str:
    assert outcome.status is Status.OK, outcome
    return str(outcome.value["out"])


def frozen(shells: ShellWorlds, world: ShellWorld, action: str) -> str:
    with shells.open(world) as session:
        session.act(action, 60.0)
        return session.freeze()


@pytest.fixture(scope="module")
def world(shells: ShellWorlds) -> ShellWorld:
    """Over an image that has something of every kind that is guarded."""
    entries = []
    for name, (mode, uid, gid) in FILES.items():
        entries.append(entry := tarfile.TarInfo(name))
        entry.mode, entry.uid, entry.gid, entry.mtime = mode, uid, gid, 1_600_000_000
    for name, target in LINKS.items():
        entries.append(entry := tarfile.TarInfo(name))
        entry.type, entry.linkname, entry.uid, entry.gid = tarfile.SYMTYPE, target, 4, 5
    return ShellWorld(small_image(shells, "with-settings", entries), init=(ShellScript("mkdir -p /root/d"),))


def damage(name: str) -> str:
    return OTHERS[name] if name in OTHERS else EACH.replace("DAMAGE", DAMAGES[name]).replace("$PATHS", GUARDED)


@pytest.mark.parametrize("name", [*DAMAGES, *OTHERS])
def test_whatever_becomes_of_what_is_guarded_checks_see_that_of_the_image(
    name: str, shells: ShellWorlds, world: ShellWorld
) -> None:
    before = out_of(looked(shells, world, None, LOOK, view="open")[0])
    assert all(f"{path.rpartition('/')[2]}" in before for path in FILES) and "forged" not in before
    state = frozen(shells, world, damage(name))
    assert out_of(looked(shells, world, state, LOOK)[0]) == before
    changed = looked(shells, world, state, LOOK, view="open")[0]
    assert changed.status is Status.KILLED or out_of(changed) != before, "so the test above can fail"


@pytest.mark.parametrize("image", ["host", "with-settings"])
@pytest.mark.usefixtures("world")
def test_checks_of_an_honest_solution_see_every_file_of_the_image(image: str, shells: ShellWorlds) -> None:
    assert os_views.differing(shells, ShellWorld(image, init=(ShellScript("echo one > /root/a"),))) == []


@pytest.mark.long
def test_checks_of_the_bundled_tasks_see_every_file_of_the_image(shells: ShellWorlds) -> None:
    for pool in load_pools("builtin:os-seeds"):
        assert os_views.differing(shells, world_in(pool.problem.payload)) == [], pool.problem.problem_id


# ------------------------------------------------------------------------------------------- links to the reader itself
OF_THE_READER = (
    "/proc/self/fd/63", "/dev/fd/63", "/dev/stdin", "/proc/self/fd/0", "/proc/thread-self/fd/63", "/proc/2/fd/63",
    "/proc/3/fd/63", "../../proc/self/fd/63", "../p/self/fd/63", "/root/r/proc/self/fd/63", "/root/q/63", "../n",
    "/proc/self/cmdline", "/proc/self/task/../fd/63", "/proc/1/../self/fd/63", "/root/./p/../../root/p/self/cmdline",
)  # fmt: skip
THEIR_CHECKS = (
    "diff <(printf 'two\\n') /root/d/b",
    "cmp <(printf 'two\\n') /root/d/b",
    "printf 'two\\n' | diff - /root/d/b",
    "cmp - /root/d/b <<< two",
    "grep -qz two /root/d/b",
    "grep -rqz two /root/d/",
)


@pytest.mark.parametrize("target", OF_THE_READER)
def test_no_link_of_a_solution_leads_a_check_to_itself(target: str, shells: ShellWorlds, world: ShellWorld) -> None:
    links = f"cd /root; ln -s /proc p; ln -s /dev/fd q; ln -s / r; ln -s p/self/fd/63 n; ln -s {target} d/b"
    state = frozen(shells, world, links)
    outcomes = looked(shells, world, state, *THEIR_CHECKS, "readlink /root/d/b")
    assert out_of(outcomes.pop()).strip() == target
    assert 0 not in [outcome.value["exit"] for outcome in outcomes]


@pytest.mark.parametrize("target", ["/proc", "/", "/proc/self", "/root/p"])
def test_no_folder_of_a_solution_is_that_of_the_reader(target: str, shells: ShellWorlds, world: ShellWorld) -> None:
    state = frozen(shells, world, f"cd /root; ln -s /proc p; rmdir d; ln -s {target} d")
    checks = ("grep -rqsz '^this one$' /root/d/", "find /root/d/ -name cmdline | grep -q .", "[ -e /root/d/. ]")
    assert 0 not in [outcome.value["exit"] for outcome in looked(shells, world, state, *checks)]


def test_other_links_of_a_solution_are_followed_and_all_are_links(shells: ShellWorlds, world: ShellWorld) -> None:
    action = """cd /root/d; echo one > a; mkdir f; echo three > f/x; ln -s a l; ln -s /root/d/l m; ln -s f g
    ln -s /proc/version v; ln -s /dev/null n; ln -s /dev/stdout log; ln -s nowhere w; ln -s w2 w1; ln -s w1 w2"""
    check = """cd /root/d; cat l m g/x; head -c 5 v; cat n; for f in l m g v n log w w1; do echo; readlink $f; done
    find . -type l | wc -l"""
    out = out_of(looked(shells, world, frozen(shells, world, action), check)[0])
    links = ["a", "/root/d/l", "f", "/proc/version", "/dev/null", "/dev/stdout", "nowhere", "w2"]
    assert out.split() == ["one", "one", "three", "Linux", *links, "9"]


@pytest.mark.parametrize("steps", [1, 60, *range(96, 104)])
def test_no_way_is_long_enough_to_lead_around_a_guard(steps: int, shells: ShellWorlds, world: ShellWorld) -> None:
    long = f"$(printf '/d%.0s' {{1..{steps}}})"
    action = (
        f"cd /; L={long}; mkdir -p $L/python3.8/site-packages; for f in $L/.jq $L/python3.8/site-packages/evil.pth; do"
    )
    action += " echo forged > $f; done; mv /root /r; mv /usr/local/lib /l; ln -s $L /root; ln -s $L /usr/local/lib"
    state = frozen(shells, world, action)
    check = "cat /root/.jq /usr/local/lib/python3.8/site-packages/*.pth"
    outcome = looked(shells, world, state, check)[0]
    assert outcome.status is Status.KILLED or out_of(outcome) == ""
    assert out_of(looked(shells, world, state, "cat /root/.jq", view="open")[0]) == ("forged\n" if steps < 100 else "")


def test_thousands_of_links_cost_a_solution_nothing_but_themselves(shells: ShellWorlds, world: ShellWorld) -> None:
    dotted = "./" * 1500
    action = f"""mkdir /root/d/m /root/d/k; ln -s -t /root/d/m /proc/self/fd/{{1..6000}}
    ln -s -t /root/d/k {dotted}x{{1..600}}; ln -s {dotted}k /root/d/deep"""
    outcome = looked(shells, world, frozen(shells, world, action), "cat /root/d/m/63 <(echo two) 2>/dev/null")[0]
    assert out_of(outcome) == "two\n"


# --------------------------------------------------------------------------------------------- what a guard is made of
def test_no_process_of_a_check_has_a_view_of_the_state_before(shells: ShellWorlds, world: ShellWorld) -> None:
    spying = """ls -d /before /store /room /image /proc/[0-9]*/cwd/before 2>/dev/null
    for f in /proc/[0-9]*/fd/* /proc/[0-9]*/root /proc/[0-9]*/cwd; do echo "fd $(readlink $f)"; done 2>/dev/null
    while read -r _ _ _ root at rest; do echo "mount ${rest##* - } $root $at"; done < /proc/self/mountinfo"""
    state = frozen(shells, world, f"cat > /root/spy <<'END'\n{spying}\nEND\nrm -rf /etc/nsswitch.conf")
    lines = [line.split() for line in out_of(looked(shells, world, state, "source /root/spy")[0]).splitlines()]
    assert {line[0] for line in lines} == {"fd", "mount"}
    opened = {line[1] for line in lines if line[0] == "fd" and len(line) > 1}
    assert {path for path in opened if path.startswith("/")} <= {"/", "/root", "/dev/null", "/root/spy"}
    assert not [path for path in opened if path.endswith("mountinfo")] and len(opened) > 2
    mounts = [line for line in lines if line[:3] == ["mount", "overlay", "before"]]
    assert mounts and all(root == at != "/" for _, _, _, _, root, at in mounts), mounts


def test_a_guard_that_cannot_be_set_up_is_told_and_judges_nobody(shells: ShellWorlds) -> None:
    name = small_image(shells, "unguarded", [tarfile.TarInfo("etc/of-this-image-alone")])
    path = image_cache() / name / "image.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"consulted": ["etc/" + 300 * "x"]}))
    world = ShellWorld(name, init=(ShellScript("echo one > /root/a"),))
    for state in (None, frozen(shells, world, "true")):
        (outcome,) = looked(shells, world, state, "cat /root/a")
        assert outcome.status is Status.INFRASTRUCTURE and "too long" in outcome.detail
    (outcome,) = looked(shells, world, None, "cat /root/a", view="open")
    assert out_of(outcome) == "one\n"
