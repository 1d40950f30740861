"""A synthesis that an earlier version wrote: a finished one is still read, none is gone on with."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli.inspect import command
from evosyn.dataset import read_dataset, read_rejects
from evosyn.errors import UsageError
from evosyn.matrices import matrix_from_json, matrix_to_json
from evosyn.pools import pool_to_json
from evosyn.records import Invalid
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.instance import ledger_of

OLD = Path(__file__).parents[1] / "golden" / "synthesize_v1"


@pytest.fixture
def old(tmp_path):
    path = shutil.copytree(OLD, tmp_path / "old")
    (path / "journal.jsonl").write_bytes(gzip.decompress((path / "journal.jsonl.gz").read_bytes()))
    return path


def lines(path: Path) -> list:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_its_problems_are_read_as_its_files_have_them(old):
    ledger = ledger_of(old)
    instances = list(ledger.items(range(10)))
    pools = [instance.pool for instance in instances if instance.pool is not None]
    matrices = [instance.matrix for instance in instances if instance.matrix is not None]
    assert [pool_to_json(pool) for pool in pools] == lines(old / "candidates.jsonl")
    assert [matrix_to_json(matrix) for matrix in matrices] == [
        matrix_to_json(matrix_from_json(line)) for line in lines(old / "matrices.jsonl")
    ]
    assert [reject for instance in instances for reject in instance.rejects] == read_rejects(old)
    assert any(isinstance(instance.ranking, Invalid) for instance in instances)
    calls = {reply.reply.id for index in range(10) for reply in ledger.replies(index)}
    assert {one.provenance.call for pool in pools for one in (*pool.solutions, *pool.testings)} <= calls


def inspected(*line: str) -> str:
    return CliRunner().invoke(command, line, catch_exceptions=False).output


def test_it_is_inspected_down_to_the_prompts(old):
    assert "(a simulation)" in inspected(str(old))
    row = read_dataset(old)[0]
    shown = inspected(str(old), "--why", row.id)
    assert "problems like:" in shown
    assert row.matrix_digest in shown


def test_going_on_with_it_is_refused_with_what_to_do(old, toy):
    with pytest.raises(UsageError, match="use the evosyn that wrote it, or choose another --out"):
        toy.run(old, SynthesizeConfig(problems=20, solutions=3, testings=3))
