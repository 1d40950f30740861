"""The student of table 3: a tiny model whose tokens are whole commands, with slots copied from the task or the output.

It reads the words of a task, what it did and what kind of thing came of it, and writes a command, then for each blank
of it which value of the task goes there. It is trained by imitation alone, and measured by episodes in real rooms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.agents.dialects import EMPTY, HINT, SHOWN
from evosyn.agents.episodes import AskTurn
from evosyn.chat import Reply, Request
from evosyn.crossexec.executor import CrossExecutor
from evosyn.randomness import SeedTree
from evosyn.running.batches import Batches
from evosyn.simulation.experiment.shell_data import (
    Episodes,
    Posed,
    actions_of,
    by_training,
    judged,
    last_line,
    reply,
)
from evosyn.simulation.experiment.shell_language import BLANK, CHOICES, COMMANDS, ENDS, VALUE, FileTask
from evosyn.text.tool_calls import ToolCall
from evosyn.train.plain_sft import Pair, RateSchedule, fit_pairs
from evosyn.train.tiny import small_model
from evosyn.trajectories import ANSWER, BASH, FINISH, trajectory_of

PAD, STOP, UNKNOWN, GO = "<pad>", "<stop>", "<unknown>", "=>"
SLOTS = ("@1", "@2", "@3")
KINDS = ("<nothing>", "<number>", "<text>", "<error>", "<hint>")
LONGEST = 5
"""A command, its slots, and the end."""
CONTEXT = 96
BATCH = 32
_WORD = re.compile(r"@\d|[a-z]+")


@dataclass(frozen=True)
class StudentBudget:
    """What every arm gets: SFT steps of `batch` turns; `warm` steps before anything else."""

    warm: int = 15
    steps: int = 250
    batch: int = 32
    rate: float = 2e-3
    width: int = 64


class Vocabulary:
    """Tokens by their numbers; as a tokenizer to `small_model`."""

    pad_token_id, eos_token_id = 0, 1

    def __init__(self) -> None:
        statements = [*(words for step in ENDS.values() for words in step.words),
                      *(words for step in CHOICES.values() for words in step.words)]  # fmt: skip
        known = {word for text in statements for word in _WORD.findall(BLANK.sub("", text).replace("<w>", "").lower())}
        words = sorted(word for word in known - {ANSWER, FINISH} if word[0] != "@")
        self.tokens = (PAD, STOP, UNKNOWN, GO, *SLOTS, *KINDS, ANSWER, FINISH, *COMMANDS, *words)
        self._places = {token: at for at, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def ids(self, tokens: Sequence[str]) -> list[int]:
        return [self._places.get(token, 2) for token in tokens]


def _masked(statement: str) -> str:
    """A statement with its values as slots, in the order in which they stand."""
    places = iter(range(1, 1 + len(SLOTS)))
    return VALUE.sub(lambda _: f" @{next(places)} ", statement).lower()


class ReadTask(NamedTuple):
    """A statement as the student reads it: its words, and the values that its slots stand for."""

    words: list[str]
    values: list[str]


def read(statement: str) -> ReadTask:
    return ReadTask([*_WORD.findall(_masked(statement)), GO], VALUE.findall(statement))


def said(task: FileTask, call: ToolCall) -> list[str]:
    """The tokens of a step that was done in this task."""
    if call.name != BASH:
        return [call.name, STOP]
    script, values = str(call.arguments["script"]), VALUE.findall(task.statement)
    for command in COMMANDS:
        if task.filled(command) == script:
            return [command, *(SLOTS[values.index(task.values[one])] for one in blanks_of(command)), STOP]
    raise ValueError(f"{script!r} is no command of the language")


def blanks_of(command: str) -> list[str]:
    """The blanks of a command, each once, in order."""
    return list(dict.fromkeys(BLANK.findall(command)))


def done(tokens: Sequence[str], values: Sequence[str], seen: str) -> ToolCall | None:
    """What tokens do; None where they do nothing."""
    if STOP not in tokens or tokens[0] == STOP:
        return None
    first, *slots = tokens[: tokens.index(STOP)]
    if first in (ANSWER, FINISH):
        arguments = {"answer": seen or "unknown"} if first == ANSWER else {"thought": ""}
        return None if slots else ToolCall(first, arguments)
    blanks = blanks_of(first) if first in COMMANDS else []
    if first not in COMMANDS or len(slots) != len(blanks) or not set(slots) <= set(SLOTS[: len(values)]):
        return None
    filling = {blank: values[SLOTS.index(slot)] for blank, slot in zip(blanks, slots, strict=True)}
    return ToolCall(BASH, {"script": BLANK.sub(lambda found: filling[found[1]], first)})


def kind_of(out: str) -> str:
    """What kind of thing was shown."""
    text = out.strip()
    if text in ("", EMPTY):
        return "<nothing>"
    if text == HINT:
        return "<hint>"
    if re.search(r"cannot|No such|rror|invalid|missing", text):
        return "<error>"
    return "<number>" if re.fullmatch(r"\d+", text.splitlines()[-1].strip()) else "<text>"


def pairs_of(task: FileTask, text: str, words: Vocabulary) -> list[Pair]:
    """A pair for each turn of a trajectory."""
    history, pairs = read(task.statement).words, []
    for call, use in zip(actions_of(text), trajectory_of(text).calls, strict=True):
        answer = said(task, call)
        pairs.append(Pair(words.ids(history), words.ids(answer)))
        history = [*history, *answer, kind_of(use.out or ""), GO]
    return pairs


class TurnPrompt(NamedTuple):
    """A turn to be written: what was before, and where its randomness comes from; None takes the likeliest tokens."""

    prompt: list[int]
    seeds: SeedTree | None


class Student:
    """A model of this language in the hands of the loop."""

    def __init__(self, seeds: SeedTree, budget: StudentBudget) -> None:
        self.words, self._budget = Vocabulary(), budget
        self.model = small_model(
            self.words, seeds.child("weights"), width=budget.width, layers=2, kv_heads=4, context=CONTEXT
        )

    def fit(self, rows: Sequence[tuple[FileTask, str]], steps: int, seeds: SeedTree) -> None:
        """Imitate trajectories."""
        pairs = [pair for task, text in rows for pair in pairs_of(task, text, self.words)]
        if pairs:
            fit_pairs(self.model, pairs, 0, RateSchedule(steps, self._budget.batch, self._budget.rate), seeds)

    def write(self, asked: Sequence[TurnPrompt]) -> list[list[str]]:
        """The tokens of one turn each."""
        import torch

        texts = [list(one.prompt) for one in asked]
        random = [None if one.seeds is None else one.seeds.random() for one in asked]
        self.model.eval()
        with torch.inference_mode():
            for _ in range(LONGEST):
                width = max(map(len, texts))
                ids = torch.tensor([text + [0] * (width - len(text)) for text in texts])
                mask = torch.tensor([[1] * len(text) + [0] * (width - len(text)) for text in texts])
                logits = self.model(input_ids=ids, attention_mask=mask).logits
                last = torch.softmax(logits[torch.arange(len(texts)), [len(text) - 1 for text in texts]], -1)
                for text, chances, rng in zip(texts, last, random, strict=True):
                    if rng is None:
                        text.append(int(chances.argmax()))
                    else:
                        text.append(min(int((chances.cumsum(0) < rng.random()).sum()), len(chances) - 1))
        return [
            [self.words.tokens[at] for at in text[len(one.prompt) :]] for text, one in zip(texts, asked, strict=True)
        ]

    def turns(self, task: FileTask, ask: Batches[TurnPrompt, list[str]], seeds: SeedTree | None) -> AskTurn:
        """Who plays one episode."""
        reading = read(task.statement)
        history = list(reading.words)

        async def turn(number: int, request: Request) -> Reply:
            if number:
                history.extend([kind_of(_shown(request)), GO])
            prompt = self.words.ids(history)[-CONTEXT + LONGEST :]
            tokens = await ask(TurnPrompt(prompt, None if seeds is None else seeds.child(number)))
            stop = tokens.index(STOP) + 1 if STOP in tokens else len(tokens)
            history.extend(tokens[:stop])
            return reply(number, done(tokens, reading.values, last_line(request)))

        return turn

    def measure(
        self, tasks: Sequence[Posed], episodes: Episodes, crossexec: CrossExecutor, seeds: SeedTree
    ) -> dict[str, float]:
        """Share of tasks solved by their human testings: sampled at temperature 1, of families trained on and of
        others; and greedy."""
        found: dict[str, float] = {}
        for name, tree in (("sampled", seeds), ("greedy", None)):
            batches: Batches[TurnPrompt, list[str]] = Batches(self.write, BATCH, threads=1)
            wanted = [
                (one.problem, self.turns(one.task, batches, tree and tree.child(at))) for at, one in enumerate(tasks)
            ]
            runs = episodes.run(wanted)
            right = judged(crossexec, [(one.problem, run.text) for one, run in zip(tasks, runs, strict=True)])
            found[name] = round(sum(right) / max(1, len(right)), 6)
            if tree is not None:
                found |= by_training(tasks, right)
        return found


def _shown(request: Request) -> str:
    return request.messages[-1].content.removeprefix(SHOWN)
