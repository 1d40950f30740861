"""What looking at the end states of agents costs, beside a container for each look. Figures, not assertions.

    python benchmarks/os_cells.py [--workers 2] [--rounds 3] [--docker 6]

Work: a grid of 8 frozen states x 8 scripts (two `find` and a `cat`), and `docker run -d`, `exec`, `rm -f` of the same
script in the same run, which is the order of events of AgentBench. Rounds take turns and the best of each
counts, so that the ratio holds on a loaded machine. CPU is that of all processes of the rooms, their start left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from evosyn.domains import domain
from evosyn.jobs import Limits, ShellCell, ShellJob, ShellScript, Status
from evosyn.records import Problem, Solution, Testing
from evosyn.shell_world import ShellWorld
from evosyn.worlds.shell import open_shells
from evosyn.worlds.shell.kind import ShellWorlds

SIDE = 8
LOOK = "find /root/d -type f | wc -l; find /root/d -name 'f*'; cat /root/d/f1; : look"
IMAGE = "evosyn-os-cells"
PROGRAMS = ("bash", "sleep", "find", "wc", "cat", "mkdir")


def states(shells: ShellWorlds, world: ShellWorld) -> list[str]:
    found = []
    for number in range(SIDE):
        with shells.open(world) as session:
            session.act(f"echo {number} > /root/d/f{number}")
            found.append(session.freeze())
    return found


def grid(shells: ShellWorlds, world: ShellWorld, frozen: list[str]) -> float:
    """Seconds for one grid."""
    cells = tuple(ShellCell(ShellScript(f"{LOOK} {number}")) for number in range(SIDE))
    jobs = [ShellJob(world.text, cells, state, Limits(cpu_s=5, wall_s=20)) for state in frozen]
    began = time.perf_counter()
    outcomes = shells.run(jobs)
    assert all(one.status is Status.OK for row in outcomes for one in row), outcomes
    return time.perf_counter() - began


def cpu() -> float:
    """CPU seconds of all that this process has started and that is still there, with what ended in it."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        stats[int(path.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in ours} - ours:
        ours |= more
    return sum(stats[pid][1] for pid in ours - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


def docker_image() -> None:
    """An image of a few of this machine's programs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "image.tar")
        with tarfile.open(path, "w") as tar:
            for name in PROGRAMS:
                program = Path(shutil.which(name) or name).resolve()
                libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout.split()
                tar.add(program, f"bin/{name}")
                for library in {word for word in libraries if word.startswith("/")}:
                    if library.lstrip("/") not in tar.getnames():
                        tar.add(Path(library).resolve(), library)
        subprocess.run(["docker", "import", path, IMAGE], check=True, capture_output=True)


def docker_cell() -> float:
    """Seconds of one container: started, prepared and looked into, removed."""
    began = time.perf_counter()
    run = ["docker", "run", "-d", "--network", "none", IMAGE, "/bin/sleep", "60"]
    name = subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()
    for script in ("mkdir -p /root/d; echo 1 > /root/d/f1", LOOK):
        subprocess.run(["docker", "exec", name, "/bin/bash", "-c", script], check=True, capture_output=True)
    subprocess.run(["docker", "rm", "-f", name], check=True, capture_output=True)
    return time.perf_counter() - began


def questions() -> tuple[int, int]:
    """Looks that 16 answers x 16 scripts of what is expected take, and those that a cell each would take."""
    shell = domain("os-shell")
    problem = Problem("q", "os-shell", "How many?", {"world": {"image": "host"}, "asks": "answer"})
    testings = [Testing("answer", {"script": {"code": f"echo {number}"}}) for number in range(16)]
    expansion = shell.expand(problem, testings, Limits())
    plain = [Testing("value", {"expected": str(number)}) for number in range(16)]
    text = '{"answer":"1","calls":[],"end":"answer","v":1}'
    rows = sum(len(shell.plan(problem, Solution(text), plain, Limits()).jobs) for _ in range(16))
    return sum(len(job.cells) for job in expansion.jobs if isinstance(job, ShellJob)) + rows, 16 * 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--docker", type=int, default=6, help="containers; 0 for none")
    asked = parser.parse_args()
    world = ShellWorld(init=(ShellScript("mkdir -p /root/d; echo 1 > /root/d/f1"),))
    cells, ways = SIDE * SIDE, list[float]()
    if asked.docker:
        docker_image()
    with open_shells(workers=asked.workers) as shells:
        frozen = states(shells, world)
        grid(shells, world, frozen)  # warm
        grids, spent = [], []
        for _ in range(asked.rounds):
            before = cpu()
            grids.append(grid(shells, world, frozen))
            spent.append((cpu() - before) / cells)
            ways += [docker_cell() for _ in range(-(-asked.docker // asked.rounds))]
    print(f"load {os.getloadavg()[0]:.1f}, {asked.workers} workers, {SIDE} x {SIDE} cells")
    print(
        f"a cell: {min(grids) / cells * 1e3:.1f} ms of wall time (goal 30), {min(spent) * 1e3:.1f} ms of CPU (goal 20)"
    )
    if ways:
        ratio = min(ways) / (min(grids) / cells)
        print(f"docker run, exec, rm: {min(ways) * 1e3:.0f} ms, {ratio:.0f} x as long (goal 20)")
    print("questions, 16 x 16: {} looks in place of {}".format(*questions()))


if __name__ == "__main__":
    main()
