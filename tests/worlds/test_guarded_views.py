"""What programs of a check read unasked is that of before anybody worked, or is not there: docs/os-shell.md."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from evosyn.jobs import Limits, ShellCell, ShellJob, ShellScript, Status
from evosyn.shell_world import ShellWorld
from evosyn.worlds.shell import ShellWorlds, images

WORLD = ShellWorld()
LIES = r"""
printf '#!/bin/sh\necho forged\n' > /root/forged; chmod 755 /root/forged
rm -f /etc/alternatives/awk; cp /root/forged /etc/alternatives/awk
echo 'print "forged\n"; exit 0; 1;' > /root/forged.pm
mkdir -p /etc/perl/List; cp /root/forged.pm /etc/perl/strict.pm; cp /root/forged.pm /etc/perl/List/Util.pm
echo 'passwd: nothing' > /etc/nsswitch.conf
echo 'print("forged", flush=True); import os; os._exit(0)' > /root/json.py
mkdir -p /root/.local/lib/python3.{9,10,11,12,13}/site-packages
for f in /root/.local/lib/python3.*/site-packages; do cp /root/json.py $f/usercustomize.py; done
for v in 3.9 3.10 3.11 3.12 3.13; do mkdir -p /etc/python$v; cp /root/json.py /etc/python$v/sitecustomize.py; done
echo 'def length: "forged";' > /root/.jq
mkdir -p /root/app; echo 'X = 7' > /root/app/beside.py; cp /root/json.py /root/app/
echo 'import beside, json; print(beside.X, json.dumps(1))' > /root/app/main.py
git init -q /root/repo; git -C /root/repo config core.fsmonitor '/root/forged; touch /root/ran'
rm -rf /etc/magic /etc/ld.so.conf /etc/ld.so.preload; mkdir -p /etc/magic/a /etc/ld.so.conf/a /etc/ld.so.preload/a
echo changed > /srv/changed; useradd -m bob 2>/dev/null; echo done
"""


class Look(NamedTuple):
    """A check, the program that it needs, and what it prints."""

    program: str
    code: str
    out: str


LOOKS = (
    Look("awk", "awk 'BEGIN { print 1 + 1 }'", "2\n"),
    Look("perl", "perl -e 'use strict; use List::Util; print 5'", "5"),
    Look("id", "id -un 0", "root\n"),
    Look("python3", "python3 -c 'import json; print(json.dumps(3))'", "3\n"),
    Look("python3", "echo 'import json; print(json.dumps(4))' | python3", "4\n"),
    Look("python3", "python3 -Wignore -c 'import json; print(json.dumps(5))' x", "5\n"),
    Look("python3", "python3 app/main.py; cd app; python3 -B -W ignore ./main.py", "7 1\n7 1\n"),
    Look("jq", "echo '[1, 2]' | jq length", "2\n"),
    Look("git", "git -C /root/repo status --short; ls /root/ran 2>&1 | grep -c cannot", "1\n"),
    Look("cat", "cat /srv/changed; test -e /root/.local && echo seen", "changed\nseen\n"),
)


@pytest.fixture(scope="module")
def state(shells: ShellWorlds) -> str:
    with shells.open(WORLD) as session:
        assert session.act(LIES, 60.0).out.endswith("done\n")
        return session.freeze()


def seen(shells: ShellWorlds, state: str, code: str, view: str) -> str:
    cell = ShellCell(ShellScript(code), (), view)  # type: ignore[arg-type]
    (outcome,) = shells.run([ShellJob(WORLD.text, (cell,), state, Limits(cpu_s=10.0, wall_s=30.0))])[0]
    assert outcome.status is Status.OK, outcome
    return str(outcome.value["out"])


@pytest.mark.parametrize("look", LOOKS, ids=[look.code[:24] for look in LOOKS])
def test_a_program_of_a_check_reads_nothing_of_the_state_that_it_was_not_told(
    look: Look, shells: ShellWorlds, state: str
) -> None:
    if shutil.which(look.program, path="/usr/bin:/bin") is None:
        pytest.skip(f"needs {look.program}")
    assert seen(shells, state, look.code, "guarded") == look.out


def test_without_the_guard_it_would_read_them(shells: ShellWorlds, state: str) -> None:
    assert "forged" in seen(shells, state, "python3 -c 'import json; print(json.dumps(3))'", "open")


def test_what_links_of_an_image_lead_to_is_found(tmp_path: Path) -> None:
    links = {
        "usr/bin/awk": "/etc/alternatives/awk", "etc/alternatives/awk": "../../opt/tool/bin/awk",
        "usr/lib/python3.11/sitecustomize.py": "/etc/python3.11/sitecustomize.py", "usr/bin/a": "b",
        "usr/lib/ssl/openssl.cnf": "../../../etc/ssl/openssl.cnf", "usr/share/zoneinfo/localtime": "/etc/localtime",
        "usr/share/x/etc": "/etc", "usr/bin/turning": "turning",
    }  # fmt: skip
    for name, target in links.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(target)
    for name in ("usr/local/bin/python3", "usr/local/lib/python3.11/os.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "usr/local/lib/python3/dist-packages").mkdir(parents=True)
    assert set(images.consulted(tmp_path)) == {
        "opt/tool", "etc/python3.11/sitecustomize.py", "etc/ssl/openssl.cnf", "usr/local/bin/python3",
        "usr/local/lib/python3.11",
    }  # fmt: skip
