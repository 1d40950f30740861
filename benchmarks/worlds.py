"""What turns in tool worlds and rewards by final state cost. Figures, not assertions.

    python benchmarks/worlds.py [--workers 2] [--batch 64] [--rounds 5]

Work: batches of so many turns of agents, each the third call of a task of the bundled worlds over the two before it, in
the sandbox (a process a turn, as a session does it) and in our own process (hand-written tools only), taking turns;
states opened and calls that read, in our own process; rewards of final states of 200 rows. Best of the rounds each.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable

from evosyn.jobs import Status
from evosyn.sandbox import open_sandbox
from evosyn.worlds.tools.diff import differences
from evosyn.worlds.tools.files import bundled, read_tasks, read_world
from evosyn.worlds.tools.in_process import InProcessPlayer, reviewed
from evosyn.worlds.tools.playing import Play, minutes, play_job, played
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.states import draw_state

ROWS, STATES = 200, 1000


def turns(batch: int) -> list[tuple[ToolWorld, Play]]:
    """Turns of the bundled tasks, in turn."""
    worlds = [(read_world(f"builtin:{name}"), read_tasks(f"builtin:{name}")) for name in bundled()]
    found = [(world, Play(task.state, minutes(task.reference[:3]))) for world, tasks in worlds for task in tasks]
    return [found[at % len(found)] for at in range(batch)]


def best(rounds: int, work: Callable[[], object]) -> tuple[float, float]:
    """Wall and own CPU seconds of the fastest round."""
    seconds = []
    for _ in range(rounds):
        began, cpu = time.perf_counter(), time.process_time()
        work()
        seconds.append((time.perf_counter() - began, time.process_time() - cpu))
    return min(one[0] for one in seconds), min(one[1] for one in seconds)


def isolated_and_not(batch: int, workers: int, rounds: int) -> tuple[float, float]:
    """Turns a second in the sandbox and in our process."""
    asked, player = turns(batch), InProcessPlayer(reviewed())
    with open_sandbox(workers=workers, allow_weak=True) as sandbox:

        def isolated() -> None:
            jobs = [play_job(world, one.rows, [one.calls]) for world, one in asked]
            for (outcome,), (_, one) in zip(sandbox.run(jobs), asked, strict=True):
                assert outcome.status is Status.OK, outcome
                assert played(outcome, one.rows)[0].smooth

        def here() -> None:
            assert all(player.one(world, one).smooth for world, one in asked)

        isolated()  # warm
        here()
        pairs = [(best(1, isolated)[0], best(1, here)[0]) for _ in range(rounds)]
    return batch / min(one for one, _ in pairs), batch / min(one for _, one in pairs)


def opened_and_read(rounds: int) -> tuple[float, float]:
    """States opened a second (rows in), and calls that read a second, in our process."""
    world, task = read_world("builtin:library"), read_tasks("builtin:library")[0]
    player, call = InProcessPlayer(reviewed()), minutes(task.reference[:1])
    empty = [Play(task.state, ()) for _ in range(200)]
    resets = 200 / best(rounds, lambda: player.play(world, empty))[1]
    reads = 500 / best(rounds, lambda: player.play(world, [Play(task.state, call * 500)]))[1]
    return resets, reads


def rewards(rounds: int) -> float:
    """Final states of `ROWS` rows compared in a CPU second; a tenth of each have other values than they should."""
    world, rng = read_world("builtin:library"), random.Random(0)
    counts = {one.name: ROWS // len(world.tables) for one in world.tables}
    first = draw_state(world, counts, rng)
    gold = {**first, "member": [{**row, "status": "active"} for row in first["member"]]}
    finals = []
    for number in range(STATES):
        changed = dict(rng.choice(gold["hold"]), note=f"note {number}")
        holds = [changed if row["hold_id"] == changed["hold_id"] and number % 10 == 0 else row for row in gold["hold"]]
        finals.append({**gold, "hold": holds})
    return STATES / best(rounds, lambda: [differences(world, first, gold, one) for one in finals])[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {asked.workers} workers, batches of {asked.batch}")
    isolated, here = isolated_and_not(asked.batch, asked.workers, asked.rounds)
    print(f"turns a second: {isolated:.0f} isolated (goal 150), {here:.0f} in process; {here / isolated:.1f} to 1")
    resets, reads = opened_and_read(asked.rounds)
    print(f"in process, a CPU second: {resets:.0f} states opened, {reads:.0f} calls that read (goal 20,000)")
    print(f"rewards: {rewards(asked.rounds):.0f} states of {ROWS} rows a CPU second (goal 1,000)")


if __name__ == "__main__":
    main()
