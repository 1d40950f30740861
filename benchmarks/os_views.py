"""Whether the checks of an honest solution see every file of the image as it is. Ends with 1 where they do not.

    python benchmarks/os_views.py [SOURCE]      # builtin:os-seeds, or agentbench:PATH of your own copy

For each world: everything but /proc, /dev and /sys in the guarded view after work that touches nothing of the image,
against the view of the first state that nobody guards: paths, kinds, modes, owners, link targets, times of files, and
contents (below /usr but /usr/local, inodes in their place; a /usr that is this machine's own is left out).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.jobs import Limits, ShellCell, ShellJob, ShellScript, Status
from evosyn.shell_world import ShellWorld, world_in
from evosyn.worlds.shell import open_shells
from evosyn.worlds.shell.kind import ShellWorlds

WORK = "mkdir -p /root && echo done > /root/honest-work"
LOOK = r"""
seen() { find "$1" ! -name honest-work \( -type d -printf '%p %y %m %U:%G\n' -o -printf '%p %y %m %U:%G %T@ %l\n' \)
case "$1" in /usr/local*) ;; /usr/*) find "$1" -type f -printf '%p %i %s\n'; return;; esac
find "$1" ! -name honest-work -type f -exec cksum {} +; }
shopt -s nullglob dotglob
case "$(< /proc/mounts)" in *" /usr "*) system="" ;; *) system="/usr/* /usr/local/*/*" ;; esac
for top in /* /etc/* $system; do
    case "$top" in /proc | /dev | /sys | /usr) ;; *) echo "$top $(seen "$top" | sort | cksum)" ;; esac
done
"""
LIMITS = Limits(cpu_s=60.0, wall_s=300.0)


def seen(shells: ShellWorlds, world: ShellWorld, state: str | None, view: str) -> list[str]:
    """A line for each folder with the digest of what is below it."""
    cell = ShellCell(ShellScript(LOOK), (), "open" if view == "open" else "guarded")
    (outcome,) = shells.run([ShellJob(world.text, (cell,), state, LIMITS)])[0]
    assert outcome.status is Status.OK, outcome
    return str(outcome.value["out"]).splitlines()


def differing(shells: ShellWorlds, world: ShellWorld, work: str = WORK) -> list[str]:
    """Folders and files of which the checks of a solution that did this see something else than the image has."""
    with shells.open(world) as session:
        session.act(work)
        state = session.freeze()
    found = set(seen(shells, world, None, "open")) ^ set(seen(shells, world, state, "guarded"))
    return sorted({line.split()[0] for line in found})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default="builtin:os-seeds")
    kept, other, unmade = 0, 0, 0
    with open_shells() as shells:
        for pool in load_pools(parser.parse_args().source):
            try:
                found = differing(shells, replace(world_in(pool.problem.payload), start=None))
            except UsageError as error:
                unmade += 1
                print(f"{pool.problem.problem_id}: cannot be prepared: {str(error).strip()[:100]}")
                continue
            kept, other = kept + (not found), other + bool(found)
            if found:
                print(f"{pool.problem.problem_id}: {' '.join(found)}")
    print(f"{kept} of {kept + other + unmade} keep every file; {other} do not, {unmade} cannot be prepared")
    return int(other > 0)


if __name__ == "__main__":
    sys.exit(main())
