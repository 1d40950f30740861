"""Files of SQLite that are not ours: refused by name, and left byte for byte."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from evosyn.chat import Message, Reply, Request
from evosyn.crossexec.verdict_cache import SqliteVerdicts
from evosyn.errors import UsageError
from evosyn.teachers.cache import RecordedReplies, ReplyCache

OPENERS: dict[str, Callable[[Path], object]] = {
    "verdicts": SqliteVerdicts,
    "replies": ReplyCache,
}
ASKED = Request((Message("user", "q"),), "solution")
THEIRS = {
    "a table": "CREATE TABLE users (name TEXT)",
    "a table of our older name": "CREATE TABLE cells (id INTEGER PRIMARY KEY, area TEXT)",
    "a table of our name": "CREATE TABLE replies (id INTEGER PRIMARY KEY, reply TEXT)",
    "another table of our name": "CREATE TABLE sealed (key TEXT, cell BLOB, envelope TEXT)",
    "a view": "CREATE VIEW replies AS SELECT 'k' AS key, 'r' AS reply",
}


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as db:
        for one in statements:
            db.execute(one)
        db.commit()
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("theirs", THEIRS)
def test_a_database_of_something_else_is_refused_and_left_alone(opener: str, theirs: str, tmp_path: Path) -> None:
    path = database(tmp_path / "mine.db", THEIRS[theirs])
    before = content(tmp_path)
    table = THEIRS[theirs].split()[2]
    with pytest.raises(UsageError, match=rf"mine\.db: holds tables of something else \({table}\).*name another file"):
        OPENERS[opener](path)
    assert content(tmp_path) == before


@pytest.mark.parametrize(("opener", "other"), [("verdicts", "replies"), ("replies", "verdicts")])
def test_a_cache_of_the_other_kind_is_refused_too(opener: str, other: str, tmp_path: Path) -> None:
    OPENERS[other](tmp_path / "c.sqlite").close()  # type: ignore[attr-defined]
    before = content(tmp_path)
    with pytest.raises(UsageError, match="holds tables of something else"):
        OPENERS[opener](tmp_path / "c.sqlite")
    assert content(tmp_path) == before


def test_a_table_beside_ours_is_refused_while_another_process_writes(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "c.sqlite", isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE sealed (key TEXT PRIMARY KEY, cell BLOB NOT NULL) WITHOUT ROWID")
        writer.execute("CREATE TABLE users (name TEXT)")
        with pytest.raises(UsageError, match=r"\(users\)"):
            SqliteVerdicts(tmp_path / "c.sqlite")


def test_a_recording_is_read_without_a_trace(tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    with closing(ReplyCache(folder / "replies.sqlite")) as cache:
        cache.put(Reply("r_1", "text", "m"), ASKED)
    before = content(folder)
    with closing(RecordedReplies(folder / "replies.sqlite")) as recorded:
        found = recorded.get("r_1")
        assert found is not None and found.text == "text" and recorded.get("r_2") is None
        assert content(folder) == before


def test_replies_that_are_being_written_are_read(tmp_path: Path) -> None:
    with closing(ReplyCache(tmp_path / "replies.sqlite")) as cache:
        cache.put(Reply("r_1", "text", "m"), ASKED)
        with closing(RecordedReplies(tmp_path / "replies.sqlite")) as recorded:
            assert len(recorded) == 1
