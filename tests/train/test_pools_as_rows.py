"""A pool with human testings is data for RLVR as a dataset is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.train.config import DistillConfig, RlvrConfig
from evosyn.train.data import gathered, tasks_of


def test_its_problems_are_rows_that_their_human_testings_pay() -> None:
    ((*rows,),) = gathered(RlvrConfig(data="builtin:math-seeds"))
    problems = [pool.problem for pool in load_pools("builtin:math-seeds")]
    assert [row.problem_id for row in rows] == [one.problem_id for one in problems]
    for row, problem in zip(tasks_of(rows).values(), problems, strict=True):
        assert row.testing.text == problem.human_testing.text and row.problem.id == problem.id


def test_a_problem_that_nothing_pays_is_named_and_one_without_reference_has_no_solution(tmp_path: Path) -> None:
    line = {"problem_id": "a", "domain": "math-answer", "statement": "What is 1 + 1?"}
    (tmp_path / "bare.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(UsageError, match=r"bare.jsonl: the problem a has no human_testing"):
        gathered(RlvrConfig(data=str(tmp_path / "bare.jsonl")))
    paid = {**line, "human_testing": {"kind": "answer", "answer": "2"}}
    (tmp_path / "paid.jsonl").write_text(json.dumps(paid) + "\n")
    ((row,),) = gathered(RlvrConfig(data=str(tmp_path / "paid.jsonl")))
    assert row.ranked == [] and row.prompt[-1].content


def test_it_is_no_data_for_distillation() -> None:
    with pytest.raises(UsageError, match="no such dataset"):
        gathered(DistillConfig(data="builtin:math-seeds"))
