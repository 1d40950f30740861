"""Runs companies of programs without a sandbox, as badly as a loader could that holds on to everything: neighbours'
texts and results stand in its frames, its globals and its heap. What a program returns is searched for tokens that are
not its own and for objects that no program may get hold of.

A process of its own: reads companies as lines of JSON, forks one child for each, and answers with a line of findings.
Programs are loaded by the code that the sandbox uses.
"""

from __future__ import annotations

import builtins
import collections
import functools
import hashlib
import itertools
import json
import os
import re
import resource
import signal
import struct
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from evosyn.sandbox._inside import child

HEX = re.compile(rb"[0-9a-f]{10,}")
PART = 10
"""So many characters of a token in a row are its."""
SECONDS, DEPTH, WIDTH = 0.4, 8, 400
ESCAPED = (
    types.ModuleType,
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.MappingProxyType,
    types.CellType,
)
CLASSES = {
    *(value for value in vars(builtins).values() if isinstance(value, type) and value not in (type, object)),
    *(collections.deque, collections.defaultdict, functools.partial),
    *(value for value in vars(itertools).values() if isinstance(value, type)),
    *(__import__("operator").itemgetter, types.GenericAlias, types.UnionType),
}
CPU_S = 20
"""Of one company: what no alarm reaches ends it."""
HELD: list[Any] = []
"""What a careless loader would keep: everything of everyone."""


class Late(BaseException):
    """The turn of a program took too long."""


class Look:
    """One walk through what a program returned.

    Args:
        foreign: parts of the tokens of others.

    Attributes:
        found: tokens of others, and kinds of objects that it should not have.
        seen: the value as a text in which addresses are masked, to compare with another run.
        short: it says that memory was short, which depends on what else is held.
    """

    def __init__(self, foreign: frozenset[bytes]) -> None:
        self._foreign = foreign
        self._left = 20_000
        self.found: set[str] = set()
        self.seen: list[str] = []
        self.short = False

    def at(self, value: Any, depth: int = 0) -> None:
        kind = type(value)
        self._left -= 1
        if depth > DEPTH or self._left < 0:
            return
        if isinstance(value, ESCAPED) or (isinstance(value, type) and not self._may_have(value)):
            self.found.add(f"got hold of {kind.__name__} {getattr(value, '__name__', '')}")
            return
        if kind in (str, bytes):
            self._text(value)
        elif kind in (int, bool, float, complex, type(None), type(...), type(NotImplemented)):
            self._number(value)
        elif isinstance(value, dict):
            self._dict(value, depth)
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            self._many(list(itertools.islice(value, WIDTH)), depth, isinstance(value, (set, frozenset)))
        elif hasattr(value, "tobytes") and hasattr(value, "tolist"):
            if str(getattr(value, "dtype", "")) != "object":  # the bytes of one of objects are where they lie
                self._text(value.tobytes())
            self.at(value.tolist(), depth + 1)
        elif isinstance(value, BaseException):
            self.short = self.short or isinstance(value, MemoryError)
            self._text(str(value)[:10_000])
        elif isinstance(value, Iterator) and not isinstance(value, types.GenericAlias):
            self._many(self._drawn(value), depth, False)
        else:
            self._text(repr(value)[:10_000])

    def _may_have(self, kind: type) -> bool:
        return kind in CLASSES or (kind.__module__ == "numpy" and kind.__name__ not in ("ndarray", "dtype", "ufunc"))

    def _text(self, value: str | bytes) -> None:
        raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        self._quiet(raw)
        if b"__builtins__" in raw:
            self.found.add("saw a namespace")
        self.seen.append(re.sub(r"0x[0-9a-f]+", "0x", str(value)))

    def _number(self, value: Any) -> None:
        if type(value) is int and value.bit_length() > 64:
            self._text(abs(value).to_bytes(abs(value).bit_length() // 8 + 1, "big")[:10_000])
        else:
            self.seen.append(repr(value))

    def _dict(self, value: dict[Any, Any], depth: int) -> None:
        if "__builtins__" in value:
            self.found.add("got hold of a namespace")
            return
        for key, item in list(itertools.islice(dict.items(value), WIDTH)):
            self.at(key, depth + 1)
            self.at(item, depth + 1)

    def _many(self, items: list[Any], depth: int, is_set: bool) -> None:
        for code, kind in (("d", float), ("q", int)):
            if items and all(type(item) is kind for item in items):
                numbers = [item for item in items if kind is float or -(2**63) <= item < 2**63]
                self._quiet(struct.pack(f"<{len(numbers)}{code}", *numbers))
                self._quiet(bytes(item for item in items if kind is int and 0 <= item < 256))
        if is_set:
            looks = []
            for item in items:
                look = Look(self._foreign)
                look.at(item, depth + 1)
                self.found |= look.found
                looks.append("".join(look.seen))
            self.seen += sorted(looks)
            return
        for item in items:
            self.at(item, depth + 1)

    def _quiet(self, raw: bytes) -> None:
        for match in HEX.finditer(raw):
            if not self._foreign.isdisjoint(parts(match.group())):
                self.found.add(f"token: ...{match.group()[:24].decode()}...")

    def _drawn(self, value: Iterator[Any]) -> list[Any]:
        items: list[Any] = []
        try:
            for item in itertools.islice(value, 40):
                items.append(item)
        except Exception as error:  # noqa: BLE001 - what a program raises
            items.append(error)
        return items


def parts(token: bytes) -> frozenset[bytes]:
    return frozenset(token[at : at + PART] for at in range(len(token) - PART + 1))


def turn(
    member: dict[str, str], call: Callable[[str], Any], texts: list[str], foreign: frozenset[bytes]
) -> dict[str, Any]:
    """Load one program and call it, while `texts` holds everybody's; what was found, and what it gave."""
    look = Look(foreign)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    ended = "value"
    try:
        value = call(member["source"])
        HELD.append(value)
        look.at(value)
    except Late:
        ended = "late"
    except Exception as error:  # noqa: BLE001 - the boundary
        ended = f"{type(error).__name__}: {error}"[:200]
        look.at(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    HELD.append(texts)
    if look.short:
        ended = "short of memory"
    return {"found": sorted(look.found), "ended": ended, "gave": digest(look.seen)}


def digest(seen: list[str]) -> str:
    return hashlib.sha256("\x1f".join(seen).encode("utf-8", "surrogatepass")).hexdigest()


def plain(source: str) -> Any:
    """As the sandbox calls a completion."""
    return child.find_entry(child.load([source], "program"), "f")(3)  # type: ignore[misc]


def strategy(source: str) -> Any:
    """As the harness of strategies calls one, over a small problem."""
    harness, pack = PACK
    namespace = {"__name__": "strategy", "__builtins__": builtins}
    exec(compile(source, "<strategy>", "exec", dont_inherit=True), namespace)
    return namespace["f"](harness.ShownEvidence(pack, 0))  # type: ignore[operator]


def _pack() -> Any:
    import numpy as np

    from evosyn.strategies.running import _harness

    np.seterr(all="ignore")
    raw = np.zeros(12, np.bool_).tobytes()
    pack = {"places": [(4, 3, 0, 0, 0, 0)], "passed": np.frombuffer(raw, np.bool_), "texts": ["one", "two"]}
    pack |= {"known": pack["passed"], "durations": np.frombuffer(b"\0" * 96), "copies": np.frombuffer(b"\0" * 32, int)}
    pack |= {"solution_groups": pack["copies"], "testing_groups": pack["copies"][:3], "cases": pack["passed"]}
    pack |= {"case_counts": np.array([1, 1, 1]), "solution_texts": [[0] * 4], "testing_texts": [[1] * 3]}
    return _harness, pack


def company(members: list[dict[str, str]], call: Callable[[str], Any]) -> list[dict[str, Any]]:
    texts = [member["source"] for member in members]
    grams = [parts(member["token"][2:].encode()) for member in members]
    every = frozenset().union(*grams)
    return [turn(member, call, texts, every - own) for member, own in zip(members, grams, strict=True)]


def forked(work: Callable[[], Any]) -> tuple[Any, int]:
    """What `work` gives in a child, and the signal that ended the child."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        try:
            made = json.dumps(work()).encode()
            while made:
                made = made[os.write(write, made) :]
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    status = os.waitpid(pid, 0)[1]
    return (json.loads(data) if data else None), os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _alone(member: dict[str, str], call: Callable[[str], Any], times: int) -> list[dict[str, Any]]:
    """The same program alone, several times, each time after another use of the heap."""

    def work(junk: int) -> Any:
        HELD.append(
            [(object(), (n for n in ()), str(n), [n]) for n in range(junk)]
        )  # of every size that a program uses
        return company([member], call)

    made = [forked(functools.partial(work, 37 * at))[0] for at in range(times)]
    return [results[0] for results in made if results]


def _late(_number: int, _frame: Any) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    raise Late


def main() -> None:
    global PACK
    signal.signal(signal.SIGALRM, _late)
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    PACK = _pack()
    null = os.open("/dev/null", os.O_RDWR)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(null, 1)
    os.dup2(null, 2)
    for line in sys.stdin:
        asked = json.loads(line)
        call = strategy if asked["arrays"] else plain
        results, died = forked(functools.partial(company, asked["members"], call))
        alone = {at: _alone(asked["members"][at], call, asked["times"]) for at in asked["alone"]}
        answers.write(json.dumps({"results": results or [], "died": died, "alone": alone}) + "\n")
        answers.flush()


PACK: Any = None
if __name__ == "__main__":
    main()
