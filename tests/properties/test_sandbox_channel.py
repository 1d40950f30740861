"""The channel out of the jail: arbitrary bytes never crash or fool us, plain data comes through unchanged."""

from __future__ import annotations

import contextlib
import marshal
import socket
import struct
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.jobs import Call, CallsJob, ItemOutcome, Status
from evosyn.sandbox._inside import wire
from evosyn.sandbox._tasks import Batch, Task, make_task
from evosyn.sandbox._worker import Request, Worker, WorkerDied

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**200), max_value=2**200),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    st.text(),
    st.binary(),
)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=4), max_leaves=8)
plain = st.recursive(
    hashable,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.tuples(inner, inner),
        st.dictionaries(hashable, inner, max_size=4),
        st.sets(hashable, max_size=4),
    ),
    max_leaves=20,
)


def shape(value: object) -> object:
    """The value with the type of every part, sets in a fixed order: what `==` alone would not tell apart."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shape(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(map(repr, map(shape, value)))
    if isinstance(value, dict):
        return "dict", [(shape(key), shape(item)) for key, item in value.items()]
    return type(value).__name__, repr(value)


@given(plain)
def test_plain_data_comes_through_with_all_its_types(value: object) -> None:
    assert shape(wire.decode(wire.encode(value))) == shape(value)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused_or_are_plain_data(data: bytes) -> None:
    try:
        value = wire.decode(data)
    except wire.Malformed:
        return
    assert shape(wire.decode(wire.encode(value))) == shape(value)


@given(plain, st.data())
def test_bent_bytes_are_refused_or_are_plain_data(value: object, data: st.DataObject) -> None:
    encoded = bytearray(wire.encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    test_arbitrary_bytes_are_refused_or_are_plain_data.hypothesis.inner_test(bytes(encoded))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "value",
    [compile("1", "", "eval"), ..., StopIteration, type, [compile("1", "", "eval")]],
    ids=lambda value: type(value).__name__,
)
def test_what_marshal_could_carry_beyond_plain_data_is_refused(value: object) -> None:
    with pytest.raises(wire.NotPlain):
        wire.encode(value)
    try:
        data = marshal.dumps(value, 2)
    except ValueError:
        return
    with pytest.raises(wire.Malformed):
        wire.decode(data)


@given(st.sampled_from([3, 4]), plain)
def test_other_versions_of_marshal_never_raise_anything_else(version: int, value: object) -> None:
    with contextlib.suppress(wire.Malformed):
        wire.decode(marshal.dumps(value, version))


@pytest.mark.parametrize(
    "data",
    [b"[\xff\xff\xff\x7f", b"[" * 50_000, b"(\x01\0\0\0" * 50_000, b"{" * 50_000],
    ids=["length", "list", "tuple", "dict"],
)
def test_sizes_and_depths_that_lie_cost_nothing(data: bytes) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode(data)


def test_keys_made_to_collide_are_refused_quickly() -> None:
    keys = {n * (2**61 - 1) for n in range(1, 5000)}
    with pytest.raises(wire.Malformed, match="colliding"):
        wire.decode(marshal.dumps(keys, 2))


@given(st.binary(max_size=400), st.integers(0, 10))
def test_records_are_read_from_any_bytes(data: bytes, limit: int) -> None:
    records = wire.read_records(data, limit)
    assert len(records) <= limit
    for record in records:
        assert record.code <= wire.INFRA
        assert 0.0 <= record.seconds < 1e6
        assert record.payload in data


@given(st.binary(max_size=400))
def test_outcomes_are_made_from_any_bytes(data: bytes) -> None:
    task = make_task(Batch(), 0, CallsJob("", "f", (Call(), Call())))
    task.absorb(task.take(2), wire.read_records(data, 100))
    task.fill(wire.INFRA, b"\xff")
    outcomes = task.outcomes()
    assert len(outcomes) == 2
    assert all(isinstance(outcome, ItemOutcome) for outcome in outcomes)
    assert all(outcome.value is None for outcome in outcomes if outcome.status is not Status.OK)


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=200), max_size=5), st.booleans())
def test_a_worker_that_says_anything_is_answered_or_given_up(parts: list[bytes], ready: bool) -> None:
    worker = Worker.__new__(Worker)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    worker.socket, worker.held, worker.shared, worker.broken = ours, ("x",) if ready else None, set(), None
    worker.pending = deque([Request(None, b"", 1.0)] * 2)
    worker._out, worker._in, worker.process = deque(), bytearray(), _NoProcess()  # type: ignore[assignment]
    try:
        for part in parts:
            theirs.sendall(struct.pack("<I", len(part)) + part if ready else part)
            try:
                replies = worker.receive()
            except WorkerDied:
                return
            assert all(isinstance(record, wire.Record) for _, records in replies for record in records)
    finally:
        ours.close()
        theirs.close()


class _NoProcess:
    stderr = None


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 3)), min_size=1, max_size=12))
def test_the_budget_is_spent_in_order_whatever_order_the_answers_come_in(answers: list[tuple[int, float]]) -> None:
    def run(reverse: bool) -> list[str]:
        task: Task = make_task(Batch(), 0, CallsJob("", "f", (Call(),) * len(answers)))
        segments = [task.take(1) for _ in answers]
        for segment in reversed(segments) if reverse else segments:
            code, seconds = answers[segment.first]
            task.absorb(segment, [wire.Record(code, seconds * 5, b"N")])
        assert task.finished()
        return [outcome.status for outcome in task.outcomes()]

    assert run(False) == run(True)
