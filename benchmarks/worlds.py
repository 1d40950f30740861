"""What turns in tool worlds and rewards by final state cost. Figures, not assertions.

    python benchmarks/worlds.py [--workers 2] [--batch 64] [--rounds 5]

Work: batches of so many turns of agents, each the third call of a task of the bundled worlds over the two before it (a
process a turn, as a session does it); states opened and calls that read, many in one process; rewards of final states
of 200 rows. Best of the rounds each.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable

from evosyn.jobs import Status
from evosyn.ports import Sandbox
from evosyn.sandbox import open_sandbox
from evosyn.worlds.tools.diff import differences
from evosyn.worlds.tools.files import bundled, read_tasks, read_world
from evosyn.worlds.tools.playing import Play, Player, minutes, play_job, played
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


def turns_a_second(sandbox: Sandbox, batch: int, rounds: int) -> float:
    asked = turns(batch)

    def play() -> None:
        jobs = [play_job(world, one.rows, [one.calls]) for world, one in asked]
        for (outcome,), (_, one) in zip(sandbox.run(jobs), asked, strict=True):
            assert outcome.status is Status.OK, outcome
            assert played(outcome, one.rows)[0].smooth

    play()  # warm
    return batch / best(rounds, play)[0]


def opened_and_read(sandbox: Sandbox, rounds: int) -> tuple[float, float]:
    """States opened a second (rows in), and calls that read a second."""
    world, task = read_world("builtin:library"), read_tasks("builtin:library")[0]
    player, call = Player(sandbox), minutes(task.reference[:1])
    empty = [Play(task.state, ()) for _ in range(200)]
    resets = 200 / best(rounds, lambda: player.play(world, empty))[0]
    reads = 500 / best(rounds, lambda: player.play(world, [Play(task.state, call * 500)]))[0]
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
    with open_sandbox(workers=asked.workers, allow_weak=True) as sandbox:
        print(f"turns a second: {turns_a_second(sandbox, asked.batch, asked.rounds):.0f} (goal 150)")
        resets, reads = opened_and_read(sandbox, asked.rounds)
    print(f"a second: {resets:.0f} states opened, {reads:.0f} calls that read")
    print(f"rewards: {rewards(asked.rounds):.0f} states of {ROWS} rows a CPU second (goal 1,000)")


if __name__ == "__main__":
    main()
