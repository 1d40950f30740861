"""The kind of world itself: opens sessions, and runs the cells of jobs over frozen states."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, NamedTuple, TypeVar

from evosyn.errors import CorruptRun, SandboxUnavailable, StateTooLarge, UnavailableError, UsageError
from evosyn.jobs import ItemOutcome, Limits, ShellCell, ShellJob, ShellScript, Status
from evosyn.shell_world import Need, ShellWorld
from evosyn.sources import deciding_sources
from evosyn.worlds.shell.images import Image, build
from evosyn.worlds.shell.keepers import Keepers
from evosyn.worlds.shell.rooms import CELL_MB, ROOM_MB, Ran, Room, RoomLost, RoomRefused
from evosyn.worlds.shell.sessions import ShellSession
from evosyn.worlds.shell.states import ShellState, StateStore, passing_folder

INIT_S = 60.0
START_S = 30.0
REPLAY_S = 30.0
"""Of one action that is done again."""
READ_S, MAX_READ = 30.0, 1000
"""To see whether a script can be read, and of how many that is kept."""
ATTEMPTS = 3
Done = TypeVar("Done")


class Replay(NamedTuple):
    """What actions came to: the state that they left, what the last one printed (maybe cut), and its exit status."""

    state: str
    out: str
    exit: int | None
    truncated: bool = False


class _NoState(Exception):
    """A state that a job names is not to be had."""


class _RoomsLost(UnavailableError):
    """A room was lost as often as is tried."""


class Looked(NamedTuple):
    """Over what the cells of a job run, and what its last action said."""

    image: Image
    state: ShellState
    replay: Replay | None


@dataclass(frozen=True)
class Level:
    """How much of a shell world this machine can give.

    Attributes:
        name: A: all of it; B: one user only; C: A or B without control groups, so that memory is only watched.
        users: rooms have users of their own.
        bounded: the kernel bounds the memory of a room as a whole.
    """

    name: Literal["A", "B", "C"]
    users: bool
    bounded: bool


class ShellWorlds:
    """`ports.WorldKind` of shell worlds. Made by `open_shells`; may be used from several threads."""

    def __init__(self, store: Path | None, workers: int | None) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"workers={workers}: shell worlds need at least 1 worker")
        stack = ExitStack()
        with stack:
            self.states = StateStore(store or stack.enter_context(passing_folder()))
            self._keepers = Keepers()
            stack.callback(self._keepers.close)
            self._pool = ThreadPoolExecutor(workers or len(os.sched_getaffinity(0)), thread_name_prefix="evosyn-shell")
            stack.callback(self._pool.shutdown, cancel_futures=True)
            self._finalizer = weakref.finalize(self, stack.pop_all().close)
        self._first_lock = threading.Lock()
        self._reading_errors = dict[tuple[str, ShellScript, str], str]()

    @property
    def level(self) -> Level:
        users, bounded = self._keepers.identity.many, self._keepers.groups is not None
        return Level("C" if not bounded else "A" if users else "B", users, bounded)

    def lacks(self, world: ShellWorld) -> tuple[Need, ...]:
        """What a world needs and this machine does not give: it is to be skipped by these names, never failed."""
        return tuple(need for need in world.needs if need == "uids" and not self.level.users)

    def open(self, world: ShellWorld) -> ShellSession:
        """See `ports.WorldKind.open`."""
        state = self.first_state(world)
        image = self._keepers.image(world.image)
        keeper = self._keepers.take(image)
        room = Room(keeper, self.states, world.cwd)
        try:
            room.open(self.states.get(state), guarded=False, disk_mb=ROOM_MB, net=True)
            session = ShellSession(self._keepers, keeper, room, self.states, self.states.get(state))
            if world.start is not None:
                began = session.act(_as_bash(world), START_S)
                if began.ended == "lost":
                    raise UnavailableError(f"the room of the start script was lost: {began.out}")
                if began.exit != 0:
                    raise UsageError(f"the start script of the world ended with {began.exit}: {began.out[-300:]}")
        except RoomLost as error:
            self._keepers.end(keeper)
            raise UnavailableError(f"a room could not be opened: {error}") from error
        except BaseException:
            self._keepers.end(keeper)
            raise
        return session

    def see_image(self, name: str) -> None:
        """
        Raises:
            SandboxUnavailable: the image is not here; says how it is made.
        """
        self._keepers.image(name)

    def image_digest(self, name: str) -> str:
        """
        Raises:
            SandboxUnavailable: as `see_image`.
        """
        return self._keepers.image(name).digest

    def build_image(self, source: IO[bytes], name: str) -> Image:
        """Unpack a tar as an image for rooms of this machine's users; as `images.build`."""
        return build(source, name, self._keepers.identity)

    def kept(self, state: str) -> bool:
        """Whether a frozen state is here."""
        return self.states.has(state)

    def trial(self, world: ShellWorld) -> str:
        """What is wrong with a world as `name: detail`: it cannot be made, is not the same twice, or is nothing.

        Raises:
            UnavailableError: no room stayed for it, or none is to be had any more; that says nothing about the world.
        """
        if lacking := self.lacks(world):
            return f"lacks-{'-'.join(lacking)}: {_lacking(lacking)}"
        if not world.init:
            return "init-empty: nothing was prepared"
        try:
            self.see_image(world.image)
        except SandboxUnavailable as error:
            return f"no-image: {error}"
        try:
            same = self._again(lambda: self._same_twice(world))
        except UsageError as error:
            return f"init-fails: {error}"
        return "" if same else "init-unstable: made twice, it is not the same"

    def _same_twice(self, world: ShellWorld) -> bool:
        """Whether a world that is made and begun is the same when it is made once more."""
        first = self.first_state(world)
        same = self._make_first(world, self._keepers.image(world.image)) == first
        if world.start is not None:
            self.open(world).close()
        return same

    def first_state(self, world: ShellWorld) -> str:
        """The state that a world begins with, made by its scripts where it was not before.

        Raises:
            UsageError: a script fails, or this machine lacks what the world needs.
            UnavailableError: the room was lost.
        """
        if lacking := self.lacks(world):
            raise UsageError(_lacking(lacking))
        image = self._keepers.image(world.image)
        asked = [deciding_sources(), image.digest, world.cwd, [[script.language, script.code] for script in world.init]]
        key = hashlib.sha256(json.dumps(asked).encode("utf-8", "surrogatepass")).hexdigest()
        with self._first_lock:
            found = self.states.first(key)
            if found is None or not self.states.has(found):
                found = self._make_first(world, image)
                self.states.put_first(key, found)
        return found

    def _make_first(self, world: ShellWorld, image: Image) -> str:
        empty = ShellState(image.digest, (), 0)
        if not world.init:
            return self.states.put(empty)
        try:
            with self._keepers.lent(image) as keeper:
                room = Room(keeper, self.states, world.cwd)
                room.open(empty, guarded=False, disk_mb=ROOM_MB, net=True)
                for number, script in enumerate(world.init):
                    ran = room.run(script, cpu_s=INIT_S, wall_s=INIT_S)
                    if ran.exit != 0:
                        why = ran.refused or ("time limit" if ran.exit is None else f"exit {ran.exit}")
                        raise UsageError(f"init script {number} of the world: {why}: {(ran.err or ran.out)[-300:]}")
                layer = room.freeze()
                room.close()
        except RoomRefused as error:
            raise UsageError(f"the first state of the world cannot be kept: {error}") from error
        except RoomLost as error:
            raise UnavailableError(f"the room of an init script was lost: {error}") from error
        return self.states.put(ShellState(image.digest, (layer,), 1))

    def run(
        self, jobs: Sequence[ShellJob], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        """Run the cells of jobs: for each job the outcomes of its cells, in order. See `ports.Sandbox.run`.

        Raises:
            UsageError: a job's world cannot be made, or its state is not here or of another world.
        """
        futures = [self._pool.submit(self._row, job) for job in jobs]
        results = []
        try:
            for index, future in enumerate(futures):
                results.append(future.result())
                if on_done is not None:
                    on_done(index, results[-1])
        finally:
            for future in futures:
                future.cancel()
        return results

    def replay(self, world: ShellWorld, actions: Sequence[str]) -> Replay:
        """Do in a room of the world what was done in another one; known states of equal actions are not made again.

        Raises:
            UsageError, UnavailableError, StateTooLarge: as of `open` and of the session.
        """
        start = "" if world.start is None else _as_bash(world)
        asked = json.dumps([deciding_sources(), self.first_state(world), world.cwd, start, list(actions)])
        key = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()
        found = self.states.first(key)
        if found is None or not self.states.has(json.loads(found)[0]):
            with self.open(world) as session:
                for action in actions:
                    seen = session.act(action, REPLAY_S)
                    if seen.ended == "lost":
                        raise UnavailableError(f"a room was lost: {seen.out}")
                found = json.dumps([session.freeze(), seen.out, seen.exit, seen.truncated])
            self.states.put_first(key, found)
        return Replay(*json.loads(found))

    def _looked(self, job: ShellJob) -> Looked:
        world = ShellWorld.read(job.world)
        first = self.first_state(world)
        image = self._keepers.image(world.image)
        begun = self.states.get(first)
        named = job.state or (None if job.actions else first)
        known = self.states.get(named) if named is not None and self.states.has(named) else None
        if known is not None and (known.image, known.layers[: known.first]) != (begun.image, begun.layers):
            known = None  # of another world, or over an image that was made anew
        if job.says or (job.actions and known is None):
            replay = self.replay(world, job.actions)
            return Looked(image, self.states.get(replay.state), replay)
        if known is None:
            raise _NoState(f"state {job.state} is not here, or is none of this world, and no action says how it came")
        return Looked(image, known, None)

    def _again(self, work: Callable[[], Done]) -> Done:
        """Do something, and again in other rooms where some are lost: they are ours, and nobody's failure.

        Raises:
            _RoomsLost: as often as is tried.
        """
        why = ""
        for _ in range(ATTEMPTS):
            try:
                return work()
            except SandboxUnavailable:
                raise
            except UnavailableError as error:
                why = str(error)
        raise _RoomsLost(f"{ATTEMPTS} times: {why}")

    def _row(self, job: ShellJob) -> tuple[ItemOutcome, ...]:
        items = len(job.cells) + job.says
        world = ShellWorld.read(job.world)
        if lacking := self.lacks(world):  # says nothing about what is judged
            return (ItemOutcome(Status.INFRASTRUCTURE, detail=_lacking(lacking)),) * items
        try:
            image, state, replay = self._again(lambda: self._looked(job))
        except (StateTooLarge, _NoState) as error:
            return (ItemOutcome(Status.KILLED, detail=str(error)),) * items
        except UsageError as error:
            return (ItemOutcome(Status.LOAD_ERROR, detail=str(error)),) * items
        except _RoomsLost as error:
            return (ItemOutcome(Status.INFRASTRUCTURE, detail=str(error)),) * items
        said = tuple[str, ...]()
        outcomes = list[ItemOutcome]()
        if job.says and replay is not None:
            value = {"out": replay.out, "err": "", "exit": replay.exit, "truncated": replay.truncated}
            outcomes.append(ItemOutcome(Status.OK, value))
            said = (replay.out.strip(),)
        cells = [replace(cell, arguments=(*said, *cell.arguments)) for cell in job.cells]
        return (*outcomes, *(self._cell(cell, job.limits, image, state, world.cwd) for cell in cells))

    def _cell(self, cell: ShellCell, limits: Limits, image: Image, state: ShellState, cwd: str) -> ItemOutcome:
        why = ""
        for _ in range(ATTEMPTS):
            try:
                return self._outcome(cell, limits, image, state, cwd)
            except (RoomLost, CorruptRun, UnavailableError) as error:
                why = str(error)
        return ItemOutcome(Status.INFRASTRUCTURE, detail=f"room lost {ATTEMPTS} times: {why}")

    def _outcome(self, cell: ShellCell, limits: Limits, image: Image, state: ShellState, cwd: str) -> ItemOutcome:
        """What a cell comes to. What cannot be done over the first state either is none of a solution's doing."""
        first = ShellState(state.image, state.layers[: state.first], state.first)
        try:
            ran = self._run_script(cell, limits, image, state, cwd)
        except RoomRefused as error:
            try:
                self._reading_error(cell, image, first, cwd)
            except RoomRefused as ours:
                return ItemOutcome(Status.INFRASTRUCTURE, detail=f"no room could be laid out: {ours}")
            return ItemOutcome(Status.KILLED, detail=f"no room over this state: {error}")
        failed = ran.refused or (ran.exit and ran.err)
        if failed and (why := self._reading_error(cell, image, first, cwd)):
            return ItemOutcome(Status.TESTING_BROKEN, detail=why, seconds=ran.seconds)
        return outcome_of(ran)

    def _reading_error(self, cell: ShellCell, image: Image, first: ShellState, cwd: str) -> str:
        """Why a script cannot be read in the first state, where nothing of a solution is; empty where it can. Raises
        RoomLost where there is no room over the first state."""
        key = first.id, cell.script, cell.view
        error = self._reading_errors.get(key)
        if error is None:
            ran = self._run_script(replace(cell, arguments=()), Limits(READ_S), image, first, cwd, read=True)
            if not ran.refused and (ran.exit is None or ran.exit < 0):
                raise RoomLost("a script was not read to its end")
            error = ran.refused or (ran.exit and (ran.err[:300] or "it cannot be read")) or ""
            if len(self._reading_errors) >= MAX_READ:
                self._reading_errors.clear()
            self._reading_errors[key] = error
        return error

    def _run_script(
        self, cell: ShellCell, limits: Limits, image: Image, state: ShellState, cwd: str, *, read: bool = False
    ) -> Ran:
        """Run a cell's script, or see whether it can be read."""
        with self._keepers.lent(image) as keeper:
            room = Room(keeper, self.states, cwd)
            room.open(state, guarded=cell.view == "guarded", disk_mb=CELL_MB, net=False)
            ran = room.run(
                cell.script, cell.arguments, cpu_s=limits.cpu_s, wall_s=limits.wall_s, output=limits.output_kb << 10,
                read=read,
            )  # fmt: skip
            room.close()
        return ran

    def close(self) -> None:
        self._finalizer()

    def __enter__(self) -> ShellWorlds:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _lacking(needs: Sequence[Need]) -> str:
    return f"this machine lacks what the world needs: {', '.join(needs)}; see `evosyn doctor`"


def outcome_of(ran: Ran) -> ItemOutcome:
    """Facts of a cell as an item of a job."""
    if ran.refused:
        return ItemOutcome(Status.KILLED, detail=f"cannot be started over this state: {ran.refused}")
    if ran.exit is None:
        return ItemOutcome(Status.TIMEOUT, detail="over its time limit", seconds=ran.seconds)
    if ran.exit < 0:
        return ItemOutcome(Status.KILLED, detail=f"signal {-ran.exit}", seconds=ran.seconds)
    value = {"out": ran.out, "err": ran.err, "exit": ran.exit, "truncated": ran.truncated}
    return ItemOutcome(Status.OK, value, seconds=ran.seconds)


def _as_bash(world: ShellWorld) -> str:
    assert world.start is not None
    if world.start.language == "bash":
        return world.start.code
    return "python3 - <<'EVOSYN-START'\n" + world.start.code + "\nEVOSYN-START"
