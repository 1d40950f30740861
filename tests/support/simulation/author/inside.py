"""Runs inside the sandbox: draws inputs from a generator and tries many variants of a program on them.

This file is sent as text and imports the standard library only. `_tick_` calls (put in by `fuel`) bound the work of a
variant by counting, not by the clock, so that what is found out does not depend on how busy the machine is.
"""

from __future__ import annotations

import copy
import hashlib
import io
import random
import sys
from collections.abc import Callable
from typing import Any

LONG = 20_000
MOST_BITS = 200_000
MOST_ITEMS = 500_000


class OutOfFuel(BaseException):
    """The variant does too much; not an Exception, so that a bare handler does not stop it."""


def make(source: str, seeds: list[int], size: int) -> list[Any]:
    """One input for each seed; `source` defines `generate(rng, size)`."""
    namespace: dict[str, Any] = {"__name__": "generator"}
    exec(compile(source, "<generator>", "exec"), namespace)
    return [namespace["generate"](random.Random(seed), size) for seed in seeds]


def probe(source: str, entry_point: str | None, inputs: list[Any], fuel: list[int]) -> list[list[Any]]:
    """What the program does on each input: `[kind, value, ticks]`, kind `ok`, `error`, `fuel`, `unplain` or `long`.

    Args:
        entry_point: function to call with each input's arguments; None: a program fed each input on standard input.
        fuel: ticks allowed for each input; after two inputs out of fuel the rest is taken to be so as well.
    """
    try:
        code = compile(source, "<variant>", "exec")
        call = _program(code) if entry_point is None else _function(code, entry_point)
    except Exception as error:  # noqa: BLE001 inside the sandbox: whatever a variant raises is its outcome
        return [["error", type(error).__name__, 0] for _ in inputs]
    found: list[list[Any]] = []
    starved = 0
    for value, ticks in zip(inputs, fuel, strict=True):
        meter = _Meter(ticks if starved < 2 else 0)
        outcome = _attempt(call, value, meter)
        starved += outcome[0] == "fuel"
        found.append(outcome)
    return found


class _Meter:
    def __init__(self, fuel: int) -> None:
        self.fuel, self.used = fuel, 0

    def tick(self) -> bool:
        self.used += 1
        if self.used > self.fuel:
            raise OutOfFuel
        return True


def _room(left: Any, right: Any, times: bool = False) -> Any:
    """`right`, if the sum (or product) of both is not too large."""
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > MOST_BITS:
            raise OutOfFuel
    elif isinstance(left, str | list | tuple):
        if len(left) * (right if times and isinstance(right, int) else 1) > MOST_ITEMS:
            raise OutOfFuel
    elif times and isinstance(right, str | list | tuple) and isinstance(left, int) and len(right) * left > MOST_ITEMS:
        raise OutOfFuel
    return right


def _raised(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > MOST_BITS:
        raise OutOfFuel
    return left**right


def _shifted(left: Any, right: Any) -> Any:
    if isinstance(right, int) and right > MOST_BITS:
        raise OutOfFuel
    return left << right


GUARDS: dict[str, Callable[[Any, Any], Any]] = {
    "_room_": lambda left, right: _room(left, right, times=isinstance(right, int)),
    "_add_": lambda left, right: left + _room(left, right),
    "_mult_": lambda left, right: left * _room(left, right, times=True),
    "_pow_": _raised,
    "_shift_": _shifted,
}


def _attempt(call: Callable[[Any, _Meter], Any], value: Any, meter: _Meter) -> list[Any]:
    if meter.fuel <= 0:
        return ["fuel", None, 0]
    try:
        result = call(copy.deepcopy(value), meter)
    except OutOfFuel:
        return ["fuel", None, meter.used]
    except Exception as error:  # noqa: BLE001 as above
        return ["error", type(error).__name__, meter.used]
    if not _plain(result, 0):
        return ["unplain", type(result).__name__, meter.used]
    text = repr(result)
    if len(text) > LONG:
        return ["long", hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), meter.used]
    return ["ok", result, meter.used]


def _function(code: Any, entry_point: str) -> Callable[[Any, _Meter], Any]:
    current: list[_Meter] = [_Meter(100_000)]
    namespace: dict[str, Any] = {"__name__": "variant", "_tick_": lambda: current[0].tick(), **GUARDS}
    exec(code, namespace)
    function = namespace[entry_point]

    def call(value: Any, meter: _Meter) -> Any:
        current[0] = meter
        return function(**value) if isinstance(value, dict) else function(*value)

    return call


def _program(code: Any) -> Callable[[Any, _Meter], Any]:
    def call(value: Any, meter: _Meter) -> Any:
        held = sys.stdin, sys.stdout
        shown = io.StringIO()
        sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(value.encode())), shown
        try:
            exec(code, {"__name__": "__main__", "_tick_": meter.tick, **GUARDS})
        except SystemExit:
            pass
        finally:
            sys.stdin, sys.stdout = held
        return shown.getvalue()

    return call


def _plain(value: Any, depth: int) -> bool:
    if value is None or isinstance(value, bool | int | float | str):
        return True
    if depth > 20:
        return False
    if isinstance(value, list | tuple):
        return all(_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return all(_plain(key, depth + 1) and _plain(item, depth + 1) for key, item in value.items())
    return False
