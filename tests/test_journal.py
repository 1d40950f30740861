"""The journal survives being cut anywhere; its events are records, and what is no event of the run is refused."""

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evosyn.errors import CorruptRun, UsageError
from evosyn.journal import Events, Journal
from evosyn.records import Json

EVENTS = st.lists(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20), max_size=3), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(EVENTS, st.data())
def test_a_journal_cut_at_any_byte_keeps_every_whole_event_and_can_be_continued(
    tmp_path: Path, events: list[dict[str, object]], data: st.DataObject
) -> None:
    path = tmp_path / "journal.jsonl"
    path.unlink(missing_ok=True)
    journal = Journal(path)
    ends = [0]
    for event in events:
        journal.append(event)
        ends.append(path.stat().st_size)
    journal.close()
    cut = data.draw(st.integers(0, ends[-1]))
    if path.exists():
        os.truncate(path, cut)
    whole = sum(end <= cut for end in ends) - 1
    again = Journal(path)
    assert list(again.events()) == events[:whole]
    again.append({"after": 1}, sync=True)
    again.close()
    assert list(Journal(path).events()) == [*events[:whole], {"after": 1}]


def test_damage_before_the_last_line_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    for number in range(3):
        journal.append({"n": number})
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b"1", b"7", 1) + lines[2])
    with pytest.raises(CorruptRun, match=r"journal\.jsonl:2"):
        list(Journal(path).events())


@pytest.mark.parametrize("body", [b"{nope", b"\0", b"[" * 100_000])
def test_a_line_with_a_right_checksum_that_is_no_json_is_damage(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.append({"n": 0})
    journal.close()
    path.write_bytes(path.read_bytes() + b"%08x %s\n" % (zlib.crc32(body), body) + path.read_bytes())
    with pytest.raises(CorruptRun, match=r"journal\.jsonl:2"):
        list(Journal(path).events())


@dataclass(frozen=True)
class Said:
    words: tuple[str, ...]
    loud: bool = False


@dataclass(frozen=True)
class Left:
    at: int


HEADER = {"kind": "talk", "people": {"count": 2, "names": ["a", "b"]}}


def talk(path: Path) -> Events[Said | Left]:
    return Events(Journal(path), {"said": Said, "left": Left})


def test_events_come_back_as_the_records_that_they_were(tmp_path: Path) -> None:
    events = talk(tmp_path / "j")
    assert events.header() is None
    events.begin(HEADER)
    places = [events.append(Said(("hello", "\ud800"))), events.append(Left(3)), events.append(Said((), loud=True))]
    again = talk(tmp_path / "j")
    assert again.header() == HEADER
    assert list(again) == [Said(("hello", "\ud800")), Left(3), Said((), loud=True)]
    assert [(place, again.at(place)) for place in places] == list(again.positions())


def test_lines_are_short_sorted_and_named(tmp_path: Path) -> None:
    events = talk(tmp_path / "j")
    events.begin(HEADER)
    events.append(Said(("hello",)))
    first, second = (line[9:] for line in (tmp_path / "j").read_text().splitlines())
    assert first == '{"event":"begin","kind":"talk","people":{"count":2,"names":["a","b"]},"v":2}'
    assert second == '{"event":"said","words":["hello"]}'


def test_a_run_is_taken_up_with_the_same_header_only(tmp_path: Path) -> None:
    talk(tmp_path / "j").begin(HEADER)
    before = (tmp_path / "j").read_bytes()
    talk(tmp_path / "j").begin(HEADER)
    assert (tmp_path / "j").read_bytes() == before
    with pytest.raises(UsageError, match=r"people\.count: 2 there, 3 asked for"):
        talk(tmp_path / "j").begin({**HEADER, "people": {"count": 3, "names": ["a", "b"]}})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"event": "sung"}, "'sung', none of begin, said, left"),
        ({"words": []}, "None, none of begin, said, left"),
        ({"event": "left", "at": "soon"}, ":2: the event 'left' cannot be read: at: .*'soon'"),
        ({"event": "left", "at": 1, "to": "bed"}, "to: is not a field"),
        ({"event": "said"}, "words: is missing"),
        ([1], "holds .1., which is no event"),
        (5, "holds 5, which is no event"),
    ],
)
def test_what_is_no_event_of_the_run_is_refused_by_name(tmp_path: Path, line: Json, said: str) -> None:
    events = talk(tmp_path / "j")
    events.begin(HEADER)
    events.journal.append(line)
    with pytest.raises(CorruptRun, match=said):
        list(events)


@pytest.mark.parametrize(
    "first", [{"event": "said", "words": []}, {"t": "start"}, {**HEADER, "event": "begin", "v": 3}]
)
def test_a_journal_of_another_version_is_refused_with_what_to_do(tmp_path: Path, first: Mapping[str, Json]) -> None:
    events = talk(tmp_path / "j")
    events.journal.append(first)
    for ask in (events.header, lambda: list(events), lambda: events.begin(HEADER)):
        with pytest.raises(UsageError, match="no journal of version 2; use the evosyn that wrote it"):
            ask()
