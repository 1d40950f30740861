"""The worlds and tasks of `evosyn experiment worlds`. SIMULATED: variants of the three bundled worlds, made by rule.

A variant has the tools of its world, other data in every task, and other words for what people ask for (`WORDINGS`). A
tool may have a known defect (`DEFECTS`), written by hand. All of it runs in our own process, since people wrote it.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.worlds.tools.chains import ChainMaker, ChainStep, calls_of
from evosyn.worlds.tools.files import bundled, read_graph, read_world
from evosyn.worlds.tools.in_process import InProcessPlayer, reviewed
from evosyn.worlds.tools.playing import Play
from evosyn.worlds.tools.records import Column, ToolSpec, ToolWorld
from evosyn.worlds.tools.states import draw_state, drawn

MOST_CALLS, SLOTS, ATTEMPTS = 3, 9, 40
States = dict[str, list[dict[str, Any]]]
WORDINGS: dict[str, tuple[str, ...]] = {
    "lend": ("lend", "loan", "hand out", "give out", "issue"),
    "renew": ("renew", "extend", "prolong", "lengthen"),
    "take back": ("take back", "receive", "collect", "accept"),
    "charge": ("charge", "bill", "debit", "invoice"),
    "place a hold": ("place a hold", "put a reservation", "set a claim", "enter a wish"),
    "cancel": ("cancel", "drop", "call off", "undo"),
    "set the status": ("set the status", "change the state", "switch the standing", "turn the mark"),
    "book": ("book", "arrange", "schedule", "plan"),
    "move": ("move", "shift", "transfer", "relocate"),
    "block": ("block", "close", "lock", "bar"),
    "write a prescription": ("write a prescription", "issue a script", "prepare a recipe", "sign an order"),
    "refill": ("refill", "top up", "repeat", "restock"),
    "register": ("register", "take in", "record", "log"),
    "give": ("give", "pass", "entrust", "deal"),
    "say that": ("say that", "report that", "confirm that", "state that"),
    "note about": ("note about", "remark on", "jot about", "comment on"),
    "change the street": ("change the street", "correct the address", "replace the road", "mend the lane"),
}
"""How a request may begin; the first as in the bundled worlds."""
DEFECTS: dict[str, tuple[str, str]] = {
    "charge_fine": ("fine_id, member_id, cents, reason)", "fine_id, member_id, 100, reason)"),
    "set_status": ("SET status = ? WHERE member_id = ?", "SET status = ? WHERE name = ?"),
    "checkout": ("SET status = 'on_loan' WHERE", "SET status = status WHERE"),
    "renew_loan": ('loan["due"], days)', 'loan["due"], 7)'),
    "place_hold": ("title_id, note, db.now())", "title_id, '', db.now())"),
    "cancel_hold": ("SET status = 'cancelled' WHERE", "SET status = 'waiting' WHERE"),
    "return_copy": ("UPDATE copy SET status = 'available' WHERE", "UPDATE copy SET status = status WHERE"),
    "search_member": ("WHERE name = ?", "WHERE name >= ?"),
    "book": ("patient_id, slot_id, reason)", "patient_id, slot_id, '')"),
    "cancel_appointment": ("SET status = 'free' WHERE", "SET status = status WHERE"),
    "move_appointment": ("SET status = 'free' WHERE", "SET status = status WHERE"),
    "block_slot": ("SET status = 'blocked' WHERE", "SET status = 'free' WHERE"),
    "prescribe": ("        days,\n        refills,\n", "        28,\n        0,\n"),
    "refill": ("SET refills = refills - 1", "SET refills = refills - 0"),
    "find_doctor": ("WHERE name = ?", "WHERE name >= ?"),
    "register": ("depot_id, grams)", "depot_id, 1000)"),
    "add_note": ("parcel_id, note, db.now())", "parcel_id, '', db.now())"),
    "change_street": ("SET street = ? WHERE customer_id = ?", "SET street = ? WHERE name = ?"),
    "assign": ("SET status = 'out', courier_id", "SET status = status, courier_id"),
    "move": ("SET depot_id = ? WHERE", "SET depot_id = ? WHERE 1 = 0 AND"),
    "deliver": ("parcel_id, note, db.now())", "parcel_id, '', db.now())"),
}
"""Of each tool the one defect that its other implementation has: what is replaced in its text, and by what."""


@dataclass(frozen=True)
class ToyTask:
    """One task.

    Attributes:
        world, wording, broken: names its world (`variant`).
        steps: the chain, (tool, arguments by where they come from).
        write: the tool that is asked for.
        feasible: its chain runs.
    """

    world: str
    wording: int
    broken: tuple[str, ...]
    text: str
    steps: tuple[tuple[str, dict[str, dict[str, Json]]], ...]
    state: States
    gold: States
    write: str
    feasible: bool = True

    @property
    def values(self) -> tuple[str, ...]:
        """What the instruction names, in the order in which it does, each once."""
        places = [(_place(self.text, one), -len(one), one) for one in _told(self.steps)]
        return tuple(one for *_, one in sorted(places))


def _told(steps: Sequence[tuple[str, dict[str, dict[str, Json]]]]) -> set[str]:
    """The facts of a chain."""
    sources = [one for _, args in steps for one in args.values() if "from" not in one]
    return {str(one.get("is", one.get("say"))) for one in sources}


def _place(text: str, value: str) -> int:
    """Where a value stands by itself in a text; -1 where it does not."""
    found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
    return -1 if found is None else found.start()


def defective(tool: ToolSpec) -> ToolSpec:
    """A tool with its defect.

    Raises:
        ValueError: its text is not the one that the defect was written for.
    """
    old, new = DEFECTS[tool.name]
    if tool.source.count(old) < 1:
        raise ValueError(f"the defect of {tool.name} does not fit its text")
    return tool.model_copy(update={"source": tool.source.replace(old, new, 1)})


@functools.cache
def variant(name: str, wording: int, broken: tuple[str, ...] = ()) -> ToolWorld:
    """A bundled world in other words, which `wording` draws, with the tools of `broken` as they should not be."""
    world, tools = read_world(f"builtin:{name}"), []
    rng = SeedTree(wording).child("wording", name).random()
    chosen = {phrase: rng.choice(others) for phrase, others in WORDINGS.items()}
    for tool in world.tools:
        phrase = max((one for one in WORDINGS if tool.request.startswith(one)), key=len, default="")
        said = chosen[phrase] + tool.request.removeprefix(phrase) if phrase else tool.request
        other = tool.model_copy(update={"request": said})
        tools.append(defective(other) if tool.name in broken else other)
    return world.model_copy(update={"tools": tuple(tools)})


@functools.cache
def player() -> InProcessPlayer:
    """Plays all of these worlds."""
    worlds = [read_world(f"builtin:{name}") for name in bundled()]
    spoilt = [defective(tool).source for world in worlds for tool in world.tools if tool.name in DEFECTS]
    return InProcessPlayer(reviewed() | set(spoilt))


def draw_tasks(count: int, wordings: Sequence[int], seeds: SeedTree, *, ranked: bool = True) -> list[ToyTask]:
    """So many tasks over variants in turn, each with its chain played.

    Args:
        ranked: every tool is the right one of its two implementations; else a random one of them.
    """
    found: list[ToyTask] = []
    names = list(bundled())
    coins = seeds.child("implementations").random()
    broken = {name: () if ranked else tuple(_some(name, coins)) for name in names}
    for number in range(count):
        name, wording = names[number % len(names)], wordings[number // len(names) % len(wordings)]
        world = variant(name, wording, broken[name])
        tries = (_drawn(world, name, seeds.child("task", number, one).random()) for one in range(ATTEMPTS))
        made = next((one for one in tries if one is not None), None)
        if made is not None:
            text, steps, state, gold = made
            found.append(ToyTask(name, wording, broken[name], text, steps, state, gold, steps[-1][0]))
    return found


def _some(name: str, coins: random.Random) -> Iterator[str]:
    for tool in read_world(f"builtin:{name}").tools:
        if tool.name in DEFECTS and coins.random() < 0.5:
            yield tool.name


def _drawn(world: ToolWorld, name: str, rng: random.Random) -> tuple[str, Any, States, States] | None:
    rows = draw_state(world, {one.name: rng.randint(4, 6) for one in world.tables}, rng)
    chain = ChainMaker(world, _graph(name), player(), rows, {}, rng).make(1)
    if isinstance(chain, str) or len(chain.steps) > MOST_CALLS:
        return None
    played = player().one(world, Play(rows, calls_of(chain.steps)))
    text, steps = " ".join(chain.sentences), tuple((one.tool, one.args) for one in chain.steps)
    unsaid = any(_place(text, one) < 0 for one in _told(steps))
    return None if unsaid or not played.smooth or played.rows == rows else (text, steps, rows, played.rows)


@functools.cache
def _graph(name: str) -> Any:
    return read_graph(f"builtin:{name}")


def unexecuted(tasks: Sequence[ToyTask], seeds: SeedTree) -> list[ToyTask]:
    """The same tasks as an author leaves them who runs nothing: words and figures of the states are drawn anew, and the
    gold state is what is left where calls are refused."""
    found = []
    for number, task in enumerate(tasks):
        world, rng = variant(task.world, task.wording, task.broken), seeds.child("unexecuted", number).random()
        steps = [ChainStep(name, args) for name, args in task.steps]
        for _ in range(ATTEMPTS):
            state = {name: [_redrawn(world, name, row, rng) for row in rows] for name, rows in task.state.items()}
            played = player().one(world, Play(state, calls_of(steps)))
            if not played.lost:
                fields = {**vars(task), "state": state, "gold": played.rows, "feasible": played.smooth}
                found.append(ToyTask(**fields))
                break
    return found


def _redrawn(world: ToolWorld, table: str, row: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    def anew(column: Column) -> bool:
        fixed = column.unique or column.references or column.name == world.table[table].key
        return not fixed and bool(column.values or column.type in ("integer", "date"))

    return {
        one.name: drawn(one, world, rng) if anew(one) and rng.random() < 0.5 else row[one.name]
        for one in world.table[table].columns
    }


def words_of_all() -> list[str]:
    """The words that an instruction may hold, beside its values."""
    texts = ["please then", *(phrase for others in WORDINGS.values() for phrase in others)]
    for name in bundled():
        world = read_world(f"builtin:{name}")
        texts += [one.request for one in world.tools] + [f"{one.called} {one.made}" for one in world.tables]
    return sorted({word for text in texts for word in re.findall(r"[a-z]+", re.sub(r"\{\w+\}", " ", text.lower()))})
