"""The cache of replies: what was paid for is found again as it was, or said to be damaged; it is never asked again in
silence."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evosyn.chat import Message, Reply, Request
from evosyn.errors import CorruptRun
from evosyn.teachers.cache import RecordedReplies, ReplyCache

ASKED = Request((Message("user", "q"),), "solution")
ANSWERED = {"purpose": "solution", "problem": "", "sample": 0, "params": {}}


def row(**reply: object) -> str:
    return json.dumps({"reply": {"id": "r_1", "text": "answer", "model": "m", **reply}, "asked": ANSWERED})


BAD = {
    "torn": row()[:20],
    "null": "null",
    "a list": "[]",
    "a number": 3,
    "bytes": b"\xff\xfe\x00",
    "no text": row(text=None),
    "a text that is a number": row(text=3),
    "without a model": row(model=None),
    "of a later version": row(images=[]),
    "of another request": row(id="r_2"),
    "without what it answered": json.dumps({"reply": json.loads(row())["reply"]}),
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("opener", [ReplyCache, RecordedReplies])
@pytest.mark.parametrize("bad", BAD)
def test_a_damaged_reply_is_named_with_its_key_and_what_to_do(
    bad: str, opener: type[RecordedReplies], tmp_path: Path
) -> None:
    path = tmp_path / "replies.sqlite"
    with closing(ReplyCache(path)) as cache:
        cache.put(Reply("r_0", "kept", "m"), ASKED)
    with closing(sqlite3.connect(path)) as db:
        kept = BAD[bad]
        written = "CAST(? AS TEXT)" if isinstance(kept, bytes) else "?"
        db.execute(f"INSERT INTO replies VALUES ('r_1', {written})", (kept,))
        db.commit()
    with closing(opener(path)) as cache:
        with pytest.raises(CorruptRun, match=r"replies\.sqlite: .* key r_1 is damaged.*remove this row"):
            cache.get("r_1")
        found = cache.get("r_0")
        assert found is not None and found.text == "kept" and cache.get("r_9") is None


@pytest.mark.parametrize("opener", [ReplyCache, RecordedReplies])
def test_a_file_that_is_damaged_further_on_is_named_when_it_is_read(
    opener: type[RecordedReplies], tmp_path: Path
) -> None:
    path = tmp_path / "replies.sqlite"
    with closing(ReplyCache(path)) as cache:
        for at in range(200):
            cache.put(Reply(f"r_{at}", "x" * 1000, "m"), ASKED)
    raw = path.read_bytes()
    path.write_bytes(raw[:8192] + b"\x77" * (len(raw) - 8192))
    with (
        closing(opener(path)) as cache,
        pytest.raises(CorruptRun, match=r"replies\.sqlite: is damaged.*Put back a copy"),
    ):
        for at in range(200):
            cache.get(f"r_{at}")


def test_a_reply_is_found_as_it_was(tmp_path: Path) -> None:
    reply = Reply("r_1", "half \ud800 a letter", "m", "truncated", "thought", 3, 4, None, estimated=True)
    with closing(ReplyCache(tmp_path / "replies.sqlite")) as cache:
        cache.put(reply, ASKED)
        assert cache.get("r_1") == Reply(**{**vars(reply), "cached": True})
