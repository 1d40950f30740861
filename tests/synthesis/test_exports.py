"""Exports: exact field names, and what each says of a row. In the hands of their consumers: tests/consumers."""

import ast
import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import evosyn
from evosyn.chat import Message
from evosyn.cli.export import command
from evosyn.dataset import Sample, write_dataset
from evosyn.errors import UsageError
from evosyn.synthesis.exports import export_dataset, format_names
from evosyn.synthesis.exports.verifiers import package_name
from evosyn.tasks import task_from_json, task_of, task_text

GOOD, BAD, WORSE = (f"def double(x):\n    return {body}\n" for body in ("2 * x", "x + 2", "None"))


def sample(number: int, **changes: object) -> Sample:
    ranked = [
        {"id": f"s_{at}", "source": source, "score": 1.0 - at, "passes": at == 0, "verdict": "PFF"[at]}
        for at, source in enumerate((GOOD, BAD, WORSE))
    ]
    values = Sample(
        id=f"d_{number}",
        problem_id=f"syn-{number:06d}",
        domain="python-function",
        prompt=(Message("system", "Answer with code."), Message("user", f"Write double(x), variant {number}.")),
        statement=f"Return twice the number. Variant {number}.",
        payload='{"entry_point":"double"}',
        testing=json.dumps({"kind": "cases", "cases": [{"input": [3], "output": 6}, {"input": [-1], "output": -2}]}),
        tests=2,
        solution=GOOD,
        solutions_ranked=json.dumps(ranked),
        scores="{}",
        matrix_digest="m_0",
        lineage=json.dumps({"index": number, "seeds": []}),
        model="test",
        simulated=False,
        difficulty=0.5,
        cost=0.0,
        licence="Apache-2.0",
        setting="evosyn",
    )
    return replace(values, **changes)


SAMPLES = [sample(number) for number in range(12)]
FENCED = f"Here it is:\n```python\n{GOOD}```"


def rows_of(path: Path) -> list[dict]:
    datasets = pytest.importorskip("datasets")
    form = "parquet" if path.suffix == ".parquet" else "json"
    return list(datasets.load_dataset(form, data_files=str(path), split="train", cache_dir=str(path.parent / "cache")))


def test_the_formats_are_those_of_the_documentation():
    assert format_names() == ["dpo", "jsonl", "openrlhf", "reasoning_gym", "sft", "trl", "verifiers", "verl"]


@pytest.mark.parametrize(
    ("form", "file", "columns"),
    [
        (
            "jsonl",
            "train.jsonl",
            "id env_id env_version seed difficulty prompt answer verification_info tests solution meta",
        ),
        ("trl", "train.parquet", "prompt task row_id difficulty"),
        ("sft", "train.jsonl", "messages"),
        ("dpo", "train.jsonl", "prompt chosen rejected"),
        ("openrlhf", "train.jsonl", "input label"),
        ("verl", "train.parquet", "data_source prompt ability reward_model extra_info"),
    ],
)
def test_every_row_has_exactly_the_fields_of_its_format(tmp_path, form, file, columns):
    exported = export_dataset(SAMPLES, form, tmp_path, name="doubles")
    rows = rows_of(tmp_path / file)
    assert exported.rows == {"train": 12}
    assert len(rows) == 12
    assert {frozenset(row) for row in rows} == {frozenset(columns.split())}


@pytest.mark.parametrize(("form", "file"), [("verl", "reward.py"), ("verifiers", "doubles/taskset.py")])
def test_what_an_exported_file_takes_from_evosyn_is_public(tmp_path, form, file):
    export_dataset(SAMPLES, form, tmp_path, name="doubles")
    tree = ast.parse((tmp_path / file).read_text())
    taken = [
        node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and (node.module or "")[:6] == "evosyn"
    ]
    assert taken and {node.module for node in taken} == {"evosyn"}
    assert {alias.name for node in taken for alias in node.names} <= set(evosyn.__all__)


def test_the_exported_reward_of_verl_pays(tmp_path):
    export_dataset(SAMPLES, "verl", tmp_path, name="doubles")
    spec = importlib.util.spec_from_file_location("reward", tmp_path / "reward.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    truth = rows_of(tmp_path / "train.parquet")[0]["reward_model"]["ground_truth"]
    assert module.compute_score("evosyn", FENCED, truth)["score"] == 1.0
    assert module.compute_score("evosyn", FENCED.replace("2 * x", "x + 2"), truth)["score"] == 0.0


def test_trl_keeps_no_name_that_it_reserves_and_its_rows_score_through_the_reward_function(tmp_path):
    from evosyn.train.reward_function import trl_reward

    export_dataset(SAMPLES[:2], "trl", tmp_path, name="doubles")
    rows = rows_of(tmp_path / "train.parquet")
    reserved = {"prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric", "environments"}
    assert not reserved & rows[0].keys()
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "prompt"}
    completions = [[{"role": "assistant", "content": text}] for text in (FENCED, f"```python\n{BAD}```")]
    assert trl_reward(prompts=[row["prompt"] for row in rows], completions=completions, **columns) == [1.0, 0.0]


def test_verl_rows_score_through_the_written_reward_file(tmp_path):
    export_dataset(SAMPLES[:2], "verl", tmp_path, name="doubles")
    row = rows_of(tmp_path / "train.parquet")[0]
    assert row["reward_model"]["style"] == "rule"
    assert row["extra_info"]["split"] == "train"
    scope: dict = {}
    exec(compile((tmp_path / "reward.py").read_text(), "reward.py", "exec"), scope)
    score = scope["compute_score"]
    arguments = {"ground_truth": row["reward_model"]["ground_truth"], "extra_info": row["extra_info"]}
    assert score(data_source=row["data_source"], solution_str=FENCED, **arguments)["score"] == 1.0
    assert score(data_source=row["data_source"], solution_str=WORSE, **arguments)["score"] == 0.0


STARTER = "from math import isclose\n\ndef double(x):"
WITH_STARTER = json.dumps({"entry_point": "double", "starter_code": STARTER})


def tasks_in(out: Path, form: str) -> list[str]:
    """The JSON of a task of each row that a format wrote."""
    file = next(out.rglob("train.*"))
    rows = rows_of(file) if file.suffix == ".parquet" else [json.loads(line) for line in file.read_text().splitlines()]
    places = {
        "trl": lambda row: row["task"],
        "verl": lambda row: row["reward_model"]["ground_truth"],
        "verifiers": lambda row: row["task"],
        "jsonl": lambda row: row["verification_info"],
    }
    return [places[form](row) for row in rows]


@pytest.mark.parametrize("form", ["jsonl", "trl", "verl", "verifiers"])
def test_every_format_says_of_a_row_all_that_its_reward_needs_in_the_same_words(tmp_path, form):
    changed = [
        replace(SAMPLES[0], payload=WITH_STARTER, meta='{"topic": "é"}'),
        replace(SAMPLES[1], statement="Ünïcode and \u2028 lines"),
        replace(SAMPLES[2], testing='{"kind": "asserts", "asserts": ["assert double(1) == \'\\ud800\'"]}'),
    ]
    export_dataset(changed, form, tmp_path, name="doubles")
    found = tasks_in(tmp_path, form)
    assert found == [task_text(task_of(one)) for one in changed]
    first = task_from_json(found[0])
    assert (first.problem.payload.get("starter_code"), first.problem.meta, first.row_id) == (
        STARTER,
        {"topic": "é"},
        changed[0].id,
    )


def test_a_row_that_no_reward_could_be_paid_for_is_refused_with_its_name(tmp_path):
    for changes, reason in (({"payload": "{}"}, "entry_point"), ({"testing": "{}"}, "testing.kind")):
        with pytest.raises(UsageError, match=rf"row d_0\.{reason}"):
            export_dataset([sample(0, **changes)], "trl", tmp_path, name="x")


@pytest.mark.parametrize(
    ("name", "package"), [("My doubles!", "my_doubles"), ("7-up", "evosyn_7_up"), ("é", "é"), ("--", "evosyn")]
)
def test_package_names_are_identifiers(name, package):
    assert package_name(name) == package
    assert package_name(name).isidentifier()


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.parametrize("form", ["sft", "dpo", "trl"])
def test_trls_trainers_take_one_step_on_the_export(tmp_path, form):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    tiny = pytest.importorskip("evosyn.train.tiny")
    from evosyn.train.reward_function import trl_reward

    export_dataset(SAMPLES, form, tmp_path / "export", name="doubles")
    file = next((tmp_path / "export").glob("train.*"))
    kind = "parquet" if file.suffix == ".parquet" else "json"
    rows = datasets.load_dataset(kind, data_files=str(file), split="train", cache_dir=str(tmp_path / "cache"))
    model = make_tiny(tiny, tmp_path / "model")
    common = {
        "output_dir": str(tmp_path / "run"),
        "max_steps": 1,
        "per_device_train_batch_size": 2,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "save_strategy": "no",
        "disable_tqdm": True,
    }
    if form == "trl":
        config = trl.GRPOConfig(**common, num_generations=2, max_completion_length=8)
        trainer = trl.GRPOTrainer(model=model, reward_funcs=[trl_reward], args=config, train_dataset=rows)
    elif form == "sft":
        trainer = trl.SFTTrainer(model=model, args=trl.SFTConfig(**common), train_dataset=rows)
    else:
        trainer = trl.DPOTrainer(model=model, args=trl.DPOConfig(**common), train_dataset=rows)
    trainer.train()
    assert trainer.state.global_step == 1


def make_tiny(tiny, path: Path) -> str:
    from evosyn.randomness import SeedTree

    tiny.build(path, SAMPLES, tiny.TinyConfig(warm_steps=1), SeedTree(0))
    return str(path)


def test_preference_pairs_need_an_accepted_and_a_refused_solution(tmp_path):
    ranked = json.loads(SAMPLES[0].solutions_ranked)
    all_pass = json.dumps([{**one, "passes": True, "verdict": "P"} for one in ranked])
    none_pass = json.dumps([{**one, "passes": False, "verdict": "F"} for one in ranked])
    mixed = [
        SAMPLES[0],
        replace(SAMPLES[1], solutions_ranked=all_pass),
        replace(SAMPLES[2], solutions_ranked=none_pass),
    ]
    exported = export_dataset(mixed, "dpo", tmp_path, name="x")
    assert exported.rows == {"train": 1}
    assert sorted(exported.skipped.values()) == [1, 1]
    row = json.loads((tmp_path / "train.jsonl").read_text())
    assert GOOD.strip() in row["chosen"][0]["content"]
    assert WORSE.strip() in row["rejected"][0]["content"]


def test_a_solution_that_fails_its_testing_is_never_imitated(tmp_path):
    ranked = json.loads(SAMPLES[0].solutions_ranked)
    ranked[0] |= {"passes": False, "verdict": "F"}
    exported = export_dataset(
        [SAMPLES[0], replace(SAMPLES[1], solutions_ranked=json.dumps(ranked))], "sft", tmp_path, name="x"
    )
    assert exported.rows == {"train": 1}
    assert exported.skipped == {"the testing accepts no solution": 1}


@pytest.mark.parametrize("form", ["jsonl", "verl", "verifiers"])
def test_a_problem_is_in_one_split_only_and_the_same_one_in_every_setting(tmp_path, form):
    export_dataset(SAMPLES, form, tmp_path / "a", name="x", holdout=0.4)
    changed = [replace(one, setting="random", solution=BAD) for one in reversed(SAMPLES)]
    export_dataset(changed, form, tmp_path / "b", name="x", holdout=0.4)

    def statements(folder: str, split: str) -> set[str]:
        file = next((tmp_path / folder).rglob(f"{split}.*"))
        return {json.dumps(row["prompt"], sort_keys=True) for row in rows_of(file)}

    train, test = (statements("a", split) for split in ("train", "test"))
    assert train
    assert test
    assert not train & test
    assert (train, test) == (statements("b", "train"), statements("b", "test"))


def test_unknown_formats_and_empty_datasets_are_refused(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'verl'"):
        export_dataset(SAMPLES, "verll", tmp_path, name="x")
    with pytest.raises(UsageError, match="holds no row"):
        export_dataset([], "sft", tmp_path, name="x")


@pytest.mark.parametrize("form", format_names())
def test_no_export_goes_where_files_of_something_else_are(tmp_path, form):
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text("mine")
    with pytest.raises(UsageError, match=r"something else \(pyproject\.toml\); choose another directory"):
        export_dataset(SAMPLES, form, tmp_path, name="doubles")
    assert sorted(one.name for one in tmp_path.iterdir()) == [".git", "pyproject.toml"]
    assert (tmp_path / "pyproject.toml").read_text() == "mine"


@pytest.mark.parametrize("form", [form for form in format_names() if form != "reasoning_gym"])
def test_an_export_is_written_again_in_its_place(tmp_path, form):
    first = export_dataset(SAMPLES[:2], form, tmp_path, name="doubles")
    again = export_dataset(SAMPLES[:3], form, tmp_path, name="doubles")
    assert first.files == again.files and again.rows["train"] > first.rows["train"]


def test_the_command_writes_beside_the_data_and_says_what_to_do_next(tmp_path):
    write_dataset(tmp_path / "data", "evosyn", SAMPLES)
    ended = CliRunner().invoke(command, [str(tmp_path / "data"), "--format", "sft"])
    assert ended.exit_code == 0, ended.output
    assert "12 train rows" in ended.output
    assert "SFTTrainer" in ended.output
    assert (tmp_path / "data" / "export" / "sft" / "train.jsonl").exists()
