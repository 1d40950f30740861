"""What runs around a strategy program inside the sandbox: shows it every evidence, checks its scores, names its faults.

This file is sent to the sandbox as text; it imports nothing of evosyn, and only tests and the words of the contract
import it. It is not the protection (that is the sandbox): its own rules turn what a strategy must not do into a reason
that a proposer can act on. Programs of the EvoSyn/OpenEvolve form go through `_paper_form`. DESIGN.md section 5,
"Strategy".
"""

from __future__ import annotations

import builtins
import gc
import json
import sys
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

FILE, NAME = "<strategy>", "strategy"
ALLOWED = (
    *("__future__", "abc", "ast", "bisect", "collections", "copy", "dataclasses", "decimal", "difflib", "enum"),
    *("fractions", "tokenize"),
    *("functools", "hashlib", "heapq", "itertools", "json", "math", "numbers", "numpy", "operator", "random", "re"),
    *("statistics", "string", "textwrap", "types", "typing", "zlib"),
)
SHORTEST_SCREEN_S = 0.5
"""A screen that took less is never called slow: the first calls pay for imports."""

POLICY: list[Any] = []
"""The company policy as a module, where there is one; without it no program is admitted to company."""

FORBIDDEN = ("breakpoint", "exit", "help", "input", "print", "quit")


class BrokenStrategy(Exception):
    """The program broke the contract of a strategy; the message says how."""


HOLLOW: dict[str, Callable[[Any], bool]] = {
    "durations": lambda seconds: not seconds.any(),
    "solution_texts": lambda texts: not texts,
    "testing_texts": lambda texts: not texts,
}
"""What is no None where it is unknown, and how that is told."""


class ShownEvidence:
    """One problem as a strategy sees it: read-only arrays, each made when it is first asked for."""

    def __init__(self, pack: dict[str, Any], index: int) -> None:
        self._pack, self._index = pack, index

    def __getattr__(self, name: str) -> Any:
        if name not in READERS:
            raise AttributeError(f"evidence has no attribute {name!r}; it has {', '.join(READERS)}")
        value = READERS[name](self._pack, *self._pack["places"][self._index], self._index)
        if value is None or (name in HOLLOW and HOLLOW[name](value)):
            self._pack["unknown"].add(name)
        self.__dict__[name] = value
        return value


Rank = Callable[[ShownEvidence], Any]


def _grid(key: str) -> Callable[..., Any]:
    return lambda pack, m, n, at_mn, *_: pack[key][at_mn : at_mn + m * n].reshape(m, n)


def _cases(pack: dict[str, Any], *place: int) -> list[Any]:
    m, n, _, _, at_n, at_c, _ = place
    found = []
    for count in pack["case_counts"][at_n : at_n + n].tolist():
        found.append(pack["cases"][at_c : at_c + m * count].reshape(m, count))
        at_c += m * count
    return found


def _texts(key: str) -> Callable[..., tuple[str, ...]]:
    return lambda pack, *place: tuple(pack["texts"][number] for number in pack[key][place[-1]])


def _more(key: str, read: Callable[..., Any]) -> Callable[..., Any]:
    """What may be unknown: None, or what `read` makes of it."""

    def reader(pack: dict[str, Any], m: int, n: int, *place: int) -> Any:
        value = pack["more"][place[-1]][key]
        return None if value is None else read(pack, value, m, n)

    return reader


def _calls(pack: dict[str, Any], numbers: Sequence[int | None], *_: int) -> tuple[Any, ...]:
    _note_holes(pack, "calls", numbers)
    return tuple([None if number is None else pack["calls"][number] for number in numbers])


def _values(pack: dict[str, Any], found: Sequence[bytes | None], m: int, _n: int) -> list[Any]:
    _note_holes(pack, "values", found)
    return [None if data is None else np.frombuffer(data, np.uint64).reshape(m, -1) for data in found]


def _note_holes(pack: dict[str, Any], name: str, found: Sequence[Any]) -> None:
    if any(one is None for one in found):
        pack.setdefault("holes", set()).add(name)


READERS: dict[str, Callable[..., Any]] = {
    "passed": _grid("passed"),
    "known": _grid("known"),
    "cases": _cases,
    "durations": _grid("durations"),
    "copies": lambda pack, m, _n, _mn, at_m, *_: pack["copies"][at_m : at_m + m],
    "solution_groups": lambda pack, m, _n, _mn, at_m, *_: pack["solution_groups"][at_m : at_m + m],
    "testing_groups": lambda pack, _m, n, _mn, _at_m, at_n, *_: pack["testing_groups"][at_n : at_n + n],
    "replies": lambda pack, *place: pack["replies"][place[-1]],
    "solution_texts": _texts("solution_texts"),
    "testing_texts": _texts("testing_texts"),
    "verdicts": _more("verdicts", lambda _pack, data, m, n: np.frombuffer(data, "<U1").reshape(m, n)),
    "statement": _more("statement", lambda pack, number, *_: pack["texts"][number]),
    "payload": _more("payload", lambda pack, number, *_: json.loads(pack["texts"][number])),
    "calls": _more("calls", _calls),
    "values": _more("values", _values),
    "solution_similarity": _more("solution_similarity", lambda _pack, data, m, _n: np.frombuffer(data).reshape(m, m)),
    "testing_similarity": _more("testing_similarity", lambda _pack, data, _m, n: np.frombuffer(data).reshape(n, n)),
    "solution_logprob": _more("solution_logprob", lambda _pack, data, _m, _n: np.frombuffer(data)),
    "testing_logprob": _more("testing_logprob", lambda _pack, data, _m, _n: np.frombuffer(data)),
}
DTYPES = {
    "passed": np.bool_,
    "known": np.bool_,
    "cases": np.bool_,
    "durations": np.float64,
    "copies": np.int64,
    "solution_groups": np.int64,
    "testing_groups": np.int64,
    "case_counts": np.int64,
}


def main(program: str, context: dict[str, Any], argument: dict[str, Any]) -> dict[str, Any]:
    """Rank every evidence by one program.

    Args:
        context: what `packing.pack` made.
        argument: `screen` evidences come first; the rest is not begun if they took more than their share of
            `budget_s`. With `company`, other programs rank in this process before and after.

    Returns:
        `{"scores": bytes}` (float64; for each evidence M solution scores, then N testing scores), or `{"reason": str,
        "unknown": names of the evidence that it read and nobody recorded}`; in company `{}` for a program that needs a
        process of its own.
    """
    np.seterr(all="ignore")
    pack = {**context, **{key: np.frombuffer(context[key], dtype) for key, dtype in DTYPES.items()}, "unknown": set()}
    if not argument.get("company"):
        return _ranked(program, pack, argument)
    if not admitted(program):
        return {}
    try:
        found = _ranked(program, pack, argument)
    finally:
        gc.collect()  # what it leaves behind must not be counted as its successor's
    return {} if found.get("reason", "").startswith(("MemoryError", "RecursionError")) else found


def admitted(program: str) -> bool:
    """Whether the company policy admits the program."""
    return any(module.admits(program, module.NUMPY) for module in POLICY)


def set_policy(source: str) -> None:
    """Load the text of `evosyn.sandbox.company`, before any program; `sandboxed.harness` appends the call."""
    module = types.ModuleType("company")
    sys.modules[module.__name__] = module
    exec(compile(source, "<company>", "exec", dont_inherit=True), module.__dict__)
    POLICY.append(module)


def _ranked(program: str, pack: dict[str, Any], argument: dict[str, Any]) -> dict[str, Any]:
    real = {name: vars(builtins)[name] for name in (*FORBIDDEN, "__import__") if name in vars(builtins)}
    try:
        scores = _rank_all(_loaded(program, pack["lists"]), pack, argument)
    except BrokenStrategy as error:
        return _refused(str(error) + _holes(pack), pack["unknown"])
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  (the sandbox boundary)
        return _refused(_explain(error, program) + _holes(pack), pack["unknown"])
    finally:
        vars(builtins).update(real)
    return {"scores": scores.tobytes()}


def _rank_all(rank: Rank, pack: dict[str, Any], argument: dict[str, Any]) -> Any:
    places, scores, at = pack["places"], np.empty(pack["scores"]), 0
    started = time.process_time()
    for index, place in enumerate(places):
        at = _store(rank(ShownEvidence(pack, index)), place, scores, at)
        if index + 1 == argument["screen"]:
            _screen(scores[:at], places, time.process_time() - started, argument)
    if not np.isfinite(scores).all():
        raise BrokenStrategy(_not_finite(scores, places))
    again = np.empty(places[0][0] + places[0][1])
    _store(rank(ShownEvidence(pack, 0)), places[0], again, 0)
    if not np.array_equal(again, scores[: len(again)]):
        raise BrokenStrategy(
            "the first problem got other scores when it was ranked again after the others: a strategy must not depend "
            "on global state, on the order of problems or on unseeded randomness"
        )
    return scores


def _screen(scores: Any, places: Sequence[tuple[int, ...]], seconds: float, argument: dict[str, Any]) -> None:
    """Look at the first few before the rest is begun."""
    if not np.isfinite(scores).all():
        raise BrokenStrategy(_not_finite(scores, places))
    share = argument["budget_s"] * argument["screen"] / len(places)
    if seconds > max(share, SHORTEST_SCREEN_S):
        raise BrokenStrategy(
            f"too slow: {len(places)} problems must be ranked within {argument['budget_s']:.1f} s, the first "
            f"{argument['screen']} took more than their share"
        )


def _store(result: Any, place: tuple[int, ...], scores: Any, at: int) -> int:
    """Check what `rank` returned and write it into `scores` from `at` on; returns where it ends."""
    try:
        solution_scores, testing_scores = result
    except (TypeError, ValueError):
        shown = type(result).__name__
        raise BrokenStrategy(f"returned {shown} instead of a pair (solution_scores, testing_scores)") from None
    m, n = place[0], place[1]
    scores[at : at + m] = _vector(solution_scores, m, "solution scores")
    scores[at + m : at + m + n] = _vector(testing_scores, n, "testing scores")
    return at + m + n


def _vector(values: Any, size: int, what: str) -> Any:
    try:
        if np.iscomplexobj(given := np.asarray(values)):
            raise TypeError("complex ones have no order")
        if given.dtype.kind in "USmM":
            raise TypeError(f"{given.dtype.name} is none")
        vector = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BrokenStrategy(f"{what} are not numbers: {error}") from None
    if vector.shape != (size,):
        raise BrokenStrategy(f"{what} have shape {vector.shape}, must have shape ({size},)")
    return vector


def _not_finite(scores: Any, places: Sequence[tuple[int, ...]]) -> str:
    bad, at = int(np.flatnonzero(~np.isfinite(scores))[0]), 0
    for index, (m, n, *_) in enumerate(places):
        if bad < at + m + n:
            what, item = ("solution", bad - at) if bad < at + m else ("testing", bad - at - m)
            return f"{what} scores[{item}] of problem number {index} is {scores[bad]}, must be finite"
        at += m + n
    return "scores are not finite"


def _loaded(program: str, lists_source: str) -> Rank:
    """Run the program's text; its `rank`."""
    try:
        code = compile(program, FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise BrokenStrategy(f"does not parse: {error.args[0]}" + _at(program, line)) from None
    adapter: dict[str, Any] = {}
    if "rank" not in code.co_names and "strategy" in code.co_names:
        exec(lists_source, adapter)
    _guard(adapter)
    namespace: dict[str, Any] = {"__name__": NAME, "__builtins__": builtins}
    exec(code, namespace)
    if callable(namespace.get("rank")):
        return namespace["rank"]  # type: ignore[no-any-return]
    if adapter and callable(namespace.get("strategy")):
        return adapter["from_lists"](namespace["strategy"])  # type: ignore[no-any-return]
    raise BrokenStrategy(
        "defines neither rank(evidence) nor strategy(instance, solution_ids, testing_ids, verify_func)"
    )


def _guard(adapter: dict[str, Any]) -> None:
    """Take input, output and most imports away from the program; libraries that it uses keep their imports."""
    host: dict[str, types.ModuleType] = adapter["host_modules"]() if adapter else {}
    real_import = builtins.__import__

    def guarded_import(
        name: str, scope: Any = None, local: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
    ) -> types.ModuleType:
        root = name.partition(".")[0]
        if root in ALLOWED or scope is None or scope.get("__name__") != NAME:
            return real_import(name, scope, local, fromlist or (), level)
        if name in host:
            return host[name if fromlist else root]
        raise ImportError(f"a strategy cannot import {root!r}; it may use {', '.join(ALLOWED[1:])}")

    def refusing(name: str) -> Callable[..., None]:
        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(f"a strategy has no input or output: {name}() is not there")

        return refuse

    refused = {name: refusing(name) for name in FORBIDDEN if name in vars(builtins)}
    vars(builtins).update(refused, __import__=guarded_import)
    if adapter:
        vars(builtins)["print"] = lambda *_, **__: None


def _explain(error: BaseException, program: str) -> str:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    message = str(error)
    return f"{type(error).__name__}{': ' if message else ''}{message[:300]}" + _at(program, line)


def _holes(pack: dict[str, Any]) -> str:
    """What it read that is None for some testings only, in words behind a reason."""
    names = ", ".join(f"evidence.{name}" for name in sorted(pack.get("holes", ())))
    return f"; it read what is unknown for some testings (None there): {names}" if names else ""


def _refused(reason: str, unknown: set[str]) -> dict[str, Any]:
    return {"reason": reason, "unknown": sorted(unknown)}


def _at(program: str, line: int | None) -> str:
    lines = program.splitlines()
    if line is None or not 1 <= line <= len(lines):
        return ""
    return f" (line {line}: {lines[line - 1].strip()[:120]})"
