"""Tasks of AgentBench-OS as a pool, read as they are: `agentbench:PATH[#SPLIT][@IMAGE]`. Liu 2023 (AgentBench).

PATH is a file of JSON lines, `{id, split, task}` each, and one `{id: "scripts", files}` that holds the scripts by their
paths. The data are not ours and come from the user. What cannot be brought in is named with its reason, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from evosyn.domains import AGENTBENCH, check_pool
from evosyn.domains.os_shell import NAME
from evosyn.domains.published._rows import NotUsable
from evosyn.errors import FormatError, InputError
from evosyn.jsonlines import read_lines
from evosyn.pools import pool_from_json
from evosyn.records import Json, Pool

COMPARES = {"integer-match": "integer", "string-match": "string", "size-match": "size", "containing": "contains"}
OF_PROGRAMS = re.compile(r"/usr/s?bin|(?<![\w/])/s?bin\b|\bsudo\b")
"""A check with such a text is about the system's own programs, and must see those that the solution left."""
OF_USERS = re.compile(r"\b(?:user(?:add|mod|del)|adduser|group(?:add|mod|del)|gpasswd|chown|chgrp|su|sudo)\b")
"""A script with such a word needs users of the room's own."""
TRAIN_SCRIPTS = "7"


class SourceName(NamedTuple):
    """What stands behind the prefix."""

    path: Path
    split: str
    image: str


def named(source: str) -> SourceName:
    text, _, image = source.removeprefix(AGENTBENCH).partition("@")
    path, _, split = text.partition("#")
    return SourceName(Path(path), split or "test", image or "debos")


def scan(source: str) -> Iterator[Pool | InputError]:
    """The problems of one split, and why others cannot be brought in.

    Raises:
        InputError: the file cannot be read, or has no such split.
    """
    path, split, image = named(source)
    rows = list(read_lines(path))
    files: dict[str, str] = next((row.value["files"] for row in rows if row.value.get("id") == "scripts"), {})
    found = [row for row in rows if row.value.get("split") == split and "task" in row.value]
    if not found:
        splits = sorted({str(row.value.get("split")) for row in rows if "task" in row.value})
        raise InputError(path, f"has no split {split!r}", hint=f"Splits: {', '.join(splits)}; name one as PATH#SPLIT")
    for row in found:
        try:
            pool = pool_from_json(_TaskReading(row.value, files, image).line(), line=row.number)
            check_pool(pool)
            yield pool
        except NotUsable as error:
            yield InputError(path, str(error), line=row.number, field="task", value=row.value["id"])
        except FormatError as error:
            yield error.at(path, row.number)


class _TaskReading:
    """One task."""

    def __init__(self, row: Mapping[str, Json], files: Mapping[str, str], image: str) -> None:
        self._row, self._task, self._files, self._image = row, row["task"], files, image
        stem = str(row["id"]).removeprefix("data/").partition("/")[0].partition(".")[0].partition("-")[0]
        self._folder = TRAIN_SCRIPTS if row["split"] == "train" else stem
        self._evaluation: Mapping[str, Json] = self._task["evaluation"]

    def line(self) -> dict[str, Json]:
        create, start = self._task.get("create") or {}, self._task.get("start")
        notes = ["its init was lost upstream"] if isinstance(create, list) else []
        init = [] if notes else create.get("init") or []
        scripts = [self._script(one) for one in (init if isinstance(init, list) else [init])]
        began = start and self._script(start)
        example = self._evaluation.get("example") or self._task.get("example")
        reference = None if example is None else self._script(example)["code"]
        human = self._human(reference)
        told = [one["code"] for one in (*scripts, began) if one] + [reference or ""]
        needs = ["uids"] if any(map(OF_USERS.search, told)) else []
        world = {"image": self._image, "init": scripts, "start": began, "needs": needs, "cwd": "/root"}
        asks = "answer" if human["kind"] in ("answer", "value") else "state"
        meta = {"labels": self._task.get("labels", []), "source": "agentbench", "notes": notes}
        if reference is not None:  # the same commands as another text: done again in a room of their own
            meta["alternatives"] = [f"{reference}\n"]
        return {
            "problem_id": self._row["id"],
            "domain": NAME,
            "statement": self._task["description"],
            "payload": {"world": world, "asks": asks},
            "human_testing": human,
            "reference_solution": reference,
            "meta": meta,
        }

    def _human(self, reference: str | None) -> dict[str, Json]:
        """
        Raises:
            NotUsable: its evaluation has no form that is known.
        """
        match, check = self._evaluation.get("match"), self._evaluation.get("check")
        if isinstance(match, str):
            return {"kind": "value", "expected": match.strip(), "compare": "string"}
        if match is not None:
            raise NotUsable("match-by-pattern: regular expressions of strangers are not run here")
        steps = check if isinstance(check, list) else [check]
        if len(steps) == 2 and steps[0] is None and isinstance(steps[1], Mapping):
            compare = COMPARES.get(Path(str(steps[1].get("file", ""))).stem)
            if compare is None or reference is None:
                raise NotUsable("no-example: nothing says what the answer is" if compare else f"check: {steps[1]}")
            return {"kind": "answer", "script": {"code": reference}, "compare": compare}
        if not steps or None in steps:
            raise NotUsable(f"check: {check!r}: of no known form")
        scripts = [self._script(step) for step in steps]
        checks = [
            {"kind": "state", "body": {"script": script, "accept": "exit",
             "view": "open" if OF_PROGRAMS.search(script["code"]) else "guarded"}}
            for script in scripts
        ]  # fmt: skip
        return {"kind": "checks", "checks": checks}

    def _script(self, given: Json) -> dict[str, str]:
        """
        Raises:
            NotUsable: it names a file that is not there.
        """
        if isinstance(given, str):
            return {"language": "bash", "code": given}
        name = given.get("file")
        language = given.get("language") or ("python" if str(name).endswith(".py") else "bash")
        if name is None:
            return {"language": language, "code": given["code"]}
        code = self._files.get(f"scripts/{self._folder}/{name}")
        if code is None:
            raise NotUsable(f"no-script: scripts/{self._folder}/{name} is not in the file")
        return {"language": language, "code": code}
