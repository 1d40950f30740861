"""Checks a world on disk: its files are what they were, its tools are tools, its graph is what states show, its tasks
are solvable and soundly paid.

Everything is played anew; the testings of its tools are judged by `synthesis.worlds.examining`. What is found names
the file; nothing is repaired. docs/worlds.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evosyn.errors import InputError
from evosyn.randomness import SeedTree
from evosyn.worlds.tools.cases import breaks
from evosyn.worlds.tools.chains import Chain, ChainStep, calls_of
from evosyn.worlds.tools.ddl import schema
from evosyn.worlds.tools.diff import differences
from evosyn.worlds.tools.disk import text_of
from evosyn.worlds.tools.files import changed_files, folder_of, read_graph, read_world, scan_tasks
from evosyn.worlds.tools.gate import fault
from evosyn.worlds.tools.graph import find_graph
from evosyn.worlds.tools.nearmiss import most_misses, near_misses
from evosyn.worlds.tools.playing import Play, Player, minutes
from evosyn.worlds.tools.records import Rows, ToolWorld
from evosyn.worlds.tools.states import draw_args
from evosyn.worlds.tools.tasks import FEWEST_MISSES, LARGEST, WorldTask, ungrounded, visible

TRIES = 30
"""Random calls of each tool that is checked, in the states of the tasks."""


class WorldFault(NamedTuple):
    """Something that does not hold."""

    file: str
    reason: str


class WorldCheck(NamedTuple):
    """What a check came to.

    Attributes:
        misses: near misses that were tried.
    """

    world: ToolWorld
    faults: tuple[WorldFault, ...]
    tasks: int
    misses: int


def check_world(source: str, player: Player) -> WorldCheck:
    """Check all of a world.

    Raises:
        UsageError: it cannot be read; names file, field and rule.
        SandboxUnavailable: it cannot be played.
    """
    folder = folder_of(source)
    faults = [WorldFault(name, reason) for name, reason in changed_files(folder).items()]
    world = read_world(source)
    try:
        if text_of(folder / "schema.sql") != schema(world):
            faults.append(WorldFault("schema.sql", "is not what world.json says"))
    except InputError as error:
        faults.append(WorldFault("schema.sql", str(error)))
    impure = [WorldFault(f"tools/{one.name}.py", reason) for one in world.tools if (reason := fault(one))]
    if impure:  # such a text is not run
        return WorldCheck(world, (*faults, *impure), 0, 0)
    faults += [WorldFault("graph.json", reason) for reason in _unshown(source, world, player)]
    try:
        lines = list(scan_tasks(source, world))
    except InputError as error:
        return WorldCheck(world, (*faults, WorldFault("tasks.jsonl", str(error))), 0, 0)
    tasks = [one for _, one in lines if isinstance(one, WorldTask)]
    states = [one.state for one in tasks if not breaks(world, one.state)]
    faults += [WorldFault(f"tools/{name}.py", reason) for name, reason in _failures(world, states, player)]
    misses, last = 0, -1
    for number, task in lines:
        reason, tried = (str(task), 0) if isinstance(task, InputError) else _task(world, task, player)
        misses += tried
        if isinstance(task, WorldTask):
            reason = reason or ("" if task.index > last else f"`index` is {task.index}, after {last}")
            last = task.index
        name = "" if isinstance(task, InputError) else f"{task.id}: "
        faults += [WorldFault(f"tasks.jsonl:{number}", f"{name}{reason}")] if reason else []
    return WorldCheck(world, tuple(faults), len(tasks), misses)


def _unshown(source: str, world: ToolWorld, player: Player) -> Iterator[str]:
    """What of the graph its states do not show when they are played again."""
    try:
        graph = read_graph(source)
    except InputError as error:
        yield str(error)
        return
    if graph.seeds is None:
        if graph.edges:
            yield "does not say what its states were drawn from (`seeds`); `evosyn world tasks` makes it anew"
        return
    found = find_graph(world, player, graph.seeds)
    if other := sorted(set(found.edges) ^ set(graph.edges)):
        one = other[0]
        yield f"{one.kind} {one.first} -> {one.then} is not what the states show ({len(other)} edges differ)"
    elif found.wrote != graph.wrote:
        yield "`wrote` names other tools than those that were seen to write"


def _failures(world: ToolWorld, states: Sequence[Rows], player: Player) -> Iterator[tuple[str, str]]:
    """Tools that fail in a way that they do not declare, or never work."""
    if not states:
        return
    for tool in world.tools:
        rng = SeedTree(0).child("check", tool.name).random()
        plays = []
        for number in range(TRIES):
            state = states[number % len(states)]
            args = draw_args(world, tool, state, rng)
            plays += [] if args is None else [Play(state, minutes([(tool.name, args)]))]
        found = player.play(world, plays)
        bad = next((one for one in found if one.lost or one.calls[0].outcome == "failed"), None)
        if bad is not None:
            yield tool.name, f"unexpected-failure: {bad.lost or bad.calls[0].detail}"
        elif not any(one.smooth for one in found):
            yield tool.name, "never-works: no call of 30 was taken"


def _forged(world: ToolWorld, task: WorldTask) -> Iterator[str]:
    """What a task says of itself that cannot be."""
    for name, rows in (("state", task.state), ("gold", task.gold)):
        if broken := breaks(world, rows):
            yield f"`{name}` breaks the schema: {broken}"
    chain, reference = ([name for name, _ in calls] for calls in (task.chain, task.reference))
    if chain != reference:
        yield "the reference is not what the chain gives"
    if len(set(task.shown)) < len(task.shown):
        yield "`shown` names a tool twice"
    if task.complexity != len(task.sentences):
        yield f"`complexity` is {task.complexity}, and {len(task.sentences)} things are asked for"
    most = most_misses(world, task.reference)
    if not FEWEST_MISSES <= task.misses <= most:
        yield f"`misses` is {task.misses}; a task like this has {FEWEST_MISSES} to {most}"
    begun = sum(map(len, task.state.values())) - task.distractors
    if task.distractors < 0 or not 0 <= begun <= LARGEST * len(world.tables):
        yield f"`distractors` is {task.distractors}, which leaves {begun} rows that are none"


def _task(world: ToolWorld, task: WorldTask, player: Player) -> tuple[str, int]:
    """Why a task is none, or "", and how many near misses were tried."""
    if reason := next(_forged(world, task), ""):
        return reason, 0
    steps = tuple([ChainStep(name, args) for name, args in task.chain])
    rng = SeedTree(0).child("check", task.id).random()
    misses = near_misses(world, task.reference, task.state, task.shown, rng)
    plays = [Play(task.state, calls_of(steps)), Play(task.state, minutes(task.reference))]
    chain, reference, *others = player.play(world, [*plays, *(Play(task.state, one) for one in misses)])
    if lost := next((one.lost for one in (chain, reference) if one.lost), ""):
        return f"cannot be played: {lost}", 0
    if not chain.smooth or not reference.smooth:
        wrong = next(one for one in (*chain.calls, *reference.calls) if one.outcome != "ok")
        return f"the reference does not run: {wrong.exception or wrong.detail}", 0
    if [dict(one.args) for one in chain.calls] != [args for _, args in task.reference]:
        return "the reference is not what the chain gives", 0
    if chain.rows != task.gold or reference.rows != task.gold:
        return "the reference does not leave the gold state", 0
    if not differences(world, task.state, task.gold, task.state):
        return "doing nothing is paid", 0
    if reason := ungrounded(world, Chain(steps, task.sentences), task.state):
        return reason, 0
    told = visible(world, task.gold)
    tried = [one for one in others if not one.lost and visible(world, one.rows) != told]
    paid = sum(not differences(world, task.state, task.gold, one.rows) for one in tried)
    return (f"{paid} near misses are paid" if paid else ""), len(tried)
