"""A toy policy: warm start, RLVR or imitation, and accuracy on unseen problems along the way.

It writes Python, a statement a token; TRL's GRPO trains it; testings and human testings run in the
sandbox. Every arm of a seed starts from the same weights and takes the same number of steps with the same batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback
from transformers.trainer_callback import PrinterCallback

from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem
from evosyn.rundir import write_atomic
from evosyn.testings import testing_from_json
from evosyn.train.config import OptimConfig, RewardConfig, RlvrConfig, RolloutConfig
from evosyn.train.plain_sft import Pair, RateSchedule, fit_pairs
from evosyn.train.rewards import RewardFunction
from evosyn.train.scoring import Scorer, Task
from evosyn.train.settings import grpo_settings
from evosyn.train.tiny import small_model
from experiments.table2.toy_data import PreparedExperiment, StepBudget, spec_of
from experiments.table2.toy_language import HEAD, LENGTH, OPERATIONS, TAIL

DONE = "weights.done"
CONTEXT = 64
PAD, END, GO = "<pad>", "<end>", "=>"
"""What fills a batch up, what ends an answer, and what stands between what is asked and what is answered."""


def make_tokenizer(words: Sequence[str], parts: Sequence[str]) -> Any:
    """A word a token in prompts, a part a token in answers."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = [PAD, END, "<unk>", GO, *words]
    raw = Tokenizer(models.WordLevel({word: place for place, word in enumerate(known)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.decoder = decoders.Fuse()
    raw.add_tokens([AddedToken(part, normalized=False) for part in parts])
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token=PAD,
        eos_token=END,
        unk_token="<unk>",
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def warm_start(folder: Path, prepared: PreparedExperiment, budget: StepBudget, seeds: SeedTree) -> Path:
    """A small model after SFT on (prompt, answer), in a folder: where all arms of a seed start; made once."""
    if (folder / DONE).exists():
        return folder
    lines = [f"    {operation.line}\n" for operation in OPERATIONS.values()]
    told = [(prompt_of(prepared.problems[at]), answer) for at, answer in prepared.warm]
    tokenizer = make_tokenizer(list(OPERATIONS), [HEAD, TAIL, *lines])
    model = small_model(tokenizer, seeds.child("weights"), width=budget.width, layers=3, kv_heads=4, context=CONTEXT)
    schedule = RateSchedule(budget.warm_steps, 32, 3e-3)
    losses = fit_pairs(model, pairs_of(tokenizer, told), tokenizer.pad_token_id, schedule, seeds.child("warm"))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_atomic(folder / DONE, json.dumps({"losses": [losses[0], losses[-1]]}))
    return folder


def pairs_of(tokenizer: Any, told: Sequence[tuple[str, str]]) -> list[Pair]:
    """(prompt, answer) in tokens."""
    return [_pair(tokenizer, prompt, answer) for prompt, answer in told]


class ToyPolicy:
    """The model of one arm.

    Args:
        start: of `warm_start`.
        longest: tokens of an answer.
    """

    def __init__(self, start: Path, budget: StepBudget, seeds: SeedTree, longest: int) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.budget, self.seeds, self.longest = budget, seeds, longest
        self.tokenizer = AutoTokenizer.from_pretrained(start, padding_side="left")
        self.model = AutoModelForCausalLM.from_pretrained(start)

    def reinforce(
        self,
        rows: Mapping[str, str],
        reward: RewardFunction,
        scratch: Path,
        measure: Callable[[int], dict[str, float]],
    ) -> Json:
        """GRPO on prompts by row id, with the curve of `measure` and a log of the steps."""
        from datasets import Dataset
        from trl import GRPOConfig

        from evosyn.train.trainer import EvosynGRPOTrainer

        budget = self.budget
        config = RlvrConfig(
            algorithm="dapo",
            steps=budget.steps,
            seed=self.seeds.integer() % 2**31,
            rollout=RolloutConfig(group=budget.group, prompts=budget.prompts, max_completion=self.longest),
            optim=OptimConfig(
                learning_rate=budget.rate, epsilon_high=0.28, warmup=0.0, micro_batch=budget.group * budget.prompts
            ),
        )
        settings = grpo_settings(config, scratch, bf16=False, cpu=True) | {"save_strategy": "no"}
        curve, logs = [measure(0)], list[dict[str, float]]()
        trainer = EvosynGRPOTrainer(
            model=self.model,
            args=GRPOConfig(**settings),
            reward_funcs=[reward],
            train_dataset=Dataset.from_list([{"prompt": text, "row_id": row} for row, text in rows.items()]),
            processing_class=self.tokenizer,
            callbacks=[_LearnerMeasure(measure, budget.every, curve, logs)],
            seeds=self.seeds,
            tasks=reward.tasks,
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        if reward.failure is not None:
            raise reward.failure
        return {"curve": curve, "log": logs}

    def imitate(
        self, told: Sequence[tuple[str, str]], schedule: RateSchedule, measure: Callable[[int], dict[str, float]]
    ) -> Json:
        """SFT on (prompt, answer)."""
        curve = [measure(0)]

        def on_step(step: int) -> None:
            if step % self.budget.every == 0 or step == schedule.steps:
                curve.append(measure(step))

        pairs = pairs_of(self.tokenizer, told)
        fit_pairs(self.model, pairs, self.tokenizer.pad_token_id, schedule, self.seeds.child("imitate"), on_step)
        return {"curve": curve}

    def answers(self, prompts: Sequence[str], step: int, *, greedy: bool) -> list[str]:
        """One to each, sampled at temperature 1 or greedy; what is sampled is the same again for a step."""
        seeds = self.seeds.child("measure", step)
        return drawn(self.model, self.tokenizer, prompts, None if greedy else seeds, self.longest)


def drawn(model: Any, tokenizer: Any, prompts: Sequence[str], seeds: SeedTree | None, longest: int) -> list[str]:
    """One answer to each prompt, sampled at temperature 1, or greedy without `seeds`."""
    encoded = tokenizer(list(prompts), return_tensors="pt", padding=True)
    encoded.pop("token_type_ids", None)
    options: dict[str, Any] = {"do_sample": seeds is not None}
    if seeds is not None:
        options |= {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
    training = model.training
    model.eval()
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(0 if seeds is None else seeds.integer() % 2**63)
        output = model.generate(**encoded, **options, max_new_tokens=longest)
    model.train(training)
    texts: list[str] = tokenizer.batch_decode(output[:, encoded["input_ids"].shape[1] :], skip_special_tokens=True)
    return texts


class Learner:
    """Trains the arms of one seed. `scorer` judges both rewards and held-out answers."""

    def __init__(
        self, prepared: PreparedExperiment, start: Path, budget: StepBudget, scorer: Scorer, seeds: SeedTree
    ) -> None:
        self._prepared, self._budget, self._scorer = prepared, budget, scorer
        self._policy = ToyPolicy(start, budget, seeds, LENGTH + 3)
        self._heldout = [task_of(f"held-{at}", task, task["testing"]) for at, task in enumerate(prepared.heldout)]

    def imitate(self, arm: str) -> Json:
        """SFT on the arm's answers."""
        told = [(prompt_of(self._prepared.problems[int(at)]), text) for at, text in self._prepared.answers[arm].items()]
        return self._policy.imitate(told, RateSchedule(self._budget.distill_steps, 32, 1e-3), self.measure)

    def reinforce(self, arm: str, scratch: Path) -> Json:
        """GRPO with the arm's testings as the reward."""
        rows = self._prepared.arms[arm]
        tasks = {at: task_of(at, self._prepared.problems[int(at)], testing) for at, testing in rows.items()}
        reward = RewardFunction(tasks, self._scorer, RewardConfig(), max_completion=self._policy.longest)
        prompts = {at: prompt_of(self._prepared.problems[int(at)]) for at in rows}
        return self._policy.reinforce(prompts, reward, scratch, self.measure)

    def measure(self, step: int) -> dict[str, float]:
        """Accuracy on unseen problems by their human testings: sampled at temperature 1, and greedy."""
        prompts = [prompt_of(task) for task in self._prepared.heldout]
        found: dict[str, float] = {"step": step}
        for name, greedy in (("sampled", False), ("greedy", True)):
            texts = self._policy.answers(prompts, step, greedy=greedy)
            scores = self._scorer.score(self._heldout, texts)
            known = [score for score in scores if score.known]
            found[name] = round(sum(score.passed for score in known) / len(known), 6)
        return found


class _LearnerMeasure(TrainerCallback):  # type: ignore[misc]
    """Measures every so many steps, and keeps the reward of each step."""

    def __init__(
        self, measure: Callable[[int], dict[str, float]], every: int, curve: list[Any], logs: list[Any]
    ) -> None:
        self._measure, self._every, self._curve, self._logs = measure, every, curve, logs

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        del control, rest
        if state.global_step % self._every == 0 or state.global_step == args.max_steps:
            self._curve.append(self._measure(state.global_step))

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **rest: Any) -> None:
        del args, control, rest
        if logs and "reward" in logs:
            names = ("reward", "pass_rate", "zero_variance", "reward_share")
            row = {name: round(float(logs[name]), 5) for name in names if logs.get(name) is not None}
            self._logs.append({"step": state.global_step, **row})


def prompt_of(task: Json) -> str:
    return " ".join([*spec_of(task), GO])


def task_of(row_id: str, task: Json, testing: Json) -> Task:
    """The reward's view of one row."""
    problem = Problem(task["id"], "python-function", task["statement"], payload={"entry_point": "f"})
    return Task(row_id, problem, testing_from_json(testing))


def _pair(tokenizer: Any, prompt: str, answer: str) -> Pair:
    return Pair(tokenizer(prompt)["input_ids"], [*tokenizer(answer)["input_ids"], tokenizer.eos_token_id])
