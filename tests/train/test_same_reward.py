"""The same reward everywhere: rows of every built-in domain through every way in which evosyn pays, and every export
by running the file that it writes as its consumer calls it. verifiers and the installed wheel: tests/consumers.

Contracts: TRL 1.16 `GRPOTrainer._calculate_rewards`, verl 0.9.1 `reward_loop.reward_manager.naive`,
`workers.reward_manager.batch` and `utils.import_utils.load_module`, OpenRLHF 0.11.2 `utils.agent`.
"""

from __future__ import annotations

import importlib.util
import random
import secrets
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pyarrow.parquet
import pytest

import evosyn.text.reasoning
import evosyn.train.reward_function
from evosyn.dataset import read_dataset, write_dataset
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.synthesis.exports import export_dataset
from evosyn.tasks import task_from_json, task_of, task_text, task_to_json
from evosyn.train.client import RewardClient
from evosyn.train.config import RewardConfig
from evosyn.train.data import tasks_of
from evosyn.train.rewards import RewardFunction
from evosyn.train.scoring import REWARD_LIMITS, Scorer, domains_of, reward_judge
from evosyn.train.service import RewardService
from tests.train.reward_rows import DOMAINS, ROWS, Posed, posed

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Batch:
    """Rows as they stand on disk, and one (row, completion) after the other."""

    data: Path
    rows: list[Posed]

    @property
    def places(self) -> list[int]:
        return [place for place, row in enumerate(self.rows) for _ in row.answers]

    @property
    def ids(self) -> list[str]:
        return [self.rows[place].sample.id for place in self.places]

    @property
    def texts(self) -> list[str]:
        return [answer.text for row in self.rows for answer in row.answers]

    @property
    def wanted(self) -> list[float]:
        return [answer.reward for row in self.rows for answer in row.answers]

    @property
    def names(self) -> list[str]:
        return [f"{row.sample.problem_id} {answer.name}" for row in self.rows for answer in row.answers]

    def columns(self, form: str, out: Path) -> dict[str, list[Json]]:
        """The columns of an export's parquet file, one value per completion."""
        export_dataset(read_dataset(self.data), form, out, name="rows")
        rows = pyarrow.parquet.read_table(out / "train.parquet").to_pylist()
        return {name: [rows[place][name] for place in self.places] for name in rows[0]}


def batch_of(folder: Path, domain: str, indices: Sequence[int]) -> Batch:
    rows = [posed(domain, index) for index in indices]
    write_dataset(folder, "evosyn", [row.sample for row in rows])
    return Batch(folder, rows)


def by_path(path: Path) -> ModuleType:
    """A module as verl and OpenRLHF load a reward file: by its path, and not in `sys.modules`."""
    spec = importlib.util.spec_from_file_location(f"custom_module_{hash(path)}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def through_trl(batch: Batch, out: Path) -> list[float | None]:
    columns = batch.columns("trl", out)
    prompts = columns.pop("prompt")
    extra = {"trainer_state": SimpleNamespace(global_step=1), "log_extra": print, "log_metric": print}
    completions = [[{"role": "assistant", "content": text}] for text in batch.texts]
    ids = [[1, 2]] * len(completions)
    return evosyn.train.reward_function.trl_reward(
        prompts=prompts, completions=completions, completion_ids=ids, **columns, **extra
    )


def through_verl(batch: Batch, out: Path) -> list[float | None]:
    columns = batch.columns("verl", out)
    module = by_path(out / "reward.py")
    truths = [model["ground_truth"] for model in columns["reward_model"]]
    infos = [{**info, "num_turns": 1, "rollout_reward_scores": {}} for info in columns["extra_info"]]
    sources = columns["data_source"]
    found = module.compute_scores(
        data_sources=sources, solution_strs=batch.texts, ground_truths=truths, extra_infos=infos
    )
    with ThreadPoolExecutor(8) as threads:  # verl calls it in the loop's executor
        single = list(
            threads.map(
                lambda at: module.compute_score(
                    data_source=sources[at], solution_str=batch.texts[at], ground_truth=truths[at],
                    extra_info=infos[at], reward_router_address=None, reward_model_tokenizer=None,
                ),
                range(len(truths)),
            )
        )  # fmt: skip
    assert single == found
    assert all(one["unknown"] == 0.0 for one in found)
    return [one["score"] for one in found]


def through_openrlhf(batch: Batch, out: Path) -> list[float | None]:
    """Labels are verl's ground truths (examples/openrlhf.md); a query is decoded with its special tokens."""
    pytest.importorskip("torch")
    columns = batch.columns("verl", out)
    module = by_path(Path(evosyn.train.reward_function.__file__))
    prompts = [
        "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in turns)
        + "<|im_start|>assistant\n"
        for turns in columns["prompt"]
    ]
    queries = [prompt + text + "<|im_end|>" for prompt, text in zip(prompts, batch.texts, strict=True)]
    labels = [model["ground_truth"] for model in columns["reward_model"]]
    answer = module.reward_func(queries, prompts, labels)
    assert answer["extra_logs"]["unknown"].sum() == 0
    return answer["rewards"].tolist()  # type: ignore[no-any-return]


def through_the_reward_function(batch: Batch, scorer: Scorer) -> list[float | None]:
    reward = RewardFunction(tasks_of(read_dataset(batch.data)), scorer, RewardConfig(shape="none"), max_completion=512)
    rewards = reward(completions=[[{"role": "assistant", "content": text}] for text in batch.texts], row_id=batch.ids)
    assert reward.failure is None
    return rewards


def check(batch: Batch, sandbox: Sandbox, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    monkeypatch.delenv("EVOSYN_REWARD_URL", raising=False)
    tasks = tasks_of(read_dataset(batch.data))
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks.values())))
    scores = scorer.score([tasks[row] for row in batch.ids], batch.texts)
    letters = [score.verdict.value for score in scores]
    found: dict[str, list[float | None]] = {
        "scorer": [float(score.passed) if score.known else None for score in scores]
    }
    found["reward function"] = through_the_reward_function(batch, scorer)
    ways: dict[str, Callable[[Batch, Path], list[float | None]]]
    ways = {"trl": through_trl, "verl": through_verl, "openrlhf": through_openrlhf}
    for name, way in ways.items():
        found[name] = way(batch, out / name)
    with Serving(sandbox, batch) as url:
        client = RewardClient(url)
        sent: dict[str, list[Json]] = {
            "by id": [{"id": row, "completion": text} for row, text in zip(batch.ids, batch.texts, strict=True)],
            "by task": [
                {"task": task_to_json(tasks[row]), "completion": text}
                for row, text in zip(batch.ids, batch.texts, strict=True)
            ],
        }
        for name, items in sent.items():
            answers = client.score(items)
            found[name] = [answer["reward"] for answer in answers]
            assert differences(batch, letters, [answer["verdict"] for answer in answers]) == [], name
        monkeypatch.setenv("EVOSYN_REWARD_URL", url)
        for name, way in ways.items():
            found[f"{name} by the service"] = way(batch, out / f"{name}-service")
    for name, rewards in found.items():
        assert differences(batch, batch.wanted, rewards) == [], name


class Serving:
    """A reward service of its own, with nothing remembered."""

    def __init__(self, sandbox: Sandbox, batch: Batch) -> None:
        tasks = tasks_of(read_dataset(batch.data))
        self._service = RewardService(Scorer(reward_judge(sandbox, domains_of(tasks.values()))), tasks, port=0)
        self._thread = threading.Thread(target=self._service.serve, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._service.port}"

    def __exit__(self, *exc: object) -> None:
        self._service.close()
        self._thread.join(timeout=10)


def differences(batch: Batch, left: Sequence[object], right: Sequence[object]) -> list[tuple[str, object, object]]:
    return [(name, one, other) for name, one, other in zip(batch.names, left, right, strict=True) if one != other]


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_drawn_sample_of_rows_is_paid_the_same_everywhere(
    domain: str, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = secrets.randbelow(2**32)
    sys.stdout.write(f"rows drawn with seed {seed}\n")
    indices = random.Random(seed).sample([index for index in range(ROWS) if index % 10 != 3], 8)
    check(batch_of(tmp_path, domain, [3, *indices]), sandbox, tmp_path / "out", monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("domain", DOMAINS)
def test_all_rows_are_paid_the_same_everywhere(
    domain: str, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(batch_of(tmp_path, domain, range(ROWS)), sandbox, tmp_path / "out", monkeypatch)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_row_comes_back_from_its_json_as_it_was(domain: str) -> None:
    for index in range(ROWS):
        sample = posed(domain, index).sample
        task = task_of(sample)
        assert task_from_json(task_text(task)) == task == task_from_json(task_to_json(task))
        assert task.testing.to_json() == sample.chosen_testing.to_json()
        assert task_text(task).isascii()
        kept = ("problem_id", "domain", "statement", "payload", "meta", "id")
        assert [getattr(task.problem, name) for name in kept] == [getattr(sample.problem, name) for name in kept]


def test_the_limits_of_a_reward_are_said_in_one_place() -> None:
    assert RewardConfig().limits == REWARD_LIMITS


@pytest.mark.parametrize(
    ("query", "prompt", "completion"),
    [
        ("<s>Q: 1\nA:", "<s>Q: 1\nA:", ""),
        ("Q```x```A: ok<|im_end|>", "Q```x```A:", " ok"),
        ("Q A: ok </s>\n<|endoftext|>\n", "Q A:", " ok "),
        ("Q A: ok\n\n", "Q A:", " ok\n\n"),
        ("Q A: f(x) <end_of_turn><eos><eos>", "Q A:", " f(x) "),
        ("end of a long prompt</s>A: yes<｜end▁of▁sentence｜>", "cut away, end of a long prompt</s>A:", None),
        ("x" * 70 + "|assistant\n  code", "lost " + "x" * 70 + "|assistant\n", "  code"),
        ("another thing", "the prompt", None),
    ],
)
def test_the_completion_is_found_in_openrlhfs_query(query: str, prompt: str, completion: str | None) -> None:
    assert evosyn.train.reward_function.completion_of(query, prompt) == completion


def test_end_marks_are_cut_in_linear_time() -> None:
    text = "x" + " \n" * 200_000 + "y" + "<|pad|> " * 50_000
    assert evosyn.text.reasoning.without_marks(text) == text[: 1 + 400_000 + 1]
