"""The policy of `evosyn experiment worlds`: a tiny model that writes calls, a token each for tool and argument.

An argument is a slot (what the instruction names, in its order), a reference to an earlier call, or nothing; the last
token says in words what was done. It is warmed up by imitation and trained by a plain policy gradient whose advantages
are normalised within groups of samples of a task. SIMULATED; no language model.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evosyn.randomness import SeedTree
from evosyn.rundir import write_atomic
from evosyn.simulation.experiment.world_data import SLOTS, ToyTask, player, variant, words_of_all
from evosyn.train.plain_sft import Pair, RateSchedule, collate, fit_pairs
from evosyn.train.tiny import small_model
from evosyn.worlds.tools.diff import differences
from evosyn.worlds.tools.files import bundled, read_world
from evosyn.worlds.tools.playing import Play, ToolCalled

PAD, STOP, UNKNOWN, GO, NOTHING, SAID = "<pad>", "<stop>", "<unknown>", "=>", "-", "done:"
LONGEST, CONTEXT = 18, 96


@dataclass(frozen=True)
class WorldBudget:
    """What every arm gets: SFT steps before anything else, then steps of `prompts` tasks with `group` samples each."""

    warm: int = 120
    steps: int = 40
    prompts: int = 12
    group: int = 8
    rate: float = 1e-3
    width: int = 64


class WorldWords:
    """Tokens by their numbers; as a tokenizer to `small_model`."""

    pad_token_id, eos_token_id = 0, 1

    def __init__(self) -> None:
        tools = [tool for name in bundled() for tool in read_world(f"builtin:{name}").tools]
        slots = [f"@{number}" for number in range(SLOTS)] + [f"#{number}" for number in range(3)]
        said = [SAID + one.name for one in tools if one.request]
        self.tokens = (
            PAD,
            STOP,
            UNKNOWN,
            GO,
            NOTHING,
            *slots,
            *(f"!{one.name}" for one in tools),
            *said,
            *words_of_all(),
        )
        self.places = {token: at for at, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def ids(self, tokens: Sequence[str]) -> list[int]:
        return [self.places.get(token, 2) for token in tokens]


def prompt_of(task: ToyTask) -> list[str]:
    """An instruction with its values as slots."""
    values = task.values
    longest = "|".join(re.escape(one) for one in sorted(values, key=len, reverse=True))
    masked = re.sub(rf"(?<!\w)(?:{longest})(?!\w)", lambda found: f" @{values.index(found[0])} ", task.text)
    return [*re.findall(r"@\d|[a-z]+", masked.lower()), GO]


def written(task: ToyTask) -> list[str]:
    """The reference as tokens."""
    world, values, tokens = variant(task.world, task.wording, task.broken), task.values, list[str]()
    for name, args in task.steps:
        tokens.append(f"!{name}")
        for one in world.tool[name].parameters:
            source = args.get(one.name)
            if source is None:
                tokens.append(NOTHING)
            elif "from" in source:
                tokens.append(f"#{source['from'][0]}")
            else:
                told = str(source.get("is", source.get("say")))
                tokens.append(f"@{values.index(told)}" if told in values else UNKNOWN)
    return [*tokens, SAID + task.write, STOP]


def calls_in(
    task: ToyTask, tokens: Sequence[str], paths: Mapping[tuple[str, str], str]
) -> tuple[ToolCalled, ...] | None:
    """The calls that tokens make in a task; None where they are none.

    Args:
        paths: where in the result of a tool the key of a table stands.
    """
    world, values = variant(task.world, task.wording), task.values
    calls: list[ToolCalled] = []
    left = list(tokens)
    while left and left[0].startswith("!"):
        name = left.pop(0)[1:]
        if name not in world.tool or len(left) < len(world.tool[name].parameters):
            return None
        args: dict[str, Any] = {}
        for one in world.tool[name].parameters:
            token = left.pop(0)
            if token[0] == "@" and token[1:].isdigit() and int(token[1:]) < len(values):
                told = values[int(token[1:])]
                args[one.name] = int(told) if one.type == "integer" and told.isdigit() else told
            elif token[0] == "#" and int(token[1:]) < len(calls):
                path = paths.get((calls[int(token[1:])].tool, one.ref or ""))
                if path is None:
                    return None
                args[one.name] = {"from": [int(token[1:]), path]}
            elif token != NOTHING or one.required:
                return None
        if world.tool[name].misfit(args, linked=True):
            return None
        calls.append(ToolCalled(name, args, len(calls) + 1))
    return tuple(calls) if left[:1] and left[0].startswith(SAID) and left[1:2] == [STOP] else None


def paths_of(tasks: Sequence[ToyTask]) -> dict[tuple[str, str], str]:
    """Where keys stand in results, as the chains of tasks have it."""
    found = {}
    for task in tasks:
        world = variant(task.world, task.wording, task.broken)
        for name, args in task.steps:
            for one in world.tool[name].parameters:
                if "from" in args.get(one.name, {}):
                    step, path = args[one.name]["from"]
                    found[task.steps[step][0], one.ref or ""] = str(path)
    return found


def rewards_by_state(
    tasks: Sequence[ToyTask], said: Sequence[Sequence[str]], paths: Mapping[tuple[str, str], str]
) -> list[float]:
    """1.0 where the calls leave the gold state, by the rule; neighbours of one task share a state."""
    found = [0.0] * len(tasks)
    for at, (task, tokens) in enumerate(zip(tasks, said, strict=True)):
        calls = calls_in(task, tokens, paths)
        if calls is not None:
            world = variant(task.world, task.wording, task.broken)
            played = player().one(world, Play(task.state, calls))
            found[at] = float(not played.lost and not differences(world, task.state, task.gold, played.rows))
    return found


def rewards_by_words(tasks: Sequence[ToyTask], said: Sequence[Sequence[str]]) -> list[float]:
    """1.0 where the last words are those of the reference, as a judge sees it who reads words."""
    return [float(tuple(tokens[-2:]) == (SAID + task.write, STOP)) for task, tokens in zip(tasks, said, strict=True)]


class WorldPolicy:
    """The model of one arm."""

    def __init__(self, seeds: SeedTree, budget: WorldBudget) -> None:
        self.words, self._budget, self._seeds = WorldWords(), budget, seeds
        shape = {"width": budget.width, "layers": 2, "kv_heads": 4, "context": CONTEXT}
        self.model = small_model(self.words, seeds.child("weights"), **shape)

    def warm(self, told: Sequence[tuple[ToyTask, Sequence[str]]]) -> None:
        """Imitate."""
        pairs = [Pair(self.words.ids(prompt_of(task)), self.words.ids(tokens)) for task, tokens in told]
        fit_pairs(self.model, pairs, 0, RateSchedule(self._budget.warm, 32, 3e-3), self._seeds.child("warm"))

    def keep(self, path: Path) -> None:
        """Write the weights, whole or not at all."""
        import torch

        buffer = io.BytesIO()
        torch.save(self.model.state_dict(), buffer)
        write_atomic(path, buffer.getvalue())

    def take(self, path: Path) -> None:
        """Go on from weights that `keep` wrote."""
        import torch

        self.model.load_state_dict(torch.load(path, weights_only=True))

    def said(self, tasks: Sequence[ToyTask], seed: int, *, greedy: bool = False) -> list[list[str]]:
        """What it writes for each, sampled at temperature 1 or greedy."""
        import torch

        prompts = [self.words.ids(prompt_of(task)) for task in tasks]
        width = max(map(len, prompts))
        ids = torch.tensor([[0] * (width - len(one)) + one for one in prompts])
        mask = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in prompts])
        options: dict[str, Any] = {"do_sample": not greedy}
        options |= {} if greedy else {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
        self.model.eval()
        with torch.random.fork_rng(devices=[]), torch.inference_mode():
            torch.manual_seed(seed)
            out = self.model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=LONGEST, **options)
        texts = [[self.words.tokens[at] for at in row] for row in out[:, width:].tolist()]
        return [text[: text.index(STOP) + 1] if STOP in text else text for text in texts]

    def reinforce(
        self,
        tasks: Sequence[ToyTask],
        pay: Callable[[Sequence[ToyTask], Sequence[Sequence[str]]], list[float]],
    ) -> list[dict[str, float]]:
        """Policy gradient; the mean reward of each step."""
        import torch

        budget, rng, log = self._budget, self._seeds.child("order").random(), list[dict[str, float]]()
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=budget.rate)
        for step in range(budget.steps):
            drawn = rng.sample(list(tasks), min(budget.prompts, len(tasks)))
            asked = [task for task in drawn for _ in range(budget.group)]
            said = self.said(asked, self._seeds.child("sample", step).integer() % 2**63)
            rewards = torch.tensor(pay(asked, said)).view(-1, budget.group)
            scaled = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
            log.append({"step": step + 1, "reward": round(float(rewards.mean()), 5)})
            if float(rewards.std(1).max()) > 0:
                self._learn(asked, said, scaled.flatten(), optimizer)
        return log

    def _learn(self, asked: Sequence[ToyTask], said: Sequence[Sequence[str]], worth: Any, optimizer: Any) -> None:
        import torch

        pairs = [
            Pair(self.words.ids(prompt_of(one)), self.words.ids(text)) for one, text in zip(asked, said, strict=True)
        ]
        batch = collate(pairs, 0)
        self.model.train()
        logits = self.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1]
        labels = batch["labels"][:, 1:]
        told = labels != -100
        likely = torch.log_softmax(logits, -1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        loss = -(likely * told * worth.unsqueeze(1)).sum() / told.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    def measure(self, tasks: Sequence[ToyTask], paths: Mapping[tuple[str, str], str], step: int) -> dict[str, float]:
        """Share of tasks whose gold state it leaves: sampled at temperature 1, and greedy."""
        found: dict[str, float] = {"step": step}
        for name in ("sampled", "greedy"):
            said = self.said(tasks, self._seeds.child("measure", step).integer() % 2**63, greedy=name == "greedy")
            paid = rewards_by_state(tasks, said, paths)
            found[name] = round(sum(paid) / len(paid), 6)
        return found


def spoilt(tasks: Sequence[ToyTask], wrong: float, seeds: SeedTree) -> list[tuple[ToyTask, list[str]]]:
    """References to warm up on; so many of them with one argument that is another."""
    rng, found = seeds.child("spoilt").random(), []
    for task in tasks:
        tokens = written(task)
        slots = [at for at, one in enumerate(tokens) if one[0] in "@#"]
        if slots and rng.random() < wrong:
            others = [f"@{number}" for number in range(len(task.values))] + ["#0", "#1"]
            tokens[rng.choice(slots)] = rng.choice(others)
        found.append((task, tokens))
    return found
