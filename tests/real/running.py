"""A command of evosyn in a process of its own beside a metered server, and what is asserted of every one of them."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from evosyn.chat import Reply
from evosyn.codec import load
from evosyn.domains import load_pools
from evosyn.domains.python.payload import entry_point
from evosyn.journal import Journal
from evosyn.records import Pool
from evosyn.teachers.cache import Kept, RecordedReplies
from evosyn.teachers.chat import QUESTION
from tests.real.meter import Answered, Meter
from tests.real.plain import missed
from tests.real.server import LlamaServer

FIRST_S, EVERY_S = 15.0, 30.0
"""When the first line must be there, and how long nothing may be said after any."""
LONGEST_S = 900.0
BEFORE_KILL = 8
"""Replies that must have come."""
MOST_CALLS = 64
"""In flight at once, as `workbench.teacher.calls` has it: so many a kill may lose."""
_REPLY = re.compile(r"\br_[0-9a-f]{16}\b")


class Line(NamedTuple):
    """A line of a command, and the second of its life in which it came."""

    at: float
    text: str


class Command:
    """A running command, in a group of processes of its own."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self.lines: list[Line] = []
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "evosyn", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True,
            env={"OPENAI_API_KEY": "none-is-needed", **os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def told(self) -> str:
        return "\n".join(line.text for line in self.lines)

    def end(self) -> int:
        """Its exit code."""
        try:
            code = self._process.wait(LONGEST_S)
        finally:
            self.kill()
        self._reader.join()
        return code

    def kill(self) -> None:
        """End it and all that it started, as `kill -9` does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(Line(self.seconds, line.rstrip()))


@dataclass(frozen=True)
class Lane:
    """Where commands run.

    Attributes:
        meter: before the server that they ask.
        served: the server itself, where it is ours: it can be killed, and counts too.
        folder: of all runs.
    """

    meter: Meter
    served: LlamaServer | None
    folder: Path

    def run(
        self, *words: str, ends: Sequence[int] = (0,), kills: int = 0, paid: str | None = "replies", named: bool = False
    ) -> None:
        """Run a command to its end, and assert what holds of all.

        Args:
            words: with `--out NAME` where it has a directory.
            ends: exit codes that are right.
            kills: how often it is killed before, and the server with the first, each when some replies have come.
            paid: where its replies are kept: `replies`, a cache, or a journal of `--out`; None where they are not.
            named: all replies must stand in the files of a run that came to its end: used, or lost for a reason.
        """
        cache = self.folder / f"{paid}-{len(list(self.folder.glob('replies-*.sqlite')))}.sqlite"
        asks = "--model" in words
        more = ["--base-url", self.meter.base_url, "--set", f"workbench.teacher.replies={cache}"] if asks else []
        first, counted = len(self.meter.answered), self._counted()
        for number in range(kills):
            self._killed([*words, *more], server=number == 0)
        command = Command([*words, *more], self.folder)
        code, told = command.end(), command.told
        assert code in ends, told
        assert "Traceback (most recent call last)" not in told, told
        silence = longest_silence(command) if asks else None
        assert silence is None, f"{silence}\n{told}"
        answered = self.meter.answered[first:]
        if self.served is not None and not kills:
            assert self._counted() - counted == sum(one.output_tokens for one in answered)
        if not asks or paid is None:
            return
        out = self.folder / words[words.index("--out") + 1] if "--out" in words else self.folder
        kept = list(RecordedReplies(cache)) if paid == "replies" else []
        replies = [one.reply for one in kept] or list(journalled(out / paid))
        again = paid_beside(replies, answered)
        assert 0 <= again <= kills * MOST_CALLS, f"{len(answered)} calls were answered, {len(replies)} are kept"
        if code < 2 and not kills and (report := reported(out)):
            assert report == (by_server := spent_on(answered, report[0])), f"{report} reported, {by_server} counted"
        if named and code < 2:
            assert not (nowhere := lost_unnamed(out, kept)), nowhere
            assert not (unread := unread_of(out, kept)), unread

    def _killed(self, words: Sequence[str], *, server: bool) -> None:
        """Run it until some replies have come, and kill it; the server before that, where it is ours."""
        command = Command(words, self.folder)
        self._wait(command)
        if server and self.served is not None:
            self.served.kill()
            self.served.start()
            self._wait(command)
        command.kill()

    def _wait(self, command: Command) -> None:
        """Until some calls more were answered."""
        enough = len(self.meter.answered) + BEFORE_KILL
        while len(self.meter.answered) < enough:
            assert command.runs and command.seconds < LONGEST_S, command.told
            time.sleep(0.2)

    def _counted(self) -> float:
        """Tokens that the server made, by its own count; 0 where it is not ours."""
        return self.served.counted()["tokens_predicted_total"] if self.served else 0.0


def longest_silence(command: Command) -> str | None:
    """Where it said nothing for too long; None if nowhere."""
    times = [0.0, *(line.at for line in command.lines if line.text.strip()), command.seconds]
    if times[1] > FIRST_S:
        return f"the first line came after {times[1]:.0f} s"
    gap, since = max((later - sooner, sooner) for sooner, later in pairwise(times))
    return f"no line for {gap:.0f} s after second {since:.0f}" if gap > EVERY_S else None


def journalled(path: Path) -> Iterator[Reply]:
    """The replies that a journal holds."""
    return (load(Reply, event["reply"]) for event in Journal(path).events() if event["event"] == "reply")


def paid_beside(kept: Sequence[Reply], answered: Sequence[Answered]) -> int:
    """How many calls more were answered than are kept.

    Raises:
        AssertionError: as many are kept, and their tokens are others.
    """
    asked = _counted_as(len(kept), answered)
    if len(asked) == len(kept):
        ours = [(one.input_tokens, one.output_tokens) for one in kept]
        theirs = [(one.input_tokens, one.output_tokens) for one in asked]
        assert sorted(ours) == sorted(theirs), "evosyn counts other tokens than the server"
    return len(asked) - len(kept)


def spent_on(answered: Sequence[Answered], calls: int) -> list[int]:
    """Calls, tokens in and tokens out, where evosyn counts so many calls."""
    asked = _counted_as(calls, answered)
    return [len(asked), sum(one.input_tokens for one in asked), sum(one.output_tokens for one in asked)]


def _counted_as(calls: int, answered: Sequence[Answered]) -> Sequence[Answered]:
    """Of the short questions that begin a process each counts once, or none does."""
    asked = [one for one in answered if not _is_question(one.body)]
    questions = {json.dumps(one.body, sort_keys=True): one for one in answered if _is_question(one.body)}
    return min((asked, [*asked, *questions.values()]), key=lambda some: abs(len(some) - calls))


def reported(out: Path) -> list[int] | None:
    """The same as the report of a run tells it, the phases of a search together; None where it does not."""
    report = json.loads(path.read_text()) if (path := out / "report.json").exists() else {}
    parts = [one for one in (report, *report.get("spent", {}).values()) if "tokens" in one]
    told = [(one["calls"], one["tokens"]["input"], one["tokens"]["output"]) for one in parts]
    return [sum(column) for column in zip(*told, strict=True)] or None


def lost_unnamed(out: Path, kept: Sequence[Kept]) -> list[str]:
    """Replies about problems that no file of the run names, and rows of rejects without a reason."""
    named = {found for path in _files(out) for found in _REPLY.findall(_text(path))}
    lost = [one.reply.id for one in kept if one.asked.problem and one.reply.id not in named]
    return [*lost, *(str(row) for row in _rejects(out) if not row["reason"])]


def unread_of(out: Path, kept: Sequence[Kept]) -> list[str]:
    """Texts that were lost unread and that a plain reader can read."""
    texts = {one.reply.id: one.reply.text for one in kept}
    names = {one.problem.problem_id: entry_point(one.problem) for one in _pools(out)}
    lost = [row for row in _rejects(out) if row["item"] == "reply" and row["reply"] in texts]
    given = [(row["reason"], row["stage"], texts[row["reply"]], names.get(row["problem_id"], "")) for row in lost]
    return [text for reason, kind, text, name in given if missed(reason, kind, text, name)]


def _files(out: Path) -> list[Path]:
    """JSON lines of a run."""
    return sorted(out.rglob("*.jsonl*"))


def _pools(out: Path) -> list[Pool]:
    pools = [path for path in _files(out) if path.name.startswith(("candidates", "pool")) and "reject" not in path.name]
    return [pool for path in pools for pool in load_pools(path)]


def _text(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()


def _rejects(out: Path) -> Iterator[Mapping[str, Any]]:
    for path in _files(out):
        if "rejects" in path.name:
            yield from map(json.loads, _text(path).splitlines())


def _is_question(body: Mapping[str, Any]) -> bool:
    return [message["content"] for message in body["messages"]] == [QUESTION]
