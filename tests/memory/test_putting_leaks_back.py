"""The memory test sees what it is there to see: each leak, put back into the jail's own modules, turns it red.

A mutation changes the text of one module of `evosyn/sandbox/_inside` on its way into the jail, or the jail's
configuration, and names the modes in which something must then be found. A mutation whose text is no longer there fails
at once, in the quick lane, so that this list cannot rot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from evosyn.records import Json
from evosyn.sandbox import _jail
from tests.memory.neighbours import Mode
from tests.memory.running import OPENED, OWN_MEMORY, opened, seed_of_run, told

SEED = seed_of_run()
MOST_ROUNDS = 80
"""Rounds of one mode after which a leak must have come to light. What lies about in a process hangs on what it did
before, so modes take turns."""


@dataclass(frozen=True)
class Mutation:
    """A leak to be put back.

    Attributes:
        name: what is wrong then.
        modes: in which it must be found.
        changes: by module of `evosyn/sandbox/_inside`, without its ending, what makes its new text of its text.
        config: entries of the jail's configuration that are different.
        backend: where it is looked for.
        channels: ways of looking, where they are others than that backend's.
    """

    name: str
    modes: tuple[Mode, ...]
    changes: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)
    backend: str = OPENED
    channels: str = ""


def replace_once(source: str, old: str, new: str) -> str:
    """
    Raises:
        ValueError: `old` does not stand in the source exactly once: the mutation has to be written anew.
    """
    if source.count(old) != 1:
        raise ValueError(
            f"a mutation expects this text once, it is there {source.count(old)} times; write it anew:\n{old}"
        )
    return source.replace(old, new)


def replacing(*pairs: tuple[str, str]) -> Callable[[str], str]:
    def change(source: str) -> str:
        for old, new in pairs:
            source = replace_once(source, old, new)
        return source

    return change


READS = replacing(
    (
        """                handles = [handle for _, _, part in extra for handle in memoryview(part).cast("i")]
""",
        """                handles = [handle for _, _, part in extra for handle in memoryview(part).cast("i")]
                for handle in handles:
                    try: os.pread(handle, os.fstat(handle).st_size, 0)
                    except OSError: continue
""",
    )
)
KEEPS = replacing(
    ("self._socket.recvmsg(256, RIGHTS)", "self._socket.recvmsg(1 << 20, RIGHTS)"),
    (
        "            slot = data[1:5]\n",
        """            if data[0] == 9:
                globals().setdefault("_kept", []).append(data)
                continue
            slot = data[1:5]
""",
    ),
)
FORKS = replacing(
    (
        "        self._slot += 1\n",
        """        self._slot += 1
        if self is DIRECT:
            return self._fork(order, handles)
""",
    ),
    (
        "    def ring(self, slot: int) -> None:\n",
        """    def _fork(self, order, handles):
        from evosyn.sandbox._inside import forker

        end, theirs = _socket.socketpair()
        pid = os.fork()
        if pid == 0:
            server = object.__new__(forker.Server)
            server._boot, server._pid = ROOT, os.getppid()
            server._become(order.pack(), [*handles, theirs.detach()])
        theirs.close()
        PIDS[self._slot] = pid
        self._children[self._slot] = _Child(end.detach())
        return self._slot

    def ring(self, slot: int) -> None:
        if self is DIRECT:
            os.kill(PIDS[slot], 10)
            return
""",
    ),
    (
        "        self._socket.send(COMMAND.pack(command, slot))\n",
        """        if self is DIRECT and command == WHICH:
            return PIDS[slot], 0.0
        if self is DIRECT:
            os.kill(PIDS[slot], 9)
            _, status, used = os.wait4(PIDS.pop(slot), 0)
            return status, used.ru_utime + used.ru_stime
        self._socket.send(COMMAND.pack(command, slot))
""",
    ),
    (
        "class _Clock:\n",
        """DIRECT = ROOT = None
PIDS = {}


def direct(remote, root):
    global DIRECT, ROOT
    DIRECT, ROOT = remote, root
    return remote


class _Clock:
""",
    ),
)
HOLDS = replacing(
    (
        """                for handle in handles:
                    os.close(handle)
""",
        """                for handle in handles:
                    if os.fstat(handle).st_mode & 0o170000 == 0o100000: HELD.append(handle)
                    else: os.close(handle)
                while len(HELD) > 40: os.close(HELD.pop(0))
""",
    ),
    (
        """                os.closerange(low, handle)
                low = handle + 1
            os.closerange(low, HIGHEST)
""",
        "                pass\n",
    ),
    ("HIGHEST = 256\n", "HIGHEST, HELD = 256, []\n"),
)
MUTATIONS = [
    Mutation("the ancestor of all reads what it hands on", tuple(Mode), {"forker": READS}),
    Mutation(
        "a program has the descriptors of those before it",
        (Mode.TABLE, Mode.STDIO, Mode.WARM, Mode.FRESH, Mode.STRATEGY),
        {"forker": HOLDS},
    ),
    Mutation(
        "the supervisor is the parent of what it supervises",
        tuple(Mode),
        {
            "remote": FORKS,
            "boot": replacing(
                (
                    "Remote(ours, own[requests])",
                    "sys.modules['evosyn.sandbox._inside.remote'].direct(Remote(ours, own[requests]), root)",
                )
            ),
        },
    ),
    Mutation(
        "answers pass through the ancestor of the next program",
        (Mode.TABLE, Mode.STDIO, Mode.STRATEGY),
        {
            "forker": KEEPS,
            "ended": replacing(
                (
                    "    made = believed(said, exit_.cpu_s, exit_.wall_s, order.limits.cpu_s)\n",
                    """    made = believed(said, exit_.cpu_s, exit_.wall_s, order.limits.cpu_s)
    remote._socket.send(b"\\x09" + b"".join([record.payload for record in made])[:150_000])
""",
                )
            ),
            "stdio": replacing(
                (
                    "        size = os.fstat(output).st_size\n",
                    """        size = os.fstat(output).st_size
        remote._socket.send(b"\\x09" + os.pread(output, min(size, 150_000), 0))
""",
                )
            ),
        },
    ),
    Mutation(
        "a process can be looked into by others",
        (Mode.TABLE, Mode.FRESH),
        config={"dumpable": True, "readable": ["/", "/proc"]},
        backend="docker",
    ),
    Mutation("a process can be looked into by others, bare", (Mode.TABLE, Mode.FRESH), channels=OWN_MEMORY + "o"),
    Mutation(
        "a host has seen the contexts of others",
        (Mode.HARNESS, Mode.STRATEGY),
        {
            "hosts": replacing(
                (
                    'new_file(b"" if key is None else self._contexts[key])',
                    'new_file(b"" if key is None else self._contexts[key] + b"".join(self._contexts.values()))',
                )
            ),
            "work": replacing(("    del packed\n", "    globals()['_kept'] = packed\n")),
        },
    ),
]


@contextmanager
def changed(mutation: Mutation) -> Iterator[None]:
    """The jail is sent the changed module."""
    sources = dict(_jail._sources())
    for module, change in mutation.changes.items():
        if module not in sources:
            raise ValueError(f"no module {module!r} goes into the jail: write the mutation anew")
        sources[module] = change(sources[module])
    compiled = [(name, compile(text, name, "exec", optimize=2)) for name, text in sources.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_jail, "_sources", lambda: list(sources.items()))
        patch.setattr(_jail, "_compiled", lambda: compiled)
        yield


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_leak_to_be_put_back_still_fits_the_code(mutation: Mutation) -> None:
    before = _jail._sources()
    with changed(mutation):
        assert _jail._sources() != before or mutation.config or mutation.channels


def test_a_mutation_whose_text_is_gone_fails() -> None:
    with pytest.raises(ValueError, match="0 times"):
        replace_once("a = 1\n", "b = 1\n", "")
    with pytest.raises(ValueError, match="2 times"):
        replace_once("a = 1\na = 1\n", "a = 1\n", "")


@pytest.mark.long
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_leak_that_is_put_back_is_found_in_every_mode_where_it_was(mutation: Mutation) -> None:
    seed = f"{SEED} {mutation.name}"
    unseen = list(mutation.modes)
    with opened(mutation.backend, seed, config=mutation.config) as slot, changed(mutation):
        slot.look(mutation.channels or slot.channels)
        for _ in range(MOST_ROUNDS):
            unseen = [mode for mode in unseen if not slot.round(mode).leaks]
        faults = slot.faults()
    assert not faults, told(slot, seed, faults)
    assert not unseen, told(slot, seed, [f"not found in {mode}" for mode in unseen])
