"""The small world of table 3: 64 shell commands with slots, twelve families of tasks on files, and a teacher who errs.

A task says which files, in one of three ways, and what of them, in one of four: twelve families, four of which nobody
is trained on, though both halves of each occur in others. All of it is SIMULATED, no evidence about language models.
"""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.domains.os_shell import NAME
from evosyn.records import Json, Problem, Testing
from evosyn.text.tool_calls import ToolCall
from evosyn.trajectories import ANSWER, BASH, FINISH

ROUNDS = 4
LIST = "/tmp/list"
BLANK = re.compile(r"<([dvm])>")
VALUE = re.compile(r"`([^`]*)`")


class TaskHalf(NamedTuple):
    """A part of a task: how it is asked for, right commands, and wrong ones, the tempting one first."""

    words: tuple[str, ...]
    right: tuple[str, str]
    wrong: tuple[str, str, str]


_EACH = f"tr '\\n' '\\0' < {LIST} | xargs -0"
CHOICES = {
    "ending": TaskHalf(
        ("whose names end in `<v>`",),
        (f"find <d> -type f -name '*<v>' > {LIST}", f"find <d> -type f | grep '\\<v>$' > {LIST}"),
        (
            f"ls <d>/*<v> > {LIST}",
            f"find <d> -type f -iname '*<v>*' > {LIST}",
            f"find <d> -type f -not -name '.*' -name '*<v>' > {LIST}",
        ),
    ),
    "size": TaskHalf(
        ("that are larger than `<v>` bytes",),
        (
            f"find <d> -type f -size +<v>c > {LIST}",
            f"find <d> -type f -printf '%s\\t%p\\n' | awk -F'\\t' '$1 > <v> {{print $2}}' > {LIST}",
        ),
        (
            f"find <d> -type f -size +$((<v> / 512)) > {LIST}",
            f"find <d> -maxdepth 1 -type f -size +<v>c > {LIST}",
            f"find <d> -type f -not -size -<v>c > {LIST}",
        ),
    ),
    "word": TaskHalf(
        ("that hold the word `<v>`",),
        (f"grep -rlw <v> <d> > {LIST}", f"find <d> -type f -exec grep -lw <v> {{}} + > {LIST}"),
        (f"grep -rl <v> <d> > {LIST}", f"grep -lw <v> <d>/* > {LIST}", f"grep -rliw <v> <d> > {LIST}"),
    ),
}  # fmt: skip
ENDS = {
    "count": TaskHalf(
        (
            "How many regular files <w> are there below `<d>`? Answer with the number.",
            "Below `<d>`, how many regular files are there <w>? Answer with the number.",
        ),
        (f"wc -l < {LIST}", f"grep -c . {LIST}"),
        (f"wc -w < {LIST}", f"wc -c < {LIST}", f"tail -1 {LIST}"),
    ),
    "bytes": TaskHalf(
        (
            "How many bytes do the regular files <w> below `<d>` hold together? Answer with the number.",
            "Below `<d>`, how many bytes are in all regular files <w> together? Answer with the number.",
        ),
        (
            f"{_EACH} cat | wc -c",
            f"while read -r f; do stat -c %s \"$f\"; done < {LIST} | awk '{{s += $1}} END {{print s}}'",
        ),
        (f"cat $(cat {LIST}) | wc -c", f"{_EACH} du -c | tail -1 | cut -f1", f"cat {LIST} | wc -c"),
    ),
    "remove": TaskHalf(
        (
            "Remove all regular files <w> that lie below `<d>`, and nothing else.",
            "Below `<d>`, remove the regular files <w>, and nothing else.",
        ),
        (f"{_EACH} rm -f", f'while read -r f; do rm -f "$f"; done < {LIST}'),
        (f"rm -f $(cat {LIST})", "rm -rf <d>", f"rm -f $(head -1 {LIST})"),
    ),
    "mode": TaskHalf(
        (
            "Give the mode `<m>` to all regular files <w> that lie below `<d>`, and to nothing else.",
            "Below `<d>`, the regular files <w> are to have the mode `<m>`, and nothing else.",
        ),
        (f"{_EACH} chmod <m>", f'while read -r f; do chmod <m> "$f"; done < {LIST}'),
        (f"chmod <m> $(cat {LIST})", "chmod -R <m> <d>", f"chmod <m> $(head -1 {LIST})"),
    ),
}  # fmt: skip
LOOKS = ("ls -A <d>", "find <d> -type f", "ls -s <d>")
FAMILIES = tuple(itertools.product(CHOICES, ENDS))
UNTRAINED = (("ending", "count"), ("size", "bytes"), ("word", "remove"), ("ending", "mode"))
SEE = "find <d> -printf '%y %m %p\\n' | sort -k3"
SEE_LITTLE = "find <d> -type f | wc -l"


def whole(choice: str, end: str, *, tempting: bool = False) -> str:
    """Both halves in one command; `tempting` with the first half as many get it wrong."""
    one = CHOICES[choice]
    return f"{one.wrong[0] if tempting else one.right[0]}; {ENDS[end].right[0]}"


COMMANDS = (
    *(text for step in (*CHOICES.values(), *ENDS.values()) for text in (*step.right, *step.wrong)),
    *LOOKS,
    *(whole(*family, tempting=tempting) for family in FAMILIES for tempting in (False, True)),
)
"""All that an agent of this world can type; with `answer` and `finish` its whole language."""


@dataclass(frozen=True)
class FileTask:
    """One task: its halves, and the values of the blanks (d folder, v which files, m mode)."""

    choice: str
    end: str
    values: dict[str, str]
    statement: str
    init: str

    @property
    def asks(self) -> str:
        return "answer" if self.end in ("count", "bytes") else "state"

    def filled(self, command: str) -> str:
        return BLANK.sub(lambda found: self.values[found[1]], command)

    def testing(self, script: str, see: str = SEE) -> Testing:
        """The testing of one who takes this script for right."""
        if self.asks == "answer":
            return Testing("answer", {"script": {"code": self.filled(script)}, "compare": "integer"})
        after = self.filled(f"{{ {script}; }} > /dev/null 2>&1; cd /root; {see}")
        body = {"observe": {"code": self.filled(see)}, "expect": {"code": after}, "compare": "lines"}
        return Testing("observe", body)

    def problem(self, name: str) -> Problem:
        world = {"image": "host", "init": [{"language": "bash", "code": self.init}], "cwd": "/root"}
        payload: dict[str, Json] = {"world": world, "asks": self.asks, "rounds": ROUNDS}
        meta = {"choice": self.choice, "end": self.end, "simulated": True}
        return Problem(name, NAME, self.statement, payload, self.testing(whole(self.choice, self.end)), meta=meta)


@dataclass(frozen=True)
class Errors:
    """How careful the simulated teacher is; set by hand.

    Attributes:
        choosing, ending: chance that it gets that half wrong, and `tempted` that it is then the tempting mistake.
        weak, empty, unreadable: chance of a testing that sees too little, that accepts everything, that cannot run.
        lost: chance that a problem is beyond it; then both halves are wrong four times of five.
    """

    choosing: float = 0.3
    ending: float = 0.3
    tempted: float = 0.55
    weak: float = 0.15
    empty: float = 0.08
    unreadable: float = 0.05
    lost: float = 0.15

    def of_problem(self, rng: random.Random) -> Errors:
        return replace(self, choosing=0.8, ending=0.8) if rng.random() < self.lost else self


def draw_task(family: tuple[str, str], rng: random.Random) -> FileTask:
    """A task of a family; in its world each mistake shows."""
    choice, end = family
    folders = ("/root", "/srv", "/opt", "/var/lib"), ("box", "data", "work", "store", "in")
    values = {
        "d": "/".join(map(rng.choice, folders)),
        "v": {
            "ending": "." + rng.choice(("log", "txt", "cfg", "csv", "out")),
            "size": str(rng.choice((100, 150, 200, 250, 300))),
            "word": rng.choice(("red", "map", "salt", "note", "wing")),
        }[choice],
        "m": rng.choice(("600", "640", "660", "444")),
    }
    words = rng.choice(ENDS[end].words).replace("<w>", CHOICES[choice].words[0])
    statement = BLANK.sub(lambda found: values[found[1]], words)
    return FileTask(choice, end, values, statement, _init(choice, values, rng))


def _init(choice: str, values: dict[str, str], rng: random.Random) -> str:
    """Files that are meant at the top, below it, hidden, and with a blank in the name; others of each kind beside."""
    more = rng.sample(["e", "sub/f", "sub/low/g", ".hid/h"], rng.randint(0, 3))
    meant = ["two words", "sub/b", ".hid/c", ".d", "a", *more]
    others = [f"{rng.choice(('', 'sub/', '.hid/', 'sub/low/'))}x{at}" for at in range(rng.randint(4, 7))]
    lines = [f"mkdir -p {values['d']}/sub/low {values['d']}/.hid", f"cd {values['d']}",
             "w() { { printf '%s\\n' \"$2\"; head -c \"$3\" /dev/zero | tr '\\0' -; } > \"$1\"; }"]  # fmt: skip
    for at, name in enumerate([*meant, *others]):
        lines.append(_file(choice, values["v"], name, at - len(meant), rng))
    return "\n".join(lines) + "\n"


def _file(choice: str, value: str, name: str, place: int, rng: random.Random) -> str:
    """One file; the meant ones have places below 0, of the others every third fails in the same way."""
    ending, word, size = ".dat", "plain", rng.randint(20, 400)
    if choice == "ending":
        ending = value if place < 0 else (value + ".bak", value.upper(), ".dat")[place % 3]
    elif choice == "word":
        word = f"the {value} is here" if place < 0 else (f"{value}s are here", value.upper(), "plain")[place % 3]
    else:
        limit = int(value) - len(word) - 1  # beside the first line
        size = limit + rng.randint(1, 90) if place < 0 else (limit, limit - 1, limit // 2)[place % 3]
    return f"w '{name}{ending}' '{word}' {size}"


def plan_of(task: FileTask, errors: Errors, rng: random.Random) -> tuple[ToolCall, ...]:
    """What the teacher does, in templates: at most `ROUNDS` steps. The answer is what it saw last."""
    looks = [rng.choice(LOOKS)] if rng.random() < 0.4 else []
    first, last = _halves(task, errors, rng)
    work = [f"{first}; {last}"] if f"{first}; {last}" in COMMANDS and rng.random() < 0.5 else [first, last]
    end = ToolCall(ANSWER, {}) if task.asks == "answer" else ToolCall(FINISH, {"thought": ""})
    return (*(ToolCall(BASH, {"script": text}) for text in (*looks, *work)), end)


def careless_testing(task: FileTask, errors: Errors, rng: random.Random) -> Testing:
    """A testing of the same teacher, wrong for the same reasons."""
    first, last = _halves(task, errors, rng)
    roll, script = rng.random(), f"{first}; {last}"
    if roll < errors.unreadable:
        return task.testing("if [ -e '/root ; then")
    if task.asks == "state" and roll < errors.unreadable + errors.empty:
        return Testing("state", {"script": {"code": "echo true"}})
    return task.testing(script, SEE_LITTLE if rng.random() < errors.weak else SEE)


def _halves(task: FileTask, errors: Errors, rng: random.Random) -> tuple[str, str]:
    first = _drawn(CHOICES[task.choice], errors.choosing, errors, rng)
    return first, _drawn(ENDS[task.end], errors.ending, errors, rng)


def _drawn(step: TaskHalf, chance: float, errors: Errors, rng: random.Random) -> str:
    if rng.random() >= chance:
        return rng.choice(step.right)
    return step.wrong[0] if rng.random() < errors.tempted else rng.choice(step.wrong[1:])
