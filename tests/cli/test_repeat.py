"""A file repeats a command: each is run once by its flags, and again from the configuration of the first."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from simulation import TEACHER

from evosyn.cli import group
from evosyn.dataset import read_dataset
from evosyn.errors import EvosynError, UsageError
from evosyn.matrices import load_matrices
from evosyn.pools import write_pools
from evosyn.records import Pool, Solution, Testing
from evosyn.train.checkpoints import read_metrics
from tests.train.conftest import write_small_data

WEAK = "--allow-weak-sandbox"
KEY = "hunter2-is-the-key"
needs_train = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra"),
]
SHORT = ("--model", "builtin:tiny", "--steps", "2", "--set", "tiny.warm_steps=5", "--set", "keep.every=2")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset directory with candidates, and `human.jsonl`: a pool of the same problems."""
    folder = write_small_data(tmp_path_factory.mktemp("data"))
    pools = []
    for sample in read_dataset(folder):
        human = Testing("cases", json.loads(sample.testing))
        problem = replace(sample.problem, human_testing=human, reference_solution=sample.solution)
        solutions = [Solution(each.source) for each in sample.ranked]
        asserts = Testing("asserts", {"asserts": [f"assert {sample.problem_id}([]) is not None"]})
        pools.append(Pool(problem, solutions, [human, asserts]))
    write_pools(folder / "candidates.jsonl", pools)
    write_pools(folder / "human.jsonl", pools)
    return folder


def evosyn(*line: object) -> Result:
    return CliRunner().invoke(group, [str(part) for part in line], catch_exceptions=False, standalone_mode=False)


def case(line: str, told: str, *marks: pytest.MarkDecorator) -> object:
    return pytest.param(line, told, marks=marks, id=line.split()[0])


COMMANDS = [
    case("crossexec {data}/human.jsonl -M 2 --timeout 2 --memory 512 --seed 4", "matrices.jsonl"),
    case(f"eval --bench {{data}}/human.jsonl --teacher {TEACHER} --samples 2 --limit 2 --seed 3", "report.json"),
    case("train {data} --setting random --seed 5 --set rollout.max_completion=24", "report.json", *needs_train),
    case("distill {data} --method dpo --per-problem 2 --seed 5", "report.json", *needs_train),
]


@pytest.mark.parametrize(("line", "told"), COMMANDS)
def test_a_run_repeats_from_its_config(
    line: str, told: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOSYN_TEST_KEY", KEY)
    words = line.format(data=data).split()
    more = {"train": [*SHORT, WEAK], "distill": SHORT}
    first, again = tmp_path / "first", tmp_path / "again"
    evosyn(*words, *more.get(words[0], [WEAK]), "--out", first)
    evosyn(words[0], "--config", first / "config.yaml", "--out", again)
    text = (first / "config.yaml").read_text()
    assert (again / "config.yaml").read_text() == text
    assert KEY not in text
    assert yaml.safe_load(text)["command"] == words[0]
    if told == "report.json":
        reports = [json.loads((out / told).read_text()) for out in (first, again)]
        assert _lasting(reports[0]) == _lasting(reports[1])
        assert _steps(first) == _steps(again)
    else:
        one, two = ([matrix.verdicts_MN.tolist() for matrix in load_matrices(out / told)] for out in (first, again))
        assert one == two and len(one) == 10


def _lasting(report: dict[str, object]) -> dict[str, object]:
    """Of a report what no clock and no directory decides."""
    return {name: value for name, value in report.items() if name not in ("reward_share", "trl")}


def _steps(out: Path) -> list[dict[str, object]]:
    clock = ("seconds", "time", "share", "runtime", "per_second")
    return [
        {name: value for name, value in row.items() if not any(word in name for word in clock)}
        for row in read_metrics(out / "metrics.jsonl")
    ]


@pytest.mark.parametrize(
    "line",
    [
        "k --ks 1,2 -M 4 -N 4",
        "size --sizes 2,4 --strategy initial",
        pytest.param("curve -M 5 -N 4", marks=pytest.mark.long),
        pytest.param("search -M 5 -N 4 --searches iid", marks=pytest.mark.long),
    ],
)
def test_an_ablation_repeats_from_the_file_beside_its_table(line: str, pool_file: Path, tmp_path: Path) -> None:
    name, *rest = line.split()
    few = ["--seeds", 2, "--evaluations", 40] if name in ("curve", "search") else []
    first, again = tmp_path / "first", tmp_path / "again"
    evosyn("ablate", name, "--pool", pool_file, *rest, "--draws", 2, "--seed", 6, *few, WEAK, "--out", first)
    evosyn("ablate", name, "--config", first / f"ablate-{name}.yaml", "--out", again)
    for end in ("yaml", "csv"):
        assert (first / f"ablate-{name}.{end}").read_text() == (again / f"ablate-{name}.{end}").read_text()


def test_what_writes_no_directory_takes_a_file_all_the_same(data: Path, pool_file: Path, tmp_path: Path) -> None:
    def by_file(*command: str, **keys: object) -> str:
        file = tmp_path / "keys.yaml"
        file.write_text(yaml.safe_dump({**keys, "workbench": {"sandbox": {"allow_weak": True}}}))
        return evosyn(*command, "--config", file).stdout

    flags = ("--pool", pool_file, "--strategy", "gap", "-M", 4, "-N", 4, "--draws", 3, "--strict", "--json", WEAK)
    scoring = {"M": 4, "N": 4, "draws": 3, "strict": True}
    assert (
        by_file("score", "--json", source=str(pool_file), strategies=["gap"], scoring=scoring)
        == evosyn("score", *flags).stdout
    )
    line = ("audit", data, "--against", data / "human.jsonl", "--setting", "random", "--json", WEAK)
    told = by_file("audit", "--json", data=str(data), against=str(data / "human.jsonl"), settings=["random"])
    assert json.loads(told)["random"] == json.loads(evosyn(*line).stdout)["random"]
    with pytest.raises(EvosynError, match="a token is needed"):
        by_file("reward", "serve", host="0.0.0.0")


@pytest.mark.parametrize(
    ("line", "way"),
    [
        ("evolve builtin:python-seeds --out o --heldout 0.3", "--set heldout=VALUE"),
        ("synthesize runs/a --out o --calls 8", "--set workbench.teacher.calls=VALUE"),
        ("ablate search --pool p --unit case", "--set scoring.unit=VALUE"),
        ("train d --model m --out o --lora-rank 4", "--set memory.lora_rank=VALUE"),
    ],
)
def test_an_option_that_is_a_key_says_how_to_set_it(line: str, way: str) -> None:
    with pytest.raises(UsageError, match="is no option of") as refused:
        evosyn(*line.split())
    assert way in str(refused.value)
