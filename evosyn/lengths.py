"""How long replies may be: for each purpose the key that says so, and what `max_tokens: auto` begins with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from evosyn.records import Json

LENGTHS = ("max_tokens", "max_completion_tokens")
"""The parameters that bound a reply."""
LENGTH_NAMES = frozenset({*LENGTHS, "max_completion", "max_completion_length", "max_new_tokens", "max_length"})
"""The same in the words of others, and of our own trainers (`rollout.max_completion`)."""
AUTO, ROOMY = "auto", "roomy"
"""Values of such a parameter: what replies of its purpose took so far, and more room than that. They stand in requests
and their keys; the number is found when a call is sent (`evosyn.teachers.room`)."""
MORE_ROOM = 4
"""A reply that was cut is asked for once more with so many times the length."""


class _Purpose(NamedTuple):
    key: str
    start: int


OTHERS = _Purpose("sampling.strategy", 4096)
PURPOSES: Mapping[str, _Purpose] = {
    "problem": _Purpose("sampling.problem", 2048),
    "solution": _Purpose("sampling.solution", 2048),
    "testing": _Purpose("sampling.testing", 2048),
    "inputs": _Purpose("sampling.inputs", 2048),
    "environment": _Purpose("author.sampling", 8192),
    **dict.fromkeys(("judge-code", "judge-questions", "review"), _Purpose("judging.sampling", 4096)),
    "revision": _Purpose("judging.sampling", 8192),
    **dict.fromkeys(("solver", "verifier"), _Purpose("crosscheck.sampling", 4096)),
    "variation": _Purpose("proposers.sampling", 8192),
    **dict.fromkeys(("world-tools", "world-tables"), _Purpose("sampling", 8192)),
    "world-debug": _Purpose("tools.sampling", 4096),
}
"""By `Request.purpose`: the section that its sampling parameters are given in, and tokens of a first reply."""


def setting(purpose: str, name: str = "KEY", value: str = "...") -> str:
    """How a parameter of requests for this purpose is set."""
    key = f"--set {PURPOSES.get(purpose, OTHERS).key}.{name}={value}"
    return f"{key} (eval, calibrate: --max-tokens)" if purpose == "solution" else key


def remedy_of(failures: Collection[str], purpose: str) -> str:
    """What to do where replies of this purpose failed so, as far as their length is at fault; else empty."""
    if "too-long" in failures or "window-full" in failures:
        return "serve the model with a longer context: prompt and reply fill its window"
    return f"give more room: {setting(purpose, 'max_tokens', '16000')}" if "truncated" in failures else ""


def start_of(purpose: str, given: Json = AUTO) -> int:
    """Tokens that a reply is allowed before anything was seen, where `given` is the parameter."""
    if isinstance(given, int):
        return given
    return PURPOSES.get(purpose, OTHERS).start * (MORE_ROOM if given == ROOMY else 1)


def with_more_room(params: Mapping[str, Json]) -> dict[str, Json]:
    """The parameters to ask with after a reply that was cut."""
    wider = {name: ROOMY if value in (AUTO, ROOMY) else MORE_ROOM * value for name, value in _lengths(params).items()}
    return {**params, **wider}


def with_length(params: Mapping[str, Json], length: int | None) -> dict[str, Json]:
    """The parameters to send, `length` in place of what bounds a reply; None leaves that as it is."""
    return {**params, **({} if length is None else dict.fromkeys(_lengths(params), length))}


def given_length(params: Mapping[str, Json]) -> Json:
    """What bounds a reply: a number, `auto`, `roomy`, or None for nothing."""
    found = list(_lengths(params).values())
    return min((one for one in found if isinstance(one, int)), default=next(iter(found), None))


def check_lengths(params: dict[str, Json]) -> dict[str, Json]:
    """
    Raises:
        ValueError: a length is neither a whole number nor `auto`; it may be None, which sends none.
    """
    if foreign := (LENGTH_NAMES - set(LENGTHS)) & params.keys():
        raise ValueError(f"{min(foreign)}: no parameter of a request; did you mean {LENGTHS[0]!r}?")
    for name in LENGTHS:
        value = params.get(name)
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not (whole or value in (None, AUTO)):
            raise ValueError(f"{name}: a whole number of tokens of 1 or more, or {AUTO} (got {value!r})")
    return params


def _lengths(params: Mapping[str, Json]) -> dict[str, Json]:
    return {name: params[name] for name in LENGTHS if isinstance(params.get(name), int | str)}
