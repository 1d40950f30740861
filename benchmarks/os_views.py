"""Whether the checks of an honest solution see every file of the image as it is. Ends with 1 where they do not.

    python benchmarks/os_views.py [SOURCE]      # builtin:os-seeds, or agentbench:PATH of your own copy

For each world: everything but /proc, /dev and /sys in the guarded view after work that touches nothing of the image,
against the view of the first state that nobody guards: paths, kinds, modes, owners, link targets, times of files, and
contents (below /usr but /usr/local, of files below 64 KB; a /usr that is this machine's own is left out).
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
most=; case "$1" in /usr/local*) ;; /usr/*) most='-size -64k'; find "$1" -type f -printf '%p %s\n' ;; esac
find "$1" ! -name honest-work -type f $most -exec cksum {} +; }
shopt -s nullglob dotglob
case "$(< /proc/mounts)" in *" /usr "*) system="" ;; *) system="/usr/*" ;; esac
for top in /* $system; do
    case "$top" in /proc | /dev | /sys | /usr) ;; *) echo "$top $(seen "$top" | sort | cksum)" ;; esac
done
"""
LIMITS = Limits(cpu_s=60.0, wall_s=300.0)


def differing(shells: ShellWorlds, world: ShellWorld) -> list[str]:
    """Folders in which the checks of a solution that did `WORK` see something else than the image has."""
    with shells.open(world) as session:
        session.act(WORK)
        state = session.freeze()
    guarded, image = ShellCell(ShellScript(LOOK)), ShellCell(ShellScript(LOOK), (), "open")
    jobs = [ShellJob(world.text, (image,), None, LIMITS), ShellJob(world.text, (guarded,), state, LIMITS)]
    outcomes = [outcome for (outcome,) in shells.run(jobs)]
    assert all(outcome.status is Status.OK for outcome in outcomes), outcomes
    was, now = (set(outcome.value["out"].splitlines()) for outcome in outcomes)
    return sorted({line.split()[0] for line in was ^ now})


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
