"""The verdict cache on disk: what is damaged is absent, never a changed verdict."""

from __future__ import annotations

import hashlib
import logging
import random
import sqlite3
from pathlib import Path

import pytest

from evosyn.crossexec.verdict_cache import SqliteVerdicts
from evosyn.errors import UsageError
from evosyn.jobs import CellResult
from evosyn.records import Verdict

DECIDED = [verdict for verdict in Verdict if verdict not in (Verdict.UNKNOWN, Verdict.NOT_RUN)]


def cell(number: int) -> CellResult:
    draw = random.Random(number)
    cases = tuple(draw.choices(DECIDED, k=draw.randrange(1, 12)))
    values = tuple([draw.getrandbits(64) * draw.randrange(2) for _ in cases]) if draw.randrange(2) else ()
    return CellResult(draw.choice(DECIDED), cases, draw.random(), f"detail {number}" * draw.randrange(3), values)


CELLS = {f"{number:040x}": cell(number) for number in range(60)}


def filled(path: Path) -> bytes:
    """A cache file with everything in its main file, as it is after the last process has closed it."""
    with SqliteVerdicts(path) as cache:
        cache.put(list(CELLS.items()))
    assert not path.with_name(path.name + "-wal").exists()
    return path.read_bytes()


def places_of_rows(content: bytes) -> list[int]:
    """Every byte of the file that belongs to some row's key, checksum or result."""
    spans = [(content.index(key.encode()), len(key) + 8) for key in CELLS]
    return [at for start, length in spans for at in range(start, start + length + 20)]


def test_a_flipped_bit_in_a_row_never_changes_a_verdict(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "v.sqlite"
    content = filled(path)
    places = places_of_rows(content)
    draw = random.Random(20)
    absent = refused = 0
    for number in range(400):
        at = places[number * len(places) // 400]
        flipped = bytearray(content)
        flipped[at] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        try:
            with SqliteVerdicts(path) as cache:
                found = cache.get(list(CELLS))
                assert cache.damaged <= 1
        except UsageError as error:  # a length inside the page: SQLite itself refuses the file
            assert "delete it" in str(error)
            refused += 1
            continue
        wrong = [key for key, got in zip(CELLS, found, strict=True) if got not in (None, CELLS[key])]
        assert not wrong, f"byte {at}"
        absent += found.count(None)
    assert absent >= 380
    assert refused <= 20
    assert "wrong checksum" in caplog.text


@pytest.mark.long
def test_no_flipped_byte_anywhere_in_the_file_changes_a_verdict(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    content = filled(path)
    for at in range(len(content)):
        flipped = bytearray(content)
        flipped[at] ^= 1 << (at % 8)
        path.write_bytes(flipped)
        try:
            with SqliteVerdicts(path) as cache:
                found = cache.get(list(CELLS))
        except UsageError:
            continue
        assert all(got in (None, CELLS[key]) for key, got in zip(CELLS, found, strict=True)), f"byte {at}"


def test_a_damaged_row_is_counted_said_once_and_written_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "v.sqlite"
    filled(path)
    raw = sqlite3.connect(path)
    raw.execute("UPDATE sealed SET cell = cast(replace(cast(cell AS TEXT), '\"', ' ') AS BLOB)")
    raw.commit()
    raw.close()
    keys = list(CELLS)
    with caplog.at_level(logging.WARNING), SqliteVerdicts(path) as cache:
        assert cache.get(keys) == [None] * len(keys)
        cache.get(keys)
        assert cache.damaged == 2 * len(keys)
        cache.put(list(CELLS.items()))
        assert cache.get(keys) == list(CELLS.values())
    assert caplog.text.count("wrong checksum") == 1


def test_a_row_of_the_time_before_values_were_recorded_is_read_without_them(tmp_path: Path) -> None:
    path, key = tmp_path / "v.sqlite", "k" * 40
    body = b'["F","PF",0.25,""]'
    checksum = hashlib.blake2b(body, digest_size=8, key=hashlib.sha256(key.encode()).digest()).digest()
    with SqliteVerdicts(path) as cache:
        raw = sqlite3.connect(path)
        raw.execute("INSERT INTO sealed VALUES (?, ?)", (key, checksum + body))
        raw.commit()
        raw.close()
        assert cache.get([key]) == [CellResult(Verdict.FAIL, (Verdict.PASS, Verdict.FAIL), 0.25)]


def test_a_verdict_moved_to_another_key_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    filled(path)
    first, second = list(CELLS)[:2]
    raw = sqlite3.connect(path)
    raw.execute("UPDATE sealed SET cell = (SELECT cell FROM sealed WHERE key = ?) WHERE key = ?", (first, second))
    raw.commit()
    raw.close()
    with SqliteVerdicts(path) as cache:
        assert cache.get([first, second]) == [CELLS[first], None]
