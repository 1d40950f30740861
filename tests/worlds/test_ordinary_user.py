"""Rooms for a user who is not root: with a range of ids of his own, and without one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import textwrap
from pathlib import Path

import pytest

from tests.sandbox.test_ordinary_user import ROOT, interpreter, open_folder

__all__ = ["open_folder"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="runs as an ordinary user already"),
    pytest.mark.skipif(not shutil.which("setpriv") or not shutil.which("unshare"), reason="needs setpriv and unshare"),
]
UID, FIRST, SPAN = 70_001, 300_000, 65_536
TOOLS = ("newuidmap", "newgidmap")
PROGRAM = textwrap.dedent("""
    import json, sys
    from evosyn.jobs import ShellScript
    from evosyn.shell_world import ShellWorld
    from evosyn.worlds.shell import open_shells
    with open_shells(workers=1) as shells:
        with shells.open(ShellWorld(init=(ShellScript("echo one > /root/a"),))) as room:
            seen = room.act("cat /root/a; chown 7:8 /root/a 2>/dev/null; stat -c %u:%g /root/a; id -u").out.split()
            room.act("echo two > /root/b")
            state = room.freeze()
        kept = shells.states.has(state)
        lacks = shells.lacks(ShellWorld(needs=("uids", "processes")))
        print(json.dumps([shells.level.name, shells.level.users, list(lacks), seen, kept]))
""")


def as_user(folder: Path, argv: list[str], *, ranged: bool) -> subprocess.CompletedProcess[str]:
    """Run as a user who exists in the files of a mount namespace alone; with a range of ids where that is asked for."""
    passwd = Path("/etc/passwd").read_text()
    files = {"passwd": f"{passwd}roomer:x:{UID}:{UID}::{folder}:/bin/bash\n"}
    for name in ("subuid", "subgid"):
        files[name] = f"roomer:{FIRST}:{SPAN}\n" if ranged else ""
    lines = ["set -e"]
    for name, text in files.items():
        (folder / name).write_text(text)
        lines += [
            f"[ -e /etc/{name} ] || {{ echo no /etc/{name}; exit 77; }}",
            f"mount --bind {folder / name} /etc/{name}",
        ]
    lines.append(f'exec setpriv --reuid={UID} --regid={UID} --clear-groups "$@"')
    environment = {
        "HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": f"{sysconfig.get_path('purelib')}:{ROOT}",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }  # fmt: skip
    line = ["unshare", "--mount", "--propagation", "private", "bash", "-c", "\n".join(lines), "bash", *argv]
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    return done


@pytest.mark.parametrize("ranged", [True, False], ids=["a range of ids", "one id"])
def test_rooms_give_an_ordinary_user_what_his_level_says(ranged: bool, open_folder: Path) -> None:
    if ranged and not all(map(shutil.which, TOOLS)):
        pytest.skip("needs newuidmap and newgidmap (package uidmap)")
    done = as_user(open_folder, [interpreter(), "-c", PROGRAM], ranged=ranged)
    if done.returncode and "SandboxUnavailable" in done.stderr and not ranged:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr[-2000:]
    wanted = (
        '["C", true, [], ["one", "7:8", "0"], true]' if ranged else '["C", false, ["uids"], ["one", "0:0", "0"], true]'
    )
    assert done.stdout.strip().replace('["A"', '["C"').replace('["B"', '["C"') == wanted
