"""The channel out of the jail: arbitrary bytes never crash or fool us, plain data comes through unchanged."""

from __future__ import annotations

import contextlib
import enum
import itertools
import marshal
import socket
import struct
import time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.jobs import Call, CallsJob, ItemOutcome, Status
from evosyn.sandbox._inside import kinds, wire
from evosyn.sandbox._tasks import Batch, WorkerTask, make_task
from evosyn.sandbox._worker import Worker, WorkerDied, WorkerRequest

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


Point = namedtuple("Point", "x count")
small = st.integers(-50, 50)
beyond_plain = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.builds(range, small, small, small.filter(bool)),
        st.fractions(),
        st.decimals(),
        st.builds(Point, inner, inner),
        st.builds(lambda items: dict.fromkeys(items).keys(), st.lists(hashable, max_size=4)),
        st.builds(lambda items: dict(enumerate(items)).values(), st.lists(inner, max_size=4)),
        st.builds(lambda items: items.items(), st.dictionaries(hashable, inner, max_size=4)),
        st.builds(Counter, st.lists(hashable, max_size=4)),
        st.builds(OrderedDict, st.dictionaries(hashable, inner, max_size=4)),
        st.builds(lambda items: defaultdict(list, items), st.dictionaries(hashable, inner, max_size=4)),
        st.builds(deque, st.lists(inner, max_size=4), st.none() | st.integers(4, 9)),
        st.binary().map(bytearray),
        st.lists(inner, max_size=3).map(iter),
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
    ),
    max_leaves=12,
)


def shape(value: object) -> object:
    """The value with the type of every part, sets in a fixed order: what `==` alone would not tell apart."""
    kind = type(value)
    name = "Named" if hasattr(value, "_fields") else kind.__name__
    if isinstance(value, kinds.Items):
        return "iterator", [shape(item) for item in value]
    if isinstance(value, (list, tuple, deque, type({}.keys()), type({}.values()), type({}.items()))):
        return name, getattr(value, "_fields", getattr(value, "maxlen", None)), [shape(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return name, sorted(map(repr, map(shape, value)))
    if isinstance(value, dict):
        return name, [(shape(key), shape(item)) for key, item in value.items()]
    return name, repr(value)


@given(plain)
def test_plain_data_comes_through_with_all_its_types(value: object) -> None:
    assert shape(wire.decode(wire.encode(value))) == shape(value)


@given(beyond_plain)
def test_values_of_pythons_own_types_come_through_as_what_they_are(value: object) -> None:
    decoded = wire.decode(wire.encode(value))
    again = wire.decode(wire.encode(decoded)) if "iterator" not in repr(shape(decoded)) else decoded
    assert shape(again) == shape(decoded)
    if "_iterator" not in repr(shape(value)):
        assert shape(decoded) == shape(value)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused_or_are_plain_data(data: bytes) -> None:
    try:
        value = wire.decode(data)
    except wire.Malformed:
        return
    if "iterator" not in repr(shape(value)):
        assert shape(wire.decode(wire.encode(value))) == shape(value)


@given(beyond_plain, st.data())
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


NAMES = ["range", "fraction", "decimal", "named", "keys", "values", "items", "counter", "ordered", "default", "deque"]
NAMES += ["bytearray", "iterator", "same", "object", "function", "stream", "builtin", "os", "__class__", "", "\ud800"]
parts = st.one_of(plain, st.lists(st.tuples(hashable, plain)).map(tuple), st.lists(st.text(max_size=3)).map(tuple))


@given(st.sampled_from(NAMES), st.lists(parts, max_size=4))
def test_parts_that_no_encoder_wrote_are_refused_or_make_one_of_the_known_types(name: str, given: list[object]) -> None:
    try:
        value = wire.decode(marshal.dumps((..., name, *given), 2))
    except wire.Malformed:
        return
    known = {range, Fraction, Decimal, kinds.Named, Counter, OrderedDict, defaultdict, deque, bytearray, kinds.Items}
    assert type(value) in known | {type({}.keys()), type({}.values()), type({}.items())}


@pytest.mark.parametrize(
    "value",
    [
        [...], {...: 1}, (1, ...), ((...,),), (...,), (..., 1), (..., ("range", 1, 2, 3)), {1: ...},
        (..., "range", 0, 3, 0), (..., "range", 0, 3), (..., "range", 0, 3.0, 1),
        (..., "range", 0, True, 1), (..., "range", 0, 1 << 300, 1),
        (..., "fraction", 2, 4), (..., "fraction", 1, 0), (..., "fraction", 1, -2), (..., "fraction", 1, 1 << 40000),
        (..., "decimal", "1_000"), (..., "decimal", " 1"), (..., "decimal", "1" * 3000), (..., "decimal", 1),
        (..., "named", "P", ("x",), (1, 2)), (..., "named", "P", ("_x",), (1,)),
        (..., "named", "P", ("x", "x"), (1, 2)),
        (..., "named", "a b", ("x",), (1,)), (..., "named", "P", ["x"], (1,)), (..., "named", "P", ("__eq__",), (1,)),
        (..., "keys", (1, 1)), (..., "keys", ([],)), (..., "keys", [1]), (..., "counter", ((1, 2), (1, 3))),
        (..., "default", "open", ()), (..., "default", "__import__", ()),
        (..., "deque", (1, 2), 1), (..., "deque", (1,), -1),
        (..., "ordered", (1,)), (..., "bytearray", "x"), (..., "iterator", [1], None), (..., "iterator", (), 5),
    ],
    ids=range(39),
)  # fmt: skip
def test_a_kind_of_value_is_refused_where_its_parts_do_not_make_one(value: object) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode(marshal.dumps(value, 2))


class Pile(list):  # type: ignore[type-arg]
    def top(self) -> object:
        return self[-1]


class Liar(list):  # type: ignore[type-arg]
    def __eq__(self, other: object) -> bool:
        return True


class Colour(enum.IntEnum):
    RED = 5


def test_a_subclass_arrives_as_its_data_where_it_means_no_more_and_else_not_at_all() -> None:
    assert shape(wire.decode(wire.encode([Pile([1, Pile([2])]), Colour.RED]))) == shape([[1, [2]], 5])
    with pytest.raises(wire.NotPlain):
        wire.encode([Liar([1])])


def test_an_iterator_that_does_not_end_is_no_value() -> None:
    with pytest.raises(wire.NotPlain, match="does not end"):
        wire.encode(iter(int, 1))


@pytest.mark.parametrize(
    "data",
    [b"[\xff\xff\xff\x7f", b"[" * 50_000, b"(\x01\0\0\0" * 50_000, b"{" * 50_000],
    ids=["length", "list", "tuple", "dict"],
)
def test_sizes_and_depths_that_lie_cost_nothing(data: bytes) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode(data)


@pytest.mark.parametrize(
    "keys",
    [
        [n * (2**61 - 1) for n in range(1, 5000)],
        [n * (2**61 - 1) if n % 2 else n for n in range(1, 5000)],
        [*range(1, 3000), *(n * (2**61 - 1) + 7 for n in range(1, 2000))],
        [(n * (2**61 - 1),) for n in range(1, 3000)],
        [-1 - n * (2**61 - 1) for n in range(1, 3000)],
    ],
    ids=range(5),
)
def test_keys_made_to_collide_are_refused_quickly(keys: list[object]) -> None:
    began = time.thread_time()
    for data in (_set_of(keys), _dict_of(keys)):
        with pytest.raises(wire.Malformed, match="colliding"):
            wire.decode(data)
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("inside", [lambda key: key, lambda key: (1, key), lambda key: frozenset([key])])
@pytest.mark.parametrize("bits", [3000, 8_000_000])
def test_a_long_integer_is_never_looked_up_among_decimal_numbers(bits: int, inside: Callable[[object], object]) -> None:
    long = (1 << bits) + 12345
    keys = [inside(key) for key in (Decimal(hash(long)), long)]
    began = time.thread_time()
    with pytest.raises(wire.Malformed, match="colliding"):
        kinds.distinct(keys, of_set=True)
    assert time.thread_time() - began < 1


def nested(width: int, depth: int, length: int) -> bytes:
    """A set of sets of sets ..., of which all have the same hash: tuples of -1 and -2 do."""
    pool = [marshal.dumps(leaf, 2) for leaf in itertools.product((-1, -2), repeat=length)]
    for _ in range(depth):
        used = pool[: width + 1]
        pool = [_frozen([one for one in used if one is not left]) for left in used]
    return _frozen(pool[:width])


def _frozen(items: list[bytes]) -> bytes:
    return b">" + len(items).to_bytes(4, "little") + b"".join(items)


@pytest.mark.parametrize(("width", "depth", "length"), [(31, 2, 5), (15, 3, 4), (60, 1, 6)])
def test_sets_in_sets_made_to_collide_are_refused_quickly(width: int, depth: int, length: int) -> None:
    data = nested(width, depth, length)
    began = time.thread_time()
    with pytest.raises(wire.Malformed, match="colliding"):
        wire.decode(data)
    assert time.thread_time() - began < 1


def test_a_few_honest_sets_of_equal_hash_come_through() -> None:
    grid = {frozenset({(-1, y), (-2, y)}) for y in (-1, -2, 3)} | {frozenset({-1}), frozenset({-2})}
    assert wire.decode(wire.encode(grid)) == grid


def test_a_value_may_hold_as_many_short_lists_as_fit_into_it() -> None:
    value = [[] for _ in range(100_000)]
    assert wire.decode(wire.encode(value)) == value


def _set_of(keys: list[object]) -> bytes:
    return b"<" + len(keys).to_bytes(4, "little") + b"".join(marshal.dumps(key, 2) for key in keys)


def _dict_of(keys: list[object]) -> bytes:
    return b"{" + b"".join(marshal.dumps(key, 2) + b"N" for key in keys) + b"0"


@pytest.mark.parametrize(
    "keys",
    [
        range(5000), range(0, 10**9, 10**5), [2**n for n in range(600)], [n / 8 for n in range(3000)],
        [(n, -n) for n in range(3000)], [f"word {n}" for n in range(5000)], [n << 16 for n in range(3000)],
        [n << 40 for n in range(3000)], [-n for n in range(3000)], [n * n for n in range(5000)],
        [frozenset({n, n + 1}) for n in range(3000)], [Fraction(n, 7) for n in range(2000)],
    ],
    ids=range(12),
)  # fmt: skip
def test_keys_as_honest_programs_have_them_come_through(keys: list[object]) -> None:
    assert wire.decode(wire.encode(set(keys))) == set(keys)
    assert wire.decode(wire.encode(dict.fromkeys(keys))) == dict.fromkeys(keys)


@pytest.mark.slow
@pytest.mark.parametrize("empty", [b"[\0\0\0\0", b"{0", b"<\0\0\0\0", b"(\x01\0\0\0N"])
def test_a_value_of_many_empty_parts_does_not_outgrow_its_bytes(empty: bytes) -> None:
    count = 900_000
    with pytest.raises(wire.Malformed, match="too many parts"):
        wire.decode(b"[" + count.to_bytes(4, "little") + empty * count)


@given(st.binary(max_size=400), st.integers(0, 10))
def test_records_are_read_from_any_bytes(data: bytes, limit: int) -> None:
    records = wire.read_records(data, limit, wire.OF_PROGRAMS)
    assert len(records) <= limit
    for record in records:
        assert record.code in wire.OF_PROGRAMS
        assert 0.0 <= record.seconds < 1e6
        assert record.payload in data or record.code == wire.KILLED


@pytest.mark.parametrize("seconds", [-1e300, -1e-9, 1e6, 1e300, float("inf"), float("-inf"), float("nan")])
def test_seconds_that_no_clock_shows_are_none(seconds: float) -> None:
    """Negative ones would give a budget back, and none that is huge or no number could be added up."""
    data = wire.record(wire.OK, seconds, b"N") + wire.record(wire.OK, 0.25, b"T")
    assert [one.seconds for one in wire.read_records(data, 9, wire.OF_PROGRAMS)] == [0.0, 0.25]


@given(st.binary(max_size=400))
def test_outcomes_are_made_from_any_bytes(data: bytes) -> None:
    task = make_task(Batch(), 0, CallsJob("", "f", (Call(), Call())))
    task.absorb(task.take(2), wire.read_records(data, 100, wire.OF_SUPERVISORS))
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
    worker.pending = deque([WorkerRequest(None, b"", 1.0)] * 2)
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
        task: WorkerTask = make_task(Batch(), 0, CallsJob("", "f", (Call(),) * len(answers)))
        segments = [task.take(1) for _ in answers]
        for segment in reversed(segments) if reverse else segments:
            code, seconds = answers[segment.first]
            task.absorb(segment, [wire.Record(code, seconds * 5, b"N")])
        assert task.finished()
        return [outcome.status for outcome in task.outcomes()]

    assert run(False) == run(True)
